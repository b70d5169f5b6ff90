"""Tariffs in CSV or XLSX files: one long sheet, one sheet per factor, or a table of coefficients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fairdash.errors import DataError, FairdashError
from fairdash.tables.frames import band_texts
from fairdash.tables.model_files.linear import CoefficientTable
from fairdash.tables.model_files.model_file import NAME_LINK, Array, Input, Link, NamedModel, unusable_file
from fairdash.tables.readers.excel import read_sheet, refuse_formulas, sheet_names
from fairdash.tables.readers.reading import read_content
from fairdash.tables.readers.report import ReadingOptions
from fairdash.tariff.files import cells_of_csv, table_of_cells
from fairdash.tariff.relativities import BASES, POINTS, RELATIVITY, rate, read_terms
from fairdash.tariff.terms import Factor
from fairdash.utils.text import counted, few

_FORM = (
    "Provide one sheet with the columns factor, level and relativity and one row “base rate”, or a sheet for "
    "each factor with its levels and their relativities."
)
#: Column names in the tables of insurers, SAS and R. Coefficients are on the scale of the link.
_FACTOR = ("factor", "variable", "rating factor", "parameter", "feature")
_LEVEL = ("level", "level1", "band", "class", "category", "value", "levels")
_RELATIVITY = ("relativity", "relativities", "multiplier", "rel", "exp", "exp(coef)", "exp(estimate)")
_POINTS, _COEFFICIENT = ("points", "loading"), ("estimate", "coefficient", "coef", "coef.", "beta")
_FROM, _TO = ("from", "low", "lower", "min"), ("to", "high", "upper", "max")
#: Software writes these strings at the open end of a band. They are treated like empty cells.
_INFINITE = tuple(
    sign + word for sign in ("", "-", "+") for word in "inf Inf INF infinity Infinity ∞".split()
)
_BASES = (*BASES, "base premium", "base factor", "basis")
#: SAS adds rows with these names to the coefficients of a GLM.
_NO_TERM = ("scale", "dispersion")
COEFFICIENT = "coefficient"
Cells = list[list[Any]]
#: Row of a sheet that lists all factors: factor, level and value.
Row = tuple[Any, Any, Any]


def read_factors(content: bytes, link: Link) -> NamedModel:
    """Read a tariff from a workbook or delimited text; all readers of models have the same parameters."""
    is_book = content.startswith(b"PK")
    try:
        sheets = _sheets_of(content) if is_book else {"": _cells_of(content)}
    except FairdashError as error:
        raise unusable_file(
            f"the table can't be read as a tariff: {error.problems[0].what}", _FORM
        ) from error
    for header, *rows in filter(None, sheets.values()):
        names = [str(cell).strip().lower() for cell in header]
        value = _value_of(names) or ((1, COEFFICIENT) if len(names) == 2 else None)
        by_level = not {*_LEVEL, *_FROM, *_TO}.isdisjoint(names)
        if value is not None and not by_level and any(_is_name(row[0]) for row in rows):
            if _are_terms(rows, value[0]):
                return _coefficient_table(names, rows, *value, link)
            if not is_book:
                _refuse_terms(rows, value[0])
    return FactorTable(sheets, link, is_book=is_book)


class FactorTable(NamedModel):
    """Tariff read from the cells of one or more sheets."""

    def __init__(self, sheets: dict[str, Cells], link: Link, *, is_book: bool) -> None:
        self._table = self._as_tariff(sheets, link)
        terms, _, _, multiplies = read_terms(self._table)
        self.is_price = multiplies
        self.kind = f"table of factors ({'workbook' if is_book else 'text'})"
        self.objective = "not told"
        self.response = self.response or f"the price: base {'× relativities' if multiplies else '+ points'}"
        self.inputs = tuple(_input_of(part) for term in terms for part in term.parts)
        self.inputs = tuple({factor.name: factor for factor in self.inputs}.values())
        self.size = f"{counted(len(self.inputs), 'factor')}, {counted(len(self._table), 'row')}"
        self.open = (
            "The exposure to which the base refers, and rules outside the table, such as caps and rounding.",
        )

    def _as_tariff(self, sheets: dict[str, Cells], link: Link) -> pd.DataFrame:
        """Return the table of relativities from one long sheet, or from one sheet per factor."""
        for header, *rows in filter(None, sheets.values()):
            names = [str(cell).strip().lower() for cell in header]
            if "factor" in names and "kind" in names:
                return table_of_cells(names, rows)
            factor_place, level_place, value = (
                _index_of(names, _FACTOR),
                _index_of(names, _LEVEL),
                _value_of(names),
            )
            band_places = [index for name in (_FROM, _TO) if (index := _index_of(names, name)) is not None]
            if factor_place is None or value is None or (level_place is None and len(band_places) < 2):
                continue
            rows, (value_index, kind) = [row for row in rows if row[value[0]] != ""], value
            if (second := _index_of(names, ("level2",))) is not None and any(
                row[second] != "" for row in rows
            ):
                hint = "Fit the two factors as one factor, whose levels are pairs of levels."
                raise unusable_file(
                    "the table has coefficients of two levels (level2), which fairdash does not support", hint
                )
            levels = ["" if level_place is None else row[level_place] for row in rows]
            if len(band_places) == 2:
                limit_columns = [pd.Series([row[index] for row in rows]) for index in band_places]
                bands = band_texts(pd.Series([row[factor_place] for row in rows]), *limit_columns)
                levels = bands.fillna(pd.Series(levels)).tolist()
            cells = [
                (row[factor_place], level, row[value_index]) for row, level in zip(rows, levels, strict=True)
            ]
            return self._relativities(cells, kind, link)
        return self._by_sheets(sheets, link)

    def _by_sheets(self, sheets: dict[str, Cells], link: Link) -> pd.DataFrame:
        cells: list[Row] = []
        skipped_sheets, kinds = [], set()
        for title, rows in sheets.items():
            if _is_base(title) and (numbers := [v for row in rows for v in row if _is_number(v)]):
                cells += [("base", "", number) for number in numbers]
                continue
            value = _value_of([str(cell).strip().lower() for cell in rows[0]]) if rows else None
            if value is None or len(rows[0]) < 2:
                skipped_sheets.append(title)
                continue
            index, kind = value
            first = str(rows[0][0]).strip()
            name = title if first.lower() in _LEVEL else first
            cells += [(name, row[0], row[index]) for row in rows[1:] if row[index] != ""]
            kinds.add(kind)
        if len(kinds) != 1:
            raise unusable_file("the table has no columns of factors, levels and relativities", _FORM)
        if skipped_sheets:
            self.remarks += (f"These sheets contain no factor and are not used: {few(skipped_sheets)}.",)
        return self._relativities(cells, kinds.pop(), link)

    def _relativities(self, cells: list[Row], quantity: str, link: Link) -> pd.DataFrame:
        """Return the table of relativities from rows with factor, level and value."""
        if not all(_is_number(value) for _, _, value in cells):
            raise unusable_file("there is text among the relativities", "Correct these cells.")
        cells = [row for row in cells if str(row[0]).strip().lower() not in _NO_TERM]
        factors = [str(name).strip() for name, _, _ in cells]
        is_base = list(map(_is_base, factors))
        if sum(is_base) != 1:
            problem = "no base rate" if not any(is_base) else f"{sum(is_base)} base rates"
            raise unusable_file(f"it has {problem}", "Keep one row, or one sheet, “base rate”.")
        numbers = np.array([value for _, _, value in cells], dtype=float)
        if quantity == COEFFICIENT:
            if link == "auto":
                raise unusable_file("the table lists coefficients, and does not name their link", NAME_LINK)
            # The table gives a sum of coefficients. The link, which the user names, turns it into the price.
            quantity, self.response = POINTS, "the sum of coefficients, on the scale of the link"
        table = pd.DataFrame(
            {"factor": factors, "level": [_cell_text(level) for _, level, _ in cells], quantity: numbers}
        )
        table.loc[is_base, "factor"] = "base"
        empty = table["level"].eq("") & ~np.array(is_base)
        if empty.any():
            raise unusable_file(
                f"{few(sorted(set(table['factor'][empty])))} has no level",
                "Coefficients of numeric columns are not supported: give a relativity for each level or "
                "band.",
            )
        return table

    def predict(self, rows: pd.DataFrame) -> Array:
        """Return the tariff's prices for rows, (n,)."""
        names = [factor.name for factor in self.inputs]
        try:
            return rate(self._table, rows[self.columns].set_axis(names, axis=1))
        except DataError as error:
            hint = "Correct the cells, or the levels and bands of the table."
            raise DataError(*(replace(problem, hint=hint) for problem in error.problems)) from error

    def unknown_levels(self, _: pd.DataFrame) -> tuple[str, ...]:
        """Return an empty tuple: :meth:`predict` raises an error for levels that the table lacks."""
        return ()


