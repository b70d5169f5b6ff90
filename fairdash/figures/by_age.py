"""Fig. 4: average prices, or residuals, by age."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.parts import band, corner_note
from fairdash.figures.simulations import coloured
from fairdash.figures.theme import OTHERS, REFERENCE, Theme, new_figure

#: Colour, marker and dash of each method; the standard network has the theme's own colour.
_LOOKS = {
    "standard": ("", "circle", "solid"),
    "hgr_nn": ("", "diamond", "solid"),
    "chi2_nn": (OTHERS[0], "square", "dash"),
    "chi2_kde": (OTHERS[1], "triangle-up", "dot"),
}
_GLYPHS = {"circle": "●", "diamond": "◆", "square": "■", "triangle-up": "▲"}


def by_age_figure(
    profile: pd.DataFrame, *, names: Mapping[str, str], level: float, title: str, subtitle: str, y: str,
    theme: Theme,
) -> go.Figure:  # fmt: skip
    """Average price, or residual, by age for several methods; the first one's 95 % band is drawn.

    The others' bands are about as wide and would cover each other; touching a point gives its interval.

    Parameters
    ----------
    profile
        ``method``, ``s_mean``, ``mean``, ``low``, ``high``, ``n``.
    names
        Method to its name for people.
    level
        A level line: the average price, or 0 for residuals.
    """
    figure = new_figure(title=title, subtitle=subtitle, x="Age (years)", y=y, theme=theme, height=500)
    # Room for the key above the plot: no corner of it is free in every view.
    figure.update_layout(margin={"t": 116})
    figure.add_hline(y=level, line={"color": REFERENCE, "width": 2, "dash": "dot"})
    keys: list[str] = []
    for method, name in names.items():
        line = profile[profile["method"] == method]
        colour, symbol, dash = _LOOKS[method]
        colour = colour or (theme.standard if method == "standard" else theme.chosen)
        if not keys:
            interval = (line["s_mean"], line["low"], line["high"])
            figure.add_trace(band(*interval, colour=colour, opacity=0.12, name=f"{name}, 95 % interval"))
        figure.add_scatter(
            x=line["s_mean"], y=line["mean"], mode="lines+markers", name=name,
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"symbol": symbol, "size": 8, "color": colour},
            customdata=line[["low", "high", "n"]].to_numpy(),
            hovertemplate=f"<b>{name}</b> at %{{x:.1f}} years: %{{y:.1f}} €"
            "<br>95 %: %{customdata[0]:.1f} to %{customdata[1]:.1f} €, %{customdata[2]:.0f} rows"
            "<extra></extra>",
        )  # fmt: skip
        keys.append(coloured(name, colour, _GLYPHS[symbol]))
    key = "<br>".join("   ".join(keys[k : k + 2]) for k in range(0, len(keys), 2))
    figure.add_annotation(corner_note(key, y=1.01, yanchor="bottom", colour=theme.text))
    return figure
