"""Display of blocks of text, pictures and tables on a page, and of the interactive figure (“stage”).

The interactive figure receives data, draws frames in the browser, and sends one event when the user releases
the slider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import pandas as pd
import streamlit as st

from fairdash.ui.frame import ENLARGED, chart, picture_format, presented, theme
from fairdash.ui.keys import Keys, name_in
from fairdash.ui.text import safe
from fairdash.ui.widgets import download
from fairdash.utils.text import unbroken, visible
from fairdash.views.blocks import MAX_ROWS, Block, Chart, Picture, Table, Text
from fairdash.views.figures.stage import stage_script, stage_style


def show_blocks(blocks: Iterable[Block], keys: Keys) -> None:
    """Show sentences, facts, pictures and tables in order. A table with a file name can be downloaded.

    Parameters
    ----------
    keys
        Widget keys of the calling file. Each picture and download has a key with the name of the picture or
        file.
    """
    for block in blocks:
        if isinstance(block, Chart):
            show_blocks(filter(None, [block.drawn(theme())]), keys)
        elif isinstance(block, Text) and block.part == "small":
            st.caption(unbroken(safe(block)))
        elif isinstance(block, str):
            st.markdown(unbroken(safe(block)))
        elif isinstance(block, list):
            st.markdown(unbroken("\n".join(f"- {safe(item)}" for item in block)))
        elif isinstance(block, dict):
            for name, text in block.items():
                st.markdown(unbroken(f"**{safe(name)}** · {safe(text)}"))
        elif isinstance(block, Picture):
            chart(block.figure, key=keys(block.id), alt=block.alt)
        else:
            show_table(block, keys)


def show_table(table: Table, keys: Keys) -> None:
    """Show a table below its title, followed by its note."""
    if not table.file:
        st.markdown(f"**{safe(table.title)}**")
    # Streamlit's grid needs unique column names, and does not render Markdown in headers.
    kept, names = ~table.frame.columns.duplicated(), [visible(name, keep="") for name in table.columns]
    styled: Any
    if table.file and len(table.frame) <= MAX_ROWS:
        styled = pd.DataFrame(table.rows, columns=names).loc[:, kept]
    else:
        # Long tables contain numbers, so that users can sort by value. Short tables contain strings, because
        # numbers take ten times as long to draw.
        write: dict[Any, Any] = {
            name: partial(table.written, str(cells)) for name, cells in zip(names, table.frame, strict=True)
        }
        styled = table.frame.set_axis(names, axis=1).loc[:, kept].reset_index(drop=True).style.format(write)
    if presented() and len(table.frame) <= MAX_ROWS:
        # Presentation mode shows a static table, because the text of Streamlit's grid is too small for a
        # lecture hall.
        full_table = pd.DataFrame(table.rows, columns=[safe(name) for name in names]).loc[:, kept].map(safe)
        st.table(full_table, hide_index=True, alt=table.title)
    else:
        st.dataframe(styled, hide_index=True, alt=table.title)
    if table.note:
        st.caption(safe(table.note))
    if table.file:
        download(table.frame, label=f"{table.title} (CSV)", name=table.name, key=keys("csv", table.file))


def show_stage(
    data: dict[str, Any],
    *,
    key: str,
    on_release: Callable[[int], None],
    presented_share: float = 0.5,
    presented_text: int = ENLARGED,
) -> None:
    """Show a slider with pictures, cards and a table that change as the slider moves.

    Parameters
    ----------
    data
        Plain values from :func:`fairdash.views.reports.stage.stage_of`: ``slider`` (``label``, ``symbol``,
        ``help``, ``stops`` as texts, ``ticks``, the positions of labelled stops, and ``at``, the initial
        position), ``figures`` (``spec``, a plotly figure whose axes have ranges, ``alt``, and ``height``
        between the axes in pixels or ``share`` of the window's height), ``moves``, ``cards`` and ``table``,
        whose ``cells`` have a value per stop, or are the y values of the named move. A move identifies an
        object of a figure by ``figure``, ``kind`` ("trace", "note", "shape", "tick" or "scale") and ``part``
        (the position), and lists the values of each changing property, one per stop. Numbers, and lists of
        numbers, are interpolated between stops. All other values change at once. ``mix`` defines a trace's y
        values as a sum of ``parts`` with weights ``shares`` that change with the slider, or as the
        exponential of this sum. A slider with ``play`` (milliseconds per stop) has buttons that play the
        animation or move by one stop. With ``variants`` (``label``, ``names``, ``at``) all lists contain
        first the stops of the first variant, then those of the second, and so on; `on_release` receives the
        position in this joint list.
    on_release
        Function called with the position of the stop when the user releases the slider.
    presented_share, presented_text
        In presentation mode: share of the window's height for a picture, and text size of a picture in
        pixels.
    """
    form = picture_format()

    def released() -> None:
        # The browser may send any value, but only a position of the slider is accepted.
        position = st.session_state[key].released
        n_frames = len(data["slider"]["stops"]) * len(data.get("variants", {}).get("names", [""]))
        if isinstance(position, int) and 0 <= position < n_frames:
            on_release(position)

    larger = {"text": presented_text, "share": presented_share} if presented() else {}
    figures = [
        each | larger | {"form": form, "name": f"fairdash-{name_in(key)}-{index + 1}"}
        for index, each in enumerate(data["figures"])
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
