"""Average prediction, or residual, by quantile group of the sensitive attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    rows = _TestRows.of(groups, splits, weight)
    mean, moves = rows.averages(values)
    squares = np.bincount(groups, weights=moves**2, minlength=len(mean))
    errors, half = rows.errors(np.asarray(squares, dtype=float))
    by_group = pd.Series(s).groupby(groups)
    return pd.DataFrame(
        {
            "group": np.arange(len(mean)),
            "s_low": by_group.min().to_numpy(),
            "s_high": by_group.max().to_numpy(),
            "s_mean": by_group.mean().to_numpy(),
            "n": rows.sizes.mean(axis=0),
            "mean": mean,
            "error": errors,
            "low": mean - half,
            "high": mean + half,
        }
    )


def blended_profiles(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    shares: NDArray[np.float64],
    splits: Sequence[Split],
    *,
    groups: NDArray[np.intp],
    weight: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """``mean``, ``low`` and ``high`` of :func:`quantile_profile` for many blends of two models, (P, G) each.

    A group's average is linear in the predictions, and its variance quadratic: no blend is made.

    Parameters
    ----------
    low, high : (J, n) arrays
        Predictions or residuals of the two models.
    shares : (P,) array
        How much of `high` there is in each blend, 0 to 1.
    splits, groups, weight
        As there.
    """
    rows = _TestRows.of(groups, splits, weight)
    (mean_low, a), (mean_high, b) = rows.averages(low), rows.averages(high)
    used = len(mean_low)
    aa, ab, bb = (np.bincount(groups, weights=each, minlength=used) for each in (a * a, a * b, b * b))
    share = shares[:, None]
    mean = (1 - share) * mean_low + share * mean_high
    _, half = rows.errors((1 - share) ** 2 * aa + 2 * share * (1 - share) * ab + share**2 * bb)
    return mean, mean - half, mean + half


@dataclass(frozen=True, kw_only=True)
class _TestRows:
    """The splits' test rows in their groups: all that a profile needs besides what is averaged.

    Parameters
    ----------
    groups, each
        (n,) each row's group, and how much it counts.
    splits
        J splits.
    sizes, totals
        (J, G) test rows of a group, and how much they count together.
    """

    groups: NDArray[np.intp]
    each: NDArray[np.float64]
    splits: Sequence[Split]
    sizes: NDArray[np.float64]
    totals: NDArray[np.float64]

    @classmethod
    def of(
        cls, groups: NDArray[np.intp], splits: Sequence[Split], weight: NDArray[np.float64] | None
    ) -> _TestRows:
        used = int(groups.max()) + 1
        each = np.ones(len(groups)) if weight is None else weight
        tests = [split.test for split in splits]
        sizes = [np.bincount(groups[rows], minlength=used) for rows in tests]
        totals = [np.bincount(groups[rows], weights=each[rows], minlength=used) for rows in tests]
        return cls(
            groups=groups,
            each=each,
            splits=splits,
            sizes=np.array(sizes, dtype=float),
            totals=np.array(totals),
        )

    def averages(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(G,) means over the splits of the groups' averages, and (n,) how far each row moves its group's."""
        means, moves = np.empty_like(self.totals), np.zeros(len(self.groups))
        for j, split in enumerate(self.splits):
            own, rows, mass = self.groups[split.test], values[j, split.test], self.each[split.test]
            with np.errstate(invalid="ignore"):  # a group without a row
                means[j] = np.bincount(own, weights=mass * rows, minlength=means.shape[1]) / self.totals[j]
            moves[split.test] += mass * (rows - means[j, own]) / self.totals[j, own]
        return pd.DataFrame(means).mean().to_numpy(), moves

    def errors(self, squares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Standard errors of the means and half their 95 % intervals, from sums of squared moves (..., G)."""
        used, counts = self.totals.shape[1], np.zeros(len(self.groups))
        for j, split in enumerate(self.splits):
            counts[split.test] += self.each[split.test] / self.totals[j, self.groups[split.test]]
        observed = np.bincount(self.groups[counts > 0], minlength=used)
        seen = (self.sizes > 0).sum(axis=0) ** 2
        with np.errstate(invalid="ignore", divide="ignore"):
            # Of a weighted mean; var/n with a single split and equal weights.
            errors = np.sqrt(squares / seen * observed / (observed - 1))
            # Rows of equal weight that would say as much (Kish 1965).
            as_good_as = seen / np.bincount(self.groups, weights=counts**2, minlength=used)
        errors[..., observed < 2] = np.nan
        return errors, stdtrit(np.maximum(as_good_as - 1, 1), 0.975) * errors


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
