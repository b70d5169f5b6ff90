"""Conversion of a SAS, Stata or SPSS file to Parquet in a separate process, which a damaged file may crash.

:mod:`fairdash.tables.readers.statistics_packages` runs this file by its path, so that it does not import
fairdash. The process prints one JSON object. Its keys are ``notes`` after a success, ``problem`` and ``hint``
after an error, ``shape`` (numbers of rows and columns) if the table is too large, or ``memory`` if the memory
limit was exceeded.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

#: Letters of Stata's formats for periods, such as "m" for months, and the number of periods per year. Stata
#: counts periods from 1960.
_PERIODS = {"w": 52, "m": 12, "q": 4, "h": 2}
_STATA = re.compile(r"%-?(?:t(?P<unit>[dcCwmqh])|d)")
#: Formats that the parser does not support, namely dates and times of SAS and periods of SPSS.
_SAS_DATES = re.compile(
    r"(?:MONYY|YYMM|MMYY|YYQ|YYWEEK|WORDDAT|WEEKDAT|NLDATE|EURDF(?!DT)|JUL|PDJUL|QTR|YEAR|WEEK[UVW]|MINGUO)"
)
_SAS_TIMES = re.compile(r"(?:NLDATM|EURDFDT|DT(?!DATE)|[BE]8601D[XZ])")
_SPSS_PERIODS = re.compile(r"(?:MO|Q|WK)YR")
#: Pattern of words in the names of formats for dates or times.
_OF_TIME = re.compile(r"DATE|DATM|TIME|MON|YEAR|YR|WEEK|%-?t[^y]")
_EPOCHS = {
    "read_dta": np.datetime64("1960-01-01"),
    "read_sav": np.datetime64("1582-10-14"),
    "read_sas7bdat": np.datetime64("1960-01-01"),
    "read_xport": np.datetime64("1960-01-01"),
}
#: Number of seconds before and after 1970 that 64-bit microseconds can represent (rounded down).
_MAX_SECONDS = 9e12

_SAVE_HINT = "Save the file again, or export it as CSV."


class Refused(Exception):
    """Error with the problem of a file and a hint."""


class TooLarge(Exception):
    """Error with the numbers of rows and columns of a table that is too large."""


def main(parser: str, source: str, target: str, most_columns: int, most_cells: int, most_memory: int) -> None:
    """Read `source` with the function `parser` of pyreadstat, and write the Parquet file `target`."""
    _limit_memory(most_memory)
    try:
        notes = _convert(parser, source, target, most_columns, most_cells)
        report: dict[str, Any] = {"notes": notes}
    except Refused as refused:
        report = dict(zip(("problem", "hint"), refused.args, strict=True))
    except TooLarge as size_error:
        report = {"shape": size_error.args}
    except MemoryError:
        report = {"memory": most_memory}
    print(json.dumps(report))


def _limit_memory(max_memory: int) -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (max_memory, max_memory))


def _convert(parser: str, source: str, target: str, most_columns: int, most_cells: int) -> list[str]:
    import pyreadstat

    read: Callable[..., Any] = getattr(pyreadstat, parser)
    coded = {} if parser in ("read_sas7bdat", "read_xport") else {"user_missing": True}
    # The header of an SPSS file lists the codes of missing values. Cells of Stata and SAS files contain codes
    # such as .a.
    lettered = {"user_missing": True} if parser in ("read_dta", "read_sas7bdat") else {}
    # The header states the numbers of rows and columns, which are checked first. They may be wrong or
    # missing, so the table is also checked later.
    meta = _read(read, source, metadataonly=True, **coded)[1]
    n_columns = len(meta.column_names)
    if n_columns == 0:
        raise Refused("the file has no columns", _SAVE_HINT)
    _check(n_columns, meta.number_rows or 0, most_columns, most_cells)
    most_rows = most_cells // n_columns + 1
    frame, cells = _read(read, source, dates_as_pandas_datetime=True, row_limit=most_rows, **lettered)
    _check(n_columns, len(frame), most_columns, most_cells)
    if meta.number_rows is not None and 0 <= meta.number_rows != len(frame):
        raise Refused("the file ends before its last row", "Fetch or save the file again.")
    labelled: list[str] = []
    partly: list[str] = []
    notes: list[str] = []
    for name in meta.column_names:
        values = frame[name]
        if letters := cells.missing_user_values.get(name) if lettered else None:
            values = _without_missing_codes(values, letters, notes)
        labels = meta.variable_value_labels.get(name, {})
        form = str(meta.original_variable_types.get(name, ""))
        if pd.api.types.is_float_dtype(values) and (_is_date(form) or _OF_TIME.search(form)):
            values = _as_dates(values, form, parser, notes)
        elif labels and values.notna().any():
            values = _with_labels(values, labels, labelled, partly, notes)
        frame[name] = _plain(values)
    missing = [name for name in meta.column_names if _has_missing_codes(meta, name)]
    texts = []
    for names, kind in (
        (labelled, "Codes are replaced by the file's labels"),
        (partly, "Codes are kept, because the file has labels for only some of them"),
        (missing, "Codes that the file declares as missing become missing cells"),
    ):
        if names:
            examples = ", ".join(f"“{name}”" for name in names[:3])
            texts.append(f"{kind}: {examples}{f' and {len(names) - 3:,} more' if len(names) > 3 else ''}.")
    frame.to_parquet(target, index=False)
    return texts + notes


def _without_missing_codes(values: pd.Series, letters: list[str], notes: list[str]) -> pd.Series:
    """Replace Stata's or SAS's codes of missing cells, such as .a, by missing cells."""
    coded = values.isin(letters)
    count = f"{coded.sum():,} cells" if coded.sum() != 1 else "1 cell"
    examples = ", ".join(f".{letter}" for letter in sorted(letters)[:5])
    verb = "is" if coded.sum() == 1 else "are"
    notes.append(f"“{values.name}”: {count} with a code for a missing value ({examples}) {verb} missing.")
    uncoded = values.mask(coded)
    if all(hasattr(value, "year") for value in uncoded.dropna()):
        return pd.to_datetime(uncoded) if uncoded.notna().any() else uncoded.astype(float)
    return pd.to_numeric(uncoded, errors="coerce")


def _with_labels(
    values: pd.Series, labels: Mapping[Any, str], labelled: list[str], partly: list[str], notes: list[str]
) -> pd.Series:
    """Replace codes by labels if every code has a label, unless most labels only repeat the number.

    If the codes stay numbers, a note lists codes with a special label, such as 998 for “refused”.
    """
    name = str(values.name)
    texts = values.map(labels)
    not_missing = values.notna()
    levels = values[not_missing].drop_duplicates()
    numeric = pd.api.types.is_numeric_dtype(values)
    label_is_number = [_is_number(labels.get(level), level) for level in levels] if numeric else []
    if sum(label_is_number) * 2 <= len(levels) and texts.notna().eq(not_missing).all():
        labelled.append(name)
        return texts
    if not any(label_is_number):
        partly.append(name)
    others = [
        f"{level:g} “{labels[level]}” ({int((values == level).sum()):,} rows)"
        for level, is_number in zip(levels, label_is_number, strict=True)
        if not is_number and level in labels
    ]
    if others:
        examples = f"{', '.join(others[:5])}{f' and {len(others) - 5:,} more' if len(others) > 5 else ''}"
        notes.append(
            f"“{name}” contains numbers with a label: {examples}. If a label says that the value is "
            "unknown, add its number to the marks of missing cells (--missing)."
        )
    return values


def _is_number(label: str | None, level: float) -> bool:
    try:
        return label is not None and float(label) == level
    except ValueError:
        return False


def _is_date(form: str) -> bool:
    return any(pattern.match(form) for pattern in (_STATA, _SAS_DATES, _SAS_TIMES, _SPSS_PERIODS))


def _as_dates(values: pd.Series, form: str, parser: str, notes: list[str]) -> pd.Series:
    """Convert numbers in a date format unknown to the parser. A period becomes the date of its first day."""
    cells, epoch = values.to_numpy(dtype=float, na_value=np.nan), _EPOCHS[parser]
    is_finite = np.isfinite(cells)
    unit, seconds = "", 86_400.0
    if parser == "read_dta":
        match = _STATA.match(form)
        unit = (match["unit"] or "d") if match else "?"
        seconds = 1e-3 if unit in "cC" else seconds
    elif parser == "read_sav":
        seconds, unit = 1.0, "" if _SPSS_PERIODS.match(form) else "?"
    elif _SAS_TIMES.match(form):
        seconds = 1.0
    elif not _SAS_DATES.match(form):
        unit = "?"
    per_year = _PERIODS.get(unit)
    size = np.abs(cells[is_finite]).max(initial=0.0) * (365.25 * 86_400 / per_year if per_year else seconds)
    if unit == "?" or size > _MAX_SECONDS or (per_year and (cells[is_finite] % 1 != 0).any()):
        notes.append(
            f"“{values.name}” has the format {form}, which fairdash can't convert to dates. "
            "The numbers are kept."
        )
        return values
    cells = np.where(is_finite, cells, 0.0)
    if per_year:
        year, part = np.divmod(cells.astype(np.int64), per_year)
        dates = (epoch.astype("datetime64[Y]") + year).astype("datetime64[D]").astype("datetime64[us]")
        if unit == "w":
            dates = dates + part * np.timedelta64(7, "D")
        else:
            months = dates.astype("datetime64[M]") + part * (12 // per_year)
            dates = months.astype("datetime64[D]").astype("datetime64[us]")
        notes.append(f"“{values.name}” contains periods; each is replaced by its first day.")
    else:
        micro = np.round(cells * seconds * 1e6).astype("timedelta64[us]")
        dates = epoch.astype("datetime64[us]") + micro
    return pd.Series(dates, index=values.index, name=values.name).where(is_finite)


def _read(read: Callable[..., Any], source: str, **options: Any) -> Any:
    try:
        return read(source, **options)
    except MemoryError:
        raise
    except OverflowError:
        raise Refused(
            "a date is after the year 9999", "Correct the date, or write the dates as text."
        ) from None
    # The parser has its own error class, but raises several of Python's errors for strings and dates that it
    # can't decode.
    except Exception as error:
        if "memory" in str(error).lower():
            raise MemoryError from error
        raise Refused(
            "the file is incomplete or damaged, or its version is not supported", _SAVE_HINT
        ) from None


def _check(n_columns: int, n_rows: int, most_columns: int, most_cells: int) -> None:
    if n_columns > most_columns or n_rows * n_columns > most_cells:
        raise TooLarge(n_rows, n_columns)


def _plain(values: pd.Series) -> pd.Series:
    """Convert floats to integers if all are whole numbers, as in text files, and convert times to text."""
    if pd.api.types.is_float_dtype(values):
        is_whole = values.notna().any() and values.dropna().mod(1).eq(0).all() and values.abs().max() < 2**53
        return values.astype("Int64") if is_whole else values
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_datetime64_any_dtype(values):
        return values
    texts = values.map(str, na_action="ignore").astype(object)
    # In SAS, Stata and SPSS files, a missing string is an empty string.
    return texts.where(texts.notna() & texts.ne(""), None)


def _has_missing_codes(meta: Any, name: str) -> bool:
    return bool(meta.missing_ranges.get(name) or meta.missing_user_values.get(name))


if __name__ == "__main__":
    parser, source, target, *bounds = sys.argv[1:]
    main(parser, source, target, *map(int, bounds))
