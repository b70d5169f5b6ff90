"""Widgets of the options that :mod:`fairdash.utils.options` declares."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from streamlit.delta_generator import DeltaGenerator

from fairdash.utils.options import bounds, options_of

_NONE = "None"


def ask(place: DeltaGenerator, plan: type, name: str, **more: Any) -> Any:
    """Ask for an option of a plan by the widget that its kind calls for, with its label, help and range.

    `more` is the widget's key, and what differs on this page. Of `options` among it, such as a table's
    columns, one is chosen, or several; one of them may be None.
    """
    option = options_of(plan)[name]
    about, kind, default = option.metadata, str(option.type), option.default
    words = {"label": about["label"], "help": about["help"] or None, **more}
    if "options" in more and kind.startswith("tuple"):
        return tuple(place.multiselect(**{"placeholder": _NONE, **words}))
    if "options" in more:
        return place.selectbox(**{"format_func": lambda each: _NONE if each is None else each, **words})
    if isinstance(choices := about["choices"], Mapping):
        captions = [each.meaning for each in choices.values()]
        return place.radio(
            options=list(choices), format_func=lambda each: choices[each].title, captions=captions, **words
        )
    if not about["within"]:
        return str(place.text_input(max_chars=20, **words)).strip()
    scale = 100 if about["unit"] else 1
    made = int if kind.startswith("int") else float
    low, high = (made(scale * end) if isfinite(end) else None for end in bounds(about["within"]))
    begin = None if default in (None, ()) else made(scale * default)  # type: ignore[operator]
    step = made(scale * about["step"]) if about["step"] else None
    shown = {"min_value": low, "max_value": high, "value": begin, "step": step}
    given = place.number_input(**shown | words)
    return given if given is None or scale == 1 else given / scale
