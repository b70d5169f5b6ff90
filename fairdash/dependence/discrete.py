"""Maximal correlation of discrete variables, exact (Witsenhausen 1975)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def hgr_witsenhausen(u: Array, v: Array, *, sample_weight: Array | None = None) -> Array:
    """Second singular value of Q = p(u, v) / √(p(u) p(v)) over the table of counts, for each pair of a stack.

    Parameters
    ----------
    u, v : (K, n) arrays
        Variables with few distinct values; others are refused before they come here.
    sample_weight : (K, n) array, optional

    Returns
    -------
    (K,) array
        In [0, 1]: the maximal correlation of the empirical law, without any approximation.
    """
    weight = np.ones(u.shape) if sample_weight is None else sample_weight
    return np.array([_one(a, b, w) for a, b, w in zip(u, v, weight, strict=True)])


def _one(u: Array, v: Array, weight: Array) -> float:
    (values_u, u_code), (values_v, v_code) = (np.unique(x, return_inverse=True) for x in (u, v))
    shape = (len(values_u), len(values_v))
    table = np.bincount(u_code * shape[1] + v_code, weight, shape[0] * shape[1]).reshape(shape)
    table = table / table.sum()
    root = np.sqrt(np.outer(table.sum(axis=1), table.sum(axis=0)))
    # Without the first singular triple, which is 1 with vectors √p(u) and √p(v).
    rest = np.divide(table, root, out=np.zeros_like(table), where=root > 0) - root
    return min(float(np.linalg.norm(rest, 2)), 1.0)
