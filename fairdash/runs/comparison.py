"""Comparisons of two points of a run (a method at a weight λ), with the names that the command line uses."""

from __future__ import annotations

from fairdash.errors import OptionError
from fairdash.evaluation.crossed_cells import views_of
from fairdash.runs.store import Run
from fairdash.training.sweep import STANDARD
from fairdash.utils.registry import get_entry
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.fronts import fronts_of, parse_point, point_of


def parse_comparison(
    run: Run,
    *,
    method: str | None = None,
    lam: float | None = None,
    against: str = STANDARD,
    objective: str | None = None,
    measure: str | None = None,
    sensitive: str | None = None,
) -> Comparison:
    """Create a comparison of point B of a run with point A, given their names.

    Parameters
    ----------
    run
        Run with results.
    method, lam
        Point B. By default, the method is the first fair method, and λ is in the middle of the trained
        values.
    against
        Point A: ``"standard"``, or a method and a value of λ, such as ``"hgr_nn:0.5"``.
    objective, sensitive
        Objective and sensitive column; by default the objective of the training and the first sensitive
        column.
    measure
        Id of the measure of dependence. By default, it is :data:`fairdash.evaluation.DEFAULT_MEASURE` or, if
        the run has no results for it, the first measure with results.

    Raises
    ------
    RunError
        The run has no result, or the result can't be read.
    OptionError
        The run does not have the method, the weight, the objective, the measure or the column.
    """
    result = run.read_result()
    plan = result.sweep
    objective = plan.objective if objective is None else objective
    get_entry(result.paths, objective, option="objective")
    views = views_of(result.sensitive, result.paths[objective])
    sensitive = next(iter(views)) if sensitive is None else sensitive
    get_entry(views, sensitive, option="column")
    if set(plan.methods) == {STANDARD}:
        raise OptionError.of(
            "This run has trained no fair model, so there is nothing to compare",
            "Choose a run with a fair method.",
            column="method",
        )
    fronts = fronts_of(result, sensitive=sensitive)
    front = fronts[objective]
    measure = front.default_measure if measure is None else measure
    get_entry({id: id for id in front.measures}, measure, option="measure")
    method = front.methods[0] if method is None else method
    b = point_of(front, method, fronts[plan.objective].opening if lam is None else lam)
    return Comparison(
        title=run.spec.source.title,
        plan=plan,
        result=result,
        fronts=fronts,
        objective=objective,
        measure=measure,
        a=parse_point(front, against),
        b=b,
    )
