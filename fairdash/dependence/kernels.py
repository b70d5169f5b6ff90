"""Dependence by kernels and by distances: HSIC, HSIC of ranks, kernel canonical correlation and distance
correlation, which is HSIC with a kernel of distances (Sejdinovic et al., 2013).

As the number of rows grows, distance correlation (Székely, Rizzo and Bakirov 2007) tends to 0 only under
independence. The joint distance correlation uses products of distances and detects links that no single
column reveals.

A Gaussian kernel matrix of one variable is close to a matrix of low rank. An incomplete n × r Cholesky factor
replaces the n × n matrix, so that one value takes O(n r²) operations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.classical import mid_ranks, standardised
from fairdash.utils.rounding import varies

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Maximum share of the trace of the kernel matrix that the Cholesky factor may omit.
_MAX_OMITTED = 1e-8
#: Number of values from whose distances the median distance is computed.
_N_MEDIAN_VALUES = 200
#: `_KAPPA_FEW` is the value of κ for fewer than 1,000 rows (Bach and Jordan 2002, section 4.3).
#: `_KAPPA_MANY` is the value for 1,000 rows or more.
_KAPPA_FEW, _KAPPA_MANY = 2e-2, 2e-3
#: `_PIECE` is the maximum number of distances in memory for the distance correlation with several columns of
#: s.
#: `_JOINT_PIECE` is the maximum number for the joint distance correlation.
_PIECE, _JOINT_PIECE = 2_000_000, 1_000_000
#: `_CACHED` is the maximum number of rows (over all permutations) that are processed at once.
#: `_PAIRS` is the maximum number of pairs of rows that are compared individually at once.
_CACHED, _PAIRS = 10_000, 12_000
#: Pairs are compared individually within parts of about _PART_ROWS + _EXTRA_ROWS / (number of values) rows.
#: Small inputs have larger parts, because function calls then take longer than comparisons of pairs.
_PART_ROWS, _EXTRA_ROWS = 12, 40_000


def hsic(u: Array, v: Array, *, permutations: Index | None = None) -> Array:
    """Return the normalised Hilbert–Schmidt independence criterion of each of K pairs.

    The criterion is ⟨HKH, HLH⟩ / (‖HKH‖ ‖HLH‖) with Gaussian kernels K and L whose bandwidth is the median
    distance (Gretton et al., 2005, normalised as in Cortes, Mohri and Rostamizadeh 2012).

    Parameters
    ----------
    u, v : (K, n) arrays
    permutations : (B, n) array, optional
        Permutations of the rows of v.

    Returns
    -------
    (K,) array, or (K, B) with permutations
        Criterion in [0, 1]; 1 if the distances between rows in u and in v agree, up to scale. With few rows,
        the criterion is above 0 even under independence.
    """
    return _hsic(standardised(u), standardised(v), permutations)


def chsic(u: Array, v: Array, *, permutations: Index | None = None) -> Array:
    """Return the normalised HSIC (:func:`hsic`) of the mid-ranks (Póczos, Ghahramani and Schneider 2012).

    An increasing transformation of u or v leaves the HSIC of mid-ranks unchanged.
    """
    return _hsic(mid_ranks(u), mid_ranks(v), permutations)


def kcca(u: Array, v: Array, *, permutations: Index | None = None) -> Array:
    """Return the first regularised kernel canonical correlation of each pair (Bach and Jordan 2002).

    The correlation is the largest singular value of R_u U_uᵀ U_v R_v with Gaussian kernels of bandwidth one
    standard deviation. Here, U are the eigenvectors of the centred kernel matrix, λ its eigenvalues and R = λ
    / (λ + nκ/2) (equation 11 of Bach and Jordan 2002).

    Parameters
    ----------
    u, v : (K, n) arrays
    permutations : (B, n) array, optional
        Permutations of the rows of v.

    Returns
    -------
    (K,) array, or (K, B) with permutations
        Maximal correlation in [0, 1), reduced by the regularisation.
    """

    def features(x: Array) -> Array:
        """Return eigenvectors of the kernel matrix, shrunken by the regularisation."""
        n = len(x)
        factor = _factor(x, 1.0)
        vectors, size, _ = np.linalg.svd(factor - factor.mean(axis=0), full_matrices=False)
        kappa = _KAPPA_FEW if n < 1000 else _KAPPA_MANY
        shrunk: Array = vectors * (size**2 / (size**2 + n * kappa / 2))
        return shrunk

    def largest(product: Array) -> float:
        return float(np.linalg.norm(product, 2))

    return _value_by_pair(standardised(u), standardised(v), permutations, features, largest)


def _hsic(u: Array, v: Array, permutations: Index | None) -> Array:
    def features(x: Array) -> Array:
        """Return features of a variable; normalised HSIC is the inner product of two variables' features."""
        factor = _factor(x, _median_distance(x))
        factor = factor - factor.mean(axis=0)
        return factor / np.sqrt(max(float(np.linalg.norm(factor.T @ factor)), 1e-300))

    return _value_by_pair(u, v, permutations, features, lambda product: float(np.square(product).sum()))


