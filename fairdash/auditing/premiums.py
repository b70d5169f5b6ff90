"""What could be charged instead: five premiums made of what a policy costs on average, μ(x, s) = E[Y|x, s].

Best estimate μ(x, s); unaware E[μ(x, S)|x], which leaves s out and lets the features stand in for it; aware
E_S[μ(x, S)], the same features with everybody's s (Lindholm, Richman, Tsanakas and Wüthrich 2022);
corrective, the barycentre over s: each policy keeps its rank among those of its s, and the laws of all s
become one; hyperaware E[corrective|x] (Côté, Côté and Charpentier 2025).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.basis import basis_of
from fairdash.auditing.bridge import Estimate, typical_gap
from fairdash.auditing.curve import fit_curve
from fairdash.auditing.gaps import Gap, largest_gap
from fairdash.auditing.models import (
    OF_A_COST,
    OF_A_MEAN,
    Fitted,
    Loss,
    Networks,
    Trees,
    explained,
    folds_of,
    gained,
    out_of_fold,
    poisson_deviance,
    ratio_of_means,
    sampled,
    squared_error,
    weighted_mean,
)
from fairdash.auditing.table import AuditTable
from fairdash.dependence.ranks import quantiles
from fairdash.training.references import fit_barycentre, sensitive_nodes

Array = NDArray[np.float64]

#: The premiums by id, in the order from all of s to nothing of it.
PREMIUMS: Mapping[str, str] = MappingProxyType(
    {
        "best_estimate": "Best estimate",
        "unaware": "Unaware",
        "aware": "Aware",
        "hyperaware": "Hyperaware",
        "corrective": "Corrective",
    }
)
#: What is compared of each policy: id to what it is called.
DIFFERENCES: Mapping[str, str] = MappingProxyType(
    {
        "proxy_effect": "unaware less aware",
        "risk_spread": "highest less lowest best estimate over s",
        "cost_of_parity": "corrective less best estimate",
    }
)
#: Values of s that stand for all of them, at most.
N_NODES = 30
#: The kernel of :func:`corrective_of` is narrower than the rule's for a smooth curve by this factor.
_NEARER = 0.25
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False, kw_only=True)
class Costs:
    """What policies are expected to cost at any s, and the five premiums; amounts at the level of the price.

    Attributes
    ----------
    table
        The rows that were looked at.
    cost : (n,) array
        What was learned, at the level of the mean price.
    nodes, shares : (K,) arrays
        Values of s, and the exposure that each stands for; they add up to 1.
    at_nodes : (n, K) array
        μ(x, sₖ), by models that did not learn from the row.
    premiums
        Id of :data:`PREMIUMS` to (n,) array, likewise.
    by_networks : (n,) array
        The best estimate of networks in place of trees, likewise.
    """

    table: AuditTable
    cost: Array
    nodes: Array
    shares: Array
    at_nodes: Array
    premiums: Mapping[str, Array]
    by_networks: Array

    @property
    def judged_by(self) -> Array:
        """What the premiums are judged by: the outcome, at the level of the price, or else what was
        learned."""
        outcome = self.table.outcome
        return self.cost if outcome is None else at_level_of_price(outcome, self.table)

    @property
    def loss(self) -> Loss:
        """Poisson's deviance where every amount allows for it, or the squared error."""
        amounts = (*self.premiums.values(), self.table.price)
        fits = self.judged_by.min() >= 0 and min(each.min() for each in amounts) > 0
        return poisson_deviance if fits else squared_error

    @property
    def fit(self) -> Estimate:
        """The share of deviance (or of variance) that the best estimate explains on rows left out."""
        return explained(self.judged_by, self.premiums["best_estimate"], self.table, self.loss)

    @property
    def fit_networks(self) -> Estimate:
        """The same of networks in place of trees."""
        return explained(self.judged_by, self.by_networks, self.table, self.loss)

    @property
    def differences(self) -> dict[str, Array]:
        """Id of :data:`DIFFERENCES` to (n,) array."""
        made = self.premiums
        return {
            "proxy_effect": made["unaware"] - made["aware"],
            "risk_spread": np.ptp(self.at_nodes, axis=1),
            "cost_of_parity": made["corrective"] - made["best_estimate"],
        }


def at_level_of_price(cost: Array, table: AuditTable) -> Array:
    """Costs times the portfolio's mean price ÷ mean cost."""
    return cost * (weighted_mean(table.price, table) / weighted_mean(cost, table))


