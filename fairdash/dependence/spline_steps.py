"""Step functions of the ranks, for what smooth ones can't follow: jumps, and the ends of the range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.ranks import mid_ranks
from fairdash.dependence.spline_basis import Basis

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Effective rows that a cell must have: with fewer, chance alone makes large singular values.
ROWS_A_CELL = 7.5
#: By how much a bound may fall short of what it bounds in rounding.
_ROUNDING = 1 + 1e-9
#: How many equal cells one side may have where the other has those of :func:`tail_edges`.
_MOST, _LEAST = 256, 32
#: The lower half of the edges of cells that are narrow where the range ends.
_TAIL = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.21, 0.25, 0.29, 1 / 3, 0.42, 0.5)


@dataclass(frozen=True)
class Cells:
    """In which cells each row of a stack lies.

    Attributes
    ----------
    tails : (K, n) array
        Cells between :func:`tail_edges`.
    fine : (K, n) array or None
        Equal cells, as many as the rows allow; None where they allow fewer than are of use.
    n_tails, n_fine
        How many there are.
    """

    tails: Index
    fine: Index | None
    n_tails: int
    n_fine: int

    @classmethod
    def of(cls, x: Basis, rows: float) -> Cells:
        """The cells of a variable by its mid-ranks; `rows` is the (fewest) effective number of them."""
        n = x.position.shape[1]
        edges = tail_edges(rows)
        finest = _MOST
        while finest * ROWS_A_CELL > rows:
            finest //= 2
        places = (np.arange(n) + 0.5) / n
        tied = np.flatnonzero(x.dense.max(axis=1) < n - 1)
        ranks = mid_ranks(x.dense[tied].astype(np.float64))

        def at(cell_of: Callable[[Array], Index]) -> Index:
            # Without ties a row's rank is its place, so that all members share one table of cells.
            found: Index = np.take(cell_of(places), x.position, mode="clip")
            if len(tied):
                found[tied] = cell_of(ranks)
            return found

        fine = None
        if finest >= _LEAST:
            fine = at(lambda rank: np.minimum((rank * finest).astype(np.intp), finest - 1))
        return cls(at(lambda rank: np.searchsorted(edges, rank)), fine, len(edges) + 1, finest)

    def repeated(self, count: int) -> Cells:
        """The only member's cells, so many times."""
        shape = (count, self.tails.shape[1])
        fine = None if self.fine is None else np.broadcast_to(self.fine, shape)
        return Cells(np.broadcast_to(self.tails, shape), fine, self.n_tails, self.n_fine)

    def reordered(self, orders: Index) -> Cells:
        """The only member's cells with its rows in several orders, (B, n)."""
        fine = None if self.fine is None else self.fine[0][orders]
        return Cells(self.tails[0][orders], fine, self.n_tails, self.n_fine)


@dataclass(frozen=True)
class StepTables:
    """Shares of the mass in pairs of cells, of K pairs of variables, for each choice of cells.

    Attributes
    ----------
    grams : list of (K, c, c) arrays
        QᵀQ of each table's Q = share / √(share of the row × share of the column), without the constants.
    p, q : lists of (K,) arrays
        How many functions besides the constant each side had.
    """

    grams: list[Array]
    p: list[Array]
    q: list[Array]

    @classmethod
    def of(cls, a: Cells, b: Cells, weight: Array | None) -> StepTables:
        """From the cells of u and of v, and the rows' weights, (K, n)."""
        grams, p, q = [], [], []

        def add(shares: Array, *, swapped: bool) -> None:
            gram, of_rows, of_columns = _gram(shares)
            grams.append(gram)
            p.append(of_columns if swapped else of_rows)
            q.append(of_rows if swapped else of_columns)

        add(_shares(a.tails, b.tails, a.n_tails, b.n_tails, weight), swapped=False)
        for fine, coarse, swapped in ((a, b, False), (b, a, True)):
            if fine.fine is None:
                break
            shares = _shares(fine.fine, coarse.tails, fine.n_fine, coarse.n_tails, weight)
            while shares.shape[1] >= _LEAST:
                add(shares, swapped=swapped)
                shares = shares[:, ::2] + shares[:, 1::2]
        return cls(grams, p, q)

    def bounds(self, which: Index, squarings: int) -> Iterator[tuple[Array, Array, Array]]:
        """For each choice of cells what the first canonical correlation can't exceed, p and q; (k,) each."""
        for gram, p, q in zip(self.grams, self.p, self.q, strict=True):
            power = gram if len(which) == len(gram) else gram[which]
            for _ in range(squarings):
                power = power @ power
            # The squares of a power's entries sum to those of its eigenvalues, of which one is the largest's.
            total = np.einsum("kij,kij->k", power, power)
            yield total ** (0.25 * 0.5**squarings) * _ROUNDING, p[which], q[which]

    def correlations(self, which: Index) -> Iterator[tuple[Array, Array, Array]]:
        """First canonical correlations of some of the pairs, in sample, p and q; (k,) each."""
        for gram, p, q in zip(self.grams, self.p, self.q, strict=True):
            squares = np.linalg.eigvalsh(gram[which])[:, -1]
            yield np.sqrt(np.maximum(squares, 0.0)), p[which], q[which]


def tail_edges(rows: float) -> Array:
    """Ranks in (0, 1) between cells that are narrow in both tails, each of at least ROWS_A_CELL rows."""
    lower = [0.0]
    for edge in _TAIL:
        if (edge - lower[-1]) * rows >= ROWS_A_CELL:
            lower.append(edge)
    below = np.array([edge for edge in lower[1:] if (0.5 - edge) * rows >= ROWS_A_CELL or edge == 0.5])
    return np.union1d(below, 1 - below)


def _shares(a: Index, b: Index, count_a: int, count_b: int, weight: Array | None) -> Array:
    """Share of the mass in each pair of cells; ``(K, n), (K, n) -> (K, count_a, count_b)``."""
    members = len(a)
    place = a + np.arange(members)[:, None] * count_a
    place *= count_b
    place += b
    mass = None if weight is None else (weight / weight.sum(axis=-1, keepdims=True)).ravel()
    found = np.bincount(place.ravel(), mass, minlength=members * count_a * count_b)
    shares: Array = found.reshape(members, count_a, count_b) / (a.shape[1] if weight is None else 1.0)
    return shares


def _gram(shares: Array) -> tuple[Array, Array, Array]:
    """Q'Q without the constants, and how many functions besides the constant either side has."""
    of_a, of_b = shares @ np.ones(shares.shape[2]), np.ones(shares.shape[1]) @ shares
    rows, columns = (np.divide(1, x, out=np.zeros_like(x), where=x > 0) for x in (of_a, of_b))
    root = np.sqrt(of_b)
    scaled = shares.swapaxes(1, 2) @ (shares * rows[:, :, None])
    gram = scaled * (np.sqrt(columns)[:, :, None] * np.sqrt(columns)[:, None, :])
    gram -= root[:, :, None] * root[:, None, :]
    return gram, (of_a > 0).sum(axis=1) - 1.0, (of_b > 0).sum(axis=1) - 1.0
