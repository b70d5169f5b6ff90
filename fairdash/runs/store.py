"""Storage of runs in one folder each. Files are written completely or not at all, and are never pickles.

<home>/runs/<id>/spec.json       data and plan
<home>/runs/<id>/status.json     progress
<home>/runs/<id>/name.json       the user's name for it, if any
<home>/runs/<id>/curves.jsonl    training curves, one line per λ and epoch; later part of the result
<home>/runs/<id>/first/          a preview of the result, if the run begins with one
<home>/runs/<id>/result/         the result, renamed into place when it is complete
<home>/runs/<id>/units/          results of finished steps, by content, until the result exists
<home>/runs/<id>/confirmations.json  results on the rows set aside (:mod:`fairdash.runs.confirmations`)
<home>/runs/<id>/log.jsonl       log of the run (:mod:`fairdash.storage.log`)
<home>/runs/<id>/cancel          exists if the user asked to stop
<home>/runs/<id>/worker.lock     held by the process of the run, which process.json names

The files of the specification, the status and the results of a run contain hashes that reveal changes
(:mod:`fairdash.storage.bundle`). The queue stores the order of the jobs and the finished steps
(:mod:`fairdash.jobs.queue`).
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Self, TypeVar

import pandas as pd

from fairdash._version import __version__
from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import Checks, FairdashError, OptionError, RunError, StorageError
from fairdash.evaluation.result import SweepResult
from fairdash.jobs import queue
from fairdash.jobs.cancellation import is_stop_requested, lock
from fairdash.runs.result import (
    CURVES,
    UnreadableError,
    add_curve,
    check_data,
    read_curves,
    read_result,
    write_result,
)
from fairdash.runs.state import DONE, QUEUED, STATUS, RunStatus, current_status, read_status, write_status
from fairdash.storage import LOCAL, data_folder, make_parents, write_whole
from fairdash.storage.bundle import (
    AlteredError,
    check,
    open_sealed_text,
    read_sealed,
    seal,
    sealed_text,
    whole_folder,
    write_sealed,
)
from fairdash.training.defaults import current_defaults
from fairdash.training.stack_trainer import work_of
from fairdash.training.sweep import Sweep
from fairdash.utils.records import from_plain, to_plain

Spec = TypeVar("Spec")

_ID = re.compile(r"[0-9a-f]{12}|[0-9a-f]{24}")
SPEC, NAME, RESULT, FIRST = "spec.json", "name.json", "result", "first"
MAX_NAME = 80


@dataclass(frozen=True, kw_only=True)
class JobSpec:
    """Fields that the specifications of all jobs on a data set contain.

    Parameters
    ----------
    source
        Recipe of the data set.
    created
        Time of the request in UTC, as ISO 8601 text; by default the current time.
    owner
        Owner of the job.
    """

    source: DatasetSource
    owner: str = LOCAL
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="microseconds"))

    def __post_init__(self) -> None:
        # A string that is not a time raises a ValueError, which means that the file is damaged.
        datetime.fromisoformat(self.created)

    def load(self) -> Dataset:
        """Load the data set. Raise an error if the owner of the job does not have the file."""
        return self.source.load(owner=self.owner)


@dataclass(frozen=True, kw_only=True)
class RunSpec(JobSpec):
    """Specification of a run.

    Parameters
    ----------
    plan
        The sweep.
    first
        A smaller sweep, which is executed first as a fast preview.
    first_share
        Share of the rows that the preview uses, above 0 and at most 1. These rows are drawn at random.
    defaults
        Defaults from :func:`fairdash.training.defaults.current_defaults` at the time of the request.
    """

    plan: Sweep
    first: Sweep | None = None
    first_share: float = 1.0
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def share_of_first(self) -> float:
        """Share of the total work that the preview needs, from 0 to 1."""
        first = 0.0 if self.first is None else self.first_share * work_of(self.first.models())
        return first / (first + work_of(self.plan.models()))


class Job(Generic[Spec]):
    """Stored job, with its folder, its status, and a request to stop it."""

    #: Name of the folder of all jobs of this kind.
    folder_name: ClassVar[str]
    #: Word for a job in messages.
    label: ClassVar[str]
    #: Type of the specification.
    spec_kind: ClassVar[type]
    #: Queue of the job. The quick queue is for jobs that take a few seconds while a user waits.
    queue_name: str = queue.QUICK

    def __init__(self, job_id: str, *, owner: str | None = None) -> None:
        """Open the job; raise a RunError if the owner has no job with this id.

        If `owner` is None, the job may belong to any owner. Worker processes and deletions need this. Pages
        and commands pass an owner.
        """
        self.id = job_id
        self.folder = self.home() / job_id
        # The id comes from the address of a page. If it had other characters than hex digits, the path could
        # leave the folder.
        is_there = _ID.fullmatch(job_id) and (self.folder / SPEC).is_file()
        # The message does not reveal whether another owner has a job with this id.
        if not is_there or (owner is not None and owner != self.owner):
            raise RunError.of(
                f"This {self.label} is gone, or was made on another machine",
                f"Choose another {self.label}, or start a new one.",
            )

    @classmethod
    def home(cls) -> Path:
        """Folder of all jobs of this kind."""
        return data_folder(cls.folder_name)

    @classmethod
    def create(
        cls, spec: Spec, *, id: str | None = None, files: Mapping[str, bytes] = MappingProxyType({})
    ) -> Self:
        """Create a job. `files` maps the names of further files that it needs to their contents.

        If a job with this `id` exists, it is returned, so that simultaneous requests create only one job.
        """
        id = id or secrets.token_hex(6)
        run_folder = cls.home() / id
        if (run_folder / SPEC).is_file():
            return cls(id)
        make_parents(run_folder)
        try:
            with whole_folder(run_folder) as new:
                write_status(new, RunStatus(state=QUEUED))
                write_whole(new / SPEC, spec_text(spec).encode())
                for name, content in files.items():
                    write_whole(new / name, content)
        except StorageError:
            if not (run_folder / SPEC).is_file():
                raise
        return cls(id)

    @property
    def owner(self) -> str:
        """Owner of the job."""
        try:
            return str(getattr(self.spec, "owner", LOCAL))
        except RunError:
            # A job that can't be read is not shown to signed-in users.
            return LOCAL

    @property
    def spec(self) -> Spec:
        """Specification of the job, which is cached. A RunError is raised if the file can't be read."""
        try:
            path = self.folder / SPEC
            file_status = path.stat()
            spec: Spec = _read_spec(self.spec_kind, path, (file_status.st_mtime_ns, file_status.st_size))
        except (OSError, ValueError, KeyError, RecursionError, AttributeError, FairdashError) as error:
            raise self.damaged(SPEC) from error
        return spec

    @property
    def status(self) -> RunStatus:
        """Progress or outcome of the job. A RunError is raised if the file can't be read."""
        return current_status(self)

    @property
    def status_if_over(self) -> RunStatus | None:
        """Status of a job that has ended, otherwise None. The caller ensures that no process works on it."""
        status = self.stored_status()
        # The process may have died after it stored the complete result and before it recorded the outcome.
        if not status.is_over and (self.folder / RESULT).is_dir():
            return replace(status, state=DONE, doing="", fraction=1.0, seconds_left=None)
        return status if status.is_over else None

    def stored_status(self) -> RunStatus:
        """Return the status in the file; raise a RunError if the file can't be read."""
        try:
            return read_status(self.folder)
        except (OSError, ValueError, RecursionError) as error:
            raise self.damaged(STATUS) from error

    def lock(self, *, seconds: float = 0.0) -> AbstractContextManager[Any]:
        """Return the lock of the working process. Waiting for it raises filelock.Timeout after `seconds`."""
        return lock(self.folder, seconds=seconds)

    def is_cancelled(self) -> bool:
        """Return whether the user has asked to stop the job."""
        return is_stop_requested(self.folder)

    @property
    def workflow_ids(self) -> tuple[str, ...]:
        """Names of the parts of the job in the queue."""
        return (self.id,)

    @property
    def can_go_on(self) -> bool:
        """Return whether the job has no result, but finished steps from which it can be resumed."""
        return not (self.folder / RESULT).is_dir() and any(self.units.glob(64 * "?"))

    @property
    def units(self) -> Path:
        """Folder of the results of finished steps, which is deleted when the result of the job is stored."""
        return self.folder / "units"

    @contextmanager
    def _result_folder(self, name: str = RESULT) -> Iterator[Path]:
        """Yield a folder that is stored completely or not at all, or raise a StorageError (disk is full)."""
        with whole_folder(self.folder / name) as folder:
            yield folder
            seal(folder)
        if name == RESULT:
            # The steps are deleted, because the result contains everything that they have computed.
            shutil.rmtree(self.units, ignore_errors=True)

    def write_files(self, files: Mapping[str, bytes]) -> None:
        """Store the result, a map from names to contents, completely or not at all."""
        with self._result_folder() as folder:
            for name in files:
                write_whole(folder / name, files[name])

    def read_file(self, name: str) -> bytes:
        """Read a file of the result; raise a RunError if the file is missing or damaged."""
        try:
            return (self._checked() / name).read_bytes()
        except OSError as error:
            raise self.damaged(name) from error

    def _checked(self, name: str = RESULT) -> Path:
        """Return the folder of the result; raise a RunError if a file was changed."""
        folder = self.folder / name
        try:
            check(folder)
        except AlteredError as error:
            raise self.damaged(*error.names) from error
        except OSError as error:
            raise self.damaged() from error
        return folder

    def damaged(self, *names: str) -> RunError:
        which = f" ({', '.join(names)})" if names else ""
        return RunError.of(
            f"The files of this {self.label} are incomplete or damaged{which}",
            f"Start the {self.label} again; the others are not affected.",
        )


