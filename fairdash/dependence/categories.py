"""Spline HGR between a category and a number: any function of the level with a smooth function of the rank.

>>> import numpy as np
>>> v = np.linspace(0, 1, 200)
>>> float(hgr_of_bases(category_basis((v > 0.5).astype(int)), number_basis(v))[0].round(2))
0.95
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.spline import scores
from fairdash.dependence.spline_basis import WIDTH, Basis, basis, orthonormal

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def category_basis(codes: NDArray[np.integer]) -> Basis:
    """Functions of a category: its levels from the commonest on, uncorrelated, with mean 0 and variance 1.

    Parameters
    ----------
    codes : (n,) array
        Level of each row, in any numbering.

    Returns
    -------
    Basis
        Of one member. More levels than a spline has functions are one level together, the rarest ones.
    """
    _, level, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), dtype=np.intp)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    level = np.minimum(rank[level], WIDTH)
    mass = np.bincount(level) / len(level)
    # One level fewer than there are: the last is told by the others.
    functions = np.zeros((len(mass), WIDTH))
    functions[:, : len(mass) - 1] = np.eye(len(mass))[:, :-1]
    position = level[None]
    return Basis(
        tables=[orthonormal(functions, mass)],
        member=np.zeros(1, dtype=np.intp),
        position=position,
        dense=position,
    )


def number_basis(values: Array) -> Basis:
    """Smooth functions of the ranks of one column of numbers; ``(n,)`` to a basis of one member."""
    return basis(np.asarray(values, dtype=np.float64)[None])


def reordered(one: Basis, orders: Index) -> Basis:
    """The same functions at the rows in several orders; ``(B, n)`` orders give a basis of B members."""
    return Basis(
        tables=one.tables,
        member=np.zeros(len(orders), dtype=np.intp),
        position=one.position[0][orders],
        dense=one.dense[0][orders],
    )


def hgr_of_bases(f: Basis, g: Basis) -> Array:
    """Spline HGR, cross-fitted, of one column with each member of `g`, (B,)."""
    same = np.broadcast_to(np.arange(f.position.shape[1]), g.position.shape)
    return scores(reordered(f, same), g, None, "cross_fit")
