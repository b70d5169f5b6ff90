"""Who pays: how the average prediction of each group moves when one model takes the place of another."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.parts import line_across, signed
from fairdash.figures.theme import Theme, escaped, new_figure


def transfers_figure(
    moved: pd.DataFrame,
    *,
    a_name: str,
    b_name: str,
    sensitive: str,
    unit: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """A bar a group: the change per head from model A to model B.

    Parameters
    ----------
    moved
        As :func:`fairdash.evaluation.transfers_by_group` gives it.
    a_name, b_name
        The models' names.
    sensitive
        Axis title, with the unit.
    unit
        Of the predictions; empty if it is not known.
    """
    name = sensitive.partition(" (")[0]
    in_unit = f" ({unit})" if unit else ""
    figure = new_figure(
        title=f"Who pays: {b_name} against {a_name}",
        subtitle=subtitle,
        x=sensitive,
        y=f"Change a head{in_unit}",
        theme=theme,
    )
    ranges = [span(low, high) for low, high in zip(moved["s_low"], moved["s_high"], strict=True)]
    places = np.arange(len(moved))
    largest = float(moved["per_head"].abs().max())
    decimals = int(np.clip(2 - math.floor(math.log10(largest)), 0, 10)) if largest > 0 else 0
    figure.add_bar(
        x=places,
        y=moved["per_head"],
        marker={"color": theme.chosen, "line": {"width": 0}},
        text=[signed(value, decimals=decimals) for value in moved["per_head"]],
        textposition="outside",
        textfont={"color": theme.text},
        cliponaxis=False,
        name=f"{b_name} against {a_name}",
        customdata=np.column_stack([ranges, moved[["before", "after", "total", "n"]].astype(object)]),
        hovertemplate=(
            f"<b>{escaped(name)} %{{customdata[0]}}</b><br>%{{y:+,.{decimals}f}} a head"
            f"<br>{escaped(a_name)}: %{{customdata[1]:,.4~r}}; {escaped(b_name)}: %{{customdata[2]:,.4~r}}"
            "<br>whole group: %{customdata[3]:+,.4~r}"
            "<br>%{customdata[4]:,.0f} test rows<extra></extra>"
        ),
    )
    figure.add_shape(line_across(0, colour=theme.quiet, dash="solid"))
    # Room for the numbers that stand outside the bars.
    low, high = min(float(moved["per_head"].min()), 0.0), max(float(moved["per_head"].max()), 0.0)
    room = 0.12 * ((high - low) or 1.0)
    figure.update_yaxes(range=[low - room, high + room])
    # In two lines, so that they fit side by side on a phone.
    figure.update_xaxes(
        tickvals=places,
        ticktext=[text.replace(" to ", " to<br>") for text in ranges],
        tickangle=0,
        showgrid=False,
        ticks="",
    )
    figure.update_layout(bargap=0.35)
    return figure


def span(low: float, high: float) -> str:
    """A group's range of the sensitive attribute."""
    a, b = (f"{value:.3g}" for value in (low, high))
    return a if a == b else f"{a} to {b}"
