"""Detection of amounts that add up to the target or to a price.

The premiums of single coverages are known only together with the total premium, so they can't be features. In
every row, the total premium is a factor (for a tax) times the sum of these premiums, plus a fee. The factor
and the fee are equal in all rows. To find the parts of a total, the total is regressed on all columns of
amounts in a sample of rows. The coefficients of the parts are equal, and all other coefficients are 0. Each
sum is then checked in all rows of the table.

In an additive tariff, the rating factors have different coefficients, so they are not parts. A relativity is
not a part either, because its coefficient is a base premium, which is far from 1.

>>> rng = np.random.default_rng(0)
>>> table = pd.DataFrame(rng.gamma(2, 100, (500, 3)).round(2), columns=["fire", "theft", "value"])
>>> table["premium"] = (1.19 * (table["fire"] + table["theft"])).round(2)
>>> found, = find_sums(table, "premium", ["fire", "theft", "value"])
>>> found.parts, found.in_words()
(('fire', 'theft'), '“premium” is 1.19 times the sum of “fire”, “theft”')
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tables.column_profile import as_floats, kind_of
from fairdash.tables.features import absolute_correlation
from fairdash.tables.header_words import meanings_of
from fairdash.utils.rounding import precision
from fairdash.utils.text import amount

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

#: Kinds of columns that may contain amounts.
_AMOUNTS = ("number", "whole number")
#: Range of the ratio of the total (without a fee) to the sum of the parts. A tax, a surcharge or a discount
#: lies in this range, but the base premium of a tariff does not.
_MIN_FACTOR, _MAX_FACTOR = 0.5, 2.0
#: Maximum fee as a share of the mean total. A larger intercept would be the base premium of a tariff.
_MAX_FEE = 0.25
#: Minimum number of distinct values in at least one part. Relativities have only one value per level.
_MIN_VALUES = 30
#: At least a share `_MIN_CONFIRMED` of all rows must agree with a sum. Among the rows in which a part differs
#: from its median, the share must be at least `_MIN_CONFIRMED_OF_PART`.
_MIN_CONFIRMED, _MIN_CONFIRMED_OF_PART = 0.95, 0.9
#: Maximum rounding error as a share of the total's standard deviation.
_MAX_ROUNDING = 0.05
#: Steps to which amounts may be rounded.
_STEPS = 10.0 ** np.arange(2, -5, -1)
#: The sample has at most `_MAX_ROWS` rows and `_MAX_COLUMNS` columns. For each column, at most
#: `_MAX_ROWS_OF_PART` rows are added in which the column differs from its median.
_MAX_ROWS, _MAX_ROWS_OF_PART, _MAX_COLUMNS = 2000, 40, 300
#: Minimum number of rows of the sample in excess of the number of columns.
_MIN_ROWS = 50
#: A robust fit has `_ROUNDS` rounds, and keeps a share `_KEPT_SHARE` of the rows in each of them. It leaves
#: out rows that do not agree with the sum, such as manual corrections.
_KEPT_SHARE, _ROUNDS = 0.9, 4
#: Maximum standard error of a coefficient. If it is larger, the total is rounded too coarsely to show whether
#: the column is a part.
_MAX_ERROR = 0.05
#: Maximum relative difference of coefficients that are treated as equal.
_MAX_DIFFERENCE = 0.01
#: Concepts of columns that are not amounts of money.
_NOT_AMOUNTS = frozenset({"age", "driver_age", "exposure", "policy_number", "postal_code", "row_number"})


@dataclass(frozen=True, kw_only=True)
class Sum:
    """Columns that add up to another column.

    Parameters
    ----------
    total
        Name of the column with the total.
    parts
        Names of the columns in the sum.
    subtracted
        Names of the parts that are subtracted.
    factor, fee
        The total is `factor` times the sum of the parts, plus `fee`.
    """

    total: str
    parts: tuple[str, ...]
    subtracted: tuple[str, ...] = ()
    factor: float = 1.0
    fee: float = 0.0

    def in_words(self) -> str:
        """Sentence that states the total as a sum of its parts."""
        added = [f"“{name}”" for name in self.parts if name not in self.subtracted]
        subtracted_names = [f"“{name}”" for name in self.subtracted]
        multiplied = "" if self.factor == 1 else f"{amount(self.factor)} times "
        sums = " minus ".join(
            f"the sum of {', '.join(names)}" if len(names) > 1 else names[0]
            for names in (added, subtracted_names)
            if names
        )
        fee = f" {'plus' if self.fee > 0 else 'minus'} {amount(abs(self.fee))}" if self.fee else ""
        copy_phrase = "a copy of " if sums + fee == added[0] and not multiplied else ""
        return f"“{self.total}” is {copy_phrase}{multiplied}{sums}{fee}"


def parts_of(
    frame: pd.DataFrame, total: str, columns: Iterable[str], *, exposure: str | None = None, n_min: int = 1
) -> dict[str, str]:
    """Return a map from column to sentence for the parts of a total and for sums of these parts.

    Parameters
    ----------
    frame, total, columns, exposure, n_min
        Arguments of :func:`find_sums`.
    """
    sums = {}
    for found_sum in find_sums(frame, total, columns, exposure=exposure, n_min=n_min):
        # If all columns in the sum are known parts, the total of the sum is the only new column.
        new = [name for name in found_sum.parts if name not in sums] or [found_sum.total]
        sums.update(dict.fromkeys(new, found_sum.in_words()))
    return sums


def by_sentence(leaks: Mapping[str, str]) -> Iterator[tuple[list[str], str]]:
    """Yield the parts of each sum as one group, and every other column as a group of its own."""
    for name, reason in leaks.items():
        names = [column for column in leaks if leaks[column] == reason] if reason.startswith("“") else [name]
        if name == names[0]:
            yield names, reason


def find_sums(
    frame: pd.DataFrame, total: str, columns: Iterable[str], *, exposure: str | None = None, n_min: int = 2
) -> tuple[Sum, ...]:
    """Return the sums of columns that give a total, followed by the sums that give a part or a subtotal.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names. A missing cell of a part counts as 0.
    total
        Name of a numeric column. Rows without a total are ignored.
    columns
        Names of possible parts. A column that contains only 0 and 1 is an indicator, and is never a part.
    exposure
        Column by which the total may have been divided or multiplied. The search also covers the total before
        this division or multiplication.
    n_min
        Minimum number of parts. If it is 1, the total may also be a single part with a tax or a fee.
    """
    if kind_of(frame[total]) not in _AMOUNTS:
        return ()
    y = as_floats(frame[total]).to_numpy(dtype=float)
    search = _Search.of(frame, y, [name for name in columns if not _NOT_AMOUNTS & set(meanings_of(name))])
    if search is None:
        return ()
    sums: list[Sum] = []
    unassigned = set(search.names)

    def look(name: str, values: Floats, error: Floats | float, n_min: int) -> None:
        while (found_sum := search.find(name, values, error, unassigned, n_min)) is not None:
            sums.append(found_sum)
            unassigned.difference_update(found_sum.parts)

    half_step = _rounding_step(y) / 2
    look(total, y, half_step, n_min)
    if exposure is not None and kind_of(frame[exposure]) in _AMOUNTS:
        w = as_floats(frame[exposure]).to_numpy(dtype=float)
        w = np.where((w > 0) & (w < np.inf), w, np.nan)
        look(total, y * w, half_step * w, n_min)
        look(total, y / w, half_step / w, n_min)
    # The list grows during the loop, because parts may also have parts or copies.
    for sum_of_columns in sums:
        for part in sum_of_columns.parts:
            cells = _cells(frame[part])
            look(part, cells, _rounding_step(cells) / 2, 1)
    parts = set(search.names) - unassigned
    for name in search.names if parts else ():
        if name in unassigned:
            cells = _cells(frame[name])
            of_parts = search.find(name, cells, _rounding_step(cells) / 2, parts, 2)
            sums += [] if of_parts is None else [of_parts]
    return tuple(sums)


@dataclass(frozen=True, eq=False)
class _Search:
    """Search for parts of a total, with a sample of the table's rows and the candidate columns."""

    frame: pd.DataFrame
    names: tuple[str, ...]
    #: Row numbers of the sample (m,), and the cells of the columns in these rows (m, p).
    rows: Index
    x: Floats
    #: Median of each column (p,).
    usual: Floats

    @classmethod
    def of(cls, frame: pd.DataFrame, y: Floats, columns: list[str]) -> _Search | None:
        """Draw the sample of rows. Return None if there are too few rows or no candidates."""
        finite_rows = np.flatnonzero(np.isfinite(y))
        if len(finite_rows) < _MIN_ROWS:
            return None
        sample = finite_rows[_evenly_spaced(len(finite_rows), _MAX_ROWS)]
        medians, samples = {}, [sample]
        for name in columns:
            if kind_of(frame[name]) not in _AMOUNTS:
                continue
            cells = _cells(frame[name])
            if not np.isfinite(cells).all() or (_is_indicator(cells[sample]) and _is_indicator(cells)):
                continue
            medians[name] = float(np.median(cells[sample]))
            other_rows = finite_rows[cells[finite_rows] != medians[name]]
            samples.append(other_rows[_evenly_spaced(len(other_rows), _MAX_ROWS_OF_PART)])
        if len(medians) > _MAX_COLUMNS:
            correlations = {
                name: absolute_correlation(_cells(frame[name])[sample], y[sample]) for name in medians
            }
            medians = {
                name: medians[name] for name in sorted(medians, key=correlations.__getitem__)[-_MAX_COLUMNS:]
            }
        if not medians:
            return None
        rows = np.unique(np.concatenate(samples))
        x = np.column_stack([_cells(frame[name])[rows] for name in medians])
        return cls(frame, tuple(medians), rows, x, np.array(list(medians.values())))

    def find(
        self, total: str, y: Floats, error: Floats | float, among: Collection[str], min_columns: int
    ) -> Sum | None:
        """Return a set of columns that adds up to y (n,), which has rounding errors up to `error`."""
        indices = np.flatnonzero([name in among for name in self.names])
        # Rows with the most frequent total are left out, because it may be a minimum premium.
        is_usable = np.isfinite(y) & (y != _most_frequent(y))
        in_sample = is_usable[self.rows]
        if in_sample.sum() < len(indices) + _MIN_ROWS:
            in_sample = np.isfinite(y[self.rows])
        if len(indices) < min_columns or min(in_sample.sum() - len(indices), is_usable.sum()) < _MIN_ROWS:
            return None
        beta = _coefficients(self.x[in_sample][:, indices], y[self.rows[in_sample]])
        chosen = np.flatnonzero(np.abs(beta) >= _MIN_FACTOR / 2)
        if len(chosen) < min_columns or beta.max(initial=0.0) <= 0:
            return None
        parts, sign = indices[chosen], np.sign(beta[chosen])
        cells = np.stack([_cells(self.frame[self.names[k]])[is_usable] for k in parts])
        errors = np.broadcast_to(error, y.shape)[is_usable]
        line = _line_of(y[is_usable], sign, cells, errors, exact=precision(self.frame[total]))
        if line is None:
            return None
        factor, fee, agrees_in_row = line
        agreement_of_parts = [agrees_in_row[x != self.usual[k]] for k, x in zip(parts, cells, strict=True)]
        if min(part.mean() if len(part) else 0.0 for part in agreement_of_parts) < _MIN_CONFIRMED_OF_PART:
            return None
        return Sum(
            total=total,
            parts=tuple(self.names[k] for k in parts),
            subtracted=tuple(self.names[k] for k, factor in zip(parts, sign, strict=True) if factor < 0),
            factor=factor,
            fee=fee,
        )


