"""Encoding of classes, such as sex or region, as numeric columns.

An attribute with two classes becomes one column of 0 and 1. With more classes, each class becomes a column of
0 and 1. Classes can then be passed to every function that accepts numbers. Every function of the class is a
sum of functions of these columns. Measures, penalties and pages that accept several sensitive columns
therefore detect every dependence on the class. Functions that accept only one column compare each class with
all other classes.

>>> regions = classes_of(["north"] * 30 + ["south"] * 25 + ["east"] * 20)
>>> list(regions.columns("region")), regions.counts.tolist()
(['region: east', 'region: north', 'region: south'], [20, 30, 25])
>>> list(classes_of(["F", "M"] * 20).columns("sex"))
['sex']
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.utils.text import counted, few

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Minimum number of rows of a class. Smaller classes are merged, because results on few people are unreliable
#: and are not shown.
MIN_ROWS = 20
#: Maximum number of classes. With more classes, every result would be a long table, and most classes would
#: have too few rows.
MAX_CLASSES = 25
#: Name of the class into which rare classes are merged.
OTHERS = "all others"


class Classes(NamedTuple):
    """Class of each row, and the names of all classes.

    Attributes
    ----------
    codes : (n,) array
        Position in `names` of each row's class, or −1 if the class is missing.
    names
        Names of the classes, in the order of the category if it is ordered, and otherwise in alphabetical
        order.
    merged
        Numbers of rows of the rare classes that were merged, by class name.
    """

    codes: Index
    names: tuple[str, ...]
    merged: dict[str, int]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return the number of rows of each class, (k,)."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))

    def columns(self, name: str) -> dict[str, Array]:
        """Return the 0/1 column (n,) of each class, or of the second of two classes, with NaN if missing."""
        missing = self.codes < 0
        coded = (
            {name: 1}
            if len(self.names) == 2
            else {_class_column(name, level): k for k, level in enumerate(self.names)}
        )
        return {
            column: np.where(missing, np.nan, (self.codes == k).astype(float)) for column, k in coded.items()
        }

    def sentences(self, name: str) -> list[str]:
        """Return notes on a column of this name about the meaning of 0 and 1, and about rare classes."""
        if len(self.names) == 2:
            notes = [f"“{name}” is 1 for “{self.names[1]}” and 0 for “{self.names[0]}”."]
        else:
            notes = [f"“{name}” has {len(self.names)} classes, and is 0 or 1 for each: {few(self.names)}."]
        return [*notes, *self.merged_in_words(name)]

    def merged_in_words(self, name: str) -> list[str]:
        """Return a note on the rare classes of a column of this name, or "" if there are none."""
        if not self.merged:
            return []
        return [
            f"“{name}”: {few(self.merged)} are merged into “{self.names[-1]}” "
            f"({counted(sum(self.merged.values()), 'row')}): classes with fewer than {MIN_ROWS} rows, "
            "and the next rarest if these have too few."
        ]


def classes_of(values: ArrayLike | pd.Series, *, min_rows: int = MIN_ROWS) -> Classes:
    """Return the class of each value.

    Parameters
    ----------
    values : (n,) array
        Text or categories, possibly with missing values.
    min_rows
        Minimum number of rows of a class; smaller classes are merged as long as two classes remain. If even
        the merged class has too few rows, the next rarest class is merged as well.
    """
    column = pd.Series(values)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.remove_unused_categories()
        category_codes, levels = column.cat.codes.to_numpy(dtype=np.intp), column.cat.categories
    else:
        category_codes, levels = pd.factorize(column, sort=True)
    if not getattr(column.dtype, "ordered", False):
        # The levels are sorted as text, so that the order does not depend on the type of the levels.
        order = np.argsort(np.array([str(level) for level in levels], dtype=object), kind="stable")
        levels = levels[order]
        category_codes = np.append(np.argsort(order), -1)[category_codes]
    names, codes = [str(level) for level in levels], np.asarray(category_codes, dtype=np.intp)
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    rare = rare_classes(counts, min_rows)
    if len(rare) < 2:
        return Classes(codes, tuple(names), {})
    remaining = [k for k in range(len(names)) if k not in rare]
    new_code = np.full(len(names) + 1, len(remaining), dtype=np.intp)
    new_code[remaining], new_code[-1] = np.arange(len(remaining)), -1
    others = OTHERS if OTHERS not in names else f"{OTHERS} (fewer than {min_rows} rows)"
    merged_classes = {names[k]: int(counts[k]) for k in sorted(rare)}
    return Classes(new_code[codes], (*(names[k] for k in remaining), others), merged_classes)


def class_columns(values: ArrayLike | pd.Series, *, as_codes: bool = False) -> Array:
    """Return two classes as 0 and 1 (n,), and more classes as columns of 0 and 1 (n, k) or as codes (n,).

    No classes are merged, and missing values become NaN.
    """
    classes = classes_of(values, min_rows=0)
    if as_codes or len(classes.names) < 2:
        return np.where(classes.codes < 0, np.nan, classes.codes)
    columns = np.column_stack(list(classes.columns("").values()))
    return columns[:, 0] if columns.shape[1] == 1 else columns


def rare_classes(counts: NDArray[np.int64], min_rows: int) -> set[int]:
    """Return the classes to merge, given their numbers of rows (k,), so that at least two classes remain."""
    order = [int(k) for k in np.argsort(counts, kind="stable")]
    rare = [k for k in order if counts[k] < min_rows][: len(counts) - 1]
    while rare and counts[rare].sum() < min_rows and len(rare) < len(counts) - 1:
        rare.append(order[len(rare)])
    return set(rare)


def holds_text(values: Any) -> bool:
    """Return whether values of any type are text or categories, and thus classes instead of numbers."""
    if isinstance(getattr(values, "dtype", None), pd.CategoricalDtype):
        return not pd.api.types.is_numeric_dtype(values.dtype.categories.dtype)
    column = pd.Series(values) if np.ndim(values) == 1 else pd.Series(dtype=float)
    if column.dtype == object:
        return bool(pd.api.types.infer_dtype(column, skipna=True) == "string")
    return pd.api.types.is_string_dtype(column)


def why_no_classes(classes: Classes) -> str | None:
    """Explain why the classes are too many or too small for a comparison, or return None if they are not."""
    n_known, n_merged = int((classes.codes >= 0).sum()), sum(classes.merged.values())
    if len(classes.names) > MAX_CLASSES:
        return f"it has more than {MAX_CLASSES} classes of at least {MIN_ROWS} rows"
    if 2 * n_merged > n_known:
        return f"most of its rows are in classes of fewer than {MIN_ROWS} rows"
    return None


def column_of(name: str, columns: tuple[str, ...]) -> str:
    """Return the original column of a 0/1 column, or the column itself.

    >>> column_of("region: north", ("sex", "region")), column_of("age", ("age",))
    ('region', 'age')
    """
    return next(
        (column for column in columns if name == column or name.startswith(_class_column(column, ""))), name
    )


def attributes_of(columns: pd.DataFrame) -> dict[str, list[str]]:
    """Return the columns of each sensitive attribute (one numeric column, or the 0/1 columns of its classes).

    Columns belong to one attribute if their names say so and every row has a 1 in exactly one of them.

    >>> made = pd.DataFrame(classes_of(["a", "b", "c"] * 20).columns("region")).assign(age=range(60))
    >>> attributes_of(made)
    {'region': ['region: a', 'region: b', 'region: c'], 'age': ['age']}
    """
    groups: dict[str, list[str]] = {}
    for column in map(str, columns):
        groups.setdefault(column.partition(": ")[0], []).append(column)
    attributes: dict[str, list[str]] = {}
    for name, names in groups.items():
        values = columns[names].to_numpy(dtype=float)
        is_set = len(names) > 2 and bool(np.isin(values, (0, 1)).all() and (values.sum(axis=1) == 1).all())
        attributes.update({name: names} if is_set else {column: [column] for column in names})
    return attributes


def one_column_each(columns: pd.DataFrame) -> pd.DataFrame:
    """Return one column per sensitive attribute. 0/1 columns become one column of class names."""
    column_of_attribute = {
        name: columns[names].idxmax(axis=1) if len(names) > 1 else columns[names[0]]
        for name, names in attributes_of(columns).items()
    }
    return pd.DataFrame(column_of_attribute, index=columns.index)


def _class_column(column: str, name: str) -> str:
    return f"{column}: {name}"
