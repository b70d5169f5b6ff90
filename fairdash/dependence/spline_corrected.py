"""Spline HGR with a correction for noise, which inflates the largest of many sample correlations.

The estimate starts with two functions of each variable, which always have full weight. Further smooth
functions, and then step functions, raise the estimate if there is enough evidence of a link
(:func:`evidence`). The weight of this increase grows from 0 to 1 with the evidence. Otherwise, selecting
the best of many numbers of functions would inflate a weak link by chance. If both columns have ties, such as
many zeros, a few rows may determine a correlation. The correction then uses the number of these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.classical import mid_ranks
from fairdash.dependence.spline_basis import (
    FEW,
    Basis,
    effective_rows,
    of_all_rows,
    pairs,
    predicted_correlation,
    untied_table,
)

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Codes = NDArray[np.uint16]
Tables = list[tuple[Array, Array, Array, Array]]

#: The weight of smooth functions rises from 0 at the first of these Tracy–Widom statistics (:func:`evidence`)
#: to 1 at the second. Both were calibrated on the distributions of benchmarks/one_number_laws.py.
_SMOOTH = (1.5, 4.0)
#: The weight of step functions rises from 0 at the first of these Tracy–Widom statistics to 1 at the second.
#: Step functions are more numerous than smooth functions, and their statistics have longer tails.
_STEPS = (4.0, 7.0)
#: Differences between the correlations that step functions and smooth functions predict, times √n. The weight
#: of step functions rises from 0 at the first difference to 1 at the second.
_ADVANTAGE = (1.5, 1.8)
#: Differences from the highest predicted correlation, times √n. Below the first difference, the finest steps
#: are preferred, because they follow jumps most closely. Above the second, they are not used.
_CLOSE_PREDICTIONS = (2.4, 2.6)
#: Number of pairs whose tables are in memory at a time.
_PIECE = 256
#: Minimum effective number of rows per cell. With fewer rows per cell, noise alone gives large singular
#: values.
ROWS_A_CELL = 7.5
#: Functions count as spread over all rows if E h² / p² is at most this value (:func:`_support_weight`).
#: Without ties, E h² / p² is at most 1.4.
_MAX_SPREAD_RATIO = 1.5
#: Factor by which a bound is increased, because rounding errors could make it too low.
_ROUNDING = 1 + 1e-9
#: `_MAX_CELLS` and `_MIN_CELLS` are the maximum and minimum numbers of equal cells of one variable if the
#: other variable has the cells of :func:`tail_edges`.
_MAX_CELLS, _MIN_CELLS = 256, 32
#: Lower half of the edges of the cells, which become narrower towards the end of the range.
_TAIL = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.21, 0.25, 0.29, 1 / 3, 0.42, 0.5)


def corrected(s: Array, p: Array, q: Array) -> Array:
    """Return the canonical correlation in the population, given the largest one in a sample.

    Parameters
    ----------
    s : (...) array
        Largest canonical correlation in the sample.
    p, q : (...) arrays
        Numbers of functions of u and of v per (effective) row.

    Returns
    -------
    (...) array
        Correlation √r, where r is the larger root of s² = (r + p(1 − r))(r + q(1 − r)) / r. The sample value
        converges to s in this equation as the numbers of rows and functions grow together (Bao, Hu, Pan and
        Zhou 2019, Annals of Statistics 47). Below s² = (√(p(1 − q)) + √(q(1 − p)))², noise alone can give s
        and no root is real, so the returned correlation is 0. Just above this threshold, the returned
        correlation is (pq / ((1 − p)(1 − q)))^¼, which is 0.16 for 8 functions per variable and 300 rows.
    """
    a, b = np.maximum(1 - p, 1e-9), np.maximum(1 - q, 1e-9)
    # The equation to solve is ab·r² + half·2r + pq = 0.
    half_sum = (a * q + b * p - s**2) / 2
    discriminant = half_sum**2 - a * b * p * q
    real = (discriminant >= 0) & (half_sum < 0)
    r = (-half_sum + np.sqrt(np.where(real, discriminant, 0.0))) / (a * b)
    return np.where(real, np.sqrt(np.clip(r, 0.0, 1.0)), 0.0)


def evidence(s: Array, p: Array, q: Array, rows: Array) -> Array:
    """Return the standardised excess of the largest canonical correlation over its value under independence.

    Parameters
    ----------
    s : (...) array
        Largest canonical correlation in the sample.
    p, q, rows : (...) arrays
        Numbers of functions of u and of v, and (effective) number of rows.

    Returns
    -------
    (...) array
        Excess (log(s² / (1 − s²)) − μ) / σ. For independent normal variables, the excess follows the
        Tracy–Widom distribution, whose mean is −1.2. In 5 % of samples the excess is above 0.98, and in 1 %
        above 2.02 (Johnstone 2008, Annals of Statistics 36, equations 5 and 6).
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
    """Return the corrected value of each pair, (K,), from functions of u and of v with `columns` columns."""
    count, n = f.position.shape
    n_rows = effective_rows(weight, n)[:, 0]
    rows, min_rows = _effective_rows(n_rows, f.dense, g.dense, weight, columns, groups)
    rows, result = np.broadcast_to(rows, count), np.empty(count)
    for start in range(0, count, _PIECE):
        piece = slice(start, start + _PIECE)
        a, b, weights = f.part(piece), g.part(piece), None if weight is None else weight[piece]
        value, predicted = _smooth_estimate(*of_all_rows(a, b, weights), a, b, weights, rows[piece], columns)
        if columns == 1:
            tied = _has_ties(a) & _has_ties(b)
            tables = step_tables(Cells.of(a, min_rows), Cells.of(b, min_rows), weights, rows[piece], tied)
            value = _combine_with_steps(value, predicted, rows[piece], tables)
        result[piece] = value
    return result


