"""Rates per unit of exposure, and detection of the column with policy numbers if policies have several rows.

A policy of half a year has only half as much time for claims as a policy of a full year. With the rate y = N
/ w as the target and the exposure w as the weight, the average prediction is a frequency, Σ N / Σ w, and the
weighted Poisson deviance of the rates equals the deviance of the counts with offset ln w.

>>> import pandas as pd
>>> looks_like_total(pd.Series([0, 1, 0, 2], name="ClaimNb"))
True
>>> looks_like_total(pd.Series([0.5, 2.0, 1.2], name="rate"))
False
>>> looks_like_total(pd.Series([0, 0, 0, 812.5, 90.1, -40.2], name="ClaimAmount"))  # with a recovery
True

fairdash recognises a column of policy numbers by its cells, even if its name is unknown. A column of policy
numbers has many values, each in a few rows, and rows with the same value agree in the columns that describe a
policy: sex, region, vehicle. Rows from the same place agree only in the columns that describe the place. Rows
with the same vehicle model agree only in the columns that describe the vehicle. Rows with the same date, age
or amount usually differ in almost all other columns.

>>> rng = np.random.default_rng(0)
>>> policy = np.repeat(rng.permutation(4000)[:300], 3)
>>> frame = pd.DataFrame({"no": policy, "sex": rng.integers(0, 2, 4000)[policy], "year": [1, 2, 3] * 300})
>>> frame["region"] = rng.choice(list("abc"), 4000)[policy]
>>> find_policies(frame).in_words()
'300 policies in 900 rows'
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tables.column_profile import NUMBERS, as_floats, kind_of
from fairdash.tables.header_words import CLAIMS, meanings_of
from fairdash.utils.text import amount

_FLOAT32_LARGEST = float(np.finfo(np.float32).max)


#: Minimum share of zeros in a column of totals, because most policies have no claim.
_MANY_ZEROS = 0.5

#: Options for negative amounts: use them unchanged, replace them by 0, or leave out their rows.
AS_THEY_ARE, FLOOR, DROP_NEGATIVE = "as_they_are", "floor", "drop_negative"
OF_NEGATIVES = (AS_THEY_ARE, FLOOR, DROP_NEGATIVE)


def can_be_rate(target: pd.Series) -> bool:
    """Return whether a column contains numbers and can be divided by an exposure."""
    return kind_of(target) in NUMBERS


def looks_like_total(target: pd.Series) -> bool:
    """Return whether a column contains counts or totals that grow with the exposure, and not a rate.

    Counts are whole numbers of at least 0. A total is 0 in at least half of the rows, and less than half of
    the other amounts are negative (such as recoveries). A column whose name means a rate contains neither
    counts nor totals.
    """
    if not can_be_rate(target) or "rate" in meanings_of(target.name):
        return False
    cells = target.dropna().to_numpy(dtype=float)
    if holds_counts(cells):
        return True
    below, above = int((cells < 0).sum()), int((cells > 0).sum())
    return float(np.mean(cells == 0)) >= _MANY_ZEROS and (below == 0 or below < above)


def holds_counts(cells: np.ndarray) -> bool:
    """Return whether an array contains only whole numbers of at least zero."""
    finite = cells[np.isfinite(cells)]
    return len(finite) > 0 and bool((finite >= 0).all() and (finite == np.round(finite)).all())


Floats = NDArray[np.float64]
Index = NDArray[np.intp]

#: A column of policy numbers has at least `_MIN_VALUES` distinct values, each in at most `_MAX_ROWS_EACH`
#: rows on average.
_MIN_VALUES, _MAX_ROWS_EACH = 50, 50
#: Unlike measurements and places, policy numbers have no very frequent values. At least 95 % of the rows must
#: have a value that occurs in at most 12 rows, or in at most 4 times as many rows as the average value.
_MAX_TIMES, _MIN_CROWD, _NOT_CROWDED = 4, 12, 0.95
#: Maximum and minimum number of pairs of rows that are compared. Both rows of a pair have the same value.
_MAX_PAIRS, _MIN_PAIRS = 4000, 30
#: A column describes the policy if its agreement beyond chance is at least `_AGREE`. At least `_MIN_COLUMNS`
#: columns, and a share of at least `_MIN_AGREEING` of them, must describe the policy.
_AGREE, _MIN_AGREEING, _MIN_COLUMNS = 0.5, 0.6, 2
#: Meanings of columns whose values may differ between the rows of a policy.
_OF_ROWS = frozenset({*CLAIMS, "exposure", "row_number"})
_OF_PEOPLE = frozenset({"age", "driver_age", "protected"})
#: Meanings of columns that can't be policy numbers.
_MEASURED = frozenset({*_OF_ROWS, "age", "driver_age", "premium", "price", "cost", "income"}) - {"row_number"}


@dataclass(frozen=True, kw_only=True)
class Policies:
    """Column of policy numbers. All rows of a policy have the same number.

    Parameters
    ----------
    column
        Name of the column.
    count, rows
        Number of policies, and number of rows.
    """

    column: str
    count: int
    rows: int

    def in_words(self) -> str:
        """Return a phrase with the numbers of policies and rows."""
        return f"{self.count:,} policies in {self.rows:,} rows"

    @property
    def advice(self) -> str:
        """Advice to use the command's option for groups."""
        return f"{self.in_words()}: use --group {shlex.quote(self.column)}."


