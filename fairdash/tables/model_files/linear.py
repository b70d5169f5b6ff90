"""Base class of GLMs, and GLMs from tables of coefficients with the term names of R or Python."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tables.model_files.model_file import (
    NAME_LINK,
    Array,
    Input,
    Link,
    NamedModel,
    as_levels,
    coded,
    number_values,
    unusable_file,
)
from fairdash.utils.text import counted, few

#: Factors of a coefficient. A factor is a power of a numeric column, or an indicator, which is 1 in the rows
#: with a level and 0 in all other rows.
Parts = list[tuple[str, str | float]]
Term = tuple[float, Parts]
#: Pattern of functions that convert a column to a factor.
_FACTOR = re.compile(r"(?:C|factor|as\.factor|ordered)\(([^(),]+)(?:[^()]|\([^()]*\))*\)")
#: Pattern of a level in the notation of patsy and formulaic.
_LEVEL = re.compile(r"\[(?:T\.)?(.*)\]")
#: Pattern of an interval after a column's name. R's function cut uses intervals as levels.
_INTERVAL = re.compile(r"[\[(][^\[\](),]+,[^\[\](),]+[\])]")


class LinearModel(NamedModel):
    """Base class of GLMs. Their prediction is the inverse link function of a sum of terms.

    Attributes
    ----------
    terms
        List of coefficients, each with a list of the factors by which it is multiplied.
    undo
        Inverse of the link function.
    """

    unknown_level_message = "The model does not know {} of “{}”, in {}. It uses the base level instead."
    terms: Sequence[Term] = ()
    undo: Callable[[Array], Any]

    @property
    def with_levels(self) -> set[str]:
        """Names of the inputs for which a term names a level."""
        return {name for _, parts in self.terms for name, value in parts if isinstance(value, str)}

    def take_inputs(self, extra: Mapping[str, Sequence[str]]) -> None:
        """Set the inputs to the columns in the terms, with the levels from the terms and from `extra`."""
        levels_by_column: dict[str, list[str]] = {}
        for name, value in (part for _, parts in self.terms for part in parts):
            levels_by_column.setdefault(name, []).extend([value] if isinstance(value, str) else [])
        self.inputs = tuple(
            coded(name, tuple(dict.fromkeys((*levels, *extra.get(name, ()))))) if levels else Input(name)
            for name, levels in levels_by_column.items()
        )

    def unknown_levels(self, rows: pd.DataFrame) -> tuple[str, ...]:
        """Return sentences on levels that the file doesn't list. Raise an error if a number is missing."""
        lacking = [
            column
            for field, column in zip(self.inputs, self.columns, strict=True)
            if field.levels is None and np.isnan(number_values(rows[column])).any()
        ]
        if lacking:
            raise unusable_file(
                f"cells of {few(lacking)} are missing", "Leave these rows out, or fill the cells."
            )
        return super().unknown_levels(rows)

    def priced(self, values: list[NDArray[Any]]) -> Array:
        """Return the prices, (n,)."""
        index_by_name = {each.name: k for k, each in enumerate(self.inputs)}
        eta = np.zeros(len(values[0]) if values else 0)
        for beta, parts in self.terms:
            product = np.full(len(eta), beta)
            for name, value in parts:
                cells, levels = values[index_by_name[name]], self.inputs[index_by_name[name]].levels
                product *= cells == (levels or ()).index(value) if isinstance(value, str) else cells**value
            eta += product
        return np.asarray(self.undo(eta), dtype=float)


