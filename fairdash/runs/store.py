"""Where a run is kept: one folder a run, every file written whole or not at all, no pickle.

<home>/runs/<id>/spec.json       what to do: data, plan
<home>/runs/<id>/status.json     how far it is
<home>/runs/<id>/name.json       what the user calls it, if anything
<home>/runs/<id>/curves.jsonl    training curves, a line a λ and epoch; in the result when it is there
<home>/runs/<id>/first/          a first look at the result, where the run begins with one
<home>/runs/<id>/result/         the result, renamed into place when it is complete
<home>/runs/<id>/units/          what it has found so far, by content, until the result is there
<home>/runs/<id>/log.jsonl       who did what with it (:mod:`fairdash.runs.log`)
<home>/runs/<id>/cancel          there if the user asked to stop
<home>/runs/<id>/worker.lock     held by the process that is at it
<home>/runs/<id>/process.json    which process that is

What a run has to do, how far it is and what it has found are sealed (:mod:`fairdash.sealed`). Who is
next, and which units are done, is in the line of jobs (:mod:`fairdash.jobs.engine`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pandas as pd

from fairdash.data.source import DatasetSource
from fairdash.errors import RunError
from fairdash.runs.job import ID, RESULT, Job, JobSpec
from fairdash.runs.naming import read_name, write_name
from fairdash.runs.result import RunResult, UnreadableError, read_result, write_result
from fairdash.storage import LOCAL, data_folder, write_whole
from fairdash.training.sweep import Sweep

FIRST = "first"
_CURVES = "curves.jsonl"


@dataclass(frozen=True, kw_only=True)
class RunSpec(JobSpec):
    """What a run has to do.

    Parameters
    ----------
    plan
        The sweep.
    first
        A smaller sweep to begin with, so that there is soon something to look at.
    source, created
        As in :class:`JobSpec`.
    """

    plan: Sweep
    first: Sweep | None = None

    @property
    def share_of_first(self) -> float:
        """The first look's share of the work, 0 to 1: it grows with the number of models."""
        n_first = 0 if self.first is None else len(self.first.models())
        return n_first / (n_first + len(self.plan.models()))


class Run(Job[RunSpec]):
    """One run in the store."""

    folder_name: ClassVar[str] = "runs"
    label: ClassVar[str] = "run"
    spec_kind: ClassVar[type] = RunSpec

    @property
    def names_in_line(self) -> tuple[str, ...]:
        return (self.id, self.first_in_line)

    @property
    def first_in_line(self) -> str:
        """What its first look is called in the line of jobs."""
        return f"{self.id}-{FIRST}"

    @property
    def name(self) -> str:
        """What the user calls it; empty where it has no name."""
        return read_name(self.folder)

    def rename(self, name: str) -> None:
        """Give it another name, or none; errors as :func:`fairdash.runs.naming.write_name`."""
        write_name(self.folder, name)

    def add_curve(self, curve: pd.DataFrame) -> None:
        """Append an epoch's training curve (see :class:`fairdash.training.sweep.SweepProgress`)."""
        with (self.folder / _CURVES).open("a", encoding="utf-8") as file:
            file.write(curve.to_json(orient="records", lines=True))

    def forget_curves(self) -> None:
        """Begin the training curves anew."""
        (self.folder / _CURVES).unlink(missing_ok=True)

    def curves(self) -> pd.DataFrame:
        """All training curves so far; no rows before the first epoch is done."""
        columns = ["method", "lam", "epoch", "mse", "dependence"]
        kept = (self.folder / place / _CURVES for place in (RESULT, ""))
        path = next((each for each in kept if each.exists()), None)
        if path is None:
            return pd.DataFrame(columns=columns)
        # The worker may be in the middle of writing the last line.
        whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
        return pd.DataFrame([json.loads(line) for line in whole.splitlines() if line], columns=columns)

    @property
    def look(self) -> str | None:
        """What there is to look at: ``"result"``, ``"first"`` for the first look, or None."""
        return next((name for name in (RESULT, FIRST) if (self.folder / name).is_dir()), None)

    @property
    def available_plan(self) -> Sweep:
        """The plan of what there is to look at: the first look's, or the whole."""
        spec = self.spec
        return spec.first if self.look == FIRST and spec.first is not None else spec.plan

    def write_result(self, result: RunResult, *, first: bool = False) -> None:
        """Keep the result, or the first look at it: all of it or nothing."""
        with self._result_folder(FIRST if first else RESULT) as folder:
            write_result(result, folder)
            if not first and (self.folder / _CURVES).exists():
                write_whole(folder / _CURVES, (self.folder / _CURVES).read_bytes())
        if not first:
            self.forget_curves()

    def read_result(self) -> RunResult:
        """The kept result, or else the first look; RunError if there is neither or it can't be read."""
        try:
            return read_result(self._checked(self.look or RESULT))
        except UnreadableError as error:
            raise self._damaged() from error


def runs_folder() -> Path:
    """Where all runs are kept."""
    return data_folder(Run.folder_name)


def create_run(source: DatasetSource, plan: Sweep, *, first: Sweep | None = None) -> Run:
    """A new run, queued; nobody works at it yet."""
    return Run.create(RunSpec(source=source, plan=plan, first=first))


@dataclass(frozen=True)
class RunList:
    """The runs in the store.

    Parameters
    ----------
    runs
        Those that can be read, the newest first.
    damaged
        Ids of those that can't; their files are left as they are.
    """

    runs: tuple[Run, ...]
    damaged: tuple[str, ...]

    def of(self, source: DatasetSource) -> list[Run]:
        """Those of one data set that have something to look at or are still at work, the newest first."""
        of_source = (run for run in self.runs if run.spec.source == source)
        return [run for run in of_source if run.look or not run.status.is_over]


def list_runs(*, owner: str | None = LOCAL) -> RunList:
    """Look through the store for somebody's runs; for everybody's if None."""
    found, damaged = [], []
    folders = runs_folder().iterdir() if runs_folder().is_dir() else ()
    for folder in folders:
        if ID.fullmatch(folder.name) and (folder / "spec.json").is_file():
            try:
                run = Run(folder.name, owner=owner)
            except RunError:
                continue
            try:
                run.stored_status()  # reading it is the test: whether a worker lives is asked elsewhere
                found.append((run.spec.created, run.id, run))
            except RunError:
                damaged.append(run.id)
    newest_first = sorted(found, key=lambda entry: entry[:2], reverse=True)
    return RunList(tuple(run for *_, run in newest_first), tuple(sorted(damaged)))
