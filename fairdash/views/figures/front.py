"""Figures of error against dependence: the Pareto front of a run, and the benchmark of methods."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from fairdash.evaluation import differ_beyond_noise, pareto_efficient, trained_points
from fairdash.evaluation.figures import of_measure
from fairdash.tariff import FAIR_TARIFF, title_of
from fairdash.training.baselines import BASELINES, LINEAR, MEAN, PRICE, TREES
from fairdash.training.methods import DEFAULT_METHOD, PATHS, STANDARD
from fairdash.training.references import REFERENCES
from fairdash.utils.text import number, percent, with_unit
from fairdash.views.figures.labels import HEIGHT, WIDTHS, Axes, Box, Label, placed, shares
from fairdash.views.figures.parts import (
    Values,
    dots,
    errors,
    floor_rect,
    line,
    line_across,
    note,
    with_legend,
)
from fairdash.views.figures.theme import OTHERS, REFERENCE, Theme, escaped, faded, figure_of, new_figure

SYMBOLS = ("square", "triangle-up", "cross", "x", "star")
DASHES = ("dash", "dashdot", "longdash", "dot", "longdashdot", "dash")
DOMINATED = "#9aa1aa"
#: `FLOOR_NOTE`: label in the band of the noise floor. `_FLOOR_NOTE_AT`: height of the label, as a share of
#: the height of the plot.
FLOOR_NOTE = "noise floor: no link shown"
_FLOOR_NOTE_AT = 0.01
#: Symbols and labels of the baselines, in the order in which they are drawn.
_BASELINES = {
    MEAN: ("circle-open", "average"),
    LINEAR: ("diamond-open", "ridge"),
    TREES: ("triangle-up-open", "trees"),
    PRICE: ("square-open", "existing price"),
    FAIR_TARIFF: ("cross-open", "fair tariff"),
}
_TITLES = {**BASELINES, FAIR_TARIFF: "Fair tariff"}
#: Points outside the axes are marked at this distance from the edge, as a share of the height of the plot.
_EDGE = 0.045
#: Label at the point where the curve of the selected method reaches the noise floor.
NOISE_NOTE = "beyond this point λ removes only noise"
_VALUES = "dependence %{x:.3f}<br>error %{customdata[0]}"


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
    baselines: pd.DataFrame | None = None,
    least_error: tuple[float, float] = (math.nan, math.nan),
    noise_at: tuple[float, float] | None = None,
    unit: str = "",
    of_average: float = math.nan,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Draw mean test error against dependence, with a point per trained model.

    A method's line joins points that differ by more than noise.

    The range of the y-axis fits the errors of the methods. A price with an error outside this range is drawn
    at the edge of the plot, with an arrow and its error. The figure is the same for all positions of the
    slider; :func:`with_marks` adds the points that change.

    Parameters
    ----------
    test, single
        Results of :func:`fairdash.evaluation.assess_curve` on test rows: means over the splits, and single
        splits.
    error, error_title, measure, measure_title
        Measures on the y-axis and x-axis, with axis titles. The error is either "rmse" in `unit`, or the
        error divided by the error of predicting the average.
    method
        Method whose standard errors and single splits are also drawn.
    references
        Mean values, on test rows, of prices that use the sensitive attribute.
    baselines
        Mean values, on test rows, of :data:`fairdash.training.baselines.BASELINES` and of tariffs.
    least_error
        Smallest error of predictions that may use the sensitive attribute and are independent of it, and the
        standard error; NaN if unknown.
    noise_at
        Dependence and error at which the method's curve enters the noise floor; None if it does not.
    of_average
        Error of predicting the average for all rows; NaN if unknown.
    """
    figure = new_figure(
        title="What fairness costs", subtitle=subtitle, x=measure_title, y=error_title, theme=theme
    )
    as_points = partial(on_axes, error=error, measure=measure, unit=unit, of_average=of_average)
    models = trained_points(test, standard_of=method)
    tables_of_paths = (of_measure(models, name) for name in ("mse" if error == "rmse" else error, measure))
    best = pareto_efficient(*(rows["value"] for rows in tables_of_paths))
    models, test, single = map(as_points, (models, test, single))
    models = models.assign(best=best)
    splits = single[(single["method"] == method) & (single["share"] == 0)]
    path_rows = test[test["method"] == method]
    other_tables = [as_points(table) for table in (references, baselines) if table is not None and len(table)]
    heights = pd.concat([table["y"] for table in (test, *_ends_of_bars(path_rows))])
    axes = fit_axes(figure, pd.concat([table["x"] for table in (test, *other_tables)]), heights)
    words = _names_of_paths(test, theme)
    for table in other_tables:
        for trace, name in _other_prices(table, axes, theme, unit, "GLM" if error == "deviance" else "ridge"):
            figure.add_trace(trace)
            words.append(name)
    if math.isfinite(least_error[0]):
        level, level_se = least_error
        if level == _in_axes(level, axes):
            figure.add_shape(line_across(level, colour=REFERENCE, dash="dash"), layer="below")
        arrow = _arrow(level, axes)
        se_note = f" ± {level_se:.2g}" if math.isfinite(level_se) and not arrow else ""
        text = f"{arrow}lowest error under independence: {with_unit(f'{level:.3g}{se_note}', unit)}"
        words.insert(0, Label(x=axes[0][1], y=_in_axes(level, axes), text=text, colour=theme.quiet))
    # Labels at the edge have the fewest possible positions. They are therefore placed first, from left to
    # right.
    words.sort(key=lambda label: label.x if label.text[0] in "↑↓" else math.inf)
    if noise_at is not None:
        words.insert(0, Label(x=noise_at[0], y=noise_at[1], text=NOISE_NOTE, colour=theme.text))
    paths = {id: rows.sort_values("lam") for id, rows in test.groupby("method", sort=False)}
    points = {id: models[models["method"] == id] for id in paths}
    for k, other in enumerate(path for path in paths if path != method):
        style: Values = {"colour": OTHERS[k % len(OTHERS)], "symbol": SYMBOLS[k % len(SYMBOLS)]}
        style |= {"dash": DASHES[k % len(DASHES)], "name": PATHS[str(other)].title, "theme": theme}
        figure.add_traces(_path(paths[other], points[other], **style))
    figure.add_traces(_splits(splits, theme))
    style = {"colour": theme.chosen, "name": PATHS[method].title, "theme": theme, "with_errors": True}
    figure.add_traces(_path(paths[method], points[method], **style))
    # The function with_marks places the labels, because their positions depend on the marks.
    path = path_rows[["x", "y"]].to_numpy().tolist()
    return figure.update_layout(meta={"labels": [asdict(label) for label in words], "path": path})


