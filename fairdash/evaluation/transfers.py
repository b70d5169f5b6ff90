"""Who pays: what moves from and to each group when one model takes the place of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import quantile_groups
from fairdash.evaluation.quantile_profile import ROWS_PER_GROUP
from fairdash.training.splits import Split

Predictions = Mapping[int, NDArray[np.float64]]
DEFAULT_GROUPS = 5


def transfers_by_group(
    before: Predictions,
    after: Predictions,
    s: NDArray[np.float64],
    splits: Sequence[Split],
    *,
    weight: NDArray[np.float64] | None = None,
    n_groups: int = DEFAULT_GROUPS,
    groups: NDArray[np.intp] | None = None,
) -> pd.DataFrame:
    """Change of the predictions' sum in quantile groups of `s`, on test rows.

    Parameters
    ----------
    before, after
        Split to predictions (n,) of all rows; splits that one of them lacks are left out.
    s : (n,) array
        The sensitive attribute; groups are cut on all rows, equal values are never parted.
    splits
        All splits of the run.
    weight : (n,) array, optional
        Exposure: a prediction counts as often.
    n_groups
        Groups wanted; fewer where a split's test rows would leave under 20 rows in one.
    groups
        (n,) the rows' groups, numbered from 0 without gaps, where they are known already.

    Returns
    -------
    DataFrame, one row a group, means over the splits
        ``group``, ``s_low``, ``s_high``, ``n`` (test rows), ``heads`` (their exposure), ``before`` and
        ``after`` (average prediction), ``total`` (Σ w·(after − before), so that all groups together give the
        change of the whole sum) and ``per_head`` (``total`` divided by ``heads``).
    """
    used = sorted(before.keys() & after.keys())
    each = np.ones(len(s)) if weight is None else weight
    if groups is None:
        groups = merged_groups(s, [splits[j].test for j in used], n_groups=n_groups)
    count = int(groups.max()) + 1
    sums = np.zeros((4, count))
    for j in used:
        rows = splits[j].test
        own = groups[rows]
        for k, values in enumerate(
            (np.ones(len(rows)), each[rows], each[rows] * before[j][rows], each[rows] * after[j][rows])
        ):
            sums[k] += np.bincount(own, weights=values, minlength=count) / len(used)
    n, heads, total_before, total_after = sums
    by_group = pd.Series(s).groupby(groups)
    return pd.DataFrame(
        {
            "group": np.arange(count),
            "s_low": by_group.min().to_numpy(),
            "s_high": by_group.max().to_numpy(),
            "n": n,
            "heads": heads,
            "before": total_before / heads,
            "after": total_after / heads,
            "total": total_after - total_before,
            "per_head": (total_after - total_before) / heads,
        }
    )


def merged_groups(
    s: NDArray[np.float64],
    parts: Sequence[NDArray[np.int64]],
    *,
    n_groups: int,
    fewest: int = ROWS_PER_GROUP,
) -> NDArray[np.intp]:
    """Quantile group of each row, neighbours joined until every part has `fewest` rows in every group.

    A single group is left where the parts are too small for two.
    """
    groups = quantile_groups(s, n_groups)
    count = int(groups.max()) + 1
    rows = np.array([np.bincount(groups[part], minlength=count) for part in parts]).min(axis=0)
    joined, number, gathered = np.empty(count, dtype=np.intp), 0, 0
    for group in range(count):
        joined[group] = number
        gathered += rows[group]
        if gathered >= fewest:
            number, gathered = number + 1, 0
    # What is left over at the end belongs to the last whole group.
    joined = np.minimum(joined, max(number - 1, 0))
    return joined[groups]
