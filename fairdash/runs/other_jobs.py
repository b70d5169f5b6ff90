"""Stored repairs of audited prices, searches for settings or weights, and studies.

<home>/repairs/<id>/spec.json   which audit's price, along which attribute
<home>/repairs/<id>/result/     the figures by strength, and the bundle to download

The other files are a run's; see :mod:`fairdash.runs.store`.

<home>/searches/<id>/spec.json   target and data of the search
<home>/searches/<id>/result/     its result

The other files are a run's; see :mod:`fairdash.runs.store`. Searches are separate from runs, because they
leave no models to inspect.

<cache>/studies/<key>/spec.json       definition of the study
<cache>/studies/<key>/<table>.parquet results so far

The other files are a run's; see :mod:`fairdash.runs.store`. Everything here can be computed again.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from fairdash.data.source import DatasetSource
from fairdash.errors import RunError
from fairdash.jobs import queue
from fairdash.lab.studies import Study
from fairdash.runs.audits import AuditJob, AuditSpec
from fairdash.runs.bundle import BUNDLE, REPAIR, card_of_repair, repair_files
from fairdash.runs.listing import kept_answers, newest
from fairdash.runs.state import CANCELLED, RunStatus
from fairdash.runs.store import Job, JobSpec
from fairdash.storage import LOCAL, cache_folder, write_whole
from fairdash.training.lam_search import LamSearch
from fairdash.training.search import SearchResult, SettingsSearch
from fairdash.training.settings import TrainingSettings
from fairdash.utils.records import from_plain, to_plain

if TYPE_CHECKING:
    import pandas as pd

    from fairdash.auditing.data import Progress


@dataclass(frozen=True, kw_only=True)
class RepairSpec(AuditSpec):
    """Specification of a repair.

    Parameters
    ----------
    audit
        Id of the audit.
    plan
        Plan of the audit, with one sensitive attribute.
    source, created
        As in :class:`fairdash.runs.audits.AuditSpec`.
    """

    audit: str


class RepairJob(Job[RepairSpec]):
    """Stored repair."""

    folder_name: ClassVar[str] = "repairs"
    label: ClassVar[str] = "repair"
    spec_kind: ClassVar[type] = RepairSpec

    def files(self, *, progress: Progress) -> Mapping[str, bytes]:
        """Repair the price; return the figures, and the bundle with prices and model card, by name."""
        from fairdash.auditing.models.averages import repaired
        from fairdash.auditing.models.model_answers import priced
        from fairdash.auditing.table import AuditTable

        spec = self.spec
        audit = AuditJob(spec.audit, owner=spec.owner)
        frame, model = spec.source.table(owner=spec.owner), audit.model
        if model:
            frame, *_ = priced(
                frame, model["model"], columns=model["model_columns"], name=spec.plan.columns.price,
                link=model["model_link"], output=model["model_output"], check_column=model["check_column"],
            )  # fmt: skip
        table = AuditTable.of(frame, spec.plan.columns, **spec.plan.of_table)
        figures, prices = repaired(table, random_state=spec.plan.random_state, progress=progress)
        card = card_of_repair(table, spec.plan, figures, audit=spec.audit, title=spec.source.title)
        answers = kept_answers(owner=spec.owner, first=audit)
        return repair_files(figures, prices, {**card, "governance": answers})

    def figures(self) -> pd.DataFrame:
        """Read the figures by strength; RunError if they are missing or damaged."""
        import pandas as pd

        return pd.read_csv(io.BytesIO(self.read_file(REPAIR)))

    def bundle(self) -> bytes:
        """Return the zip to download; RunError if it is missing or damaged."""
        return self.read_file(BUNDLE)


def create_repair(audit: AuditJob, sensitive: str) -> RepairJob:
    """Create a repair of an audit's price along one of its sensitive attributes."""
    spec = audit.spec
    (columns,) = (each for each in spec.plan.columns.each if each.sensitive == sensitive)
    plan = replace(spec.plan, columns=columns)
    return RepairJob.create(RepairSpec(source=spec.source, plan=plan, owner=spec.owner, audit=audit.id))