def _coefficients(x: Floats, y: Floats) -> Floats:
    """Regress a total (m,) on columns (m, p).

    All coefficients are 0 if the columns don't add up to the total. Rounding errors and a few rows with other
    amounts are allowed. The coefficient of a column is also 0 if the other columns determine this column, or
    if the total is rounded too coarsely to estimate the coefficient.
    """
    beta = np.zeros(x.shape[1])
    varying_columns = np.flatnonzero(np.ptp(x, axis=0) > 0)
    if not len(varying_columns) or np.ptp(y) == 0:
        return beta
    size = x[:, varying_columns].std(axis=0)
    z = (x[:, varying_columns] - x[:, varying_columns].mean(axis=0)) / size
    if _fitted(z, y)[1] > _MAX_ROUNDING * y.std():
        return beta
    steps = np.array([_rounding_step(column) for column in x[:, varying_columns].T])
    basis = _independent(z, np.clip(2 * steps / size, 1e-7, _MAX_ROUNDING))
    error = _fitted(z[:, basis], y)[1] * np.sqrt(np.diag(np.linalg.inv(z[:, basis].T @ z[:, basis])))
    basis = basis[error <= _MAX_ERROR * size[basis]]
    coefficients = np.zeros(len(varying_columns))
    coefficients[basis] = _fitted(z[:, basis], y)[0] / size[basis]
    beta[varying_columns] = _with_one_factor(coefficients, z, size, basis)
    return beta


