"""Storage of searches for settings or for weights λ.

<home>/searches/<id>/spec.json   what is searched, and in which data
<home>/searches/<id>/result/     the result of the search

The other files are those of a run; see :mod:`fairdash.runs.store`. Searches are not runs, because they have
no models that users could inspect.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from fairdash.data.source import DatasetSource
from fairdash.jobs import queue
from fairdash.runs.store import Job, JobSpec
from fairdash.storage import LOCAL, write_whole
from fairdash.training.lam_search import LamSearch
from fairdash.training.search import SearchResult, SettingsSearch
from fairdash.training.settings import TrainingSettings
from fairdash.utils.records import from_plain, to_plain

#: Fields of a result that are stored unchanged.
_PLAIN = ("rule", "lam", "reached", "measure", "seconds", "device", "notes")


@dataclass(frozen=True, kw_only=True)
class SearchSpec(JobSpec):
    """Specification of a search.

    Parameters
    ----------
    kind
        Object of the search: ``"settings"`` or ``"lam"`` (the weight λ).
    plan
        Plan of the search.
    source, created
        Same meaning as in :class:`fairdash.runs.store.JobSpec`.
    """

    kind: str
    plan: SettingsSearch | LamSearch


class SearchJob(Job[SearchSpec]):
    """Stored search."""

    folder_name: ClassVar[str] = "searches"
    label: ClassVar[str] = "search"
    spec_kind: ClassVar[type] = SearchSpec
    queue_name = queue.LONG

    def write_result(self, result: SearchResult) -> None:
        """Store the result completely or not at all."""
        record = {name: getattr(result, name) for name in _PLAIN}
        record["settings"] = None if result.best is None else to_plain(result.best)
        with self._result_folder() as folder:
            write_whole(folder / "frame.parquet", result.frame.to_parquet())
            write_whole(folder / "about.json", json.dumps(record).encode())

    def read_result(self) -> SearchResult:
        """Read the stored result; raise a RunError if the result is missing or can't be read."""
        folder = self._checked()
        try:
            record = json.loads((folder / "about.json").read_text(encoding="utf-8"))
            settings = record["settings"]
            plain_values = {name: record[name] for name in _PLAIN if name in record}
            return SearchResult(
                **plain_values | {"notes": tuple(plain_values["notes"])},
                frame=pd.read_parquet(folder / "frame.parquet"),
                best=None if settings is None else from_plain(TrainingSettings, settings),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self.damaged() from error


def create_search(
    source: DatasetSource, plan: SettingsSearch | LamSearch, *, owner: str = LOCAL
) -> SearchJob:
    """Create a search."""
    kind = "lam" if isinstance(plan, LamSearch) else "settings"
    return SearchJob.create(SearchSpec(source=source, kind=kind, plan=plan, owner=owner))
