"""Sentences that pages and reports show on a comparison, including the statistical limits of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from types import MappingProxyType

import numpy as np

from fairdash.dependence import REGISTRY
from fairdash.dependence.registry import WAYS
from fairdash.evaluation import least_error
from fairdash.evaluation.assess import MAX_JUDGED_ROWS
from fairdash.evaluation.confirmation import Confirmation
from fairdash.evaluation.figures import of_measure
from fairdash.tariff import title_of
from fairdash.training.methods import THE_STANDARD, ModelKey
from fairdash.training.settings import OBJECTIVES
from fairdash.utils.text import counted, error_change, number, p_equals, signed, with_unit
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.fronts import mean_over_splits

#: Minimum z (estimate ÷ standard error) at which a gain or a link counts as detected.
Z = 3.0
#: `_Z_ONE_SIDED`: normal quantile for one-sided 95 % bounds. `_Z_INDICATION`: minimum z that counts as a sign
#: of a gain or a link.
_Z_ONE_SIDED, _Z_INDICATION = 1.645, 0.5


def shows_nothing(comparison: Comparison) -> bool:
    """Return True if the Pareto front shows only noise; only fronts of the deviance are checked.

    Only noise means that the model predicts no better than the average, or has no dependence to reduce.
    """
    gain = comparison.result.gain
    if comparison.front.error != "deviance":
        return False
    return (gain is not None and not gain.is_beyond_noise) or not comparison.has_link(THE_STANDARD)


def rows_that_would(comparison: Comparison) -> str:
    """State the number of rows that would show the model's gain or link, and the assumption behind it."""
    gain, result = comparison.result.gain, comparison.result
    n_rows, noun = len(result.target), "gain"
    if gain is not None and not gain.is_beyond_noise:
        z = (1 - gain.error) / gain.error_se if gain.error_se else 0.0
    else:
        p, noun = comparison.verdict_p(THE_STANDARD), "link"
        if np.isnan(p):
            return ""
        z = NormalDist().inv_cdf(1 - min(p, 0.999))
        # Tests use at most this number of rows, so it is also the maximum number to which z refers.
        n_rows = round(n_rows * min(1.0, MAX_JUDGED_ROWS / len(result.splits[0].test)))
    too_few = "No curve is drawn, because all of its points would differ by no more than noise."
    return f"{_rows_sentence(z, n_rows, noun)} {too_few}"


def _rows_sentence(z: float, n_rows: int, noun: str) -> str:
    """State the number of rows at which z would be 3, if z grows with the square root of this number."""
    if z >= _Z_INDICATION:
        return (
            f"If the {noun} is as large as estimated from these {n_rows:,} rows (z = {z:.1f}), about "
            f"{_round(n_rows * (Z / z) ** 2)} rows would show it (z = {Z:g}; z grows with the square root "
            "of the number of rows)."
        )
    upper_bound = max(z + _Z_ONE_SIDED, _Z_INDICATION)
    return (
        f"These {n_rows:,} rows give no sign of a {noun} (z = {z:.1f}). With 95 % confidence the {noun} is "
        f"so small that detecting it would take at least {_round(n_rows * (Z / upper_bound) ** 2)} rows (z = "
        f"{Z:g}; z grows with the square root of the number of rows)."
    )


def _round(rows: float) -> str:
    """Format an estimated number of rows with two significant digits."""
    return f"{float(f'{rows:.2g}'):,.0f}"


