"""Independence floors, p-values and intervals of a measure, from permutations and half-samples.

When v is permuted, a row's weight stays with u or moves with v
(:meth:`fairdash.dependence.api.Estimator.null`). The variable that keeps the weight has the same weighted
margin in every order. The weighted margin of the other variable changes. All models share one s, so the
permuted values of s are prepared only once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.api import Estimator, Pairs, measure_of
from fairdash.dependence.classical import Z_ONE_SIDED, Z
from fairdash.dependence.grouping import Index, draw_exchanges, group_rows, half_of_groups
from fairdash.dependence.measure import Measure
from fairdash.errors import OptionError, require_count
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]
Side = TypeVar("Side")


def weighted_orders(
    prepared: Callable[[Array, Array], Side],
    value: Callable[[Any, Side, Array], Array],
    u: Array,
    v: Array,
    weight: Array,
    orders: Index,
    *,
    permute_weight: bool,
    prepared_u: Callable[[Array, Array], Any] | None = None,
    piece: int = 200_000,
) -> Array:
    """Return the value of each pair for each order of v, (K, B), or (K, B, ...) if a pair has several values.

    Parameters
    ----------
    prepared
        Function that prepares one variable from the values and the weights (B, n).
    value
        Function of the prepared u (one member or B members), the prepared v and the weights, which returns
        (B, ...).
    u, v, weight : (K, n) arrays
    orders : (B, n) array
        Row numbers of v, in which a row may occur several times.
    prepared_u
        Function that prepares u; by default, `prepared` also prepares u.
    permute_weight
        True if the weights of permuted rows move with v, False if they stay with u.
    piece
        Number of permuted rows held in memory at a time.
    """
    by_pair: list[list[Array]] = [[] for _ in u]
    prepared_u = prepared_u or prepared
    # If the weights stay with u, the prepared u is the same for every order of v.
    fixed_u = [] if permute_weight else [prepared_u(u[k : k + 1], weight[k : k + 1]) for k in range(len(u))]
    step = max(1, piece // u.shape[1])
    for start in range(0, len(orders), step):
        rows = orders[start : start + step]
        of_v = None
        for k in range(len(u)):
            weights = weight[k][rows] if permute_weight else np.broadcast_to(weight[k], rows.shape)
            if of_v is None or not (_equals_previous_row(v, k) and _equals_previous_row(weight, k)):
                of_v = prepared(v[k][rows], weights)
            of_u = prepared_u(np.broadcast_to(u[k], rows.shape), weights) if permute_weight else fixed_u[k]
            by_pair[k].append(value(of_u, of_v, weights))
    return np.stack([np.concatenate(values) for values in by_pair])


def _equals_previous_row(x: Array, k: int) -> bool:
    return x.strides[0] == 0 or bool((x[k] == x[k - 1]).all())


#: Rounding tolerance within which a permuted value below the observed value counts as equal to it.
_EQUAL = 1e-9


@dataclass(frozen=True, kw_only=True)
class IndependenceFloor:
    """Mean and 95 % quantile of an estimator under independence, on the same rows with s permuted.

    Attributes
    ----------
    mean : (K,) array
        Independence floor: the average of the estimate over the permutations. With weights, it is the larger
        of two averages; see :meth:`fairdash.dependence.api.Estimator.null`.
    q95 : (K,) array
        The 95 % quantile of the estimate over the permutations, or of its absolute value for signed measures.
        With weights, q95 is the larger of two quantiles.
    n_permutations
        Number of permutations.
    """

    mean: Array
    q95: Array
    n_permutations: int


def independence_floor(
    id: str,
    u: ArrayLike,
    v: ArrayLike,
    *,
    n_permutations: int = 200,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int | None = None,
    **options: Any,
) -> IndependenceFloor:
    """Return the mean and the 95 % quantile of a measure under independence, for each of K pairs.

    Parameters
    ----------
    id
        A key of :data:`~fairdash.dependence.REGISTRY`.
    u : (K, n) array
    v : (K, n) array, (n,) when all pairs share it, or (K, n, d) where the measure is multivariate
    n_permutations
        Number of permutations of v, which all pairs share.
    sample_weight : (n,) or (K, n) array, optional
        Row weights. With weights, the measure is computed twice: the weights first stay with u and then move
        with v, as in :meth:`fairdash.dependence.api.Estimator.null`.
    groups : (n,) array, optional
        Groups of rows, such as policies. Values of v are permuted among whole groups, as in
        :class:`fairdash.dependence.grouping.Blocks`. If related rows are passed without `groups`, the
        independence floor is too low.
    random_state
        Seed of the permutations and of the measure.
    **options
        Options of the measure.

    Returns
    -------
    IndependenceFloor
        Independence floors of shape (K,), which are 0 for pairs with a constant input.

    Raises
    ------
    OptionError
        Raised for the same reasons as in :func:`~fairdash.dependence.measure`, or if ``n_permutations`` is
        below 1 or too few groups can be permuted.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> u, s = rng.normal(size=(2, 300))
    >>> floor = fd.independence_floor("pearson", [u], [s], random_state=0)
    >>> bool(fd.measure("pearson", u, s) < floor.q95[0])
    True
    """
    entry = measure_of(id)
    pairs = Pairs.of(u, v, sample_weight, groups, measure=entry)
    orders = draw_orders(pairs.v, n_permutations, random_state, pairs.groups)
    values = Estimator(entry, options, random_state).null(pairs, orders)
    sizes = np.abs(values) if entry.signed else values
    return IndependenceFloor(
        mean=sizes.mean(axis=-1).max(axis=0),
        q95=np.quantile(sizes, 0.95, axis=-1).max(axis=0),
        n_permutations=n_permutations,
    )


def draw_orders(v: Array, count: int, random_state: int | None, groups: Index | None) -> Index:
    """Draw ``count`` orders (count, n) of the rows of v, (K, n) or (K, n, d), which permute whole groups."""
    require_count(count, column="n_permutations", called="number of permutations")
    n = v.shape[1]
    if groups is None:
        rng = rng_of(Stream.PAIR_PERMUTATIONS, random_state)
        return rng.permuted(np.broadcast_to(np.arange(n), (count, n)), axis=1)
    return draw_exchanges(groups, v.swapaxes(0, 1).reshape(n, -1), count, random_state)


@dataclass(frozen=True, kw_only=True)
class DependenceEstimate:
    """Estimate of dependence, with its independence floor, p-value and interval.

    Attributes
    ----------
    id
        Id of the measure.
    value
        Estimate of the dependence. Measures that learn functions are cross-fitted by default.
    in_sample
        Estimate of the same measure on the rows to which its functions were fitted. For measures that do not
        learn functions, ``in_sample`` equals ``value``.
    floor, floor_q95
        Mean and 95 % quantile of the measure under independence, computed from permutations of v. For signed
        measures, the mean and the quantile are computed from absolute values.
    p_value
        P-value (1 + b) / (1 + B), where b of the B permuted values are at least the observed value. Under
        independence, the p-value is at most α with a probability of at most α. With weights, the p-value is
        the larger of two p-values; see ``sample_weight`` of :func:`assess_dependence`.
    ci_low, ci_high
        Bounds of a 95 % interval from half-samples, corrected for bias. If independence is not rejected at 5
        % (``bound_only``), the 95 % interval is not valid. The bounds are then the lowest possible value of
        the measure and a one-sided 95 % upper bound. :attr:`interval_of` names the quantity that the interval
        covers.
    bound_only
        True if the interval is only an upper bound.
    n
        Number of rows in the data.
    n_used
        Number of rows used for all results, which is below ``n`` if a sample was drawn for speed.
    n_permutations, n_bootstrap
        Numbers of permutations and of half-samples. Without half-samples, the bounds of the interval are NaN.
    """

    id: str
    value: float
    in_sample: float
    floor: float
    floor_q95: float
    p_value: float
    ci_low: float
    ci_high: float
    bound_only: bool
    n: int
    n_used: int
    n_permutations: int
    n_bootstrap: int

    @property
    def interval_of(self) -> str:
        """Name the quantity that the interval covers: the estimand or a smoothed version of it."""
        entry = measure_of(self.id)
        return entry.interval_of or entry.title

    @property
    def subsampled(self) -> bool:
        """True if the results come from a random sample of the rows."""
        return self.n_used < self.n


def assess_dependence(
    id: str,
    u: ArrayLike,
    v: ArrayLike,
    *,
    n_permutations: int = 199,
    n_bootstrap: int = 100,
    max_rows: int | None = 10_000,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int | None = None,
    **options: Any,
) -> DependenceEstimate:
    """Return the value, in-sample value, independence floor, p-value and interval of one pair.

    Parameters
    ----------
    id
        A key of :data:`~fairdash.dependence.REGISTRY`.
    u : (n,) array
    v : (n,) array, or (n, d) where the measure is multivariate
    n_permutations
        Number of permutations of v for the independence floor and the p-value.
    n_bootstrap
        Number of half-samples for the interval; 0 omits it.
    max_rows
        Maximum number of rows. From a larger table, a random sample of this size is used for all values. An
        independence floor is valid only for the number of rows from which it is computed. ``None`` always
        uses all rows.
    sample_weight : (n,) array, optional
        Row weights. With weights, the measure is computed twice: the weights first stay with u and then move
        with v. The independence floor and the p-value are each the larger of the two results, which is valid
        unless the weight depends on both u and v.
    groups : (n,) array, optional
        Groups of rows, such as all years of one policy. For the independence floor and the p-value, v is
        permuted among whole groups; :class:`fairdash.dependence.grouping.Blocks` states when such p-values
        are exact. Samples and folds contain only whole groups. Without `groups`, similar rows count as
        independent, which makes the independence floor and the p-value too low and the interval too narrow.
    random_state
        Seed of all random draws.
    **options
        Options of the measure.

    Returns
    -------
    DependenceEstimate

    Raises
    ------
    OptionError
        Raised for the same reasons as in :func:`~fairdash.dependence.measure`, if a number of permutations,
        half-samples or rows is not valid, or if too few groups can be permuted.

    Notes
    -----
    A half-sample is drawn without replacement, because a repeated row would leak from one fold into another
    and be its own nearest neighbour. The values of half-samples scatter around the value of the full sample
    as much as this value scatters around the true value. However, the bias of a half-sample is twice the bias
    of the full sample. The centre of the interval is therefore twice the value minus the mean of the
    half-samples (Politis, Romano and Wolf 1999, section 2).

    Examples
    --------
    >>> s = np.linspace(-1, 1, 300)
    >>> found = fd.assess_dependence("hgr_spline", s**2, s, n_permutations=19, n_bootstrap=20, random_state=0)
    >>> found.value > found.floor
    True
    """
    entry = measure_of(id)
    pairs = Pairs.of(u, v, sample_weight, groups, single=True, measure=entry)
    n = pairs.u.shape[1]
    if n_bootstrap != int(n_bootstrap) or n_bootstrap < 0 or n_bootstrap == 1:
        raise _invalid_number("n_bootstrap", "Give 0, or a whole number of at least 2.")
    if max_rows is not None and max_rows < 2:
        raise _invalid_number("max_rows", "Give a whole number of at least 2, or None for all rows.")
    if max_rows is not None and n > max_rows:
        rng = rng_of(Stream.PAIR_ROWS, random_state)
        if pairs.groups is None:
            pairs = pairs.rows(np.sort(rng.choice(n, max_rows, replace=False)))
        else:
            pairs = pairs.rows(group_rows(pairs.groups, rng, at_most=max_rows))
    n_rows = pairs.u.shape[1]
    # The observed order comes first, so that one call computes the observed and the permuted values.
    orders = draw_orders(pairs.v, n_permutations, random_state, pairs.groups)
    estimator = Estimator(entry, options, random_state)
    values = estimator.null(pairs, np.concatenate([np.arange(n_rows)[None], orders]))[:, 0]
    value, permuted = float(values[0, 0]), values[:, 1:]
    in_sample = value
    if entry.fitted:
        in_sample_estimator = Estimator(entry, {**options, "evaluation": "in_sample"}, random_state)
        in_sample = float(in_sample_estimator.values(pairs)[0])
    sizes = np.abs(permuted) if entry.signed else permuted
    p_value = max(permutation_p_value(abs(value) if entry.signed else value, null) for null in sizes)
    low, high = _interval(entry, value, in_sample, _half_samples(estimator, pairs, n_bootstrap), p_value)
    return DependenceEstimate(
        id=entry.id,
        value=value,
        in_sample=in_sample,
        floor=float(sizes.mean(axis=1).max()),
        floor_q95=float(np.quantile(sizes, 0.95, axis=1).max()),
        p_value=p_value,
        ci_low=low,
        ci_high=high,
        bound_only=p_value > 0.05,
        n=n,
        n_used=n_rows,
        n_permutations=n_permutations,
        n_bootstrap=n_bootstrap,
    )


def permutation_p_value(value: float, permuted: ArrayLike) -> float:
    """Return the p-value (1 + b) / (1 + B), where b of the B permuted values are at least the observed value.

    Parameters
    ----------
    value
        Observed value of a statistic that is large for dependent variables.
    permuted : (B,) array
        Values of the same statistic for permuted data.

    Returns
    -------
    float
        P-value in [1 / (1 + B), 1].
    """
    values = np.asarray(permuted, dtype=np.float64)
    n_reached = int(np.count_nonzero(values >= value - _EQUAL * max(abs(value), 1.0)))
    return (1 + n_reached) / (1 + len(values))


def _half_samples(estimator: Estimator, pairs: Pairs, count: int) -> Array:
    """Return the measure on random halves of the rows (or of the groups, if there are groups), (count,)."""
    groups = pairs.groups
    n = pairs.u.shape[1] if groups is None else int(groups.max()) + 1
    if count == 0 or n < 4:
        return np.full(2, np.nan)
    rng = rng_of(Stream.PAIR_HALVES, estimator.random_state)
    if groups is not None:
        # Groups differ in size, so half-samples of groups differ in size and are evaluated one by one.
        halves = [pairs.rows(half_of_groups(groups, rng)) for _ in range(count)]
        return np.concatenate([estimator.values(half_estimator) for half_estimator in halves])
    rows = np.argsort(rng.random((count, n)), axis=-1)[:, : n // 2]
    weight = None if pairs.weight is None else pairs.weight[0][rows]
    return estimator.values(Pairs(pairs.u[0][rows], pairs.v[0][rows], weight))


def _interval(
    measure: Measure, value: float, in_sample: float, halves: Array, p_value: float
) -> tuple[float, float]:
    spread = float(halves.std(ddof=1))
    if p_value > 0.05:
        # Near independence, a low held-out score may only mean that the training found no good function. The
        # bound therefore also uses the in-sample value, which is at least the score of the best function on
        # these rows.
        high = max(value, in_sample, abs(value) if measure.signed else value) + Z_ONE_SIDED * spread
        return (-min(high, measure.upper) if measure.signed else measure.lower), min(high, measure.upper)
    centre = 2 * value - float(halves.mean())
    low, high = centre - Z * spread, centre + Z * spread
    return float(np.clip(low, measure.lower, measure.upper)), float(
        np.clip(high, measure.lower, measure.upper)
    )


def _invalid_number(option: str, hint: str) -> OptionError:
    return OptionError.of("The number is not valid", hint, column=option)
