"""Execution of the plan of a sweep in several processes (:mod:`fairdash.jobs.parallel`).

<job>/units/task.json   the plan and its options, for the processes
<job>/units/rows.arrow  the data set, which each process reads once
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from fairdash.data.dataset import Dataset
from fairdash.errors import StorageError
from fairdash.evaluation.execute_sweep import Progress, execute_sweep
from fairdash.evaluation.result import SweepResult
from fairdash.jobs.parallel import MAX_WIDTH, StepProgress, compute_steps
from fairdash.jobs.steps import MissingSteps, Replay, StepDone
from fairdash.storage import write_whole
from fairdash.storage.bundle import read_sealed, write_sealed
from fairdash.tables.roles import SINGLE
from fairdash.training.sweep import Sweep
from fairdash.utils.records import from_plain, to_plain

_TASK, _ROWS = "task.json", "rows.arrow"
_WORDS = ("name", "per_exposure", "title", "description", "units", "meanings", "notes", "names", "classes")


def execute_in_parallel(
    dataset: Dataset,
    plan: Sweep,
    folder: Path,
    *,
    executor: Executor | Callable[[], Executor],
    width: Callable[[], int] = lambda: MAX_WIDTH,
    progress: Progress = lambda *_: None,
    on_curve: Callable[[pd.DataFrame], None] = lambda _: None,
    **options: Any,
) -> SweepResult:
    """Execute the plan of a sweep in parallel, with exactly the same result as :func:`execute_sweep`.

    Parameters
    ----------
    folder
        Folder for the results of the steps, which all processes must be able to read and write. Results that
        already exist in the folder are reused.
    executor, width
        Same meaning as in :func:`fairdash.jobs.parallel.compute_steps`.
    progress, on_curve
        Functions as in :func:`execute_sweep`; the values of training curves arrive when a step is finished.
    options
        Options ``measures``, ``importance`` and ``references`` of :func:`execute_sweep`.

    Raises
    ------
    StorageError
        Raised if the folder cannot be written, or the table cannot be stored unchanged.
    """
    start_time = time.monotonic()
    _save_task(folder, dataset, plan, options)

    def on_result(replay: Replay, name: str) -> None:
        files = replay.files_of(name) if name.startswith("train/") else None
        if files is not None and "curves.parquet" in files:
            on_curve(pd.read_parquet(io.BytesIO(files["curves.parquet"])))

    result = compute_steps(
        lambda replay: execute_sweep(dataset, plan, run_step=replay, **options),
        folder,
        step=compute_step,
        executor=executor,
        width=width,
        progress=progress,
        on_result=on_result,
    )
    return replace(result, seconds=time.monotonic() - start_time)


def compute_step(folder: str, name: str) -> tuple[str, float]:
    """Compute one step of the sweep in a folder; return the result's hash and the step's share of the work.

    Raises
    ------
    Cancelled
        Raised if the job has been cancelled.
    LookupError
        Raised if required steps are missing, or the sweep has no such step.
    """
    path = Path(folder)
    task = _task_of(path)
    task.replay.read_index()
    task.replay.target, task.replay.is_computing = name, False
    progress = StepProgress(task.replay)
    try:
        execute_sweep(task.dataset, task.plan, run_step=task.replay, progress=progress, **task.options)
    except StepDone as finished_step:
        return finished_step.digest, progress.share
    except MissingSteps as missing:
        raise LookupError(f"{name} needs {', '.join(missing.names)}") from None
    raise LookupError(name)


@dataclass(frozen=True)
class _Task:
    """Sweep that a process holds in memory, with the results of the steps that the process needs."""

    dataset: Dataset
    plan: Sweep
    options: Mapping[str, Any]
    replay: Replay


class _Latest(threading.local):
    """Latest task of a thread; its folder and the modification time of its file identify it."""

    key: tuple[Path, int] | None = None
    task: _Task


_latest = _Latest()


def _task_of(folder: Path) -> _Task:
    key = folder, (folder / _TASK).stat().st_mtime_ns
    if _latest.key != key:
        content = read_sealed(folder / _TASK)
        _latest.task = _Task(
            dataset=_load_dataset(folder / _ROWS, content["dataset"]),
            plan=from_plain(Sweep, content["plan"]),
            options=content["options"],
            replay=Replay(folder),
        )
        _latest.key = key
    return _latest.task


def _save_task(folder: Path, dataset: Dataset, plan: Sweep, options: Mapping[str, Any]) -> None:
    import pyarrow as pa

    rows = folder / _ROWS
    metadata: dict[str, Any] = {name: getattr(dataset, name) for name in _WORDS}
    metadata |= {name: list(getattr(dataset, name).columns) for name in ("features", "sensitive")}
    metadata |= {
        name: None if (column := getattr(dataset, name)) is None else column.name
        for name in ("target", *SINGLE)
    }
    try:
        write_whole(rows, lambda name: dataset.table().to_feather(name, compression="uncompressed"))
        is_same = _load_dataset(rows, metadata).fingerprint == dataset.fingerprint
    except pa.ArrowException:
        is_same = False
    if not is_same:
        raise StorageError.of(
            "the table can't be stored for other processes",
            "Make every column contain only numbers or only text.",
        )
    content = {"plan": to_plain(plan), "options": dict(options), "dataset": metadata}
    write_sealed(folder / _TASK, content)


def _load_dataset(rows: Path, metadata: Mapping[str, Any]) -> Dataset:
    from pyarrow import feather

    table: pd.DataFrame = feather.read_feather(rows, memory_map=True)
    parts: dict[str, Any] = {name: metadata[name] for name in _WORDS}
    parts["classes"] = {name: tuple(names) for name, names in metadata["classes"].items()}
    for name in ("features", "sensitive", "target", *SINGLE):
        parts[name] = None if metadata[name] is None else table[metadata[name]]
    return Dataset(**parts)
