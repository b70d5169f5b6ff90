"""Read SAS, Stata and SPSS files through Parquet, with pyreadstat in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fairdash.errors import ReadingError
from fairdash.tables.readers import limits
from fairdash.tables.readers.report import FORMATS, SAS, SPSS, STATA, ReadingOptions, ReadingReport, tell
from fairdash.tables.readers.typed import read_parquet

#: Seconds that a file may take; one of the largest that are read takes a minute.
MAX_SECONDS = 300
#: The child's memory: that of the table, twice, and of the libraries it loads.
MAX_CHILD_MEMORY = 3 * limits.MAX_MEMORY + 1_500 * 10**6

#: The module that runs in the child process.
CHILD = Path(__file__).with_name("statistics_child.py")

_SAS_TABLE = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
_SAS_TRANSPORT = (b"HEADER RECORD*******LIBRARY HEADER RECORD", b"HEADER RECORD*******LIBV8   HEADER RECORD")
_STATA = b"<stata_dta>"
#: Before release 117 of its format, a Stata file began with the release, the order of bytes and a 1.
_STATA_RELEASES = range(104, 116)
_SPSS = (b"$FL2", b"$FL3")


def parser_of(content: bytes) -> tuple[str, str] | None:
    """Return the package that wrote a file, and pyreadstat's function for it; None for other files."""
    if content.startswith(_SAS_TABLE):
        return SAS, "read_sas7bdat"
    if content.startswith(_SAS_TRANSPORT):
        return SAS, "read_xport"
    if content.startswith(_STATA) or (
        len(content) > 2 and content[0] in _STATA_RELEASES and content[1] in (1, 2) and content[2] == 1
    ):
        return STATA, "read_dta"
    return (SPSS, "read_sav") if content.startswith(_SPSS) else None


def read_statistics(content: bytes, options: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    """Read a SAS (.sas7bdat, .xpt), Stata (.dta) or SPSS (.sav, .zsav) file.

    A column whose codes all have a text (a value label) becomes text, dates become dates, times text. Values
    that the file declares as missing are missing.

    Raises
    ------
    ReadingError
        The file is incomplete, damaged, too large or too slow to read, or has no rows.
    """
    found = parser_of(content)
    assert found is not None
    kind, parser = found
    tell(FORMATS[kind])
    with tempfile.TemporaryDirectory(prefix="fairdash-") as folder:
        source, target = Path(folder, "source"), Path(folder, "table.parquet")
        source.write_bytes(content)
        said = _child(parser, source, target)
        if "shape" in said:
            limits.check_shape(*said["shape"])
        if "memory" in said:
            raise limits.too_large(f"reading the table takes more than {said['memory'] / 1e9:g} GB of memory")
        if "problem" in said:
            raise ReadingError.of(said["problem"], said["hint"])
        converted = target.read_bytes()
    frame, report = read_parquet(converted, options)
    return frame, replace(report, format=kind, notes=(*said["notes"], *report.notes))


def _child(parser: str, source: Path, target: Path) -> dict[str, Any]:
    """Report of the process that converts a file; an error if it crashed or took too long."""
    bounds = (limits.MAX_COLUMNS, limits.MAX_CELLS, MAX_CHILD_MEMORY)
    try:
        done = subprocess.run(  # noqa: S603 (our own script, no shell)
            # -P: modules are not imported from the working directory.
            [sys.executable, "-P", str(CHILD), parser, str(source), str(target), *map(str, bounds)],
            capture_output=True,
            # One thread per core would use up the limited address space.
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"},
            timeout=MAX_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ReadingError.of(
            f"reading the file takes more than {MAX_SECONDS // 60} minutes",
            "Take a sample of the rows, or export it as Parquet or CSV.",
        ) from None
    if done.returncode == 0:
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
    errors = done.stderr.decode(errors="replace")
    # A negative code: the parser crashed, for which it has a process of its own.
    if done.returncode > 0 and "MemoryError" not in errors:
        raise RuntimeError(f"the process that reads {source.name} failed:\n{errors}")
    raise ReadingError.of("the file is incomplete or damaged", "Save the file again, or export it as CSV.")
