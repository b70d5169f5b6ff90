"""Inference for the largest gap of a curve: its interval, and one of three verdicts at a threshold δ.

The gap is the highest minus the lowest of all points. It is *below* δ if, for every pair s, t of points, the
upper one-sided 95 % limit of E[y|s] − E[y|t] is below δ. The gap is the difference of some pair, so testing
each pair at 5 % is enough (intersection–union test; Berger 1982). The gap is *above* δ if the largest of the
pairs' simultaneous lower limits exceeds δ. A first step, at a tenth of the level, excludes pairs that differ
by less than δ (the two-step method of Romano, Shaikh and Wolf 2014, Econometrica 82).

The variance of a level's mean comes from the level's own rows, so levels may differ in variance. With few
rows this variance is uncertain. The simulated draws therefore vary the variance too, and a comparison of a
single pair uses Welch's degrees of freedom.
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
from fairdash.dependence.classical import Z
from fairdash.evaluation.classes import holm as holm
from fairdash.utils.seeds import Stream, rng_of
from fairdash.utils.text import p_equals, percent

#: Maximum number of groups of units in the bootstrap test of a flat curve.
_MAX_GROUPS = 2_000
Array = NDArray[np.float64]
Index = NDArray[np.intp]

BELOW, ABOVE, UNDECIDED, NONE = "below", "above", "undecided", "none"
#: Error probability of a claim in one direction.
LEVEL = 0.05
#: Power at the smallest detectable gap.
POWER = 0.8
_DRAWS = 2000
#: Number of sums simulated in one batch.
_AT_ONCE = 1000
#: Share of a test's level used to exclude pairs that differ by less than δ.
_SCREENED = 0.1
#: Minimum number of draws beyond a quantile to estimate it.
_ENOUGH = 10
#: Smallest level in the search for a claim's p-value, and the relative precision of the p-value.
_MIN_LEVEL, _PRECISION = 1e-12, 0.01


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Estimate with its 95 % interval, in units of the price unless stated otherwise."""

    value: float
    ci_low: float
    ci_high: float

    @classmethod
    def of(cls, value: float, error: float) -> Estimate:
        """Create an estimate from a value and its standard error."""
        return cls(value=value, ci_low=value - Z * error, ci_high=value + Z * error)

    def map(self, change: Callable[[float], float]) -> Estimate:
        """Transform the estimate and its limits."""
        return Estimate(**{name: change(getattr(self, name)) for name in ("value", "ci_low", "ci_high")})


def within(each: Estimate, mean: float = 1.0) -> str:
    """Format a share, or an amount as a share of the mean, with its interval."""
    return f"{percent(each.value / mean)} ({percent(each.ci_low / mean)} to {percent(each.ci_high / mean)})"


def of_mean(each: Estimate, mean: float) -> str:
    """Format an amount as "x % of the mean price", with its interval."""
    value, _, interval = within(each, mean).partition(" (")
    return f"{value} of the mean price ({interval}"


