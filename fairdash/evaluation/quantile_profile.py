"""Profiles of predictions by groups of the sensitive attribute: averages, distributions and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from fairdash.dependence import quantile_groups
from fairdash.training.splits import Split
from fairdash.utils.rounding import SINGLE, is_rounding

ROWS_PER_GROUP = 20
MAX_NUMBER_OF_GROUPS = 20


def quantile_profile(
    values: NDArray[np.float64],
    s: NDArray[np.float64],
    splits: Sequence[Split],
    *,
    n_groups: int | None = None,
    groups: NDArray[np.intp] | None = None,
    weight: NDArray[np.float64] | None = None,
    units: NDArray[np.intp] | None = None,
) -> pd.DataFrame:
    """Return the averages of `values` in quantile groups of `s`, on test rows.

    Parameters
    ----------
    values : (J, n) array
        Predictions or residuals of one model per split, for all rows.
    s : (n,) array
        Values of the sensitive attribute. All rows define the groups, so that all splits have the same
        groups.
    splits
        The J splits; only the test rows of each split are used.
    n_groups
        Requested number of groups. By default, there are up to 20 groups, each with at least 20 test rows per
        split. Ties in `s` may reduce this number.
    groups
        Known group of each row, (n,), numbered from 0 without gaps, or None.
    weight : (n,) array, optional
        Exposure, which weights the averages.
    units : (n,) array, optional
        Number of the independent unit, such as a policy, that each row belongs to, from 0 to U-1. By default,
        each row is a unit.

    Returns
    -------
    DataFrame, one row per group
        Columns ``group``, ``s_low``, ``s_high``, ``s_mean`` (all rows of the group), ``n`` (number of test
        rows, mean over splits), ``mean`` (mean over splits of the group's average), ``error`` (its standard
        error), and ``low`` and ``high``, its 95 % interval by Student's t. The interval accounts for the
        sampling of rows, but not for the training of the models. If a row is a test row in several splits, it
        counts as one observation.
    """
    if groups is None:
        min_rows = min(len(split.test) for split in splits)
        groups = quantile_groups(s, _group_count(min_rows) if n_groups is None else n_groups)
    rows = _TestRows.of(groups, splits, weight, units)
    mean, influence = rows.averages(values)
    errors, half_widths = rows.errors(rows.products(influence, influence))
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
            "low": mean - half_widths,
            "high": mean + half_widths,
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
    units: NDArray[np.intp] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return ``mean``, ``low`` and ``high`` of :func:`quantile_profile` for blends of two models, (P, G).

    The average of a group is a linear function of the predictions, and its variance is a quadratic function.
    The results therefore follow from the two models, without computing the predictions of the blends.

    Parameters
    ----------
    low, high : (J, n) arrays
        Predictions or residuals of the two models.
    shares : (P,) array
        Weight of the model `high` in each blend, 0 to 1.
    splits, groups, weight, units
        Same meaning as in :func:`quantile_profile`.
    """
    rows = _TestRows.of(groups, splits, weight, units)
    (mean_low, a), (mean_high, b) = rows.averages(low), rows.averages(high)
    aa, ab, bb = rows.products(a, a), rows.products(a, b), rows.products(b, b)
    share = shares[:, None]
    mean = (1 - share) * mean_low + share * mean_high
    _, half_widths = rows.errors((1 - share) ** 2 * aa + 2 * share * (1 - share) * ab + share**2 * bb)
    return mean, mean - half_widths, mean + half_widths


