"""Average prediction, or residual, by quantile group of the sensitive attribute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import quantile_groups
from fairdash.training.splits import Split

ROWS_PER_GROUP = 20
LARGEST_NUMBER_OF_GROUPS = 20


#: Standard errors from an average to either end of its 95 % interval.
_Z = 1.96


def averages_error(profile: pd.DataFrame) -> pd.Series:
    """Standard errors of the averages in a :func:`quantile_profile`, from their 95 % intervals."""
    return (profile["high"] - profile["low"]) / (2 * _Z)


def quantile_profile(
    values: NDArray[np.float64],
    s: NDArray[np.float64],
    splits: Sequence[Split],
    *,
    n_groups: int | None = None,
    groups: NDArray[np.intp] | None = None,
    weight: NDArray[np.float64] | None = None,
) -> pd.DataFrame:
    """Average of the test rows' `values` in quantile groups of `s`.

    Parameters
    ----------
    values : (J, n) array
        Predictions or residuals of one model a split, for all rows.
    s : (n,) array
        The sensitive attribute; groups are cut on all rows, so that they are the same in every split.
    splits
        J splits; only their test rows are used.
    n_groups
        Groups wanted; by default up to 20, fewer where a test part has under 20 rows a group.
        Ties in `s` can leave fewer.
    groups
        (n,) the rows' groups, numbered from 0 without gaps, where they are known already.
    weight : (n,) array, optional
        Exposure: a row counts as often in the averages.

    Returns
    -------
    DataFrame, one row a group
        ``group``, ``s_low``, ``s_high``, ``s_mean`` (all rows of the group), ``n`` (test rows, mean over
        splits), ``mean`` (mean over splits of the group's average) and ``low``, ``high``: the 95 %
        interval of one test part's average, mean ± 1.96 standard errors. Averaging over overlapping
        splits is given no credit.
    """
    if groups is None:
        fewest = min(len(split.test) for split in splits)
        groups = quantile_groups(s, _group_count(fewest) if n_groups is None else n_groups)
    used = int(groups.max()) + 1
    means, sizes, errors = (np.full((len(splits), used), np.nan) for _ in range(3))
    each = np.ones(len(s)) if weight is None else weight
    for j, split in enumerate(splits):
        own, rows, mass = groups[split.test], values[j, split.test], each[split.test]
        sizes[j] = np.bincount(own, minlength=used)
        total = np.bincount(own, weights=mass, minlength=used)
        with np.errstate(invalid="ignore", divide="ignore"):  # a group without a row, or with a single one
            means[j] = np.bincount(own, weights=mass * rows, minlength=used) / total
            squares = np.bincount(own, weights=(mass * (rows - means[j, own])) ** 2, minlength=used)
            # Of a weighted mean; var/n where all weights are equal.
            errors[j] = squares / total**2 * sizes[j] / (sizes[j] - 1)
    errors[sizes < 2] = np.nan
    mean = pd.DataFrame(means).mean().to_numpy()
    half = _Z * np.sqrt(pd.DataFrame(errors).mean().to_numpy())
    by_group = pd.Series(s).groupby(groups)
    return pd.DataFrame(
        {
            "group": np.arange(used),
            "s_low": by_group.min().to_numpy(),
            "s_high": by_group.max().to_numpy(),
            "s_mean": by_group.mean().to_numpy(),
            "n": sizes.mean(axis=0),
            "mean": mean,
            "low": mean - half,
            "high": mean + half,
        }
    )


def group_averages(values: NDArray[np.float64], s: NDArray[np.float64]) -> pd.DataFrame:
    """Average of `values` in quantile groups of `s`, over all rows: both (n,) arrays.

    Returns
    -------
    DataFrame, one row a group
        ``s_mean``, ``mean`` and ``n`` rows; at most 20 groups of at least 20 rows.
    """
    frame = pd.DataFrame({"s": s, "value": values}).groupby(quantile_groups(s, _group_count(len(s))))
    return frame.agg(s_mean=("s", "mean"), mean=("value", "mean"), n=("s", "size")).reset_index(drop=True)


def _group_count(n_rows: int) -> int:
    """Groups that leave about ROWS_PER_GROUP rows in each, within what a chart can show."""
    return int(np.clip(n_rows // ROWS_PER_GROUP, 2, LARGEST_NUMBER_OF_GROUPS))
