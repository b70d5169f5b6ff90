"""Making one study again, in whatever process has taken it (:mod:`fairdash.worker`)."""

from __future__ import annotations

from fairdash.reproduction.job import ReproductionJob
from fairdash.runs.worker import Reporter, work_at
from fairdash.units import Unit


def main(job_id: str) -> int:
    """Make the study again; the exit status is 0 if it is done."""
    return work_at(ReproductionJob(job_id), _make)


def _make(job: ReproductionJob, reporter: Reporter, _: Unit) -> None:
    reporter.begin("loading what it takes")
    job.carry_out(reporter.progress)
