"""Storage of repairs of audited prices.

<home>/repairs/<id>/spec.json   the audit whose price is repaired, and the sensitive attribute
<home>/repairs/<id>/result/     the results for each strength of the repair, and the zip file to download

The other files are those of a run; see :mod:`fairdash.runs.store`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from fairdash.runs.audits import AuditJob, AuditSpec
from fairdash.runs.bundle import BUNDLE, REPAIR, card_of_repair, repair_files
from fairdash.runs.listing import newest, stored_answers
from fairdash.runs.store import Job
from fairdash.storage import LOCAL

if TYPE_CHECKING:
    from fairdash.auditing.data import Progress


@dataclass(frozen=True, kw_only=True)
class RepairSpec(AuditSpec):
    """Specification of a repair.

    Parameters
    ----------
    audit
        Id of the audit whose price is repaired.
    plan
        Plan of the audit, restricted to one sensitive attribute.
    source, created
        Same meaning as in :class:`fairdash.runs.audits.AuditSpec`.
    """

    audit: str


class RepairJob(Job[RepairSpec]):
    """Stored repair."""

    folder_name: ClassVar[str] = "repairs"
    label: ClassVar[str] = "repair"
    spec_kind: ClassVar[type] = RepairSpec

    def files(self, *, progress: Progress) -> Mapping[str, bytes]:
        """Repair the price. Return the results and the zip file (prices and model card), by file name."""
        from fairdash.auditing.models.averages import repair_price
        from fairdash.auditing.models.model_answers import with_model_price
        from fairdash.auditing.table import AuditTable

        spec = self.spec
        audit = AuditJob(spec.audit, owner=spec.owner)
        frame, model = spec.source.table(owner=spec.owner), audit.model
        if model:
            frame, *_ = with_model_price(
                frame, model["model"], columns=model["model_columns"], name=spec.plan.columns.price,
                link=model["model_link"], output=model["model_output"], check_column=model["check_column"],
            )  # fmt: skip
        table = AuditTable.of(frame, spec.plan.columns, **spec.plan.of_table)
        figures, prices = repair_price(table, random_state=spec.plan.random_state, progress=progress)
        card = card_of_repair(table, spec.plan, figures, audit=spec.audit, title=spec.source.title)
        answers = stored_answers(owner=spec.owner, first=audit)
        return repair_files(figures, prices, {**card, "governance": answers})

    def figures(self) -> pd.DataFrame:
        """Return the results for each repair strength; raise a RunError if they are missing or damaged."""
        return pd.read_csv(io.BytesIO(self.read_file(REPAIR)))

    def bundle(self) -> bytes:
        """Return the zip file to download; raise a RunError if it is missing or damaged."""
        return self.read_file(BUNDLE)


def create_repair(audit: AuditJob, sensitive: str) -> RepairJob:
    """Create a repair of an audited price for one of the audit's sensitive attributes."""
    spec = audit.spec
    (columns,) = (columns for columns in spec.plan.columns.each if columns.sensitive == sensitive)
    plan = replace(spec.plan, columns=columns)
    return RepairJob.create(RepairSpec(source=spec.source, plan=plan, owner=spec.owner, audit=audit.id))


def find_repair(audit: AuditJob, sensitive: str, *, owner: str = LOCAL) -> RepairJob | None:
    """Return the newest readable repair of an audited price for an attribute, or None."""
    point = audit.id, sensitive
    return newest(RepairJob, lambda spec: (spec.audit, spec.plan.columns.sensitive) == point, owner=owner)