def _value_by_pair(
    u: Array,
    v: Array,
    permutations: Index | None,
    features: Callable[[Array], Array],
    value: Callable[[Array], float],
) -> Array:
    """Compute the value from the product of features of each pair, (K,), or for each permutation, (K, B)."""
    values: list[float | list[float]] = []
    for a, b in zip(u, v, strict=True):
        f, g = features(a), features(b)
        if permutations is None:
            values.append(value(f.T @ g))
        else:
            # Permuting the rows permutes the features in the same way, so they are not computed again.
            values.append([value(f.T @ g[order]) for order in permutations])
    return np.minimum(values, 1.0)


def _factor(x: Array, bandwidth: float) -> Array:
    """Return a factor L of the Gaussian kernel matrix K ≈ LLᵀ, (n, r), by pivoted incomplete Cholesky."""
    n = len(x)
    remainder = np.ones(n)
    columns: list[Array] = []
    while remainder.sum() > _MAX_OMITTED * n and len(columns) < n:
        # Among equal remainders, the row with the smallest value is selected, so that the order of the rows
        # has no effect.
        best = np.flatnonzero(remainder >= remainder.max() * (1 - 1e-12))
        pivot = best[x[best].argmin()]
        column = np.exp(-0.5 * ((x - x[pivot]) / bandwidth) ** 2)
        for previous in columns:
            column -= previous[pivot] * previous
        column /= np.sqrt(remainder[pivot])
        remainder = np.maximum(remainder - column**2, 0.0)
        remainder[x == x[pivot]] = 0.0
        columns.append(column)
    return np.stack(columns, axis=1)


def _median_distance(x: Array) -> float:
    """Return the median nonzero distance, from evenly spaced order statistics if there are many values."""
    ordered = np.sort(x)
    if len(x) > _N_MEDIAN_VALUES:
        ordered = ordered[np.round(np.linspace(0, len(x) - 1, _N_MEDIAN_VALUES)).astype(int)]
    distances = np.abs(ordered[:, None] - ordered)[np.triu_indices(len(ordered), 1)]
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


