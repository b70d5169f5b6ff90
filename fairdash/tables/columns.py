"""Requirements for columns in each role, which apply on the Data page, in data sets and in estimators."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.errors import Checks, DataError, Fix, Problem
from fairdash.tables.column_profile import kind_of
from fairdash.tables.fixes import can_convert, date_fixes, holds_bands
from fairdash.tables.roles import EXPOSURE, PREDICTION, SENSITIVE, TARGET, TIME
from fairdash.utils.classes import MIN_ROWS, Classes, classes_of, column_of, holds_text, why_no_classes
from fairdash.utils.rounding import is_rounding, precision

#: Role of a sensitive column of an estimator. Training uses it, but the predictor does not. It may be
#: constant if the model is trained without a fairness penalty.
SENSITIVE_FEATURE = "sensitive feature"

#: Largest absolute value of a number. The squares of larger numbers overflow a 64-bit float.
MAX_MAGNITUDE = 1e150

#: Maximum number of classes in a text column. A column with more levels probably identifies rows.
_MAX_TEXTS = 10_000
#: Types of levels that can be stored in a model's JSON file.
_LEVELS_OF_A_FILE = (str, bool, int, float)


def role_problems(values: pd.Series, *, role: str, lines: np.ndarray | None = None) -> list[Problem]:
    """List the problems of a float column in a role: missing cells, infinite cells, or a single value.

    A prediction may be constant, because constant predictions can be audited too. An exposure must be above
    zero, because targets are divided by it. Rows without exposure are never left out silently, because they
    may contain claims.

    Parameters
    ----------
    values : Series, shape (n,)
        Numbers, with NaN for missing cells.
    role
        "target", "sensitive column", "sensitive feature" (of an estimator), "exposure", "existing prediction"
        or "time".
    lines : array, shape (n,)
        Line of the file on which each row begins, if the table comes from a file.
    """
    column, cells = str(values.name), values.to_numpy(dtype=float)
    missing, infinite = np.isnan(cells), np.isinf(cells)
    hint = {
        EXPOSURE: "Correct these cells, delete these rows from the file, or choose no exposure.",
        PREDICTION: "Drop these rows, fill the cells in the file, or choose no existing prediction.",
        TIME: "Drop these rows, fill the cells in the file, or choose no time.",
        SENSITIVE_FEATURE: "Leave these rows out, or fill the cells that are NaN.",
    }.get(role, "Drop these rows, or fill the cells in the file.")
    masks_and_problems = [(missing, f"the {role} has missing cells")]
    if role == EXPOSURE:
        masks_and_problems.insert(0, (infinite, "infinite numbers can't be used"))
        below = (cells <= 0) & ~infinite
        masks_and_problems.append((below, "the exposure is not above zero in some rows"))
    problems = [infinite_problem(column, infinite, lines)] if role != EXPOSURE and infinite.any() else []
    problems += [
        _problem_with_drop_fix(column, which, problem, hint, lines)
        for which, problem in masks_and_problems
        if which.any()
    ]
    if role in (TARGET, SENSITIVE):
        problems += constant_problems(values, role)
    return problems


def constant_problems(values: pd.Series, role: str) -> list[Problem]:
    """Report a column in which all known numbers are equal."""
    if not is_rounding(values.min(), values.max(), eps=precision(values)):
        return []
    problem = f"the {role} has the same value in every row, so dependence on it is undefined"
    return [Problem(what=problem, hint="Choose a column that varies.", column=str(values.name))]


def infinite_problem(column: str, infinite: np.ndarray, lines: np.ndarray | None = None) -> Problem:
    """Report the infinite cells of a column. `infinite` and `lines` have the shape (n,)."""
    hint = "Drop these rows, mark the cells as missing, or correct them."
    return _problem_with_drop_fix(column, infinite, "infinite numbers can't be used", hint, lines)


def _problem_with_drop_fix(
    column: str, which: np.ndarray, problem: str, hint: str, lines: np.ndarray | None
) -> Problem:
    return Problem(
        what=problem,
        hint=hint,
        column=column,
        lines=first_lines(which, lines),
        count=int(which.sum()),
        fixes=(Fix("drop_rows", column),),
    )


def first_lines(which: np.ndarray, lines: np.ndarray | None) -> list[int]:
    """Return the lines of the first five rows where `which` is true, or [] if the lines are unknown."""
    return [] if lines is None else [int(line) for line in lines[which][:5]]


def outcome_problems(values: pd.Series, role: str) -> Iterator[Problem]:
    """Yield the problems of a column that training uses in a numeric role."""
    if values.dtype == np.float64:
        yield from role_problems(values, role=role)
        yield from _too_large(values)
        return
    yield Problem(
        what=f"the {role} is of type {values.dtype}, not float64",
        hint="Turn the column into numbers first.",
        column=str(values.name),
    )


def group_problems(values: pd.Series, lines: np.ndarray | None = None) -> Iterator[Problem]:
    """Yield the problems of a column of groups, which may have any type. `lines` has the shape (n,)."""
    missing = values.isna().to_numpy()
    if missing.any():
        yield Problem(
            what="rows without a group",
            hint="Fill these cells in the file. Give each row without a group its own value.",
            column=str(values.name),
            lines=first_lines(missing, lines),
            count=int(missing.sum()),
        )
    elif len(values) and values.nunique() < 2:
        yield Problem(
            what="all rows belong to one group",
            hint="Choose a column with several values, or no group.",
            column=str(values.name),
        )


def feature_problems(values: pd.Series, *, levels: type | tuple[type, ...] = object) -> Iterator[Problem]:
    """Yield the reasons why a column can't be a feature. The type of its levels must be in `levels`."""
    if is_number(values):
        yield from number_problems(values)
    elif not _has_levels(values, levels):
        yield Problem(
            what=f"a feature can't be of type {values.dtype}",
            hint="Leave the column out, or turn it into numbers or text.",
            column=str(values.name),
        )


