"""The sentences of questions 6 and 8: what models say of a price, with how well they fit beside it."""

from __future__ import annotations

import pandas as pd

from fairdash.auditing.bridge import Estimate
from fairdash.auditing.drivers import USES_ITSELF, Drivers
from fairdash.auditing.models import poisson_deviance
from fairdash.auditing.premiums import PREMIUMS, Comparison, Costs
from fairdash.auditing.table import AuditTable
from fairdash.auditing.words import percent

NO_FEATURES = "Through what can't be said: the table has no further columns, or none that says something."
_NO_COSTS = "Not asked: there is no {what}."
#: Features that a sentence names.
_MOST_NAMED = 3
#: A feature that carries less than this of what s explains is not named.
_LEAST_NAMED = 0.02


def within(each: Estimate) -> str:
    """A share with its interval."""
    return f"{percent(each.value)} ({interval(each)})"


def interval(each: Estimate) -> str:
    """The interval of a share."""
    return f"{percent(each.ci_low)} to {percent(each.ci_high)}"


def points(each: Estimate) -> str:
    """A difference of two shares with its interval."""
    # Adding 0 makes a negative nought a plain one.
    value, low, high = (f"{round(100 * part, 1) + 0.0:.1f}".replace("-", "−") for part in vars(each).values())
    return f"{value} percentage points ({low} to {high})"


def spread(uf: Estimate, name: str) -> str:
    """How much of the price's variance s explains."""
    return f"“{name}” explains {within(uf)} of the price's variance."


def through(drivers: Drivers, uf: Estimate, name: str) -> tuple[str, str, str]:
    """Through which features, by the surrogate, how well that fits, and whether through s itself."""
    made_of = f"the other columns{f' and “{name}”' if drivers.uses_itself else ''}"
    fit = drivers.fit_with if drivers.uses_itself else drivers.fit
    made = (
        f"The model is trees that make the price again from {made_of} (R² {fit.value:.3f} on rows left out; "
        f"networks in their place {drivers.fit_networks.value:.3f}); "
        "the parts are Shapley values."
    )
    whole = drivers.whole.value
    table = drivers.shares
    table = table[(table["ci_low"] > 0) & (table["share"] >= _LEAST_NAMED * whole)].head(_MOST_NAMED)
    if uf.ci_low <= 0 or drivers.whole.ci_low <= 0 or table.empty:
        parts = "No column is shown to carry what follows it."
    else:
        named = zip(table["feature"].tolist(), table["share"].tolist(), strict=True)
        listed = ", ".join(f"“{feature}” {percent(share / whole)}" for feature, share in named)
        parts = f"In a model of the price, this goes through {listed}."
    with_it = f"Adding “{name}” itself raises R² by {points(drivers.itself)}"
    if drivers.uses_itself:
        itself = f"{with_it}: the price uses it, or something that goes with it and is not in the table."
    elif drivers.itself.ci_high < USES_ITSELF:
        itself = f"{with_it}: the price does not use it beyond what these columns tell of it."
    else:
        itself = f"{with_it}: whether the price uses it beyond these columns is not decided."
    return parts, made, itself


def proxies(table: pd.DataFrame, name: str) -> str:
    """Which features go with s."""
    clear = table[table["p_corrected"] <= 0.05]
    if clear.empty:
        return f"No column is shown to go with “{name}”."
    first = clear.iloc[0]
    return f"The column that goes with “{name}” most is “{first['feature']}” (HGR {first['hgr']:.2f})."


def proxy_discrimination(found: Estimate | None, costs: Costs | None) -> str:
    """How far the price is from one without proxy discrimination."""
    if found is None or costs is None:
        return "Proxy discrimination can't be measured without an outcome or an expected cost."
    return (
        f"{within(found)} of the price's variance parts it from the nearest price without proxy "
        f"discrimination, with costs as learned here ({fit_of(costs)})."
    )


def measure_of(costs: Costs) -> str:
    """What the fit of costs is counted in."""
    return "share of the deviance" if costs.loss is poisson_deviance else "R²"


def fit_of(costs: Costs) -> str:
    """How well costs were learned."""
    fit, what = costs.fit, _loss_in_words(costs)
    if fit.ci_low <= 0:
        return (
            f"on rows left out they are not shown to explain any of its {what}, so take this as noise: "
            f"{within(fit)}"
        )
    return f"trees that explain {within(fit)} of its {what} on rows left out"


def no_costs(table: AuditTable) -> str:
    """Why there are no premiums."""
    if table.features.columns.empty:
        return _NO_COSTS.format(what="column besides those with a role to make a premium of")
    if table.outcome is None and table.expected_cost is None:
        return _NO_COSTS.format(what="outcome, such as claims, and no expected cost")
    return _NO_COSTS.format(what="cost above zero to learn from")


def instead(found: Comparison, costs: Costs) -> tuple[str, ...]:
    """Question 8, the answer and more."""
    columns, mean = costs.table.columns, costs.table.mean_price
    name, learned = columns.sensitive, columns.expected_cost or columns.outcome
    gaps = ", ".join(
        f"{title.lower()} {percent(found.gaps[id].value / mean)}" for id, title in PREMIUMS.items()
    )
    proxy, parity = (
        within(Estimate(**{key: value / mean for key, value in vars(found.sizes[id]).items()}))
        for id in ("proxy_effect", "cost_of_parity")
    )
    return (
        f"Five premiums learned from “{learned}” differ between their lowest and highest point along "
        f"“{name}” by, of the mean price: {gaps}.",
        f"How well that was learned: {fit_of(costs)}; networks in their place explain "
        f"{within(costs.fit_networks)}.",
        f"Without “{name}” other columns stand in for it: that moves a policy by {proxy} of the mean price "
        "(unaware less aware).",
        f"A premium that does not follow it at all moves a policy by {parity} (corrective less best "
        f"estimate) and explains {points(found.less['corrective'])} less of the {_loss_in_words(costs)}.",
        "Intervals count the policies alone: the models are taken as they are.",
        "Premiums between these, with their error, are points of a front: train one on this table.",
    )


def _loss_in_words(costs: Costs) -> str:
    return "deviance" if costs.loss is poisson_deviance else "variance"
