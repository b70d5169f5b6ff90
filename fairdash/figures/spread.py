"""How predictions, or residuals, are spread in the low, the middle and the high third of an attribute."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.figures.parts import note
from fairdash.figures.theme import Theme, escaped, faded, new_figure
from fairdash.figures.transfers import span

#: Height of the highest density, where 1 is the distance between two groups.
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
    """A row a group of the sensitive attribute, with both models' densities on one scale.

    Where a model's predictions are independent of the attribute, its shape is the same in every row.

    Parameters
    ----------
    a, b
        As :func:`fairdash.evaluation.densities` gives them, both on the same rows and grid.
    a_name, b_name
        The models' names.
    audited
        "prediction" or "residual".
    sensitive, level
        Axis titles, with units.
    """
    name = sensitive.partition(" (")[0]
    figure = new_figure(
        title=f"How {audited}s are spread, by {name}",
        subtitle=subtitle,
        x=level,
        y="",
        theme=theme,
    )
    groups = list(b["group"].unique())
    both = pd.concat([a, b])
    varying = both.loc[~both["is_constant"], "density"].to_numpy()
    scale = _TALLEST / float(varying.max()) if len(varying) else 0.0
    models = (
        (a, a_name, theme.standard, "dash", 0.08, "diamond"),
        (b, b_name, theme.chosen, "solid", 0.2, "circle"),
    )
    for row, group in enumerate(groups):
        for densities, label, colour, dash, opacity, symbol in models:
            own = densities[densities["group"] == group]
            mean = float(own["mean"].iloc[0])
            x, heights = _outline(own, scale)
            about = f"{escaped(label)}, {escaped(name)} {span(own['s_low'].iloc[0], own['s_high'].iloc[0])}"
            figure.add_scatter(
                x=x,
                y=0 * heights + row,
                mode="lines",
                line={"width": 0},
                hoverinfo="skip",
                name="base line",
            )
            figure.add_scatter(
                x=x,
                y=row + heights,
                mode="lines",
                fill="tonexty",
                fillcolor=faded(colour, opacity),
                line={"color": colour, "width": 2, "dash": dash},
                name=f"{label}, {group}",
                hovertemplate=f"<b>{about}</b><br>{audited} %{{x:.4~g}}"
                f"<br>{int(own['n'].iloc[0]):,} test rows<extra></extra>",
            )
            figure.add_scatter(
                x=[mean],
                y=[row],
                mode="markers",
                marker={
                    "symbol": symbol,
                    "size": 9,
                    "color": colour,
                    "line": {"width": 1, "color": theme.veil},
                },
                cliponaxis=False,
                name=f"{label}, {group}: average",
                hovertemplate=f"<b>{about}</b><br>average about %{{x:.4~g}}<extra></extra>",
            )
    top = _name_the_models(figure, models, row=len(groups) - 1, scale=scale)
    firsts = b.drop_duplicates("group")
    figure.update_yaxes(
        tickvals=list(range(len(groups))),
        ticktext=[
            f"<b>{row['group']}</b><br>{span(row['s_low'], row['s_high'])}" for _, row in firsts.iterrows()
        ],
        range=[-0.12, top + 0.05],
        ticks="",
    )
    return figure


def _outline(own: pd.DataFrame, scale: float) -> tuple[pd.Series, pd.Series]:
    """The curve of a group's densities; where it is constant, one line as tall as the tallest curve."""
    if own["is_constant"].iloc[0]:
        return pd.Series([own["mean"].iloc[0]] * 2), pd.Series([0.0, _TALLEST])
    return own["x"], scale * own["density"]


def _heights(own: pd.DataFrame, scale: float) -> NDArray[np.float64]:
    """Heights over the grid, a constant group's line in its cell."""
    density = own["density"].to_numpy()
    return np.where(density > 0, _TALLEST, 0.0) if own["is_constant"].iloc[0] else scale * density


def _name_the_models(figure: go.Figure, models: tuple, *, row: int, scale: float) -> float:
    """Name both curves of the top row where each stands out most from the other; how high names reach."""
    own, other = (
        densities[densities["group"] == densities["group"].unique()[row]] for densities, *_ in models
    )
    heights = [_heights(curve, scale) for curve in (own, other)]
    gap = heights[0] - heights[1]
    places = (int(gap.argmax()), int(gap.argmin()))
    # Two lines at one place: a name on either side.
    sides = ("right", "left") if not gap.any() else (None, None)
    if not gap.any():
        places = (int(heights[0].argmax()),) * 2
    reach = 0.0
    for (_, label, colour, *_), curve, height, place, side in zip(
        models, (own, other), heights, places, sides, strict=True
    ):
        x, y = float(curve["x"].iloc[place]), row + float(height[place])
        share = place / len(curve)
        above = {
            "xanchor": side or ("left" if share < 0.2 else "right" if share > 0.8 else "center"),
            "xshift": {"right": -6, "left": 6}.get(side or "", 0),
            "yanchor": "bottom",
        }
        figure.add_annotation(note(f"<b>{escaped(label)}</b>", x=x, y=y, colour=colour, size=13) | above)
        reach = max(reach, y + 0.25, row + float(height.max()))
    return reach
