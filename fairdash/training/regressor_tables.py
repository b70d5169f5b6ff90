"""The tables that :class:`fairdash.training.regressor.FairRegressor` takes in, checked column by column."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_array

from fairdash.data.roles import LARGEST_MAGNITUDE, infinite_problem
from fairdash.errors import DataError, Problem

#: What a categorical column's levels may be: what a JSON file keeps.
_LEVEL_TYPES = (str, bool, int, float)


def as_pandas(table: Any) -> Any:
    """A polars or arrow table or column as pandas has it, by narwhals; anything else comes back as it is."""
    if isinstance(table, (pd.DataFrame, pd.Series, np.ndarray, list, tuple)):
        return table
    import narwhals as nw

    known = nw.from_native(table, pass_through=True, eager_only=True, allow_series=True)
    return known.to_pandas() if isinstance(known, (nw.DataFrame, nw.Series)) else table


def require_unique(table: pd.DataFrame) -> None:
    """DataError if two columns share a name."""
    twice = table.columns[table.columns.duplicated()].unique()
    _refuse(
        Problem(column=str(name), what="The name is used for several columns", hint="Rename all but one.")
        for name in twice
    )


def require_columns(table: pd.DataFrame, columns: Iterable[Hashable]) -> None:
    """DataError listing the `columns` that the table lacks."""
    _refuse(
        Problem(
            column=str(name),
            what="The model was fitted with this column, and X lacks it",
            hint="Add it to X under the same name.",
        )
        for name in columns
        if name not in table.columns
    )


def require_cells(features: pd.DataFrame) -> None:
    """DataError if there is nothing to predict from: no column, or missing cells only."""
    if not features.notna().any(axis=None):
        hint = "Add a column that is not sensitive."
        _refuse([Problem(what="X has no feature with any cell in it", hint=hint)])


def clean_features(table: pd.DataFrame, *, numbers: Collection[Hashable] = ()) -> pd.DataFrame:
    """The same rows with every column of a kind that can be encoded: numbers, categories or text.

    Parameters
    ----------
    numbers
        Columns that must be numbers, because the model learned them so.

    Raises
    ------
    DataError
        Dates and the like, infinite or overly large numbers, numbers and text in one column, or text where
        there must be numbers.
    """
    clean, problems = {}, []
    for name in table.columns:
        column = _as_numbers_or_text(table[name])
        numeric = _is_numeric(column)
        if name in numbers and not numeric and column.notna().any():
            problems.append(_not_numbers(name, column))
        elif name in numbers and not numeric:
            column = pd.Series(np.nan, index=column.index)
        elif numeric:
            problems += number_problems(str(name), column.to_numpy(dtype=float, na_value=np.nan))
        elif not _has_levels(column):
            problems.append(
                Problem(
                    column=str(name),
                    what=f"A feature of type {column.dtype} can't be used",
                    hint="Leave it out, or turn it into numbers or text.",
                )
            )
        clean[name] = column
    _refuse(problems)
    return pd.DataFrame(clean, index=table.index, columns=table.columns)


def sensitive_table(values: Any, *, name: str) -> NDArray[np.float64]:
    """Sensitive features as numbers, (n, d).

    Parameters
    ----------
    values
        (n,) or (n, d): array, Series or DataFrame. Rows are matched by position.
    name
        What they are called in messages where they have no names of their own.

    Raises
    ------
    DataError
        Text, or missing, infinite or overly large numbers.
    """
    values = as_pandas(values)
    if not isinstance(values, (pd.Series, pd.DataFrame)):
        values = np.asarray(values)
        if values.ndim not in (1, 2):
            _refuse([Problem(column=name, what="The shape is not (n,) or (n, d)", hint="Give a table.")])
    table = pd.DataFrame(values)
    columns, problems = [], []
    for position in range(table.shape[1]):
        label = table.columns[position]
        title = label if isinstance(label, str) else f"{name}, {position}" if table.shape[1] > 1 else name
        column = _as_numbers_or_text(table.iloc[:, position])
        if not _is_numeric(column):
            problems.append(_not_numbers(title, column))
            continue
        cells = column.to_numpy(dtype=float, na_value=np.nan)
        missing = int(np.isnan(cells).sum())
        if missing:
            problems.append(
                Problem(
                    column=title,
                    what="The sensitive feature has missing cells (NaN)",
                    count=missing,
                    hint="Leave these rows out, or fill the cells.",
                )
            )
        problems += number_problems(title, cells)
        columns.append(cells)
    _refuse(problems)
    return np.stack(columns, axis=1)


def number_problems(name: str, cells: NDArray[np.float64]) -> list[Problem]:
    """What keeps numbers (n,) from being used, apart from cells that are missing."""
    problems = []
    infinite = np.isinf(cells)
    if infinite.any():
        problems.append(infinite_problem(name, infinite))
    large = (np.abs(cells) > LARGEST_MAGNITUDE) & ~infinite
    if large.any():
        problems.append(
            Problem(
                column=name,
                what="Numbers this large can't be squared",
                hint="Express them in a larger unit.",
                count=int(large.sum()),
            )
        )
    return problems


def checked_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Weights (n,) of the rows, at least 0 and two of them above; DataError if they are not."""
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, sample_weight)
    weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    hint = "Give one weight a row, above 0 for the rows to learn from and else 0."
    what = None
    if weight.shape != (n_rows,):
        what = f"The weights have the shape {weight.shape}, and X has {n_rows:,} rows"
    elif (weight < 0).any():
        what = "Weights below zero have no meaning"
    elif (weight > 0).sum() < 2:
        what = "Fewer than two weights are above zero"
    if what is not None:
        _refuse([Problem(column="sample_weight", what=what, hint=hint)])
    return np.asarray(weight)


def constant_problem(name: str, cells: NDArray[np.float64], *, what: str) -> Problem | None:
    """Say that a column (n,) holds one value only, if it does."""
    if (cells != cells[0]).any():
        return None
    return Problem(
        column=name, what=f"The {what} holds the same value in every row", hint="Choose one that varies."
    )


def _as_numbers_or_text(column: pd.Series) -> pd.Series:
    """A column of objects as numbers if all of its cells are; else as it is."""
    if column.dtype != object:
        return column
    there = column.dropna()
    if any(isinstance(cell, str) for cell in there):
        return column
    try:
        return pd.Series(pd.to_numeric(column), index=column.index)
    except (TypeError, ValueError):
        return column


def _is_numeric(column: pd.Series) -> bool:
    dtype = column.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)


def _has_levels(column: pd.Series) -> bool:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return all(isinstance(level, _LEVEL_TYPES) for level in column.cat.categories.tolist())
    if column.dtype == object:
        return all(isinstance(cell, str) for cell in column.dropna())
    return pd.api.types.is_string_dtype(column)


def _not_numbers(name: Hashable, column: pd.Series) -> Problem:
    cells = pd.to_numeric(column.astype(object), errors="coerce")
    return Problem(
        column=str(name),
        what="Numbers are needed here",
        count=int((cells.isna() & column.notna()).sum()) or None,
        hint="Turn the column into numbers.",
    )


def _refuse(problems: Iterable[Problem]) -> None:
    problems = tuple(problems)
    if problems:
        raise DataError(*problems)
