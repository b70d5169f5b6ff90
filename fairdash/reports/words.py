"""What a comparison shows, in sentences that fit what was found; plain text, not Markdown."""

from __future__ import annotations

import math

from fairdash.dependence import REGISTRY
from fairdash.evaluation import Choice
from fairdash.evaluation.verdict import EDGE
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import Point
from fairdash.reports.learning import nothing_learned
from fairdash.reports.numbers import number, p_value, signed, with_unit
from fairdash.training.objectives import OBJECTIVES
from fairdash.utils.text import error_change

#: A change of a prediction below half a per cent of the average.
HARDLY = 0.005


def answer(comparison: Comparison) -> str:
    """The finding at B in two or three sentences; that nothing was learned, where that is so."""
    if nothing := nothing_learned(comparison):
        return nothing
    return " ".join(part for part in (dependence(comparison), cost(comparison), who_pays(comparison)) if part)


def dependence(comparison: Comparison, point: Point | None = None) -> str:
    """What can be said of the dependence at a point, B by default.

    The claim is that of one test of several measures, averaged over the splits, at the 5 % level
    (:mod:`fairdash.evaluation.verdict`); in runs of before there was one, that of the measure in view.
    """
    point = comparison.b if point is None else point
    what = f"the {comparison.objective_seen.audited} of {comparison.target_called}"
    figures = f"({_evidence(comparison, point)})"
    name = comparison.called(point)
    begin = f"At {name}"
    if point.is_standard or name != point.name:
        begin = f"With the {name},"
    if not comparison.has_link(point):
        return f"{begin} no link is found between {what} and {comparison.sensitive_called} {figures}."
    if point == comparison.a or comparison.is_of_one_point:
        return f"{begin} {what} depends on {comparison.sensitive_called} {figures}."
    if comparison.mean(comparison.measure, point) < comparison.mean(comparison.measure, comparison.a):
        than = "before" if comparison.a.is_standard else f"at {comparison.called(comparison.a)}"
        still = f"depends less on {comparison.sensitive_called} than {than}, but still does"
        return f"{begin} {what} {still} {figures}."
    than = f"no less than with {_the(comparison, comparison.a)}"
    return f"{begin} {what} depends on {comparison.sensitive_called} {than} {figures}."


def _evidence(comparison: Comparison, point: Point) -> str:
    """The test's p-value, and the value and edge of a measure that agrees with it, where there is one.

    That is the measure in view; where it does not show the link by itself, the one that does is named first.
    """
    p, edge = comparison.verdict_p(point), comparison.edge(point)
    in_view = f"{REGISTRY[comparison.measure].symbol} {comparison.shown(comparison.measure, point)}"
    below = f"independence stays below {number(edge)} in 95 % of cases"
    if math.isnan(p):
        return f"{in_view}; {below}"
    test = f"one test of several measures: p = {p_value(p)}; "
    sees, is_link = abs(comparison.mean(comparison.measure, point)) > edge, comparison.has_link(point)
    if sees == is_link:
        return f"{test}{in_view}; {below}"
    if sees:
        return f"{test}{in_view} alone is above {number(edge)}, as independence is in 5 % of cases"
    alone = f"{in_view} alone does not show it: it is not above {number(edge)}"
    found = comparison.found_by(point)
    if found is None:
        return f"{test}{alone}"
    return (
        f"{test}{found.called} is {number(found.value)}, and independence stays below {number(found.edge)} "
        f"in 95 % of cases; {alone}"
    )


def verdict_in_short(comparison: Comparison) -> str:
    """The verdict at B in a few words, with the number that it rests on."""
    begin = "link found" if comparison.has_link(comparison.b) else "no link found"
    p = comparison.verdict_p(comparison.b)
    if math.isnan(p):
        beyond = ">" if comparison.has_link(comparison.b) else "≤"
        return f"{begin} ({beyond} {number(comparison.edge(comparison.b))})"
    return f"{begin} (p = {p_value(p)})"


def how_the_verdict_is_made(comparison: Comparison) -> str:
    """What a link that is found, or not found, at B has been asked."""
    if math.isnan(comparison.verdict_p(comparison.b)):
        return (
            "Found is a link that the mean over the splits shows in a permutation test at 5 %: with the "
            "sensitive attribute shuffled over all rows, 95 % of the means stay below the number named here."
        )
    return (
        "Whether a link is found is said by one test of several measures at 5 %, not by this measure alone: "
        "correlations of the values, of their ranks, of slow and of fast curves of either, and at the ends "
        "of the range. With the sensitive attribute shuffled over all rows, a share p of the shuffles shows "
        "a link as clearly in the measure that shows it best."
    )


