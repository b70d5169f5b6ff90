"""The figures of a comparison, for the page and the report alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import plotly.graph_objects as go

from fairdash.dependence import REGISTRY
from fairdash.figures.features import features_figure
from fairdash.figures.front import Mark, front_without_marks, with_marks
from fairdash.figures.money import money_figure
from fairdash.figures.objectives import objectives_figure
from fairdash.figures.profile import profile_figure
from fairdash.figures.spread import spread_figure
from fairdash.figures.theme import OTHERS, Theme
from fairdash.reports.comparison import Comparison, Front
from fairdash.reports.numbers import label
from fairdash.reports.words import rows_and_splits, subtitle, subtitle_of_first_split
from fairdash.training.objectives import OBJECTIVES

#: Of a point A that was kept; the standard model has a colour of its own.
KEPT = OTHERS[0]
#: What the two ways of counting a feature say.
FEATURE_AXES = {
    "reliance": "Average move of a prediction when the feature is shuffled",
    "importance": "Test error gained when the feature is shuffled (MSE ÷ variance)",
}


def profile(found: Comparison, *, objective: str, theme: Theme, by_value: bool = False) -> go.Figure:
    """Average prediction or residual in groups of the sensitive column, A and B."""
    seen = OBJECTIVES[objective]
    level = f"Average {seen.audited}" + (" (predicted − true)" if seen.uses_target else "")
    return profile_figure(
        found.profile(found.a, objective=objective),
        found.profile(found.b, objective=objective),
        chosen_name=found.called(found.b),
        standard_name=found.called(found.a),
        by_value=by_value,
        audited=seen.audited,
        sensitive=label(found.sensitive, found.sensitive_unit),
        level=label(level, found.unit),
        reference=0.0 if seen.uses_target else found.target_mean,
        reference_name="no error on average" if seen.uses_target else f"average {found.target}",
        subtitle=rows_and_splits(found),
        theme=_of_two(found, theme),
    )


def front(found: Comparison, *, theme: Theme) -> go.Figure:
    """Test error against dependence: all methods, references, floor, and the two points."""
    seen = found.front
    marks = [Mark(seen.methods[0], 0.0, "standard model", theme.standard, "diamond")]
    if not found.a.is_standard:
        marks.append(Mark(found.a.method, found.a.lam, f"A: {found.called(found.a)}", KEPT, "square"))
    if not found.b.is_standard:
        marks.append(Mark(found.b.method, found.b.lam, f"chosen: {found.called(found.b)}", theme.chosen))
    base = _front_without_marks(found.front, _FrontView.of(found, theme))
    return with_marks(base, seen.test, marks, error=seen.error, measure=found.measure, theme=theme)


@dataclass(frozen=True)
class _FrontView:
    """All that the front without its marks depends on besides its figures."""

    error_title: str
    measure: str
    measure_title: str
    method: str
    subtitle: str
    theme: Theme

    @classmethod
    def of(cls, found: Comparison, theme: Theme) -> _FrontView:
        methods = found.front.methods
        return cls(
            error_title=found.error_title,
            measure=found.measure,
            measure_title=f"{REGISTRY[found.measure].symbol} between {found.objective_seen.audited} and "
            f"{found.sensitive}",
            method=found.b.method if found.b.method in methods else methods[0],
            subtitle=subtitle(found),
            theme=theme,
        )


# Building it takes several times as long as adding marks to it, which a page does at every move of a slider.
@lru_cache(maxsize=16)
def _front_without_marks(front: Front, view: _FrontView) -> Mapping[str, Any]:
    figure = front_without_marks(
        front.test,
        front.single,
        error=front.error,
        references=front.references,
        price=front.price,
        **{field.name: getattr(view, field.name) for field in fields(view)},
    )
    found: Mapping[str, Any] = figure.to_plotly_json()
    return found


def spread(found: Comparison, *, theme: Theme) -> go.Figure:
    """How predictions or residuals are spread in thirds of the sensitive column, A and B."""
    tables, audited = found.spreads(), found.objective_seen.audited
    return spread_figure(
        tables[found.a],
        tables[found.b],
        a_name=found.called(found.a),
        b_name=found.called(found.b),
        audited=audited,
        sensitive=label(found.sensitive, found.sensitive_unit),
        level=label(audited.capitalize(), found.unit),
        subtitle=subtitle_of_first_split(found),
        theme=_of_two(found, theme),
    )


def money(found: Comparison, *, theme: Theme) -> go.Figure:
    """What moves from and to groups of the sensitive column."""
    return money_figure(
        found.moved,
        a_name=found.called(found.a),
        b_name=found.called(found.b),
        sensitive=label(found.sensitive, found.sensitive_unit),
        unit=found.unit,
        subtitle=rows_and_splits(found),
        theme=theme,
    )


def objectives(found: Comparison, fronts: Mapping[str, Front], *, theme: Theme) -> go.Figure:
    """The path of B's method judged by both objectives; `fronts` by objective."""
    return objectives_figure(
        {objective: each.test for objective, each in fronts.items()},
        measure=found.measure,
        method=found.b.method,
        chosen_lam=found.b.lam,
        error=found.front.error,
        subtitle=rows_and_splits(found),
        theme=theme,
    )


def features(found: Comparison, *, kind: str, theme: Theme) -> go.Figure | None:
    """Which features A and B lean on, by ``"reliance"`` or ``"importance"``; None if it was not measured."""
    table = found.importance(kind)
    if table is None:
        return None
    return features_figure(
        table,
        axis=label(FEATURE_AXES[kind], found.unit) if kind == "reliance" else FEATURE_AXES[kind],
        a_name=found.called(found.a),
        b_name=found.called(found.b),
        subtitle=rows_and_splits(found),
        theme=_of_two(found, theme),
    )


def _of_two(found: Comparison, theme: Theme) -> Theme:
    """The theme in which point A has its own colour."""
    return theme if found.a.is_standard else replace(theme, standard=KEPT)
