"""Upload of a file, with its retention period, reading options and roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.data.source import UploadSource
from fairdash.data.uploads import Upload, deleted_file_error, keep_upload, list_uploads, set_retention
from fairdash.errors import Fix, ReadingError
from fairdash.runs.deletion import DerivedFiles, delete_file_and_derived, derived_from_file
from fairdash.storage import sha256
from fairdash.tables.readers.limits import MAX_CELLS, MAX_COLUMNS, MAX_FILE, MAX_PARQUET_CELLS
from fairdash.tables.readers.report import EXCEL, TEXT, ReadingOptions, ReadingReport, listen_with
from fairdash.tables.readers.text_column import MISSING_MARKS
from fairdash.ui.access import current_owner, signs_in
from fairdash.ui.cached import contents_of, drop_deleted_entries, upload_of
from fairdash.ui.data.roles import ask_for_fixes, ask_for_names, ask_for_roles
from fairdash.ui.frame import plain_errors, show_fixes, show_problems
from fairdash.ui.keys import Keys
from fairdash.ui.state import DEFAULT_SOURCE, choose_source
from fairdash.ui.text import safe
from fairdash.utils.memory import can_limit, most_memory
from fairdash.utils.text import counted, megabytes

KEY = Keys(__file__)

#: Session keys for the hashes of the session's uploaded files and for the number of deleted files.
UPLOADS, DELETED = KEY("uploads"), KEY("deleted")
#: Retention periods of a file in days. None means until the user deletes the file.
RETENTION_DAYS = [1, 7, 30, 365, None]
LIMITS = (
    f"The file stays on this machine. Limits: {MAX_FILE // 10**6} MB, also after decompression, "
    f"{MAX_CELLS // 10**6} million cells ({MAX_PARQUET_CELLS // 10**6} million in a Parquet file) and "
    f"{MAX_COLUMNS:,} columns."
)
if can_limit():
    LIMITS += (
        f" Reading a file can use at most {most_memory() / 1e9:.0f} GB of memory, and each run on the file "
        "can use as much."
    )
FILE_TYPES = [
    "csv",
    "tsv",
    "txt",
    "gz",
    "zip",
    "xlsx",
    "xlsm",
    "parquet",
    "rda",
    "rdata",
    "sas7bdat",
    "xpt",
    "dta",
    "sav",
    "zsav",
]


def ask_for_table(stored: UploadSource | None) -> tuple[Upload, ReadingOptions, pd.DataFrame] | None:
    """Ask for a file and reading options, and return the table, or None while there is no table."""
    upload = ask_for_file(stored)
    if upload is None:
        return None
    is_unchanged = stored is not None and stored.sha256 == upload.sha256
    reading = ask_for_reading(upload, stored.reading if stored and is_unchanged else ReadingOptions())
    table = table_or_fixes(upload, reading)
    if table is None:
        return None
    frame, report = table
    st.caption("  \n".join(safe(sentence) for sentence in report.sentences()))
    return upload, reading, frame


def ask_for_upload(stored: UploadSource | None) -> UploadSource | None:
    uploaded = ask_for_table(stored)
    if uploaded is None:
        return None
    upload, reading, frame = uploaded
    if stored is not None and stored.sha256 != upload.sha256:
        stored = None
    key = f"{upload.sha256} {list(frame)}"
    table = f"{upload.sha256} {reading}"
    chosen = ask_for_roles(frame, stored.roles if stored else None, key=key, table=table)
    if chosen is None:
        return None
    fixes = ask_for_fixes(stored.fixes if stored else (), list(frame), key=key)
    names = ask_for_names(chosen, stored.names if stored else {}, preset={}, key=key)
    return UploadSource(
        sha256=upload.sha256, name=upload.name, roles=chosen, reading=reading, fixes=fixes, names=names
    )


def table_or_fixes(upload: Upload, reading: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport] | None:
    """Return the table and the reading report. If the table needs a fix, offer the fix and return None.

    A problem without a fix raises a ReadingError.
    """
    container = st.empty()

    def show_message(message: str) -> None:
        container.caption(safe(f"Reading {upload.name} ({megabytes(upload.n_bytes)}): {message}…"))

    try:
        with listen_with(show_message):
            table = upload_of(upload.sha256, upload.name, reading)
        container.empty()
        return table
    except ReadingError as error:
        container.empty()
        if not all(problem.fixes for problem in error.problems):
            raise

        def add_fix(fix: Fix) -> None:
            assert fix.kind == "number_names"
            st.session_state[number_names_key(upload)] = True

        show_fixes(error.problems, key=KEY("reading", upload.sha256), fix=add_fix, blocked=True)
        return None


def ask_for_file(stored: UploadSource | None) -> Upload | None:
    """Ask for a new file, a file that was uploaded in this session, or the file that the address names."""
    owner = current_owner()
    file = st.file_uploader(
        "A table: CSV, Excel, Parquet, R (.rda), SAS, Stata or SPSS, compressed or not",
        type=FILE_TYPES,
        help=LIMITS,
        # After a deletion, the widget has a new key, because the old widget would upload the deleted file
        # again.
        key=KEY("file", st.session_state.get(DELETED, 0)),
    )
    own_hashes: list[str] = st.session_state.setdefault(UPLOADS, [])
    upload: Upload | None = None
    if file is not None:
        content = file.getvalue()
        digest = sha256(content)
        own_uploads = {file.sha256: file for file in list_uploads(owner=owner) if file.sha256 in own_hashes}
        upload = own_uploads.get(digest)
        if upload is None and digest in own_hashes:
            # If another window has deleted the file, this window must not store it again.
            _remove_upload(digest)
            show_problems(deleted_file_error())
        elif upload is None:
            upload = keep_upload(content, name=file.name, owner=owner)
            own_hashes.append(digest)
    else:
        if stored is not None and stored.sha256 not in own_hashes:
            own_hashes.append(stored.sha256)
        # Without sign-in, all users are the owner "local", so a session lists only the files that it
        # uploaded.
        uploads = [file for file in list_uploads(owner=owner) if signs_in() or file.sha256 in own_hashes]
        if stored is not None and stored.sha256 not in [file.sha256 for file in uploads]:
            show_problems(deleted_file_error())
        if uploads:
            digests = [file.sha256 for file in uploads]
            upload = st.selectbox(
                "or a file you uploaded before",
                uploads,
                index=digests.index(stored.sha256) if stored and stored.sha256 in digests else None,
                format_func=lambda file: f"{file.name}, {file.kept_at:%d %b %Y, %H:%M} UTC",
                placeholder="Choose a file",
            )
    if upload is not None:
        ask_retention(upload)
    return upload


def ask_retention(upload: Upload) -> None:
    """Ask for the retention period of the file, and offer a button that deletes the file."""
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    terms = RETENTION_DAYS if upload.keep_days in RETENTION_DAYS else [upload.keep_days, *RETENTION_DAYS]
    days = left.selectbox(
        "Keep this file on this machine",
        terms,
        index=terms.index(upload.keep_days),
        format_func=lambda days: "until I delete it" if days is None else f"for {counted(days, 'day')}",
        key=KEY("days", upload.sha256),
        help="After this period, the file and everything made from it are deleted.",
    )
    if days != upload.keep_days:
        set_retention(upload.sha256, days, owner=upload.owner)
    right.button(
        "Delete it now",
        icon=":material/delete:",
        width="stretch",
        key=KEY("delete", upload.sha256),
        on_click=lambda: delete_file(upload),
    )

    st.caption(deletion_in_words(derived_from_file(upload.sha256, owner=upload.owner)))


def deletion_in_words(made: DerivedFiles) -> str:
    """Return a sentence on the results that are deleted with the file."""
    parts = [counted(len(jobs), kind.label) for kind, jobs in made.jobs.items() if jobs]
    extra = f" and everything made from it: {', '.join(parts)}" if parts else "; nothing was made from it"
    stopped = f" Running jobs ({made.n_at_work}) are stopped first." if made.n_at_work else ""
    return (
        f"This deletes the file from this machine{extra}.{stopped} This can't be undone. Your downloads are "
        "not affected."
    )


def delete_file(upload: Upload) -> None:
    """Delete a file, and all results derived from it, from disk, memory and this session."""
    with plain_errors():
        try:
            delete_file_and_derived(upload.sha256, owner=current_owner())
        finally:
            drop_deleted_entries()
            _remove_upload(upload.sha256)
            choose_source(DEFAULT_SOURCE)


def _remove_upload(digest: str) -> None:
    """Remove a file from this session and from the browser."""
    own_hashes: list[str] = st.session_state[UPLOADS]
    st.session_state[UPLOADS] = [sha for sha in own_hashes if sha != digest]
    st.session_state[DELETED] = st.session_state.get(DELETED, 0) + 1


AS_FOUND = "as found"
NO_MARK = "none"
#: Options for reading a text file, with name, title and choices.
TEXT_OPTIONS: tuple[tuple[str, str, Mapping[str, str | None]], ...] = (
    (
        "encoding",
        "Encoding",
        {AS_FOUND: None, "UTF-8": "utf-8", "Windows-1252": "cp1252", "UTF-16": "utf-16"},
    ),
    (
        "delimiter",
        "Between the cells",
        {AS_FOUND: None, "comma": ",", "semicolon": ";", "tab": "\t", "bar |": "|"},
    ),
    ("decimal", "Decimal mark", {AS_FOUND: None, "point": ".", "comma": ","}),
)


def ask_for_reading(upload: Upload, stored: ReadingOptions) -> ReadingOptions:
    """Ask for reading options, which depend on the format of the file."""
    kind, sheets = contents_of(upload.sha256)
    key = upload.sha256
    chosen: dict[str, Any] = {}

    def ask_option(
        container: DeltaGenerator, option: str, title: str, choices: Mapping[str, str | None]
    ) -> None:
        values, value = list(choices.values()), getattr(stored, option)
        initial_index = values.index(value) if value in values else 0
        chosen[option] = choices[
            container.selectbox(title, list(choices), index=initial_index, key=KEY("ask", key, title))
        ]

    if len(sheets) > 1:
        ask_option(st.container(), "sheet", "Sheet", {AS_FOUND: None} | {name: name for name in sheets})
    with st.expander("Reading options"):
        if kind == TEXT:
            for container, (option, title, choices) in zip(st.columns(3), TEXT_OPTIONS, strict=True):
                ask_option(container, option, title, choices)
        if kind in (TEXT, EXCEL):
            chosen["header_row"] = st.number_input(
                "Line with the column names",
                1,
                value=stored.header_row,
                placeholder=AS_FOUND,
                help="Lines above this line, such as a title, are ignored.",
                key=KEY("header", key),
            )
            chosen["keep_below"] = st.checkbox(
                "Read totals and notes below the table as rows", stored.keep_below, key=KEY("below", key)
            )
        marks = st.text_input(
            "Marks of missing cells, separated by spaces",
            "" if stored.missing_values is None else " ".join(stored.missing_values) or NO_MARK,
            placeholder=" ".join(MISSING_MARKS) if kind in (TEXT, EXCEL) else AS_FOUND,
            help=f"Enter {NO_MARK} if only empty cells count as missing.",
            key=KEY("marks", key),
        )
        # The session state sets the value, because a button beside an error message can also set it.
        st.session_state.setdefault(number_names_key(upload), stored.number_names)
        chosen["number_names"] = st.checkbox(
            "Number repeated column names",
            key=number_names_key(upload),
            help="The second “age” becomes “age (2)”.",
        )
    missing = tuple(mark for mark in marks.split() if mark != NO_MARK) if marks.strip() else None
    return replace(stored, missing_values=missing, **chosen)


def number_names_key(upload: Upload) -> str:
    return KEY("number-names", upload.sha256)
