"""The audit's sentences: one a question, plain words, with its number and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairdash.auditing.bridge import Bridge, Estimate
from fairdash.auditing.gaps import ABOVE, BELOW, LEVEL, NONE, UNDECIDED, Band, Gap
from fairdash.auditing.plan import AuditPlan
from fairdash.auditing.surface import Surface
from fairdash.text import few

_VERDICTS = {
    BELOW: "This is shown to be below {delta}.",
    ABOVE: "This is shown to be above {delta}.",
    UNDECIDED: "Whether that is below or above {delta} is not decided; "
    "the smallest gap that these rows could show is {smallest}{rows}.",
}


def percent(share: float) -> str:
    """A share in per cent.

    >>> percent(0.0512), percent(-0.0001)
    ('5.1 %', '0.0 %')
    """
    # z: what rounds to 0 has no sign.
    return f"{100 * share:z.1f} %"


def verdict_in_words(
    found: Gap | Surface, verdict: str, *, delta: float, mean: float, rows_needed: float
) -> str:
    """A verdict; amounts of `found` in units of the price, `delta` a share of the mean price."""
    more = f" (about {rows_needed:,.0f} rows are needed for {percent(delta)})" if rows_needed > 0 else ""
    return _VERDICTS[verdict].format(delta=percent(delta), smallest=percent(found.smallest / mean), rows=more)


def unbroken(text: str) -> str:
    """A sentence in which no line ends between a number and its per cent."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


_PRIMARY = {
    "independence": "Along “{sensitive}” the average of “{price}” differs by {value} of the mean price "
    "between its lowest and its highest point",
    "conditional_independence": "Among rows that are equal in {factors}, “{price}” differs along "
    "“{sensitive}” by {value} of the mean price between its lowest and its highest point",
    "sufficiency": "Among those who pay the same “{price}”, expected cost differs along “{sensitive}” by "
    "{value} of the mean price",
    "equalized_residuals": "Cost at the price's level less “{price}” differs along “{sensitive}” by "
    "{value} of the mean price between its lowest and its highest point",
}
_DECIDED = {
    BELOW: "That is shown to be below the {delta} allowed.",
    ABOVE: "That is shown to be above the {delta} allowed.",
    UNDECIDED: "Whether that is below or above the {delta} allowed is not decided by these rows.",
}
#: A verdict in a few words.
IN_SHORT = {
    BELOW: "shown below the threshold",
    ABOVE: "shown above the threshold",
    UNDECIDED: "not decided by these rows",
    NONE: "not asked, a column is missing",
}


def primary(row: Mapping[Any, Any], plan: AuditPlan) -> str:
    """The primary verdict in one sentence and what follows; `row` is that of the verdicts."""
    columns = plan.columns
    said = _PRIMARY[plan.criterion].format(
        sensitive=columns.sensitive,
        price=columns.price,
        factors=few(columns.controls),
        value=percent(row["value"]),
    )
    between = f"95 % interval {percent(row['ci_low'])} to {percent(row['ci_high'])}"
    return f"{said} ({between}). {_DECIDED[row['verdict']].format(delta=percent(plan.max_gap))}"


def follows(gap: Gap, mean: float, name: str, *, any_link: float) -> tuple[str, ...]:
    """Question 1, the answer and more; `any_link` is the p-value of no link of any kind."""
    if any_link > LEVEL:
        test = f"One test of several measures finds no link of any kind (p = {any_link:.2g})."
    elif gap.p_value > LEVEL:
        test = (
            f"One test of several measures does find a link (p = {any_link:.2g}): not in the average, "
            "perhaps in the spread."
        )
    else:
        test = f"One test of several measures finds a link, too (p = {any_link:.2g})."
    noise = "more than noise" if gap.p_value <= LEVEL else "which can be noise"
    return (
        f"Between its lowest and highest point along “{name}” the price differs by "
        f"{percent(gap.value / mean)} of the mean price ({percent(gap.ci_low / mean)} to "
        f"{percent(gap.ci_high / mean)}), {noise}.",
        f"In units of the price that is {gap.value:,.4g}. {_noise(gap, mean)}",
        test,
    )


def _noise(gap: Gap, mean: float) -> str:
    floor = percent(gap.floor / mean)
    if gap.p_value <= LEVEL:
        return f"That is more than noise, which alone would show about {floor} (p = {gap.p_value:.2g})."
    return f"Noise alone would show about {floor}, so this can be noise (p = {gap.p_value:.2g})."


def where(gap: Gap, band: Band, curve_at: list[str], mean: float, name: str) -> str:
    """Question 2; `curve_at` names the points of the curve in the order of the gap's numbers."""
    lowest, highest = band.value.min(), band.value.max()
    return (
        f"The price is lowest at {curve_at[gap.lowest]} of “{name}” ({lowest:,.4g}, "
        f"{percent(lowest / mean)} of the mean) "
        f"and highest at {curve_at[gap.highest]} ({highest:,.4g}, {percent(highest / mean)})."
    )


