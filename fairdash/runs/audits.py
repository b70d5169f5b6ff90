"""Audits in the store: what a price that already exists was asked, and what was found.

<home>/audits/<id>/spec.json   which table, which columns, and which gap is allowed: fixed before results
<home>/audits/<id>/result/     what was found, as :meth:`fairdash.AuditResult.save` writes it

The other files are a run's; see :mod:`fairdash.runs.store`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.plan import AuditPlan
from fairdash.data.source import CatalogueSource, DatasetSource, UploadSource
from fairdash.errors import StorageError
from fairdash.runs.store import Job, JobSpec
from fairdash.storage import LOCAL
from fairdash.utils.records import to_plain


@dataclass(frozen=True, kw_only=True)
class AuditSpec(JobSpec):
    """What an audit has to do.

    Parameters
    ----------
    plan
        Which columns are what, the primary criterion and the thresholds.
    source, created
        As in :class:`fairdash.runs.store.JobSpec`; of the source only its table matters, not its roles.
    """

    plan: AuditPlan


class AuditJob(Job[AuditSpec]):
    """One audit in the store."""

    folder_name: ClassVar[str] = "audits"
    label: ClassVar[str] = "audit"
    spec_kind: ClassVar[type] = AuditSpec

    def write_result(self, result: AuditResult) -> None:
        """Keep the result: all of it or nothing."""
        with self._result_folder() as folder:
            result.save(folder)

    def read_result(self) -> AuditResult:
        """The kept result; RunError if it is not there or can't be read."""
        folder = self._checked()
        try:
            return AuditResult.load(folder)
        except StorageError as error:
            raise self._damaged() from error


def create_audit(source: DatasetSource, plan: AuditPlan, *, owner: str = LOCAL) -> AuditJob:
    """A new audit, queued; nobody works at it yet. From now on its plan is written down."""
    spec = AuditSpec(source=source, plan=plan, owner=owner)
    return AuditJob.create(replace(spec, plan=replace(plan, written=plan.written or spec.created)))


def origin_of(source: DatasetSource) -> dict[str, Any]:
    """Where an audit's table came from, as its evidence says it."""
    if isinstance(source, UploadSource):
        return {"sha256": source.sha256, "reading": to_plain(source.reading)}
    assert isinstance(source, CatalogueSource)
    return {"dataset": source.dataset, "options": dict(source.options)}
