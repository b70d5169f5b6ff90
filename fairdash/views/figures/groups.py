"""Figures of two models by group of the sensitive attribute: averages, distributions, change per head."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.utils.text import span, to_decimals
from fairdash.views.figures.parts import Values, band, bold, dots, line, line_across, note
from fairdash.views.figures.theme import Theme, escaped, faded, figure_of, new_figure

Array = NDArray[np.float64]


def profile_figure(
    standard: pd.DataFrame,
    chosen: pd.DataFrame,
    *,
    chosen_name: str,
    standard_name: str = "standard model",
    by_value: bool = False,
    cells: Sequence[str] = (),
    audited: str,
    sensitive: str,
    level: str,
    reference: float,
    reference_name: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Draw average predictions or residuals of two models along the sensitive attribute, with 95 % bands.

    Parameters
    ----------
    standard, chosen
        Results of :func:`fairdash.evaluation.quantile_profile` for the reference and the chosen model.
    chosen_name, standard_name
        Labels of the two lines.
    by_value
        Whether to place each group at its average value of the sensitive attribute instead of at its rank.
    cells
        Names of the groups, if the groups are combinations of attributes, which have no order.
    audited
        "prediction" or "residual".
    sensitive, level
        Axis titles, with units.
    reference, reference_name
        Value and label of a horizontal line: the overall mean, or 0.
    """
    name = sensitive.partition(" (")[0]
    figure = new_figure(
        title=f"Average {audited} by {name}",
        subtitle=subtitle,
        x=sensitive if cells else f"{sensitive}, {'average of' if by_value else 'in'} quantile groups",
        y=level,
        theme=theme,
    )
    by_value = by_value or bool(cells)
    positions = chosen["s_mean"] if by_value else _mid_shares(chosen)
    group = "%{text}" if cells else f"{escaped(name)} %{{customdata[0]:.3~g}} to %{{customdata[1]:.3~g}}"
    lines = (
        (standard, standard_name, theme.standard, "dash", "diamond"),
        (chosen, chosen_name, theme.chosen, "solid", "circle"),
    )
    traces: list[dict[str, Any]] = []
    for profile, label, colour, dash, symbol in lines:
        interval = f"{label}, 95 % interval"
        traces.append(band(positions, profile["low"], profile["high"], colour=colour, name=interval))
        means = line(
            positions.to_numpy(),
            profile["mean"].to_numpy(),
            name=label,
            colour=colour,
            dash=dash,
            symbol=symbol,
            customdata=profile[["s_low", "s_high", "n", "low", "high"]].to_numpy(),
            hover=f"<b>{label}</b><br>{group}"
            "<br>average %{y:.4~g} (95 %: %{customdata[3]:.4~g} to %{customdata[4]:.4~g})"
            "<br>%{customdata[2]:.0f} test rows",
        )
        traces.append(means | ({"text": [escaped(cell) for cell in cells]} if cells else {}))
    # The label of the reference line is in that half of the plot where the standard model is further from the
    # line.
    away = (standard["mean"] - reference).abs().fillna(0.0).to_numpy()
    side = (1.0, "right") if away[: len(away) // 2].sum() > away[len(away) // 2 :].sum() else (0.0, "left")
    below = {"xref": "paper", "xanchor": side[1], "yanchor": "top"}
    its_name = note(escaped(reference_name), x=side[0], y=reference, colour=theme.quiet) | below
    # The figure is built in one call. Adding to an existing plotly figure would take several times as long.
    layout = figure.layout.to_plotly_json() | {
        "shapes": [line_across(reference, colour=theme.quiet)],
        "annotations": [its_name, *_names_of_lines(lines, positions, theme)],
    }
    if cells:
        layout["xaxis"] |= _cell_ticks(len(cells))
    elif not by_value:
        layout["xaxis"] |= _value_ticks(chosen)
    return figure_of(traces, layout)


def _mid_shares(profile: pd.DataFrame) -> pd.Series:
    """Return the middle rank of each group by the sensitive attribute, in per cent of all rows."""
    share = profile["n"] / profile["n"].sum()
    return 100 * (share.cumsum() - share / 2)


def _value_ticks(profile: pd.DataFrame) -> dict[str, Any]:
    """Return ticks at equally spaced quantiles of the sensitive attribute, labelled with its values."""
    shares = np.array([0, 20, 40, 60, 80, 100])
    edges = np.append(0.0, 100 * profile["n"].cumsum() / profile["n"].sum())
    values = np.interp(shares, edges, [*profile["s_low"], profile["s_high"].iloc[-1]])
    texts = [f"{value:.3g}<br>{share} %" for value, share in zip(values, shares, strict=True)]
    return {"tickvals": shares, "ticktext": texts, "range": [-3, 103]}


def _cell_ticks(count: int) -> dict[str, Any]:
    """Return at most eight ticks at whole numbers, for combinations of attributes numbered from 0."""
    numbers = list(range(0, count, math.ceil(count / 8)))
    ticks = {"tickvals": numbers, "ticktext": [str(number) for number in numbers]}
    return ticks | {"range": [-0.5, count - 0.5]}


def _names_of_lines(lines: tuple, positions: pd.Series, theme: Theme) -> list[dict[str, Any]]:
    """Return labels of the two lines, next to the group with the largest distance between the lines."""
    (standard, *_), (chosen, *_) = lines
    gap = (standard["mean"] - chosen["mean"]).abs().fillna(0.0)
    widest = int(gap.to_numpy().argmax())
    upper = standard["mean"].iloc[widest] >= chosen["mean"].iloc[widest]
    low, high = positions.min(), positions.max()
    relative_position = (positions.iloc[widest] - low) / (high - low) if high > low else 0.5
    side = "left" if relative_position < 0.3 else "right" if relative_position > 0.7 else "center"
    return [
        bold(label, x=positions.iloc[widest], y=profile["mean"].iloc[widest], colour=colour)
        | {"xanchor": side, "yshift": 16 if above else -16, "bgcolor": theme.veil, "borderpad": 0}
        for (profile, label, colour, *_), above in zip(lines, (upper, not upper), strict=True)
    ]


#: Height of the highest density, as a share of the distance between two groups.
_TALLEST = 0.85


def spread_figure(
    a: pd.DataFrame,
    b: pd.DataFrame,
    *,
    a_name: str,
    b_name: str,
    audited: str,
    sensitive: str,
    level: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Draw both models' densities on the same scale, in one row per group of the sensitive attribute.

    If a model's predictions are independent of the attribute, its density has the same shape in every row.

    Parameters
    ----------
    a, b
        Results of :func:`fairdash.evaluation.densities` for the two models, on the same rows and grid.
    a_name, b_name
        The models' names.
    audited
        "prediction" or "residual".
    sensitive, level
        Axis titles, with units.
    """
    name = sensitive.partition(" (")[0]
    title = f"Distribution of {audited}s by {name}"
    figure = new_figure(title=title, subtitle=subtitle, x=level, y="", theme=theme)
    pooled = pd.concat([a, b])
    density_values = pooled.loc[~pooled["is_constant"], "density"].to_numpy()
    scale = _TALLEST / float(density_values.max()) if len(density_values) else 0.0
    models = (
        (a, a_name, theme.standard, "dash", 0.08, "diamond"),
        (b, b_name, theme.chosen, "solid", 0.2, "circle"),
    )
    ticks = []
    for row, group in enumerate(b["group"].unique()):
        for densities, label, colour, dash, opacity, symbol in models:
            density = densities[densities["group"] == group]
            first = density.iloc[0]
            x, heights = density["x"], scale * density["density"]
            if first["is_constant"]:
                # A vertical line, as high as the highest curve, replaces the density if all values of a group
                # are equal.
                x, heights = pd.Series([first["mean"]] * 2), pd.Series([0.0, _TALLEST])
            groups = span(first["s_low"], first["s_high"])
            hover_text = f"<b>{escaped(label)}, {escaped(name)} {groups}</b>"
            shape: Values = {"fill": "tonexty", "fillcolor": faded(colour, opacity), "dash": dash, "width": 2}
            shape |= {"hover": f"{hover_text}<br>{audited} %{{x:.4~g}}<br>{int(first['n']):,} test rows"}
            mean: Values = {"size": 9, "symbol": symbol, "cliponaxis": False}
            mean |= {"marker": {"line": {"width": 1, "color": theme.veil}}}
            mean |= {"hover": f"{hover_text}<br>average about %{{x:.4~g}}"}
            of_group = f"{label}, {group}"
            figure.add_traces(
                [
                    line(x, 0 * heights + row, name="base line", colour=colour, width=0, hover=""),
                    line(x, row + heights, name=of_group, colour=colour, **shape),
                    dots([first["mean"]], [row], name=f"{of_group}: average", colour=colour, **mean),
                ]
            )
        ticks.append(f"<b>{group}</b><br>{groups}")
    top = _name_the_models(figure, models, row=len(ticks) - 1, scale=scale)
    figure.update_yaxes(tickvals=list(range(len(ticks))), ticktext=ticks, range=[-0.12, top + 0.05], ticks="")
    return figure


def _name_the_models(figure: go.Figure, models: tuple, *, row: int, scale: float) -> float:
    """Label the curves of the top row where they differ most, and return the height of the labels."""
    own_line, other = (
        densities[densities["group"] == densities["group"].unique()[row]] for densities, *_ in models
    )
    heights = [_heights(curve, scale) for curve in (own_line, other)]
    gap = heights[0] - heights[1]
    indices = (int(gap.argmax()), int(gap.argmin()))
    # If both curves are equal, one name is to the left of the peak, and the other name to its right.
    sides = ("right", "left") if not gap.any() else (None, None)
    if not gap.any():
        indices = (int(heights[0].argmax()),) * 2
    top = 0.0
    for (_, label, colour, *_), curve, height, index, side in zip(
        models, (own_line, other), heights, indices, sides, strict=True
    ):
        x, y = float(curve["x"].iloc[index]), row + float(height[index])
        share = index / len(curve)
        above = {
            "xanchor": side or ("left" if share < 0.2 else "right" if share > 0.8 else "center"),
            "xshift": {"right": -6, "left": 6}.get(side or "", 0),
            "yanchor": "bottom",
        }
        figure.add_annotation(bold(label, x=x, y=y, colour=colour) | above)
        top = max(top, y + 0.25, row + float(height.max()))
    return top


def _heights(curve: pd.DataFrame, scale: float) -> Array:
    """Return the heights of a group's curve on the grid; if all values are equal, only one is above 0."""
    density = curve["density"].to_numpy()
    return np.where(density > 0, _TALLEST, 0.0) if curve["is_constant"].iloc[0] else scale * density


def transfers_figure(
    transfers: pd.DataFrame,
    *,
    groups: Sequence[str],
    are_cells: bool = False,
    a_name: str,
    b_name: str,
    sensitive: str,
    unit: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Draw how much predictions change per head from model A to model B, with one bar per group.

    Parameters
    ----------
    transfers
        Result of :func:`fairdash.evaluation.transfers_by_group`.
    groups, are_cells
        Names of the groups, and True if the groups are combinations of attributes, which the axis shows as
        numbers.
    a_name, b_name
        The models' names.
    sensitive
        Axis title, with the unit.
    unit
        Unit of the predictions; empty if unknown.
    """
    name = sensitive.partition(" (")[0]
    y = f"Change per head ({unit})" if unit else "Change per head"
    title = f"Who pays: {b_name} against {a_name}"
    figure = new_figure(title=title, subtitle=subtitle, x=sensitive, y=y, theme=theme)
    names = [escaped(group) if are_cells else f"{escaped(name)} {group}" for group in groups]
    positions, change_per_head = np.arange(len(transfers)), transfers["per_head"]
    largest = float(change_per_head.abs().max())
    decimals = int(np.clip(2 - math.floor(math.log10(largest)), 0, 10)) if largest > 0 else 0
    figure.add_bar(
        x=positions,
        y=change_per_head,
        marker={"color": theme.chosen, "line": {"width": 0}},
        text=[to_decimals(value, decimals, sign=True) for value in change_per_head],
        textposition="outside",
        textfont={"color": theme.text},
        cliponaxis=False,
        name=f"{b_name} against {a_name}",
        customdata=np.column_stack([names, transfers[["before", "after", "total", "n"]].astype(object)]),
        hovertemplate=(
            f"<b>%{{customdata[0]}}</b><br>%{{y:+,.{decimals}f}} per head"
            f"<br>{escaped(a_name)}: %{{customdata[1]:,.4~r}}; {escaped(b_name)}: %{{customdata[2]:,.4~r}}"
            "<br>whole group: %{customdata[3]:+,.4~r}<br>%{customdata[4]:,.0f} test rows<extra></extra>"
        ),
    )
    figure.add_shape(line_across(0, colour=theme.quiet, dash="solid"))
    # The axis has room for the numbers above and below the bars.
    low, high = min(float(change_per_head.min()), 0.0), max(float(change_per_head.max()), 0.0)
    room = 0.12 * ((high - low) or 1.0)
    figure.update_yaxes(range=[low - room, high + room])
    # Tick labels have two lines, so that they fit side by side on a phone.
    texts = [text.replace(" to ", " to<br>") for text in groups]
    ticks = _cell_ticks(len(groups)) if are_cells else {"tickvals": positions, "ticktext": texts}
    figure.update_xaxes(**ticks, tickangle=0, showgrid=False, ticks="")
    return figure.update_layout(bargap=0.35)