def _effective_rows(
    kish: Array, u: Index, v: Index, weight: Array | None, columns: int, groups: Index | None
) -> tuple[Array, float]:
    """Return the effective number of rows of each pair, and a lower bound for all pairs, to choose the cells.

    Rows of a group are not independent if both u and v are similar within the group. The effective number of
    rows for an average of f(u)·g(v) is then smaller by the factor 1 + (m − 1)·ρ_u·ρ_v. Here, m is the mean
    size of a row's group and ρ are the intraclass correlations of ranks (Kish 1965, section 5.4, for a
    product).
    """
    if groups is None:
        return kish, float(kish.min())
    if weight is None:
        size = (np.bincount(groups) ** 2).sum() / len(groups)
    else:
        size = np.array([(np.bincount(groups, w) ** 2).sum() / (w**2).sum() for w in weight])
    # If v has several columns, rows of a group may be equal in any of the columns.
    similarity = _intraclass_correlation(u, groups) * (
        _intraclass_correlation(v, groups) if columns == 1 else 1.0
    )
    return kish / (1 + (size - 1) * similarity), float((kish / size).min())


def _intraclass_correlation(ranks: Index, groups: Index) -> Array:
    """Return the rank correlation of two rows of the same group; ``(K, n) -> (K,)``, at least 0."""
    sizes = np.bincount(groups)
    pairs_of_rows = (sizes * (sizes - 1)).sum()
    if pairs_of_rows == 0:
        return np.zeros(len(ranks))
    if ranks.strides[0] == 0:
        # All pairs share one column, which is ranked once.
        ranks = ranks[:1]
    z = ranks - ranks.mean(axis=1, keepdims=True)
    z = z / np.maximum(z.std(axis=1, keepdims=True), 1e-300)
    pair_sums = np.array([(np.bincount(groups, scores) ** 2).sum() - (scores**2).sum() for scores in z])
    return np.clip(pair_sums / pairs_of_rows, 0.0, 1.0)


def _smooth_estimate(
    tall_part: Array, wide: Array, f: Basis, g: Basis, weight: Array | None, rows: Array, columns: int
) -> tuple[Array, Array]:
    """Return the corrected estimate from smooth functions, and the highest predicted correlation.

    The estimate is the value from few functions plus the weighted gain from more functions.
    """
    _, _, values, n_many, few = zip(*pairs(tall_part, wide, columns), strict=True)
    s, u, v = np.array(values), np.array(n_many), np.array(few)
    p, q = _n_nonzero_functions(f)[:, u - 1].T, _n_nonzero_functions(g)[:, v - 1].T
    n, support = np.broadcast_to(rows, s.shape), np.ones_like(s)
    # Without ties, all functions are spread over all rows.
    tied = _has_ties(f) | _has_ties(g) if columns == 1 else np.ones(s.shape[1], dtype=bool)
    if tied.any():
        squares_u, squares_v = _squares(f, weight, u), _squares(g, weight, v, columns)
        n = np.where(tied, rows_behind(rows, p, q, squares_u, squares_v), rows)
        for squares, count, is_more in ((squares_u, p, u > FEW), (squares_v, q, v > FEW * columns)):
            share = _support_weight(rows, count[is_more], squares[is_more])
            support[is_more] *= np.where(tied, share, 1.0)
    # Noise adds pq / n to the squared correlations.
    noise = np.minimum((p * q / n)[0], 1.0)
    base = np.sqrt(np.clip((s[0] ** 2 - noise) / np.maximum(1 - noise, 1e-9), 0.0, 1.0))
    shares = support * _smooth_step(evidence(s, p, q, n), *_SMOOTH)
    gain = (shares * (corrected(s, p / n, q / n) - base)).max(axis=0)
    return base + np.maximum(gain, 0.0), predicted_correlation(s, p / n, q / n).max(axis=0)


