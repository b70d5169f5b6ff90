"""Spline HGR without what noise adds to the largest of many sample correlations.

Two functions a side come first, and what they show is never taken away. More functions, and then steps, raise
the value by what the rows tell of them: their gain is multiplied by a weight that goes from 0 to 1 as the
evidence grows, so that a weak link is not read off the luckiest of many sizes, and no link has an edge at
which the value jumps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.spline_basis import Basis
from fairdash.dependence.spline_fit import between, effective, foretold_of, of_all_rows, pairs
from fairdash.dependence.spline_steps import Cells, StepTables

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Tracy–Widom statistics (:func:`evidence`) at which smooth functions begin to count and count in full; found
#: on the laws of benchmarks/one_number_laws.py.
_SMOOTH = (1.5, 4.0)
#: The same for steps, of which there are many more, and whose tables have longer tails.
_STEPS = (4.0, 7.0)
#: By how much steps must predict more than smooth functions, times √n, to begin to count and in full.
_ADVANTAGE = (1.5, 1.8)
#: Of steps that predict nearly alike, within so much times √n, the finest follow jumps most closely.
_ALIKE = (2.4, 2.6)
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


def evidence(s: Array, p: Array, q: Array, rows: Array) -> Array:
    """How far the largest canonical correlation of a sample is beyond what independence gives.

    Parameters
    ----------
    s : (...) array
        The largest canonical correlation in the sample.
    p, q, rows : (...) arrays
        Functions of u and of v, and (effective) rows.

    Returns
    -------
    (...) array
        (log(s² / (1 − s²)) − μ) / σ, for normal variables of Tracy and Widom's law for independence: mean
        −1.2, above 0.98 in 5 % and above 2.02 in 1 % of samples (Johnstone 2008, Annals of Statistics 36,
        equations 5 and 6).
    """
    total = np.maximum(rows - 1, 1.0)
    low, high = np.minimum(p, q), np.maximum(p, q)
    gamma, phi = (2 * np.arcsin(np.sqrt(np.clip((count - 0.5) / total, 1e-6, 0.99))) for count in (low, high))
    centre = 2 * np.log(np.tan(np.minimum((phi + gamma) / 2, 1.57)))
    spread = np.sin(np.minimum(phi + gamma, 3.14)) ** 2 * np.sin(phi) * np.sin(gamma)
    share = np.clip(s**2, 1e-300, 1 - 1e-12)
    return np.asarray((np.log(share / (1 - share)) - centre) / np.cbrt(16 / total**2 / spread))


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
        best = _smooth(*of_all_rows(a, b, own), a, b, rows[piece], columns)
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
    smooth = _smooth(*found, f, g, np.broadcast_to(rows, count), columns)
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


@dataclass(frozen=True)
class _Link:
    """What smooth functions show of each pair: its value, the most that a size predicts, rows; all (K,)."""

    value: Array
    predicted: Array
    rows: Array


def _smooth(tall: Array, wide: Array, f: Basis, g: Basis, rows: Array, columns: int) -> _Link:
    """The smallest size of functions, raised by what larger ones have earned."""
    of_u, of_v = _functions(f), _functions(g)
    sizes = [(s, of_u[:, many - 1], of_v[:, few - 1]) for _, _, s, many, few in pairs(tall, wide, columns)]
    s, p, q = sizes[0]
    # Noise adds pq / n to the squares of so few correlations.
    noise = np.minimum(p * q / rows, 1.0)
    base = np.sqrt(np.clip((s**2 - noise) / np.maximum(1 - noise, 1e-9), 0.0, 1.0))
    predicted = [foretold_of(s, p / rows, q / rows) for s, p, q in sizes]
    gains = [
        _between(evidence(s, p, q, rows), *_SMOOTH) * (corrected(s, p / rows, q / rows) - base)
        for s, p, q in sizes
    ]
    return _Link(base + np.maximum(np.max(gains, axis=0), 0.0), np.max(predicted, axis=0), rows)


def _functions(x: Basis) -> Array:
    """How many of the first 1, 2, … functions ties leave, (K or 1, P)."""
    counts = np.array([np.cumsum(table.any(axis=0)) for table in x.tables], dtype=float)
    return counts[x.member]


def _between(x: Array, low: float, high: float) -> Array:
    """0 up to `low`, 1 from `high`, smooth between (a cubic)."""
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3 - 2 * t)


def _or_steps(smooth: _Link, tables: StepTables) -> _Link:
    """The smooth functions' link, moved to that of steps as far as these predict more."""
    root = np.sqrt(smooth.rows)
    least = smooth.predicted + _ADVANTAGE[0] / root
    which = np.arange(len(least))
    # Few pairs are worth an eigenvalue: powers of the table bound it, the higher the closer.
    for squarings in (2, 4):
        hopeful = np.zeros(len(which), dtype=bool)
        for bound, p, q in tables.bounds(which, squarings):
            rows = smooth.rows[which]
            hopeful |= (foretold_of(bound, p / rows, q / rows) > least[which]) & (
                evidence(bound, p, q, rows) > _STEPS[0]
            )
        which = which[hopeful]
        if not len(which):
            return smooth
    rows, root = smooth.rows[which], root[which]
    s, p, q = (np.array(each) for each in zip(*tables.correlations(which), strict=True))
    told, found = foretold_of(s, p / rows, q / rows), corrected(s, p / rows, q / rows)
    most, shown = told.max(axis=0), evidence(s, p, q, rows).max(axis=0)
    # From coarse to fine; cells of one size in the order of their values, whichever variable has the more.
    order = np.lexsort((found, p * q), axis=0)
    told, found = (np.take_along_axis(each, order, axis=0) for each in (told, found))
    value = np.zeros_like(most)
    for one, predicted in zip(found, told, strict=True):
        value = value + _between(root * (predicted - most), -_ALIKE[1], -_ALIKE[0]) * (one - value)
    advantage = _between(root * (most - smooth.predicted[which]), *_ADVANTAGE)
    share = _between(shown, *_STEPS) * advantage
    moved = smooth.value.copy()
    moved[which] += share * (value - moved[which])
    return _Link(moved, smooth.predicted, smooth.rows)