def networks_and_tariffs(comparison: Comparison) -> str:
    """Compare in words the best network with an equally fair tariff; return "" if the run has no tariffs.

    The tariff is the one with the dependence nearest to the middle of the range that both networks and
    tariffs reach. The network has the smallest error among the networks with no more dependence than this
    tariff. Tariff and network are chosen on validation rows. The errors of both on test rows are compared by
    the mean paired difference over the splits, with a Student interval from the standard error of Nadeau and
    Bengio.
    """
    from scipy.stats import t as student

    front, measure, error = comparison.front, comparison.measure, comparison.front.error
    tariffs = front.tariffs
    if error != "deviance" or tariffs.empty or front.validation.empty or tariffs["split"].nunique() < 2:
        return ""
    of_tariffs = of_measure(tariffs[tariffs["part"] == "validation"], measure)
    on_validation = of_tariffs.groupby("lam")["value"].mean()
    networks = of_measure(front.validation, measure)["value"]
    # Networks and tariffs both reach every dependence from `lowest` to `highest`.
    highest, lowest = min(on_validation.max(), networks.max()), max(on_validation.min(), networks.min())
    centre = (highest + lowest) / 2
    lam = float((on_validation - centre).abs().idxmin())
    symbol, limit = REGISTRY[measure].symbol, float(on_validation[lam])
    point, is_reached = least_error(front.validation, measure, at_most=limit, error=error)
    if not is_reached:
        return (
            f"On validation rows, no network has as little dependence as the {title_of(lam)} ({symbol} "
            f"{number(limit)})."
        )
    rows = (
        tariffs[(tariffs["part"] == "test") & (tariffs["lam"] == lam)],
        front.single[(front.single["method"] == point.method) & (front.single["lam"] == point.lam)],
    )
    test, values = (table.pivot(index="split", columns="measure", values="value") for table in rows)
    unit = float(test[error].mean())
    less = ((test[error] - values[error]) / unit).dropna().to_numpy()
    mean, se = mean_over_splits(less, test_to_train=comparison.result.test_to_train)
    margin = float(student.ppf(0.975, len(less) - 1)) * se
    verdict_text = "wins" if mean > margin else "loses" if mean < -margin else "neither wins nor loses"
    return (
        f"At equal dependence the best network {verdict_text} against the tariff: the network's deviance is "
        f"{100 * abs(mean):.2f} % {'below' if mean >= 0 else 'above'} the tariff's (95 % interval over "
        f"{len(less)} splits: {100 * (mean - margin):+.2f} to {100 * (mean + margin):+.2f} % below). "
        f"{symbol} is {values[measure].mean():.3f} for {point.title} and {test[measure].mean():.3f} for the "
        f"{title_of(lam)}. Both models were chosen on validation rows, and the figures are for test rows."
    )


#: A change of at most this share of the average prediction is reported as no change.
NO_CHANGE = 0.005
_NONE: Mapping[str, str] = MappingProxyType({})


def answer(comparison: Comparison) -> str:
    """State the findings on B in two or three sentences, or that the models learned nothing."""
    if nothing := nothing_learned(comparison):
        return nothing
    parts = [dependence(comparison), cost(comparison), who_pays(comparison)]
    if shows_nothing(comparison):
        parts = [dependence(comparison, THE_STANDARD), rows_that_would(comparison)]
    return " ".join(part for part in parts if part)


def dependence(comparison: Comparison, point: ModelKey | None = None) -> str:
    """Return a sentence on the dependence of a point's predictions or residuals; the default point is B.

    The sentence states whether the omnibus test, averaged over the splits, finds a link at the 5 % level
    (:mod:`fairdash.evaluation.verdict`). If the run has no omnibus test, the sentence states whether the
    measure in view finds a link.
    """
    point = comparison.b if point is None else point
    quantity = f"the {comparison.objective_seen.audited} of {comparison.target_called}"
    figures = f"({_evidence(comparison, point)})"
    # All classes of an attribute share one omnibus test.
    of_classes = "" if math.isnan(comparison.verdict_p(point)) else comparison.classes_called
    s = of_classes or comparison.sensitive_called
    name = comparison.called(point)
    opening = f"At {name}"
    if point.is_standard or name != point.name:
        opening = f"With the {name},"
    if not comparison.has_link(point):
        return f"{opening} no link is found between {quantity} and {s} {figures}."
    if point == comparison.a or comparison.is_of_one_point:
        return f"{opening} {quantity} depends on {s} {figures}."
    if comparison.mean(comparison.measure, point) < comparison.mean(comparison.measure, comparison.a):
        than = "before" if comparison.a.is_standard else f"at {comparison.called(comparison.a)}"
        still = f"still depends on {s}, but less than {than}"
        return f"{opening} {quantity} {still} {figures}."
    than = f"no less than with {_the(comparison, comparison.a)}"
    return f"{opening} {quantity} depends on {s} {than} {figures}."


