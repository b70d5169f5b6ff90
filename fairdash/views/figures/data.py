"""Figures of a data set before training, and of models during training."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.colors import sample_colorscale

from fairdash.training.methods import PATHS
from fairdash.training.sweep import STANDARD
from fairdash.utils.text import amount, p_equals, percent
from fairdash.views.figures.parts import Values, dots, limits, line, note, short
from fairdash.views.figures.theme import Theme, escaped, faded, new_figure

#: Maximum number of dots, which are a random sample of the rows. More dots would overlap and slow down the
#: browser.
MAX_DOTS = 1500


def sampled_rows(n: int) -> NDArray[np.intp]:
    """Return the indices, in ascending order, of those of n rows that are drawn as dots."""
    if n <= MAX_DOTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MAX_DOTS, replace=False))


def distribution_figure(
    values: NDArray[np.float64],
    *,
    role: str,
    label: str,
    theme: Theme,
    weight: NDArray[np.float64] | None = None,
) -> go.Figure:
    """Draw a column's histogram; `label` is the axis title with unit, `weight` the exposure of rows."""
    mean = "mean" if weight is None else "mean by exposure"
    figure = new_figure(
        title=f"Distribution of the {role}",
        subtitle=f"{len(values):,} rows, {mean} {amount(np.average(values, weights=weight))}, "
        f"from {amount(values.min())} to {amount(values.max())}",
        x=label,
        y="Rows",
        theme=theme,
        height=300,
    )
    counts, edges = np.histogram(values, bins=min(40, max(10, int(len(values) ** 0.5))))
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=counts,
        width=np.diff(edges),
        marker={"color": faded(theme.quiet, 0.75), "line": {"width": 0}},
        customdata=np.column_stack([edges[:-1], edges[1:]]),
        hovertemplate="%{customdata[0]:.4~g} to %{customdata[1]:.4~g}: %{y:,} rows<extra></extra>",
    )
    return figure


def link_figure(
    s: NDArray[np.float64],
    y: NDArray[np.float64],
    profile: pd.DataFrame,
    *,
    sensitive: str,
    target: str,
    theme: Theme,
    by_exposure: bool = False,
) -> go.Figure:
    """Draw the target's averages in groups of the sensitive attribute, with 95 % intervals, and rows as dots.

    The axes are fitted to the averages; the subtitle states the share of rows that are outside the axes.

    Parameters
    ----------
    s, y
        Sensitive column and target, (n,).
    profile
        Result of :func:`fairdash.evaluation.group_averages`.
    sensitive, target
        Titles of the axes, with units.
    by_exposure
        True adds to the subtitle that the averages are weighted by exposure.
    """
    drawn = sampled_rows(len(y))
    x_range = _room(s, profile["s_mean"], 0.06)
    y_range = _room(y, pd.concat([profile[column] for column in ("mean", "low", "high")]), 0.6)
    hidden_share = float(np.mean((s < x_range[0]) | (s > x_range[1]) | (y < y_range[0]) | (y > y_range[1])))
    rows = f"{len(drawn):,} rows" if len(drawn) == len(y) else f"{len(drawn):,} of {len(y):,} rows, at random"
    weighted = ", by exposure," if by_exposure else ""
    subtitle = f"group averages{weighted} with 95 % intervals; dots: {rows}"
    if hidden_share:
        subtitle += f"; {percent(hidden_share)} of rows lie beyond the axes"
    title = "How the target follows the sensitive attribute"
    figure = new_figure(title=title, subtitle=subtitle, x=sensitive, y=target, theme=theme)
    style: Values = {"type": "scattergl", "colour": theme.quiet, "size": 4, "marker": {"opacity": 0.2}}
    averages = line(
        profile["s_mean"],
        profile["mean"],
        name="average by group",
        colour=theme.text,
        symbol="circle",
        size=9,
        error_y=limits(profile["mean"], profile["low"], profile["high"], colour=theme.text, thickness=2),
        customdata=profile[["n", "low", "high"]],
        hover=f"{escaped(sensitive)} %{{x:.4~g}}<br>average %{{y:.4~g}} (95 %: %{{customdata[1]:.4~g}} to "
        "%{customdata[2]:.4~g})<br>%{customdata[0]:.0f} rows",
    )
    figure.update_xaxes(range=x_range).update_yaxes(range=y_range)
    return figure.add_traces([dots(s[drawn], y[drawn], name="rows", hover="", **style), averages])


def _room(rows: NDArray[np.float64], averages: pd.Series, share: float) -> tuple[float, float]:
    """Return the range of averages, extended at both ends by `share` of its length within the rows' range."""
    low, high = float(averages.min()), float(averages.max())
    room = share * (high - low) or 0.05 * abs(high) or 1.0
    edge = 0.02 * (high - low + 2 * room)
    return max(low - room, min(rows.min(), low) - edge), min(high + room, max(rows.max(), high) + edge)


#: Maximum number of bars that fit on a page. The table next to the figure has all features.
MAX_BARS = 20


