r"""Entry point of the readers, which unpacks archives, detects the format, and reports on the reading.

>>> frame, report = read_table("price;age\n1,5;40\n2,25;50\n".encode(), name="prices.csv")
>>> frame["price"].tolist()
[1.5, 2.25]
>>> print(*report.sentences(), sep="\n")
Read as UTF-8 with semicolons between the cells: 2 rows, 2 columns.
Numbers with a decimal comma: 2 cells in 1 column (“price”).
No cell is missing.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from fairdash.errors import FairdashError, OptionError, ReadingError
from fairdash.tables.codes import doubts_about
from fairdash.tables.readers import limits
from fairdash.tables.readers.delimited import read_delimited
from fairdash.tables.readers.excel import is_workbook, read_excel, sheet_names
from fairdash.tables.readers.limits import check_file
from fairdash.tables.readers.r_data import R_FILE, frame_names, read_rda
from fairdash.tables.readers.report import (
    EXCEL,
    FORMATS,
    PARQUET,
    R_DATA,
    SAS,
    SPSS,
    STATA,
    TEXT,
    ReadingOptions,
    ReadingReport,
)
from fairdash.tables.readers.statistics_packages import parser_of, read_statistics, transport_tables
from fairdash.tables.readers.table import empty_file
from fairdash.tables.readers.typed import read_parquet

Reader = Callable[[bytes, ReadingOptions], tuple[pd.DataFrame, ReadingReport]]

#: Map from the names of formats to readers of unpacked files.
READERS: Mapping[str, Reader] = MappingProxyType(
    {
        TEXT: read_delimited,
        PARQUET: read_parquet,
        EXCEL: read_excel,
        R_DATA: read_rda,
        **dict.fromkeys((SAS, STATA, SPSS), read_statistics),
    }
)
_FIRST_BYTES = ((limits.PARQUET_MAGIC, PARQUET),)

_GZIP, _ZIP, _BZIP2, _XZ = b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00"
_ZIP_ENTRY = b"PK\x01\x02"
#: Maximum number of parts of a gzip file, or of entries of a zip archive. Even empty parts take time.
MAX_PARTS = 20_000
_CHUNK_BYTES = 2**16
#: Maximum memory in bytes for the unpacking of an xz file. The header of the file states how much it needs.
_XZ_MEMORY = 256 * 2**20
#: Name of a file that occurs in the zip archive of every Excel workbook.
_OFFICE = "[Content_Types].xml"
#: Name of a file that occurs in the zip archive of every OpenDocument file.
_OPEN_DOCUMENT = "META-INF/manifest.xml"

# Errors that Python's modules raise on damaged and unusual archives.
_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    MemoryError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)


def read_table(
    source: str | Path | bytes,
    *,
    name: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    missing_values: Sequence[str] | None = None,
    also_missing: Sequence[str] = (),
    sheet: str | None = None,
    number_names: bool = False,
    header_row: int | None = None,
    keep_below: bool = False,
    one_spelling: Sequence[str] = (),
    columns: Sequence[str] | None = None,
) -> tuple[pd.DataFrame, ReadingReport]:
    """Read a text, Parquet, Excel, R, SAS, Stata or SPSS file, which may be compressed (gzip, zip).

    The format is detected from the content, not from the name. In a text file, a column becomes numeric only
    if all its cells are numbers in the same notation. Codes with leading zeros and integers above 2⁵³ stay
    text. Columns of "true" and "false" become booleans. Columns of dates become dates unless day and month
    are ambiguous. Files in the other formats state the types of their columns.

    Parameters
    ----------
    source
        Path of a file, or its bytes.
    name
        Display name; by default the path's last part.
    encoding, delimiter, decimal, missing_values, also_missing, sheet, number_names, header_row, keep_below, \
    one_spelling
        See :class:`~fairdash.tables.readers.report.ReadingOptions`. fairdash detects the value of an option
        that you omit, and reports it.
    columns
        Columns to read, or None for all columns. Fewer columns save time and memory. This applies only to
        Parquet files. From files in other formats, all columns are read.

    Returns
    -------
    DataFrame
        Table whose rows have the order of the file and are numbered from 0.
    ReadingReport
        Report on how the file was read.

    Raises
    ------
    ReadingError
        The file can't be read as a table. The message lists all problems.
    OptionError
        An option has an unsuitable value.

    Examples
    --------
    >>> table, report = fd.read_table(b"age;premium\\n25;412,50\\n40;280,00\\n", name="export.csv")
    >>> table["premium"].tolist(), report.decimal
    ([412.5, 280.0], ',')
    """
    content = bytes_of(source)
    if name is None:
        name = "table" if isinstance(source, bytes) else Path(source).name
    options = ReadingOptions(
        encoding=encoding,
        delimiter=delimiter,
        decimal=decimal,
        missing_values=None if missing_values is None else tuple(missing_values),
        also_missing=tuple(also_missing),
        sheet=sheet,
        number_names=number_names,
        header_row=header_row,
        keep_below=keep_below,
        one_spelling=tuple(one_spelling),
    )
    frame, report = read_content(content, options, columns)
    return frame, replace(report, name=name)


def read_content(
    content: bytes, options: ReadingOptions, columns: Sequence[str] | None = None
) -> tuple[pd.DataFrame, ReadingReport]:
    """Read the bytes of a file as :func:`read_table` does."""
    check_file(len(content), content[: len(limits.PARQUET_MAGIC)])
    content, packed = unpack(content, largest=limits.MAX_FILE)
    if not content.strip():
        raise empty_file()
    if content.startswith(b"ARROW1"):
        raise ReadingError.of(
            "this is a Feather file, which fairdash does not read", "Write the table as Parquet or CSV."
        )
    kind = _kind_of(content)
    if kind != TEXT:
        for option, chosen in (
            ("encoding", options.encoding),
            ("delimiter", options.delimiter),
            ("decimal mark", options.decimal),
        ):
            if chosen is not None:
                raise OptionError.of(f"{FORMATS[kind]} has no {option} to choose", "Omit this option.")
    if options.header_row is not None and kind not in (TEXT, EXCEL):
        raise OptionError.of(f"{FORMATS[kind]} has no line of names to choose", "Omit this option.")
    if options.sheet is not None and kind not in (EXCEL, R_DATA) and not transport_tables(content):
        format_name = FORMATS.get(kind, "a text table")
        raise OptionError.of(f"{format_name} has no sheets to choose from", "Omit this option.")
    if kind == PARQUET:
        frame, report = read_parquet(content, options, columns)
    else:
        frame, report = READERS[kind](content, options)
    for name in options.one_spelling:
        if columns is None and name not in frame:
            raise OptionError.of("the table has no such column", "Name an existing column.", column=name)
    doubts = (sentence for name in frame for sentence in doubts_about(frame[name]))
    report = replace(report, notes=(*report.notes, *doubts))
    if packed is not None:
        report = replace(report, notes=(f"Unpacked from {packed}.", *report.notes))
    return frame, report


def file_contents(content: bytes) -> tuple[str, tuple[str, ...]]:
    """Detect the format of a file (see :attr:`ReadingReport.format`) and its sheets or tables.

    Raises
    ------
    ReadingError
        The file can't be unpacked or is damaged.
    """
    content, _ = unpack(content, largest=limits.MAX_FILE)
    kind = _kind_of(content)
    if kind == EXCEL:
        return kind, sheet_names(content)
    return kind, frame_names(content) if kind == R_DATA else tuple(transport_tables(content))


def _kind_of(content: bytes) -> str:
    """Detect a file's format by its first bytes. The default is text."""
    for first, kind in _FIRST_BYTES:
        if content.startswith(first):
            return kind
    if R_FILE.match(content[:40]):
        return R_DATA
    if (parser := parser_of(content)) is not None:
        return parser[0]
    if content.startswith(_ZIP):
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                return EXCEL if is_workbook(archive.namelist()) else TEXT
        except (OSError, ValueError, zipfile.BadZipFile):
            return TEXT
    return TEXT


