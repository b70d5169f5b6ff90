"""Inference for the largest gap of a curve: its interval, and a verdict (one of three) at a threshold δ.

The gap is the highest value of the curve minus the lowest. The verdict is *below* if, for every pair s, t of
points, the upper one-sided 95 % limit of E[y|s] − E[y|t] is below δ. The gap is the difference of one of the
pairs, so it is enough to test each pair at 5 % (intersection–union test; Berger 1982). The verdict is *above*
if the largest of the pairs' simultaneous lower limits exceeds δ. A first step, at a tenth of the significance
level, excludes pairs that differ by less than δ (the two-step method of Romano, Shaikh and Wolf 2014,
Econometrica 82).

The variance of a level's mean is estimated from the level's rows, so levels may differ in variance. With few
rows in a level, this variance is uncertain. The simulation therefore draws the variances at random, too. A
comparison of a single pair uses Welch's degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from scipy.special import stdtr, stdtrit

from fairdash.auditing.curve import Basis, Curve, Rows, predicted_out_of_fold
from fairdash.auditing.table import AuditTable
from fairdash.dependence.classical import Z, symmetric_root
from fairdash.evaluation.classes import holm as holm
from fairdash.utils.seeds import Stream, rng_of
from fairdash.utils.text import p_equals, percent

#: Maximum number of groups into which units are combined for the bootstrap test of a flat curve.
_MAX_GROUPS = 2_000
Array = NDArray[np.float64]
Index = NDArray[np.intp]

BELOW, ABOVE, UNDECIDED, NONE = "below", "above", "undecided", "none"
#: Maximum probability of a wrong verdict in one direction.
LEVEL = 0.05
#: Power of the test, by which the smallest detectable gap is defined.
POWER = 0.8
_DRAWS = 2000
#: Number of random sums simulated per batch.
_SUMS_PER_BATCH = 1000
#: Share of the significance level for the first step of the test, which excludes pairs with a difference
#: below δ.
_SCREENED = 0.1
#: Minimum number of draws beyond a quantile. With fewer draws, the quantile is unreliable.
_MIN_DRAWS_BEYOND = 10
#: `_MIN_LEVEL`: smallest p-value of the claim that a gap is above δ. `_PRECISION`: relative precision of the
#: search for this p-value.
_MIN_LEVEL, _PRECISION = 1e-12, 0.01


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Estimate with a 95 % interval, in units of the price unless stated otherwise."""

    value: float
    ci_low: float
    ci_high: float

    @classmethod
    def of(cls, value: float, error: float) -> Estimate:
        """Create an estimate from a value and a standard error."""
        return cls(value=value, ci_low=value - Z * error, ci_high=value + Z * error)

    def map(self, change: Callable[[float], float]) -> Estimate:
        """Transform the estimate and the limits of the interval."""
        return Estimate(**{name: change(getattr(self, name)) for name in ("value", "ci_low", "ci_high")})


def with_interval(each: Estimate, mean: float = 1.0) -> str:
    """Format a share, or an amount divided by the mean, with its interval."""
    return f"{percent(each.value / mean)} ({percent(each.ci_low / mean)} to {percent(each.ci_high / mean)})"


def percent_of_mean(each: Estimate, mean: float) -> str:
    """Format an amount as "x % of the mean price", with its interval."""
    value, _, interval = with_interval(each, mean).partition(" (")
    return f"{value} of the mean price ({interval}"


@dataclass(frozen=True, kw_only=True)
class Tested(Estimate):
    """Gap with its tests at a threshold δ; amounts are in units of y.

    Attributes
    ----------
    ci_low, ci_high
        Limits of the 95 % interval, with an error probability of 2.5 % on each side.
    lower, upper
        One-sided 95 % limits, which the verdict compares with δ.
    p_value
        p-value of the hypothesis of no gap, in (0, 1].
    p_below, p_above
        p-values of the claims that the gap is below and above δ. A small p-value supports the claim.
    smallest
        Smallest δ for which the verdict would be "below" with probability 0.8 if the true gap were 0.
    """

    lower: float
    upper: float
    p_value: float
    p_below: float
    p_above: float
    smallest: float

    def verdict(self) -> str:
        """Verdict ``"below"``, ``"above"`` or ``"undecided"``, at 5 % in each direction."""
        return verdict_at(self.p_below, self.p_above)