def number_problems(values: pd.Series) -> Iterator[Problem]:
    """Yield the problems of a numeric column. Missing cells are allowed."""
    infinite = np.isinf(_floats(values))
    if infinite.any():
        yield infinite_problem(str(values.name), infinite)
    yield from _too_large(values)


def _too_large(values: pd.Series) -> Iterator[Problem]:
    cells = _floats(values)
    count = int((np.isfinite(cells) & (np.abs(cells) > MAX_MAGNITUDE)).sum())
    if count:
        yield Problem(
            what="numbers this large can't be squared",
            hint="Express the column in a larger unit.",
            column=str(values.name),
            count=count,
        )


def is_number(values: pd.Series) -> bool:
    """Return whether a column contains real numbers or truth values of any type."""
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_complex_dtype(values)


def _has_levels(values: pd.Series, levels: type | tuple[type, ...]) -> bool:
    """Return whether a column contains categories or text."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return all(isinstance(level, levels) for level in values.cat.categories.tolist())
    if values.dtype == object:
        return all(isinstance(cell, str) for cell in values.dropna())
    return pd.api.types.is_string_dtype(values)


def _floats(values: pd.Series) -> NDArray[np.float64]:
    return values.to_numpy(dtype=float, na_value=np.nan)


def as_pandas(table: Any) -> Any:
    """Convert a polars or Arrow table or column to pandas with narwhals. Return anything else unchanged."""
    if isinstance(table, (pd.DataFrame, pd.Series, np.ndarray, list, tuple)):
        return table
    import narwhals as nw

    frame = nw.from_native(table, pass_through=True, eager_only=True, allow_series=True)
    if isinstance(frame, nw.DataFrame):
        # pandas has no type for 128-bit integers.
        wide = [name for name, kind in frame.schema.items() if kind in (nw.Int128, nw.UInt128)]
        frame = frame.with_columns(*(nw.col(name).cast(nw.Float64) for name in wide)) if wide else frame
    return frame.to_pandas() if isinstance(frame, (nw.DataFrame, nw.Series)) else table


def require_unique(table: pd.DataFrame) -> None:
    """Raise DataError if two columns share a name."""
    checks = Checks(DataError)
    for name in table.columns[table.columns.duplicated()].unique():
        checks.require(False, str(name), "several columns have this name", "Rename all but one.")
    checks.finish()


def clean_features(table: pd.DataFrame, *, numbers: Collection[Hashable] = ()) -> pd.DataFrame:
    """Convert all columns to kinds that can be encoded (numbers, categories or text), and keep all rows.

    Parameters
    ----------
    numbers
        Names of columns that must be numeric, because they were numeric when the model was trained.

    Raises
    ------
    DataError
        A column contains dates or another unsupported type, numbers that are infinite or too large, a mixture
        of numbers and text, or text instead of numbers.
    """
    converted, checks = {}, Checks(DataError)
    for name in table.columns:
        column = _as_numbers_or_text(table[name]).rename(str(name))
        if name in numbers and not is_number(column):
            if column.notna().any():
                checks.problems.append(_not_numbers(column))
            column = pd.Series(np.nan, index=column.index)
        checks.problems += feature_problems(column, levels=_LEVELS_OF_A_FILE)
        converted[name] = column
    checks.finish()
    return pd.DataFrame(converted, index=table.index, columns=table.columns)


def sensitive_table(values: Any, *, name: str, min_rows: int = MIN_ROWS) -> NDArray[np.float64]:
    """Return sensitive features as numbers (n, d). A class becomes an indicator column of 0 and 1.

    Parameters
    ----------
    values
        Sensitive features as array, Series or DataFrame, (n,) or (n, d). Rows are matched by position.
    name
        Name that messages use for a column without a name.
    min_rows
        Minimum number of rows per class. Smaller classes are merged. Enter 0 for rows that are not used in
        training.

    Raises
    ------
    DataError
        A column has too many classes, numbers that are stored as text, or numbers that are missing, infinite
        or too large.
    """
    values = as_pandas(values)
    if not isinstance(values, (pd.Series, pd.DataFrame)):
        values = np.asarray(values)
        if values.ndim not in (1, 2):
            raise DataError.of("The shape is not (n,) or (n, d)", "Give a table.", column=name)
    table, checks = pd.DataFrame(values), Checks(DataError)
    columns: list[NDArray[np.float64]] = []
    for position, label in enumerate(table.columns):
        title = label if isinstance(label, str) else f"{name}, {position}" if table.shape[1] > 1 else name
        column = _as_numbers_or_text(table.iloc[:, position]).rename(title)
        if is_number(column):
            numbers = {title: _floats(column)}
        elif holds_text(column) and not _are_numbers(column):
            classes = classes_of(column, min_rows=min_rows)
            if (reason := why_no_classes(classes)) is not None:
                hint = "Merge classes, or turn the column into numbers."
                checks.require(False, title, f"the column is treated as classes, and {reason}", hint)
            numbers = classes.columns(title)
        else:
            checks.problems.append(_not_numbers(column))
            continue
        columns.extend(numbers.values())
        first = pd.Series(next(iter(numbers.values())), name=title)
        checks.problems += outcome_problems(first, SENSITIVE_FEATURE)
    checks.finish()
    return np.stack(columns, axis=1)


def _as_numbers_or_text(column: pd.Series) -> pd.Series:
    """Convert a column of objects to numbers if all its cells are numbers. Otherwise return it unchanged."""
    if column.dtype != object or any(isinstance(cell, str) for cell in column.dropna()):
        return column
    try:
        return pd.Series(pd.to_numeric(column), index=column.index)
    except (TypeError, ValueError):
        return column


def _are_numbers(column: pd.Series) -> bool:
    """Return whether at least half of a column's strings are numbers."""
    present = column.dropna().astype(object)
    return bool(2 * pd.to_numeric(present, errors="coerce").notna().sum() >= len(present))