def rows_behind(rows: Array, p: Array, q: Array, squares_u: Array, squares_v: Array) -> Array:
    """Return the number of rows that determine the correlations of p and q functions.

    Parameters
    ----------
    rows, p, q : (...) arrays
    squares_u, squares_v : (...) arrays
        E h², where h is the sum of the p (or q) squared functions. E h² is p(p + 2) for normal variables and
        larger if the functions are far from 0 in only a few rows (Mardia's kurtosis).

    Returns
    -------
    (...) array
        Number of rows, divided by 1 + (E h_u² − p(p + 2)) (E h_v² − q(q + 2)) / (2pqn). Under independence,
        the variance of the sum of the squared correlations is this divisor times 2pq / n². For normal
        functions, the divisor is 1. If both columns are mostly zeros, few rows have nonzero values in both
        columns.
    """
    excess = [np.maximum(h - k * (k + 2), 0.0) for h, k in ((squares_u, p), (squares_v, q))]
    return np.asarray(rows / (1 + excess[0] * excess[1] / np.maximum(2 * p * q * rows, 1e-300)))


def _support_weight(rows: Array, p: Array, squares: Array) -> Array:
    """Return the weight of p functions, which falls from 1 to 0 if few rows determine the functions."""
    variation = squares / np.maximum(p, 1.0) ** 2
    support = np.maximum(
        rows / (variation * np.maximum(p, 1.0) * ROWS_A_CELL), _MAX_SPREAD_RATIO / np.maximum(variation, 1.0)
    )
    return _smooth_step(support, 2 / 3, 1.0)


def _squares(x: Basis, weight: Array | None, counts: Index, columns: int = 1) -> Array:
    """Return E h² for each of S counts, (S, K), where h is the sum of the first `count` squared functions."""
    n = x.position.shape[1]
    sizes, inverse = np.unique(counts, return_inverse=True)
    squares = np.empty((len(x.tables), len(sizes)))
    for table, k in zip(*np.unique(x.member, return_index=True), strict=True):
        if weight is None and columns == 1 and x.dense[k].max() == n - 1:
            squares[table] = _squares_without_ties(n, tuple(sizes))
            continue
        functions = x.tables[table]
        share = np.full(n, 1 / n) if weight is None else weight[k] / weight[k].sum()
        if columns == 1:
            # Rows are in ascending order, and rows with equal values have equal function values.
            last = np.cumsum(np.bincount(x.dense[k])) - 1
            functions, share = functions[last], np.bincount(x.dense[k], share)
        squares[table] = _mean_square(functions, share, sizes)
    return squares[x.member].T[inverse]


@lru_cache(maxsize=4)
def _squares_without_ties(n: int, sizes: tuple[int, ...]) -> Array:
    return _mean_square(untied_table(n), np.full(n, 1 / n), np.array(sizes))


def _mean_square(functions: Array, share: Array, sizes: Index) -> Array:
    first = (np.arange(functions.shape[1])[:, None] < sizes).astype(np.float64)
    mean: Array = share @ (functions**2 @ first) ** 2
    return mean


def _has_ties(x: Basis) -> NDArray[np.bool_]:
    return np.asarray(x.dense.max(axis=1) < x.dense.shape[1] - 1)


def _n_nonzero_functions(x: Basis) -> Array:
    """Return how many of the first 1, 2, … functions are nonzero (ties reduce the number), (K or 1, P)."""
    counts = np.array([np.cumsum(table.any(axis=0)) for table in x.tables], dtype=float)
    return counts[x.member]


