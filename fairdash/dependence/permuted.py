"""Permutation values of a measure with row weights, with little repeated work.

A weight stays with u or moves with v (:meth:`fairdash.dependence.api.Estimator.null`). The variable that
keeps the weight has the same weighted margin in every order, and the other's margin changes. All models share
one s, so its orders are prepared once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Side = TypeVar("Side")


def weighted_orders(
    prepared: Callable[[Array, Array], Side],
    value: Callable[[Any, Side, Array], Array],
    u: Array,
    v: Array,
    weight: Array,
    orders: Index,
    *,
    weight_moves: bool,
    prepared_u: Callable[[Array, Array], Any] | None = None,
    piece: int = 200_000,
) -> Array:
    """Return the value of each pair at each order of v, (K, B); with several values each (K, B, ...).

    Parameters
    ----------
    prepared
        Prepared values of one variable, from its values and weights (B, n).
    value
        From what is prepared of u, of one member or of B, that of v and the weights: (B, ...).
    u, v, weight : (K, n) arrays
    orders : (B, n) array
        Rows of v; one may come several times.
    prepared_u
        As `prepared`, where it needs something else of u.
    weight_moves
        Whether the weights of permuted rows go with v, or stay with u.
    piece
        Permuted rows that are held at a time.
    """
    by_pair: list[list[Array]] = [[] for _ in u]
    prepared_u = prepared_u or prepared
    # With fixed weights, every order has the same value.
    stay = [] if weight_moves else [prepared_u(u[k : k + 1], weight[k : k + 1]) for k in range(len(u))]
    step = max(1, piece // u.shape[1])
    for start in range(0, len(orders), step):
        taken = orders[start : start + step]
        of_v = None
        for k in range(len(u)):
            own = weight[k][taken] if weight_moves else np.broadcast_to(weight[k], taken.shape)
            if of_v is None or not (_is_as_before(v, k) and _is_as_before(weight, k)):
                of_v = prepared(v[k][taken], own)
            of_u = prepared_u(np.broadcast_to(u[k], taken.shape), own) if weight_moves else stay[k]
            by_pair[k].append(value(of_u, of_v, own))
    return np.stack([np.concatenate(each) for each in by_pair])


def _is_as_before(x: Array, k: int) -> bool:
    return x.strides[0] == 0 or bool((x[k] == x[k - 1]).all())