def _not_numbers(column: pd.Series) -> Problem:
    cells = pd.to_numeric(column.astype(object), errors="coerce")
    return Problem(
        column=str(column.name),
        what="numbers are needed here",
        count=int((cells.isna() & column.notna()).sum()) or None,
        hint="Turn the column into numbers.",
    )


def as_classes(values: pd.Series) -> Classes | None:
    """Return the classes of a text column. Return None for other columns and for text that a fix can convert.

    Numbers that are stored as text, for example because of an unknown decimal mark, are not classes.

    >>> as_classes(pd.Series(["F", "M"] * 30)).names, as_classes(pd.Series(["1", "2"] * 30))
    (('F', 'M'), None)
    """
    if kind_of(values) != "text" or not holds_text(values):
        return None
    counts = values.value_counts()
    if getattr(values.dtype, "ordered", False):
        # The user has chosen an ordered category on purpose, so its levels are not checked.
        return classes_of(values)
    if len(counts) > _MAX_TEXTS or date_fixes(values) or holds_bands(values) or can_convert(values):
        return None
    is_number = pd.to_numeric(pd.Series(counts.index.astype(object)), errors="coerce").notna().to_numpy()
    return None if 2 * counts[is_number].sum() > counts.sum() else classes_of(values)


def codes_of(classes: Classes, values: pd.Series, role: str) -> pd.Series | Problem:
    """Return the number of each row's class as float64 (NaN for a missing class), or the column's problem."""
    if (reason := why_no_classes(classes)) is None:
        codes = np.where(classes.codes < 0, np.nan, classes.codes)
        return pd.Series(codes, index=values.index, name=values.name)
    hint = "Merge classes in the file, or choose another column."
    return Problem(what=f"the {role} is treated as classes, and {reason}", hint=hint, column=str(values.name))


def texts_of(texts: Mapping[str, str], classes: Iterable[str], columns: Iterable[str]) -> dict[str, str]:
    """Return a map from columns to notes. A column's note also applies to the indicators of its classes.

    >>> texts_of({"region": "Region of residence"}, ["region"], ["region: north"])["region: north"]
    'Region of residence: north'
    """
    names, title_of_class = tuple(classes), {}
    for column in columns if names else ():
        if (original := column_of(column, names)) in texts:
            title_of_class[column] = texts[original] + column.removeprefix(original)
    return {**texts, **title_of_class}