@dataclass(frozen=True, kw_only=True)
class Tested(Estimate):
    """Gap with its inference at a threshold δ; amounts are in units of y.

    Attributes
    ----------
    ci_low, ci_high
        Limits of the 95 % interval, with 2.5 % on each side.
    lower, upper
        One-sided 95 % limits. The verdict compares these with δ.
    p_value
        p-value of the hypothesis of no gap, in (0, 1].
    p_below, p_above
        p-values of the claims that the gap is below and above δ. A small value supports the claim.
    smallest
        The smallest δ for which the verdict would be "below" with probability 0.8 if the true gap were 0.
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
    """Return the verdict from two p-values, corrected or not, at 5 % in each direction."""
    return BELOW if p_below <= LEVEL else ABOVE if p_above <= LEVEL else UNDECIDED


@dataclass(frozen=True, kw_only=True)
class Gap(Tested):
    """Largest gap of a curve, the highest minus the lowest point; the p-value tests for a flat curve.

    Attributes
    ----------
    floor
        Average value for a flat true curve. A gap is never negative, so noise alone makes it larger than 0.
    lowest, highest
        Lowest and highest point.
    """

    floor: float
    lowest: int
    highest: int


def noise_in_words(gap: Gap, mean: float) -> str:
    """Describe the test of a gap against noise."""
    floor = percent(gap.floor / mean)
    if gap.p_value <= LEVEL:
        return f"The gap exceeds noise, which alone gives about {floor} ({p_equals(gap.p_value)})."
    return f"Noise alone gives a gap of about {floor}, so this gap may be noise ({p_equals(gap.p_value)})."


def largest_gap(curve: Curve, delta: float, *, random_state: int | None = 0) -> tuple[Gap, pd.DataFrame]:
    """Test the largest gap of a curve against a threshold δ, in units of y; return the curve with a band.

    The band has one row per point and the columns at, share, kind, and value, low, high in units of y. It
    contains the whole curve in 95 % of samples if the curve is smooth. A jump inside the range is smoothed,
    and the band does not contain it (docs/audit.md has the measurements).
    """
    values, covariance = curve.values, curve.covariance
    drawn = _draw(covariance, random_state)
    first, second = np.triu_indices(len(values), 1)
    least = _least(curve)
    variance = np.diag(covariance)
    spread = variance[first] + variance[second] - 2 * covariance[first, second]
    error = np.sqrt(np.maximum(spread, least**2))
    apart = values[first] - values[second]
    off = drawn[:, first] - drawn[:, second]
    scale, freedom = _scales(curve.freedom, random_state), _freedom_of_pairs(curve, first, second)
    errors = error
    if scale.shape[0] > 1:
        spread = variance * scale**2
        shared = covariance[first, second] * scale[:, first] * scale[:, second]
        errors = np.sqrt(np.maximum(spread[:, first] + spread[:, second] - 2 * shared, least**2))
    pairs = _Pairs(apart=apart, error=error, off=off / errors, freedom=freedom)
    size = np.abs(apart)
    usual, far = (stdtrit(freedom, 1 - level) * error for level in (LEVEL, LEVEL / 2))
    none = (np.abs(off) + usual).max(axis=1)
    points = np.maximum(curve.standard_errors * scale, least)
    single = float(np.quantile(np.abs(drawn / points).max(axis=1), 0.95))
    gap = Gap(
        value=float(np.ptp(values)),
        ci_low=pairs.lower(LEVEL / 2),
        ci_high=float((size + far).max()),
        lower=pairs.lower(LEVEL),
        upper=float((size + usual).max()),
        floor=float(np.ptp(drawn, axis=1).mean()),
        p_value=p_of_flat(curve, random_state=random_state),
        p_below=float(stdtr(freedom, (size - delta) / error).max()),
        p_above=pairs.p_above(delta),
        smallest=float(np.quantile(none, POWER)),
        lowest=int(np.argmin(values)),
        highest=int(np.argmax(values)),
    )
    basis = curve.basis
    off_by = single * curve.standard_errors
    band = {"at": basis.at, "share": basis.share, "kind": basis.kind, "value": values}
    band |= {"low": values - off_by, "high": values + off_by}
    return gap, pd.DataFrame(band).sort_values("at", ignore_index=True)


def p_of_flat(curve: Curve, *, random_state: int | None = 0) -> float:
    """Return the p-value of a flat curve, in (0, 1], from the largest |t| of the curve's contrasts.

    The studentized bootstrap (Hall 1992, The Bootstrap and Edgeworth Expansion, chapter 3) takes the skewness
    of claims into account. It draws each unit's errors under a flat curve, so the spread of y may depend on
    s.
    """
    contrasts, discount = curve.basis.contrasts
    scores = _in_groups(curve.products) @ contrasts
    groups, total = len(scores), scores.sum(axis=0)
    off = scores - total / groups
    t = np.abs(total) / np.maximum(np.sqrt((off**2).sum(axis=0)), _least(curve))
    # Without a seed, each curve needs new draws, so the cache is bypassed.
    draw = _bootstrap_counts if random_state is not None else _bootstrap_counts.__wrapped__
    counts = draw(groups, random_state)
    drawn = counts @ off
    error = np.sqrt(np.maximum(counts @ off**2 - drawn**2 / groups, 1e-300))
    return _share((np.abs(drawn) / error / discount).max(axis=1), float((t / discount).max()))


# An audit tests several curves of the same units, so the draws are cached.
@lru_cache(maxsize=1)
def _bootstrap_counts(groups: int, random_state: int | None) -> Array:
    """Return the count of each group in each bootstrap sample, (draws, G)."""
    picked = rng_of(Stream.AUDIT_DRAWS, random_state).integers(groups, size=(_DRAWS, groups))
    picked += groups * np.arange(_DRAWS)[:, None]
    counts = np.bincount(picked.ravel(), minlength=_DRAWS * groups).reshape(_DRAWS, groups).astype(float)
    counts.setflags(write=False)
    return counts


def _least(curve: Curve) -> float:
    """Return a lower limit for standard errors, so a price without noise does not give 0."""
    return 1e-12 * max(float(np.abs(curve.values).max()), 1e-300)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Pairs:
    """Differences of pairs of points, (M,), with standard errors and degrees of freedom, and draws of each
    difference's error in standard errors, (draws, M)."""

    apart: Array
    error: Array
    off: Array
    freedom: Array
    most_of: dict[bytes, Array] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def most(self) -> Array:
        """Largest absolute error of any pair in each draw, (draws,)."""
        return np.abs(self.off).max(axis=1)

    def _reach(self, level: float) -> Array:
        """Return simultaneous limits for all pairs' errors, (M,), exceeded with probability at most `level`.

        If there are too few draws for the level, the limits come from Bonferroni's inequality.
        """
        if level * len(self.most) >= _ENOUGH:
            return np.full(len(self.error), np.quantile(self.most, 1 - level))
        return np.asarray(-stdtrit(self.freedom, level / (2 * len(self.error))))

    def _relevant(self, delta: float, level: float) -> tuple[Array, Array]:
        """Return the largest error in each draw among ordered pairs that may differ by more than δ, (draws,),
        and a mask of these pairs, (2M,): first in the given order, then in the opposite order."""
        reach = self._reach(level * _SCREENED) * self.error
        there, back = (each + reach > delta for each in (self.apart, -self.apart))
        relevant = np.concatenate([there, back])
        # A search over levels repeats a few sets of pairs, so their maxima are cached.
        if (key := relevant.tobytes()) not in self.most_of:
            of_there = self.off[:, there].max(axis=1, initial=-np.inf)
            self.most_of[key] = np.maximum(of_there, -self.off[:, back].min(axis=1, initial=np.inf))
        return self.most_of[key], relevant

    def lower(self, level: float) -> float:
        """Return the lower limit of the gap; the test rejects every smaller δ."""
        apart, error = np.concatenate([self.apart, -self.apart]), np.tile(self.error, 2)
        limit = 0.0
        while True:
            most, relevant = self._relevant(limit, level)
            if not relevant.any():
                return limit
            sure = np.quantile(most, 1 - level * (1 - _SCREENED))
            higher = float((apart - sure * error)[relevant].max())
            if higher <= limit * (1 + 1e-9) + 1e-300:
                return limit
            limit = higher

    def p_above(self, delta: float) -> float:
        """Return the p-value of the claim that the gap is above δ: the smallest level that supports it.

        Holm's method tests at a fraction of 5 %, so both steps use the same level.
        """
        beyond = np.concatenate([self.apart, -self.apart]) - delta
        beyond = beyond / np.tile(self.error, 2)

        def is_above(level: float) -> bool:
            most, relevant = self._relevant(delta, level)
            if not relevant.any():
                return False
            seen = float(beyond[relevant].max())
            # The sum of the pairs' probabilities bounds the probability of any error (Bonferroni).
            chance = min(_share(most, seen), float(stdtr(np.tile(self.freedom, 2)[relevant], -seen).sum()))
            return chance <= level * (1 - _SCREENED)

        low, high = np.log(_MIN_LEVEL), 0.0
        if not is_above(1.0):
            return 1.0
        if is_above(_MIN_LEVEL):
            return _MIN_LEVEL
        while high - low > _PRECISION:
            middle = (low + high) / 2
            low, high = (low, middle) if is_above(float(np.exp(middle))) else (middle, high)
        return float(np.exp(high))


