"""The figures of a comparison, for the page and the report alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import plotly.graph_objects as go

from fairdash.dependence import REGISTRY
from fairdash.figures.comparison import features_figure, objectives_figure
from fairdash.figures.front import front_without_marks, with_marks
from fairdash.figures.groups import profile_figure, spread_figure, transfers_figure
from fairdash.figures.labels import Label
from fairdash.figures.theme import OTHERS, Theme
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import THE_STANDARD, Front, Point
from fairdash.reports.numbers import label
from fairdash.training.objectives import OBJECTIVES

#: Of a point A that was kept; the standard model has a colour of its own.
KEPT = OTHERS[0]
#: What the two ways of counting a feature say.
FEATURE_AXES = {
    "reliance": "Average move of a prediction when the feature is shuffled",
    "importance": "Test error gained when the feature is shuffled (MSE ÷ the average's)",
}


def profile(comparison: Comparison, *, objective: str, theme: Theme, by_value: bool = False) -> go.Figure:
    """Average prediction or residual in groups of the sensitive column, A and B."""
    seen = OBJECTIVES[objective]
    level = f"Average {seen.audited}" + (" (predicted − true)" if seen.uses_target else "")
    return profile_figure(
        comparison.profile(comparison.a, objective=objective),
        comparison.profile(comparison.b, objective=objective),
        chosen_name=comparison.called(comparison.b),
        standard_name=comparison.called(comparison.a),
        by_value=by_value,
        audited=seen.audited,
        sensitive=label(comparison.sensitive_called, comparison.sensitive_unit),
        level=label(level, comparison.unit),
        reference=0.0 if seen.uses_target else comparison.target_mean,
        reference_name="no error on average" if seen.uses_target else f"average {comparison.target_called}",
        subtitle=comparison.rows_and_splits,
        theme=_of_two(comparison, theme),
    )


def front(comparison: Comparison, *, theme: Theme) -> go.Figure:
    """Test error against dependence: all methods, references, floor, and the two points."""
    methods = comparison.front.methods
    base = _front_without_marks(
        comparison.front,
        error_title=comparison.error_title,
        measure=comparison.measure,
        measure_title=f"{REGISTRY[comparison.measure].symbol} between {comparison.objective_seen.audited} "
        f"and {comparison.sensitive_called}",
        method=comparison.b.method if comparison.b.method in methods else methods[0],
        subtitle=comparison.subtitle,
        theme=theme,
    )
    marks = [_mark(comparison, THE_STANDARD, "standard model", theme.standard, "diamond")]
    if not comparison.a.is_standard:
        marks.append(_mark(comparison, comparison.a, f"A: {comparison.a.name}", KEPT, "square"))
    if not comparison.b.is_standard:
        marks.append(_mark(comparison, comparison.b, f"chosen: {comparison.b.name}", theme.chosen, "circle"))
    return with_marks(base, marks, edge=comparison.edge(comparison.b), theme=theme)


def _mark(comparison: Comparison, point: Point, text: str, colour: str, symbol: str) -> Label:
    row = comparison.front.row(point)
    return Label(
        x=float(row[comparison.measure]),
        y=float(row[comparison.front.error]),
        text=text,
        colour=colour,
        symbol=symbol,
        is_hollow=bool(row["share"]),
    )


def forget_fronts() -> None:
    """Keep no front in memory: the data behind one may have been deleted."""
    _front_without_marks.cache_clear()


# Building it takes several times as long as adding marks to it, which a page does at every move of a slider.
@lru_cache(maxsize=16)
def _front_without_marks(front: Front, **view: Any) -> Mapping[str, Any]:
    figure = front_without_marks(
        front.test,
        front.single,
        error=front.error,
        references=front.references,
        baselines=front.baselines,
        least_error=front.least_error,
        **view,
    )
    plain: Mapping[str, Any] = figure.to_plotly_json()
    return plain


def spread(comparison: Comparison, *, theme: Theme) -> go.Figure:
    """How predictions or residuals are spread in thirds of the sensitive column, A and B."""
    tables, audited = comparison.spreads(), comparison.objective_seen.audited
    return spread_figure(
        tables[comparison.a],
        tables[comparison.b],
        a_name=comparison.called(comparison.a),
        b_name=comparison.called(comparison.b),
        audited=audited,
        sensitive=label(comparison.sensitive_called, comparison.sensitive_unit),
        level=label(audited.capitalize(), comparison.unit),
        subtitle=comparison.subtitle_of_first_split,
        theme=_of_two(comparison, theme),
    )


def transfers(comparison: Comparison, *, theme: Theme) -> go.Figure:
    """What moves from and to groups of the sensitive column."""
    return transfers_figure(
        comparison.moved,
        a_name=comparison.called(comparison.a),
        b_name=comparison.called(comparison.b),
        sensitive=label(comparison.sensitive_called, comparison.sensitive_unit),
        unit=comparison.unit,
        subtitle=comparison.rows_and_splits,
        theme=theme,
    )


def objectives(comparison: Comparison, *, theme: Theme) -> go.Figure:
    """The path of B's method judged by both objectives; `fronts` by objective."""
    return objectives_figure(
        {objective: each.test for objective, each in comparison.fronts.items()},
        measure=comparison.measure,
        method=comparison.b.method,
        chosen_lam=comparison.b.lam,
        error=comparison.front.error,
        error_title=comparison.error_title,
        subtitle=comparison.rows_and_splits,
        theme=theme,
    )


def features(comparison: Comparison, *, kind: str, theme: Theme) -> go.Figure | None:
    """Which features A and B lean on, by ``"reliance"`` or ``"importance"``; None if it was not measured."""
    table = comparison.importance(kind)
    if table is None:
        return None
    return features_figure(
        table,
        axis=label(FEATURE_AXES[kind], comparison.unit) if kind == "reliance" else FEATURE_AXES[kind],
        a_name=comparison.called(comparison.a),
        b_name=comparison.called(comparison.b),
        subtitle=comparison.rows_and_splits,
        theme=_of_two(comparison, theme),
    )


def _of_two(comparison: Comparison, theme: Theme) -> Theme:
    """The theme in which point A has its own colour."""
    return theme if comparison.a.is_standard else replace(theme, standard=KEPT)
