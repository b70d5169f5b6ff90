"""The one component of all stages: data in, frames drawn in the browser, one event back on release."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from fairdash.figures.stage import stage_script, stage_style
from fairdash.ui.frame import ENLARGED, picture_format, presented
from fairdash.ui.keys import name_in


def show_stage(
    data: dict[str, Any], *, key: str, on_release: Callable[[int], None], presented_share: float = 0.6
) -> None:
    """A slider with the pictures, cards and table that follow it.

    Parameters
    ----------
    data
        Plain values, as :func:`fairdash.reports.stage.stage_of` makes them: ``slider`` (``label``,
        ``symbol``, ``help``, ``stops`` as texts, ``ticks`` and ``at``, places among them), ``figures``
        (``spec``, a plotly figure whose axes have ranges, ``alt``, and ``height`` between the axes in pixels
        or ``share``, that of the window's height which it takes), ``moves``, ``cards`` and ``table``, whose
        ``cells`` are a list over the stops, or the y of the move that it names.
        A move names what it moves: ``figure``, ``kind`` ("trace", "note", "shape", "tick" or "scale") and
        ``part``, its place there, and has a list over the stops for each of its properties. Numbers, and
        lists of them, glide from stop to stop; all else changes at once. A trace's ``mix`` gives its y as a
        sum of ``parts`` with ``shares`` that glide, or as the exponential of the sum.
        A slider with ``play`` (milliseconds a stop) has buttons to play and step. With ``variants``
        (``label``, ``names``, ``at``) all lists go over the stops of the first, then of the second …, and
        the place of release too.
    on_release
        Called with the place of the stop at which the hand let go.
    presented_share
        Share of the window's height that a picture takes in presentation mode.
    """
    form = picture_format()

    def released() -> None:
        # Whatever the browser says, it is a stop or nothing.
        at = st.session_state[key].released
        places = len(data["slider"]["stops"]) * len(data.get("variants", {}).get("names", [""]))
        if isinstance(at, int) and 0 <= at < places:
            on_release(at)

    larger = {"text": ENLARGED, "share": presented_share} if presented() else {}
    figures = [
        each | larger | {"form": form, "name": f"fairdash-{name_in(key)}-{place + 1}"}
        for place, each in enumerate(data["figures"])
    ]
    _component()(key=key, data=data | {"figures": figures}, on_released_change=released)


@cache
def _component() -> Any:
    return st.components.v2.component(
        "fairdash_stage",
        html='<div class="stage"></div>',
        css=stage_style(),
        js=f"{stage_script()}\nexport default mount;\n",
    )