def typical_gap(table: AuditTable, basis: Basis, curve: Curve) -> tuple[Estimate, Estimate]:
    """Return √Var(E[π|S]) in units of the price, and UF = Var(E[π|S]) / Var(π) in [0, 1], cross-fitted.

    Var(E[π|S]) = Var(π) − E[(π − m(s))²], with m fitted on the other folds so that noise does not count
    (Williamson et al. 2021). A negative estimate is reported as 0.
    """
    told = predicted_out_of_fold(table.price, table, basis, lam=curve.lam)
    share = table.share
    around = (table.price - table.mean_price) ** 2
    total = float(share @ around)
    if total <= 0:
        return Estimate.of(0.0, 0.0), Estimate.of(0.0, 0.0)
    gained = around - (table.price - told) ** 2
    explained = float(share @ gained)
    # If π does not depend on s, the first-order term vanishes and the noise of the curve itself remains.
    second = 2 * curve.edf * (total * table.error(share) ** 2) ** 2
    spread = Z * float(np.hypot(table.error(share * (gained - explained)), np.sqrt(second)))
    variance = Estimate(value=explained, ci_low=explained - spread, ci_high=explained + spread)
    clipped = variance.map(lambda each: max(each, 0.0))
    return clipped.map(lambda each: float(np.sqrt(each))), clipped.map(lambda each: min(each / total, 1.0))