def verdict_at(p_below: float, p_above: float) -> str:
    """Return the verdict at 5 % in each direction from two p-values, which may be corrected."""
    return BELOW if p_below <= LEVEL else ABOVE if p_above <= LEVEL else UNDECIDED


@dataclass(frozen=True, kw_only=True)
class Gap(Tested):
    """Largest gap of a curve: its highest minus its lowest value. The p-value tests for a flat curve.

    Attributes
    ----------
    floor
        Noise floor: average estimated gap if the true curve is flat. A gap is never negative, so noise makes
        this average larger than 0.
    lowest, highest
        Positions of the curve's lowest and highest point.
    """

    floor: float
    lowest: int
    highest: int


def noise_in_words(gap: Gap, mean: float) -> str:
    """Describe in a sentence whether a gap could be noise."""
    floor = percent(gap.floor / mean)
    if gap.p_value <= LEVEL:
        return f"The gap exceeds noise, which alone gives about {floor} ({p_equals(gap.p_value)})."
    return f"Noise alone gives a gap of about {floor}, so this gap may be noise ({p_equals(gap.p_value)})."


def largest_gap(curve: Curve, delta: float, *, random_state: int | None = 0) -> tuple[Gap, pd.DataFrame]:
    """Test a curve's largest gap against a threshold δ, in units of y; return the gap, and the curve's band.

    The band has one row per point and the columns at, share, kind, and value, low, high in units of y. The
    band contains the whole curve in 95 % of samples if the true curve is smooth. The fit smooths a jump
    inside the range, so the band misses the jump (docs/audit.md has the measurements).
    """
    values, covariance = curve.values, curve.covariance
    draws = _draw_errors(covariance, random_state)
    first, second = np.triu_indices(len(values), 1)
    min_error = _min_standard_error(curve)
    variance = np.diag(covariance)
    spread = variance[first] + variance[second] - 2 * covariance[first, second]
    error = np.sqrt(np.maximum(spread, min_error**2))
    difference = values[first] - values[second]
    drawn_errors = draws[:, first] - draws[:, second]
    scale, freedom = _draw_scales(curve.freedom, random_state), _freedom_of_pairs(curve, first, second)
    errors = error
    if scale.shape[0] > 1:
        spread = variance * scale**2
        shared = covariance[first, second] * scale[:, first] * scale[:, second]
        errors = np.sqrt(np.maximum(spread[:, first] + spread[:, second] - 2 * shared, min_error**2))
    pairs = _Pairs(difference=difference, error=error, drawn=drawn_errors / errors, freedom=freedom)
    size = np.abs(difference)
    one_sided, two_sided = (stdtrit(freedom, 1 - level) * error for level in (LEVEL, LEVEL / 2))
    limits_without_gap = (np.abs(drawn_errors) + one_sided).max(axis=1)
    points = np.maximum(curve.standard_errors * scale, min_error)
    band_factor = float(np.quantile(np.abs(draws / points).max(axis=1), 0.95))
    gap = Gap(
        value=float(np.ptp(values)),
        ci_low=pairs.lower(LEVEL / 2),
        ci_high=float((size + two_sided).max()),
        lower=pairs.lower(LEVEL),
        upper=float((size + one_sided).max()),
        floor=float(np.ptp(draws, axis=1).mean()),
        p_value=p_value_of_flat_curve(curve, random_state=random_state),
        p_below=float(stdtr(freedom, (size - delta) / error).max()),
        p_above=pairs.p_above(delta),
        smallest=float(np.quantile(limits_without_gap, POWER)),
        lowest=int(np.argmin(values)),
        highest=int(np.argmax(values)),
    )
    basis = curve.basis
    half_width = band_factor * curve.standard_errors
    band = {"at": basis.at, "share": basis.share, "kind": basis.kind, "value": values}
    band |= {"low": values - half_width, "high": values + half_width}
    return gap, pd.DataFrame(band).sort_values("at", ignore_index=True)


