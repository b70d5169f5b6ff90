"""Where a run is kept: one folder a run, every file written whole or not at all, no pickle.

<home>/runs/<id>/spec.json       what to do: data, plan
<home>/runs/<id>/status.json     how far it is
<home>/runs/<id>/curves.jsonl    training curves, a line a λ and epoch
<home>/runs/<id>/first/          a first look at the result, where the run begins with one
<home>/runs/<id>/result/         the result, renamed into place when it is complete
<home>/runs/<id>/cancel          there if the user asked to stop
<home>/runs/<id>/worker.lock     held by the worker as long as it lives
<home>/runs/<id>/worker.log      what the worker printed
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Self, TypeVar

import pandas as pd
from filelock import FileLock, Timeout

from fairdash._version import __version__
from fairdash.data.folders import data_folder, write_whole
from fairdash.data.source import DatasetSource
from fairdash.errors import FairdashError, Problem, RunError
from fairdash.runs.result import RunResult, UnreadableError, read_result, write_result
from fairdash.training.sweep import Sweep

Spec = TypeVar("Spec")

_ID = re.compile(r"[0-9a-f]{12}")
#: A worker imports torch before it takes its lock: until then a run counts as queued.
SECONDS_TO_START = 60

RESULT, FIRST = "result", "first"
QUEUED, RUNNING, DONE, CANCELLED, FAILED = "queued", "running", "done", "cancelled", "failed"


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """What a run has to do.

    Parameters
    ----------
    source
        How to get its data set.
    plan
        The sweep.
    created
        When it was asked for, ISO 8601, UTC.
    first
        A smaller sweep to begin with, so that there is soon something to look at.
    """

    source: DatasetSource
    plan: Sweep
    created: str
    first: Sweep | None = None

    def to_json(self) -> str:
        return json.dumps(
            {
                "fairdash": __version__,
                "source": json.loads(self.source.to_json()),
                "plan": self.plan.to_json(),
                "created": self.created,
                "first": None if self.first is None else self.first.to_json(),
            },
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> RunSpec:
        content = json.loads(text)
        return cls(
            source=DatasetSource.from_json(json.dumps(content["source"])),
            plan=Sweep.from_json(content["plan"]),
            created=content["created"],
            first=None if content["first"] is None else Sweep.from_json(content["first"]),
        )


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """How far a run is.

    Parameters
    ----------
    state
        ``"queued"``, ``"running"``, ``"done"``, ``"cancelled"`` or ``"failed"``.
    doing
        What it is doing, in plain words.
    fraction
        Share of the work done, 0 to 1.
    seconds
        Since the worker began.
    seconds_left
        Estimate; None while there is nothing to estimate from.
    message
        Why it failed, for the user.
    """

    state: str
    doing: str = ""
    fraction: float = 0.0
    seconds: float = 0.0
    seconds_left: float | None = None
    message: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in (DONE, CANCELLED, FAILED)


class Job:
    """A piece of work in the store: its folder, how far it is, and the wish to stop it."""

    #: Folder of all jobs of this kind, and what one is called in messages.
    room: ClassVar[str] = "runs"
    word: ClassVar[str] = "run"

    def __init__(self, job_id: str) -> None:
        """Open the job; RunError if there is none of this id."""
        # The id comes from a page's address: anything but hex digits could point out of the folder.
        if not _ID.fullmatch(job_id) or not (data_folder(self.room) / job_id / "spec.json").is_file():
            raise RunError(
                Problem(
                    what=f"This {self.word} is gone, or was made on another machine",
                    mend=f"Choose another {self.word}, or start a new one.",
                )
            )
        self.id = job_id
        self.folder = data_folder(self.room) / job_id

    @classmethod
    def create(cls, spec: str) -> Self:
        """A new job, queued; nobody works at it yet."""
        job_id = secrets.token_hex(6)
        folder = data_folder(cls.room) / job_id
        folder.mkdir(parents=True, mode=0o700)
        write_whole(folder / "status.json", json.dumps(asdict(RunStatus(state=QUEUED))).encode())
        # Last: a folder without a spec is no job.
        write_whole(folder / "spec.json", spec.encode())
        return cls(job_id)

    @property
    def status(self) -> RunStatus:
        """How far it is. A run whose worker has died is failed, whatever its file says."""
        try:
            content = json.loads((self.folder / "status.json").read_text(encoding="utf-8"))
            status = RunStatus(**content)
        except (OSError, ValueError, TypeError) as error:
            raise self._damaged() from error
        if status.is_over or self.is_held():
            return status
        age = datetime.now(UTC).timestamp() - (self.folder / "status.json").stat().st_mtime
        if status.state == QUEUED and age < SECONDS_TO_START:
            return status
        # The worker may have finished between the two looks.
        content = json.loads((self.folder / "status.json").read_text(encoding="utf-8"))
        if RunStatus(**content).is_over:
            return RunStatus(**content)
        return replace(
            status,
            state=FAILED,
            message=f"The process that carried out this {self.word} has ended. Start it again.",
        )

    def is_held(self) -> bool:
        """Whether a worker is alive and at this run."""
        try:
            with self.lock():
                return False
        except Timeout:
            return True

    def lock(self, *, seconds: float = 0.0) -> FileLock:
        """The lock that the worker holds; taking it fails with filelock.Timeout if held for `seconds`."""
        return FileLock(self.folder / "worker.lock", timeout=seconds, is_singleton=False)

    def write_status(self, status: RunStatus) -> None:
        write_whole(self.folder / "status.json", json.dumps(asdict(status)).encode())

    def ask_to_cancel(self) -> None:
        """Ask the worker to stop; it looks several times a second."""
        (self.folder / "cancel").touch()

    def is_cancelled(self) -> bool:
        return (self.folder / "cancel").exists()

    def _read_spec(self, parse: Callable[[str], Spec]) -> Spec:
        try:
            return parse((self.folder / "spec.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError, FairdashError) as error:
            raise self._damaged() from error

    @contextmanager
    def _result_folder(self, name: str = "result") -> Iterator[Path]:
        """A folder to write the result into: all of it is kept or nothing."""
        folder = Path(tempfile.mkdtemp(dir=self.folder, prefix=f".{name}"))
        try:
            yield folder
            folder.rename(self.folder / name)
        except BaseException:
            shutil.rmtree(folder)
            raise

    def _damaged(self) -> RunError:
        return RunError(
            Problem(
                what=f"The files of this {self.word} are incomplete or damaged",
                mend=f"Start the {self.word} again; others are not concerned.",
            )
        )


class Run(Job):
    """One run in the store."""

    @property
    def spec(self) -> RunSpec:
        """What it has to do; RunError if its file can't be read."""
        return self._read_spec(RunSpec.from_json)

    def add_curve(self, curve: pd.DataFrame) -> None:
        """Append an epoch's training curve (see :class:`fairdash.training.sweep.SweepProgress`)."""
        with (self.folder / "curves.jsonl").open("a", encoding="utf-8") as file:
            file.write(curve.to_json(orient="records", lines=True))

    def curves(self) -> pd.DataFrame:
        """All training curves so far; no rows before the first epoch is done."""
        columns = ["method", "lam", "epoch", "mse", "dependence"]
        path = self.folder / "curves.jsonl"
        if not path.exists():
            return pd.DataFrame(columns=columns)
        # The worker may be in the middle of writing the last line.
        whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
        return pd.DataFrame([json.loads(line) for line in whole.splitlines() if line], columns=columns)

    @property
    def look(self) -> str | None:
        """What there is to look at: ``"result"``, ``"first"`` for the first look, or None."""
        return next((name for name in (RESULT, FIRST) if (self.folder / name).is_dir()), None)

    @property
    def plan_seen(self) -> Sweep:
        """The plan of what there is to look at: the first look's, or the whole."""
        spec = self.spec
        return spec.first if self.look == FIRST and spec.first is not None else spec.plan

    def write_result(self, result: RunResult, *, first: bool = False) -> None:
        """Keep the result, or the first look at it: all of it or nothing."""
        with self._result_folder(FIRST if first else RESULT) as folder:
            write_result(result, folder)

    def read_result(self) -> RunResult:
        """The kept result, or else the first look; RunError if there is neither or it can't be read."""
        try:
            return read_result(self.folder / (self.look or RESULT))
        except UnreadableError as error:
            raise self._damaged() from error


def runs_folder() -> Path:
    """Where all runs are kept."""
    return data_folder(Run.room)


def create_run(source: DatasetSource, plan: Sweep, *, first: Sweep | None = None) -> Run:
    """A new run, queued; nobody works at it yet."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    spec = RunSpec(source=source, plan=plan, created=created, first=first)
    return Run.create(spec.to_json())


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


def list_runs() -> RunList:
    """Look through the store."""
    found, damaged = [], []
    folders = runs_folder().iterdir() if runs_folder().is_dir() else ()
    for folder in folders:
        if _ID.fullmatch(folder.name) and (folder / "spec.json").is_file():
            run = Run(folder.name)
            try:
                found.append((run.spec.created, run.id, run))
                run.status  # noqa: B018 (reading it is the test)
            except RunError:
                damaged.append(run.id)
    found = [entry for entry in found if entry[1] not in damaged]
    newest_first = sorted(found, key=lambda entry: entry[:2], reverse=True)
    return RunList(tuple(run for *_, run in newest_first), tuple(sorted(damaged)))
