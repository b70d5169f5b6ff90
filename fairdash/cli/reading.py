"""Read a file for a command, and print notes about it on standard error."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pandas as pd
from cyclopts import Parameter

from fairdash.tables.readers.reading import bytes_of, read_content
from fairdash.tables.readers.report import ReadingOptions, ReadingReport
from fairdash.utils.text import visible

Marks = Annotated[tuple[str, ...], Parameter(metavar="MARK", allow_leading_hyphen=True)]


def read_file(
    file: Path | bytes,
    *,
    sheet: str | None = None,
    missing: tuple[str, ...] = (),
    one_spelling: tuple[str, ...] = (),
    reading: ReadingOptions | None = None,
    columns: tuple[str, ...] | None = None,
) -> tuple[pd.DataFrame, ReadingReport]:
    """Read a table, and print remarks on it to standard error.

    Parameters
    ----------
    sheet, missing, one_spelling
        Options of the command, which replace those in `reading`.
    reading, columns
        Reading options and columns for :func:`~fairdash.tables.readers.reading.read_content`.
    """
    options = chosen_reading(reading or ReadingOptions(), sheet, missing, one_spelling)
    frame, report = read_content(bytes_of(file), options, columns)
    for note in report.notes:
        print(visible(note), file=sys.stderr)
    return frame, report


def chosen_reading(
    reading: ReadingOptions, sheet: str | None, missing: tuple[str, ...], one_spelling: tuple[str, ...]
) -> ReadingOptions:
    """Return reading options in which the options of a command replace others."""
    return replace(
        reading,
        sheet=sheet or reading.sheet,
        also_missing=missing or reading.also_missing,
        one_spelling=one_spelling or reading.one_spelling,
    )
