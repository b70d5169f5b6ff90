"""Classical measures of correlation, and the mid-ranks that rank measures use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdash.errors import require_count
from fairdash.utils.rounding import is_rounding

#: Minimum distance of a rank from 0 and from 1. Without this limit, rounding could give a row with a tiny
#: weight the rank 0 or 1.
_MIN_END_DISTANCE = 1e-12


def mid_ranks(
    x: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return mid-ranks: the share of rows with a smaller value plus half the share with the same value.

    Parameters
    ----------
    x : (..., n) array
        Values; tied values get the same rank, regardless of the order of the rows.
    sample_weight : (..., n) array, optional
        Non-negative weights. A row of weight 2 counts as two rows.

    Returns
    -------
    (..., n) array
        Ranks in (0, 1), with a (weighted) mean of one half.
    """
    shape = x.shape
    n = shape[-1]
    # If all pairs share one variable and differ only in weights, the values are sorted only once.
    flat = x[:1] if x.ndim == 2 and x.strides[0] == 0 else x.reshape(-1, n)
    order = np.argsort(flat, axis=-1)
    ordered = np.take_along_axis(flat, order, axis=-1)
    if sample_weight is None:
        cumulative = np.broadcast_to(np.arange(1.0, n + 1.0) / n, flat.shape)
    else:
        weight = np.broadcast_to(sample_weight, shape).reshape(-1, n)
        cumulative = np.cumsum(np.take_along_axis(weight, order, axis=-1), axis=-1)
        cumulative = cumulative / cumulative[:, -1:]
    # `first` and `last` mark the first and the last row of each run of equal values.
    last = np.ones(flat.shape, dtype=bool)
    last[:, :-1] = ordered[:, 1:] != ordered[:, :-1]
    first = np.ones(flat.shape, dtype=bool)
    first[:, 1:] = last[:, :-1]
    index = np.broadcast_to(np.arange(n), flat.shape)
    run_start = np.maximum.accumulate(np.where(first, index, 0), axis=-1)
    run_end = np.minimum.accumulate(np.where(last, index, n - 1)[:, ::-1], axis=-1)[:, ::-1]
    upper = np.take_along_axis(cumulative, run_end, axis=-1)
    lower = np.where(
        run_start > 0, np.take_along_axis(cumulative, np.maximum(run_start - 1, 0), axis=-1), 0.0
    )
    ranks = np.empty(cumulative.shape)
    np.put_along_axis(ranks, order, (lower + upper) / 2, axis=-1)
    return np.broadcast_to(ranks, shape) if ranks.size < x.size else ranks.reshape(shape)


def normal_scores(
    x: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the normal quantiles Φ⁻¹ of the (weighted) mid-ranks in (0, 1); ``(..., n) -> (..., n)``."""
    from scipy.special import ndtri

    ranks = np.clip(mid_ranks(x, sample_weight), _MIN_END_DISTANCE, 1 - _MIN_END_DISTANCE)
    scores: NDArray[np.float64] = ndtri(ranks)
    return scores


def quantiles(
    x: NDArray[np.float64], weight: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return weighted quantiles: the smallest value at or below which the given share of the weight lies.

    Values and weights have shape (n,), and shares are in [0, 1]. The quantiles are zeros if there are no
    values.

    >>> quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), np.array([0.25, 0.5, 1.0]))
    array([1., 2., 3.])
    """
    if not len(x):
        return np.zeros(len(shares))
    values: NDArray[np.float64] = np.quantile(x, shares, weights=weight, method="inverted_cdf")
    return values


Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: `Z` is the quantile of the normal distribution for a two-sided 95 % interval.
#: `Z_ONE_SIDED` is the quantile for a one-sided 95 % bound.
#: `Z_OF_POWER` is the quantile for a power of 80 %.
Z, Z_ONE_SIDED, Z_OF_POWER = 1.959963984540054, 1.6448536269514722, 0.8416212335729143


def pearson(
    u: Array, v: Array, *, sample_weight: Array | None = None, permutations: Index | None = None
) -> Array:
    """Return Pearson's correlation of each of K pairs.

    Parameters
    ----------
    u, v : (K, n) arrays
    sample_weight : (K, n) array, optional
    permutations : (B, n) array, optional
        Permutations of the rows of v.

    Returns
    -------
    (K,) array, or (K, B) with permutations
        Correlations in [−1, 1].
    """
    a, b = standardised(u, sample_weight), standardised(v, sample_weight)
    if permutations is not None:
        correlations = [np.einsum("kn,kn->k", a, b[:, order]) / u.shape[-1] for order in permutations]
        return np.clip(np.stack(correlations, axis=-1), -1.0, 1.0)
    return np.clip((a * b * _share(u, sample_weight)).sum(axis=-1), -1.0, 1.0)


def spearman(
    u: Array, v: Array, *, sample_weight: Array | None = None, permutations: Index | None = None
) -> Array:
    """Return Spearman's correlation, which is Pearson's correlation of the mid-ranks; see :func:`pearson`."""
    ranks = mid_ranks(u, sample_weight), mid_ranks(v, sample_weight)
    return pearson(*ranks, sample_weight=sample_weight, permutations=permutations)


def kendall(u: Array, v: Array) -> Array:
    """Return Kendall's τ_b of each pair, computed by scipy; ``(K, n), (K, n) -> (K,)`` in [−1, 1]."""
    from scipy.stats import kendalltau

    return np.array([kendalltau(a, b).statistic for a, b in zip(u, v, strict=True)])


def hgr_witsenhausen(u: Array, v: Array, *, sample_weight: Array | None = None) -> Array:
    """Return the second singular value of Q = p(u, v) / √(p(u) p(v)), from the table of counts of each pair.

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array
        Variables with few distinct values; the caller must check the number of distinct values. Several
        columns form one variable, whose values are the combinations of the columns' values.
    sample_weight : (K, n) array, optional

    Returns
    -------
    (K,) array
        Exact maximal correlation of the empirical distribution, in [0, 1].
    """
    weight = np.ones(u.shape) if sample_weight is None else sample_weight
    if v.ndim == 3:
        v = np.stack([np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1) for columns in v])
    return np.array([_maximal_correlation(a, b, w) for a, b, w in zip(u, v, weight, strict=True)])