def dearest(band: Band, share: float, name: str) -> str:
    """Question 2, the rest: where the dearest rows are."""
    most, least = (
        f"{band.at[j]:,.4g}, {percent(band.value[j])} ({percent(band.low[j])} to {percent(band.high[j])})"
        for j in (int(np.argmax(band.value)), int(np.argmin(band.value)))
    )
    return f"Of the rows about “{name}” {most} are among the dearest {percent(share)} of all; about {least}."


def _interval(each: Estimate, mean: float) -> str:
    return f"{percent(each.value / mean)} ({percent(each.ci_low / mean)} to {percent(each.ci_high / mean)})"


def earned(bridge: Bridge, mean: float, name: str) -> str:
    """Question 3; a bridge of two parts has its points chosen on the other half of the rows."""
    low, high = (
        " or ".join(f"{at:,.4g}" for at in dict.fromkeys(points)) for points in (bridge.low, bridge.high)
    )
    chosen = "chosen on other rows" if len(bridge.low) > 1 else "its 10th and 90th percentile"
    gap = (
        f"From “{name}” {low} to {high} ({chosen}) the price changes by {_interval(bridge.gap, mean)} "
        "of the mean price."
    )
    if bridge.earned is None or bridge.left is None:
        return f"{gap} Nothing is known of what is earned: name an outcome or an expected cost."
    cost, left = _interval(bridge.earned, mean), bridge.left
    can_be_noise = left.ci_low <= 0 <= left.ci_high
    if not can_be_noise and (left.value < 0) != (bridge.gap.value < 0):
        low_end, high_end = sorted((abs(left.ci_low), abs(left.ci_high)))
        more = _interval(Estimate(value=abs(left.value), ci_low=low_end, ci_high=high_end), mean)
        return f"{gap} Expected cost changes by {cost}, which is {more} more."
    noise = ", which can be noise" if can_be_noise else ""
    return f"{gap} Expected cost explains {cost}; {_interval(left, mean)} is left{noise}."


def among_equals(gap: Gap, mean: float, factors: tuple[str, ...], *, any_link: float) -> tuple[str, ...]:
    """Question 4, the answer and more; `any_link` is the p-value of no link, which may differ between
    unequal rows."""
    return (
        f"Among rows that are equal in {few(factors)} the price differs by {percent(gap.value / mean)} "
        f"({percent(gap.ci_low / mean)} to {percent(gap.ci_high / mean)}) between its lowest and "
        "highest point.",
        _noise(gap, mean),
        "A test that lets the link differ with the factors finds "
        f"{'one' if any_link <= LEVEL else 'none'} (p = {any_link:.2g}).",
    )


def undercharged(
    surface: Surface,
    residuals: Gap,
    calibrated: Surface,
    *,
    mean: float,
    loss_ratio: float,
    name: str,
) -> tuple[str, ...]:
    """Question 5, the answer and more."""
    cells = surface.cells
    worst = cells.iloc[int(np.argmax(cells["b"] / cells["standard_error"].clip(lower=1e-300)))]
    place = (
        f"The clearest undercharge: a row costs {worst['b']:,.4g} more than others of the same price, at "
        f"prices from {worst['price_low']:,.4g} to {worst['price_high']:,.4g} and “{name}” from "
        f"{worst['s_low']:,.4g} to {worst['s_high']:,.4g}."
    )
    is_clear = surface.p_value <= LEVEL and worst["b"] > 0
    return (
        f"Among those who pay the same, expected cost differs along “{name}” by "
        f"{surface.value:,.4g} a row, {_of_mean(surface, mean)}.",
        f"Cost is {percent(loss_ratio)} of what is charged; it is brought to the price's level before "
        "the two are compared.",
        "The figure is the root mean square over cells of price and attribute, without noise "
        f"(p = {surface.p_value:.2g}).",
        *([place] if is_clear else []),
        f"Cost less price differs along “{name}” by {_of_mean(residuals, mean)} between its lowest and its "
        "highest point.",
        _calibration(calibrated, mean),
    )


def _of_mean(found: Gap | Surface, mean: float) -> str:
    return (
        f"{percent(found.value / mean)} of the mean price ({percent(found.ci_low / mean)} to "
        f"{percent(found.ci_high / mean)})"
    )


def _calibration(found: Surface, mean: float) -> str:
    """Autocalibration, which is no statement on the sensitive attribute."""
    if found.p_value > LEVEL:
        return f"Autocalibration: no price is shown to miss what its rows cost (p = {found.p_value:.2g})."
    bands = found.cells
    low, high = bands["b"].iloc[0], bands["b"].iloc[-1]
    slope = {
        (True, False): " Low prices are too low and high prices too high.",
        (False, True): " Low prices are too high and high prices too low.",
    }.get((bool(low > 0), bool(high > 0)), "")
    return (
        "Autocalibration, whatever the attribute: rows of one price cost more or less than it by "
        f"{_of_mean(found, mean)} (p = {found.p_value:.2g}).{slope}"
    )
