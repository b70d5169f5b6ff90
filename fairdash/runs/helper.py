"""The helper process at a run: it asks for the same units from the other end, so that no core is idle.

``python -m fairdash.runs.helper ID`` ends when whoever has started it does. Each unit is kept once, by
whichever of the two comes to it first (:class:`fairdash.jobs.checkpoints.Checkpoints`): neither changes what
is found.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fairdash.data.dataset import Dataset
from fairdash.jobs.checkpoints import Checkpoints
from fairdash.jobs.process import environment, lower_priority
from fairdash.runs.store import Run
from fairdash.training.sweep import Sweep
from fairdash.utils.error_log import trace_of
from fairdash.utils.memory import limit_memory

#: A table is in memory twice: of larger ones a run stays one process.
MOST_ROWS = 100_000
#: What a slow core trains for, at least: a process takes seconds to start.
FEWEST_SECONDS = 8.0

log = logging.getLogger("fairdash.helper")


@contextmanager
def helper_process(run: Run, dataset: Dataset, plan: Sweep) -> Iterator[None]:
    """Have a second process work at the run's units inside, where that is worth it."""
    if not _is_worth_it(dataset, plan):
        yield
        return
    process = subprocess.Popen(  # noqa: S603 (our own module)
        [sys.executable, "-m", __name__, run.id], stdin=subprocess.PIPE, env=environment()
    )
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def _is_worth_it(dataset: Dataset, plan: Sweep) -> bool:
    from fairdash.training.device import resolve_device
    from fairdash.training.models import seconds_of

    if os.environ.get("FAIRDASH_NO_STANDBY"):
        return False
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return (
        cores > 1
        and dataset.n_rows <= MOST_ROWS
        and seconds_of(plan.models(), dataset.n_rows) > FEWEST_SECONDS
        and resolve_device(plan.device).name == "cpu"
    )


def main(run_id: str) -> int:
    """Work at a run until there is nothing left; whoever carries it out finds an error by itself."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from fairdash.evaluation.execute_sweep import lend_a_hand

    limit_memory()
    run = Run(run_id)
    try:
        lend_a_hand(run.spec.load(), run.spec.plan, unit=Checkpoints(run.units, from_the_end=True))
    except Exception as error:
        # The boundary of the process.
        log.warning("the helper process at %s: %s", run_id, trace_of(error))
        return 1
    return 0


def _end_with_parent() -> None:
    """End the process when nobody holds the other end any more, however it was that they ended."""
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    lower_priority(by=5)
    sys.exit(main(sys.argv[1]))
