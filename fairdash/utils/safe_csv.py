"""Safe export of tables. No cell or header runs as a formula, and bidirectional marks cannot hide text."""

from __future__ import annotations

import pandas as pd

from fairdash.utils.text import visible

#: First characters of a string that a spreadsheet treats as a formula (OWASP, "CSV Injection").
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0")


def safe_csv(frame: pd.DataFrame, *, float_format: str | None = None) -> bytes:
    """Return a frame as UTF-8 CSV with a byte order mark. Formulas and invisible characters are escaped.

    Text that looks like a formula gets an apostrophe. Numbers, including negative ones, are written
    unchanged, or in `float_format`, such as ``"%.8g"``.
    """
    columns = [
        column if pd.api.types.is_numeric_dtype(column.dtype) else column.astype(object).map(_escape)
        for _, column in frame.items()
    ]
    escaped = pd.concat(columns, axis=1)
    escaped.columns = [_escape(name) for name in frame.columns]
    return escaped.to_csv(index=False, float_format=float_format).encode("utf-8-sig")


def _escape(value: object) -> object:
    if not isinstance(value, str):
        return value
    is_formula = value.startswith(_FORMULA_STARTS)
    # pandas does not quote a single carriage return, and the text after it would begin a new row.
    plain_text = value.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    return visible(f"'{plain_text}" if is_formula else plain_text)