def _smooth_step(x: Array, low: float, high: float) -> Array:
    """Return a smooth cubic function of x that is 0 below `low` and 1 above `high`."""
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3 - 2 * t)


def _combine_with_steps(smooth: Array, predicted: Array, rows: Array, tables: Tables) -> Array:
    """Return the smooth estimate, moved towards the step estimate if steps predict a higher correlation."""
    root = np.sqrt(rows)
    min_evidence = predicted + _ADVANTAGE[0] / root
    pairs_left = np.arange(len(min_evidence))
    # Powers of the table bound the largest eigenvalue, and higher powers give tighter bounds. The exact value
    # is rarely needed.
    for squarings in (2, 4):
        is_candidate = np.zeros(len(pairs_left), dtype=bool)
        for bound, p, q, n in bounds(tables, pairs_left, squarings):
            is_candidate |= (predicted_correlation(bound, p / n, q / n) > min_evidence[pairs_left]) & (
                evidence(bound, p, q, n) > _STEPS[0]
            )
        pairs_left = pairs_left[is_candidate]
        if not len(pairs_left):
            return smooth
    root = root[pairs_left]
    s, p, q, n = (np.array(table) for table in zip(*correlations(tables, pairs_left), strict=True))
    predictions, values = predicted_correlation(s, p / n, q / n), corrected(s, p / n, q / n)
    best, best_evidence = predictions.max(axis=0), evidence(s, p, q, n).max(axis=0)
    # Tables are ordered from coarse to fine, and tables of equal size by value, so that exchanging u and v
    # has no effect.
    order = np.lexsort((values, p * q), axis=0)
    predictions, values = (np.take_along_axis(table, order, axis=0) for table in (predictions, values))
    value = np.zeros_like(best)
    for values_of_size, prediction in zip(values, predictions, strict=True):
        value = value + _smooth_step(
            root * (prediction - best), -_CLOSE_PREDICTIONS[1], -_CLOSE_PREDICTIONS[0]
        ) * (values_of_size - value)
    gain = _smooth_step(root * (best - predicted[pairs_left]), *_ADVANTAGE)
    share = _smooth_step(best_evidence, *_STEPS) * gain
    shifted = smooth.copy()
    shifted[pairs_left] += share * (value - shifted[pairs_left])
    return shifted


@dataclass(frozen=True)
class Cells:
    """Cell numbers of the rows of K variables.

    Attributes
    ----------
    tails : (K, n) array
        Cell numbers if the cells have the edges of :func:`tail_edges`.
    fine : (K, n) array or None
        Cell numbers for the largest number of equal cells that the rows allow, or ``None`` if they allow too
        few.
    n_tails, n_fine
        Numbers of cells.
    """

    tails: Codes
    fine: Codes | None
    n_tails: int
    n_fine: int

    @classmethod
    def of(cls, x: Basis, rows: float) -> Cells:
        """Divide a variable into cells by mid-rank; `rows` is the (smallest) effective number of rows."""
        n = x.position.shape[1]
        edges = tail_edges(rows)
        max_cells = _MAX_CELLS
        while max_cells * ROWS_A_CELL > rows:
            max_cells //= 2
        # Members with the same ties have the same ranks at each position.
        ranks = np.empty((len(x.tables), n))
        for table, first in zip(*np.unique(x.member, return_index=True), strict=True):
            dense, position = x.dense[first], x.position[first]
            if dense.max() < n - 1:
                ranks[table, position] = mid_ranks(dense.astype(np.float64))
            else:
                ranks[table] = (np.arange(n) + 0.5) / n

        def cell_numbers(cell_of: Callable[[Array], NDArray[Any]]) -> Codes:
            cells = cell_of(ranks).astype(np.uint16)
            if len(cells) == 1:
                return np.take(cells[0], x.position, mode="clip")
            return np.take_along_axis(cells[x.member], x.position, axis=-1)

        fine = None
        if max_cells >= _MIN_CELLS:
            fine = cell_numbers(lambda rank: np.minimum(np.floor(rank * max_cells), max_cells - 1))
        return cls(cell_numbers(lambda rank: np.searchsorted(edges, rank)), fine, len(edges) + 1, max_cells)


