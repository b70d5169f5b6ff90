"""Figures of a comparison for the page and the report; each figure has a description in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairdash.dependence import REGISTRY
from fairdash.training.methods import THE_STANDARD, ModelKey
from fairdash.training.settings import OBJECTIVES
from fairdash.utils.text import counted, label, number
from fairdash.views.blocks import Picture
from fairdash.views.figures.comparison import features_figure, objectives_figure
from fairdash.views.figures.front import front_without_marks, with_marks
from fairdash.views.figures.groups import profile_figure, spread_figure, transfers_figure
from fairdash.views.figures.labels import Label
from fairdash.views.figures.theme import OTHERS, Theme
from fairdash.views.reports import sentences
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.fronts import UNKNOWN, Front, least_error_of

#: Colour of point A, unless A is the standard model, whose colour the theme defines.
COLOUR_OF_A = OTHERS[0]
#: Axis titles for the two measures of a feature's importance.
_FEATURE_AXES = {
    "reliance": "Average change in a prediction when the feature is shuffled",
    "importance": "Increase in test error (MSE ÷ MSE of the average) when the feature is shuffled",
}


def profile(comparison: Comparison, *, objective: str, theme: Theme, by_value: bool = False) -> Picture:
    """Return a figure of average predictions or residuals by group of the sensitive column, for A and B."""
    seen, ranges = OBJECTIVES[objective], []
    level = f"Average {seen.audited}" + (" (predicted − true)" if seen.uses_target else "")
    for point in comparison.points:
        mean = comparison.profile(point, objective=objective)["mean"]
        ranges.append(f"{comparison.called(point)}: from {mean.min():.3g} to {mean.max():.3g}")
    alt = (
        f"Two lines with 95 % bands: the average {seen.audited} in groups of {comparison.sensitive_called}, "
        f"for {comparison.a.title} (dashed) and {comparison.b.title} (solid). Ranges of the group averages: "
        f"{'; '.join(ranges)}."
    )
    figure = profile_figure(
        comparison.profile(comparison.a, objective=objective),
        comparison.profile(comparison.b, objective=objective),
        chosen_name=comparison.called(comparison.b),
        standard_name=comparison.called(comparison.a),
        by_value=by_value,
        cells=comparison.front.cells_called,
        audited=seen.audited,
        sensitive=comparison.sensitive_axis,
        level=label(level, comparison.unit),
        reference=0.0 if seen.uses_target else comparison.target_mean,
        reference_name="no error on average" if seen.uses_target else f"average {comparison.target_called}",
        subtitle=comparison.rows_and_splits,
        theme=_of_two(comparison, theme),
    )
    return Picture(f"profile-{objective}", figure, alt)


def front(comparison: Comparison, *, theme: Theme) -> Picture:
    """Return a figure of the Pareto front: all methods, other prices, the noise floor, points A and B."""
    front, symbol = comparison.front, REGISTRY[comparison.measure].symbol
    method = comparison.b.method if comparison.b.method in front.methods else front.methods[0]
    noise = replace(comparison, b=ModelKey(method, 0.0)).first_point_without_link
    base = _front_without_marks(
        front,
        measure=comparison.measure,
        measure_title=f"{symbol} between {comparison.objective_seen.audited} "
        f"and {comparison.sensitive_called}",
        method=method,
        noise_at=None if noise is None else _place(comparison, noise),
        unit=comparison.unit,
        subtitle=f"{comparison.rows_and_splits}; {comparison.objective_seen.title.lower()}",
        theme=theme,
    )
    marks = [_mark(comparison, THE_STANDARD, "standard model", theme.standard, "diamond")]
    if not comparison.a.is_standard:
        marks.append(_mark(comparison, comparison.a, f"A: {comparison.a.name}", COLOUR_OF_A, "square"))
    if not comparison.b.is_standard:
        marks.append(_mark(comparison, comparison.b, f"chosen: {comparison.b.name}", theme.chosen, "circle"))
    edge = comparison.edge(comparison.b)
    descriptions = [
        f"{point.title} (error {comparison.error_in_words(point)}, {symbol} "
        f"{comparison.shown(comparison.measure, point)})"
        for point in comparison.points
    ]
    alt = (
        f"Test error against {symbol}, a point for each trained model of "
        f"{counted(len(front.methods), 'method')}. Marked: {' and '.join(descriptions)}. Noise floor up to "
        f"{number(edge)}."
    )
    if noise is not None:
        alt += f" Beyond λ = {noise.lam:g}, a larger λ removes only noise."
    return Picture("front", with_marks(base, marks, edge=edge, theme=theme), alt)


def _place(comparison: Comparison, point: ModelKey) -> tuple[float, float]:
    """Return dependence and error of a point, which are its position in the figure of the Pareto front."""
    return comparison.mean(comparison.measure, point), comparison.mean(comparison.front.error_shown, point)


def _mark(comparison: Comparison, point: ModelKey, text: str, colour: str, symbol: str) -> Label:
    x, y = _place(comparison, point)
    is_hollow = not comparison.curve_point(point).is_trained
    return Label(x=x, y=y, text=text, colour=colour, symbol=symbol, is_hollow=is_hollow)


def _front_without_marks(front: Front, *, unit: str, **view: Any) -> Mapping[str, Any]:
    # The figure without marks is cached. Building it takes several times as long as adding the marks.
    key = tuple(view.values())
    if key not in front.drawn:
        least_error = UNKNOWN
        if front.error_shown == "rmse" and not math.isnan(front.least_error[0]):
            least_error = least_error_of(front.references, "rmse")
        figure = front_without_marks(
            front.test,
            front.single,
            **front.axis_of_error(unit),
            of_average=front.rmse_of_mean,
            references=front.references,
            baselines=front.baselines,
            least_error=least_error,
            **view,
        )
        front.drawn[key] = figure.to_plotly_json()
    return front.drawn[key]


def spread(comparison: Comparison, *, theme: Theme) -> Picture:
    """Return a figure of A's and B's distributions of predictions or residuals, by third of the column."""
    tables, audited = comparison.spreads(), comparison.objective_seen.audited
    figure = spread_figure(
        tables[comparison.a],
        tables[comparison.b],
        audited=audited,
        sensitive=comparison.sensitive_axis,
        level=label(audited.capitalize(), comparison.unit),
        subtitle=comparison.subtitle_of_first_split,
        **_names_and_theme(comparison, theme),
    )
    alt = (
        f"Densities of the {audited} in three rows, for the low, the middle and the high third of "
        f"{comparison.sensitive_called}: {comparison.a.title} is dashed, and {comparison.b.title} is solid."
    )
    return Picture("spread", figure, alt)


def transfers(comparison: Comparison, *, theme: Theme) -> Picture:
    """Return a figure of how predictions change from A to B, by group of the sensitive column."""
    figure = transfers_figure(
        comparison.moved,
        groups=comparison.groups_called(comparison.moved),
        are_cells=bool(comparison.front.cells_called),
        sensitive=comparison.sensitive_axis,
        unit=comparison.unit,
        subtitle=comparison.rows_and_splits,
        **_names_and_theme(comparison, theme) | {"theme": theme},
    )
    alt = f"Bars: change of the average prediction by group of {comparison.sensitive_called}."
    return Picture("transfers", figure, f"{alt} {sentences.who_pays(comparison)}".strip())


def objectives(comparison: Comparison, *, theme: Theme) -> Picture:
    """Return a figure of error and dependence of B's method, in one panel per objective."""
    figure = objectives_figure(
        {objective: each.test for objective, each in comparison.fronts.items()},
        measure=comparison.measure,
        method=comparison.b.method,
        chosen_lam=comparison.b.lam,
        **comparison.front.axis_of_error(comparison.unit),
        of_average=comparison.front.rmse_of_mean,
        subtitle=comparison.rows_and_splits,
        theme=theme,
    )
    alt = (
        "Test error of one method's models, in the first panel against the dependence of predictions, in "
        f"the second against that of residuals. {sentences.both_objectives(comparison)}"
    )
    return Picture("objectives", figure, alt)


def features(comparison: Comparison, *, kind: str, theme: Theme) -> Picture | None:
    """Return a figure of the ``"reliance"`` or ``"importance"`` of features; None if it was not measured."""
    table = comparison.importance(kind)
    if table is None:
        return None
    title = _FEATURE_AXES[kind]
    figure = features_figure(
        table,
        axis=label(title, comparison.unit) if kind == "reliance" else title,
        subtitle=comparison.rows_and_splits,
        **_names_and_theme(comparison, theme),
    )
    alt = f"{title} among the test rows, by feature: {comparison.a.title} and {comparison.b.title}."
    return Picture("features", figure, alt)


def _names_and_theme(comparison: Comparison, theme: Theme) -> dict[str, Any]:
    """Return the names of A and B, and a theme in which A has its colour."""
    names = {"a_name": comparison.called(comparison.a), "b_name": comparison.called(comparison.b)}
    return names | {"theme": _of_two(comparison, theme)}


def _of_two(comparison: Comparison, theme: Theme) -> Theme:
    return theme if comparison.a.is_standard else replace(theme, standard=COLOUR_OF_A)
