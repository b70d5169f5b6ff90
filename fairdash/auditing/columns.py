"""Checks on the columns of an audit: names, roles, numbers, classes and their probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

from fairdash.auditing.plan import Columns
from fairdash.errors import Checks, DataError, OptionError, Problem
from fairdash.evaluation.classes import OFF_ONE
from fairdash.tables.columns import MAX_MAGNITUDE, as_classes
from fairdash.tables.exposure import find_policies
from fairdash.tables.leaks import certain_leaks
from fairdash.tables.sums import by_sentence, parts_of
from fairdash.utils.classes import classes_of, why_no_classes
from fairdash.utils.registry import get_entry
from fairdash.utils.rounding import varies
from fairdash.utils.text import amount, counted, few

#: A text column with more levels than this limit, and than a tenth of the rows, counts as an identifier.
_MAX_LEVELS = 50
MISSING = "missing"
Array = NDArray[np.float64]

#: Minimum number of rows with a cost. If fewer rows have one, these rows may all be in one fold or one half
#: of the rows; a model fitted to the others then has no cost to learn from.
_MIN_COSTS = 10
#: Minimum of |mean price| ÷ mean |price|. If the mean is near 0, shares of the mean have no meaning.
MIN_MEAN = 0.05
#: Maximum distance of a rounded linear function from a straight line, in standard deviations.
_MAX_ROUNDING = 0.02
#: Roles and their display names. A feature must not reveal the values of these columns.
_ROLES_TO_HIDE = {
    "outcome": "outcome",
    "price": "price",
    "candidate": "second price",
    "expected_cost": "expected cost",
}
#: Line number of a file's first row of data, which follows the header.
FIRST_LINE = 2
#: First words of those notes that are shown before the verdict.
UNITS, DIFFERS = "The units seem to differ", "The model's price differs"
#: `_LOSS_RATIO`: usual ratio of cost to price. `_LOWEST`, `_HIGHEST`: outside these limits, cost and price
#: probably have different units.
_LOSS_RATIO, _LOWEST, _HIGHEST = 0.7, 0.05, 10.0
#: Conversion factors of pairs of units. A pair is a likely explanation if the ratio of cost to price differs
#: from its factor by a factor of less than 2.5.
_UNIT_FACTORS = {"Months and years": 12, "Weeks and years": 52, "Days and years": 365}
_UNIT_FACTORS |= {"Hundredths and units of money": 100, "Units and thousands of money": 1000}
_FACTOR_TOLERANCE = 2.5
#: Maximum number of claims of one policy. A column with a higher value contains amounts of money.
_MAX_CLAIMS = 20
#: Maximum value of the logarithm of a price; e^30 is about 10^13.
_MAX_LOG = 30.0
#: Prices seem to be totals if the slope of ln price on ln exposure is in the range `_TOTAL_SLOPES`, and the
#: correlation is at least `_MIN_CORRELATION`.
_TOTAL_SLOPES, _MIN_CORRELATION = (0.8, 1.2), 0.5


def check_names(frame: pd.DataFrame, columns: Columns) -> None:
    """Raise an error for columns that do not exist, and for columns with two roles."""
    columns_by_text = {str(name): name for name in frame.columns}
    if len(columns_by_text) < len(frame.columns) or any(name != key for key, name in columns_by_text.items()):
        raise DataError.of(
            "Two columns have the same name, or a name is not text", "Give every column a unique name."
        )
    roles = {**columns.numbers()} | ({} if columns.groups is None else {"groups": columns.groups})
    known_class = () if columns.known_class is None else (columns.known_class,)
    others = (*columns.controls, *columns.totals, *columns.probabilities, *known_class)
    for name in (*roles.values(), *others, *(columns.features or ())):
        get_entry(columns_by_text, name, option="column")
    checks = Checks(OptionError)
    role_by_name: dict[str, str] = {}

    def is_free(name: str, option: str, hint: str, *, but: str = "") -> None:
        role = role_by_name.get(name, "")
        problem = f"The column “{name}” is the {role.replace('_', ' ')} already"
        checks.require(role in ("", but), option, problem, hint)

    for role, name in roles.items():
        is_free(name, role, "Name another column.")
        role_by_name[name] = role
    hint_for_controls = (
        "Among rows that are equal in this column, nothing remains to compare. Leave it out of the factors."
    )
    for name in columns.controls:
        is_free(name, "controls", hint_for_controls, but="groups")
    for name in columns.features or ():
        is_free(name, "features", "Leave it out of the features.", but="groups")
    if columns.coverage is not None:
        is_feature = columns.features is None or columns.coverage in (*columns.features, *columns.controls)
        is_available = columns.coverage in columns_by_text and columns.coverage not in role_by_name
        problem, hint = f"“{columns.coverage}” is not one of the features", "Add it to the features."
        checks.require(
            is_feature and (is_available or columns.coverage in columns.controls), "coverage", problem, hint
        )
    allowed = {columns.price, columns.outcome, columns.expected_cost, columns.candidate}
    hint = "Name the exposure. Only price, outcome, expected cost and candidate can be totals."
    for name in columns.totals:
        divides = columns.exposure is not None and name in allowed
        checks.require(divides, "totals", f"The column “{name}” can't be divided by an exposure", hint)
    checks.finish()


def exclude_leaks(
    frame: pd.DataFrame, columns: Columns, names: tuple[str, ...]
) -> tuple[tuple[str, ...], list[str]]:
    """The result is the names of the features to use, and notes.

    If the user named the features, all of them are used. Otherwise, features that reveal the outcome or a
    price are left out, and so is a column of policy numbers. The notes name the features that reveal the
    outcome or a price. If the user named no group, they also name the column of policy numbers.
    """
    kept_names, notes = [name for name in names if name != columns.coverage], []
    if columns.groups is None and (policies := find_policies(frame, but=columns.numbers().values())):
        kept_names = [name for name in kept_names if name != policies.column]
        notes.append(f"fairdash counts each row as independent. {policies.advice}")
    for role, role_in_words in _ROLES_TO_HIDE.items():
        if (total := getattr(columns, role)) is None:
            continue
        find = certain_leaks if role == "outcome" else parts_of
        leaks = find(frame, total, kept_names, exposure=columns.exposure)
        kept_names = [name for name in kept_names if name not in leaks]
        for leaking, reason in by_sentence(leaks):
            is_single = len(leaking) == 1
            subject = f"The feature “{leaking[0]}” gives" if is_single else f"{len(leaking)} features give"
            action = "uses them because they are named"
            if columns.features is None:
                action = "does not use them unless you name the features (--feature)"
            action = action.replace("them", "it").replace("they are", "it is") if is_single else action
            reason = reason.replace("the target", "the outcome")
            notes.append(f"{subject} the {role_in_words} away: {reason}. fairdash {action}.")
    columns_used = {*kept_names, columns.coverage} if columns.features is None else names
    return tuple(name for name in names if name in columns_used), notes


def check_numbers(frame: pd.DataFrame, columns: Columns) -> None:
    """Raise an error, with line numbers, for cells that are not numbers."""
    problems = []
    factors = (("controls", name) for name in columns.controls if is_numeric_dtype(frame[name]))
    for role, name in (*columns.numbers().items(), *factors):
        column = frame[name]
        if role == "sensitive" and as_classes(column) is not None:
            continue
        if not (is_numeric_dtype(column) or is_bool_dtype(column)) or np.iscomplexobj(column.to_numpy()):
            problem = "the column does not hold numbers only"
            hint = "Choose a column of numbers, or turn it into numbers first (a date into a year or an age)."
            problems.append(Problem(what=problem, hint=hint, column=name))
            continue
        values = column.to_numpy(dtype=float, na_value=np.nan)
        infinite = "numbers that are infinite", "Correct these cells or empty them."
        below = "an exposure below zero", "Correct these cells or leave the rows out."
        large = "its numbers are too large to compute with", "Express the column in a larger unit."
        for mask, (problem, hint) in (
            (np.isinf(values), infinite),
            ((role == "exposure") & (values < 0), below),
            (np.isfinite(values) & (np.abs(values) > MAX_MAGNITUDE**0.5), large),
        ):
            if mask.any():
                lines = (np.flatnonzero(mask)[:5] + FIRST_LINE).tolist()
                problems.append(
                    Problem(what=problem, hint=hint, column=name, lines=lines, count=int(mask.sum()))
                )
    if problems:
        raise DataError(*problems)


def check_values(numbers: Mapping[str, Array], weight: Array, columns: Columns) -> None:
    """Raise an error for values that can't be audited; `numbers` maps roles to (n,) arrays."""
    checks = Checks(DataError)
    finite = {role: np.nan_to_num(values) for role, values in numbers.items()}
    hint = "Choose a price, or a prediction of a quantity that can't be below zero."
    for role in ("price", "candidate"):
        if role in numbers:
            mean, size = float(weight @ finite[role]), float(weight @ np.abs(finite[role]))
            problem = "the column's mean must be above zero, because gaps are shares of the mean"
            checks.require(mean > 0, getattr(columns, role), problem, hint)
            problem = (
                "the column's mean is almost zero compared with its values, and gaps are shares of the mean"
            )
            checks.require(mean <= 0 or mean >= MIN_MEAN * size, getattr(columns, role), problem, hint)
    problem, hint = "the column has the same value in every row", "Choose a column with several values."
    checks.require(bool(varies(numbers["sensitive"])), columns.sensitive, problem, hint)
    for role in ("outcome", "expected_cost"):
        if role in numbers:
            problem = "the column adds up to 0 or less, so the price can't be compared with it"
            hint = "Choose another column, or leave it out."
            adds_up, n_costs = float(weight @ finite[role]) > 0, int((finite[role] != 0).sum())
            checks.require(adds_up, getattr(columns, role), problem, hint)
            problem = f"the column is nonzero in only {counted(n_costs, 'row')}, too few for cross-fitting"
            checks.require(not adds_up or n_costs >= _MIN_COSTS, getattr(columns, role), problem, hint)
    for role in ("price", "candidate"):
        if {role, "outcome"} <= set(numbers):
            same = f"the column is a linear function of “{getattr(columns, role)}” in every row"
            hint = "Choose an outcome that is known only after pricing, such as claims, or no outcome."
            is_finite = np.isfinite(numbers["outcome"]) & np.isfinite(numbers[role])
            is_copy = _is_linear_in(numbers["outcome"][is_finite], numbers[role][is_finite])
            checks.require(not is_copy, columns.outcome, f"{same}: the price is the outcome", hint)
    checks.finish()


