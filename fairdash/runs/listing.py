"""List stored runs and audits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from fairdash.auditing.filing.document import FILE, read_governance
from fairdash.data.source import DatasetSource
from fairdash.errors import RunError
from fairdash.runs.audits import AuditJob
from fairdash.runs.state import DONE
from fairdash.runs.store import Job, Run
from fairdash.storage import LOCAL, data_folder, inside

SomeJob = TypeVar("SomeJob", bound=Job[Any])


@dataclass(frozen=True)
class RunList:
    """List of the stored runs.

    Parameters
    ----------
    runs
        Runs that can be read, the newest first.
    damaged
        Ids of runs that can't be read. Their files are not changed.
    """

    runs: tuple[Run, ...]
    damaged: tuple[str, ...]

    def of(self, source: DatasetSource) -> list[Run]:
        """Return the runs on one data set that have results or have not ended, newest first."""
        of_source = (run for run in self.runs if run.spec.source == source)
        return [run for run in of_source if run.available_result or not run.status.is_over]


def list_runs(*, owner: str | None = LOCAL) -> RunList:
    """List the runs of one owner, or of all owners if `owner` is None."""
    return RunList(*_found(Run, owner))


def finished_audits(*, owner: str | None = LOCAL) -> list[AuditJob]:
    """Return the finished audits of an owner that can be read, newest first."""
    audits, _ = _found(AuditJob, owner)
    return [audit for audit in audits if (over := audit.status_if_over) is not None and over.state == DONE]


def stored_answers(*, owner: str | None = LOCAL, first: AuditJob | None = None) -> dict[str, str]:
    """Return the governance answers of the audit `first` or, if it has none, of the newest audit.

    Raises
    ------
    StorageError
        The answers can't be read.
    """
    for audit in (*([] if first is None else [first]), *finished_audits(owner=owner)):
        if (audit.folder / FILE).exists():
            return read_governance(audit.folder / FILE)
    return {}


def jobs_of(kind: type[SomeJob], *, owner: str | None) -> Iterator[SomeJob]:
    """Yield the stored jobs of one kind that belong to an owner, or to any owner if `owner` is None."""
    for folder in inside(data_folder(kind.folder_name)):
        try:
            job = kind(folder.name, owner=owner)
        except RunError:
            # The folder contains no job, or the job of another owner.
            continue
        yield job


def newest(kind: type[SomeJob], is_it: Callable[[Any], bool], *, owner: str) -> SomeJob | None:
    """Return the owner's newest job of one kind whose specification meets a condition, or None."""
    candidates = []
    for job in jobs_of(kind, owner=owner):
        # A damaged job does not meet any condition.
        with suppress(RunError):
            if is_it(job.spec):
                candidates.append((job.spec.created, job.id, job))
    return max(candidates)[2] if candidates else None


def _found(kind: type[SomeJob], owner: str | None) -> tuple[tuple[SomeJob, ...], tuple[str, ...]]:
    """Return the jobs of one kind, the newest first, and the ids of jobs that can't be read."""
    jobs, damaged = [], []
    for job in jobs_of(kind, owner=owner):
        try:
            job.stored_status()  # This call raises a RunError if the job can't be read.
            jobs.append((job.spec.created, job.id, job))
        except RunError:
            damaged.append(job.id)
    newest_first = sorted(jobs, key=lambda entry: entry[:2], reverse=True)
    return tuple(job for *_, job in newest_first), tuple(sorted(damaged))
