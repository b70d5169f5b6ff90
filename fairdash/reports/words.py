"""What a comparison has found, in sentences that fit what was found; plain text, not Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fairdash.assessment import Choice
from fairdash.dependence import REGISTRY
from fairdash.reports.comparison import Comparison, Front, Point
from fairdash.reports.numbers import number, signed, with_unit
from fairdash.training.objectives import OBJECTIVES

#: A change of the error below half a per cent, and of a prediction below half a per cent of its average.
HARDLY = 0.005


def answer(found: Comparison) -> str:
    """The finding at B in two or three sentences."""
    return " ".join(part for part in (dependence(found), cost(found), who_pays(found)) if part)


def dependence(found: Comparison, point: Point | None = None) -> str:
    """What can be said of the dependence at a point, B by default.

    The claim of independence is that of a permutation test at the 5 % level, split by split.
    """
    point = found.b if point is None else point
    what = f"the {found.objective_seen.audited} of {found.target}"
    edge = found.mean(f"{found.measure}_floor_q95", point)
    figures = (
        f"({REGISTRY[found.measure].symbol} {found.shown(found.measure, point)}; "
        f"independence stays below {number(edge)})"
    )
    caught, splits = found.splits_with_dependence(point)
    name = found.called(point)
    begin = f"At {name}"
    if point.is_standard or name != point.name:
        begin = f"With the {name},"
    if 2 * caught < splits:
        where = "" if splits == 1 else f" in {splits - caught} of {splits} random splits"
        told = "can no longer" if not point.is_standard else "can't"
        return f"{begin} {what} {told} be told from independent of {found.sensitive}{where} {figures}."
    counted = "" if caught == splits else f" in {caught} of {splits} random splits"
    if point == found.a or found.is_of_one_point:
        return f"{begin} {what} depends on {found.sensitive}{counted} {figures}."
    if found.mean(found.measure, point) < found.mean(found.measure, found.a):
        than = "before" if found.a.is_standard else f"at {found.called(found.a)}"
        still = f"depends less on {found.sensitive} than {than}, but still does{counted}"
        return f"{begin} {what} {still} {figures}."
    return f"{begin} {what} depends on {found.sensitive} no less than with {_the(found, found.a)} {figures}."


def cost(found: Comparison) -> str:
    """What happens to the error from A to B."""
    if found.is_of_one_point:
        return ""
    growth = found.growth
    if abs(growth) < HARDLY:
        return "The test error hardly changes."
    return f"The test error {'grows' if growth > 0 else 'falls'} by {100 * abs(growth):.0f} %."


def who_pays(found: Comparison) -> str:
    """Whose predictions rise and whose fall most from A to B."""
    if found.is_of_one_point:
        return ""
    moved = found.moved
    # The target's overall level says what is little.
    little = HARDLY * abs((moved["before"] * moved["heads"]).sum() / moved["heads"].sum())
    per_head = moved["per_head"].to_numpy()
    up, down = moved.iloc[per_head.argmax()], moved.iloc[per_head.argmin()]
    parts = [
        f"{verb} by {with_unit(_short(abs(row['per_head'])), found.unit)} on average for "
        f"{found.sensitive} {span(row['s_low'], row['s_high'])}"
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


def level(found: Comparison) -> str:
    """What happens to the sum of all predictions from A to B."""
    moved = found.moved
    total, before = moved["total"].sum(), (moved["before"] * moved["heads"]).sum()
    if abs(total) < HARDLY * abs(before):
        return "All predictions together hardly change."
    return (
        f"All predictions together change by {signed(total / before * 100)} %: "
        f"{with_unit(signed(total / moved['heads'].sum()), found.unit)} a head."
    )


def both_objectives(found: Comparison, fronts: Mapping[str, Front]) -> str:
    """What B does to the dependence of predictions and of residuals, against the standard model."""
    symbol = REGISTRY[found.measure].symbol
    parts = []
    for objective, front in fronts.items():
        standard = float(front.row(Point(found.b.method, 0.0))[found.measure])
        row = front.row(found.b)
        value, edge = float(row[found.measure]), float(row[f"{found.measure}_floor_q95"])
        step = "falls" if value < standard else "grows"
        moves = f"{step} from {number(standard)} to" if number(value) != number(standard) else "stays at"
        floor = " (within the noise floor)" if value <= edge else ""
        parts.append(f"{symbol} of the {OBJECTIVES[objective].audited} {moves} {number(value)}{floor}")
    return f"From the standard model to {found.called(found.b)}: " + ", ".join(parts) + "."


def of_choice(found: Comparison, choice: Choice, goal: str) -> str:
    """What was found for a goal on validation rows, and what test rows say of it."""
    point, measure = Point(choice.method, choice.lam), found.measure
    error, symbol = found.front.error, REGISTRY[found.measure].symbol
    rows = found.front.validation
    own = rows[(rows["method"] == choice.method) & (rows["lam"] == choice.lam)].iloc[0]
    growth = found.mean(error, point) / found.mean(error, Point(choice.method, 0.0)) - 1
    begin = (
        f"For {goal}: {point.title}"
        if choice.reached
        else f"Not to be had here: {goal}. The nearest is {point.title}"
    )
    return (
        f"{begin}. On test rows {symbol} is {found.shown(measure, point)} (validation rows: "
        f"{number(float(own[measure]))}) and the error {signed(100 * growth)} % against the standard model's."
    )


def rows_and_splits(found: Comparison) -> str:
    """Rows and splits, for under a chart's title."""
    n_splits = len(found.result.splits)
    splits = "1 random split" if n_splits == 1 else f"mean of {n_splits} random splits"
    return f"{len(found.result.splits[0].test):,} test rows, {splits}"


def subtitle(found: Comparison) -> str:
    """The same and the objective."""
    return f"{rows_and_splits(found)}; {found.objective_seen.title.lower()}"


def subtitle_of_first_split(found: Comparison) -> str:
    """The same for what is drawn of one split."""
    rows = f"{len(found.result.splits[0].test):,} test rows of the first split"
    return f"{rows}; {found.objective_seen.title.lower()}"


def _short(value: float) -> str:
    """An amount in a sentence: two digits, and no more than whole numbers need."""
    decimals = max(1 - math.floor(math.log10(value)), 0) if value > 0 else 0
    return f"{value:,.{min(decimals, 10)}f}"


def _the(found: Comparison, point: Point) -> str:
    return "the standard model" if point.is_standard else found.called(point)
