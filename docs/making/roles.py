"""Sphinx roles of docstrings, such as :func:`~fairdash.measure`, as links of the reference."""

from __future__ import annotations

from typing import Any

import griffe

from docs.making.pages import roles_as_links


class Roles(griffe.Extension):
    """Extension that replaces the roles of each docstring after its module has been read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = roles_as_links(obj.docstring.value)