@dataclass(frozen=True, kw_only=True)
class _TestRows:
    """Test rows of all splits by group, which several profiles of the same splits share.

    Parameters
    ----------
    groups, each
        Group (n,) and weight (n,) of each row.
    cells, of_cells
        Number of each row's combination of unit and group, (n,), from 0 to C-1, and the group of each
        combination, (C,).
    splits
        The J splits.
    sizes, totals
        Number and total weight of the test rows of each group, (J, G).
    """

    groups: NDArray[np.intp]
    row_weight: NDArray[np.float64]
    cells: NDArray[np.intp]
    of_cells: NDArray[np.intp]
    splits: Sequence[Split]
    sizes: NDArray[np.float64]
    totals: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        groups: NDArray[np.intp],
        splits: Sequence[Split],
        weight: NDArray[np.float64] | None,
        units: NDArray[np.intp] | None,
    ) -> _TestRows:
        n_groups = int(groups.max()) + 1
        cells, of_cells = np.arange(len(groups)), groups
        if units is not None:
            codes, cells = np.unique(units * n_groups + groups, return_inverse=True)
            of_cells = codes % n_groups
        mass = np.ones(len(groups)) if weight is None else weight
        tests = [split.test for split in splits]
        sizes = [np.bincount(groups[rows], minlength=n_groups) for rows in tests]
        totals = [np.bincount(groups[rows], weights=mass[rows], minlength=n_groups) for rows in tests]
        return cls(
            groups=groups,
            row_weight=mass,
            cells=cells,
            of_cells=of_cells,
            splits=splits,
            sizes=np.array(sizes, dtype=float),
            totals=np.array(totals),
        )

    def averages(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return group averages, (G,), as means over splits, and the influence of each row on them, (n,)."""
        means, influence = np.empty_like(self.totals), np.zeros(len(self.groups))
        for j, split in enumerate(self.splits):
            groups, rows, mass = self.groups[split.test], values[j, split.test], self.row_weight[split.test]
            with np.errstate(invalid="ignore"):  # An average of no rows is NaN.
                means[j] = np.bincount(groups, weights=mass * rows, minlength=means.shape[1]) / self.totals[j]
            influence[split.test] += mass * (rows - means[j, groups]) / self.totals[j, groups]
        return pd.DataFrame(means).mean().to_numpy(), influence

    def products(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over units of the products of two influences a and b (n,), for each group, (G,)."""
        first, second = (np.bincount(self.cells, weights=influence) for influence in (a, b))
        n_groups = self.totals.shape[1]
        return np.asarray(np.bincount(self.of_cells, weights=first * second, minlength=n_groups), dtype=float)

    def errors(self, squares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return standard errors and half-widths of 95 % intervals, given squared influences (..., G)."""
        n_groups, counts = self.totals.shape[1], np.zeros(len(self.groups))
        for j, split in enumerate(self.splits):
            counts[split.test] += self.row_weight[split.test] / self.totals[j, self.groups[split.test]]
        of_cells = np.bincount(self.cells, weights=counts)
        observed = np.bincount(self.of_cells[of_cells > 0], minlength=n_groups)
        n_splits = (self.sizes > 0).sum(axis=0) ** 2
        with np.errstate(invalid="ignore", divide="ignore"):
            # The squared error is the variance of a weighted mean. For a single split and equal weights, it
            # is var/n.
            errors = np.sqrt(squares / n_splits * observed / (observed - 1))
            # Kish's (1965) effective number of units: so many units with equal weights would give the same
            # variance.
            n_effective = n_splits / np.bincount(self.of_cells, weights=of_cells**2, minlength=n_groups)
        errors[..., observed < 2] = np.nan
        return errors, stdtrit(np.maximum(n_effective - 1, 1), 0.975) * errors


def group_averages(
    values: NDArray[np.float64],
    s: NDArray[np.float64],
    *,
    weight: NDArray[np.float64] | None = None,
    units: NDArray[np.intp] | None = None,
) -> pd.DataFrame:
    """Return the :func:`quantile_profile` of one column `values` (n,) over all rows."""
    rows = np.arange(len(s))
    return quantile_profile(values[None], s, [Split(train=rows[:0], test=rows)], weight=weight, units=units)


def _group_count(n_rows: int) -> int:
    """Return a number of groups with about ROWS_PER_GROUP rows per group, within the limits of a chart."""
    return int(np.clip(n_rows // ROWS_PER_GROUP, 2, MAX_NUMBER_OF_GROUPS))


Predictions = Mapping[int, NDArray[np.float64]]
DEFAULT_GROUPS = 5


def transfers_by_group(
    before: Predictions,
    after: Predictions,
    s: NDArray[np.float64],
    splits: Sequence[Split],
    *,
    weight: NDArray[np.float64] | None = None,
    groups: NDArray[np.intp] | None = None,
) -> pd.DataFrame:
    """Return the change in the sum of predictions by quantile group of `s`, on test rows.

    Parameters
    ----------
    before, after
        Predictions (n,) of all rows by split. Only splits that occur in both mappings are used.
    s : (n,) array
        Values of the sensitive attribute. All rows define the groups, and rows with equal values share a
        group.
    splits
        All splits of the run.
    weight : (n,) array, optional
        Exposure, which weights the predictions.
    groups
        Known group of each row, (n,), numbered from 0 without gaps, or None.

    Returns
    -------
    DataFrame, one row per group, with means over the splits
        Columns ``group``, ``s_low``, ``s_high``, ``n`` (test rows), ``heads`` (their exposure), ``before``
        and ``after`` (average prediction), ``total`` (Σ w·(after − before) of the group; the groups add up to
        the total change) and ``per_head`` (``total`` divided by ``heads``).
    """
    split_numbers = sorted(before.keys() & after.keys())
    mass = np.ones(len(s)) if weight is None else weight
    if groups is None:
        groups = merged_groups(s, [splits[j].test for j in split_numbers], n_groups=DEFAULT_GROUPS)
    count = int(groups.max()) + 1
    sums = np.zeros((4, count))
    for j in split_numbers:
        rows = splits[j].test
        group_of_row = groups[rows]
        for k, values in enumerate(
            (np.ones(len(rows)), mass[rows], mass[rows] * before[j][rows], mass[rows] * after[j][rows])
        ):
            sums[k] += np.bincount(group_of_row, weights=values, minlength=count) / len(split_numbers)
    n, exposure_sum, total_before, total_after = sums
    by_group = pd.Series(s).groupby(groups)
    return pd.DataFrame(
        {
            "group": np.arange(count),
            "s_low": by_group.min().to_numpy(),
            "s_high": by_group.max().to_numpy(),
            "n": n,
            "heads": exposure_sum,
            "before": total_before / exposure_sum,
            "after": total_after / exposure_sum,
            "total": total_after - total_before,
            "per_head": (total_after - total_before) / exposure_sum,
        }
    )


def merged_groups(
    s: NDArray[np.float64],
    parts: Sequence[NDArray[np.int64]],
    *,
    n_groups: int,
    min_rows: int = ROWS_PER_GROUP,
) -> NDArray[np.intp]:
    """Return quantile groups, merging neighbours until each group has at least `min_rows` rows in every part.

    If a part is too small for two groups, all rows form one group.
    """
    groups = quantile_groups(s, n_groups)
    count = int(groups.max()) + 1
    rows = np.array([np.bincount(groups[part], minlength=count) for part in parts]).min(axis=0)
    group_of_part, number, gathered = np.empty(count, dtype=np.intp), 0, 0
    for group in range(count):
        group_of_part[group] = number
        gathered += rows[group]
        if gathered >= min_rows:
            number, gathered = number + 1, 0
    # The remaining rows are part of the last complete group.
    group_of_part = np.minimum(group_of_part, max(number - 1, 0))
    return group_of_part[groups]


THIRDS = ("low", "middle", "high")
N_POINTS = 120
MAX_ROWS = 4000


def densities(
    values: NDArray[np.float64], s: NDArray[np.float64], *, grid: NDArray[np.float64]
) -> pd.DataFrame:
    """Return Gaussian kernel densities (Scott's bandwidth) of `values` within groups of `s`.

    Parameters
    ----------
    values, s : (n,) arrays
        Predictions or residuals, and the sensitive attribute. At most 4,000 rows are used, drawn at random.
    grid
        Points at which the densities are computed, in the units of `values`.

    Returns
    -------
    DataFrame, one row per group and grid point
        Columns ``group`` ("low", "middle" and "high", or fewer groups because of ties or few rows),
        ``s_low``, ``s_high``, ``n``, ``mean``, ``x``, ``density`` (with integral 1), and ``is_constant``
        (True if all values of the group are within one grid step). If all values of a group are equal, its
        density is positive at one grid point only.
    """
    from scipy.stats import gaussian_kde

    if len(values) > MAX_ROWS:
        rows = np.random.default_rng(0).choice(len(values), MAX_ROWS, replace=False)
        values, s = values[rows], s[rows]
    groups = merged_groups(s, [np.arange(len(s))], n_groups=len(THIRDS))
    names = THIRDS if groups.max() == 2 else (THIRDS[0], THIRDS[2])
    parts = []
    for group in range(int(groups.max()) + 1):
        sample, s_here = values[groups == group], s[groups == group]
        step = float(grid[1] - grid[0])
        is_constant = bool(np.ptp(sample) <= step)
        if is_constant:
            density = np.zeros(len(grid))
            density[np.abs(grid - sample.mean()).argmin()] = 1 / step
        else:
            # The width is Scott's bandwidth, but at least one grid step. A narrower kernel between two grid
            # points would be invisible.
            width = max(len(sample) ** -0.2, step / float(sample.std(ddof=1)))
            density = gaussian_kde(sample, bw_method=width)(grid)
        parts.append(
            pd.DataFrame(
                {
                    "group": names[group],
                    "s_low": s_here.min(),
                    "s_high": s_here.max(),
                    "n": len(sample),
                    "mean": sample.mean(),
                    "x": grid,
                    "density": density,
                    "is_constant": is_constant,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def common_grid(*values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a grid from the 0.5 % to the 99.5 % quantile of all `values`, plus a margin."""
    all_values = np.concatenate(values)
    low, high = np.quantile(all_values, [0.005, 0.995])
    margin = 0.08 * (high - low)
    if is_rounding(low, high, eps=SINGLE):
        # If the values differ only by rounding errors, their spread counts as zero.
        margin = 0.5 * max(abs(low), abs(high)) or 0.5
    return np.linspace(low - margin, high + margin, N_POINTS)