def _maximal_correlation(u: Array, v: Array, weight: Array) -> float:
    (values_u, u_code), (values_v, v_code) = (np.unique(x, return_inverse=True) for x in (u, v))
    shape = (len(values_u), len(values_v))
    table = np.bincount(u_code * shape[1] + v_code, weight, shape[0] * shape[1]).reshape(shape)
    table = table / table.sum()
    root = np.sqrt(np.outer(table.sum(axis=1), table.sum(axis=0)))
    # Remove the first singular triple, whose value is 1 and whose vectors are √p(u) and √p(v).
    residual = np.divide(table, root, out=np.zeros_like(table), where=root > 0) - root
    return min(float(np.linalg.norm(residual, 2)), 1.0)


def mi_ksg(u: Array, v: Array, *, n_neighbours: int = 3) -> Array:
    """Return the mutual information of each of K pairs, in nats.

    Without ties, the value equals the value of scikit-learn's ``mutual_info_regression``. scikit-learn adds
    noise to tied values, so its result depends on the order of the rows. This function counts the tied rows
    instead (Gao et al., 2017, for discrete and mixed variables).

    Parameters
    ----------
    u : (K, n) array
        Values; the function standardises u and each column of v.
    v : (K, n) or (K, n, d) array
        Values; the distance between two rows of v is the largest of the distances in the columns of v.
    n_neighbours
        Number k of nearest neighbours. More neighbours reduce the variance and increase the bias.

    Returns
    -------
    (K,) array
        Mutual information, at least 0 (negative estimates become 0), with no upper bound.

    Raises
    ------
    OptionError
        Raised if ``n_neighbours`` is below 1.
    """
    require_count(n_neighbours, column="n_neighbours", called="number of neighbours")
    k, columns = int(n_neighbours), v[:, :, None] if v.ndim == 2 else v
    columns = np.moveaxis(standardised(np.moveaxis(columns, 2, 1)), 1, 2)
    return np.array([_mutual_information(a, b, k) for a, b in zip(standardised(u), columns, strict=True)])


def _mutual_information(u: Array, v: Array, k: int) -> float:
    from scipy.spatial import cKDTree
    from scipy.special import digamma

    n = len(u)
    k = min(k, n - 1)
    tree = cKDTree(np.column_stack([u, v]))
    # The first of these k + 1 neighbours of a row is the row itself.
    radius = tree.query(tree.data, k=k + 1, p=np.inf)[0][:, -1]
    tied = radius == 0
    neighbours = np.full(n, float(k))
    if tied.any():
        neighbours[tied] = tree.query_ball_point(tree.data[tied], 0.0, p=np.inf, return_length=True)
    # Rows within this radius are counted in each variable. The radius is just below the distance to the k-th
    # neighbour. It is 0 for tied rows, so that equal rows are counted.
    strict_radius = np.where(tied, 0.0, np.nextafter(radius, 0))
    if v.shape[1] == 1:
        of_v = _neighbours_within(v[:, 0], strict_radius)
    else:
        of_v = cKDTree(v).query_ball_point(v, strict_radius * (1 - 1e-12), p=np.inf, return_length=True)
    value = digamma(n) + np.mean(
        digamma(neighbours) - digamma(_neighbours_within(u, strict_radius)) - digamma(of_v)
    )
    return max(float(value), 0.0)


def _neighbours_within(x: Array, radius: Array) -> Array:
    ordered = np.sort(x)
    # The radius is reduced slightly: without this, rounding could include rows at exactly the radius.
    low = np.searchsorted(ordered, x - radius * (1 - 1e-12), side="left")
    high = np.searchsorted(ordered, x + radius * (1 - 1e-12), side="right")
    return (high - low).astype(np.float64)


