"""What could be charged instead: five premiums made of what a policy costs on average, μ(x, s) = E[Y|x, s].

Best estimate μ(x, s); unaware E[μ(x, S)|x], which leaves s out and lets the features stand in for it; aware
E_S[μ(x, S)], the same features with everybody's s (Lindholm, Richman, Tsanakas and Wüthrich 2022);
corrective, the barycentre over s: each policy keeps its rank among those of its s, and the laws of all s
become one; hyperaware E[corrective|x] (Côté, Côté and Charpentier 2025).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from fairdash.auditing.basis import MOST_LEVELS, basis_of, quantiles
from fairdash.auditing.bridge import Estimate, typical_gap
from fairdash.auditing.curve import fit_curve
from fairdash.auditing.gaps import Gap, largest_gap
from fairdash.auditing.models import (
    OF_A_COST,
    OF_A_MEAN,
    Fitted,
    Loss,
    Trees,
    explained,
    folds_of,
    gained,
    poisson_deviance,
    ratio_of_means,
    sampled,
    squared_error,
    weighted_mean,
)
from fairdash.auditing.table import AuditTable

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
#: Values of s that stand for all of them, each for as much exposure, where there are more than `MOST_LEVELS`.
N_NODES = 30
#: The law of a premium at a value of s is that of this share of the exposure around it.
_AROUND = 0.1
_KNOTS = 12
#: The mean along s follows steps, such as those of trees, in as many parts, each of so many different rows.
_MOST_STEPS, _ROWS_A_STEP = 100, 100
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
    """

    table: AuditTable
    cost: Array
    nodes: Array
    shares: Array
    at_nodes: Array
    premiums: Mapping[str, Array]

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
    nodes, shares = nodes_of(part.sensitive, part.weight)
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
        corrective = barycentre(best, part.sensitive, part.weight)
        made["best_estimate"][out] = best[out]
        made["unaware"][out] = given_features(best)
        made["aware"][out] = at_nodes[out] @ shares
        made["hyperaware"][out] = given_features(corrective)
        made["corrective"][out] = corrective[out]
    return Costs(
        table=part,
        cost=cost,
        nodes=nodes,
        shares=shares,
        at_nodes=at_nodes,
        premiums=MappingProxyType(made),
    )


def _trees_for(y: Array) -> Trees:
    return OF_A_COST if y.min() >= 0 else OF_A_MEAN


def nodes_of(s: Array, weight: Array) -> tuple[Array, Array]:
    """Values that stand for the law of s, and their shares of the exposure, (K,) each; s sorted."""
    code = _node_of(np.unique(s, return_inverse=True)[1], weight)
    held = np.bincount(code, weights=weight)
    return np.bincount(code, weights=weight * s) / held, held / held.sum()


def _node_of(code: NDArray[np.intp], weight: Array) -> NDArray[np.intp]:
    """Which node stands for a row, by which of the distinct values of s it has: ascending codes, (n,)."""
    if code.max() < MOST_LEVELS:
        return code
    return np.unique((_middles(code, weight) * N_NODES).astype(int), return_inverse=True)[1]


def _middles(code: NDArray[np.intp], weight: Array) -> Array:
    """The share of the exposure below a row's value and half of that at it, in (0, 1); codes ascending."""
    held = np.bincount(code, weights=weight)
    return ((np.cumsum(held) - held / 2) / held.sum())[code]


