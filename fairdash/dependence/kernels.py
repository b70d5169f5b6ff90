"""Dependence in Gaussian kernel spaces: HSIC, HSIC of ranks and kernel canonical correlation.

A Gaussian kernel of one variable has nearly low rank: an incomplete Cholesky factor of n × r stands for the n
× n matrix, so that a value costs O(n r²) and no n × n matrix is ever formed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.classical import standardised
from fairdash.dependence.ranks import mid_ranks

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Share of the kernel matrix's trace that the factor may leave out.
_LEFT_OUT = 1e-8
#: Values among whose distances the median is taken.
_MEDIAN_OF = 200
#: Bach and Jordan (2002), section 4.3: κ for fewer than 1,000 rows, and for more.
_KAPPA_FEW, _KAPPA_MANY = 2e-2, 2e-3


def hsic(u: Array, v: Array, *, permutations: Index | None = None) -> Array:
    """Normalised Hilbert–Schmidt independence criterion of each pair of a stack.

    ⟨HKH, HLH⟩ / (‖HKH‖ ‖HLH‖) with Gaussian kernels K and L whose bandwidth is the median distance (Gretton
    et al. 2005, normalised as in Cortes, Mohri and Rostamizadeh 2012).

    Parameters
    ----------
    u, v : (K, n) arrays
    permutations : (B, n) array, optional
        Orders of the rows of v.

    Returns
    -------
    (K,) array, or (K, B) of permutations
        In [0, 1]; 1 when rows are as near in u as in v, up to scale. On few rows independence reads above 0.
    """
    return _hsic(standardised(u), standardised(v), permutations)


def chsic(u: Array, v: Array, *, permutations: Index | None = None) -> Array:
    """:func:`hsic` of the mid-ranks (Póczos, Ghahramani and Schneider 2012): unchanged by increasing maps."""
    return _hsic(mid_ranks(u), mid_ranks(v), permutations)


def kcca(u: Array, v: Array, *, permutations: Index | None = None) -> Array:
    """First regularised kernel canonical correlation of each pair of a stack (Bach and Jordan 2002).

    The largest singular value of R_u U_uᵀ U_v R_v, where U are the eigenvectors of the centred kernel matrix,
    λ its eigenvalues and R = λ / (λ + nκ/2) (their equation 11), with Gaussian kernels of bandwidth one
    standard deviation.

    Parameters
    ----------
    u, v : (K, n) arrays
    permutations : (B, n) array, optional
        Orders of the rows of v.

    Returns
    -------
    (K,) array, or (K, B) of permutations
        In [0, 1); what the regularisation leaves of the maximal correlation.
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
        """Whose inner product with another's is normalised HSIC."""
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
        # Among equal remainders the smallest value is taken: the order of the rows must not matter.
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
