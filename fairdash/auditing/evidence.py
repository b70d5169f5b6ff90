"""The evidence of an audit: one zip of its report, its tables, its plan and what it takes to make it again.

report.html   a page for a committee, then the technical part; it loads nothing from the network
audit.json    all that was found
*.csv         a table each
plan.json     what was asked, thresholds included, versions, seeds, and the SHA-256 of input and of every file

The same plan on the same rows gives the same bytes, with the same versions, processor and number of threads:
no clock is looked at, and the times in the zip are the plan's.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairdash._version import versions
from fairdash.auditing.columns import Columns
from fairdash.auditing.features import feature_names
from fairdash.auditing.gaps import LEVEL, POWER
from fairdash.auditing.plan import AuditPlan
from fairdash.auditing.table import FEWEST_SHOWN
from fairdash.data.readers.report import ReadingOptions
from fairdash.errors import FairdashError, StorageError
from fairdash.records import from_plain, to_plain
from fairdash.storage import sha256
from fairdash.storage.bundle import NO_TIME, pack, unpack
from fairdash.text import visible

if TYPE_CHECKING:
    from fairdash.auditing.result import AuditResult

CONTENT, PLAN, REPORT = "audit.json", "plan.json", "report.html"
FORMAT = 1
#: Bytes of evidence, and of what is read back of it; those of a large audit are a hundredth of it.
LARGEST = 64 * 10**6


@dataclass(frozen=True, kw_only=True)
class KeptPlan:
    """A plan as it stands in evidence.

    Attributes
    ----------
    plan
        What was asked.
    origin
        Where the table came from: its file's ``sha256`` and how it was read (``reading``), or a ``dataset``
        with its ``options``; and the hash of the rows.
    sha256
        File to hash, of the evidence that the plan is from.
    """

    plan: AuditPlan
    origin: Mapping[str, Any] = field(default_factory=dict)
    sha256: Mapping[str, str] = field(default_factory=dict)


def hash_of_rows(frame: pd.DataFrame, columns: Columns) -> str:
    """SHA-256 of the cells that an audit may look at; the order of rows does not matter."""
    needed = [*columns.numbers().values(), *columns.controls, *([columns.groups] if columns.groups else [])]
    needed += feature_names(frame, columns)
    used = frame[list(dict.fromkeys(needed))]
    plain = {
        name: column.astype(float) if pd.api.types.is_numeric_dtype(column) else column.astype(object)
        for name, column in used.items()
    }
    rows = pd.util.hash_pandas_object(pd.DataFrame(plain), index=False, categorize=False).to_numpy()
    names = json.dumps(list(plain)).encode()
    return hashlib.sha256(names + np.sort(rows).astype("<u8").tobytes()).hexdigest()


def environment() -> dict[str, str]:
    """What the last digits hang on: versions, processor and threads."""
    threads = os.environ.get("OMP_NUM_THREADS") or str(os.cpu_count())
    own = {"plotly": version("plotly"), "processor": platform.machine(), "threads": threads}
    return versions() | own


def command_of(result: AuditResult) -> str:
    """The command that makes the evidence again, from the plan in it."""
    file = "" if "dataset" in result.origin else " FILE"
    against = "" if result.since is None else " --against LAST.zip"
    return f"fairdash audit{file} --plan plan.json{against} --out again.zip"


def packed(result: AuditResult, files: Mapping[str, bytes]) -> bytes:
    """The zip of a result; `files` are its data: ``audit.json`` and the tables."""
    # Only where it is needed: charts take long to import.
    from fairdash.auditing.report import render_audit

    hashes = {name: sha256(content) for name, content in sorted(files.items())}
    report = render_audit(result, hashes=hashes)
    plan = {
        "fairdash_audit": FORMAT,
        "plan": to_plain(result.plan),
        "thresholds": {
            "criterion": result.plan.criterion,
            "max_gap": result.plan.max_gap,
            "level_a_direction": LEVEL,
            "others": "Holm",
            "power_of_the_smallest_gap": POWER,
            "fewest_rows_of_a_group": FEWEST_SHOWN,
        },
        "seeds": {"random_state": result.plan.random_state},
        "origin": dict(result.origin),
        "against": None if result.since is None else result.since.sha256,
        "versions": dict(result.made_with),
        "sha256": hashes | {REPORT: sha256(report)},
        "command": command_of(result),
    }
    text = visible(json.dumps(plan, indent=2, ensure_ascii=False, allow_nan=False)).encode() + b"\n"
    return pack({**files, REPORT: report, PLAN: text}, time=_time_of(result.plan), is_packed=True)


def _time_of(plan: AuditPlan) -> tuple[int, int, int, int, int, int]:
    if not plan.written:
        return NO_TIME
    at = datetime.fromisoformat(plan.written).astimezone(UTC)
    return (max(at.year, 1980), at.month, at.day, at.hour, at.minute, at.second)


def read_plan(path: str | PathLike[str]) -> KeptPlan:
    """The plan of an evidence zip, or of the ``plan.json`` that was in one.

    Raises
    ------
    StorageError
        There is none, or one that can't be read.
    """
    place = Path(path)
    try:
        text = read_part(place, PLAN) if place.suffix.lower() == ".zip" else _whole(place)
        content = json.loads(text)
        if content["fairdash_audit"] != FORMAT:
            raise ValueError
        from_plain(ReadingOptions, content["origin"].get("reading", {}))
        return KeptPlan(
            plan=from_plain(AuditPlan, content["plan"]),
            origin=dict(content["origin"]),
            sha256=dict(content["sha256"]),
        )
    except FairdashError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise unreadable(place, "plan") from error


def read_part(place: Path, name: str) -> bytes:
    """A file of an evidence zip, no larger than :data:`LARGEST`, checked against the hash in its plan.

    Raises
    ------
    StorageError
        It is not there, too large, or not what it was.
    """
    try:
        files = unpack(_whole(place), PLAN, name, largest=LARGEST)
        if name != PLAN and PLAN in files:
            kept = json.loads(files[PLAN])["sha256"].get(name)
            if kept != sha256(files[name]):
                raise StorageError.of(
                    f"{name} in {place} is not what its plan.json says",
                    "It was altered: take the zip as it was made.",
                )
        return files[name]
    except FairdashError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise unreadable(place) from error


def _whole(place: Path) -> bytes:
    with place.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError
    return content


def unreadable(place: Path, what: str = "audit") -> StorageError:
    """The error of a file that is none of ours, or was altered."""
    return StorageError.of(
        f"The {what} in {place} can't be read", "It is damaged or from another version: make it again."
    )