def find_policies(frame: pd.DataFrame, *, but: Collection[str] = ()) -> Policies | None:
    """Return the column of policy numbers with the fewest values, or None if all policies have one row.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names.
    but
        Columns that have another role, such as the price. These columns can't contain policy numbers, and are
        used only to compare rows.
    """
    best = None
    for name in frame.columns:
        meanings = set(meanings_of(name))
        if name in but or meanings & _MEASURED or (codes := _codes_of_id(frame[name])) is None:
            continue
        count = int(codes.max()) + 1
        is_named = "policy_number" in meanings
        if (best is None or count < best.count) and _describes(frame, str(name), codes, is_named):
            best = Policies(column=str(name), count=count, rows=len(frame))
    return best


def _codes_of_id(values: pd.Series) -> Index | None:
    """Return an integer code of each row's value, (n,), or None if a column can't contain policy numbers."""
    kind, n = kind_of(values), len(values)
    if kind not in ("text", "whole number", "number") or values.isna().any():
        return None
    sample = values.iloc[np.unique(np.linspace(0, n - 1, 1000).astype(int))] if n else values
    if sample.nunique() < min(len(sample), n) / _MAX_ROWS_EACH:
        return None
    if kind == "number" and not all(_are_whole(as_floats(numbers)) for numbers in (sample, values)):
        return None
    codes = pd.factorize(values)[0].astype(np.intp)
    sizes = np.bincount(codes)
    if not max(_MIN_VALUES, n / _MAX_ROWS_EACH) <= len(sizes) < n:
        return None
    crowded = sizes > max(_MIN_CROWD, _MAX_TIMES * n / len(sizes))
    return codes if sizes[~crowded].sum() >= _NOT_CROWDED * n else None


def _are_whole(values: pd.Series) -> bool:
    cells = values.to_numpy()
    return bool((np.isfinite(cells) & (cells == np.round(cells))).all())


