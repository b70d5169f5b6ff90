"""Shared functions of the studies: messages, parallel parts, and writing of results."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from fairdash._version import versions
from fairdash.lab.paper import StudyResult
from fairdash.storage import write_whole
from fairdash.utils.safe_csv import safe_csv

Tables = Mapping[str, pd.DataFrame]


def say(doing: str) -> None:
    """Print the current stage of a study on the standard error."""
    print(doing, file=sys.stderr, flush=True)


def stacked(parts: Sequence[Tables]) -> dict[str, pd.DataFrame]:
    """Tables of the same names, concatenated."""
    return {name: pd.concat([each[name] for each in parts], ignore_index=True) for name in parts[0]}


def tables_of_parts(
    make: Callable[[Any], Tables], parts: Sequence[Any], *, processes: int
) -> dict[str, pd.DataFrame]:
    """Tables of a study's parts, computed by `processes` processes, whose number changes no value."""
    if processes < 2 or len(parts) < 2:
        return stacked([make(part) for part in parts])
    # Spawned, because torch's threads do not survive a fork.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return stacked(list(pool.map(make, parts)))


def processor_seconds() -> float:
    """Processor time of this process and of its finished child processes."""
    return sum(os.times()[:4])


def result_of(
    study: str,
    command: str,
    tables: Tables,
    *,
    started: float,
    options: Mapping[str, Any],
    seed: int = 0,
    notes: tuple[str, ...] = (),
) -> StudyResult:
    """The result of a study that ends now.

    Parameters
    ----------
    command
        Command that reproduces the result.
    started
        Value of :func:`processor_seconds` at the start.
    """
    return StudyResult(
        tables=tables,
        study=study,
        command=command,
        seed=seed,
        seconds=round(processor_seconds() - started, 1),
        options=options,
        notes=notes,
        versions=versions(),
        machine=_machine(),
    )


def _machine() -> str:
    """Kind of machine: operating system and processor, without anything that identifies the machine.

    Networks differ in the last digits between kinds of processors, and adversarial training amplifies the
    difference.
    """
    about = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*: (.+)$", about.read_text(), re.MULTILINE) if about.exists() else None
    processor = named[1] if named else platform.processor() or "CPU"
    return f"{platform.system()} {platform.machine()}, {processor}, 1 thread"


def write_result(result: StudyResult, folder: Path) -> Path:
    """Write a result into ``folder/<study>``: tables first, so that no description exists without them."""
    place = folder / result.study
    for name, table in result.tables.items():
        write_table(table, place / f"{name}.csv")
    text = json.dumps(result.about, indent=2, ensure_ascii=False) + "\n"
    write_whole(place / "about.json", text.encode())
    return place


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table of a result with eight digits."""
    write_whole(path, safe_csv(table, float_format="%.8g"))