def _evidence(comparison: Comparison, point: ModelKey) -> str:
    """Return the test's p-value, and value and limit of a measure that agrees with the test.

    The text names another measure if the measure in view does not show the link that the test finds.
    """
    p, edge = comparison.verdict_p(point), comparison.edge(point)
    symbol, shown_point = REGISTRY[comparison.measure].symbol, comparison.shown(comparison.measure, point)
    with_classes = f" with {comparison.sensitive_called}" if comparison.classes_called else ""
    in_view = f"{symbol}{with_classes} {shown_point}"
    below = f"if the two are independent, the value is below {number(edge)} in 95 % of cases"
    if math.isnan(p):
        return f"{in_view}; {below}"
    test = f"joint test of several measures: {p_equals(p)}; "
    sees, is_link = abs(comparison.mean(comparison.measure, point)) > edge, comparison.has_link(point)
    if sees == is_link:
        return f"{test}{in_view}; {below}"
    if sees:
        return (
            f"{test}{in_view} alone exceeds {number(edge)}, which happens in 5 % of cases if the two are "
            "independent"
        )
    single_view = f"{in_view} alone does not show the link (not above {number(edge)})"
    measure = comparison.found_by(point)
    if measure is None:
        return f"{test}{single_view}"
    measure_name, value, edge = measure
    return (
        f"{test}{measure_name} is {number(value)} (below {number(edge)} in 95 % of cases if the two are "
        f"independent); {single_view}"
    )


def verdict_in_short(comparison: Comparison) -> str:
    """State in a few words whether B has a link, with the test's p-value or the measure's limit."""
    link_text = "link found" if comparison.has_link(comparison.b) else "no link found"
    p = comparison.verdict_p(comparison.b)
    if math.isnan(p):
        comparison_sign = ">" if comparison.has_link(comparison.b) else "≤"
        return f"{link_text} ({comparison_sign} {number(comparison.edge(comparison.b))})"
    return f"{link_text} ({p_equals(p)})"


def how_the_verdict_is_made(comparison: Comparison) -> str:
    """Explain how fairdash decides whether B has a link with the sensitive attribute."""
    if math.isnan(comparison.verdict_p(comparison.b)):
        return (
            "The measure is averaged over the splits, and a permutation test at the 5 % level decides "
            "whether there is a link. If the sensitive attribute is shuffled, 95 % of such averages are "
            "below the number in brackets."
        )
    return (
        "A joint test of several measures at the 5 % level decides whether there is a link. The measure "
        "shown here alone does not decide whether there is a link. The test combines linear and "
        "rank correlations, correlations of smooth and of oscillating functions, and dependence in the "
        "tails. p is the share of random shuffles of the sensitive attribute in which the clearest link "
        "among these measures is at least as clear as in the data."
    )


def cost(comparison: Comparison) -> str:
    """Return a sentence on the change of the error from A to B."""
    if comparison.is_of_one_point:
        return ""
    lost = comparison.mean(comparison.front.error, comparison.b) >= comparison.front.error_of_mean
    worthless = ", which is no smaller than the error of predicting the average for everyone" if lost else ""
    change = error_between(comparison, comparison.a, comparison.b)
    return f"{change[0].upper()}{change[1:]}{worthless}."


def error_between(comparison: Comparison, a: ModelKey, b: ModelKey) -> str:
    """State the test errors of two points in words: as RMSE in the target's unit, or as a deviance."""
    front = comparison.front
    if front.error == "mse":
        error_before, after = (comparison.mean("rmse", point) for point in (a, b))
        return error_change(error_before, after, of_average=front.rmse_of_mean, unit=comparison.unit)
    error_before, after = (comparison.mean(front.error, point) for point in (a, b))
    share_before, new = (f"{number(100 * share)} %" for share in (error_before, after))
    unit_phrase = "of the deviance of predicting the average"
    if share_before == new:
        return f"the deviance stays at {new} {unit_phrase}"
    verb = "grows" if after > error_before else "falls"
    return f"the deviance {verb} from {share_before} to {new} {unit_phrase}"


