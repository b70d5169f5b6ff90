"""The runs in the store."""

from __future__ import annotations

from dataclasses import dataclass

from fairdash.data.source import DatasetSource
from fairdash.errors import RunError
from fairdash.runs.store import Run, runs_folder
from fairdash.storage import LOCAL


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
        try:
            run = Run(folder.name, owner=owner)
        except RunError:
            # No run, or another's.
            continue
        try:
            run.stored_status()  # reading it is the test: whether a worker lives is asked elsewhere
            found.append((run.spec.created, run.id, run))
        except RunError:
            damaged.append(run.id)
    newest_first = sorted(found, key=lambda entry: entry[:2], reverse=True)
    return RunList(tuple(run for *_, run in newest_first), tuple(sorted(damaged)))