def _with_one_factor(beta: Floats, z: Floats, size: Floats, basis: Index) -> Floats:
    """Replace columns by multiples, such as gross amounts, if this makes all coefficients equal."""
    parts = np.flatnonzero(np.abs(beta) >= _MIN_FACTOR / 2)
    others = np.setdiff1d(np.arange(len(beta)), basis)
    if len(parts) < 2 or not len(others):
        return beta
    options = {part: {part: beta[part]} for part in parts}
    slopes = np.linalg.lstsq(z[:, basis], z[:, others], rcond=None)[0]
    for other, slope in zip(others, slopes.T, strict=True):
        largest = int(np.argmax(np.abs(slope)))
        part = basis[largest]
        if part in options and np.abs(np.delete(slope, largest)).sum() < _MAX_DIFFERENCE:
            options[part][other] = beta[part] * size[part] / (slope[largest] * size[other])
    for factor in np.abs([value for option in options.values() for value in option.values()]):
        chosen = {}
        for option in options.values():
            distances = {name: abs(abs(value) - factor) for name, value in option.items()}
            chosen[min(distances, key=distances.__getitem__)] = option
        if all(
            abs(abs(option[name]) - factor) <= _MAX_DIFFERENCE * factor for name, option in chosen.items()
        ):
            equal_beta = np.zeros_like(beta)
            equal_beta[list(chosen)] = [option[name] for name, option in chosen.items()]
            return equal_beta
    return beta