def _input_of(factor: Factor) -> Input:
    return Input(factor.column, tuple(map(str, factor.cells)) if factor.of_levels else None)


def _sheets_of(content: bytes) -> dict[str, Cells]:
    sheets = {}
    for name in sheet_names(content):
        sheet = read_sheet(content, name)
        refuse_formulas(sheet.xml)
        sheets[name] = [row for row in sheet.rows if any(cell != "" for cell in row)]
    return sheets


def _cells_of(content: bytes) -> Cells:
    if b",kind," in content[: content.find(b"\n")].lower():
        return cells_of_csv(content)
    frame, _ = read_content(content, ReadingOptions(keep_below=True, missing_values=_INFINITE))
    cells = frame.astype(object).where(frame.notna(), "")
    return [list(map(str, frame.columns)), *cells.to_numpy().tolist()]


def _index_of(names: list[str], accepted_names: tuple[str, ...]) -> int | None:
    return next((names.index(name) for name in accepted_names if name in names), None)


def _value_of(names: list[str]) -> tuple[int, str] | None:
    """Return the column that contains a table's values, and the kind of value."""
    for accepted, quantity in ((_RELATIVITY, RELATIVITY), (_POINTS, POINTS), (_COEFFICIENT, COEFFICIENT)):
        if (index := _index_of(names, accepted)) is not None:
            return index, quantity
    return None