def who_pays(comparison: Comparison) -> str:
    """Name the group whose predictions rise most from A to B, and the group whose predictions fall most."""
    if comparison.is_of_one_point:
        return ""
    transfers = comparison.moved
    # A change that is small relative to the average prediction of A is not reported as a change.
    few = NO_CHANGE * abs((transfers["before"] * transfers["heads"]).sum() / transfers["heads"].sum())
    per_head = transfers["per_head"].to_numpy()
    top, down = int(per_head.argmax()), int(per_head.argmin())
    groups = comparison.groups_called(transfers)
    noun = "" if comparison.front.cells_called else f"{comparison.values_called} "
    parts = [
        f"{verb} by {with_unit(_short(abs(per_head[k])), comparison.unit)} on average for {noun}{groups[k]}"
        for verb, k, moves in (("rise", top, per_head[top] > few), ("fall", down, per_head[down] < -few))
        if moves and len(transfers) > 1
    ]
    return f"Predictions {' and '.join(parts)}." if parts else ""


def named(point: ModelKey) -> str:
    """Return the name of a point for use inside a sentence."""
    return "the standard model" if point.is_standard else point.title


def level(comparison: Comparison) -> str:
    """Return a sentence on how the sum of all predictions changes from A to B."""
    transfers = comparison.moved
    total, total_before = transfers["total"].sum(), (transfers["before"] * transfers["heads"]).sum()
    if abs(total) < NO_CHANGE * abs(total_before):
        return "The sum of all predictions hardly changes."
    return (
        f"The sum of all predictions changes by {signed(total / total_before * 100)} %: "
        f"{with_unit(signed(total / transfers['heads'].sum()), comparison.unit)} per head."
    )


def both_objectives(comparison: Comparison) -> str:
    """Compare the dependence of B with that of the standard model in a sentence, for both objectives."""
    symbol = REGISTRY[comparison.measure].symbol
    parts = []
    for objective, front in comparison.fronts.items():
        standard = front.figure(comparison.measure, ModelKey(comparison.b.method, 0.0)).value
        values = front.figure(comparison.measure, comparison.b)
        value = values.value
        step = "falls" if value < standard else "grows"
        moves = f"{step} from {number(standard)} to" if number(value) != number(standard) else "stays at"
        floor = " (within the noise floor)" if value <= values.edge else ""
        parts.append(f"{symbol} of the {OBJECTIVES[objective].audited} {moves} {number(value)}{floor}")
    return f"From the standard model to {comparison.called(comparison.b)}: " + ", ".join(parts) + "."


def of_choice(comparison: Comparison, point: ModelKey, goal_text: str, *, is_reached: bool) -> str:
    """Return a sentence on a goal: the point selected for it on validation rows, and its test results."""
    measure = comparison.measure
    symbol = REGISTRY[measure].symbol
    rows = of_measure(comparison.front.validation, measure)
    row = rows[(rows["method"] == point.method) & (rows["lam"] == point.lam)].iloc[0]
    first_words = (
        f"For {goal_text}: {point.title}"
        if is_reached
        else f"No model reaches this goal: {goal_text}. The nearest is {point.title}"
    )
    return (
        f"{first_words}. On test rows {symbol} is {comparison.shown(measure, point)}, and on validation rows "
        f"{number(float(row['value']))}. Compared with the standard model, "
        f"{error_between(comparison, THE_STANDARD, point)}."
    )


def _short(value: float) -> str:
    """Format an amount in a sentence with two significant digits, or as a whole number."""
    decimals = max(1 - math.floor(math.log10(value)), 0) if value > 0 else 0
    return f"{value:,.{min(decimals, 10)}f}"


def _the(comparison: Comparison, point: ModelKey) -> str:
    return "the standard model" if point.is_standard else comparison.called(point)


def nothing_learned(comparison: Comparison) -> str:
    """Return a sentence that the standard model is no better than the average; "" if it is better."""
    gain = comparison.result.gain
    if gain is None or gain.is_beyond_noise:
        return ""
    error = number(gain.error, error=gain.error_se)
    yet = " yet" if comparison.sample else ""
    text = (
        f"Nothing was learned{yet}: on test rows, the standard model predicts {comparison.target} no better "
        f"than the average does (its error is {error} times that of the average, ± {number(gain.error_se)})."
    )
    if comparison.sample:
        # A preview uses a sample, which may have too few claims; the whole run uses all rows.
        return (
            f"{text} This preview used {comparison.sample}. The whole run uses all rows, and may show the "
            "cost of fairness."
        )
    if comparison.front.error == "deviance":
        return f"{text} {rows_that_would(comparison)}"
    return (
        f"{text} Therefore, no figure below measures the cost of fairness. More rows, other features, or a "
        "target per unit of exposure may change this result."
    )


