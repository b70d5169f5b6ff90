"""Table of an audit: its columns by role, checked and in a canonical order.

Rows are sorted by the sensitive attribute, then by their content. Results therefore do not depend on the
original order of the rows. Folds are pseudo-random. A row's fold depends on its policy. Without policies, it
depends on the row's attribute, on its exposure, and on its number among rows in which both are equal.

A row must have a price, an attribute, an exposure and, if rows are grouped, a policy. Other cells may be
missing. Each question uses the rows without a missing cell in the columns that it needs
(:meth:`AuditTable.on`). No other column affects the order or the folds of these rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from fairdash.auditing.columns import (
    as_feature,
    check_names,
    check_numbers,
    check_values,
    encode_classes,
    exclude_leaks,
    feature_names,
    price_in_words,
    probabilities_of,
    units_in_words,
)
from fairdash.auditing.plan import Columns
from fairdash.dependence.grouping import as_groups
from fairdash.errors import DataError
from fairdash.evaluation.insurance import MIN_SHOWN, N_BANDS, bands_of
from fairdash.tables.columns import as_classes
from fairdash.tables.exposure import looks_like_total
from fairdash.utils.seeds import Stream, rng_of
from fairdash.utils.text import amount, counted, few, percent, with_unit

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Minimum number of rows (or of policies, if rows are grouped) for reliable intervals.
MIN_ROWS = 100
#: Optional roles in their order as sort keys. A second price comes last, even if it is audited alone.
_SORT_ROLES = ("expected_cost", "outcome", "controls", "features", "probabilities", "candidate")


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditTable:
    """Rows of an audit, sorted by s; :meth:`of` makes the table from a frame.

    Attributes
    ----------
    price, sensitive, weight : (n,) arrays
        Price π, attribute s and exposure w > 0. If the attribute has classes, s is the index in `classes`.
    outcome, expected_cost, candidate : (n,) array or None
        Values of these optional roles: None if no column has the role, and NaN in missing cells.
    controls : (n, c) frame
        Legitimate factors: numbers as floats and other columns as text, with missing cells.
    features : (n, p) frame
        Rating factors: numbers as floats and other columns as text, with missing cells.
    units : (n,) array
        Number of each row's independent unit, from 0 to U − 1. A unit is a policy, or a row.
    deal : (n,) array
        Uniform number in [0, 1) for each row's unit. This number determines the unit's fold and does not
        depend on outcomes.
    keys : (n,) array
        Hash of the policy, or of s and the exposure, from which `deal` is computed.
    first_price : (n,) array
        Sort key of rows with equal s and exposure: the first price, even in an audit of the second price.
    fold_seed
        Seed of the folds.
    columns
        Column names.
    notes
        Sentences on the rows that the audit left out, with reasons.
    probabilities : (n, k) frame
        Class probabilities by class name. Each row adds up to 1 or is missing. The frame may be empty.
    known : (n,) array
        Index of the true class among `probabilities`, −1 if unknown.
    classes
        Names of the classes of s, in order; empty if s is numeric.
    currency, period
        Currency of amounts and unit of exposure, such as "€" and "year"; "" if the user named none.
    """

    price: Array
    sensitive: Array
    weight: Array
    outcome: Array | None
    expected_cost: Array | None
    candidate: Array | None
    controls: pd.DataFrame
    features: pd.DataFrame
    units: Index
    deal: Array
    keys: NDArray[np.uint64]
    first_price: Array
    fold_seed: int
    columns: Columns
    notes: tuple[str, ...]
    probabilities: pd.DataFrame
    known: Index
    classes: tuple[str, ...] = ()
    currency: str = ""
    period: str = ""

    @property
    def n(self) -> int:
        return len(self.price)

    @property
    def n_units(self) -> int:
        return int(self.units.max()) + 1

    @property
    def mean_price(self) -> float:
        """Mean price weighted by exposure, the denominator of all shares."""
        return self.mean(self.price)

    @property
    def share(self) -> Array:
        """Each row's share of the total exposure, (n,)."""
        return self.weight / self.weight.sum()

    def mean(self, values: Array) -> float:
        """Return the mean of values (n,), weighted by exposure."""
        return float(self.weight @ values / self.weight.sum())

    def per_unit(self, values: Array) -> Array:
        """Sum values (n,) over the rows of each unit, (U,)."""
        return np.asarray(np.bincount(self.units, weights=values), dtype=float)

    def error(self, values: Array) -> float:
        """Return the standard error of the sum of values (n,); units are independent draws."""
        unit_sums = self.per_unit(values)
        return float(np.sqrt(unit_sums @ unit_sums))

    def folds(self, count: int) -> Index:
        """Return the number of each row's fold, (n,), below `count`; all rows of a unit are in one fold."""
        return np.floor(self.deal * count).astype(np.intp)

    @property
    def s_for_tests(self) -> NDArray[Any]:
        """Sensitive attribute for tests, (n,): s, or class names."""
        names = np.array(self.classes, dtype=object)
        return names[self.sensitive.astype(np.intp)] if self.classes else self.sensitive

    @property
    def s_columns(self) -> tuple[Array, ...]:
        """Numeric columns (n,) for s: s itself, or 0/1 indicators if there are 3 or more classes."""
        if len(self.classes) < 3:
            return (self.sensitive,)
        return tuple((self.sensitive == k).astype(float) for k in range(len(self.classes)))

    def called(self, value: float) -> str:
        """Format a value of s as a class name or a number, without decimals if all values are whole."""
        if self.classes:
            return self.classes[int(value)]
        return f"{value:,.0f}" if self._is_whole else amount(value)

    @cached_property
    def _is_whole(self) -> bool:
        return bool((self.sensitive == np.rint(self.sensitive)).all())

    def money(self, value: float) -> str:
        """Format an amount of money with its currency."""
        return with_unit(amount(value), self.currency)

    @property
    def a_unit(self) -> str:
        """Phrase with the unit of exposure to which an amount refers."""
        if self.columns.exposure is None:
            return "per row"
        return f"per {self.period}" if self.period else "per unit"

    @property
    def a_unit_of_exposure(self) -> str:
        """Phrase with the unit of exposure, written in full for its first use in a text."""
        return f"{self.a_unit} of exposure" if self.a_unit == "per unit" else self.a_unit

    @property
    def rows_in_words(self) -> str:
        """Noun that follows a share: “the rows”, or “the exposure” if a column has that role."""
        return "the rows" if self.columns.exposure is None else "the exposure"

    def s_range(self, low: float, high: float) -> str:
        """Format a range of s in words."""
        return f"“{self.called(low)}”" if self.classes else f"{self.called(low)} to {self.called(high)}"

    def bands(self, count: int = N_BANDS) -> Index:
        """Return the number of each row's band of s, (n,): a band of about equal exposure, or a class."""
        if self.classes:
            return np.unique(self.sensitive, return_inverse=True)[1]
        return bands_of(self.sensitive, self.weight, count)

    def take(self, rows: NDArray[np.bool_] | Index) -> AuditTable:
        """Return the rows that a mask (n,) selects, or rows with given numbers in the given order."""
        part: dict[str, Any] = {
            name: values.iloc[rows] if isinstance(values, pd.DataFrame) else values[rows]
            for name, values in vars(self).items()
            if isinstance(values, np.ndarray | pd.DataFrame)
        }
        return replace(self, **part | {"units": pd.factorize(self.units[rows])[0]})

    def sampled(self, max_rows: int) -> AuditTable:
        """Draw whole units with about `max_rows` rows in total, and rescale the numbers `deal` to [0, 1)."""
        share = min(1.0, max_rows / self.n)
        part = self.take(self.deal < share)
        return replace(part, deal=part.deal / share)

    def on(self, roles: Collection[str]) -> AuditTable:
        """Return the rows without missing cells in optional roles; other roles don't affect their order.

        Raises
        ------
        DataError
            Too few rows remain.
        """
        mask, by = np.ones(self.n, dtype=bool), []
        for role in _SORT_ROLES:
            values = getattr(self, role)
            if role not in roles or values is None:
                continue
            if isinstance(values, pd.DataFrame):
                # A missing cell of a feature is treated as a separate level.
                mask &= role == "features" or values.notna().all(axis=1).to_numpy()
                by.append(_hash_of(values) if len(values.columns) else np.zeros(self.n))
            else:
                mask &= np.isfinite(values)
                by.append(values)
        order = np.lexsort((self.keys, self.price, *by[::-1], self.first_price, self.weight, self.sensitive))
        order = order[mask[order]]
        if np.array_equal(order, np.arange(self.n)):
            return self
        count = len(np.unique(self.units[order]))
        if count < MIN_ROWS:
            names = [name for role in _SORT_ROLES if role in roles for name in self.columns.of(role)]
            unit = "rows" if self.columns.groups is None else "groups of rows"
            raise _too_few_rows(
                count, f"{unit} in which {few(names)} {'is' if len(names) == 1 else 'are'} known", []
            )
        part = self.take(order)
        return replace(
            part, deal=_random_numbers(part.keys, self.fold_seed, within=self.columns.groups is None)
        )

    @property
    def loss_ratio(self) -> float:
        """Loss ratio of the portfolio, Σ w Y / Σ w π."""
        assert self.outcome is not None
        return float(self.weight @ self.outcome / (self.weight @ self.price))

    @property
    def outcome_at_price_level(self) -> Array:
        """Outcome divided by the loss ratio, (n,), so that the total equals the total price."""
        assert self.outcome is not None
        return self.outcome / self.loss_ratio

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        columns: Columns,
        *,
        random_state: int | None = 0,
        cap: float | None = None,
        currency: str = "",
        period: str = "",
    ) -> AuditTable:
        """Check a frame and extract the columns that an audit needs.

        Rows without a price, an attribute, an exposure above 0 or a policy are left out and counted. The cap
        limits each outcome before any division by exposure. A note states the amount removed.

        Raises
        ------
        OptionError
            A column does not exist, or has two roles.
        DataError
            A column is unsuitable for its role (the error names the lines), there are too few rows, or the
            mean price is not above 0.
        """
        check_names(frame, columns)
        check_numbers(frame, columns)
        complete, notes = complete_rows(frame, columns)
        probabilities, known_class = probabilities_of(frame, columns, complete, notes)
        used_features, leak_notes = exclude_leaks(frame, columns, feature_names(frame, columns))
        notes += leak_notes
        features = pd.DataFrame({name: as_feature(frame[name]) for name in used_features}, index=frame.index)
        needed_columns = [*columns.numbers().values(), *columns.controls]
        needed_columns += [] if columns.groups is None else [columns.groups]
        used = frame.loc[complete, list(dict.fromkeys(needed_columns))].reset_index(drop=True)
        classes: tuple[str, ...] = ()
        if as_classes(frame[columns.sensitive]) is not None:
            used, classes = encode_classes(used, columns, notes, min_rows=MIN_ROWS)
        features = features[complete].reset_index(drop=True)
        numbers = {
            role: used[name].to_numpy(dtype=float, na_value=np.nan)
            for role, name in columns.numbers().items()
        }
        weight = numbers.pop("exposure", np.ones(len(used)))
        if len(used) < MIN_ROWS:
            raise _too_few_rows(len(used), "complete rows", notes)
        if cap is not None and "outcome" in numbers:
            numbers["outcome"] = _cap_outcomes(numbers["outcome"], weight, cap, columns, notes)
        for role, name in columns.numbers().items():
            if name in columns.totals:
                numbers[role] = numbers[role] / weight
            elif role == "outcome" and columns.exposure is not None and looks_like_total(used[name]):
                notes.append(
                    f"fairdash treats “{name}” as an amount per unit of exposure. If it is a total over the "
                    "exposure, name it among the totals."
                )
            if role == "outcome":
                notes[:0] = units_in_words(numbers, weight, columns)
            if role == "outcome" and (below := int((numbers[role] < 0).sum())):
                notes.append(
                    f"“{name}” is below zero in {counted(below, 'row')}. fairdash treats these amounts as "
                    "recoveries and does not change them."
                )
        controls = pd.DataFrame(
            {name: _as_control(used[name]) for name in columns.controls}, index=used.index
        )
        units = np.arange(len(used), dtype=np.intp)
        if columns.groups is not None:
            units = np.asarray(as_groups(used[columns.groups].to_numpy(), len(used)))
        if (n_units := len(np.unique(units))) < MIN_ROWS:
            raise _too_few_rows(n_units, "groups of complete rows", notes)
        if columns.groups is not None:
            notes.append(
                f"The rows belong to {n_units:,} policies (“{columns.groups}”), which count as independent."
            )
        check_values(numbers, weight, columns)
        notes[:0] = price_in_words(numbers["price"], weight, columns)
        keys = _hash_of(pd.DataFrame({"s": numbers["sensitive"], "w": weight}))
        if columns.groups is not None:
            keys = _hash_of(used[[columns.groups]].astype(str))
        sort_values = pd.concat(
            [pd.DataFrame(numbers), controls, features, probabilities, pd.Series(known_class)], axis=1
        )
        order = np.lexsort((keys, _hash_of(sort_values), numbers["price"], weight, numbers["sensitive"]))
        seed = int(rng_of(Stream.AUDIT_FOLDS, random_state).integers(1, 2**63, dtype=np.int64))
        optional: dict[str, Any] = {
            role: numbers[role][order] if role in numbers else None
            for role in ("outcome", "expected_cost", "candidate")
        }
        return cls(
            price=numbers["price"][order],
            sensitive=numbers["sensitive"][order],
            weight=weight[order],
            **optional,
            controls=controls.iloc[order].reset_index(drop=True),
            features=features.iloc[order].reset_index(drop=True),
            # Units are numbered in row order. Without groups, a row's unit is therefore its position.
            units=pd.factorize(units[order])[0],
            deal=_random_numbers(keys[order], seed, within=columns.groups is None),
            keys=keys[order],
            first_price=numbers["price"][order],
            fold_seed=seed,
            columns=columns,
            notes=tuple(notes),
            probabilities=probabilities.iloc[order].reset_index(drop=True),
            known=known_class[order],
            classes=classes,
            currency=currency,
            period=period,
        )


