"""Dependence by kernels and by distances: HSIC, HSIC of ranks, kernel canonical correlation and distance
correlation, which is HSIC with a kernel of distances (Sejdinovic et al. 2013).

Distance correlation (Székely, Rizzo and Bakirov 2007) is 0 in the limit only under independence. The joint
version uses products of distances and detects links that no column shows alone.

A Gaussian kernel of one variable has nearly low rank, so an incomplete n × r Cholesky factor replaces the n ×
n matrix, and a value costs O(n r²).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.classical import mid_ranks, standardised
from fairdash.utils.rounding import varies

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Share of the kernel matrix's trace that the factor may leave out.
_LEFT_OUT = 1e-8
#: Values among whose distances the median is taken.
_MEDIAN_OF = 200
#: Bach and Jordan (2002), section 4.3: κ for fewer than 1,000 rows, and for more.
_KAPPA_FEW, _KAPPA_MANY = 2e-2, 2e-3
#: Distances held at once when s has several columns, of two variables and of all columns.
_PIECE, _JOINT_PIECE = 2_000_000, 1_000_000
#: Distances of rows that are near each other, held at once.
_CACHED = 50_000


def hsic(u: Array, v: Array, *, permutations: Index | None = None) -> Array:
    """Return the normalised Hilbert–Schmidt independence criterion of each pair of a stack.

    ⟨HKH, HLH⟩ / (‖HKH‖ ‖HLH‖) with Gaussian kernels K and L whose bandwidth is the median distance (Gretton
    et al. 2005, normalised as in Cortes, Mohri and Rostamizadeh 2012).

    Parameters
    ----------
    u, v : (K, n) arrays
    permutations : (B, n) array, optional
        Permutations of the rows of v.

    Returns
    -------
    (K,) array, or (K, B) of permutations
        In [0, 1]; 1 when rows are equally close in u and in v, up to scale. On few rows the value under
        independence is above 0.
    """
    return _hsic(standardised(u), standardised(v), permutations)


def chsic(u: Array, v: Array, *, permutations: Index | None = None) -> Array:
    """Return :func:`hsic` of the mid-ranks (Póczos, Ghahramani and Schneider 2012).

    Increasing maps of u or v do not change it.
    """
    return _hsic(mid_ranks(u), mid_ranks(v), permutations)


def kcca(u: Array, v: Array, *, permutations: Index | None = None) -> Array:
    """Return the first regularised kernel canonical correlation of each pair (Bach and Jordan 2002).

    The largest singular value of R_u U_uᵀ U_v R_v, where U are the eigenvectors of the centred kernel matrix,
    λ its eigenvalues and R = λ / (λ + nκ/2) (their equation 11), with Gaussian kernels of bandwidth one
    standard deviation.

    Parameters
    ----------
    u, v : (K, n) arrays
    permutations : (B, n) array, optional
        Permutations of the rows of v.

    Returns
    -------
    (K,) array, or (K, B) of permutations
        In [0, 1); the maximal correlation, reduced by the regularisation.
    """

    def features(x: Array) -> Array:
        """Shrunk eigenvectors."""
        n = len(x)
        factor = _factor(x, 1.0)
        vectors, size, _ = np.linalg.svd(factor - factor.mean(axis=0), full_matrices=False)
        kappa = _KAPPA_FEW if n < 1000 else _KAPPA_MANY
        shrunk: Array = vectors * (size**2 / (size**2 + n * kappa / 2))
        return shrunk

    def largest(product: Array) -> float:
        return float(np.linalg.norm(product, 2))

    return _each(standardised(u), standardised(v), permutations, features, largest)


def _hsic(u: Array, v: Array, permutations: Index | None) -> Array:
    def features(x: Array) -> Array:
        """Features whose inner product with another's is normalised HSIC."""
        factor = _factor(x, _median_distance(x))
        factor = factor - factor.mean(axis=0)
        return factor / np.sqrt(max(float(np.linalg.norm(factor.T @ factor)), 1e-300))

    return _each(u, v, permutations, features, lambda product: float(np.square(product).sum()))


def _each(
    u: Array,
    v: Array,
    permutations: Index | None,
    features: Callable[[Array], Array],
    value: Callable[[Array], float],
) -> Array:
    """Values of the products of features of all pairs, (K,), or of all pairs and permutations, (K, B)."""
    values: list[float | list[float]] = []
    for a, b in zip(u, v, strict=True):
        f, g = features(a), features(b)
        if permutations is None:
            values.append(value(f.T @ g))
        else:
            # The features of permuted rows are the permuted features.
            values.append([value(f.T @ g[order]) for order in permutations])
    return np.minimum(values, 1.0)