def _is_base(name: Any) -> bool:
    return str(name).strip().lower() in _BASES


def _are_terms(rows: Cells, index: int) -> bool:
    """Return True if rows contain names of terms with numbers, including an intercept."""
    of_base = [_is_base(row[0]) and str(row[0]) != "" for row in rows]
    return sum(of_base) == 1 and all(_is_number(row[index]) for row in rows)


def _is_name(cell: Any) -> bool:
    return isinstance(cell, str) and cell.strip() != ""


def _coefficient_table(names: list[str], rows: Cells, index: int, unit: str, link: Link) -> CoefficientTable:
    """Return the coefficients of the named terms."""
    by_term = [(str(row[0]).strip(), float(row[index])) for row in rows]
    if "df" in names:
        by_term = [row for row in by_term if row[0].lower() not in _NO_TERM]
    is_stated = names[index] in (*_RELATIVITY, *_COEFFICIENT)
    if link == "log" and not is_stated and min(value for _, value in by_term) > 0:
        raise unusable_file(
            "all numbers in the table are above 0, and the header does not say whether they are coefficients "
            "or relativities",
            "Name their column “coefficient” or “relativity”.",
        )
    terms = [("" if _is_base(name) else name, value) for name, value in by_term]
    return CoefficientTable(terms, is_relative=unit == RELATIVITY, link=link)


def _refuse_terms(rows: Cells, index: int) -> None:
    """Raise an error if a term has no number, or if a table does not have exactly one intercept."""
    # A single text cell in a column of numbers makes the whole column text.
    numbers = pd.to_numeric(pd.Series([row[index] for row in rows]), errors="coerce")
    if without_number := [
        str(row[0]) for row, is_missing in zip(rows, numbers.isna(), strict=True) if is_missing
    ]:
        raise unusable_file(
            f"{few(without_number)} has no number"
            if len(without_number) == 1
            else f"{few(without_number)} have no numbers",
            "Correct these cells. Leave out terms without a coefficient, such as R's NA.",
        )
    raise unusable_file(
        "the table must have exactly one base rate or intercept",
        "Keep one row “base rate” or “(Intercept)”. If a model has no intercept, enter a coefficient of 0.",
    )


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool)


def _cell_text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()