def barycentre(y: Array, s: Array, weight: Array) -> Array:
    """Values whose law is the same at every s: the mean over s of the quantiles at a row's rank for its s.

    The Wasserstein barycentre of the laws of y given s (Chzhen et al. 2020), which moves y the least. Where s
    has few levels, a law is that of a level. Otherwise y is first freed of its mean given s, by a spline and
    steps, and what is left has the law of a tenth of the exposure around; in logarithms where y is above 0.

    Parameters
    ----------
    y, s, weight : (n,) arrays
        Sorted by s.

    Returns
    -------
    (n,) array
        With the mean of y, as nearly as ranks tell.
    """
    values, code = np.unique(s, return_inverse=True)
    _, shares = nodes_of(s, weight)
    if len(values) <= MOST_LEVELS:
        laws = [_Law.of(y[code == k], weight[code == k]) for k in range(len(values))]
        rank = np.empty(len(y))
        for k, law in enumerate(laws):
            rank[code == k] = law.rank(y[code == k])
        return np.sum([share * law.quantile(rank) for share, law in zip(shares, laws, strict=True)], axis=0)
    into, back = (np.log, np.exp) if y.min() > 0 else (np.asarray, np.asarray)
    at = _middles(code, weight)
    mean = _mean_along(into(y), s, weight, at)
    left = into(y) - mean
    # A node's place is the middle of what it stands for.
    place = np.cumsum(shares) - shares / 2
    laws = []
    for p in place:
        low = np.clip(p - _AROUND / 2, 0, 1 - _AROUND)
        near = (at >= low) & (at <= low + _AROUND)
        near = near if near.any() else np.abs(at - p) == np.abs(at - p).min()
        laws.append(_Law.of(left[near], weight[near]))
    ranks = np.column_stack([law.rank(left) for law in laws])
    # Between two nodes a row's rank is between its ranks there.
    after = (
        np.clip(np.searchsorted(place, at), 1, len(place) - 1) if len(place) > 1 else np.zeros(len(at), int)
    )
    before = np.maximum(after - 1, 0)
    step = np.clip((at - place[before]) / np.maximum(place[after] - place[before], 1e-300), 0, 1)
    row = np.arange(len(y))
    rank = (1 - step) * ranks[row, before] + step * ranks[row, after]
    held = _node_of(code, weight)
    level = into(np.bincount(held, weights=weight * back(mean)) / np.bincount(held, weights=weight))
    return np.sum(
        [
            share * back(each + law.quantile(rank))
            for share, each, law in zip(shares, level, laws, strict=True)
        ],
        axis=0,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Law:
    """A law of numbers, by distinct values and the share at or below each."""

    values: Array
    below: Array

    @classmethod
    def of(cls, y: Array, weight: Array) -> _Law:
        values, code = np.unique(y, return_inverse=True)
        held = np.cumsum(np.bincount(code, weights=weight))
        return cls(values=values, below=held / held[-1])

    def rank(self, y: Array) -> Array:
        """The share below and half of the share at, in [0, 1]."""
        shares = np.append(0.0, self.below)
        low, high = (np.searchsorted(self.values, y, side=side) for side in ("left", "right"))
        return (shares[low] + shares[high]) / 2

    def quantile(self, rank: Array) -> Array:
        """The smallest value with at least this share at or below it."""
        return self.values[np.minimum(np.searchsorted(self.below, rank - 1e-12), len(self.values) - 1)]


def _mean_along(y: Array, s: Array, weight: Array, at: Array) -> Array:
    """E[y|s] at the rows, (n,): a cubic spline of s, and the means of what it leaves, which follow steps."""
    cuts = np.unique(quantiles(s, weight, np.linspace(0, 1, _KNOTS)))
    full = np.concatenate([[cuts[0]] * 3, cuts, [cuts[-1]] * 3])
    functions = BSpline.design_matrix(np.clip(s, cuts[0], cuts[-1]), full, 3).toarray()
    root = np.sqrt(weight)
    smooth = functions @ np.linalg.lstsq(functions * root[:, None], y * root, rcond=None)[0]
    part = (at * np.clip(len(np.unique(y)) // _ROWS_A_STEP, 1, _MOST_STEPS)).astype(int)
    held = np.bincount(part, weights=weight)
    return smooth + (np.bincount(part, weights=weight * (y - smooth)) / np.maximum(held, 1e-300))[part]


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