def _factor(x: Array, bandwidth: float) -> Array:
    """Factor L of the Gaussian kernel matrix, K ≈ LLᵀ, (n, r), by pivoted incomplete Cholesky."""
    n = len(x)
    left = np.ones(n)
    columns: list[Array] = []
    while left.sum() > _LEFT_OUT * n and len(columns) < n:
        # Among equal remainders the smallest value is chosen, because the order of the rows must not matter.
        best = np.flatnonzero(left >= left.max() * (1 - 1e-12))
        pivot = best[x[best].argmin()]
        column = np.exp(-0.5 * ((x - x[pivot]) / bandwidth) ** 2)
        for earlier in columns:
            column -= earlier[pivot] * earlier
        column /= np.sqrt(left[pivot])
        left = np.maximum(left - column**2, 0.0)
        left[x == x[pivot]] = 0.0
        columns.append(column)
    return np.stack(columns, axis=1)


def _median_distance(x: Array) -> float:
    """Median of the distances that are not 0, among evenly spaced order statistics when there are many."""
    ordered = np.sort(x)
    if len(x) > _MEDIAN_OF:
        ordered = ordered[np.round(np.linspace(0, len(x) - 1, _MEDIAN_OF)).astype(int)]
    distances = np.abs(ordered[:, None] - ordered)[np.triu_indices(len(ordered), 1)]
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


def distance_correlation(u: Array, v: Array) -> Array:
    """Return the distance correlation of each pair of a stack (the V-statistic, as in dcor and the R package
    energy).

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array
        Several columns are standardised before Euclidean distances are computed.

    Returns
    -------
    (K,) array
        In [0, 1]; 1 if v is a linear function of u. On few rows the value under independence is well above 0.
    """
    u = standardised(u)
    if v.ndim == 3:
        return np.array(
            [_several(a, np.stack([standardised(c) for c in b.T], 1)) for a, b in zip(u, v, strict=True)]
        )
    u, v = _in_order(u, standardised(v))
    rows_u, rows_v = _mean_distances(u), _mean_distances(v)
    between = _centred(_mean_product(u, v), rows_u, rows_v)
    # The mean squared distance of one column is twice its variance.
    within_u, within_v = (_centred(2 * x.var(axis=-1), rows, rows) for x, rows in ((u, rows_u), (v, rows_v)))
    return _ratio(between, within_u, within_v)


def _in_order(u: Array, v: Array) -> tuple[Array, Array]:
    """Both with their rows in ascending order of u."""
    order = np.argsort(u, axis=-1)
    return np.take_along_axis(u, order, axis=-1), np.take_along_axis(v, order, axis=-1)


def _centred(mean_product: Array, rows_u: Array, rows_v: Array) -> Array:
    """Mean product of doubly centred distances, from plain distances: S1 + S2 − 2 S3, equation 2.18."""
    return mean_product + rows_u.mean(axis=-1) * rows_v.mean(axis=-1) - 2 * (rows_u * rows_v).mean(axis=-1)


def _ratio(between: Array, within_u: Array, within_v: Array) -> Array:
    scale = np.sqrt(np.maximum(within_u * within_v, 0.0))
    squared = np.divide(between, scale, out=np.zeros_like(scale), where=scale > 0)
    return np.sqrt(np.clip(squared, 0.0, 1.0))


def _mean_distances(x: Array) -> Array:
    """Mean distance of each value from all, (K, n), by one sort."""
    n = x.shape[-1]
    order = np.argsort(x, axis=-1)
    ordered = np.take_along_axis(x, order, axis=-1)
    below = np.cumsum(ordered, axis=-1)
    count = np.arange(1, n + 1)
    sums = (2 * count - n) * ordered - 2 * below + below[:, -1:]
    result = np.empty_like(x)
    np.put_along_axis(result, order, sums / n, axis=-1)
    return result


def _mean_product(u: Array, v: Array) -> Array:
    """Mean over all pairs of rows of |u_i − u_j||v_i − v_j|, for rows in ascending order of u; O(n^(4/3)).

    Both variables are cut into blocks with equal numbers of ranks. Pairs of rows that share a block of either
    variable are computed one by one. Other pairs have a known order, so (u_j − u_i)(v_j − v_i), multiplied
    out, needs only sums over cells.
    """
    return np.array([_mean_product_of(a, b) for a, b in zip(u, v, strict=True)])