def distance_correlation(u: Array, v: Array, *, permutations: Index | None = None) -> Array:
    """Return the distance correlation of each pair (the V-statistic, as in dcor and the R package energy).

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array
        Values; if there are several columns, each column is standardised, and Euclidean distances are used.
    permutations : (B, n) array, optional
        Orders of the rows of v.

    Returns
    -------
    (K,) array, or (K, B) with permutations
        Distance correlation in [0, 1]; 1 if v is a linear function of u. With few rows, distance correlation
        is well above 0 even under independence.
    """
    u = standardised(u)
    orders = np.arange(u.shape[1])[None] if permutations is None else permutations
    if v.ndim == 3:
        columns = np.moveaxis(standardised(np.moveaxis(v, 2, 1)), 1, 2)
        permuted = [[_of_columns(a, b[order]) for order in orders] for a, b in zip(u, columns, strict=True)]
        values = np.array(permuted)
    else:
        v = standardised(v)
        rows_u, rows_v = _mean_distances(u), _mean_distances(v)
        # The mean squared distance between two values of a column is twice the variance of the column.
        self_products = [_centred(2 * x.var(axis=-1), rows, rows) for x, rows in ((u, rows_u), (v, rows_v))]
        cross_products = np.empty((len(u), len(orders)))
        for k, by_u in enumerate(np.argsort(u, axis=-1)):
            for start in range(0, len(orders), step := max(1, _CACHED // u.shape[1])):
                shuffled = orders[start : start + step][:, by_u]
                ordered = np.broadcast_to(u[k, by_u], shuffled.shape)
                product = _mean_product(ordered, v[k][shuffled])
                cross_products[k, start : start + step] = _centred(
                    product, rows_u[k, by_u], rows_v[k][shuffled]
                )
        values = _ratio(cross_products, self_products[0][:, None], self_products[1][:, None])
    return values[:, 0] if permutations is None else values


def _centred(mean_product: Array, rows_u: Array, rows_v: Array) -> Array:
    """Return S1 + S2 − 2 S3, the mean product of doubly centred distances, from raw distances (eq. 2.18)."""
    return mean_product + rows_u.mean(axis=-1) * rows_v.mean(axis=-1) - 2 * (rows_u * rows_v).mean(axis=-1)


def _ratio(cross_product: Array, within_u: Array, within_v: Array) -> Array:
    scale = np.sqrt(np.maximum(within_u * within_v, 0.0))
    squared = np.divide(cross_product, scale, out=np.zeros_like(cross_product), where=scale > 0)
    return np.sqrt(np.clip(squared, 0.0, 1.0))


def _mean_distances(x: Array) -> Array:
    """Return the mean distance of each value from all values, (K, n), after sorting once."""
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
    """Return the mean of |u_i − u_j||v_i − v_j| over all pairs of rows, (K, n), which are sorted by u.

    The mean is 2 / n² times 2 D − Σ (u_j − u_i)(v_j − v_i) over the pairs i < j, where D is the sum of the
    products over pairs with v_i < v_j. The function divides the rows, sorted by v, recursively at the median
    of u. For two rows in different halves, the order is known in both variables. For each row, D therefore
    needs only the number and the sums of the rows before it. Within the smallest parts, every pair of rows is
    compared. The computation takes O(n log n) steps.
    """
    members, n = u.shape
    levels = int(np.log2(max(n / (_PART_ROWS + _EXTRA_ROWS / v.size), 1.0)))
    part = -(-n // 2**levels)
    width = part << levels
    # Padding rows have the highest u and the lowest v, so they contribute to no pair of D.
    by_v = np.concatenate([np.tile(np.arange(n, width), (members, 1)), np.argsort(v, axis=-1)], axis=-1)
    nearest = np.minimum(by_v, n - 1)
    x, y = np.take_along_axis(u, nearest, axis=-1), np.take_along_axis(v, nearest, axis=-1)
    y[:, : width - n] = y[:, width - n :][:, :1]
    x, y, parts = x.ravel(), y.ravel(), (by_v // part).ravel()
    total = np.zeros(members)
    for level in range(levels - 1, -1, -1):
        half_size = part << level
        is_high = (parts & (1 << level)).astype(bool)
        # Each half is sorted by v, and the lower half comes first.
        rows = np.stack([np.flatnonzero(mask).reshape(-1, half_size) for mask in (~is_high, is_high)], axis=1)
        x, y, parts = (array[rows.ravel()] for array in (x, y, parts))
        halves_x, halves_y = x.reshape(rows.shape), y.reshape(rows.shape)
        low_x, low_y = halves_x[:, 0], halves_y[:, 0]
        level_sum = half_size * (low_x * low_y).sum(axis=1) - low_x.sum(axis=1) * halves_y[:, 1].sum(axis=1)
        # For each row, the code adds or subtracts the contribution of the earlier rows of the other half.
        nodes = np.arange(len(rows))[:, None, None]
        n_before = rows - 2 * half_size * nodes - np.arange(half_size)
        sums = np.zeros((len(rows), 2, half_size + 1))
        np.cumsum(halves_y, axis=-1, out=sums[:, ::-1, 1:])
        others = sums.ravel()[n_before + (half_size + 1) * (2 * nodes + np.arange(2)[:, None])]
        products = halves_x * (halves_y * n_before - others)
        level_sum += (products[:, 1] - products[:, 0]).sum(axis=1)
        total += level_sum.reshape(members, -1).sum(axis=1)
    x, y = (array.reshape(members, -1, part) for array in (x, y))
    # Each piece fits in the processor's cache.
    for start in range(0, x.shape[1], step := max(1, _PAIRS // (members * part**2))):
        distances = [
            array[:, start : start + step, :, None] - array[:, start : start + step, None] for array in (x, y)
        ]
        total += np.einsum("kpij,kpij->k", *(np.maximum(matrix, 0.0, out=matrix) for matrix in distances))
    overall = n * (u * v).sum(axis=-1) - u.sum(axis=-1) * v.sum(axis=-1)
    return np.asarray(2 * (2 * total - overall) / n**2)


def _of_columns(u: Array, v: Array) -> float:
    """Return the distance correlation of one pair, (n,) and (n, d), from all distances, in pieces of rows."""
    n = len(u)
    rows_u, rows_v, products = np.zeros(n), np.zeros(n), np.zeros(3)
    for start in range(0, n, max(1, _PIECE // n)):
        rows = slice(start, start + max(1, _PIECE // n))
        a = np.abs(u[rows, None] - u)
        b = np.sqrt(((v[rows, None] - v) ** 2).sum(axis=-1))
        rows_u[rows], rows_v[rows] = a.mean(axis=1), b.mean(axis=1)
        products += [(a * b).sum(), (a * a).sum(), (b * b).sum()]
    cross_product, within_u, within_v = (
        _centred(product, x, y)
        for product, (x, y) in zip(
            products / n**2, [(rows_u, rows_v), (rows_u, rows_u), (rows_v, rows_v)], strict=True
        )
    )
    return float(_ratio(cross_product, within_u, within_v))


def joint_distance_correlation(u: Array, v: Array) -> Array:
    """Return the distance correlation of u with the product of the distances of v's columns.

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array

    Returns
    -------
    (K,) array
        Joint distance correlation in [0, 1]. As the number of rows grows, the value tends to 0 only if u is
        jointly independent of the columns. With one column, the joint version equals distance correlation.
        In finite samples, noise keeps the value above 0.

    Notes
    -----
    Let A and Bⱼ be the negated doubly centred distances of u and of the j-th column, each divided by its root
    mean square. Let K = Πⱼ(Bⱼ + 1), and let H be K after double centring. The value is √(mean(A·H) ÷
    √(mean(A²) mean(H²))). Since A is centred, mean(A·H) = mean(A·K). The (scale-invariant, c = 1) joint
    distance covariance of u and all columns is a sum of terms (Chakraborty and Zhang 2019, JASA 114). This
    mean is the sum of the terms that contain u. Dependence among the columns alone contributes no term to
    this sum. Both A and K are positive semi-definite, so mean(A·H) is not below 0.
    """
    if v.ndim == 2:
        return distance_correlation(u, v)
    return np.array([_joint_value(a, b.T) for a, b in zip(u, v, strict=True)])


def _joint_value(u: Array, columns: Array) -> float:
    """Return the joint distance correlation of one pair, (n,) and (d, n), in pieces of rows."""
    n = len(u)
    columns_and_u = standardised(np.stack([u, *(x for x in columns if varies(x))]))
    step = max(1, _JOINT_PIECE // n)
    pieces = [slice(start, start + step) for start in range(0, n, step)]
    means = np.empty_like(columns_and_u)
    for rows in pieces:
        means[:, rows] = np.abs(columns_and_u[:, rows, None] - columns_and_u[:, None, :]).mean(axis=-1)
    size = np.zeros(len(columns_and_u))
    for rows in pieces:
        size += (_centred_rows(columns_and_u, means, rows) ** 2).sum(axis=(1, 2))
    size = np.sqrt(size / n**2)
    # The sums of A·K, of K² and of the rows of K determine the sums after double centring.
    product_sum, squares, sums = 0.0, 0.0, np.empty(n)
    for rows in pieces:
        parts = _centred_rows(columns_and_u, means, rows) / size[:, None, None]
        product = np.prod(parts[1:] + 1, axis=0)
        product_sum += float((parts[0] * product).sum())
        squares += float((product**2).sum())
        sums[rows] = product.mean(axis=-1)
    spread = squares / n**2 - 2 * float((sums**2).mean()) + float(sums.mean()) ** 2
    if spread <= 0:
        return 0.0
    return float(np.sqrt(np.clip(product_sum / n**2 / np.sqrt(spread), 0.0, 1.0)))


def _centred_rows(columns_and_u: Array, means: Array, rows: slice) -> Array:
    """Return E|x − X| + E|x' − X| − |x − x'| − E|X − X'| for some rows x and all x', (columns, rows, n)."""
    distance = np.abs(columns_and_u[:, rows, None] - columns_and_u[:, None, :])
    centred: Array = means[:, rows, None] + means[:, None, :] - distance - means.mean(axis=-1)[:, None, None]
    return centred
