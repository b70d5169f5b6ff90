"""The process that makes one study again: ``python -m fairdash.reproduction.worker ID``."""

from __future__ import annotations

import sys

from fairdash.reproduction.job import ReproductionJob
from fairdash.runs.worker import Reporter, lower_priority, work_at


def main(job_id: str) -> int:
    """Make the study again; the exit status is 0 if it is done."""
    return work_at(ReproductionJob(job_id), _make)


def _make(job: ReproductionJob, reporter: Reporter) -> None:
    reporter.begin("loading what it takes")
    job.carry_out(reporter.progress)


if __name__ == "__main__":
    lower_priority()
    sys.exit(main(sys.argv[1]))
