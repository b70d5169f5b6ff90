"""The example answers of the audit page before anything is uploaded: premiums of a GLM on pg15training.

    OMP_NUM_THREADS=1 FAIRDASH_DATA=… python -m benchmarks.audit_example

Writes ``audit.json`` into fairdash/auditing/example, from which docs/audit.md takes its numbers.
"""

from __future__ import annotations

from fairdash.auditing.audit import execute_audit
from fairdash.auditing.example import FOLDER
from fairdash.auditing.plan import AuditPlan, Columns
from fairdash.auditing.result import CONTENT
from fairdash.data.catalogue import load_dataset
from fairdash.storage import write_whole

PLAN = AuditPlan(
    columns=Columns(
        price="Premium",
        sensitive="Age",
        also=("Gender",),
        exposure="Years",
        outcome="CostPerYear",
        controls=("Bonus",),
    ),
    criterion="independence",
    max_gap=0.05,
    written="2026-11-23T00:00:00+00:00",
)


def main() -> None:
    """Run the plan and store the result."""
    origin = {"dataset": "motor_tariff", "options": {}}
    result = execute_audit(load_dataset("motor_tariff").table(), PLAN, origin=origin)
    write_whole(FOLDER / CONTENT, result.files()[CONTENT])
    for answer in result.answers:
        print(f"{answer.question}. {answer.title} {answer.text}")


if __name__ == "__main__":
    main()