def learn_costs(
    table: AuditTable, *, tell: Callable[[float], object] = float, random_state: int | None = 0
) -> Costs:
    """Learn what policies cost from features and s, and make the five premiums; `tell` hears the share done.

    Learned is the user's own expected cost, or else the outcome; its mean is above 0.
    """
    part = sampled(table)
    learned = part.outcome if part.expected_cost is None else part.expected_cost
    assert learned is not None
    cost = at_level_of_price(learned, part)
    law = sensitive_nodes(part.sensitive, sample_weight=part.weight, max_nodes=N_NODES)
    nodes, shares = law.values, law.shares
    trees = _trees_for(cost)
    at_nodes = np.empty((part.n, len(nodes)))
    made = {name: np.empty(part.n) for name in PREMIUMS}
    folds = folds_of(part)
    for k, out in enumerate(folds):
        tell(k / len(folds))
        fitted = trees.fit(
            part.features[~out], cost[~out], part.weight[~out], part.sensitive[~out],
            random_state=random_state,
        )  # fmt: skip
        at_nodes[out] = fitted.predict_at(part.features[out], nodes)

        def given_features(values: Array, out: NDArray[np.bool_] = out) -> Array:
            mean: Fitted = _trees_for(values).fit(
                part.features[~out], values[~out], part.weight[~out], random_state=random_state
            )
            # Trees go a little beyond what they have seen.
            return np.clip(mean.predict(part.features[out]), values.min(), values.max())

        best = fitted.predict(part.features, part.sensitive)
        corrective = corrective_of(best, part)
        made["best_estimate"][out] = best[out]
        made["unaware"][out] = given_features(best)
        made["aware"][out] = at_nodes[out] @ shares
        made["hyperaware"][out] = given_features(corrective)
        made["corrective"][out] = corrective[out]
    best = made["best_estimate"]
    networks = out_of_fold(
        part,
        cost,
        Networks(loss="poisson" if cost.min() >= 0 else "squared_error"),
        part.sensitive,
        random_state=random_state,
    )
    return Costs(
        table=part,
        cost=cost,
        nodes=nodes,
        shares=shares,
        at_nodes=at_nodes,
        premiums=MappingProxyType(made),
        # Where one loss can judge the trees it can judge these, too.
        by_networks=np.clip(networks, best.min(), best.max()),
    )


def _trees_for(y: Array) -> Trees:
    return OF_A_COST if y.min() >= 0 else OF_A_MEAN


def corrective_of(best: Array, table: AuditTable) -> Array:
    """Values whose law is the same at every s, each at the rank of `best` (n,) among those of its s.

    The law given s is that of rows near in s (:func:`fairdash.training.references.fit_barycentre`), nearer
    than suits a smooth curve: trees have steps.
    """
    bandwidth = _NEARER * 1.06 * math.sqrt(1 / 12) * table.n_distinct**-0.2
    fitted = fit_barycentre(best, table.sensitive, sample_weight=table.weight, bandwidth=bandwidth)
    return np.clip(fitted.predict(best, table.sensitive), best.min(), best.max())


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Five premiums and the price beside each other.

    Attributes
    ----------
    premiums
        A row a premium, the price first: premium, mean, gap, gap_low, gap_high (shares of the mean price),
        share_of_variance, explained (share of deviance or variance, on rows left out), less, less_low,
        less_high (how much less than the best estimate).
    curves
        premium and the columns of a :class:`~fairdash.auditing.gaps.Band`, in units of the price.
    differences
        A row a difference: difference, what, mean_absolute, ci_low, ci_high, mean and quantiles over
        policies, in units of the price.
    gaps, sizes, less
        The same for sentences: the largest gap of a premium, the mean absolute difference, and what is
        explained less than by the best estimate.
    """

    premiums: pd.DataFrame
    curves: pd.DataFrame
    differences: pd.DataFrame
    gaps: Mapping[str, Gap]
    sizes: Mapping[str, Estimate]
    less: Mapping[str, Estimate]


def compare_premiums(costs: Costs, delta: float, *, random_state: int | None = 0) -> Comparison:
    """What each premium is along s, how well it fits, and how far policies move; models taken as known."""
    table, y, loss = costs.table, costs.judged_by, costs.loss
    mean, basis = table.mean_price, basis_of(table)
    best = costs.premiums["best_estimate"]
    gaps, less, rows, curves = {}, {}, [], []
    for name, premium in {"price": table.price, **costs.premiums}.items():
        curve = fit_curve(premium, table, basis)
        gaps[name], band = largest_gap(curve, delta, random_state=random_state)
        less[name] = gained(y, premium, best, table, loss)
        _, uf = typical_gap(replace(table, price=premium), basis, curve)
        curves.append(band.frame().assign(premium=name))
        row = {"premium": name, "mean": weighted_mean(premium, table) / mean}
        row |= {"gap" + end: getattr(gaps[name], each) / mean for end, each in _ENDS.items()}
        row |= {"share_of_variance": uf.value, "explained": explained(y, premium, table, loss).value}
        rows.append(row | {"less" + end: getattr(less[name], each) for end, each in _ENDS.items()})
    along = pd.concat(curves, ignore_index=True)
    sizes = {
        name: ratio_of_means(np.abs(each), np.ones(table.n), table)
        for name, each in costs.differences.items()
    }
    return Comparison(
        premiums=pd.DataFrame(rows),
        curves=along[["premium", *along.columns.drop("premium")]],
        differences=pd.DataFrame(
            [_difference(name, each, sizes[name], table) for name, each in costs.differences.items()]
        ),
        gaps=MappingProxyType(gaps),
        sizes=MappingProxyType(sizes),
        less=MappingProxyType(less),
    )


#: How columns of a number and of its limits end, and what they are of an estimate.
_ENDS = {"": "value", "_low": "ci_low", "_high": "ci_high"}


def _difference(name: str, values: Array, size: Estimate, table: AuditTable) -> dict[str, object]:
    order = np.argsort(values, kind="stable")
    at = quantiles(values[order], table.weight[order], np.array(_QUANTILES))
    return {
        "difference": name,
        "what": DIFFERENCES[name],
        "mean_absolute": size.value,
        "ci_low": size.ci_low,
        "ci_high": size.ci_high,
        "mean": weighted_mean(values, table),
        **{f"q{100 * share:02.0f}": value for share, value in zip(_QUANTILES, at, strict=True)},
    }