def p_value_of_flat_curve(curve: Curve, *, random_state: int | None = 0) -> float:
    """Return the p-value, in (0, 1], of a flat curve, from the largest |t| of the curve's contrasts.

    The studentized bootstrap (Hall 1992, The Bootstrap and Edgeworth Expansion, chapter 3) takes the skewness
    of claims into account. The bootstrap draws units together with their errors from a flat curve, so the
    spread of y may depend on s.
    """
    contrasts, discount = curve.basis.contrasts
    scores = _in_groups(curve.products) @ contrasts
    groups, total = len(scores), scores.sum(axis=0)
    centred = scores - total / groups
    t = np.abs(total) / np.maximum(np.sqrt((centred**2).sum(axis=0)), _min_standard_error(curve))
    # Without a seed, new draws are needed for each curve, so the cache is not used.
    draw = _bootstrap_counts if random_state is not None else _bootstrap_counts.__wrapped__
    counts = draw(groups, random_state)
    draws = counts @ centred
    error = np.sqrt(np.maximum(counts @ centred**2 - draws**2 / groups, 1e-300))
    return _p_from_draws((np.abs(draws) / error / discount).max(axis=1), float((t / discount).max()))


# The draws are cached, because an audit tests several curves of the same units.
@lru_cache(maxsize=1)
def _bootstrap_counts(groups: int, random_state: int | None) -> Array:
    """Return the number of times that each bootstrap sample contains each group, (draws, G)."""
    sampled = rng_of(Stream.AUDIT_DRAWS, random_state).integers(groups, size=(_DRAWS, groups))
    sampled += groups * np.arange(_DRAWS)[:, None]
    counts = np.bincount(sampled.ravel(), minlength=_DRAWS * groups).reshape(_DRAWS, groups).astype(float)
    counts.setflags(write=False)
    return counts


