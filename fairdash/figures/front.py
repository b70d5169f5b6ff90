"""The front: test error against dependence, all methods together, references beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from fairdash.assessment import pareto_efficient, trained_points
from fairdash.figures.theme import OTHERS, REFERENCE, Theme, escaped, faded, new_figure
from fairdash.training.methods import METHODS
from fairdash.training.references import REFERENCES

SYMBOLS = ("square", "triangle-up", "triangle-down", "cross", "x", "star")
DASHES = ("dash", "dashdot", "longdash", "dot", "longdashdot", "dash")
BEATEN = "#9aa1aa"


@dataclass(frozen=True)
class Mark:
    """A point that stands out: its place on a method's path and what is written beside it."""

    method: str
    lam: float
    label: str
    colour: str
    symbol: str = "circle"


def front_without_marks(
    test: pd.DataFrame,
    single: pd.DataFrame,
    *,
    error: str,
    error_title: str,
    measure: str,
    measure_title: str,
    method: str,
    references: pd.DataFrame | None,
    price: float,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Mean test error against a measure of dependence, a line a method, trained weights as its points.

    All of it stays as it is while a slider moves; see :func:`with_marks`.

    Parameters
    ----------
    test, single
        Means over the splits and single splits of :func:`fairdash.assessment.assess_path`, test rows.
    error, error_title, measure, measure_title
        Columns along y and x, and their axis titles.
    method
        The method in view: drawn in full, with standard errors and single splits.
    references
        Means of prices that use the sensitive attribute, test rows.
    price
        What exact independence adds to the error at least; NaN if it is not known.
    """
    figure = new_figure(
        title="What fairness costs", subtitle=subtitle, x=measure_title, y=error_title, theme=theme
    )
    trained = trained_points(test, standard_of=method)
    best = pareto_efficient(trained[error], trained[measure])
    if references is not None and len(references):
        _references(figure, references, error=error, measure=measure)
    if math.isfinite(price) and error == "mse":
        standard = float(test.loc[test["lam"] == 0, error].iloc[0])
        _price(figure, standard + price, theme)
    others = [each for each in test["method"].unique() if each != method]
    for k, other in enumerate(others):
        _path(
            figure,
            test[test["method"] == other],
            trained[best & (trained["method"] == other)],
            trained[~best & (trained["method"] == other)],
            error=error,
            measure=measure,
            colour=OTHERS[k % len(OTHERS)],
            symbol=SYMBOLS[k % len(SYMBOLS)],
            dash=DASHES[k % len(DASHES)],
            theme=theme,
        )
    _splits(figure, single[(single["method"] == method) & (single["share"] == 0)], error, measure, theme)
    own = test[test["method"] == method]
    _path(
        figure,
        own,
        trained[best & (trained["method"] == method)],
        trained[~best & (trained["method"] == method)],
        error=error,
        measure=measure,
        colour=theme.chosen,
        symbol="circle",
        dash="solid",
        theme=theme,
        with_errors=True,
    )
    _name_paths(figure, test, error=error, measure=measure, theme=theme)
    _fit(figure, test, references, measure)
    return figure


def with_marks(
    base: Mapping[str, Any],
    test: pd.DataFrame,
    marks: Sequence[Mark],
    *,
    error: str,
    measure: str,
    theme: Theme,
) -> go.Figure:
    """The front with points to point out.

    Parameters
    ----------
    base
        The figure of :func:`front_without_marks` as plain values, ``.to_plotly_json()``; it is not changed.
    marks
        The last one is the chosen one: the noise floor is its floor.
    """
    rows = [_row(test, mark) for mark in marks]
    shape, note = _floor(float(rows[-1][f"{measure}_floor_q95"]), theme)
    layout = dict(base["layout"])
    layout["shapes"] = [*layout.get("shapes", ()), shape]
    # Far right there is no room to the right of a point.
    far = 0.7 * float(test[measure].max())
    notes = [
        _name_of(
            mark, float(row[measure]), float(row[error]), to_the_left=bool(row[measure] > far), theme=theme
        )
        for mark, row in zip(marks, rows, strict=True)
    ]
    layout["annotations"] = [*layout.get("annotations", ()), note, *notes]
    points = [
        _point(mark, row, error=error, measure=measure, theme=theme)
        for mark, row in zip(marks, rows, strict=True)
    ]
    # In one piece: plotly takes several times as long to add to a figure as to begin with this.
    return go.Figure(data=[*base["data"], *points], layout=layout)


def _row(test: pd.DataFrame, mark: Mark) -> pd.Series:
    rows = test[test["lam"] == mark.lam]
    own = rows[rows["method"] == mark.method]
    return (own if len(own) else rows).iloc[0]


def _floor(edge: float, theme: Theme) -> tuple[dict[str, Any], dict[str, Any]]:
    """The noise floor's band and what is written in it."""
    band = {
        "type": "rect",
        "x0": 0,
        "x1": edge,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "fillcolor": theme.floor,
        "line": {"width": 0},
        "layer": "below",
    }
    note = {
        "x": 0,
        "y": 0.01,
        "yref": "paper",
        "text": "noise floor: left of its edge<br>nothing is told from independence",
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "bottom",
        "align": "left",
        "font": {"color": theme.quiet, "size": 11},
    }
    return band, note


def _path(
    figure: go.Figure,
    path: pd.DataFrame,
    best: pd.DataFrame,
    beaten: pd.DataFrame,
    *,
    error: str,
    measure: str,
    colour: str,
    symbol: str,
    dash: str,
    theme: Theme,
    with_errors: bool = False,
) -> None:
    """A method's line through all its stops, and its trained points."""
    name = METHODS[path["method"].iloc[0]].title
    path = path.sort_values("lam")
    figure.add_scatter(
        x=path[measure],
        y=path[error],
        mode="lines",
        line={"color": colour, "width": 2.5 if with_errors else 1.5, "dash": dash},
        name=f"{name}: path",
        hoverinfo="skip",
    )
    for rows, fill, what in ((best, colour, ""), (beaten, BEATEN, ", beaten by another point")):
        if rows.empty:
            continue
        bars = {}
        if with_errors:
            for axis, column in (("error_x", measure), ("error_y", error)):
                bars[axis] = {
                    "type": "data",
                    "array": rows[f"{column}_se"].fillna(0.0),
                    "color": faded(colour, 0.35),
                    "thickness": 1,
                    "width": 0,
                }
        figure.add_scatter(
            x=rows[measure],
            y=rows[error],
            mode="markers",
            marker={
                "size": 9 if with_errors else 7,
                "color": fill,
                "symbol": symbol,
                "line": {"width": 1, "color": colour if what else theme.text},
            },
            name=f"{name}{what}",
            customdata=rows[["lam", "n_splits", f"{measure}_floor", f"{measure}_se", f"{error}_se"]],
            hovertemplate=f"<b>{name}, λ = %{{customdata[0]:g}}</b>{what}"
            "<br>mean of %{customdata[1]} splits"
            "<br>dependence %{x:.3f} ± %{customdata[3]:.3f} (floor %{customdata[2]:.3f})"
            "<br>error %{y:.3f} ± %{customdata[4]:.3f}<extra></extra>",
            **bars,
        )


def _name_paths(figure: go.Figure, test: pd.DataFrame, *, error: str, measure: str, theme: Theme) -> None:
    """Each method's name at the fair end of its path; names keep apart."""
    ends = test.sort_values("lam").groupby("method", sort=False).tail(1).sort_values(error)
    gap = 0.055 * float(test[error].max() - test[error].min())
    level = -math.inf
    for _, end in ends.iterrows():
        level = max(float(end[error]), level + gap)
        figure.add_annotation(
            x=end[measure],
            y=level,
            text=escaped(METHODS[end["method"]].title),
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            xshift=8,
            bgcolor=theme.veil,
            font={"color": theme.quiet, "size": 11},
        )


def _splits(figure: go.Figure, rows: pd.DataFrame, error: str, measure: str, theme: Theme) -> None:
    for own, colour, symbol in (
        (rows[rows["lam"] > 0], theme.chosen, "circle"),
        (rows[rows["lam"] == 0], theme.standard, "diamond"),
    ):
        figure.add_scatter(
            x=own[measure],
            y=own[error],
            mode="markers",
            marker={"color": faded(colour, 0.25), "size": 5, "symbol": symbol},
            name="single splits",
            customdata=own[["lam", "split"]],
            hovertemplate="λ = %{customdata[0]:g}, split %{customdata[1]}"
            "<br>dependence %{x:.3f}, error %{y:.3f}<extra></extra>",
        )


def _references(figure: go.Figure, references: pd.DataFrame, *, error: str, measure: str) -> None:
    """Prices that use s: a dashed curve and single points, never joined with the methods."""
    for id, reference in REFERENCES.items():
        rows = references[references["method"] == id].sort_values("lam")
        if rows.empty or error not in rows:
            continue
        figure.add_scatter(
            x=rows[measure],
            y=rows[error],
            mode="lines+markers" if reference.is_curve else "markers",
            line={"color": REFERENCE, "width": 1.5, "dash": "dot"},
            marker={"color": REFERENCE, "size": 5 if reference.is_curve else 10, "symbol": "star"},
            name=reference.title,
            customdata=rows[["lam"]],
            hovertemplate=f"<b>{reference.title}</b>"
            + ("<br>strength %{customdata[0]:.0%}" if reference.is_curve else "")
            + "<br>dependence %{x:.3f}, error %{y:.3f}<extra></extra>",
        )
        place = rows.iloc[len(rows) // 2]
        figure.add_annotation(
            x=place[measure],
            y=place[error],
            text="uses s: barycentre" if reference.is_curve else "uses s: discrimination-free",
            showarrow=False,
            xanchor="left" if reference.is_curve else "right",
            yanchor="bottom" if reference.is_curve else "top",
            xshift=6,
            yshift=0 if reference.is_curve else -6,
            font={"color": REFERENCE, "size": 11},
        )


def _price(figure: go.Figure, level: float, theme: Theme) -> None:
    figure.add_shape(
        type="line",
        x0=0,
        x1=1,
        xref="paper",
        y0=level,
        y1=level,
        line={"color": REFERENCE, "width": 1, "dash": "dash"},
        layer="below",
    )
    figure.add_annotation(
        x=1,
        xref="paper",
        y=level,
        text="estimated price of exact independence, even if s were used",
        showarrow=False,
        xanchor="right",
        yanchor="bottom",
        font={"color": theme.quiet, "size": 11},
    )


def _point(mark: Mark, row: pd.Series, *, error: str, measure: str, theme: Theme) -> dict[str, Any]:
    """A large dot; hollow for a blend."""
    trained = row["share"] == 0
    return {
        "type": "scatter",
        "x": [float(row[measure])],
        "y": [float(row[error])],
        "mode": "markers",
        "marker": {
            "size": 16,
            "color": mark.colour if trained else theme.veil,
            "symbol": mark.symbol,
            "line": {"width": 3, "color": "white" if trained else mark.colour},
        },
        "name": escaped(mark.label),
        "hoverinfo": "skip",
    }


def _name_of(mark: Mark, x: float, y: float, *, to_the_left: bool, theme: Theme) -> dict[str, Any]:
    """The label beside a dot."""
    return {
        "x": x,
        "y": y,
        "text": f"<b>{escaped(mark.label)}</b>",
        "showarrow": False,
        "xanchor": "right" if to_the_left else "left",
        "xshift": 14,
        "yshift": 24 if mark.lam == 0 else 14,
        "bgcolor": theme.veil,
        "borderpad": 0,
        "font": {"color": mark.colour, "size": 13},
    }


def _fit(figure: go.Figure, test: pd.DataFrame, references: pd.DataFrame | None, measure: str) -> None:
    """From zero, unless held-out figures fall below it, to a little beyond the furthest mean."""
    values = (
        [test[measure]] if references is None or references.empty else [test[measure], references[measure]]
    )
    together = pd.concat(values)
    high = float(together.max())
    figure.update_xaxes(range=[min(float(together.min()), 0.0) - 0.04 * high, 1.12 * high])