def symmetric_root(covariance: Array) -> Array:
    """Return the symmetric square root (J, J) of a covariance matrix (J, J).

    Draws times this root are the same on every processor. Any other root depends on the signs and the order
    of eigenvectors, which are arbitrary, so the same seed would give other draws elsewhere.

    >>> symmetric_root(np.array([[5.0, 4.0], [4.0, 5.0]])).round(12).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    size, vectors = np.linalg.eigh(covariance)
    root: Array = (vectors * np.sqrt(np.maximum(size, 0.0))) @ vectors.T
    return root


def standardised(x: Array, sample_weight: Array | None = None) -> Array:
    """Scale each of K variables to mean 0 and variance 1; a (nearly) constant variable becomes zeros.

    Parameters
    ----------
    x : (..., n) array
        Finite values of any size; the function first scales the values to [0, 1], so that their squares do
        not overflow.
    sample_weight : (..., n) array, optional
        Weights with which the mean and the variance are computed.

    Returns
    -------
    (..., n) array
    """
    low, high = x.min(axis=-1, keepdims=True), x.max(axis=-1, keepdims=True)
    # The range of values near the largest float would overflow, so the code computes half the range.
    half_range = high / 2 - low / 2
    x = (x / 2 - low / 2) / np.where(half_range > 0, half_range, 1.0)
    share = _share(x, sample_weight)
    x = x - (x * share).sum(axis=-1, keepdims=True)
    sd = np.sqrt((x * x * share).sum(axis=-1, keepdims=True))
    # The standard deviation is 0 if only rows of weight 0 differ.
    varies = ~is_rounding(low, high) & (sd > 0)
    return np.where(varies, x / np.where(varies, sd, 1.0), 0.0)


def _share(x: Array, sample_weight: Array | None) -> Array | float:
    """Return the weights of the rows, (..., n), scaled to sum to 1."""
    if sample_weight is None:
        return 1 / x.shape[-1]
    share: Array = sample_weight / sample_weight.sum(axis=-1, keepdims=True)
    return share


@dataclass(frozen=True, kw_only=True)
class RankLink:
    """Spearman's correlation, its 95 % limit under independence, and the smallest correlation a test detects.

    Parameters
    ----------
    value
        Correlation in [−1, 1]; 0 if neither variable tends to rise or fall with the other.
    stays_within
        Detection limit of the absolute correlation. Under independence, the absolute correlation stays below
        this limit in 19 of 20 tables with n rows.
    smallest
        Smallest absolute correlation that a test at 5 % detects in 4 of 5 tables with n rows.
    n
        Number of rows.
    """

    value: float
    stays_within: float
    smallest: float
    n: int


def rank_link(u: Array, v: Array, sample_weight: Array | None = None, units: Index | None = None) -> RankLink:
    """Return Spearman's correlation and its detection limit, computed by sorting instead of permuting.

    With standardised mid-ranks a and b, the correlation is Σ w a b / Σ w. If v is independent of u and the
    weight, the variance of the correlation is Σ w² a² / (Σ w)². If instead u is independent of v and the
    weight, the formula has b instead of a. The detection limit uses the larger of the two variances, just as
    a weighted permutation test takes the larger of two p-values. Without weights, the variance is 1 / n
    (Hotelling and Pabst 1936). The detection limit is not valid for a weight that depends on both u and v.
    Products are summed over the rows of a unit before they are squared. Several rows of a unit with equal u
    and v therefore count as one row.

    Parameters
    ----------
    u, v : (n,) array
        Finite values. If u or v is constant, the correlation is 0 and no link can be detected.
    sample_weight : (n,) array, optional
        Positive weights on any scale.
    units : (n,) array, optional
        Number, from 0 to U-1, of the independent unit, such as a policy, to which each row belongs. By
        default, each row is a unit.

    Examples
    --------
    >>> u = np.arange(1000.0)
    >>> found = rank_link(u, np.where(u % 2, u, 999 - u))
    >>> round(found.stays_within, 3), round(found.smallest, 3), abs(found.value) < found.smallest
    (0.062, 0.089, True)
    """
    weight = np.ones(len(u)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    share = weight / weight.sum()
    a, b = (standardised(mid_ranks(x, weight), weight) for x in (u, v))
    if not a.any() or not b.any():
        return RankLink(value=0.0, stays_within=1.0, smallest=1.0, n=len(u))
    error = float(np.sqrt(max(np.sum((share * a) ** 2), np.sum((share * b) ** 2))))
    if units is not None:
        error = max(error, float(np.sqrt(np.sum(np.bincount(units, weights=share * a * b) ** 2))))
    return RankLink(
        value=float(np.clip(np.sum(share * a * b), -1, 1)),
        stays_within=min(1.0, Z * error),
        smallest=min(1.0, (Z + Z_OF_POWER) * error),
        n=len(u),
    )