def step_tables(a: Cells, b: Cells, weight: Array | None, rows: Array, tied: NDArray[np.bool_]) -> Tables:
    """Return tables of K pairs for each choice of cells, from the cells of u and v and weights (K, n).

    Parameters
    ----------
    rows : (K,) array
        Effective numbers of rows.
    tied : (K,) array
        True if both variables have ties, which may put most rows into a few cells.

    Returns
    -------
    list of (gram, p, q, rows)
        Three results for each table. The first is QᵀQ, (K, c, c), without the constant functions, where Q =
        share / √(share of the row × share of the column). The second is the number of non-constant functions
        of each variable, (K,). The third is the number of rows that determine the correlations
        (:func:`rows_behind`).
    """
    tables = [_gram(_shares(a.tails, b.tails, a.n_tails, b.n_tails, weight), rows, tied)]
    for fine_table, coarse_table in ((a, b), (b, a)):
        if fine_table.fine is None:
            break
        shares = _shares(fine_table.fine, coarse_table.tails, fine_table.n_fine, coarse_table.n_tails, weight)
        while shares.shape[1] >= _MIN_CELLS:
            gram, of_rows, of_columns, n = _gram(shares, rows, tied)
            tables.append((gram, *((of_rows, of_columns) if fine_table is a else (of_columns, of_rows)), n))
            shares = shares[:, ::2] + shares[:, 1::2]
    return tables


def bounds(tables: Tables, which: Index, squarings: int) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Yield, for each table, upper bounds of the first canonical correlations, p, q and rows; (k,) each."""
    for gram, p, q, rows in tables:
        power = gram if len(which) == len(gram) else gram[which]
        for _ in range(squarings):
            power = power @ power
        # The squared entries of a power sum to its squared eigenvalues, so the sum bounds the largest squared
        # eigenvalue.
        total = np.einsum("kij,kij->k", power, power)
        yield total ** (0.25 * 0.5**squarings) * _ROUNDING, p[which], q[which], rows[which]


def correlations(tables: Tables, which: Index) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Yield, for each table, first canonical correlations of the selected pairs, p, q and rows; (k,) each."""
    for gram, p, q, rows in tables:
        squares = np.linalg.eigvalsh(gram[which])[:, -1]
        yield np.sqrt(np.maximum(squares, 0.0)), p[which], q[which], rows[which]


def tail_edges(rows: float) -> Array:
    """Return the edges of cells in (0, 1), narrow in both tails, with at least ROWS_A_CELL rows per cell."""
    lower = [0.0]
    for edge in _TAIL:
        if (edge - lower[-1]) * rows >= ROWS_A_CELL:
            lower.append(edge)
    below = np.array([edge for edge in lower[1:] if (0.5 - edge) * rows >= ROWS_A_CELL or edge == 0.5])
    return np.union1d(below, 1 - below)


def _shares(a: Codes, b: Codes, count_a: int, count_b: int, weight: Array | None) -> Array:
    """Return the share of the mass in each pair of cells; ``(K, n), (K, n) -> (K, count_a, count_b)``."""
    members = len(a)
    flat_index = a + np.arange(members)[:, None] * count_a
    flat_index *= count_b
    flat_index += b
    mass = None if weight is None else (weight / weight.sum(axis=-1, keepdims=True)).ravel()
    sums = np.bincount(flat_index.ravel(), mass, minlength=members * count_a * count_b)
    shares: Array = sums.reshape(members, count_a, count_b) / (a.shape[1] if weight is None else 1.0)
    return shares


def _gram(shares: Array, n: Array, tied: NDArray[np.bool_]) -> tuple[Array, Array, Array, Array]:
    """Return QᵀQ without the constant functions, the numbers of other functions, and the numbers of rows."""
    of_a, of_b = shares @ np.ones(shares.shape[2]), np.ones(shares.shape[1]) @ shares
    rows, columns = (np.divide(1, x, out=np.zeros_like(x), where=x > 0) for x in (of_a, of_b))
    root = np.sqrt(of_b)
    scaled = shares.swapaxes(1, 2) @ (shares * rows[:, :, None])
    gram = scaled * (np.sqrt(columns)[:, :, None] * np.sqrt(columns)[:, None, :])
    gram -= root[:, :, None] * root[:, None, :]
    p, q = ((counts > 0).sum(axis=1) - 1.0 for counts in (of_a, of_b))
    if tied.any():
        # In a cell, the squared functions sum to 1 / share − 1.
        squares = (matrix.sum(axis=1) - 2 * k - 1 for matrix, k in ((rows, p), (columns, q)))
        n = np.where(tied, rows_behind(n, p, q, *squares), n)
    return gram, p, q, n
