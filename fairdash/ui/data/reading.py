"""How a file is read, where the user decides."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.data.readers.report import EXCEL, TEXT, ReadingOptions
from fairdash.data.readers.text_column import MISSING_MARKS
from fairdash.data.uploads import Upload
from fairdash.ui.cached import contents_of
from fairdash.ui.keys import Keys

KEY = Keys(__file__)

FOUND = "as found"
NO_MARK = "none"
DELIMITERS = {FOUND: None, "comma": ",", "semicolon": ";", "tab": "\t", "bar |": "|"}
DECIMALS = {FOUND: None, "point": ".", "comma": ","}
ENCODINGS = {FOUND: None, "UTF-8": "utf-8", "Windows-1252": "cp1252", "UTF-16": "utf-16"}


def ask_for_reading(upload: Upload, known: ReadingOptions) -> ReadingOptions:
    """How the file is read, where the user decides; what can be chosen depends on what the file is."""
    kind, sheets = contents_of(upload.sha256)
    key = upload.sha256

    def ask(
        place: DeltaGenerator, title: str, choices: Mapping[str, str | None], value: str | None
    ) -> str | None:
        names = list(choices)
        begin = list(choices.values()).index(value) if value in choices.values() else 0
        return choices[place.selectbox(title, names, index=begin, key=KEY("ask", key, title))]

    sheet = known.sheet
    if len(sheets) > 1:
        sheet = ask(st.container(), "Sheet", {FOUND: None} | {name: name for name in sheets}, known.sheet)
    encoding, delimiter, decimal = known.encoding, known.delimiter, known.decimal
    with st.expander("How the file is read"):
        if kind == TEXT:
            left, middle, right = st.columns(3)
            encoding = ask(left, "Encoding", ENCODINGS, known.encoding)
            delimiter = ask(middle, "Between the cells", DELIMITERS, known.delimiter)
            decimal = ask(right, "Decimal mark", DECIMALS, known.decimal)
        header_row, keep_below = known.header_row, known.keep_below
        if kind in (TEXT, EXCEL):
            header_row = st.number_input(
                "Line that holds the names of the columns",
                1,
                value=known.header_row,
                placeholder=FOUND,
                help="What stands above it, such as a title, is not used.",
                key=KEY("header", key),
            )
            keep_below = st.checkbox(
                "Keep totals and notes below the table as rows",
                known.keep_below,
                key=KEY("below", key),
            )
        marks = st.text_input(
            "Marks of a missing cell, separated by spaces",
            "" if known.missing_values is None else " ".join(known.missing_values) or NO_MARK,
            placeholder=" ".join(MISSING_MARKS) if kind in (TEXT, EXCEL) else FOUND,
            help=f"Write {NO_MARK} if only the empty cell is missing.",
            key=KEY("marks", key),
        )
        # Not the widget's default: a click on a problem may have ticked it.
        st.session_state.setdefault(number_names_key(upload), known.number_names)
        number_names = st.checkbox(
            "Number the names that stand over several columns",
            key=number_names_key(upload),
            help="The second “age” is then called “age (2)”.",
        )
    missing = tuple(mark for mark in marks.split() if mark != NO_MARK) if marks.strip() else None
    return ReadingOptions(
        encoding=encoding,
        delimiter=delimiter,
        decimal=decimal,
        missing_values=missing,
        sheet=sheet,
        number_names=number_names,
        header_row=header_row,
        keep_below=keep_below,
    )


def number_names_key(upload: Upload) -> str:
    return KEY("number-names", upload.sha256)
