"""A second process at a run: it finds what the first would have, and does not outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from fairdash.evaluation.result import SweepResult
from fairdash.jobs.steps import Checkpoints, Found
from fairdash.runs import worker
from fairdash.runs.store import create_run
from tests.jobs.test_lanes import LONGER, assert_equal, processes, source, undisturbed, units
from tests.runs.test_runs import ENDLESS, SOURCE
from tests.serving import until

__all__ = ["undisturbed"]

pytestmark = pytest.mark.processes
MODULE = "fairdash.runs.worker"
#: A process that has another one beside it until it is killed.
FIRST = """
import sys, time
from fairdash.runs import worker
from fairdash.runs.store import Run
worker.MIN_SECONDS = -1.0
run = Run(sys.argv[1])
with worker.helper_process(run, run.spec.source.load(), run.spec.plan):
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is one."""
    monkeypatch.delenv("FAIRDASH_NO_STANDBY")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(worker, "MIN_SECONDS", -1.0)


# What units that are known come to is held by runs/test_resumed.py, and that the second ends by the test below.
@pytest.mark.variant
def test_two_processes_at_a_run_find_what_one_finds(undisturbed: SweepResult) -> None:
    run = create_run(source(), LONGER)
    with worker.helper_process(run, run.spec.load(), LONGER):
        until(lambda: len(units(run)) >= 3)
    assert not processes(MODULE), "it ends with what it was started for"
    unit, computed, asked = Checkpoints(run.units), [], []

    def counted(name: str, compute: Callable[[], Found], /) -> Found:
        asked.append(name)
        return unit(name, lambda: computed.append(name) or compute())

    assert worker.main(run.id, unit=counted) == 0
    # The last may have been killed before its name was kept.
    assert len(asked) - len(computed) >= 2, "what the second has found is not computed again"
    assert_equal(run.read_result(), undisturbed)
    assert not processes(MODULE)


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="one core"
)
def test_a_second_process_ends_where_the_first_is_killed() -> None:
    run = create_run(SOURCE, ENDLESS)
    first = subprocess.Popen([sys.executable, "-c", FIRST, run.id])
    until(lambda: processes(MODULE))
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    until(lambda: not processes(MODULE))
