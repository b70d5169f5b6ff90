"""The process that makes one study again: ``python -m fairdash.reproduction.worker ID``."""

from __future__ import annotations

import sys

from fairdash.reproduction.again import AgainJob
from fairdash.runs.worker import Reporter, be_modest, work_at


def main(job_id: str) -> int:
    """Make the study again; the exit status is 0 if it is done."""
    return work_at(AgainJob(job_id), _make)


def _make(job: AgainJob, reporter: Reporter) -> None:
    reporter.begin("loading what it takes")
    job.carry_out(reporter.tell)


if __name__ == "__main__":
    be_modest()
    sys.exit(main(sys.argv[1]))