def bytes_of(source: str | Path | bytes) -> bytes:
    """Return the bytes of a file. Raise a ReadingError if the file can't be opened or is too large."""
    if isinstance(source, bytes):
        return source
    try:
        if Path(source).is_dir() and any(Path(source).rglob("*.parquet")):
            raise ReadingError.of(
                "this is a folder of Parquet files, and the names of its subfolders may contain columns",
                "Write the table as one file: pandas.read_parquet(folder).to_parquet(file).",
            )
        with Path(source).open("rb") as file:
            check_file(Path(source).stat().st_size, file.read(len(limits.PARQUET_MAGIC)))
        return Path(source).read_bytes()
    # A FairdashError is also a ValueError or an OSError, so it is raised again first. Any other ValueError
    # means that the path contains a NUL character.
    except FairdashError:
        raise
    except (OSError, ValueError) as error:
        raise ReadingError.of(
            f"the file can't be opened ({getattr(error, 'strerror', None) or 'not a path'})",
            "Check that the file exists and that you may read it.",
        ) from None


def unpack(content: bytes, *, largest: int) -> tuple[bytes, str | None]:
    """Extract the single file of a supported archive. Return other content unchanged.

    Parameters
    ----------
    content
        Content of a file of any kind.
    largest
        Maximum size in bytes of the unpacked file. Unpacking stops at this size, so that a small archive
        can't fill the memory.

    Returns
    -------
    bytes
        Content of the archive, or `content`.
    str or None
        Kind of archive, or None if nothing was unpacked.

    Raises
    ------
    ReadingError
        The archive is damaged, encrypted or empty, has several files, or exceeds `largest`.

    Examples
    --------
    >>> import gzip
    >>> unpack(gzip.compress(b"a,b"), largest=100)
    (b'a,b', 'a gzip file')
    """
    if content.startswith(_GZIP):
        archive_kind = "a gzip file"
        try:
            unpacked = _gunzip(content, largest)
        except _DAMAGED as error:
            if isinstance(error, ReadingError):
                raise
            raise _damaged(archive_kind) from error
    elif content.startswith(_ZIP):
        archive_kind = "a zip archive"
        if content.count(_ZIP_ENTRY) > MAX_PARTS:
            raise _too_many(archive_kind)
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                members = archive.infolist()
                if any(member.filename == _OFFICE for member in members):
                    return content, None
                if any(member.filename == _OPEN_DOCUMENT for member in members):
                    raise ReadingError.of(
                        "this is an OpenDocument file (.ods), which fairdash does not read",
                        "Save the table as .xlsx or CSV.",
                    )
                with archive.open(_single_table_file(members)) as packed:
                    unpacked = packed.read(largest + 1)
        # A ReadingError is also a ValueError, so it is raised again first.
        except ReadingError:
            raise
        except _DAMAGED as error:
            raise _damaged(archive_kind) from error
    elif content.startswith((_BZIP2, _XZ)):
        # R also compresses files with bzip2 and xz.
        archive_kind = "a bzip2 file" if content.startswith(_BZIP2) else "an xz file"
        unpacker: bz2.BZ2Decompressor | lzma.LZMADecompressor = (
            bz2.BZ2Decompressor()
            if content.startswith(_BZIP2)
            else lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        )
        try:
            unpacked = unpacker.decompress(content, largest + 1)
        except _DAMAGED as error:
            raise _damaged(archive_kind) from error
        if not unpacker.eof and len(unpacked) <= largest:
            raise _damaged(archive_kind)
    else:
        return content, None
    if len(unpacked) > largest:
        raise ReadingError.of(
            f"the unpacked file has more than {largest // 10**6:,} MB",
            "Take a sample of the rows, or leave columns out.",
        )
    return unpacked, archive_kind


