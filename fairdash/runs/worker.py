"""The process that carries out one run: ``python -m fairdash.runs.worker RUN``.

It outlives the browser and the app. It alone writes to the run's folder, apart from the cancel mark.
"""

from __future__ import annotations

import logging
import os
import secrets
import sys
import time

from filelock import Timeout

from fairdash.data.dataset import Dataset
from fairdash.errors import Cancelled, FairdashError
from fairdash.runs.store import CANCELLED, DONE, FAILED, RUNNING, Run, RunResult, RunStatus
from fairdash.traces import trace_of
from fairdash.training.sweep import SweepProgress

SECONDS_BETWEEN_REPORTS = 0.2
#: Whoever looks at the run's status takes its lock for a moment; only a worker keeps it this long.
SECONDS_FOR_THE_LOCK = 3.0
#: Share of a run's time that goes into training, for the estimate of the time left.
TRAINING_SHARE = 0.85

log = logging.getLogger("fairdash.worker")


def main(run_id: str) -> int:
    """Carry out the run called `run_id`; the exit status is 0 if it is done."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    run = Run(run_id)
    try:
        with run.lock(seconds=SECONDS_FOR_THE_LOCK):
            return _work(run)
    except Timeout:
        log.info("another worker is at this run")
        return 0


def _work(run: Run) -> int:
    reporter = _Reporter(run)
    try:
        reporter.begin("reading the data")
        spec = run.spec
        dataset = spec.source.load()
        from fairdash.api import run_sweep

        result = run_sweep(dataset, spec.plan, progress=reporter.sweep)
        reporter.begin("writing the result", fraction=1.0)
        run.write_result(
            RunResult(
                frame=result.frame,
                members=result.members,
                predictions=result.predictions,
                splits=result.splits,
                target=dataset.target.to_numpy(dtype=float),
                sensitive=dataset.sensitive,
                target_name=dataset.roles.target,
                units=_units(dataset),
                device=result.device,
                seconds=result.seconds,
                notes=result.notes,
            )
        )
        reporter.end(DONE)
        return 0
    except Cancelled:
        reporter.end(CANCELLED)
        return 1
    except FairdashError as error:
        reporter.end(FAILED, str(error))
        return 1
    except Exception as error:
        # The boundary of the process: the trace goes to the log, the user gets its number.
        error_id = secrets.token_hex(4)
        log.error("error %s: %s", error_id, trace_of(error))
        reporter.end(
            FAILED, f"Something went wrong that fairdash did not foresee; its log names it {error_id}."
        )
        return 1


def _units(dataset: Dataset) -> dict[str, str]:
    roles = dataset.roles
    return {
        column: dataset.units[column]
        for column in (roles.target, *roles.sensitive)
        if column in dataset.units
    }


def _be_modest() -> None:
    """Leave the machine usable: low priority, and one thread, since two under contention collapse."""
    import torch

    if hasattr(os, "nice"):
        os.nice(10)
    torch.set_num_threads(1)


class _Reporter:
    """Writes the run's status and curves, a few times a second, and notices the wish to cancel."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.started = time.monotonic()
        self.last = 0.0

    def begin(self, doing: str, *, fraction: float = 0.0) -> None:
        self.run.write_status(
            RunStatus(state=RUNNING, doing=doing, fraction=fraction, seconds=time.monotonic() - self.started)
        )

    def end(self, state: str, message: str = "") -> None:
        seconds = time.monotonic() - self.started
        self.run.write_status(RunStatus(state=state, fraction=1.0, seconds=seconds, message=message))

    def sweep(self, progress: SweepProgress) -> None:
        if progress.curve is not None:
            self.run.add_curve(progress.curve)
        now = time.monotonic()
        if now - self.last < SECONDS_BETWEEN_REPORTS:
            return
        self.last = now
        if self.run.is_cancelled():
            raise Cancelled
        if progress.phase == "training":
            doing, fraction = "training", TRAINING_SHARE * progress.fraction
        else:
            doing, fraction = "measuring", TRAINING_SHARE + (1 - TRAINING_SHARE) * progress.fraction
        seconds = now - self.started
        self.run.write_status(
            RunStatus(
                state=RUNNING,
                doing=doing,
                fraction=fraction,
                seconds=seconds,
                seconds_left=seconds * (1 - fraction) / fraction if fraction > 0.02 else None,
            )
        )


if __name__ == "__main__":
    _be_modest()
    sys.exit(main(sys.argv[1]))