class CoefficientTable(LinearModel):
    """Table of coefficients with term names of R, statsmodels or glum, such as zoneB or zone[T.B].

    A level without a coefficient is treated as the base level. If several levels of a factor have no
    coefficient, an error is raised.
    """

    unknown_level_message = "{} of “{}” has no coefficient and is priced as the base level, in {}."
    kind = "table of coefficients"
    objective = "not told"
    open = (
        "The base level of each factor, and use of an offset in the model's fit.",
        "The type of R's contrasts. fairdash assumes contr.treatment.",
        "Further terms in other places, such as the smooth terms of mgcv.",
    )

    def __init__(self, coefficients: Sequence[tuple[str, float]], *, is_relative: bool, link: Link) -> None:
        if not is_relative and link == "auto":
            raise unusable_file("it lists coefficients without a link", NAME_LINK)
        if is_relative and min(value for _, value in coefficients) <= 0:
            raise unusable_file("some of its relativities are not above 0", "Correct these cells.")
        self._named, self.is_price = coefficients, is_relative
        self.undo = np.exp if is_relative else np.asarray
        self.response = (
            "the price: base × relativities" if is_relative
            else "the sum of coefficients, on the scale of the link"
        )  # fmt: skip
        self.size = counted(len(coefficients), "term")
        self.inputs = tuple(Input(name, form="term") for name, _ in coefficients if name)

    def match(self, columns: Sequence[str] | None, table: Sequence[str], output: str | None) -> None:
        """Find the column of each term by the longest column name at its start. The rest is the level."""
        if repeated := sorted(
            {name for name, n in Counter(name for name, _ in self._named).items() if n > 1}
        ):
            raise unusable_file(f"it has several rows for {few(repeated)}", "Keep one row for each term.")
        terms: list[Term] = []
        unknown_terms: list[str] = []
        for name, value in self._named:
            parts = [_part_of(part, columns or table) for part in name.split(":")] if name else []
            terms.append((float(np.log(value)) if self.is_price else value, [part for part in parts if part]))
            unknown_terms += [name] if None in parts else []
        if unknown_terms:
            raise unusable_file(
                f"its terms {few(unknown_terms)} name neither a column of the table nor a column and a "
                "level, such as zoneB for level B of “zone”",
                "Name the columns as in the training, or give a relativity for each factor and level.",
            )
        self.terms = terms
        # R writes a level directly after the column. Other tools write it in brackets.
        self._of_r = not any("[" in name for name, _ in self._named)
        self.take_inputs({})
        super().match(None, table, output)

    def unknown_levels(self, rows: pd.DataFrame) -> tuple[str, ...]:
        """Return sentences on levels without a coefficient. Raise an error if a factor has several."""
        for field, column in zip(self.inputs, self.columns, strict=True):
            if field.levels is None:
                continue
            others = sorted({*as_levels(rows[column].dropna())} - {*field.levels})
            if len(others) > 1:
                raise unusable_file(
                    f"{few(others)} of “{column}” have no coefficient, and only one of them is the base",
                    f"These levels have one: {few(field.levels)}. Correct the levels, add the missing "
                    "column, or give the levels priced as the base a coefficient of 0. R's contrasts by "
                    "polynomials or sums, such as size.L and region1, are not supported.",
                )
            numbered = [str(k + 1) for k in range(len(field.levels))]
            if self._of_r and sorted(field.levels) == sorted(numbered) and others == [str(len(numbered) + 1)]:
                raise unusable_file(
                    f"“{column}” has coefficients 1 to {len(numbered)}. They may be R's sum contrasts "
                    "or Helmert contrasts, and not the coefficients of levels",
                    f"Fit the model with contr.treatment. If {others[0]} is the base level, give "
                    f"{column}{others[0]} a coefficient of 0.",
                )
        return super().unknown_levels(rows)


def _part_of(name: str, columns: Sequence[str]) -> tuple[str, str | float] | None:
    """Return the column in a part of a term, and its level, or the power 1 for a numeric column."""
    name = _FACTOR.sub(r"\1", name.replace("`", ""), count=1)
    column = max((column for column in columns if name.startswith(column)), key=len, default=None)
    ending = "" if column is None else name.removeprefix(column)
    if column is not None and _INTERVAL.fullmatch(ending):
        return column, ending
    if column is None or ending.startswith(("(", "^")):
        return None
    match = _LEVEL.fullmatch(ending)
    level = match[1] if match else ending
    # R's TRUE and FALSE become True and False, as in pandas.
    return column, level.capitalize() if level in ("TRUE", "FALSE") else level or 1.0