def _gunzip(content: bytes, largest: int) -> bytes:
    """Return the content of a gzip file, at most `largest` + 1 bytes. Raise ValueError if it is truncated.

    A gzip file may consist of several parts. Even an empty part takes time, so the number of parts is
    limited.
    """
    content_parts, size, parts, has_begun = [], 0, 0, False
    unpacker = zlib.decompressobj(wbits=31)
    for start in range(0, len(content), _CHUNK_BYTES):
        block = content[start : start + _CHUNK_BYTES]
        while block and size <= largest:
            if not has_begun:
                # The gzip format allows zeros as padding after the last part.
                block = block.lstrip(b"\0") if parts else block
                if not block:
                    break
                parts, has_begun, unpacker = parts + 1, True, zlib.decompressobj(wbits=31)
                if parts > MAX_PARTS:
                    raise _too_many("a gzip file")
            content_parts.append(unpacker.decompress(block, largest + 1 - size))
            size += len(content_parts[-1])
            block, has_begun = unpacker.unused_data, not unpacker.eof
    if has_begun and size <= largest:
        raise ValueError("cut off")
    return b"".join(content_parts)


def _too_many(problem: str) -> ReadingError:
    return ReadingError.of(
        f"this is {problem} of more than {MAX_PARTS:,} parts",
        "Unpack the archive, and open the table itself.",
    )


def _single_table_file(members: list[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    """Return the single file of an archive that may contain a table."""
    # An entry without a name is always rejected, because older versions of Python fail on it and recent
    # versions accept it.
    if not all(member.filename for member in members):
        raise zipfile.BadZipFile
    files = [
        member
        for member in members
        if not member.is_dir()
        and not member.filename.startswith("__MACOSX/")
        and not member.filename.endswith(".DS_Store")
    ]
    if len(files) != 1:
        raise ReadingError.of(
            f"the zip archive contains {len(files) or 'no'} files",
            "Create an archive that contains only the table, or unpack the archive and open the table.",
        )
    (file,) = files
    locked = file.flag_bits & 1
    # Other compression methods are rejected, because unpacking could need any amount of memory.
    if locked or file.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ReadingError.of(
            "the zip archive has a password" if locked else "the zip archive has an unusual compression",
            "Unpack the archive, and open the table in it.",
        )
    return file


def _damaged(problem: str) -> ReadingError:
    return ReadingError.of(
        f"this is {problem} that is incomplete or damaged",
        "Download the file again, or create the archive again.",
    )
