"""The runs and audits in the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from fairdash.data.source import DatasetSource
from fairdash.errors import RunError
from fairdash.runs.audits import AuditJob
from fairdash.runs.status import DONE
from fairdash.runs.store import Run
from fairdash.storage import LOCAL, data_folder

SomeJob = TypeVar("SomeJob", Run, AuditJob)


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
    return RunList(*_found(Run, owner))


def finished_audits(*, owner: str | None = LOCAL) -> list[AuditJob]:
    """Somebody's audits that have found something, the newest first, as far as they can be read."""
    audits, _ = _found(AuditJob, owner)
    return [audit for audit in audits if (over := audit.status_if_over) is not None and over.state == DONE]


def _found(kind: type[SomeJob], owner: str | None) -> tuple[tuple[SomeJob, ...], tuple[str, ...]]:
    """Jobs of a kind, the newest first, and the ids of those that can't be read."""
    found, damaged = [], []
    folder = data_folder(kind.folder_name)
    for each in folder.iterdir() if folder.is_dir() else ():
        try:
            job = kind(each.name, owner=owner)
        except RunError:
            # No job, or another's.
            continue
        try:
            job.stored_status()  # reading it is the test: whether a worker lives is asked elsewhere
            found.append((job.spec.created, job.id, job))
        except RunError:
            damaged.append(job.id)
    newest_first = sorted(found, key=lambda entry: entry[:2], reverse=True)
    return tuple(job for *_, job in newest_first), tuple(sorted(damaged))
