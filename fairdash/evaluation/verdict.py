"""Test of the dependence of all splits together against independence.

The verdict is one test of several quick measures (:mod:`fairdash.dependence.omnibus`), each averaged over the
splits. In addition, each measure has a separate test and an edge, which is the largest value that is not
significant.

The splits of a run share rows, so their results are not independent. Tests of single splits would often miss
a link that a test of all rows detects. In the test of all splits, s is permuted over all rows of the table,
and every split uses its test rows of the same permuted column. The statistic is the mean over the splits. For
each permutation, the rows of a part are ranked by the permuted column, and the part's own values of s are
assigned to the rows in this order. A part therefore keeps its values of s, and a row that is in parts of
several splits gets nearly the same value in all of them. Permutations exchange the values of s of whole
groups of related rows over the whole table (:class:`fairdash.dependence.grouping.Blocks`). In tables with
more than 20,000 rows, the verdict uses random signs instead of permutations: one sign per row or group, the
same in all parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence.classical import Z
from fairdash.dependence.grouping import Blocks, exchange_by_rank
from fairdash.dependence.omnibus import ALPHA as ALPHA
from fairdash.dependence.omnibus import combined_p
from fairdash.evaluation.figures import BY, EDGE, VALUE, VERDICT, Cell, P

#: Columns of a row's results that contain the fields of :class:`Verdict`.
VERDICT_AT = [P, BY, VALUE, EDGE]
_ROUNDING = 1e-9


def part_permutations(
    s: NDArray[np.float64],
    rows: NDArray[np.int64],
    *,
    count: int,
    seed: int,
    groups: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    """Return permutations of a part's rows, derived from permutations of the whole table.

    Parameters
    ----------
    s : (n,) array
        Sensitive column of all rows of the table.
    rows : (m,) array
        Row numbers of the part.
    count
        Number of permutations; a larger number adds permutations without changing the first ones.
    seed
        Seed of the permutations of the whole table; calls with the same seed and column share their
        permutations.
    groups : (n,) array, optional
        Group number of each row of the table, from 0 to G-1.

    Returns
    -------
    (count, m) array
        Indices into `rows`; each row of the array is a permutation.
    """
    permutations = np.empty((count, len(rows)), dtype=np.intp)
    generators = (np.random.default_rng([seed, b]) for b in range(count))
    if groups is not None:
        blocks = Blocks.of(groups, s)
        for b, rng in enumerate(generators):
            permutations[b] = exchange_by_rank(s, blocks.draw(rng)[rows], s[rows])
        return permutations
    # The permutations equal those of by_rank. Marking positions in the whole table avoids a sort for each
    # permutation.
    rank, by_s = np.empty_like(rows, shape=len(s)), np.argsort(s[rows], kind="stable")
    rank[np.argsort(s, kind="stable")] = np.arange(len(s))
    marked = np.empty(len(s), dtype=np.intp)
    for b, rng in enumerate(generators):
        marked.fill(-1)
        marked[rank[rng.permutation(len(s))[rows]]] = np.arange(len(rows))
        permutations[b, marked[marked >= 0]] = by_s
    return permutations


#: Values of K models under independence, in one part of a split: an array (W, K, B) for each measure and
#: column. W is 2 with weights and otherwise 1. With weights, they first stay with u, then they move with s.
#: All splits use the same B permutations of the whole table.
Nulls = dict[Cell, NDArray[np.float64]]


def add_verdicts(
    models: pd.DataFrame,
    cells: Sequence[Cell],
    values: NDArray[np.float64],
    nulls: Mapping[tuple[int, str], Nulls],
    *,
    signed: Collection[Cell],
) -> None:
    """Compute the verdict, and the test of each measure's mean over the splits, and write both into `values`.

    Parameters
    ----------
    models, cells, values
        Same meaning as in :func:`fairdash.evaluation.figures.tidy`. In each split and part, the models have
        the order of the null values.
    nulls
        Null values (for permuted s) by split and part; parts without permutations are omitted. For the
        verdict, the array contains the values of its measures for each order of a sensitive column, (W, M, K,
        B + 1), as returned by :func:`fairdash.dependence.omnibus.permuted_values`.
    signed
        Cells whose measure has a sign, the link's direction; the test uses the absolute value of the mean.

    Notes
    -----
    The edge is the largest mean over the splits that is not significant at 5 %, and p is the permutation
    p-value of the mean. Edge and p are the same in all splits of a method, weight and part. With weights,
    edge and p are each the larger of two values; see :meth:`fairdash.dependence.api.Estimator.null`. Diverged
    models are omitted from the means. Without permutations, edge and p are NaN.
    """
    row = models.groupby(["split", "part"], sort=False).cumcount().to_numpy()
    groups = models.groupby(["method", "lam", "part"], sort=False).indices.values()
    for group_rows in map(np.asarray, groups):
        of_mean = models.iloc[group_rows]
        keys = list(zip(of_mean["split"], of_mean["part"], strict=True))
        usable = np.flatnonzero(
            [key in nulls and not diverged for key, diverged in zip(keys, of_mean["diverged"], strict=True)]
        )
        members = [(row[group_rows[i]], keys[i]) for i in usable]
        for m, cell in enumerate(cells if members else ()):
            # If a column is constant in a part, dependence on it is undefined in this part.
            null_values = _defined([nulls[key][cell][..., k, :] for k, key in members if cell in nulls[key]])
            if not null_values:
                continue
            if cell[0] == VERDICT:
                values[group_rows[:, None], m, VERDICT_AT] = verdict_on(null_values)
                continue
            permuted, value = (
                np.mean(null_values, axis=0),
                float(np.nanmean(values[group_rows[usable], m, VALUE])),
            )
            if cell in signed:
                value, permuted = abs(value), np.abs(permuted)
            values[group_rows[:, None], m, [EDGE, P]] = edge_and_p(value, permuted)


def _defined(values: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    return [table for table in values if not np.isnan(table).any()]


class Verdict(NamedTuple):
    """Result of the omnibus test of measures averaged over the splits, stored in :data:`VERDICT_AT`.

    Attributes
    ----------
    p_value
        P-value in [1 / (1 + B), 1]; with weights, the larger of two p-values. The p-value is 1 if the
        predictions are constant.
    by
        Index of the measure with the strongest evidence: the first measure with the smallest p-value.
    value
        Mean over the splits of the measure with the strongest evidence.
    edge
        Largest absolute mean of this measure that is not significant at 5 %, in a test of this measure alone.
    """

    p_value: float
    by: int
    value: float
    edge: float


def verdict_on(values: Sequence[NDArray[np.float64]]) -> Verdict:
    """Return the verdict, and the measure that shows the clearest link.

    Parameters
    ----------
    values
        Values of the measures by split, (W, M, B + 1), for the observed order of s and for B permutations.
        All splits use the same orders of the whole table.

    """
    means = np.mean(values, axis=0)
    tested = [combined_p(means_of_way) for means_of_way in means]
    best_index = int(np.argmax([p_value for p_value, _ in tested]))
    p_value, p_values = tested[best_index]
    by = int(np.argmin(p_values))
    value = float(means[best_index, by, 0])
    edge, _ = edge_and_p(abs(value), np.abs(means[:, by, 1:]))
    return Verdict(p_value, by, value, edge)


def is_link(p_value: float) -> bool:
    """Return True if a p-value is at most 5 %, with a tolerance for the rounding of a mean."""
    return p_value <= ALPHA + _ROUNDING


def differ_beyond_noise(path: pd.DataFrame) -> NDArray[np.bool_]:
    """Mark points of a method's curve that differ by more than noise, so that a line may connect them.

    The standard model is always marked. A later trained point is marked if its dependence is below that of
    the last marked point by more than noise. Two conditions define “more than noise”: the difference exceeds
    1.96 standard errors and, for both points, the distance from the noise floor to the edge (the largest
    value that is not significant). The standard error treats both points as independent, which is
    conservative, because they share their splits. With a single split, no standard error is known. A blend is
    marked if both neighbouring trained points are marked.

    Parameters
    ----------
    path
        Means of a measure over the splits in the order of λ, with the columns ``share``, ``value``, ``se``,
        ``floor`` and ``edge``.
    """
    columns = (path[figure].to_numpy(dtype=float) for figure in ("value", "se", "floor", "edge"))
    value, se, floor, edge = (np.nan_to_num(column) for column in columns)
    model_indices = np.flatnonzero(path["share"] == 0)
    marked, last = np.zeros(len(path), dtype=bool), model_indices[0]
    marked[last] = True
    for previous, k in itertools.pairwise(model_indices):
        margin = max(edge[k] - floor[k], edge[last] - floor[last], Z * math.hypot(se[k], se[last]))
        if value[last] - value[k] > margin:
            marked[previous:k] = marked[previous]
            marked[k], last = True, k
    return marked


def edge_and_p(value: float, permuted: NDArray[np.float64]) -> tuple[float, float]:
    """Return the largest value that is not significant at 5 %, and the p-value of the observed value.

    Parameters
    ----------
    permuted : (W, B) array
        Null values of W null distributions. With W = 2, the larger edge and the larger p-value are returned.

    Notes
    -----
    The p-value is (1 + b) / (1 + B), where b of B null values are at least the observed value. The edge is
    the null value above which p ≤ 0.05. The edge is infinite if B < 19, because so few permutations cannot
    reach 5 %.
    """
    count = permuted.shape[1]
    allowed = math.floor(ALPHA * (count + 1) + 1e-9) - 1
    descending = -np.sort(-permuted, axis=1)
    edge = float(descending[:, allowed].max()) if allowed >= 0 else math.inf
    n_reached = (permuted >= value).sum(axis=1).max()
    return edge, float((1 + n_reached) / (1 + count))
