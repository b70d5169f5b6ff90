"""How predictions, or residuals, are spread in the low, the middle and the high third of an attribute."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.money import span
from fairdash.figures.theme import Theme, escaped, faded, new_figure

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
        As :func:`fairdash.assessment.densities` gives them, both on the same rows and grid.
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
    scale = _TALLEST / float(pd.concat([a["density"], b["density"]]).max())
    models = (
        (a, a_name, theme.standard, "dash", 0.08, "diamond"),
        (b, b_name, theme.chosen, "solid", 0.2, "circle"),
    )
    for row, group in enumerate(groups):
        for densities, label, colour, dash, opacity, symbol in models:
            own = densities[densities["group"] == group]
            mean = float(np.average(own["x"], weights=own["density"]))
            about = f"{escaped(label)}, {escaped(name)} {span(own['s_low'].iloc[0], own['s_high'].iloc[0])}"
            figure.add_scatter(
                x=own["x"],
                y=np.full(len(own), row),
                mode="lines",
                line={"width": 0},
                hoverinfo="skip",
                name="base line",
            )
            figure.add_scatter(
                x=own["x"],
                y=row + scale * own["density"],
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


def _name_the_models(figure: go.Figure, models: tuple, *, row: int, scale: float) -> float:
    """Name both curves of the top row where each stands out most from the other; how high names reach."""
    own, other = (
        densities[densities["group"] == densities["group"].unique()[row]] for densities, *_ in models
    )
    gap = own["density"].to_numpy() - other["density"].to_numpy()
    reach = 0.0
    for (_, label, colour, *_), curve, place in zip(
        models, (own, other), (int(gap.argmax()), int(gap.argmin())), strict=True
    ):
        x, y = float(curve["x"].iloc[place]), row + scale * float(curve["density"].iloc[place])
        share = place / len(curve)
        figure.add_annotation(
            x=x,
            y=y,
            text=f"<b>{escaped(label)}</b>",
            showarrow=False,
            xanchor="left" if share < 0.2 else "right" if share > 0.8 else "center",
            yanchor="bottom",
            font={"color": colour, "size": 13},
        )
        reach = max(reach, y + 0.25, row + scale * float(curve["density"].max()))
    return reach