def _fitted(z: Floats, y: Floats) -> tuple[Floats, float]:
    """Return the coefficients of a regression and the standard deviation of its residuals.

    If the standard deviation is larger than rounding errors, the fit is repeated without the rows that have
    the largest residuals.
    """
    design, rows = np.column_stack([np.ones(len(y)), z]), np.ones(len(y), dtype=bool)
    for _ in range(_ROUNDS):
        beta = np.linalg.lstsq(design[rows], y[rows], rcond=None)[0]
        residual = y - design @ beta
        size = float(residual[rows].std())
        if size <= _MAX_ROUNDING * y.std():
            break
        rows = np.abs(residual) <= np.quantile(np.abs(residual), _KEPT_SHARE)
    return np.asarray(beta[1:], dtype=float), size


def _independent(z: Floats, min_columns: Floats) -> Index:
    """Return columns of z (m, p) that determine all other columns up to residuals of at most `min_columns`.

    If the columns include a rounded subtotal and all its parts, one of them is redundant, and its coefficient
    would be noise.
    """
    left, chosen = z.copy(), list[int]()
    while True:
        sizes = np.sqrt(np.mean(left**2, axis=0))
        sizes[sizes <= min_columns] = 0.0
        best = int(np.argmax(sizes))
        if sizes[best] == 0:
            return np.sort(np.array(chosen, dtype=np.intp))
        chosen.append(best)
        direction = left[:, best] / np.sqrt(np.sum(left[:, best] ** 2))
        left -= np.outer(direction, direction @ left)
        left[:, best] = 0.0


