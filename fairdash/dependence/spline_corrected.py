"""Spline HGR without what noise adds to the largest of many sample correlations.

Smooth functions and steps compete; the winner's in-sample value is corrected for how many functions it had.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.spline_basis import Basis
from fairdash.dependence.spline_fit import between, effective, foretold_of, of_all_rows, pairs
from fairdash.dependence.spline_steps import Cells, StepTables

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: By how much steps must foretell more than smooth functions, times √n: they are many, and one of them
#: exceeds the truth by chance.
_ADVANTAGE = 2.5
#: Pairs that are looked at at a time, so that their tables stay in the cache.
_PIECE = 64


def corrected(s: Array, p: Array, q: Array) -> Array:
    """Canonical correlation in the population, from the largest one in the sample.

    Parameters
    ----------
    s : (...) array
        The largest canonical correlation in the sample.
    p, q : (...) arrays
        Functions of u and of v per (effective) row.

    Returns
    -------
    (...) array
        √r of the larger root r of s² = (r + p(1 − r))(r + q(1 − r)) / r: the sample's value converges to
        that s as rows and functions grow together (Bao, Hu, Pan and Zhou 2019, Annals of Statistics 47).
        Below s² = (√(p(1 − q)) + √(q(1 − p)))² no root is real, noise alone reaches s, and the value is 0;
        just above it is (pq / ((1 − p)(1 − q)))^¼, .16 for 8 functions a side and 300 rows.
    """
    a, b = np.maximum(1 - p, 1e-9), np.maximum(1 - q, 1e-9)
    # ab·r² + half·2r + pq = 0
    half = (a * q + b * p - s**2) / 2
    inside = half**2 - a * b * p * q
    real = (inside >= 0) & (half < 0)
    r = (-half + np.sqrt(np.where(real, inside, 0.0))) / (a * b)
    return np.where(real, np.sqrt(np.clip(r, 0.0, 1.0)), 0.0)


def smallest_value(rows: float) -> float:
    """The least corrected value above 0, of two functions a side: a weaker link is reported as 0.

    With p = q = 2 / rows the edge of :func:`corrected` is at √(p / (1 − p)): .08 for 300 rows, .03 for 2,000.
    """
    return float(np.sqrt(2 / (rows - 2))) if rows > 4 else 1.0


def corrected_of(
    f: Basis, g: Basis, weight: Array | None, columns: int, groups: Index | None = None
) -> Array:
    """Corrected value of each pair from its functions, (K,); v has so many columns."""
    count, n = f.position.shape
    rows, fewest = _rows_of(effective(weight, n)[:, 0], f.dense, g.dense, weight, columns, groups)
    rows, result = np.broadcast_to(rows, count), np.empty(count)
    for start in range(0, count, _PIECE):
        piece = slice(start, start + _PIECE)
        a, b, own = f.part(piece), g.part(piece), None if weight is None else weight[piece]
        best = _best_of(*of_all_rows(a, b, own), rows[piece], columns)
        if columns == 1:
            best = _or_steps(best, StepTables.of(Cells.of(a, fewest), Cells.of(b, fewest), own))
        result[piece] = best.value
    return result


def corrected_of_orders(
    f: Basis, g: Basis, orders: Index, columns: int, groups: Index | None = None
) -> Array:
    """Corrected value of one pair for each order of v; bases of one member, ``(B, n) -> (B,)``."""
    count, n = orders.shape
    moved = g.dense[0][orders] if groups is not None else g.dense
    rows, fewest = _rows_of(np.array([float(n)]), f.dense, moved, None, columns, groups)
    at_u = np.empty(n, dtype=np.intp)
    at_u[f.position[0]] = np.arange(n)
    of_u = g.position[0][orders[:, at_u]]
    of_v = np.empty_like(of_u)
    np.put_along_axis(of_v, of_u, np.broadcast_to(np.arange(n), of_u.shape), axis=-1)
    found = between(f.tables[0], g.tables[0], of_u, of_v)
    smooth = _best_of(*found, np.broadcast_to(rows, count), columns)
    if columns > 1:
        return smooth.value
    a, b = Cells.of(f, fewest), Cells.of(g, fewest)
    return _or_steps(smooth, StepTables.of(a.repeated(count), b.reordered(orders), None)).value


def _rows_of(
    kish: Array, u: Index, v: Index, weight: Array | None, columns: int, groups: Index | None
) -> tuple[Array, float]:
    """Effective rows of each pair, and the fewest that they could be, which cells are made for.

    Rows of a group are no separate witnesses where both u and v are alike in it. An average of f(u)·g(v) has
    the variance of 1 + (m − 1)·ρ_u·ρ_v times fewer rows, m the mean size of a row's group and ρ the
    intraclass correlations (Kish 1965, section 5.4, for a product), here of ranks.
    """
    if groups is None:
        return kish, float(kish.min())
    if weight is None:
        size = (np.bincount(groups) ** 2).sum() / len(groups)
    else:
        size = np.array([(np.bincount(groups, w) ** 2).sum() / (w**2).sum() for w in weight])
    # Of several columns any may be alike.
    alike = _alike(u, groups) * (_alike(v, groups) if columns == 1 else 1.0)
    return kish / (1 + (size - 1) * alike), float((kish / size).min())


def _alike(ranks: Index, groups: Index) -> Array:
    """Correlation of two rows of a group, each pair counted once; ``(K, n) -> (K,)``, at least 0."""
    sizes = np.bincount(groups)
    pairs_of_rows = (sizes * (sizes - 1)).sum()
    if pairs_of_rows == 0:
        return np.zeros(len(ranks))
    z = ranks - ranks.mean(axis=1, keepdims=True)
    z = z / np.maximum(z.std(axis=1, keepdims=True), 1e-300)
    together = np.array([(np.bincount(groups, own) ** 2).sum() - (own**2).sum() for own in z])
    return np.clip(together / pairs_of_rows, 0.0, 1.0)


def _best_of(tall: Array, wide: Array, rows: Array, columns: int) -> _Candidate:
    """Of all sizes of smooth functions the one whose corrected value is largest."""
    best: _Candidate | None = None
    for _, _, s, p, q in pairs(tall, wide, columns):
        one = _Candidate(s, np.full(len(rows), float(p)), np.full(len(rows), float(q)), rows)
        best = one if best is None else best.or_where(one.value > best.value, one)
    assert best is not None
    return best


def _or_steps(best: _Candidate, tables: StepTables) -> _Candidate:
    """Steps where they foretell more; of steps that foretell alike, the finest follow jumps most closely."""
    margin = _ADVANTAGE / np.sqrt(best.rows)
    least = best.foretold + margin
    which = np.arange(len(least))
    # Few pairs are worth an eigenvalue: powers of the table bound it, the higher the closer.
    for squarings in (2, 4):
        hopeful = np.zeros(len(which), dtype=bool)
        for bound, p, q in tables.bounds(which, squarings):
            rows = best.rows[which]
            hopeful |= foretold_of(bound, p / rows, q / rows) > least[which]
        which = which[hopeful]
        if not len(which):
            return best
    own = best.of(which)
    steps = [_Candidate(s, p, q, own.rows) for s, p, q in tables.correlations(which)]
    most = np.max([one.foretold for one in steps], axis=0)
    wins, taken = most > least[which], np.zeros(len(which))
    for one in steps:
        finer = wins & (one.foretold > most - margin[which]) & (one.p * one.q > taken)
        own, taken = own.or_where(finer, one), np.where(finer, one.p * one.q, taken)
    return best.put(which, own)


@dataclass(frozen=True)
class _Candidate:
    """Functions of each pair of a stack, all (K,): their correlation, how many they are, rows."""

    s: Array
    p: Array
    q: Array
    rows: Array

    @cached_property
    def value(self) -> Array:
        return corrected(self.s, self.p / self.rows, self.q / self.rows)

    @cached_property
    def foretold(self) -> Array:
        return foretold_of(self.s, self.p / self.rows, self.q / self.rows)

    def or_where(self, condition: NDArray[np.bool_], other: _Candidate) -> _Candidate:
        """The other one's where the condition holds."""
        return _Candidate(
            np.where(condition, other.s, self.s),
            np.where(condition, other.p, self.p),
            np.where(condition, other.q, self.q),
            self.rows,
        )

    def of(self, which: Index) -> _Candidate:
        """Those of some of the pairs."""
        return _Candidate(self.s[which], self.p[which], self.q[which], self.rows[which])

    def put(self, which: Index, others: _Candidate) -> _Candidate:
        """With others' in the place of some of the pairs."""
        s, p, q = self.s.copy(), self.p.copy(), self.q.copy()
        s[which], p[which], q[which] = others.s, others.p, others.q
        return _Candidate(s, p, q, self.rows)