def with_marks(base: Mapping[str, Any], marks: Sequence[Label], *, edge: float, theme: Theme) -> go.Figure:
    """Add marked points, such as the selected point, to the figure of the Pareto front.

    Parameters
    ----------
    base
        Figure of :func:`front_without_marks` as plain values, ``.to_plotly_json()``, which is not changed.
    marks
        Marked points. A hollow mark is a blend (average of the predictions of two trained models).
    edge
        Upper end of the noise floor.
    """
    layout = dict(base["layout"])
    axes = (tuple(layout["xaxis"]["range"]), tuple(layout["yaxis"]["range"]))
    words = layout.pop("meta")
    labels = [*marks, *(Label(**label) for label in words["labels"])]
    layout["shapes"] = [*layout.get("shapes", ()), floor_rect(0, edge, theme)]
    notes = _labels_of_front(labels, axes=axes, points=words["path"], theme=theme)
    layout["annotations"] = [*layout.get("annotations", ()), *notes]
    # The figure is built in one call. Adding to an existing plotly figure would take several times as long.
    return figure_of([*base["data"], *(_dot(mark, theme) for mark in marks)], layout)


def runs_front_figure(
    runs: Sequence[tuple[str, str, pd.DataFrame, float]],
    *,
    error: str,
    error_title: str,
    measure: str,
    measure_title: str,
    unit: str = "",
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Draw mean test error against dependence, with one colour and symbol per run and method.

    Parameters
    ----------
    runs
        For each run: letter on the chart, title, means over the splits of
        :func:`fairdash.evaluation.assess_curve` on test rows, and error of predicting the average for all
        rows (NaN if unknown).
    error, error_title, measure, measure_title, unit
        The same as in :func:`front_without_marks`.
    """
    words: Values = {"title": "What fairness costs in each run", "subtitle": subtitle}
    figure = new_figure(**words, x=measure_title, y=error_title, theme=theme)
    colours = (theme.chosen, theme.standard, REFERENCE, *OTHERS)
    symbols, dashes = ("circle", *SYMBOLS), ("solid", *DASHES)
    paths = [(*run, curve) for run in runs for _, curve in run[2].groupby("method", sort=False)]
    labels: list[Label] = []
    shown_points: list[pd.DataFrame] = []
    for k, (letter, title, _, of_average, rows) in enumerate(paths):
        run_points = on_axes(rows.sort_values("lam", kind="stable"), error, measure, unit, of_average)
        name = f"{letter}: {PATHS[str(run_points['method'].iloc[0])].title}"
        style: Values = {"symbol": symbols[k % len(symbols)], "dash": dashes[k % len(dashes)]}
        style |= {"name": escaped(name), "colour": colours[k % len(colours)], "theme": theme}
        models = run_points[run_points["share"] == 0].assign(best=True)
        figure.add_traces(_path(run_points, models, **style, with_errors=True, hover=f"<br>{escaped(title)}"))
        shown_points.append(run_points)
        labels.append(_label(run_points.iloc[-1], name, theme.text))
    table = pd.concat(shown_points)
    axes = fit_axes(figure, table["x"], pd.concat([table["y"] for table in _ends_of_bars(table)]))
    notes = _labels_of_front(labels, axes=axes, points=table[["x", "y"]].to_numpy(dtype=float), theme=theme)
    # The band ends at the lowest limit of all noise floors. Below this limit, no run detects a link.
    floor = floor_rect(0, float(table["edge"].min()), theme)
    return figure.update_layout(shapes=[floor], annotations=notes)


def on_axes(
    frame: pd.DataFrame, error: str, measure: str, unit: str = "", of_average: float = math.nan
) -> pd.DataFrame:
    """Return one row per model: the measure's columns, x, y, the standard error of y, the error as text."""
    rows, errors = (of_measure(frame, name) for name in (measure, error))
    points = rows.assign(x=rows["value"], y=errors["value"], y_se=errors.get("se", math.nan))
    return points.assign(said=errors_in_words(points["y"], points["y_se"], unit, of_average))


def errors_in_words(errors: pd.Series, se: pd.Series, unit: str, of_average: float) -> list[str]:
    """Return errors as strings, with standard error and unit, and divided by the error of the average."""
    texts = []
    for y, error_se in zip(errors, se, strict=True):
        se_note = f" ± {number(error_se)}" if math.isfinite(error_se) else ""
        share = f" ({percent(y / of_average)} of the average's error)" if of_average > 0 else ""
        texts.append(f"{escaped(with_unit(number(y) + se_note, unit))}{share}")
    return texts


def _in_axes(y: float, axes: Axes) -> float:
    """Return y if it is within the axes, else the position of its mark at the edge of the plot."""
    low, high = axes[1]
    room = _EDGE * (high - low)
    return y if low <= y <= high else low + room if y < low else high - room


def _arrow(y: float, axes: Axes) -> str:
    """Return "↑ " or "↓ " if y is above or below the axis, else ""."""
    return "" if y == _in_axes(y, axes) else "↑ " if y > axes[1][1] else "↓ "


def _ends_of_bars(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Return two tables: with y minus its standard error, and with y plus its standard error."""
    room = table["y_se"].fillna(0)
    return [table.assign(y=table["y"] - room), table.assign(y=table["y"] + room)]


def _label(row: pd.Series, text: str, colour: str) -> Label:
    return Label(x=float(row["x"]), y=float(row["y"]), text=text, colour=colour)


def _names_of_paths(test: pd.DataFrame, theme: Theme) -> list[Label]:
    """Return a label with the name of each method, at the method's model with the largest λ."""
    end_points = test.sort_values("lam").groupby("method", sort=False).tail(1).sort_values("y")
    return [_label(end, PATHS[str(end["method"])].title, theme.quiet) for _, end in end_points.iterrows()]


def _path(
    path: pd.DataFrame,
    models: pd.DataFrame,
    *,
    name: str,
    colour: str,
    theme: Theme,
    symbol: str = "circle",
    dash: str = "solid",
    with_errors: bool = False,
    hover: str = "",
) -> list[dict[str, Any]]:
    """Return a method's traces: a line through distinct points, undominated points and dominated points."""
    path, width = path[differ_beyond_noise(path)], 2.5 if with_errors else 1.5
    traces = [
        line(path["x"], path["y"], name=f"{name}: path", colour=colour, width=width, dash=dash, hover="")
    ]
    for rows, fill, end in (
        (models[models["best"]], "", ""),
        (models[~models["best"]], DOMINATED, ", dominated by another model"),
    ):
        style: Values = {"colour": fill or colour, "symbol": symbol, "size": 9 if with_errors else 7}
        style |= {"marker": {"line": {"width": 1, "color": colour if fill else theme.text}}}
        for axis in ("x", "y") if with_errors else ():
            bar, faint = rows["se" if axis == "x" else "y_se"].fillna(0.0), faded(colour, 0.35)
            style[f"error_{axis}"] = errors(bar, colour=faint, thickness=1, width=0)
        points = dots(
            rows["x"],
            rows["y"],
            name=f"{name}{end}",
            customdata=_hover_values(rows, "lam", "n_splits", "floor", "se"),
            hover=f"<b>{name}, λ = %{{customdata[1]:g}}</b>{hover}{end}<br>mean of %{{customdata[2]}} splits"
            "<br>dependence %{x:.3f} ± %{customdata[4]:.3f} (floor %{customdata[3]:.3f})"
            "<br>error %{customdata[0]}",
            **style,
        )
        traces += [points] if len(rows) else []
    return traces


def _hover_values(rows: pd.DataFrame, *columns: str) -> list[list[Any]]:
    """Return the values in each row's hover text: the error in words, then the given columns."""
    values: list[list[Any]] = rows[["said", *columns]].to_numpy(dtype=object).tolist()
    return values


def _splits(rows: pd.DataFrame, theme: Theme) -> list[dict[str, Any]]:
    hover = f"λ = %{{customdata[1]:g}}, split %{{customdata[2]}}<br>{_VALUES}"
    kinds = ((rows["lam"] > 0, theme.chosen, "circle"), (rows["lam"] == 0, theme.standard, "diamond"))
    traces = []
    for which, colour, symbol in kinds:
        split_rows = rows[which]
        style: Values = {"colour": faded(colour, 0.25), "symbol": symbol, "size": 5}
        style |= {"customdata": _hover_values(split_rows, "lam", "split"), "hover": hover}
        traces.append(dots(split_rows["x"], split_rows["y"], name="single splits", **style))
    return traces


def _other_prices(
    table: pd.DataFrame, axes: Axes, theme: Theme, unit: str, linear: str
) -> Iterator[tuple[dict[str, Any], Label]]:
    """Return traces and labels of all other prices: prices that use s, baselines and tariffs."""
    for id, rows in table.dropna(subset=["x", "y"]).sort_values("lam").groupby("method", sort=False):
        if reference := REFERENCES.get(str(id)):
            title, text, symbol, colour = reference.title, reference.label, "star", REFERENCE
        else:
            (symbol, text), title, colour = _BASELINES[str(id)], _TITLES[str(id)], theme.text
        style: Values = {"name": title, "colour": colour, "symbol": symbol, "customdata": _hover_values(rows)}
        rows_in_view = rows[rows["y"].between(*axes[1])]
        if len(rows) > 1:
            strengths = [title_of(lam) if id == FAIR_TARIFF else f"strength {lam:.0%}" for lam in rows["lam"]]
            style |= {"text": strengths, "hover": f"<b>{title}</b><br>%{{text}}<br>{_VALUES}"}
            trace = line(rows["x"], rows["y"], width=1.5, dash="dot", size=6, **style)
            rows = rows_in_view if len(rows_in_view) else rows
        else:
            hover = f"<b>{title}</b><br>{_VALUES}"
            trace = dots(rows["x"], [_in_axes(y, axes) for y in rows["y"]], size=9, hover=hover, **style)
        row = rows.iloc[len(rows) // 2]
        arrow, text = _arrow(row["y"], axes), linear if id == LINEAR else text
        error_note = f": {with_unit(number(row['y']), unit)}" if arrow else ""
        anchor: Values = {"x": float(row["x"]), "y": _in_axes(float(row["y"]), axes)}
        yield trace, Label(**anchor, text=f"{arrow}{text}{error_note}", colour=colour)


def _dot(mark: Label, theme: Theme) -> dict[str, Any]:
    """Return a large dot for a marked point, hollow if the mark is hollow."""
    edge = {"width": 3, "color": mark.colour if mark.is_hollow else "white"}
    colour = theme.veil if mark.is_hollow else mark.colour
    style: Values = {"colour": colour, "symbol": mark.symbol, "size": 16, "marker": {"line": edge}}
    return dots([mark.x], [mark.y], name=escaped(mark.text), hover="", **style)


def _labels_of_front(
    labels: Sequence[Label], *, axes: Axes, points: Any, theme: Theme
) -> list[dict[str, Any]]:
    """Return the label in the band of the noise floor and the other labels, at positions without overlaps."""
    below = {"yref": "paper", "xanchor": "left", "yanchor": "bottom", "align": "left"}
    floor = note(FLOOR_NOTE, x=0, y=_FLOOR_NOTE_AT, colour=theme.quiet, size=11) | below
    width, height = Label(x=0, y=0, text=FLOOR_NOTE, colour="").extent
    left = shares([(0.0, axes[1][0])], axes)[0, 0] * WIDTHS
    bottom = _FLOOR_NOTE_AT * HEIGHT
    occupied: Box = (left, bottom, left + width, bottom + height)
    return [floor, *placed(labels, axes=axes, occupied=[occupied], points=points, theme=theme)]


def fit_axes(figure: go.Figure, x_values: pd.Series, heights: pd.Series) -> Axes:
    """Return axes: x from 0 or the lowest value to just above the largest value, and y for all errors."""
    # The range ends at 0.1 if all values are 0; values corrected for noise are often 0.
    far = float(x_values.max()) or 0.1
    x = (min(float(x_values.min()), 0.0) - 0.04 * far, 1.12 * far)
    low, high = float(heights.min()), float(heights.max())
    room = 0.08 * (high - low) or 0.08 * abs(high) or 0.5
    axes = (x, (low - room, high + room))
    figure.update_xaxes(range=list(axes[0]))
    figure.update_yaxes(range=list(axes[1]))
    return axes


#: Height of the figure in pixels. Below the plot, it has room for a legend with all methods.
_HEIGHT = 560


def methods_figure(table: pd.DataFrame, *, title: str, reading: str, theme: Theme) -> go.Figure:
    """Draw each method's Pareto front on one data set, for one measure of dependence (a “reading”).

    Parameters
    ----------
    table
        Rows of :func:`fairdash.views.reports.methods.read_methods` for one data set and one measure
        (“reading”).
    title, reading
        Names of the data set and of the measure.

    Returns
    -------
    Figure
        Figure of error against dependence, in relative units: the standard network's dependence is 1, and the
        error of predicting the average is 1. The default method is emphasised, and a method that needs s to
        compute a price has a dashed line.
    """
    figure = new_figure(
        title=title,
        subtitle=f"dependence by {reading}; dashed: s is needed to compute a price",
        x="dependence ÷ dependence of the standard network",
        y="error ÷ error of the average",
        theme=theme,
        height=_HEIGHT,
    )
    standard = table[table["method"] == STANDARD]
    paths = table[(table["method"] != STANDARD) & (table["comparable"].notna())]
    for method, path in paths.groupby("method", sort=False):
        path = pd.concat([standard, path.sort_values("level", ascending=False)])
        is_default, needs_s = method == DEFAULT_METHOD, bool(path["needs_s"].iloc[-1])
        figure.add_trace(
            line(
                path["level"].tolist(),
                path["comparable"].tolist(),
                name=escaped(method),
                colour=theme.chosen if is_default else REFERENCE if needs_s else theme.quiet,
                width=4 if is_default else 1.5,
                dash="dash" if needs_s else "solid",
                hover=f"{escaped(method)}: %{{y:.3f}} at %{{x:.0%}}",
            )
        )
    figure.update_xaxes(tickformat=".0%", tickvals=[0.25, 0.5, 0.75, 1.0])
    return with_legend(figure, y=-0.25, yanchor="top", x=0, xanchor="left")
