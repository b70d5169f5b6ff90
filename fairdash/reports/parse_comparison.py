"""A comparison from the names that an address or a command line has of its parts."""

from __future__ import annotations

from fairdash.errors import OptionError
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import fronts_of, middle_weight, parse_point, point_of
from fairdash.runs.store import Run
from fairdash.training.sweep import STANDARD
from fairdash.utils.registry import get_entry


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
    """Point B of a run against point A.

    Parameters
    ----------
    run
        One that has something to look at.
    method, lam
        Point B: the first fair method, and the middle of the trained weights, unless named.
    against
        Point A: ``"standard"``, or method and weight such as ``"hgr_nn:0.5"``.
    objective, sensitive
        The one that was trained for and the first column, unless named.
    measure
        Id of the measure in view; :data:`fairdash.evaluation.DEFAULT_MEASURE`, or the first that the run has
        figures of.

    Raises
    ------
    RunError
        There is no result, or it can't be read.
    OptionError
        The run has no such part.
    """
    plan, result = run.available_plan, run.read_result()
    objective = plan.objective if objective is None else objective
    get_entry(result.paths, objective, option="objective")
    columns = {str(column): column for column in result.sensitive.columns}
    sensitive = get_entry(columns, next(iter(columns)) if sensitive is None else sensitive, option="column")
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
    b = point_of(front, method, middle_weight(plan) if lam is None else lam)
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