def find_repair(audit: AuditJob, sensitive: str, *, owner: str = LOCAL) -> RepairJob | None:
    """Return the newest repair of an audit's price along an attribute; None if none is readable."""

    def is_it(spec: RepairSpec) -> bool:
        return (spec.audit, spec.plan.columns.sensitive) == (audit.id, sensitive)

    return newest(RepairJob, is_it, owner=owner)


@dataclass(frozen=True, kw_only=True)
class SearchSpec(JobSpec):
    """Specification of a search.

    Parameters
    ----------
    kind
        Object of the search: ``"settings"`` or ``"lam"``.
    plan
        Plan of the search.
    source, created
        As in :class:`fairdash.runs.store.JobSpec`.
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
        about = {name: getattr(result, name) for name in _PLAIN}
        about["settings"] = None if result.best is None else to_plain(result.best)
        with self._result_folder() as folder:
            write_whole(folder / "frame.parquet", result.frame.to_parquet())
            write_whole(folder / "about.json", json.dumps(about).encode())

    def read_result(self) -> SearchResult:
        """Read the stored result; RunError if it is missing or can't be read."""
        folder = self._checked()
        try:
            about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
            settings = about["settings"]
            plain = {name: about[name] for name in _PLAIN if name in about}
            return SearchResult(
                **plain | {"notes": tuple(plain["notes"])},
                frame=pd.read_parquet(folder / "frame.parquet"),
                best=None if settings is None else from_plain(TrainingSettings, settings),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self.damaged() from error


#: Fields of a result that are stored as they are.
_PLAIN = ("rule", "lam", "reached", "measure", "seconds", "device", "notes")


def create_search(
    source: DatasetSource, plan: SettingsSearch | LamSearch, *, owner: str = LOCAL
) -> SearchJob:
    """Create and queue a search."""
    kind = "lam" if isinstance(plan, LamSearch) else "settings"
    return SearchJob.create(SearchSpec(source=source, kind=kind, plan=plan, owner=owner))


_KEPT = 300


class StudyJob(Job[Study]):
    """Study in the cache."""

    folder_name: ClassVar[str] = "studies"
    label: ClassVar[str] = "background computation"
    spec_kind: ClassVar[type] = Study

    @classmethod
    def home(cls) -> Path:
        return cache_folder(cls.folder_name)

    @property
    def queue_name(self) -> str:  # type: ignore[override]
        """Queue of the study: a scene takes seconds and a user waits for it; others take longer."""
        return queue.QUICK if self.spec.kind == "scene" else queue.STUDIES

    def stored_status(self) -> RunStatus:
        """Read the stored status; an unreadable study is computed again."""
        try:
            return super().stored_status()
        except RunError:
            return RunStatus(state=CANCELLED)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the results so far, by name."""
        paths = self.folder.glob("*.parquet")
        return {path.stem: pd.read_parquet(io.BytesIO(path.read_bytes())) for path in paths}

    def save(self, name: str, table: pd.DataFrame) -> None:
        """Write a table of the results so far."""
        write_whole(self.folder / f"{name}.parquet", table.to_parquet(index=False))


def create_study(study: Study) -> StudyJob:
    """Return the study's job, queued if it is new."""
    return StudyJob.create(study, id=study.key)


def find_study(study: Study) -> StudyJob | None:
    """Return the study if someone has requested it, else None."""
    try:
        return StudyJob(study.key)
    except RunError:
        return None


def forget_the_oldest() -> None:
    """Delete the oldest studies beyond the number to keep."""
    folders = sorted(StudyJob.home().iterdir(), key=lambda folder: folder.stat().st_mtime)
    for folder in folders[:-_KEPT]:
        shutil.rmtree(folder, ignore_errors=True)
