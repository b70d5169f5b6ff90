"""What a column holds: the kind of its cells, and a line on it for a preview."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

_STEPS = 12

Kind = Literal["number", "whole number", "truth value", "text", "date", "other"]


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """What a column holds.

    Parameters
    ----------
    name
        Name of the column.
    kind
        Type of its cells, in plain words.
    n_missing, n_distinct
        Cells that are missing; different values among the others (0 for the kind "other").
    minimum, mean, maximum
        Of numbers and truth values, over the cells that are there; None for other kinds. The mean counts
        rows by their exposure where there is one, unless the column is a sum over it.
    histogram
        Rows in twelve equal steps from lowest to highest; of text, rows of the twelve commonest levels. Empty
        for other kinds.
    """

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int
    minimum: float | None = None
    mean: float | None = None
    maximum: float | None = None
    histogram: tuple[int, ...] = ()


#: Kinds that can be computed with.
NUMBERS = ("number", "whole number", "truth value")


def words_in_order(name: str) -> tuple[str, ...]:
    """The words of a name written like_this, LikeThis or like this: small letters without accents, in order.

    >>> words_in_order("AgeDuConducteur"), words_in_order("durée d'exposition"), words_in_order("IDpol")
    (('age', 'du', 'conducteur'), ('duree', 'd', 'exposition'), ('id', 'pol'))
    """
    # ID and its like may stand right before a word in small letters.
    found = re.findall(r"ID(?=[a-z])|[A-Z]?[a-z]+|[A-Z]+(?![a-z])", _plain(name))
    return tuple(word.lower() for word in found)


def folded(text: str, *, umlauts: bool = False) -> str:
    """Text in small letters without accents; umlauts as ae, oe, ue where that is asked for.

    >>> folded("Prämie"), folded("Prämie", umlauts=True), folded("GRÖSSE")
    ('pramie', 'praemie', 'grosse')
    """
    if umlauts:
        for letter, pair in zip("äöü", ("ae", "oe", "ue"), strict=True):
            text = text.lower().replace(letter, pair)
    return _plain(text).lower()


def _plain(text: str) -> str:
    """Letters without what stands on them, in their case."""
    parts = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def as_floats(values: pd.Series) -> pd.Series:
    """Numbers or truth values of any type as float64, NaN where a cell is missing."""
    return pd.Series(values.to_numpy(dtype=float, na_value=np.nan), index=values.index, name=values.name)


def kind_of(values: pd.Series) -> Kind:
    """Name the type of a column's cells."""
    if pd.api.types.is_bool_dtype(values):
        return "truth value"
    if pd.api.types.is_integer_dtype(values):
        return "whole number"
    if pd.api.types.is_float_dtype(values):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(values):
        return "date"
    if isinstance(values.dtype, pd.CategoricalDtype):
        return "text"
    if values.dtype == object:
        # Before pandas 3 text is of this type, and so are mixtures.
        return "text" if pd.api.types.infer_dtype(values, skipna=True) == "string" else "other"
    return "text" if pd.api.types.is_string_dtype(values) else "other"


def profile_table(
    frame: pd.DataFrame, *, weight: pd.Series | None = None, totals: Collection[str] = ()
) -> tuple[ColumnProfile, ...]:
    """Describe each column of a table, in its order.

    Parameters
    ----------
    frame
        The table, shape (n, columns).
    weight : Series, shape (n,), optional
        Exposure of its rows, above 0: means count a row as often, except that of the exposure itself.
    totals
        Columns that are sums over the exposure, whose mean is one of rows: weighted by the exposure it would
        count a long policy's claims twice.
    """
    alike = set(totals) if weight is None else {*totals, weight.name}
    return tuple(
        _profile(frame[name], None if weight is None or name in alike else weight.to_numpy(dtype=float))
        for name in frame.columns
    )


def _profile(values: pd.Series, weight: np.ndarray | None) -> ColumnProfile:
    kind = kind_of(values)
    known = values.dropna()
    # What is neither number nor text, such as a list, need not be comparable.
    n_distinct = int(known.nunique()) if kind != "other" else 0
    name, n_missing = str(values.name), len(values) - len(known)
    if kind in NUMBERS and len(known):
        numbers = known.to_numpy(dtype=float)
        # Sums of numbers near the largest overflow; the mean is then infinite, and that is no fault here.
        with np.errstate(over="ignore"):
            mean = float(np.average(numbers, weights=None if weight is None else weight[values.notna()]))
        finite = numbers[np.isfinite(numbers)]
        # Near the largest float there are no steps between.
        steps = len(finite) and np.abs(finite).max() < 1e300
        return ColumnProfile(
            name=name,
            kind=kind,
            n_missing=n_missing,
            n_distinct=n_distinct,
            histogram=tuple(np.histogram(finite, bins=_STEPS)[0].tolist()) if steps else (),
            minimum=float(numbers.min()),
            mean=mean,
            maximum=float(numbers.max()),
        )
    commonest = tuple(known.value_counts().head(_STEPS).tolist()) if kind == "text" else ()
    return ColumnProfile(
        name=name, kind=kind, n_missing=n_missing, n_distinct=n_distinct, histogram=commonest
    )
