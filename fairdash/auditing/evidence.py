"""Evidence file of an audit: a zip with the report, the tables, and the plan that reproduces both.

- report.html: a page for a committee, then the technical part. The report loads nothing from the network, and
  has no charts if plotly is not installed.
- audit.json: all results and sentences of the audit.
- *.csv: one file for each table.
- plan.json: the plan with thresholds, versions and seeds, and the SHA-256 of the input and of every file.

Two evidence files have the same bytes if plan, rows, versions, processor and number of threads are the same.
The only time in the zip is the time at which the plan was written.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

from fairdash._version import installed, versions
from fairdash.auditing.columns import feature_names
from fairdash.auditing.filing.view import report_of
from fairdash.auditing.gaps import LEVEL, POWER
from fairdash.auditing.plan import AuditPlan, Columns
from fairdash.auditing.result import CONTENT, Findings, changes_since
from fairdash.auditing.schema import FORMAT, Content, PlanFile, read_content, read_plan_file, read_tables
from fairdash.errors import FairdashError, StorageError
from fairdash.evaluation.insurance import MIN_SHOWN
from fairdash.storage import sha256, write_whole
from fairdash.storage.bundle import NO_TIME, pack, unpack
from fairdash.utils.records import to_plain
from fairdash.utils.text import few, visible
from fairdash.views.blocks import document

PLAN, REPORT = "plan.json", "report.html"
#: Maximum size of an evidence file (zip) in bytes, zipped and unzipped: a hundred times the size of a large
#: audit.
MAX_BYTES = 64 * 10**6


def hash_of_rows(frame: pd.DataFrame, columns: Columns) -> str:
    """Return the SHA-256 of the cells that an audit uses; the order of rows does not change it."""
    needed_columns = [
        *columns.numbers().values(),
        *columns.controls,
        *([columns.groups] if columns.groups else []),
    ]
    needed_columns += [*columns.probabilities, *([columns.known_class] if columns.known_class else [])]
    needed_columns += feature_names(frame, columns)
    needed_rows = frame[list(dict.fromkeys(needed_columns))]
    column_by_name = {
        name: column.astype(float) if pd.api.types.is_numeric_dtype(column) else column.astype(object)
        for name, column in needed_rows.items()
    }
    rows = pd.util.hash_pandas_object(pd.DataFrame(column_by_name), index=False, categorize=False).to_numpy()
    names = json.dumps(list(column_by_name)).encode()
    return hashlib.sha256(names + np.sort(rows).astype("<u8").tobytes()).hexdigest()


def environment() -> dict[str, str]:
    """Return the versions, processor and number of threads, which affect the last digits of results."""
    threads = os.environ.get("OMP_NUM_THREADS") or str(os.cpu_count())
    machine = {"processor": processor(), "threads": threads}
    return versions() | installed("plotly") | machine


def processor() -> str:
    """Return the processor's model and architecture, which affect the rounding of sums."""
    model = platform.processor()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        model = next(
            (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model
        )
    return " ".join(dict.fromkeys([model, platform.machine()])).strip()


def command_of(result: Findings) -> str:
    """Return the command that reproduces an evidence file from its plan."""
    file = "" if "dataset" in result.origin else " FILE"
    model = " --model MODEL" if "model" in result.origin else ""
    comparison_option = "" if result.since is None else " --against LAST.zip"
    return f"fairdash audit{file} --plan plan.json{model}{comparison_option} --out again.zip"


def evidence_zip(result: Findings, files: Mapping[str, bytes]) -> bytes:
    """Return a result as a zip; `files` maps file names to contents (``audit.json`` and the tables)."""
    hashes = {name: sha256(content) for name, content in sorted(files.items())}
    columns, command = result.plan.columns, command_of(result)
    report = document(
        f"Audit: does {columns.price} follow {few((columns.sensitive, *columns.also))}?",
        report_of(result, hashes=hashes, command=command),
    )
    plan = {
        "fairdash_audit": FORMAT,
        "plan": to_plain(result.plan),
        "thresholds": {
            **result.plan.thresholds,
            "level_a_direction": LEVEL,
            "others": "Holm",
            "power_of_the_smallest_gap": POWER,
            "fewest_rows_of_a_group": MIN_SHOWN,
        },
        "seeds": {"random_state": result.plan.random_state},
        "origin": dict(result.origin),
        "against": None if result.since is None else result.since.sha256,
        "versions": dict(result.made_with),
        "sha256": hashes | {REPORT: sha256(report)},
        "command": command,
    }
    text = visible(json.dumps(plan, indent=2, ensure_ascii=False, allow_nan=False)).encode() + b"\n"
    return pack({**files, REPORT: report, PLAN: text}, time=_time_of(result.plan), is_packed=True)


def _time_of(plan: AuditPlan) -> tuple[int, int, int, int, int, int]:
    if not plan.written:
        return NO_TIME
    at = datetime.fromisoformat(plan.written).astimezone(UTC)
    return (max(at.year, 1980), at.month, at.day, at.hour, at.minute, at.second)


def read_plan(path: str | PathLike[str]) -> PlanFile:
    """Read the plan from an evidence zip, or from its extracted ``plan.json``.

    Raises
    ------
    StorageError
        The path has no plan, or fairdash can't read the plan.
    """
    file_path = Path(path)
    with _errors_of_reading(file_path, "plan"):
        text = read_part(file_path, PLAN) if file_path.suffix.lower() == ".zip" else _read_limited(file_path)
        return read_plan_file(text, max_bytes=MAX_BYTES)


def read_part(zip_path: Path, name: str) -> bytes:
    """Read a file of at most :data:`MAX_BYTES` bytes from an evidence zip, and compare it with its hash.

    Raises
    ------
    StorageError
        The file is missing, too large, or does not match its hash.
    """
    with _errors_of_reading(zip_path):
        files = unpack(_read_limited(zip_path), PLAN, name, largest=MAX_BYTES)
        if name != PLAN and PLAN in files:
            plan = read_plan_file(files[PLAN], max_bytes=MAX_BYTES)
            if plan.sha256.get(name) != sha256(files[name]):
                raise StorageError.of(
                    f"{name} in {zip_path} does not match its plan.json",
                    "It was altered. Use the original zip file.",
                )
        return files[name]


def _read_limited(zip_path: Path) -> bytes:
    with zip_path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError
    return content


@contextmanager
def _errors_of_reading(zip_path: Path, file_kind: str = "audit") -> Iterator[None]:
    """Raise a StorageError instead of any error that an unsuitable or altered file causes."""
    try:
        yield
    except FairdashError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StorageError.of(
            f"The {file_kind} in {zip_path} can't be read",
            "The zip file is damaged or from another version. Create it again.",
        ) from error


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditResult(Findings):
    """Result of an audit that can be saved, loaded and compared.

    The fields are those of :class:`~fairdash.auditing.result.Findings`.

    Examples
    --------
    >>> table = pd.DataFrame({"age": np.arange(18, 90).repeat(10), "premium": 300.0})
    >>> result = fd.audit(table, price="premium", sensitive="age", questions=[1])
    >>> result.n, result.mean_price
    (720, 300.0)
    """

    def _repr_html_(self) -> str:
        """Return the questions and answers as text for a notebook."""
        rows = [{"question": answer.title, "answer": answer.sentence} for answer in self.answers]
        with pd.option_context("display.max_colwidth", None):
            return str(pd.DataFrame(rows).to_html(index=False))

    def compare(self, other: AuditResult | str | PathLike[str]) -> AuditResult:
        """Return this result with the changes since `other`, which is a result or the path of a saved audit.

        Returns
        -------
        AuditResult
            This result with :attr:`drift` and two more tables (see
            :func:`fairdash.auditing.result.changes_since`).

        Raises
        ------
        OptionError
            The two audits have different sensitive attributes, or no common range of the attribute.
        StorageError
            The file contains no audit, or fairdash can't read it.
        """
        if isinstance(other, AuditResult):
            other_evidence, content = other, other.files()[CONTENT]
        else:
            other_evidence, content = self.load(other), _read_content(Path(other))
        drift, tables = changes_since(self, other_evidence, sha256=sha256(content))
        return replace(self, since=drift, tables=MappingProxyType({**self.tables, **tables}))

    def save(self, path: str | PathLike[str]) -> Path:
        """Write ``audit.json`` and one CSV per table to a folder, or the evidence file to a ``.zip``.

        Equal results give byte-identical files (see :mod:`fairdash.auditing.evidence`).

        Raises
        ------
        StorageError
            The path can't be written.
        """
        file_path = Path(path)
        hint = f"Choose a path other than {file_path}."
        if file_path.suffix.lower() == ".zip":
            write_whole(file_path, self.to_zip(), hint=hint)
            return file_path
        for name, content in self.files().items():
            write_whole(file_path / name, content, hint=hint)
        return file_path

    def to_zip(self) -> bytes:
        """Return the evidence file, a reproducible zip with report, answers, tables and plan."""
        return evidence_zip(self, self.files())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> AuditResult:
        """Load an audit from a folder or ``.zip`` written by :meth:`save`; all numbers are restored exactly.

        Raises
        ------
        StorageError
            The path contains no audit, or fairdash can't read it.
        """
        file_path = Path(path)
        with _errors_of_reading(file_path):
            return cls._of(read_content(_read_content(file_path), max_bytes=MAX_BYTES))

    @classmethod
    def _of(cls, content: Content) -> AuditResult:
        tables = read_tables(content)
        same_fields = (
            "plan",
            "verdict",
            "n",
            "n_units",
            "mean_price",
            "answers",
            "notes",
            "origin",
            "made_with",
        )
        return cls(
            **{name: getattr(content, name) for name in (*same_fields, "since")},
            figures=tables.pop("figures"),
            curve=tables["curve"],
            tables=MappingProxyType(tables),
            others=tuple(map(cls._of, content.others)),
        )


def _read_content(path: Path) -> bytes:
    return read_part(path, CONTENT) if path.suffix.lower() == ".zip" else (path / CONTENT).read_bytes()
