"""Training curves: error and dependence on the training batches, a line a λ."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from fairdash.figures.parts import note
from fairdash.figures.theme import Theme, new_figure
from fairdash.training.methods import METHODS
from fairdash.training.sweep import STANDARD

TITLES = {
    "mse": ("Error on the training batches", "1: constant mean"),
    "dependence": ("Dependence that the penalty finds", "Ψ"),
}


def curves_figure(curves: pd.DataFrame, figure_of: str, *, theme: Theme) -> go.Figure:
    """One line a λ over the epochs, of the fair method that was trained last.

    `figure_of` is ``"mse"`` or ``"dependence"``; `curves` has the rows of
    :class:`fairdash.training.progress.SweepProgress`, in the order of training.
    """
    title, y = TITLES[figure_of]
    # Each stack of a method has told its own; in the warm-up there is no dependence, not even as a number.
    curves = curves.astype({"mse": float, "dependence": float})
    curves = curves.groupby(["method", "lam", "epoch"], sort=False, as_index=False).mean()
    fair = curves[curves["method"] != STANDARD]
    fair = fair[fair["method"] == fair["method"].iloc[-1]] if len(fair) else fair
    method = f"{METHODS[fair['method'].iloc[0]].title}; " if len(fair) else ""
    subtitle = f"{method}darker: larger λ; means over splits"
    figure = new_figure(title=title, subtitle=subtitle, x="Epoch", y=y, theme=theme, height=300)
    lams = sorted(fair["lam"].unique())
    colours = sample_colorscale("Blues", [0.35 + 0.6 * k / max(len(lams) - 1, 1) for k in range(len(lams))])
    for lam, colour in zip(lams, colours, strict=True):
        line = fair[fair["lam"] == lam]
        figure.add_scatter(
            x=line["epoch"],
            y=line[figure_of],
            mode="lines",
            line={"color": colour, "width": 2},
            name=f"λ = {lam:g}",
            hovertemplate=f"λ = {lam:g}, epoch %{{x}}: %{{y:.3f}}<extra></extra>",
        )
        if lam in (lams[0], lams[-1]):
            last = line.iloc[-1]
            end = {"x": last["epoch"], "y": last[figure_of] if pd.notna(last[figure_of]) else 0}
            above = {"xanchor": "right", "yshift": 10}
            figure.add_annotation(note(f"λ = {lam:g}", colour=theme.quiet, **end) | above)
    standard = curves[curves["method"] == STANDARD]
    if figure_of == "mse" and len(standard):
        figure.add_scatter(
            x=standard["epoch"],
            y=standard["mse"],
            mode="lines",
            line={"color": theme.standard, "width": 2, "dash": "dash"},
            name="standard model",
            hovertemplate="standard model, epoch %{x}: %{y:.3f}<extra></extra>",
        )
    figure.update_yaxes(rangemode="tozero")
    return figure