def _describes(frame: pd.DataFrame, name: str, codes: Index, is_named: bool) -> bool:
    """Return whether a column is named like policies, or rows with equal values agree in other columns."""
    # Pairs of rows are drawn at random, because neighbouring rows often belong to one policy even if many
    # policies share a value.
    order = np.lexsort((np.random.default_rng(0).random(len(codes)), codes))
    pairs = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    if len(pairs) < _MIN_PAIRS or is_named:
        return is_named and len(pairs) >= _MIN_PAIRS
    pairs = pairs[np.unique(np.linspace(0, len(pairs) - 1, _MAX_PAIRS).astype(int))]
    agreeing = []
    for other in frame.columns:
        meanings = set(meanings_of(other))
        if str(other) == name or meanings & _OF_ROWS:
            continue
        agreement = _agreement(frame[other], order[pairs], order[pairs + 1])
        if agreement is None:
            continue
        if agreement < _AGREE and meanings & _OF_PEOPLE:
            return False
        agreeing.append(agreement >= _AGREE)
    return len(agreeing) >= _MIN_COLUMNS and float(np.mean(agreeing)) >= _MIN_AGREEING


def _agreement(values: pd.Series, first: Index, second: Index) -> float | None:
    """Return the agreement of paired rows beyond chance, at most 1, or None if it can't be computed.

    For numbers, the agreement is the rank correlation. For text, it is the share of pairs with equal text,
    corrected for chance.
    """
    kind = kind_of(values)
    cells = values.iloc[np.concatenate([first, second])]
    if kind not in (*NUMBERS, "text") or cells.nunique() < 2 or cells.isna().mean() > 0.5:
        return None
    if kind == "text":
        codes = pd.factorize(cells)[0]
        chance = float(np.sum((np.bincount(codes + 1) / len(codes)) ** 2))
        equal = float(np.mean(codes[: len(first)] == codes[len(first) :]))
        # `chance` is the share of equal pairs that is expected if the pairs are drawn at random from all
        # rows.
        return (equal - chance) / (1 - chance)
    ranks = as_floats(cells).rank().fillna(0.0).to_numpy()
    first_ranks, second_ranks = ranks[: len(first)], ranks[len(first) :]
    if np.ptp(first_ranks) == 0 or np.ptp(second_ranks) == 0:
        return None
    return float(np.corrcoef(first_ranks, second_ranks)[0, 1])


def rate_of(target: pd.Series, exposure: pd.Series) -> tuple[pd.Series, str]:
    """Return the target divided by the exposure, under the target's name, and a sentence on the division."""
    total, divisor = float(target.sum()), float(exposure.sum())
    sentence = (
        f"The target is “{target.name}” ÷ “{exposure.name}”, a rate, and rows are weighted by "
        f"“{exposure.name}”: {amount(total)} ÷ {amount(divisor)} = {amount(total / divisor)} over all rows."
    )
    return (target / exposure).rename(str(target.name)), sentence


def unit_of_rate(target: str, exposure: str) -> str:
    """Return the unit of a rate from the units of target and exposure, which may be empty.

    >>> unit_of_rate("€", "years"), unit_of_rate("", "")
    ('€ per year', 'per unit of exposure')
    """
    unit = re.sub(r"s$", "", exposure) if exposure.isalpha() else "unit of exposure"
    return f"{target} per {unit}".strip()


def rescale(columns: dict[str, pd.Series], units: dict[str, str], notes: list[str]) -> None:
    """Divide columns of very large or very small numbers by a power of ten, and add the power to the unit."""
    for column, values in columns.items():
        exponent = _exponent_of_scale(values)
        if exponent:
            columns[column] = values / 10.0**exponent
            units[column] = f"10^{exponent} {units.get(column, '')}".rstrip()
            notes.append(f"“{column}” is divided by 10^{exponent} because training uses single precision.")


def _exponent_of_scale(values: pd.Series) -> int:
    """Return an exponent e, usually 0, such that all values ÷ 10ᵉ are in the range of 32-bit floats."""
    if values.dtype != np.float64:
        return 0
    largest = np.abs(values.to_numpy()).max(initial=0.0, where=~np.isnan(values.to_numpy()))
    if largest <= 0 or 1e-30 < largest <= _FLOAT32_LARGEST:
        return 0
    return int(np.floor(np.log10(largest)))
