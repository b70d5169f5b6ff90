"""Randomised dependence coefficient (Lopez-Paz, Hennig and Schölkopf 2013)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.classical import mid_ranks
from fairdash.dependence.inference import weighted_orders
from fairdash.dependence.spline_basis import Basis, tabulated_functions
from fairdash.errors import OptionError, require_count

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: A direction counts as a rounding error if its size, relative to the largest direction, is below this value,
#: as in R's cancor.
_MIN_RELATIVE_SIZE = 1e-7


def hgr_rdc(
    u: Array,
    v: Array,
    *,
    sample_weight: Array | None = None,
    random_state: int | None = None,
    n_projections: int = 20,
    scale: float = 1 / 6,
    repeats: int = 1,
    permutations: Index | None = None,
    permute_weight: bool = False,
) -> Array:
    """Return the RDC of each pair: the first canonical correlation of random sines of the ranks.

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array
        Variables; only their mid-ranks are used. Tied values share one rank, so the order of the rows
        has no effect. With several columns, the sines use random sums of the columns' ranks.
    sample_weight : (K, n) array, optional
    random_state
        Seed of the projections. All pairs, and both variables, use the same projections.
    n_projections
        Number of sines of each variable (k in the source).
    scale
        Twice the standard deviation of a projection's coefficients (s in the source).
    repeats
        Number of draws of the projections; the result is the median over the draws.
    permutations : (B, n) array, optional
        Permutations of the rows of v.
    permute_weight
        True if the weights of permuted rows move with v, False if they stay with u.

    Returns
    -------
    (K,) array, or (K, B) with permutations
        RDC in [0, 1]. Slow sines are close to polynomials of low degree in the ranks, so RDC misses
        associations that have many waves.

    Raises
    ------
    OptionError
        Raised if ``n_projections`` or ``repeats`` is below 1, or ``scale`` is not positive.
    """
    for name, value in (("n_projections", n_projections), ("repeats", repeats)):
        require_count(value, column=name)
    if not 0 < scale < np.inf:
        raise OptionError.of("The scale is not valid", "Give a number above 0.", column="scale")
    rng = np.random.default_rng(random_state)
    draws = []
    for _ in range(repeats):
        # The columns are the ranks and a constant, and the source divides the scale by the number of columns.
        coefficients = rng.normal(size=(2 if v.ndim == 2 else 1 + v.shape[2], n_projections))
        directions = partial(_directions, coefficients=coefficients, scale=scale)
        if permutations is not None and sample_weight is not None:
            draws.append(
                weighted_orders(
                    directions, _values, u, v, sample_weight, permutations, permute_weight=permute_weight
                )
            )
            continue
        f, g = (directions(x, sample_weight) for x in (u, v))
        draws.append(_values(f, g, sample_weight, permutations))
    return np.median(draws, axis=0)


def _directions(x: Array, weight: Array | None, coefficients: Array, scale: float) -> Basis:
    """Return principal directions of the sines of ranks, with variance 1; rounding errors become zeros."""
    columns = x[:, :, None] if x.ndim == 2 else x
    *slopes, shifts = coefficients[-1 - columns.shape[2] :] * scale / (1 + columns.shape[2])
    if weight is None and x.ndim == 2:

        def sines(mass: Array) -> Array:
            return np.sin((np.cumsum(mass) - mass / 2)[:, None] * slopes[0] + shifts)

        n = x.shape[1]
        features = tabulated_functions(x, sines)
        return replace(features, tables=[_principal(table, np.full(n, 1 / n)) for table in features.tables])
    rows = np.broadcast_to(np.arange(x.shape[1]), x.shape[:2])
    mass = np.ones(rows.shape) if weight is None else weight
    ranks = mid_ranks(np.moveaxis(columns, 2, 0), weight)
    share = mass / mass.sum(axis=-1, keepdims=True)
    tables = [
        _principal(np.sin(np.stack(list(rank), axis=1) @ np.stack(slopes) + shifts), row_mass)
        for rank, row_mass in zip(np.moveaxis(ranks, 1, 0), share, strict=True)
    ]
    return Basis(tables=tables, member=np.arange(len(x)), position=rows, dense=rows)


def _principal(features: Array, mass: Array) -> Array:
    """Return the principal directions with variance 1 under `mass`, which sums to 1; (n, P) to (n, P)."""
    centred = features - mass @ features
    triangle = np.linalg.qr(centred * np.sqrt(mass)[:, None], mode="r")
    _, size, axes = np.linalg.svd(triangle, full_matrices=False)
    is_large = size > _MIN_RELATIVE_SIZE * size[0]
    result = np.zeros_like(features)
    result[:, : is_large.sum()] = centred @ (axes[is_large].T / size[is_large])
    return result


def _values(f: Basis, g: Basis, weight: Array | None, permutations: Index | None = None) -> Array:
    """Return the largest correlation between directions of each pair, (K,), or for each permutation, (K, B).

    If f has directions of only one variable, this variable is paired with every variable of g.
    """
    values = []
    for k in range(len(g.member)):
        of_u = k if len(f.member) > 1 else 0
        of_f, of_g = (side.tables[side.member[i]][side.position[i]] for side, i in ((f, of_u), (g, k)))
        mass = 1 / len(of_f) if weight is None else (weight[k] / weight[k].sum())[:, None]
        weighed = (of_f * mass).T
        if permutations is None:
            products = weighed @ of_g
        else:
            products = np.stack([weighed @ of_g.take(order, axis=0) for order in permutations])
        # The Gram matrix gives the largest singular value with the same accuracy in a third of the time.
        squares = np.linalg.eigvalsh(products @ products.swapaxes(-2, -1))[..., -1]
        values.append(np.sqrt(np.clip(squares, 0.0, 1.0)))
    return np.array(values)
