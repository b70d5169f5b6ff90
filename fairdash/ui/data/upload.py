"""A file of the user's own: chosen, kept for a term, read, and given its roles."""

from __future__ import annotations

import streamlit as st

from fairdash.data.fetch import sha256
from fairdash.data.reading import ReadingOptions
from fairdash.data.source import UploadSource
from fairdash.data.uploads import (
    Upload,
    delete_expired,
    delete_upload,
    keep_upload,
    list_uploads,
    no_longer_kept,
    set_retention,
)
from fairdash.data.wording import counted
from fairdash.ui.cached import forget_uploads
from fairdash.ui.data.mends import ask_for_mends
from fairdash.ui.data.reading import ask_for_reading, table_or_mends
from fairdash.ui.data.roles import ask_for_roles
from fairdash.ui.frame import show_problems
from fairdash.ui.state import DEFAULT_SOURCE, choose_source
from fairdash.ui.text import safe

#: The session's own files, by hash, and how many of them were deleted.
UPLOADS, DELETED = "uploads of this session", "uploads deleted"
#: Days to keep a file; None: until it is deleted.
TERMS = [1, 7, 30, 365, None]
FILE_TYPES = ["csv", "tsv", "txt", "gz", "zip", "xlsx", "xlsm", "parquet", "feather", "arrow", "rda", "rdata"]


def ask_for_upload(known: UploadSource | None) -> UploadSource | None:
    upload = ask_for_file(known)
    if upload is None:
        return None
    begin = known.reading if known and known.sha256 == upload.sha256 else ReadingOptions()
    reading = ask_for_reading(upload, begin)
    found = table_or_mends(upload, reading)
    if found is None:
        return None
    frame, report = found
    st.caption("  \n".join(safe(sentence) for sentence in report.sentences()))
    same = known is not None and known.sha256 == upload.sha256
    key = f"{upload.sha256} {list(frame)}"
    chosen = ask_for_roles(frame, known.roles if known and same else None, key=key)
    if chosen is None:
        return None
    mends = ask_for_mends(known.mends if known and same else (), frame, key=key)
    return UploadSource(sha256=upload.sha256, name=upload.name, roles=chosen, reading=reading, mends=mends)


def ask_for_file(known: UploadSource | None) -> Upload | None:
    """A new file, or one that was uploaded in this session or is named by the address."""
    delete_expired()
    file = st.file_uploader(
        "A table: CSV of any kind, Excel, Parquet, Feather or R (.rda), packed or not",
        type=FILE_TYPES,
        help="The file stays on this machine. Up to 200 MB.",
        # A file that was deleted must not come back from the browser: the next one has a place of its own.
        key=f"file {st.session_state.get(DELETED, 0)}",
    )
    mine: list[str] = st.session_state.setdefault(UPLOADS, [])
    upload: Upload | None = None
    if file is not None:
        content = file.getvalue()
        digest = sha256(content)
        mine_kept = {each.sha256: each for each in list_uploads() if each.sha256 in mine}
        upload = mine_kept.get(digest) or keep_upload(content, name=file.name)
        if digest not in mine:
            mine.append(digest)
    else:
        if known is not None and known.sha256 not in mine:
            mine.append(known.sha256)
        kept = [each for each in list_uploads() if each.sha256 in mine]
        if known is not None and known.sha256 not in [each.sha256 for each in kept]:
            show_problems(no_longer_kept())
        if kept:
            digests = [each.sha256 for each in kept]
            upload = st.selectbox(
                "or a file that you uploaded before",
                kept,
                index=digests.index(known.sha256) if known and known.sha256 in digests else None,
                format_func=lambda each: f"{each.name}, {each.kept_at:%d %b %Y, %H:%M} UTC",
                placeholder="Choose a file",
            )
    if upload is not None:
        ask_how_long(upload)
    return upload


def ask_how_long(upload: Upload) -> None:
    """How long the file is kept, and a button that deletes it now."""
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    terms = TERMS if upload.keep_days in TERMS else [upload.keep_days, *TERMS]
    days = left.selectbox(
        "Keep this file on this machine",
        terms,
        index=terms.index(upload.keep_days),
        format_func=lambda days: "until I delete it" if days is None else f"for {counted(days, 'day')}",
        key=f"{upload.sha256} days",
    )
    if days != upload.keep_days:
        set_retention(upload.sha256, days)
    right.button(
        "Delete it now",
        icon=":material/delete:",
        width="stretch",
        key=f"{upload.sha256} delete",
        on_click=lambda: delete_file(upload),
    )


def delete_file(upload: Upload) -> None:
    """Delete a file from disk, memory and this session."""
    delete_upload(upload.sha256)
    forget_uploads()
    st.session_state[UPLOADS] = [each for each in st.session_state[UPLOADS] if each != upload.sha256]
    st.session_state[DELETED] = st.session_state.get(DELETED, 0) + 1
    choose_source(DEFAULT_SOURCE)