def of_values(comparison: Comparison) -> list[str]:
    """Explain how values of the measure in view are estimated, if the measure needs such an explanation."""
    entry = REGISTRY[comparison.measure]
    return [f"{entry.symbol} is {WAYS[entry.recorded]}."] if entry.recorded else []


def of_opening(opening: Confirmation, *, times: int, names: Mapping[str, str] = _NONE) -> list[str]:
    """Return sentences on one test of a point on holdout rows: result, validity of the test, and values.

    Parameters
    ----------
    times, names
        Number of uses of the holdout rows so far. Display names of sensitive columns; others keep theirs.
    """
    quantity = f"the {OBJECTIVES[opening.objective].audited}"
    columns = " or ".join(names.get(link.column, link.column) for link in opening.links)
    link = f"{'a' if opening.finds_link else 'no'} link is found between {quantity} and {columns}"
    where = f"On {counted(opening.n, 'row')} set aside from the start, {named(opening.point)}"
    if opening.is_first:
        verdict = "not confirmed" if opening.finds_link else "confirmed"
        lines = [f"{where}: {verdict}, {link} (one test, {p_equals(opening.p_value)})."]
    else:
        lines = [
            f"{where}: {link} ({p_equals(opening.p_value)}). This test does not confirm the choice, because "
            f"these rows had already been used for another point (use number {opening.number})."
        ]
    figures = [
        f"{REGISTRY[opening.measure].symbol} with {names.get(link.column, link.column)} {number(link.value)} "
        f"(noise floor {number(link.floor)}; if the two are independent, the value is below "
        f"{number(link.floor_q95)} in 95 % of cases)"
        for link in opening.links
    ]
    figures.append(
        f"the error is {number(100 * opening.error)} % of that of predicting these rows' average (standard "
        f"model: {number(100 * opening.error_of_standard)} %)"
    )
    lines.append(f"On these rows: {'; '.join(figures)}.")
    if not opening.finds_link:
        lines.append("A remaining link may be too weak to be found in this number of rows.")
    if times > 1:
        lines.append(
            f"These rows have been used {times} times. Only the first use confirms a choice, because "
            "later choices may depend on these rows."
        )
    return lines


def of_openings(openings: Sequence[Confirmation], names: Mapping[str, str] = _NONE) -> list[str]:
    """Return a paragraph per test on holdout rows, by time, and a sentence on the number of tests."""
    paragraphs = [of_opening(record, times=1, names=names) for record in openings]
    if len(openings) > 1:
        paragraphs.append(of_opening(openings[0], times=len(openings), names=names)[-1:])
    return [" ".join(lines) for lines in paragraphs]


def of_rows_set_aside(comparison: Comparison, openings: Sequence[Confirmation]) -> list[str]:
    """Return a report's paragraphs on the holdout rows; [] if the run has no holdout."""
    holdout = comparison.result.set_aside
    if holdout is None:
        return []
    if not openings:
        return [not_opened(len(holdout.rows))]
    paragraphs = of_openings(openings, comparison.result.names)
    if opening_of(comparison, openings) is None:
        paragraphs.append("Nobody has tested the point of this report on these rows.")
    return paragraphs


def not_opened(n: int) -> str:
    """Return a paragraph on holdout rows that no test has used yet, and on their purpose."""
    return (
        f"{n:,} rows were set aside from the start. No training, test result or choice has used these rows. "
        "A point that was chosen by its test results looks better on the test rows than on new rows. Test "
        "only one point on the rows set aside: the point that you intend to use."
    )


def refit_includes(n: int) -> str:
    """Return a sentence which says that a refit also uses the holdout rows."""
    return (
        f"The refit on all rows also uses the {n:,} rows set aside. The results on these rows are for "
        "models that were trained without them."
    )


def opening_of(comparison: Comparison, openings: Sequence[Confirmation]) -> Confirmation | None:
    """Return the result of the test of the point in view on holdout rows; None if nobody has tested it."""
    matching = (record for record in openings if record.is_of(comparison.b, objective=comparison.objective))
    return next(matching, None)
