"""Average prediction, or residual, by the sensitive attribute: one model against another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.parts import band, line_across, note
from fairdash.figures.theme import Theme, escaped, figure_of, new_figure


def profile_figure(
    standard: pd.DataFrame,
    chosen: pd.DataFrame,
    *,
    chosen_name: str,
    standard_name: str = "standard model",
    by_value: bool = False,
    audited: str,
    sensitive: str,
    level: str,
    reference: float,
    reference_name: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Two lines with 95 % bands over the sensitive attribute.

    Parameters
    ----------
    standard, chosen
        As :func:`fairdash.evaluation.quantile_profile` gives them: the model to compare with, and the chosen
        one.
    chosen_name, standard_name
        Labels of their lines.
    by_value
        Place the groups at their average value of the sensitive attribute, rather than by rank.
    audited
        "prediction" or "residual".
    sensitive, level
        Axis titles, with units.
    reference, reference_name
        A level line: the global mean, or zero.
    """
    name = escaped(sensitive.partition(" (")[0])
    figure = new_figure(
        title=f"Average {audited} by {sensitive.partition(' (')[0]}",
        subtitle=subtitle,
        x=f"{sensitive}, average of quantile groups" if by_value else f"{sensitive}, in quantile groups",
        y=level,
        theme=theme,
    )
    places = chosen["s_mean"] if by_value else _mid_shares(chosen)
    lines = (
        (standard, standard_name, theme.standard, "dash", "diamond"),
        (chosen, chosen_name, theme.chosen, "solid", "circle"),
    )
    traces: list[dict[str, Any]] = []
    for profile, label, colour, dash, symbol in lines:
        interval = f"{label}, 95 % interval"
        traces.append(band(places, profile["low"], profile["high"], colour=colour, name=interval))
        traces.append(
            {
                "type": "scatter",
                "x": places.to_numpy(),
                "y": profile["mean"].to_numpy(),
                "mode": "lines+markers",
                "name": label,
                "line": {"color": colour, "width": 2.5, "dash": dash},
                "marker": {"symbol": symbol, "size": 7, "color": colour},
                "customdata": profile[["s_low", "s_high", "n", "low", "high"]].to_numpy(),
                "hovertemplate": (
                    f"<b>{label}</b><br>{name} %{{customdata[0]:.3~g}} to %{{customdata[1]:.3~g}}"
                    "<br>average %{y:.4~g} (95 %: %{customdata[3]:.4~g} to %{customdata[4]:.4~g})"
                    "<br>%{customdata[2]:.0f} test rows<extra></extra>"
                ),
            }
        )
    below = {"xref": "paper", "xanchor": "left", "yanchor": "top"}
    its_name = note(escaped(reference_name), x=0, y=reference, colour=theme.quiet) | below
    # In one piece: plotly takes several times as long to add to a figure.
    layout = figure.layout.to_plotly_json() | {
        "shapes": [line_across(reference, colour=theme.quiet)],
        "annotations": [its_name, *_names(lines, places, theme)],
    }
    if not by_value:
        layout["xaxis"] |= _value_ticks(chosen)
    return figure_of(traces, layout)


def _mid_shares(profile: pd.DataFrame) -> pd.Series:
    """Where a group stands when all rows are lined up by the sensitive attribute, 0 to 100 %."""
    share = profile["n"] / profile["n"].sum()
    return 100 * (share.cumsum() - share / 2)


def _value_ticks(profile: pd.DataFrame) -> dict[str, Any]:
    """Ticks at even shares of the rows, labelled with the sensitive attribute's value there."""
    shares = np.array([0, 20, 40, 60, 80, 100])
    edges = np.append(0.0, 100 * profile["n"].cumsum() / profile["n"].sum())
    values = np.interp(shares, edges, [*profile["s_low"], profile["s_high"].iloc[-1]])
    return {
        "tickvals": shares,
        "ticktext": [f"{value:.3g}<br>{share} %" for value, share in zip(values, shares, strict=True)],
        "range": [-3, 103],
    }


def _names(lines: tuple, places: pd.Series, theme: Theme) -> list[dict[str, Any]]:
    """The lines' names where they lie furthest apart, each on its outer side."""
    (standard, *_), (chosen, *_) = lines
    gap = (standard["mean"] - chosen["mean"]).abs().fillna(0.0)
    widest = int(gap.to_numpy().argmax())
    upper = standard["mean"].iloc[widest] >= chosen["mean"].iloc[widest]
    low, high = places.min(), places.max()
    across = (places.iloc[widest] - low) / (high - low) if high > low else 0.5
    return [
        note(
            f"<b>{escaped(label)}</b>",
            x=places.iloc[widest],
            y=profile["mean"].iloc[widest],
            colour=colour,
            size=13,
            xanchor="left" if across < 0.3 else "right" if across > 0.7 else "center",
            yshift=16 if above else -16,
            bgcolor=theme.veil,
            borderpad=0,
        )
        for (profile, label, colour, *_), above in zip(lines, (upper, not upper), strict=True)
    ]