def _line_of(
    y: Floats, sign: Floats, cells: Floats, error: Floats, *, exact: float
) -> tuple[float, float, Mask] | None:
    """Fit y (n,) as factor × (sum of k columns) + fee. Return factor, fee and a mask of agreeing rows.

    The result is None if too few rows agree, or if the factor, the fee or the columns are not plausible.
    """
    z, steps = sign @ cells, [_rounding_step(x) for x in cells]
    tolerance = 8 * exact * float(np.abs(y).max() + np.abs(cells).max(axis=1).sum())
    agrees_in_row = np.ones(len(y), dtype=bool)
    for _ in range(_ROUNDS):
        if np.ptp(z[agrees_in_row]) == 0:
            return None
        fee, factor = np.polynomial.polynomial.polyfit(z[agrees_in_row], y[agrees_in_row], 1)
        rounding = 1.02 * (error + abs(factor) * sum(steps) / 2) + tolerance
        distances = np.abs(y - factor * z - fee)
        agrees_in_row = distances <= np.maximum(rounding, np.quantile(distances, _KEPT_SHARE))
    if not _MIN_FACTOR <= factor <= _MAX_FACTOR or rounding.mean() > _MAX_ROUNDING * y[agrees_in_row].std():
        return None
    for multiplier, added in ((1.0, 0.0), (factor, 0.0), (1.0, np.median(y - z)), (factor, fee)):
        agrees_in_row = np.abs(y - multiplier * z - added) <= rounding
        if agrees_in_row.mean() >= _MIN_CONFIRMED:
            counts = (multiplier, added) == (1.0, 0.0) and min(steps) >= 1
            are_amounts = counts or max(len(np.unique(x)) for x in cells) >= _MIN_VALUES
            small = abs(added) <= _MAX_FEE * np.abs(y).mean()
            return (float(multiplier), float(added), agrees_in_row) if are_amounts and small else None
    return None


def _cells(values: pd.Series) -> Floats:
    """Return numbers (n,). A missing cell becomes 0, because a coverage that is not bought costs nothing."""
    cells = as_floats(values).to_numpy(dtype=float)
    return np.where(np.isnan(cells), 0.0, cells)


def _evenly_spaced(n: int, size: int) -> Index:
    """Return at most `size` evenly spaced indices from 0 to n − 1."""
    return np.unique(np.linspace(0, n - 1, min(n, size)).astype(np.intp)) if n else np.zeros(0, dtype=np.intp)


def _is_indicator(cells: Floats) -> bool:
    return bool(((cells == 0) | (cells == 1)).all())


def _most_frequent(y: Floats) -> float:
    """Return the most frequent value if it occurs in more than 1 % of the rows, else NaN."""
    counts = pd.Series(y).value_counts()
    return float(counts.index[0]) if len(counts) and counts.iloc[0] > 0.01 * counts.sum() else np.nan


def _rounding_step(cells: Floats) -> float:
    """Return the step to which numbers are rounded, such as 0.01, or 0 if they are not rounded."""
    cells = cells[np.isfinite(cells) & (cells != 0)]
    for step in _STEPS if len(cells) else ():
        if all(
            (np.abs(remainders - np.round(remainders)) <= 1e-6 + 1e-7 * np.abs(remainders)).all()
            for remainders in (cells[:100] / step, cells / step)
        ):
            return float(step)
    return 0.0