def root_of(covariance: Array) -> tuple[Array, Array]:
    """Return standard deviations (J,) and a root (J, J) of the correlations; 1 and 0 for variance 0."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 0))
    scale[scale == 0] = 1.0
    size, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return scale, vectors * np.sqrt(np.maximum(size, 0))


def reach_of_all(covariance: Array, random_state: int | None) -> float:
    """Return the multiple of standard errors for joint 95 % limits of several numbers; NaN for none."""
    _, root = root_of(covariance)
    drawn = rng_of(Stream.AUDIT_SEGMENTS, random_state).normal(size=(_DRAWS, len(root))) @ root.T
    return float(np.quantile(np.abs(drawn).max(axis=1), 1 - LEVEL)) if len(root) else np.nan


def reach_of_sums(parts: csr_matrix, random_state: int | None) -> float:
    """Return the result of :func:`reach_of_all` for sums (J,) of parts (U, J) of independent units.

    If the covariance matrix (J, J) would be larger than `parts`, the sums are simulated without it.
    """
    if parts.shape[1] <= parts.shape[0]:
        return reach_of_all(np.asarray((parts.T @ parts).todense()), random_state)
    drawn = rng_of(Stream.AUDIT_SEGMENTS, random_state).normal(size=(parts.shape[0], _DRAWS))
    scale = np.sqrt(np.asarray(parts.multiply(parts).sum(axis=0)).ravel())
    scale[scale == 0] = 1.0
    of_sums, most = (parts.multiply(1 / scale)).T.tocsr(), np.zeros(_DRAWS)
    for start in range(0, parts.shape[1], _AT_ONCE):
        np.maximum(most, np.abs(of_sums[start : start + _AT_ONCE] @ drawn).max(axis=0), out=most)
    return float(np.quantile(most, 1 - LEVEL))


def _draw(covariance: Array, random_state: int | None) -> Array:
    """Draw random errors of a curve, (draws, J), in antithetic pairs."""
    scale, root = root_of(covariance)
    half = rng_of(Stream.AUDIT_DRAWS, random_state).normal(size=(_DRAWS // 2, len(scale)))
    return (np.vstack([half, -half]) @ root.T) * scale


def _scales(freedom: Array, random_state: int | None) -> Array:
    """Draw the relative errors of the points' standard errors, (draws, J); (1, J) if all are certain."""
    if np.isinf(freedom).all():
        return np.ones((1, len(freedom)))
    own = np.where(np.isinf(freedom), 1.0, freedom)
    drawn = np.sqrt(rng_of(Stream.AUDIT_DRAWS, random_state, 2).chisquare(own, (_DRAWS, len(own))) / own)
    return np.where(np.isinf(freedom), 1.0, drawn)


def _freedom_of_pairs(curve: Curve, first: Index, second: Index) -> Array:
    """Return the degrees of freedom for differences of pairs of points, (M,), by Welch (1947)."""
    own = np.maximum(np.diag(curve.covariance), 1e-300)
    parts = own / np.sqrt(curve.freedom)
    squares = parts[first] ** 2 + parts[second] ** 2
    whole = (own[first] + own[second]) ** 2
    return np.divide(whole, squares, out=np.full(len(first), np.inf), where=squares > 0)


def _share(drawn: Array, seen: float) -> float:
    return float((1 + (drawn >= seen).sum()) / (1 + len(drawn)))


def _in_groups(scores: Rows) -> Array:
    """Sum scores of units (U, p) in at most 2,000 random groups of about equal size, (G, p).

    The group sums preserve the total and, on average, its variance and skewness, which the bootstrap needs.
    """
    n = scores.shape[0]
    group = rng_of(Stream.AUDIT_DRAWS, 0, 3).permutation(n) % _MAX_GROUPS
    summed = csr_matrix((np.ones(n), (group, np.arange(n)))) @ scores
    return np.asarray(summed.todense() if issparse(summed) else summed)
