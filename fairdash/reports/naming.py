"""A comparison from the names that an address or a command line has of its parts."""

from __future__ import annotations

from fairdash.errors import OptionError, Problem
from fairdash.lookup import look_up
from fairdash.reports.comparison import THE_STANDARD, Comparison, Front, Point
from fairdash.runs.store import Run
from fairdash.training.sweep import STANDARD


def comparison_of(
    run: Run,
    *,
    method: str | None = None,
    lam: float | None = None,
    against: str = STANDARD,
    objective: str | None = None,
    measure: str = "hgr_kde",
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
        Id of the measure in view.

    Raises
    ------
    RunError
        There is no result, or it can't be read.
    OptionError
        The run has no such part.
    """
    plan, result = run.plan_seen, run.read_result()
    objective = plan.objective if objective is None else objective
    look_up(result.paths, objective, option="objective")
    columns = {str(column): column for column in result.sensitive.columns}
    sensitive = look_up(columns, next(iter(columns)) if sensitive is None else sensitive, option="column")
    if set(plan.methods) == {STANDARD}:
        raise OptionError(
            Problem(
                column="method",
                what="This run has trained no fair model, so there is nothing to compare",
                mend="Choose a run with a fair method.",
            )
        )
    front = Front.of(result, objective=objective, sensitive=sensitive)
    look_up({id: id for id in front.measures}, measure, option="measure")
    method = front.methods[0] if method is None else method
    weights = sorted({0.0, *plan.lams})
    b = _point(front, method, weights[len(weights) // 2] if lam is None else lam)
    kept, _, kept_lam = against.partition(":")
    return Comparison(
        title=run.spec.source.title,
        plan=plan,
        result=result,
        front=front,
        objective=objective,
        measure=measure,
        sensitive=sensitive,
        a=THE_STANDARD if against == STANDARD else _point(front, kept, _number(kept_lam)),
        b=b,
    )


def _point(front: Front, method: str, lam: float) -> Point:
    """The stop of a method's path at this weight; six digits of it are enough."""
    look_up({id: id for id in front.methods}, method, option="method")
    point = front.point(method, f"{lam:g}")
    if point is not None:
        return point
    there = front.test.loc[front.test["method"] == method, "lam"]
    nearest = sorted(there, key=lambda each: abs(each - lam))[:3]
    raise OptionError(
        Problem(
            column="lam",
            what=f"The path has no stop at λ = {lam:g}",
            mend=f"The nearest are {', '.join(f'{each:g}' for each in sorted(nearest))}.",
        )
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(
            Problem(
                column="against",
                what=f"“{text}” is not a weight",
                mend="Name a method and a weight, such as hgr_nn:0.5, or standard.",
            )
        ) from None
