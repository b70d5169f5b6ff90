"""A study's result on disk: tables as CSV, and a JSON file that says how they came about."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from fairdash._version import versions
from fairdash.errors import DataError
from fairdash.safe_csv import safe_csv
from fairdash.storage import write_whole

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

    @classmethod
    def of(cls, study: str, *, started: float, **about: Any) -> About:
        """Of a study that ends here and now; `started` is what :func:`processor_seconds` was at its begin."""
        seconds = round(processor_seconds() - started, 1)
        return cls(study=study, seconds=seconds, versions=versions(), machine=machine(), **about)


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


def tables_of_parts(
    make: Callable[..., Mapping[str, pd.DataFrame]], parts: Sequence[Any], *, processes: int, tell: Tell
) -> dict[str, pd.DataFrame]:
    """The tables of a study's parts, one below the other.

    Parameters
    ----------
    make
        Gives the tables of a part, and takes as ``tell`` who hears how far it is: here where one process
        makes them in turn; in processes of their own they have nobody to tell.
    processes
        How many of them at a time; the values are the same.
    """
    if processes > 1 and len(parts) > 1:
        # Spawned, since torch's threads don't survive a fork.
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            made = list(pool.map(make, parts))
    else:
        width = 1 / len(parts)
        made = [make(part, tell=partial(part_told, tell, k * width, width)) for k, part in enumerate(parts)]
    return {name: pd.concat([each[name] for each in made], ignore_index=True) for name in made[0]}


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
        raise DataError.of(
            f"There is no result of the study {study}",
            f"Make it: python -m fairdash reproduce {study.replace('_', ' --dataset ', 1)}",
        ) from None
    about = About(**content | {"notes": tuple(content["notes"])})
    return StudyResult(about, {path.stem: pd.read_csv(path) for path in sorted(place.glob("*.csv"))})


def committed(prefix: str = "", folder: Path = COMMITTED) -> tuple[str, ...]:
    """Names of the studies whose results come with fairdash, that begin with `prefix`."""
    return tuple(sorted(path.parent.name for path in folder.glob(f"{prefix}*/about.json")))
