"""Pictures of a data set before any model: distributions, and the target by sensitive quantile."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.figures.theme import Theme, escaped, faded, new_figure
from fairdash.utils.text import amount

#: More dots than this are a blot, and slow in the browser: a random sample is drawn instead.
DOTS = 1500


def distribution_figure(
    values: NDArray[np.float64],
    *,
    role: str,
    label: str,
    theme: Theme,
    weight: NDArray[np.float64] | None = None,
) -> go.Figure:
    """Histogram of one column; `label` is its axis title, with the unit; `weight` the rows' exposure."""
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
    """Every row as a dot and the target's average by sensitive quantile as a line.

    Parameters
    ----------
    s, y
        (n,) arrays.
    profile
        Columns ``s_mean``, ``mean``, ``n``.
    sensitive, target
        Axis titles, with units.
    by_exposure
        Whether the averages count rows by their exposure, to be said.
    """
    shown = np.arange(len(y))
    if len(y) > DOTS:
        shown = np.sort(np.random.default_rng(0).choice(len(y), DOTS, replace=False))
    dots = f"{len(shown):,} rows" if len(shown) == len(y) else f"{len(shown):,} of {len(y):,} rows, at random"
    figure = new_figure(
        title="How the target follows the sensitive attribute",
        subtitle=f"dots: {dots}; line: group averages" + (", by exposure" if by_exposure else ""),
        x=sensitive,
        y=target,
        theme=theme,
    )
    figure.add_scattergl(
        x=s[shown],
        y=y[shown],
        mode="markers",
        marker={"color": theme.quiet, "size": 4, "opacity": 0.35},
        hoverinfo="skip",
        name="rows",
    )
    figure.add_scatter(
        x=profile["s_mean"],
        y=profile["mean"],
        mode="lines+markers",
        line={"color": theme.text, "width": 2.5},
        marker={"size": 7},
        customdata=profile[["n"]],
        name="average by group",
        hovertemplate=f"{escaped(sensitive)} %{{x:.4~g}}<br>average %{{y:.4~g}}"
        "<br>%{customdata[0]:.0f} rows<extra></extra>",
    )
    return figure


#: Bars that fit on a page; the table beside them has all.
BARS = 20
_LONGEST = 32


def proxies_figure(
    features: pd.DataFrame,
    *,
    sensitive: str,
    theme: Theme,
    joint: float | None = None,
) -> go.Figure:
    """How much of the sensitive attribute each feature carries, the strongest on top.

    Parameters
    ----------
    features
        Columns ``feature`` and ``hgr``, the strongest first, and where they are known ``floor_q95`` and
        ``p_corrected``. Features that can't be told from independent are drawn faint.
    sensitive
        Name of the sensitive column.
    joint
        The same of all features together, if it is known: a bar of its own on top.
    """
    shown = features.head(BARS)
    known = "p_corrected" in shown
    counted = (
        f"the strongest {len(shown)} of {len(features)}" if len(shown) < len(features) else "all features"
    )
    figure = new_figure(
        title=f"How much of {sensitive} each feature carries",
        subtitle=f"{counted}; 0: independent, 1: the sensitive attribute itself; on rows not fitted to",
        x="Dependence on the sensitive attribute (spline HGR)",
        y="",
        theme=theme,
        height=150 + 24 * (len(shown) + (joint is not None)),
    )
    names = [_short(name) for name in shown["feature"]]
    values = shown["hgr"].clip(lower=0).to_numpy()
    colours = [theme.chosen] * len(shown)
    details = ["still measuring how far chance goes"] * len(shown)
    if known:
        carries = shown["p_corrected"] <= 0.05
        colours = [theme.chosen if each else faded(theme.chosen, 0.35) for each in carries]
        details = [
            f"independence stays below {q95:.2f}; p = {p:.2g}, corrected for {len(features)} features"
            for q95, p in zip(shown["floor_q95"], shown["p_corrected"], strict=True)
        ]
    if joint is not None:
        names, values = ["all features together", *names], np.concatenate([[max(joint, 0)], values])
        colours, details = [theme.text, *colours], ["predicted from all features", *details]
    places = np.arange(len(names))[::-1]
    figure.add_bar(
        x=values,
        y=places,
        orientation="h",
        marker={"color": colours, "line": {"width": 0}},
        text=[f"{value:.2f}" for value in values],
        textposition="outside",
        cliponaxis=False,
        customdata=np.column_stack([[escaped(name) for name in names], details]),
        hovertemplate="%{customdata[0]}: %{x:.3f}<br>%{customdata[1]}<extra></extra>",
        name="dependence",
    )
    if known:
        figure.add_scatter(
            x=shown["floor_q95"],
            y=places[-len(shown) :],
            mode="markers",
            marker={"symbol": "line-ns-open", "size": 12, "color": theme.quiet, "line": {"width": 2}},
            hoverinfo="skip",
            name="noise floor",
        )
    figure.update_yaxes(tickvals=places, ticktext=[escaped(name) for name in names], showgrid=False, ticks="")
    figure.update_xaxes(range=[0, 1.08])
    figure.update_layout(bargap=0.25)
    return figure


def _short(name: object) -> str:
    text = str(name)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
