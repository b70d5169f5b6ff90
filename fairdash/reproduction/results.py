"""A study's result on disk: tables as CSV, and a JSON file that says how they came about."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from fairdash.data.folders import write_whole
from fairdash.errors import DataError, Problem
from fairdash.reports.csv import safe_csv

#: The results that come with fairdash.
COMMITTED = Path(__file__).parent / "results"
#: Hears what a study is at, in plain words, and the share that is done, 0 to 1.
Tell = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class About:
    """How a result came about.

    Parameters
    ----------
    study
        Name of its folder: ``"fig2"``, ``"table1_crime"``.
    command
        What to type to make it again.
    seed
        The one seed of the study.
    seconds
        Processor time, of all its processes together: the wall time of one core that has nothing else to do.
    options
        Everything that was chosen, by name.
    notes
        Sentences that a reader of the figures should know.
    versions
        Package to version, with Python's and fairdash's own.
    machine
        Kind of processor and operating system.
    """

    study: str
    command: str
    seed: int
    seconds: float
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""


@dataclass(frozen=True)
class StudyResult:
    """Tables by name, and how they came about."""

    about: About
    tables: Mapping[str, pd.DataFrame]


def silent(_: str, __: float) -> None:
    """Nobody listens."""


def aloud() -> Tell:
    """Say on the standard error what a study is at, whenever that changes."""
    last = ""

    def say(doing: str, share: float) -> None:
        nonlocal last
        if doing != last:
            last = doing
            print(f"{share:4.0%} {doing}", file=sys.stderr, flush=True)

    return say


def part_told(tell: Tell, before: float, width: float, doing: str, share: float) -> None:
    """Tell how far a part of the whole is that begins at the share `before`."""
    tell(doing, before + width * share)


def processor_seconds() -> float:
    """Processor time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def machine() -> str:
    """Kind of machine: operating system and processor, nothing that names this one.

    Networks differ in the last digits between kinds of processors, and adversaries let that grow.
    """
    return f"{platform.system()} {platform.machine()}, {_processor()}, 1 thread"


def _processor() -> str:
    about = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*: (.+)$", about.read_text(), re.MULTILINE) if about.exists() else None
    return named[1] if named else platform.processor() or "CPU"


def write_result(result: StudyResult, folder: Path) -> Path:
    """Write a result into ``folder/<study>``; tables first, so that what describes them is never alone."""
    place = folder / result.about.study
    for name, table in result.tables.items():
        write_whole(place / f"{name}.csv", safe_csv(table, float_format="%.8g"))
    text = json.dumps(asdict(result.about), indent=2, ensure_ascii=False) + "\n"
    write_whole(place / "about.json", text.encode())
    return place


def read_result(study: str, folder: Path = COMMITTED) -> StudyResult:
    """Read a result.

    Raises
    ------
    DataError
        There is none of that name.
    """
    place = folder / study
    try:
        content = json.loads((place / "about.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            Problem(
                what=f"There is no result of the study {study}",
                mend=f"Make it: python -m fairdash reproduce {study.replace('_', ' --dataset ', 1)}",
            )
        ) from None
    about = About(**content | {"notes": tuple(content["notes"])})
    return StudyResult(about, {path.stem: pd.read_csv(path) for path in sorted(place.glob("*.csv"))})


def committed(prefix: str = "", folder: Path = COMMITTED) -> tuple[str, ...]:
    """Names of the studies whose results come with fairdash, that begin with `prefix`."""
    return tuple(sorted(path.parent.name for path in folder.glob(f"{prefix}*/about.json")))