def _min_standard_error(curve: Curve) -> float:
    """Return a lower limit for standard errors, which would otherwise be 0 for a price without noise."""
    return 1e-12 * max(float(np.abs(curve.values).max()), 1e-300)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Pairs:
    """Differences between pairs of points, (M,), with standard errors, degrees of freedom, and simulated
    errors of the differences, (draws, M), divided by the standard errors."""

    difference: Array
    error: Array
    drawn: Array
    freedom: Array
    max_errors: dict[bytes, Array] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def max_error(self) -> Array:
        """Largest absolute error of any pair in each draw, (draws,)."""
        return np.abs(self.drawn).max(axis=1)

    def _limits_of_errors(self, level: float) -> Array:
        """Return limits for all pairs' errors, (M,), that any error exceeds with probability at most `level`.

        If there are too few draws for the level, the limits come from Bonferroni's inequality.
        """
        if level * len(self.max_error) >= _MIN_DRAWS_BEYOND:
            return np.full(len(self.error), np.quantile(self.max_error, 1 - level))
        return np.asarray(-stdtrit(self.freedom, level / (2 * len(self.error))))

    def _relevant_errors(self, delta: float, level: float) -> tuple[Array, Array]:
        """Return the largest error in each draw, (draws,), among the ordered pairs of points that may differ
        by more than δ, and a mask of these pairs, (2M,). The mask's second half refers to the pairs in
        opposite order."""
        limit = self._limits_of_errors(level * _SCREENED) * self.error
        forward, backward = (distance + limit > delta for distance in (self.difference, -self.difference))
        relevant = np.concatenate([forward, backward])
        # Maxima over sets of pairs are cached, because the search over levels needs the same few sets
        # repeatedly.
        if (key := relevant.tobytes()) not in self.max_errors:
            largest = self.drawn[:, forward].max(axis=1, initial=-np.inf)
            self.max_errors[key] = np.maximum(largest, -self.drawn[:, backward].min(axis=1, initial=np.inf))
        return self.max_errors[key], relevant

    def lower(self, level: float) -> float:
        """Return the lower limit of the gap; the test rejects every δ below this limit."""
        difference, error = np.concatenate([self.difference, -self.difference]), np.tile(self.error, 2)
        limit = 0.0
        while True:
            max_error, errors_used = self._relevant_errors(limit, level)
            if not errors_used.any():
                return limit
            quantile = np.quantile(max_error, 1 - level * (1 - _SCREENED))
            new_limit = float((difference - quantile * error)[errors_used].max())
            if new_limit <= limit * (1 + 1e-9) + 1e-300:
                return limit
            limit = new_limit

    def p_above(self, delta: float) -> float:
        """Return the p-value of the claim "above δ": the lowest level at which the test supports it.

        Holm's method tests at a fraction of 5 %, so both steps of the test depend on the level.
        """
        excess = np.concatenate([self.difference, -self.difference]) - delta
        excess = excess / np.tile(self.error, 2)

        def is_above(level: float) -> bool:
            max_error, errors_used = self._relevant_errors(delta, level)
            if not errors_used.any():
                return False
            peak = float(excess[errors_used].max())
            # The sum over pairs bounds the probability of an error in any pair, by Bonferroni's inequality.
            p_value = min(
                _p_from_draws(max_error, peak),
                float(stdtr(np.tile(self.freedom, 2)[errors_used], -peak).sum()),
            )
            return p_value <= level * (1 - _SCREENED)

        low, high = np.log(_MIN_LEVEL), 0.0
        if not is_above(1.0):
            return 1.0
        if is_above(_MIN_LEVEL):
            return _MIN_LEVEL
        while high - low > _PRECISION:
            midpoint = (low + high) / 2
            low, high = (low, midpoint) if is_above(float(np.exp(midpoint))) else (midpoint, high)
        return float(np.exp(high))


def typical_gap(table: AuditTable, basis: Basis, curve: Curve) -> tuple[Estimate, Estimate]:
    """Return √Var(E[π|S]) in units of the price, and UF = Var(E[π|S]) / Var(π) in [0, 1], cross-fitted.

    Var(E[π|S]) = Var(π) − E[(π − m(s))²], where m is fitted to the other folds, so that noise does not count
    as a link (Williamson et al. 2021). A negative estimate is reported as 0.
    """
    predicted = predicted_out_of_fold(table.price, table, basis, lam=curve.lam)
    share = table.share
    squared_deviation = (table.price - table.mean_price) ** 2
    total = float(share @ squared_deviation)
    if total <= 0:
        return Estimate.of(0.0, 0.0), Estimate.of(0.0, 0.0)
    reduction = squared_deviation - (table.price - predicted) ** 2
    explained = float(share @ reduction)
    # If π does not depend on s, the first-order term is 0. Only the noise of the fitted curve remains.
    second_order = 2 * curve.edf * (total * table.error(share) ** 2) ** 2
    spread = Z * float(np.hypot(table.error(share * (reduction - explained)), np.sqrt(second_order)))
    variance = Estimate(value=explained, ci_low=explained - spread, ci_high=explained + spread)
    clipped = variance.map(lambda value: max(value, 0.0))
    return clipped.map(lambda x: float(np.sqrt(x))), clipped.map(lambda x: min(x / total, 1.0))


