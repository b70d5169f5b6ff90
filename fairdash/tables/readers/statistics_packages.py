"""Reader of SAS, Stata and SPSS files, which pyreadstat converts to Parquet in a separate process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fairdash.errors import OptionError, ReadingError
from fairdash.tables.readers import limits
from fairdash.tables.readers.report import (
    FORMATS,
    SAS,
    SPSS,
    STATA,
    ReadingOptions,
    ReadingReport,
    report_progress,
)
from fairdash.tables.readers.typed import read_parquet
from fairdash.utils.text import few

#: Time limit in seconds for the reading of a file. The largest files take about a minute.
MAX_SECONDS = 300
#: Memory limit in bytes of the process that reads the file, with copies of the table and loaded libraries.
MAX_CHILD_MEMORY = 3 * limits.MAX_MEMORY + 1_500 * 10**6

#: Path of the module that the child process runs.
CHILD = Path(__file__).with_name("statistics_child.py")

_SAS_TABLE = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
_SAS_TRANSPORT = (b"HEADER RECORD*******LIBRARY HEADER RECORD", b"HEADER RECORD*******LIBV8   HEADER RECORD")
#: Pattern of the 80-byte record with which each table in a transport file begins. The third record of a table
#: contains its name.
_MEMBER = re.compile(rb"HEADER RECORD\*{7}MEMB(?:ER |V8 ) HEADER RECORD!{7}")
_RECORD = 80
_STATA = b"<stata_dta>"
#: Releases of Stata's format before 117. Files of these releases begin with the release, the byte order and a
#: 1.
_STATA_RELEASES = range(104, 116)
_SPSS = (b"$FL2", b"$FL3")


def parser_of(content: bytes) -> tuple[str, str] | None:
    """Return the package that wrote a file and pyreadstat's function for it, or None for other files."""
    if content.startswith(_SAS_TABLE):
        return SAS, "read_sas7bdat"
    if content.startswith(_SAS_TRANSPORT):
        return SAS, "read_xport"
    if content.startswith(_STATA) or (
        len(content) > 2 and content[0] in _STATA_RELEASES and content[1] in (1, 2) and content[2] == 1
    ):
        return STATA, "read_dta"
    return (SPSS, "read_sav") if content.startswith(_SPSS) else None


def transport_tables(content: bytes) -> dict[str, bytes]:
    """Split a SAS transport file with several tables into one file per table. Return {} for other files.

    Without this split, pyreadstat would read the other tables and their headers as rows of the first table.
    """
    if not content.startswith(_SAS_TRANSPORT):
        return {}
    starts = [match.start() for match in _MEMBER.finditer(content) if match.start() % _RECORD == 0]
    if len(starts) < 2:
        return {}
    width = 32 if content.startswith(_SAS_TRANSPORT[1]) else 8
    tables: dict[str, bytes] = {}
    for start, end in zip(starts, [*starts[1:], len(content)], strict=True):
        offset = start + 2 * _RECORD + 8
        name = content[offset : offset + width].decode("cp1252", errors="replace").strip()
        tables.setdefault(name, content[: starts[0]] + content[start:end])
    return tables


def read_statistics(content: bytes, options: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    """Read a SAS (.sas7bdat, .xpt), Stata (.dta) or SPSS (.sav, .zsav) file.

    If all codes of a column have a value label, the column becomes text. Dates stay dates, and times become
    text. Values that are declared as missing become missing cells. If a transport file has several tables,
    fairdash reads the selected table, or else the first.

    Raises
    ------
    ReadingError
        The file is incomplete, damaged, too large or too slow to read, or has no rows.
    OptionError
        The file has no table with the selected name.
    """
    package = parser_of(content)
    assert package is not None
    kind, parser = package
    report_progress(FORMATS[kind])
    tables, chosen, notes = transport_tables(content), options.sheet, list[str]()
    if tables:
        chosen = next(iter(tables)) if chosen is None else chosen
        if chosen not in tables:
            raise OptionError.of("the file has no table of this name", f"The file has {few(tables)}.")
        content = tables[chosen]
        notes.append(
            f"fairdash reads the table “{chosen}”, one of {len(tables)} in the file ({few(tables)})."
        )
    with tempfile.TemporaryDirectory(prefix="fairdash-") as folder:
        source, target = Path(folder, "source"), Path(folder, "table.parquet")
        source.write_bytes(content)
        reply = _child(parser, source, target)
        if "shape" in reply:
            limits.check_shape(*reply["shape"])
        if "memory" in reply:
            gigabytes = reply["memory"] / 1e9
            raise limits.too_large(f"reading the table takes more than {gigabytes:g} GB of memory")
        if "problem" in reply:
            raise ReadingError.of(reply["problem"], reply["hint"])
        converted = target.read_bytes()
    frame, report = read_parquet(converted, options)
    notes += [*reply["notes"], *report.notes]
    return frame, replace(report, format=kind, notes=tuple(notes), sheet=chosen, sheets=tuple(tables))


def _child(parser: str, source: Path, target: Path) -> dict[str, Any]:
    """Run the process that converts a file, and return its report. Raise an error if the process fails."""
    limits_of_child = (limits.MAX_COLUMNS, limits.MAX_CELLS, MAX_CHILD_MEMORY)
    try:
        process = subprocess.run(  # noqa: S603 (our own script, no shell)
            # With -P, Python doesn't import modules from the folder of the script.
            [sys.executable, "-P", str(CHILD), parser, str(source), str(target), *map(str, limits_of_child)],
            capture_output=True,
            # With one thread per core, the process would exceed its memory limit.
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"},
            timeout=MAX_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ReadingError.of(
            f"reading the file takes more than {MAX_SECONDS // 60} minutes",
            "Take a sample of the rows, or export it as Parquet or CSV.",
        ) from None
    if process.returncode == 0:
        reply: dict[str, Any] = json.loads(process.stdout)
        return reply
    errors = process.stderr.decode(errors="replace")
    # A negative return code means that the parser crashed. Only the separate process is affected.
    if process.returncode > 0 and "MemoryError" not in errors:
        raise RuntimeError(f"the process that reads {source.name} failed:\n{errors}")
    raise ReadingError.of("the file is incomplete or damaged", "Save the file again, or export it as CSV.")