def _is_linear_in(y: Array, x: Array) -> bool:
    """Return True if y is a linear function of x in every row, up to rounding to cents or whole euros."""
    if len(x) == 0 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return len(x) > 0 and bool(np.ptp(x) == np.ptp(y))
    x_centred, y_centred = x - x.mean(), y - y.mean()
    residual = y_centred - x_centred * (x_centred @ y_centred) / (x_centred @ x_centred)
    return bool(np.abs(residual).max() <= _MAX_ROUNDING * y_centred.std())


def class_names(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the part of each column's name that differs from the other names.

    >>> class_names(("p_black", "p_white")), class_names(("P(a)", "P(b)")), class_names(("x", "xy"))
    (('black', 'white'), ('a', 'b'), ('x', 'xy'))
    """
    start, end = _shared_prefix_length(columns), _shared_prefix_length([name[::-1] for name in columns])
    short_names = tuple(name[start : len(name) - end] for name in columns)
    # The common prefix must end at a separator, because names may share first letters by chance.
    text_part = columns[0][:start]
    return columns if not all(short_names) or text_part[-1:].isalnum() else short_names


def _shared_prefix_length(names: Sequence[str]) -> int:
    """Return the length of the prefix that all names share."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def encode_classes(
    coded_frame: pd.DataFrame, columns: Columns, notes: list[str], *, min_rows: int
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the frame with class codes as sensitive column, and the class names; note merged
    classes."""
    name = columns.sensitive
    coded = classes_of(coded_frame[name])
    if (reason := why_no_classes(coded)) is not None and len(coded_frame) >= min_rows:
        hint = "Merge classes, or choose another column."
        raise DataError.of(f"the column is treated as classes, and {reason}", hint, column=name)
    notes.extend(coded.merged_in_words(name))
    return coded_frame.assign(**{name: coded.codes.astype(float)}), coded.names


def probabilities_of(
    frame: pd.DataFrame, columns: Columns, rows: NDArray[np.bool_], notes: list[str]
) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    """Return class probabilities (m, k) and known class codes (m,) of the m rows that `rows` (n,) selects.

    Percentages are converted to shares. A row in which all probabilities are 0 counts as missing. A note
    reports each of these changes.

    Raises
    ------
    DataError
        There is only one column, a value is not a probability, or the values of a row don't add up to 1. The
        error gives the line numbers.
    """
    chosen = columns.probabilities
    if not chosen:
        return pd.DataFrame(index=range(int(rows.sum()))), np.full(int(rows.sum()), -1, dtype=np.intp)
    if len(chosen) < 2 or not all(is_numeric_dtype(frame[name]) for name in chosen):
        raise DataError.of(
            "Probabilities of classes must be several columns of numbers",
            "Name a column for each class, including the last one.",
            column="probabilities",
        )
    p = frame[list(chosen)].to_numpy(dtype=float, na_value=np.nan)
    p = _as_shares(p, rows, few(chosen), notes)
    has_error = rows & ((p < 0).any(axis=1) | (np.abs(p.sum(axis=1) - 1) > _sum_tolerance(p)))
    if has_error.any():
        raise DataError(
            Problem(
                what=f"rows in which {few(chosen)} are below 0 or don't add up to 1 (within {OFF_ONE:g})",
                hint="Name the columns of all classes as shares of 1, and correct these rows or leave "
                "them out.",
                column="probabilities",
                lines=(np.flatnonzero(has_error)[:5] + FIRST_LINE).tolist(),
                count=int(has_error.sum()),
            )
        )
    p, names = p[rows], class_names(chosen)
    codes = np.full(len(p), -1, dtype=np.intp)
    if columns.known_class is not None:
        labels_given = frame.loc[rows, columns.known_class]
        labels = labels_given.astype(object).where(labels_given.notna(), "").astype(str)
        code_of_label = {name: k for names_of in (names, chosen) for k, name in enumerate(names_of)} | {
            "": -1
        }
        if (unknown := ~labels.isin(code_of_label.keys()).to_numpy()).any():
            raise DataError.of(
                f"{counted(int(unknown.sum()), 'row')} of a class that has no column of probabilities",
                f"The known classes are {few(names)}. Empty cells count as unknown classes.",
                column=columns.known_class,
            )
        codes = labels.map(code_of_label).to_numpy().astype(np.intp)
    return pd.DataFrame(p / p.sum(axis=1, keepdims=True), columns=list(names)), codes


def units_in_words(numbers: Mapping[str, Array], weight: Array, columns: Columns) -> list[str]:
    """Return a note, in a list, if price and cost seem to have different units or scales."""
    price, cost = numbers["price"], numbers["outcome"]
    known_weight = np.where(np.isfinite(cost), weight, 0.0)
    total_cost, total_price = float(known_weight @ np.nan_to_num(cost)), float(known_weight @ price)
    if not (total_cost > 0 and total_price > 0) or _LOWEST <= total_cost / total_price <= _HIGHEST:
        return []
    sentence = (
        f"{UNITS}: “{columns.outcome}” is {_format_percent(total_cost / total_price)} of “{columns.price}”."
    )
    if (
        price.max() <= _MAX_LOG
        and _LOWEST <= (ratio_to_exp := total_cost / float(known_weight @ np.exp(price))) <= _HIGHEST
    ):
        return [
            f"{sentence} The outcome is {_format_percent(ratio_to_exp)} of exp(“{columns.price}”), so "
            "the price seems to be a logarithm. Audit the exponential of the price, or choose the link “log” "
            "for a model."
        ]
    if total_cost < total_price and (_are_counts(cost) or _are_counts(cost * weight)):
        return [
            f"{sentence} “{columns.outcome}” seems to count claims, and “{columns.price}” to be an amount of "
            "money. Give the amounts of the claims as the outcome, or audit a price of claim counts."
        ]
    log_distance = abs(math.log(total_cost / total_price / _LOSS_RATIO))
    name = min(_UNIT_FACTORS, key=lambda unit: abs(math.log(_UNIT_FACTORS[unit]) - log_distance))
    is_near = abs(math.log(_UNIT_FACTORS[name]) - log_distance) < math.log(_FACTOR_TOLERANCE)
    likely = f" {name} differ by a factor of {_UNIT_FACTORS[name]:,}." if is_near else ""
    return [f"{sentence}{likely} State both amounts in the same unit of money and exposure."]


def _are_counts(cost: Array) -> bool:
    finite = cost[np.isfinite(cost)]
    return bool(finite.max() <= _MAX_CLAIMS and np.allclose(finite, np.round(finite), rtol=0, atol=1e-9))


def _format_percent(share: float) -> str:
    """Format a share in per cent with two significant digits, such as 6,600 %."""
    return f"{float(f'{100 * share:.2g}'):,g} %"


def price_in_words(price: Array, weight: Array, columns: Columns) -> list[str]:
    """Return notes on prices that are not above 0, or that grow with the exposure like totals."""
    sentences = []
    if low := int((price <= 0).sum()):
        sentences.append(
            f"“{columns.price}” is 0 or less in {counted(low, 'row')} of {len(price):,}. Its lowest value is "
            f"{amount(float(price.min()))}. Logarithms and differences are not prices."
        )
    elif columns.exposure is not None and columns.price not in columns.totals and np.ptp(weight) > 0:
        years, logs = np.log(weight), np.log(price)
        slope = float(np.cov(years, logs)[0, 1] / years.var(ddof=1))
        if (
            _TOTAL_SLOPES[0] <= slope <= _TOTAL_SLOPES[1]
            and slope * years.std() >= _MIN_CORRELATION * logs.std()
        ):
            sentences.append(
                f"{UNITS}: “{columns.price}” grows with the exposure “{columns.exposure}”, as a total does. "
                f"fairdash treats it as an amount per unit of exposure. If this column is a total, name "
                "it among the totals."
            )
    return sentences


def _as_shares(p: Array, rows: NDArray[np.bool_], names: str, notes: list[str]) -> Array:
    """Convert probabilities or percentages (n, k) to probabilities, and set rows of zeros to missing."""
    is_all_zero = (p == 0).all(axis=1)
    if (count := int((is_all_zero & rows).sum())) and count < rows.sum():
        notes.append(
            f"In {counted(count, 'row')} all of {names} are 0. Figures by class leave these rows out."
        )
        p = np.where(is_all_zero[:, None], np.nan, p)
    sums = p[rows].sum(axis=1)
    sums = sums[np.isfinite(sums)]
    if len(sums) and np.nanmin(p[rows]) >= 0 and abs(float(np.median(sums)) - 100) < 1:
        notes.append(f"{names} add up to 100, so fairdash treats them as percentages.")
        p = p / 100
    return p


def _sum_tolerance(p: Array) -> float:
    """Return the largest difference from 1 of a row's sum in `p`, (n, k), that rounding can explain."""
    finite = p[np.isfinite(p)]
    rounding = next(
        (10.0**-d for d in (1, 2, 3, 4) if np.allclose(finite * 10**d, np.rint(finite * 10**d))), 0.0
    )
    return max(OFF_ONE, rounding * p.shape[1] / 2 if rounding < 0.1 else 0.0) + 1e-9


def feature_names(frame: pd.DataFrame, columns: Columns) -> tuple[str, ...]:
    """Return the features that the user named, or every informative column without another role."""
    if columns.features is not None:
        return columns.features
    role_columns = {*columns.numbers().values(), columns.groups, *columns.probabilities, columns.known_class}
    return tuple(str(name) for name in frame if name not in role_columns and _is_informative(frame[name]))


def _is_informative(column: pd.Series) -> bool:
    levels = column.nunique(dropna=False)
    if levels < 2 or is_datetime64_any_dtype(column):
        return False
    return is_numeric_dtype(column) or levels <= max(_MAX_LEVELS, len(column) // 10)


def as_feature(column: pd.Series) -> pd.Series:
    """Convert a numeric column to floats, and any other column to text in which “missing” is a level."""
    if is_numeric_dtype(column) and not is_bool_dtype(column):
        values = column.to_numpy(dtype=float, na_value=np.nan)
        return pd.Series(np.where(np.isinf(values), np.nan, values), index=column.index)
    return column.astype(object).where(column.notna(), MISSING).astype(str)