def root_of(covariance: Array) -> tuple[Array, Array]:
    """Return standard deviations (J,), 1 for variance 0, and the correlations' symmetric root (J, J)."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 0))
    scale[scale == 0] = 1.0
    return scale, symmetric_root(covariance / np.outer(scale, scale))


def joint_limit_factor(covariance: Array, random_state: int | None) -> float:
    """Return the factor of standard errors that gives joint 95 % limits; NaN without numbers."""
    _, root = root_of(covariance)
    draws = rng_of(Stream.AUDIT_SEGMENTS, random_state).normal(size=(_DRAWS, len(root))) @ root
    return float(np.quantile(np.abs(draws).max(axis=1), 1 - LEVEL)) if len(root) else np.nan


def joint_limit_factor_of_sums(parts: csr_matrix, random_state: int | None) -> float:
    """Return :func:`joint_limit_factor` for sums (J,) of contributions `parts` (U, J) of independent units.

    If the covariance matrix (J, J) would be larger than `parts`, the sums are simulated without it.
    """
    if parts.shape[1] <= parts.shape[0]:
        return joint_limit_factor(np.asarray((parts.T @ parts).todense()), random_state)
    draws = rng_of(Stream.AUDIT_SEGMENTS, random_state).normal(size=(parts.shape[0], _DRAWS))
    scale = np.sqrt(np.asarray(parts.multiply(parts).sum(axis=0)).ravel())
    scale[scale == 0] = 1.0
    of_sums, largest = (parts.multiply(1 / scale)).T.tocsr(), np.zeros(_DRAWS)
    for start in range(0, parts.shape[1], _SUMS_PER_BATCH):
        np.maximum(largest, np.abs(of_sums[start : start + _SUMS_PER_BATCH] @ draws).max(axis=0), out=largest)
    return float(np.quantile(largest, 1 - LEVEL))


def _draw_errors(covariance: Array, random_state: int | None) -> Array:
    """Draw random errors of a curve, (draws, J), in pairs of opposite sign."""
    scale, root = root_of(covariance)
    half_draws = rng_of(Stream.AUDIT_DRAWS, random_state).normal(size=(_DRAWS // 2, len(scale)))
    return (np.vstack([half_draws, -half_draws]) @ root) * scale


def _draw_scales(freedom: Array, random_state: int | None) -> Array:
    """Draw the relative errors of standard errors, (draws, J); (1, J) if no standard error is uncertain."""
    if np.isinf(freedom).all():
        return np.ones((1, len(freedom)))
    dof = np.where(np.isinf(freedom), 1.0, freedom)
    draws = np.sqrt(rng_of(Stream.AUDIT_DRAWS, random_state, 2).chisquare(dof, (_DRAWS, len(dof))) / dof)
    return np.where(np.isinf(freedom), 1.0, draws)


def _freedom_of_pairs(curve: Curve, first: Index, second: Index) -> Array:
    """Return Welch's (1947) degrees of freedom for the differences between pairs of points, (M,)."""
    variance = np.maximum(np.diag(curve.covariance), 1e-300)
    parts = variance / np.sqrt(curve.freedom)
    squares = parts[first] ** 2 + parts[second] ** 2
    squared_sum = (variance[first] + variance[second]) ** 2
    return np.divide(squared_sum, squares, out=np.full(len(first), np.inf), where=squares > 0)


def _p_from_draws(draws: Array, observed: float) -> float:
    return float((1 + (draws >= observed).sum()) / (1 + len(draws)))


def _in_groups(scores: Rows) -> Array:
    """Sum the scores of units (U, p) within at most 2,000 random groups of about equal size, (G, p).

    The sums have the same total and, on average, the same variance and skewness of it.
    """
    n = scores.shape[0]
    group = rng_of(Stream.AUDIT_DRAWS, 0, 3).permutation(n) % _MAX_GROUPS
    group_sums = csr_matrix((np.ones(n), (group, np.arange(n)))) @ scores
    return np.asarray(group_sums.todense() if issparse(group_sums) else group_sums)
