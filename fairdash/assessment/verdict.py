"""One verdict from one test: does the mean over the splits exceed what independence gives it?

The splits of a run share rows, so their figures are no separate witnesses: a majority of single tests misses
a link that all rows together show. Here s is permuted once over all rows of the table, every split sees its
own test rows of that one permuted column, and the statistic is the mean over the splits, as it is drawn.

For each permutation the rows of a part are ranked by the permuted column and get the part's own values of s
in that order. So a part keeps its values, and a row that stands in several parts gets nearly the same one in
all of them, as the overlap of the parts asks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: Chance of finding a link where there is none.
ALPHA = 0.05
#: What stands behind a measure's column: the edge of the null distribution of the mean over splits, and the
#: p-value of that mean.
EDGE, P_VALUE = "_edge", "_p"


def part_permutations(
    s: NDArray[np.float64], rows: NDArray[np.int64], *, count: int, seed: int
) -> NDArray[np.intp]:
    """Permutations of a part's rows that belong to permutations of the whole table.

    Parameters
    ----------
    s : (n,) array
        The sensitive column of all rows, the same in every call that is to be joint.
    rows : (m,) array
        Row numbers of the part.
    count
        How many; the first ones are the same whatever their number.
    seed
        Of the whole table's permutations; the same in every call that is to be joint.

    Returns
    -------
    (count, m) array
        Indices into `rows`, each row a permutation.
    """
    own = np.argsort(s[rows], kind="stable")
    found = np.empty((count, len(rows)), dtype=np.intp)
    for b in range(count):
        order = np.random.default_rng([seed, b]).permutation(len(s))[rows]
        # Ties of s are ranked at random, by where the permuted values come from.
        found[b, np.lexsort((order, s[order]))] = own
    return found


#: What a stack of models reads in one part of one split under independence: column of a measure to its null
#: values, (W, K, B). W = 2 with weights, which stay with u or move with s, 1 without; K models; B
#: permutations of the whole table, the same in every split.
Nulls = dict[str, NDArray[np.float64]]


def with_verdict(
    frame: pd.DataFrame, nulls: Mapping[tuple[int, str], Nulls], *, signed: Collection[str]
) -> pd.DataFrame:
    """The frame with the test of each measure's mean over the splits beside it.

    Parameters
    ----------
    frame
        One row a model and part, as :func:`fairdash.assessment.assess_predictions` makes it; in each split
        and part the models stand in the order of the nulls.
    nulls
        Split and part to what independence reads there; parts without permutations are left out.
    signed
        The columns whose sign is a direction: the size of the mean is what is tested.

    Returns
    -------
    DataFrame
        With ``<column>_edge``, the largest mean over the splits that is no link at 5 %, and ``<column>_p``,
        the permutation p-value of the mean; alike in all splits of a method, weight and part. With weights
        each is the larger of two, see :func:`fairdash.dependence.floors.null_values`. Models that diverged
        are left out of the means. NaN where there are no permutations.
    """
    columns = list(dict.fromkeys(column for each in nulls.values() for column in each))
    found = {f"{column}{end}": np.full(len(frame), np.nan) for column in columns for end in (EDGE, P_VALUE)}
    parts = frame.groupby(["split", "part"], sort=False)
    place = parts.cumcount().to_numpy()
    for _, group in frame.groupby(["method", "lam", "part"], sort=False):
        members = [
            (place[i], nulls[key])
            for i, key, diverged in zip(
                group.index, zip(group["split"], group["part"], strict=True), group["diverged"], strict=True
            )
            if key in nulls and not diverged
        ]
        if not members:
            continue
        whole = group[~group["diverged"]]
        for column in columns:
            permuted = np.mean([null[column][:, k] for k, null in members], axis=0)
            value = float(whole[column].mean())
            if column in signed:
                value, permuted = abs(value), np.abs(permuted)
            edge, p_value = edge_and_p(value, permuted)
            at = frame.index.get_indexer(group.index)
            found[f"{column}{EDGE}"][at], found[f"{column}{P_VALUE}"][at] = edge, p_value
    return frame.assign(**found)


def with_edges(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame from before the joint test, with what stood in its place: the mean of each split's own edge.

    It finds fewer links than the joint test, and its p-value is not known (NaN). Other frames come back as
    they are.
    """
    floors = [column for column in frame.columns if column.endswith("_floor_q95")]
    missing = [column for column in floors if column.replace("_floor_q95", EDGE) not in frame]
    if not missing:
        return frame
    keys = ["method", "lam", "part"]
    means = frame[~frame["diverged"]].groupby(keys)[missing].mean()
    edges = means.rename(columns=lambda column: column.replace("_floor_q95", EDGE)).reset_index()
    unknown = {column.replace("_floor_q95", P_VALUE): np.nan for column in missing}
    return frame.merge(edges, on=keys, how="left").assign(**unknown)


def edge_and_p(value: float, permuted: NDArray[np.float64]) -> tuple[float, float]:
    """The largest value that is no link at 5 %, and the p-value of this one.

    Parameters
    ----------
    permuted : (W, B) array
        Null values, in W ways; the larger edge and p-value count.

    Notes
    -----
    p = (1 + b) / (1 + B) with b of B null values reaching the value. The edge is the null value that is
    reached by just too many, so that a value beyond it has p ≤ .05 and no other has; infinite where B < 19
    permutations can't reach 5 %.
    """
    count = permuted.shape[1]
    allowed = math.floor(ALPHA * (count + 1) + 1e-9) - 1
    falling = -np.sort(-permuted, axis=1)
    edge = float(falling[:, allowed].max()) if allowed >= 0 else math.inf
    reached = (permuted >= value).sum(axis=1).max()
    return edge, float((1 + reached) / (1 + count))