def cost(comparison: Comparison) -> str:
    """What happens to the error from A to B."""
    if comparison.is_of_one_point:
        return ""
    lost = comparison.mean(comparison.front.error, comparison.b) >= comparison.front.error_of_mean
    worthless = ", and is no smaller than that of giving everyone the average" if lost else ""
    change = error_between(comparison, comparison.a, comparison.b)
    return f"{change[0].upper()}{change[1:]}{worthless}."


def error_between(comparison: Comparison, a: Point, b: Point) -> str:
    """How the test error changes from one point to another: in the target's unit, or as a deviance."""
    front = comparison.front
    if front.error == "mse":
        before, after = (comparison.mean("rmse", point) for point in (a, b))
        return error_change(before, after, of_average=front.rmse_of_mean, unit=comparison.unit)
    before, after = (comparison.mean(front.error, point) for point in (a, b))
    old, new = (f"{number(100 * each)} %" for each in (before, after))
    of_that = "of that of giving everyone the average"
    if old == new:
        return f"the deviance stays at {new} {of_that}"
    return f"the deviance {'grows' if after > before else 'falls'} from {old} to {new} {of_that}"


def who_pays(comparison: Comparison) -> str:
    """Whose predictions rise and whose fall most from A to B."""
    if comparison.is_of_one_point:
        return ""
    moved = comparison.moved
    # The target's overall level says what is little.
    little = HARDLY * abs((moved["before"] * moved["heads"]).sum() / moved["heads"].sum())
    per_head = moved["per_head"].to_numpy()
    up, down = moved.iloc[per_head.argmax()], moved.iloc[per_head.argmin()]
    parts = [
        f"{verb} by {with_unit(_short(abs(row['per_head'])), comparison.unit)} on average for "
        f"{comparison.sensitive_called} {span(row['s_low'], row['s_high'])}"
        for verb, row, moves in (
            ("rise", up, up["per_head"] > little),
            ("fall", down, down["per_head"] < -little),
        )
        if moves and len(moved) > 1
    ]
    return f"Predictions {' and '.join(parts)}." if parts else ""


def named(point: Point) -> str:
    """A point inside a sentence."""
    return "the standard model" if point.is_standard else point.title


def span(low: float, high: float) -> str:
    """A group's range of the sensitive attribute."""
    a, b = (f"{value:.3g}" for value in (low, high))
    return a if a == b else f"{a} to {b}"


def level(comparison: Comparison) -> str:
    """What happens to the sum of all predictions from A to B."""
    moved = comparison.moved
    total, before = moved["total"].sum(), (moved["before"] * moved["heads"]).sum()
    if abs(total) < HARDLY * abs(before):
        return "All predictions together hardly change."
    return (
        f"All predictions together change by {signed(total / before * 100)} %: "
        f"{with_unit(signed(total / moved['heads'].sum()), comparison.unit)} a head."
    )


def both_objectives(comparison: Comparison) -> str:
    """What B does to the dependence of predictions and of residuals, against the standard model."""
    symbol = REGISTRY[comparison.measure].symbol
    parts = []
    for objective, front in comparison.fronts.items():
        standard = float(front.row(Point(comparison.b.method, 0.0))[comparison.measure])
        row = front.row(comparison.b)
        value, edge = float(row[comparison.measure]), float(row[f"{comparison.measure}{EDGE}"])
        step = "falls" if value < standard else "grows"
        moves = f"{step} from {number(standard)} to" if number(value) != number(standard) else "stays at"
        floor = " (within the noise floor)" if value <= edge else ""
        parts.append(f"{symbol} of the {OBJECTIVES[objective].audited} {moves} {number(value)}{floor}")
    return f"From the standard model to {comparison.called(comparison.b)}: " + ", ".join(parts) + "."


def of_choice(comparison: Comparison, choice: Choice, goal: str) -> str:
    """What was found for a goal on validation rows, and what test rows say of it."""
    point, measure = Point(choice.method, choice.lam), comparison.measure
    symbol = REGISTRY[comparison.measure].symbol
    rows = comparison.front.validation
    own = rows[(rows["method"] == choice.method) & (rows["lam"] == choice.lam)].iloc[0]
    begin = (
        f"For {goal}: {point.title}"
        if choice.reached
        else f"Not to be had here: {goal}. The nearest is {point.title}"
    )
    return (
        f"{begin}. On test rows {symbol} is {comparison.shown(measure, point)} (validation rows: "
        f"{number(float(own[measure]))}); against the standard model "
        f"{error_between(comparison, Point(choice.method, 0.0), point)}."
    )


def _short(value: float) -> str:
    """An amount in a sentence: two digits, and no more than whole numbers need."""
    decimals = max(1 - math.floor(math.log10(value)), 0) if value > 0 else 0
    return f"{value:,.{min(decimals, 10)}f}"


def _the(comparison: Comparison, point: Point) -> str:
    return "the standard model" if point.is_standard else comparison.called(point)
