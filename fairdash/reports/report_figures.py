"""The pictures of a report: plotly figures on white, with their words beside them as HTML.

Groups of rows are joined with their neighbours until each holds at least 20 test rows of every split.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pandas as pd
from markupsafe import Markup

from fairdash.dependence import REGISTRY
from fairdash.evaluation.quantile_profile import ROWS_PER_GROUP
from fairdash.figures.offline import Picture, as_script_json
from fairdash.figures.theme import LIGHT
from fairdash.reports import comparison_figures, words
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import Point
from fairdash.reports.stage import stage_of, stops_of
from fairdash.training.objectives import OBJECTIVES


def has_groups(comparison: Comparison) -> bool:
    """Whether every split has the test rows of a group."""
    return min(len(split.test) for split in comparison.result.splits) >= ROWS_PER_GROUP


def profiles(comparison: Comparison, objective: str) -> dict[Point, pd.DataFrame]:
    """The averages of A and of B."""
    return {point: comparison.profile(point, objective=objective) for point in (comparison.a, comparison.b)}


def pictures(comparison: Comparison) -> dict[str, Picture]:
    """All pictures of a report by id, in its order; those of groups only where there are groups."""
    makers: dict[str, Callable[[], Picture]] = {"front": lambda: _front(comparison)}
    if has_groups(comparison):
        makers |= {
            f"profile-{objective}": lambda objective=objective: _profile(comparison, objective)  # type: ignore[misc]
            for objective in (
                comparison.objective,
                *(each for each in comparison.fronts if each != comparison.objective),
            )
        }
        makers["spread"] = lambda: _spread(comparison)
        if not comparison.is_of_one_point:
            makers["transfers"] = lambda: _transfers(comparison)
    makers["objectives"] = lambda: _objectives(comparison)
    if comparison.result.importance is not None:
        makers["features"] = lambda: _features(comparison)
    return {id: make() for id, make in makers.items()}


def moving(comparison: Comparison) -> Markup | None:
    """The stage of the trade-off page, which moves λ without a server; None where there are no groups."""
    if not has_groups(comparison) or comparison.is_of_one_point:
        return None
    stops = stops_of(comparison)
    away = [abs(float(lam) - comparison.b.lam) for lam in stops.lams]
    data = stage_of(comparison, stops, at=away.index(min(away)), theme=LIGHT)
    figures = [
        each | {"form": "svg", "name": f"fairdash-report-{place}"}
        for place, each in enumerate(data["figures"], 1)
    ]
    return as_script_json(json.dumps(data | {"figures": figures}))


def _profile(comparison: Comparison, objective: str) -> Picture:
    seen, tables = OBJECTIVES[objective], profiles(comparison, objective)
    alt = (
        f"Two lines with 95 % bands: the average {seen.audited} in groups of {comparison.sensitive_called}, "
        f"for {comparison.a.title} (dashed) and {comparison.b.title} (solid). "
        f"{_range(comparison, tables, seen.audited)}"
    )
    figure = comparison_figures.profile(comparison, objective=objective, theme=LIGHT)
    return Picture.of(figure, id=f"profile-{objective}", alt=alt)


def _range(comparison: Comparison, tables: Mapping[Point, pd.DataFrame], audited: str) -> str:
    parts = [
        f"{comparison.called(point)}: from {tables[point]['mean'].min():.3g} to "
        f"{tables[point]['mean'].max():.3g}"
        for point in dict.fromkeys((comparison.a, comparison.b))
    ]
    return f"Group averages of the {audited}, {'; '.join(parts)}."


def _front(comparison: Comparison) -> Picture:
    alt = (
        f"Test error against {REGISTRY[comparison.measure].symbol}, a line a method from the standard "
        f"model to the largest λ; points are trained models. {comparison.b.title}: error "
        f"{comparison.shown(comparison.front.error, comparison.b)}, {REGISTRY[comparison.measure].symbol} "
        f"{comparison.shown(comparison.measure, comparison.b)}."
    )
    return Picture.of(comparison_figures.front(comparison, theme=LIGHT), id="front", alt=alt)


def _spread(comparison: Comparison) -> Picture:
    alt = (
        f"Densities of the {comparison.objective_seen.audited} in the low, middle and high third of "
        f"{comparison.sensitive_called}, a row a third: {comparison.a.title} dashed, {comparison.b.title} "
        "solid."
    )
    return Picture.of(comparison_figures.spread(comparison, theme=LIGHT), id="spread", alt=alt)


def _transfers(comparison: Comparison) -> Picture:
    groups = f"group of {comparison.sensitive_called}"
    alt = f"Bars: change of the average prediction by {groups}. {words.who_pays(comparison)}"
    return Picture.of(comparison_figures.transfers(comparison, theme=LIGHT), id="transfers", alt=alt.strip())


def _objectives(comparison: Comparison) -> Picture:
    alt = (
        "Two panels, test error against dependence of predictions and of residuals along one method's path. "
        f"{words.both_objectives(comparison)}"
    )
    return Picture.of(comparison_figures.objectives(comparison, theme=LIGHT), id="objectives", alt=alt)


def _features(comparison: Comparison) -> Picture:
    figure = comparison_figures.features(comparison, kind="reliance", theme=LIGHT)
    assert figure is not None
    alt = (
        "How far predictions move on average when a feature is shuffled among the test rows, by feature: "
        f"{comparison.a.title} and {comparison.b.title}."
    )
    return Picture.of(figure, id="features", alt=alt)