def _mean_product_of(u: Array, v: Array) -> float:
    n = len(u)
    # As few numbers as it takes, together in both of its parts.
    block = max(round((6 * n) ** (1 / 3)), 1)
    count = -(-n // block)
    of_u, by_v = np.arange(n) // block, np.argsort(v)
    of_v = np.empty_like(by_v)
    of_v[by_v] = of_u
    nearby = _sum_in_blocks(u, v, block) + _sum_in_blocks(u[by_v], v[by_v], block, of_u[by_v])
    cell = of_u * count + of_v
    one, x, y, xy = (
        np.bincount(cell, weights=each, minlength=count**2).reshape(count, count)
        for each in (None, u, v, u * v)
    )
    apart = 0.0
    for factor, moment in ((xy, one), (-y, x), (-x, y), (one, xy)):
        # Cells at lower u and lower v, minus those at lower u and higher v.
        before = np.cumsum(moment, axis=0) - moment
        below = np.cumsum(before, axis=1)
        apart += float((factor * (2 * below - before - below[:, -1:])).sum())
    return (nearby + 2 * apart) / n**2


def _sum_in_blocks(u: Array, v: Array, block: int, known: Index | None = None) -> float:
    """Sum of |u_i − u_j||v_i − v_j| over the pairs of each block of rows, without pairs equal in `known`."""
    total, step = 0.0, max(1, _CACHED // block**2) * block
    for start in range(0, len(u), step):
        rows = slice(start, start + step)
        parts = [u[rows], v[rows], *([] if known is None else [known[rows]])]
        whole = len(parts[0]) // block * block
        for piece in ((slice(whole), block), (slice(whole, None), len(parts[0]) - whole)):
            if not piece[1] or not len(parts[0][piece[0]]):
                continue
            a, b, *codes = (part[piece[0]].reshape(-1, piece[1]) for part in parts)
            product = np.abs((a[:, :, None] - a[:, None]) * (b[:, :, None] - b[:, None]))
            for code in codes:
                product *= code[:, :, None] != code[:, None]
            total += float(product.sum())
    return total


def _several(u: Array, v: Array) -> float:
    """One pair with v of several columns, (n,) and (n, d), by all distances, some rows at a time."""
    n = len(u)
    rows_u, rows_v, products = np.zeros(n), np.zeros(n), np.zeros(3)
    for start in range(0, n, max(1, _PIECE // n)):
        rows = slice(start, start + max(1, _PIECE // n))
        a = np.abs(u[rows, None] - u)
        b = np.sqrt(((v[rows, None] - v) ** 2).sum(axis=-1))
        rows_u[rows], rows_v[rows] = a.mean(axis=1), b.mean(axis=1)
        products += [(a * b).sum(), (a * a).sum(), (b * b).sum()]
    between, within_u, within_v = (
        _centred(product, x, y)
        for product, (x, y) in zip(
            products / n**2, [(rows_u, rows_v), (rows_u, rows_u), (rows_v, rows_v)], strict=True
        )
    )
    return float(_ratio(between, within_u, within_v))


def joint_distance_correlation(u: Array, v: Array) -> Array:
    """Distance correlation of u with the product of the distances of v's columns.

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array

    Returns
    -------
    (K,) array
        In [0, 1]; 0 in the limit of many rows only if u is independent of the columns together. With one
        column it is the distance correlation. Noise makes it positive.

    Notes
    -----
    With A and Bⱼ the negative doubly centred distances of u and of the j-th column, each divided by its root
    mean square, K = Πⱼ(Bⱼ + 1) and H its double centring, it is √(mean(A·H) ÷ √(mean(A²) mean(H²))). Since A
    is centred, mean(A·H) = mean(A·K). These are the terms with u in the (scale-invariant, c = 1) joint
    distance covariance of u and all columns (Chakraborty and Zhang 2019, JASA 114); dependence among the
    columns alone does not count. A and K are positive semi-definite, so mean(A·H) is not below 0.
    """
    if v.ndim == 2:
        return distance_correlation(u, v)
    return np.array([_jointly(a, b.T) for a, b in zip(u, v, strict=True)])


def _jointly(u: Array, columns: Array) -> float:
    """One pair, (n,) and (d, n), some rows at a time."""
    n = len(u)
    every = standardised(np.stack([u, *(x for x in columns if varies(x))]))
    step = max(1, _JOINT_PIECE // n)
    pieces = [slice(start, start + step) for start in range(0, n, step)]
    means = np.empty_like(every)
    for rows in pieces:
        means[:, rows] = np.abs(every[:, rows, None] - every[:, None, :]).mean(axis=-1)
    size = np.zeros(len(every))
    for rows in pieces:
        size += (_centred_rows(every, means, rows) ** 2).sum(axis=(1, 2))
    size = np.sqrt(size / n**2)
    # Sums of A·K, of K² and of the rows of K, from which those of its double centring follow.
    together, squares, sums = 0.0, 0.0, np.empty(n)
    for rows in pieces:
        parts = _centred_rows(every, means, rows) / size[:, None, None]
        product = np.prod(parts[1:] + 1, axis=0)
        together += float((parts[0] * product).sum())
        squares += float((product**2).sum())
        sums[rows] = product.mean(axis=-1)
    spread = squares / n**2 - 2 * float((sums**2).mean()) + float(sums.mean()) ** 2
    if spread <= 0:
        return 0.0
    return float(np.sqrt(np.clip(together / n**2 / np.sqrt(spread), 0.0, 1.0)))


def _centred_rows(every: Array, means: Array, rows: slice) -> Array:
    """U(x, x') = E|x − X| + E|x' − X| − |x − x'| − E|X − X'| of some rows with all, (columns, rows, n)."""
    distance = np.abs(every[:, rows, None] - every[:, None, :])
    centred: Array = means[:, rows, None] + means[:, None, :] - distance - means.mean(axis=-1)[:, None, None]
    return centred
