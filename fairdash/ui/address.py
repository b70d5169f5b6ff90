"""A choice that the page's address holds by its id: read on opening, written when somebody chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairdash.ui.text import safe


def choose(
    label: str,
    options: Mapping[str, str],
    *,
    name: str,
    key: str,
    place: Any = st,
    hidden_label: bool = False,
) -> str:
    """A segmented control of `options`; the address keeps the id of what is chosen.

    A control that Streamlit binds keeps its title there instead, and falls back in silence on one that it
    does not know. Here an unknown id is named above the control, which shows the first option, until
    somebody chooses.

    Parameters
    ----------
    options
        Id, as the address holds it, to title; the first is the default.
    name
        The parameter in the address.
    key
        The control's own key; it differs from `name` where two controls share a parameter.
    place
        What to draw in: a column or the page.

    Returns
    -------
    str
        The id that is chosen.
    """
    asked = st.query_params.get(name)
    if asked is not None and asked not in options:
        known = ", ".join(f"“{safe(each)}”" for each in options)
        place.warning(
            f"The address asks for {safe(name)} “{safe(asked)}”, which is not known here. Known: {known}. "
            f"Shown: {safe(next(iter(options.values())))}."
        )
    if st.session_state.get(key) not in options:
        st.session_state[key] = asked if asked in options else next(iter(options))
    chosen: str = place.segmented_control(
        label,
        list(options),
        format_func=options.__getitem__,
        required=True,
        key=key,
        on_change=_write,
        args=(name, key),
        label_visibility="collapsed" if hidden_label else "visible",
    )
    return chosen


def _write(name: str, key: str) -> None:
    """Keep in the address what was chosen."""
    st.query_params[name] = str(st.session_state[key])
