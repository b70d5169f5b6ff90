"""Average prediction, or residual, by quantile group of the sensitive attribute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from fairdash.dependence import quantile_groups
from fairdash.training.splits import Split

ROWS_PER_GROUP = 20
LARGEST_NUMBER_OF_GROUPS = 20


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
        splits), ``mean`` (mean over splits of the group's average), ``error`` (its standard error) and
        ``low``, ``high``: its 95 % interval by Student's t, for new rows and the models as they were
        trained. A row that several splits test counts as one observation, not as several.
    """
    if groups is None:
        fewest = min(len(split.test) for split in splits)
        groups = quantile_groups(s, _group_count(fewest) if n_groups is None else n_groups)
    used = int(groups.max()) + 1
    means, sizes = (np.full((len(splits), used), np.nan) for _ in range(2))
    each = np.ones(len(s)) if weight is None else weight
    # How far each row moves its group's mean over the splits, and how much it counts, in all that test it.
    moves, counts = np.zeros(len(s)), np.zeros(len(s))
    for j, split in enumerate(splits):
        own, rows, mass = groups[split.test], values[j, split.test], each[split.test]
        sizes[j] = np.bincount(own, minlength=used)
        total = np.bincount(own, weights=mass, minlength=used)
        with np.errstate(invalid="ignore"):  # a group without a row
            means[j] = np.bincount(own, weights=mass * rows, minlength=used) / total
        moves[split.test] += mass * (rows - means[j, own]) / total[own]
        counts[split.test] += mass / total[own]
    mean = pd.DataFrame(means).mean().to_numpy()
    observed = np.bincount(groups[counts > 0], minlength=used)
    squares = np.bincount(groups, weights=moves**2, minlength=used)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Of a weighted mean; var/n with a single split and equal weights.
        errors = np.sqrt(squares / (sizes > 0).sum(axis=0) ** 2 * observed / (observed - 1))
        # Rows of equal weight that would say as much (Kish 1965).
        as_good_as = (sizes > 0).sum(axis=0) ** 2 / np.bincount(groups, weights=counts**2, minlength=used)
    errors[observed < 2] = np.nan
    half = stdtrit(np.maximum(as_good_as - 1, 1), 0.975) * errors
    by_group = pd.Series(s).groupby(groups)
    return pd.DataFrame(
        {
            "group": np.arange(used),
            "s_low": by_group.min().to_numpy(),
            "s_high": by_group.max().to_numpy(),
            "s_mean": by_group.mean().to_numpy(),
            "n": sizes.mean(axis=0),
            "mean": mean,
            "error": errors,
            "low": mean - half,
            "high": mean + half,
        }
    )


def group_averages(
    values: NDArray[np.float64],
    s: NDArray[np.float64],
    *,
    weight: NDArray[np.float64] | None = None,
) -> pd.DataFrame:
    """Average of `values` in quantile groups of `s`, over all rows: both (n,) arrays.

    Parameters
    ----------
    weight : (n,) array, optional
        Exposure: a row counts as often in the averages, of `s` as well.

    Returns
    -------
    DataFrame, one row a group
        ``s_mean``, ``mean`` and ``n`` rows; at most 20 groups of at least 20 rows.
    """
    groups = quantile_groups(s, _group_count(len(s)))
    each = np.ones(len(s)) if weight is None else weight
    mass = np.bincount(groups, weights=each)
    return pd.DataFrame(
        {
            "s_mean": np.bincount(groups, weights=each * s) / mass,
            "mean": np.bincount(groups, weights=each * values) / mass,
            "n": np.bincount(groups),
        }
    )


def _group_count(n_rows: int) -> int:
    """Groups that leave about ROWS_PER_GROUP rows in each, within what a chart can show."""
    return int(np.clip(n_rows // ROWS_PER_GROUP, 2, LARGEST_NUMBER_OF_GROUPS))