def proxies_figure(
    features: pd.DataFrame, *, sensitive: str, theme: Theme, joint: float | None = None
) -> go.Figure:
    """Draw the dependence of each feature on the sensitive attribute, with the strongest at the top.

    Parameters
    ----------
    features
        Columns ``feature`` and ``hgr``, the strongest first, and ``floor_q95`` and ``p_corrected`` if known.
        Features without a detectable link are drawn faint.
    sensitive
        Name of the sensitive column.
    joint
        Dependence between the attribute and all features together, drawn as a bar at the top; None if
        unknown.
    """
    shown_features = features.head(MAX_BARS)
    has_p_value = "p_corrected" in shown_features
    extent = f"the strongest {MAX_BARS} of {len(features)}" if len(features) > MAX_BARS else "all features"
    figure = new_figure(
        title=f"How well each feature predicts {sensitive}",
        subtitle=f"{extent}, on held-out rows; 0: independent, 1: the feature determines the attribute",
        x="Dependence on the sensitive attribute (spline HGR)",
        y="",
        theme=theme,
        height=150 + 24 * (len(shown_features) + (joint is not None)),
    )
    names = [escaped(short(name, longest=32)) for name in shown_features["feature"]]
    values = shown_features["hgr"].clip(lower=0).to_numpy()
    colours = [theme.chosen] * len(shown_features)
    details = ["the noise floor is still being computed"] * len(shown_features)
    if has_p_value:
        carries = shown_features["p_corrected"] <= 0.05
        colours = [theme.chosen if has_link else faded(theme.chosen, 0.35) for has_link in carries]
        details = [
            f"below {q95:.2f} in 95 % of cases if independent; {p_equals(p)}, corrected for {len(features)} "
            "features"
            for q95, p in zip(shown_features["floor_q95"], shown_features["p_corrected"], strict=True)
        ]
    if joint is not None:
        names, values = ["all features together", *names], np.concatenate([[max(joint, 0)], values])
        colours, details = [theme.text, *colours], ["predicted from all features", *details]
    positions = np.arange(len(names))[::-1]
    figure.add_bar(
        x=values,
        y=positions,
        orientation="h",
        marker={"color": colours, "line": {"width": 0}},
        text=[f"{value:.2f}" for value in values],
        textposition="outside",
        cliponaxis=False,
        customdata=np.column_stack([names, details]),
        hovertemplate="%{customdata[0]}: %{x:.3f}<br>%{customdata[1]}<extra></extra>",
        name="dependence",
    )
    if has_p_value:
        style: Values = {"colour": theme.quiet, "symbol": "line-ns-open", "size": 12}
        style |= {"marker": {"line": {"width": 2}}}
        top_positions = positions[-len(shown_features) :]
        figure.add_trace(
            dots(shown_features["floor_q95"], top_positions, name="noise floor", hover="", **style)
        )
    figure.update_yaxes(tickvals=positions, ticktext=names, showgrid=False, ticks="")
    return figure.update_xaxes(range=[0, 1.08]).update_layout(bargap=0.25)


TITLES = {
    "mse": ("Error on training batches", "1: constant mean"),
    "dependence": ("Dependence, as measured by the penalty", "Ψ"),
}


def training_curves_figure(curves: pd.DataFrame, figure_of: str, *, theme: Theme) -> go.Figure:
    """Draw the training curves of the fair method that was trained last, one curve per weight λ.

    `figure_of` is ``"mse"`` or ``"dependence"``; `curves` contains the rows of
    :class:`fairdash.training.progress.SweepProgress`, in the order of training.
    """
    title, y = TITLES[figure_of]
    # The models of a method are trained in batches (“stacks”), and each batch reports a curve of its own.
    # During the warm-up, training has no penalty, so a curve has no values of dependence.
    curves = curves.astype({"mse": float, "dependence": float})
    curves = curves.groupby(["method", "lam", "epoch"], sort=False, as_index=False).mean()
    fair = curves[curves["method"] != STANDARD]
    fair = fair[fair["method"] == fair["method"].iloc[-1]] if len(fair) else fair
    method = f"{PATHS[fair['method'].iloc[0]].title}; " if len(fair) else ""
    subtitle = f"{method}darker: larger λ; means over splits"
    figure = new_figure(title=title, subtitle=subtitle, x="Epoch", y=y, theme=theme, height=300)
    lams = sorted(fair["lam"].unique())
    colours = sample_colorscale("Blues", [0.35 + 0.6 * k / max(len(lams) - 1, 1) for k in range(len(lams))])
    for lam, colour in zip(lams, colours, strict=True):
        rows_of_lam, name = fair[fair["lam"] == lam], f"λ = {lam:g}"
        style: Values = {"colour": colour, "width": 2, "hover": f"{name}, epoch %{{x}}: %{{y:.3f}}"}
        figure.add_trace(line(rows_of_lam["epoch"], rows_of_lam[figure_of], name=name, **style))
        if lam in (lams[0], lams[-1]):
            last = rows_of_lam.iloc[-1]
            end: Values = {"x": last["epoch"], "y": last[figure_of] if pd.notna(last[figure_of]) else 0}
            figure.add_annotation(note(name, colour=theme.quiet, **end, xanchor="right", yshift=10))
    standard = curves[curves["method"] == STANDARD]
    if figure_of == "mse" and len(standard):
        style = {"colour": theme.standard, "width": 2, "dash": "dash"}
        hover = "standard model, epoch %{x}: %{y:.3f}"
        trace = line(standard["epoch"], standard["mse"], name="standard model", hover=hover, **style)
        figure.add_trace(trace)
    return figure.update_yaxes(rangemode="tozero")