def complete_rows(frame: pd.DataFrame, columns: Columns) -> tuple[NDArray[np.bool_], list[str]]:
    """Return a mask of the rows that an audit can use, (n,), and notes on all other rows."""
    needed_columns = [columns.price, columns.sensitive, *filter(None, (columns.exposure, columns.groups))]
    is_missing = frame[needed_columns].isna().to_numpy()
    notes = [
        f"fairdash leaves out {counted(int(count), 'row')} in which “{name}” is missing."
        for name, count in zip(needed_columns, is_missing.sum(axis=0), strict=True)
        if count
    ]
    complete = np.asarray(~is_missing.any(axis=1))
    if columns.exposure is not None:
        idle = complete & (frame[columns.exposure] == 0).to_numpy(dtype=bool, na_value=False)
        complete &= ~idle
        if idle.any():
            notes.append(f"fairdash leaves out {counted(int(idle.sum()), 'row')} with no exposure.")
            lost_sum = 0.0 if columns.outcome is None else float(frame.loc[idle, columns.outcome].sum())
            if lost_sum:
                notes[-1] += f" “{columns.outcome}” adds up to {amount(lost_sum)} in these rows."
    return complete, notes


def without_small_groups(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Remove rows of tables whose groups are too small to be shown, according to the column ``rows``."""
    return {
        name: table[table["rows"] >= MIN_SHOWN].reset_index(drop=True) if "rows" in table else table
        for name, table in tables.items()
    }


def _cap_outcomes(outcome: Array, weight: Array, cap: float, columns: Columns, notes: list[str]) -> Array:
    """Limit outcomes (n,) to the cap, and add a note with the amount removed."""
    above = outcome > cap
    total = np.ones_like(weight) if columns.outcome in columns.totals else weight
    finite = np.nan_to_num(outcome)
    removed = float(total @ np.maximum(finite - cap, 0) / max(float(total @ finite), 1e-300))
    notes.append(
        f"“{columns.outcome}” is capped at {amount(cap)} in {counted(int(above.sum()), 'row')}. The cap "
        f"removes {percent(removed)} of the column's sum."
    )
    return np.minimum(outcome, cap)


def _too_few_rows(count: int, unit: str, notes: list[str]) -> DataError:
    """Return the error for too few rows, with notes on rows left out, which are the usual reason."""
    sentence = " ".join([f"An audit needs {MIN_ROWS} {unit}, and there are {count}.", *notes])
    return DataError.of(sentence.rstrip("."), "Give more rows, or leave out columns with many missing cells.")


def _as_control(column: pd.Series) -> pd.Series:
    if is_numeric_dtype(column) and not is_bool_dtype(column):
        return column.astype(float)
    return column.astype(str).where(column.notna())


def _hash_of(frame: pd.DataFrame) -> NDArray[np.uint64]:
    """Hash each row, (n,), without the names of the columns."""
    return np.asarray(pd.util.hash_pandas_object(frame, index=False), dtype=np.uint64)


def _random_numbers(keys: NDArray[np.uint64], seed: int, *, within: bool) -> Array:
    """Return pseudo-random numbers in [0, 1): the finaliser of splitmix64 (Steele, Lea, Flood 2014) applied
    to key, seed and, with `within`, the row's number among equal keys.

    Outcomes may determine the order of rows with equal keys. The random numbers are independent of outcomes
    nevertheless, because each row number gives a new random number.
    """
    mixed_keys = keys ^ np.uint64(seed)
    if within:
        number = pd.Series(keys).groupby(keys, sort=False).cumcount().to_numpy().astype(np.uint64)
        mixed_keys = mixed_keys + number * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed_keys = (mixed_keys ^ (mixed_keys >> np.uint64(shift))) * np.uint64(factor)
    mixed_keys ^= mixed_keys >> np.uint64(31)
    return (mixed_keys >> np.uint64(11)).astype(float) / 2.0**53
