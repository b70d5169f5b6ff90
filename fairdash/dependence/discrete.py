"""Maximal correlation of discrete variables, exact (Witsenhausen 1975)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairdash.errors import OptionError, Problem

Array = NDArray[np.float64]

#: Rows that a distinct value must have on average. With fewer, the table of counts is mostly chance: a
#: continuous variable would always read 1.
_ROWS_A_VALUE = 5


def hgr_witsenhausen(u: Array, v: Array, *, sample_weight: Array | None = None) -> Array:
    """Second singular value of Q = p(u, v) / √(p(u) p(v)) over the table of counts, for each pair of a stack.

    Parameters
    ----------
    u, v : (K, n) arrays
        Variables with few distinct values.
    sample_weight : (K, n) array, optional

    Returns
    -------
    (K,) array
        In [0, 1]: the maximal correlation of the empirical law, without any approximation.

    Raises
    ------
    OptionError
        If a variable has more distinct values than a fifth of the rows: it is continuous, or as good as that.
    """
    weight = np.ones(u.shape) if sample_weight is None else sample_weight
    return np.array([_one(a, b, w) for a, b, w in zip(u, v, weight, strict=True)])


def _one(u: Array, v: Array, weight: Array) -> float:
    codes, sizes = [], []
    for name, x in (("u", u), ("v", v)):
        values, code = np.unique(x, return_inverse=True)
        if len(values) * _ROWS_A_VALUE > max(len(x), 2 * _ROWS_A_VALUE):
            what = (
                f"Witsenhausen's formula needs discrete variables, but {name} has {len(values):,} distinct "
                f"values in {len(x):,} rows; of a continuous one it would read 1 whatever the dependence"
            )
            mend = "Choose hgr_spline, hgr_kde or hgr_nn, or group the values first."
            raise OptionError(Problem(what=what, mend=mend, column=name))
        codes.append(code)
        sizes.append(len(values))
    table = np.bincount(codes[0] * sizes[1] + codes[1], weight, sizes[0] * sizes[1]).reshape(sizes)
    table = table / table.sum()
    root = np.sqrt(np.outer(table.sum(axis=1), table.sum(axis=0)))
    # Without the first singular triple, which is 1 with vectors √p(u) and √p(v).
    rest = np.divide(table, root, out=np.zeros_like(table), where=root > 0) - root
    return min(float(np.linalg.norm(rest, 2)), 1.0)