def spec_text(spec: object) -> str:
    """Return a job's specification as text, with the version of fairdash."""
    return sealed_text({"fairdash": __version__, **to_plain(spec)})


def parse_spec(kind: type[Spec], text: str) -> Spec:
    """Read the text of :func:`spec_text`; raise a ValueError or a FairdashError if the text is damaged."""
    content = open_sealed_text(text)
    return from_plain(kind, {name: each for name, each in content.items() if name != "fairdash"})


@lru_cache(maxsize=10_000)
def _read_spec(kind: type[Any], path: Path, version: tuple[int, int]) -> Any:  # noqa: ARG001 (its key)
    return parse_spec(kind, path.read_text(encoding="utf-8"))


class Run(Job[RunSpec]):
    """Stored run."""

    folder_name: ClassVar[str] = "runs"
    label: ClassVar[str] = "run"
    spec_kind: ClassVar[type] = RunSpec
    queue_name = queue.LONG

    @property
    def workflow_ids(self) -> tuple[str, ...]:
        return (self.id, self.preview_id)

    @property
    def preview_id(self) -> str:
        """Name of the preview in the queue."""
        return f"{self.id}-{FIRST}"

    @property
    def name(self) -> str:
        """Name that the user has given to the run, or "". It is not part of the result."""
        try:
            return _checked_name(read_sealed(self.folder / NAME)["name"])
        except (OSError, ValueError, KeyError, RecursionError, AttributeError, FairdashError):
            # A damaged name is ignored, because the run is complete without it.
            return ""

    def rename(self, name: str) -> None:
        """Set or remove the name of the run; raise an OptionError if it is too long or not printable."""
        write_sealed(self.folder / NAME, {"name": _checked_name(name)})

    @property
    def other_defaults(self) -> str:
        """Sentence on default values that have changed since the run, or "" if none has changed."""
        return self.spec.plan.other_defaults(self.spec.defaults)

    def add_curve(self, curve: pd.DataFrame) -> None:
        """Append the training curve of an epoch (see :func:`fairdash.runs.result.add_curve`)."""
        add_curve(self.folder / CURVES, curve)

    def curves(self) -> pd.DataFrame:
        """Return the training curves of all finished epochs."""
        paths = (self.folder / RESULT / CURVES, self.folder / CURVES)
        return read_curves(next((path for path in paths if path.exists()), None))

    @property
    def available_result(self) -> str | None:
        """Folder of the best available result, which is ``"result"``, ``"first"`` (the preview) or None."""
        return next((name for name in (RESULT, FIRST) if (self.folder / name).is_dir()), None)

    @property
    def available_plan(self) -> Sweep:
        """Plan of the available result, with its weights λ before pilot training selected other weights."""
        spec = self.spec
        return spec.first if self.available_result == FIRST and spec.first is not None else spec.plan

    def write_result(self, result: SweepResult, *, first: bool = False) -> None:
        """Store the result, or its preview, completely or not at all."""
        with self._result_folder(FIRST if first else RESULT) as folder:
            write_result(result, folder)
            if not first and (self.folder / CURVES).exists():
                write_whole(folder / CURVES, (self.folder / CURVES).read_bytes())
        if not first:
            (self.folder / CURVES).unlink(missing_ok=True)

    def check_data(self, dataset: Dataset) -> None:
        """Raise RunError if the run was trained on other data, as an imported run may be."""
        check_data(self.folder / (self.available_result or RESULT), dataset)

    def read_result(self) -> SweepResult:
        """Read the result or, if it does not exist, the preview. Add a note if defaults have changed.

        If neither exists, or if the file is damaged, a RunError is raised.
        """
        try:
            result = read_result(self._checked(self.available_result or RESULT), self.available_plan)
        except UnreadableError as error:
            raise self.damaged() from error
        note = self.other_defaults
        return replace(result, notes=(*result.notes, note)) if note else result


def _checked_name(name: str) -> str:
    short_name = name.strip()
    checks = Checks(OptionError)
    checks.require(
        len(short_name) <= MAX_NAME,
        "name",
        f"it has {len(short_name):,} characters",
        f"Use at most {MAX_NAME} characters.",
    )
    checks.require(
        short_name.isprintable(), "name", "some of its characters can't be printed", "Write one line of text."
    )
    checks.finish()
    return short_name


def create_run(source: DatasetSource, plan: Sweep, *, first: Sweep | None = None) -> Run:
    """Create a run."""
    return Run.create(RunSpec(source=source, plan=plan, first=first, defaults=current_defaults()))
