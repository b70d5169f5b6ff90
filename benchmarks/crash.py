"""Kill the process of a run at random moments: no finished step may be lost or changed, no orphan may remain.

    python -m benchmarks.crash --kills 300

Each run is killed up to a dozen times and then compared, value by value, with an undisturbed run. Prints one
row per moment of the kill. tests/jobs/test_queues.py has a short version.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd
from streamlit.proto.BackMsg_pb2 import BackMsg

from fairdash.jobs.cancellation import is_at_work
from fairdash.storage import data_folder
from tests.serving import MAKE_APP, wait_until_up
from tests.websocket import session

if TYPE_CHECKING:
    from fairdash.runs.store import Run

#: A job is given up after its process has died twenty times (fairdash/cli/worker.py).
DEATHS_A_RUN = 12
SECONDS = 120.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"FAIRDASH_HOME": folder, "FAIRDASH_NO_STANDBY": "1", "OMP_NUM_THREADS": "1"}
        print(study(options.kills, random.Random(options.seed)).to_string())


def study(kills: int, rng: random.Random) -> pd.DataFrame:
    """Kill running jobs until the given number of kills is reached; one row per moment."""
    from fairdash.jobs import queue
    from fairdash.runs import worker
    from fairdash.runs.launch import start_run
    from fairdash.runs.state import DONE
    from fairdash.runs.store import Run, create_run
    from fairdash.storage.bundle import check
    from tests.jobs.test_queues import LONGER, assert_same, kill, processes, units
    from tests.runs.test_runs import SOURCE

    undisturbed = create_run(SOURCE, LONGER)
    assert worker.main(undisturbed.id) == 0
    expected, whole, rows = undisturbed.read_result(), [undisturbed.id], []
    while len(rows) < kills:
        # Use a separate owner, because otherwise the previous run would be reused.
        run = start_run(SOURCE, LONGER, owner=str(len(rows)))
        for _ in range(min(DEATHS_A_RUN, kills - len(rows))):
            _until(lambda run=run: is_at_work(run.folder) or run.status.is_over)
            moment = rng.choice(list(MOMENTS))
            if not MOMENTS[moment](run, rng):
                break
            before = units(run)
            kill(queue.LONG)
            # Stored steps are deleted when the result exists.
            lost = 0 if (run.folder / "result").is_dir() else len(before.keys() - units(run).keys())
            orphans, begun = len(processes(queue.LONG)), time.monotonic()
            queue.ensure_workers()
            _until(lambda run=run: is_at_work(run.folder) or run.status.is_over)
            rows.append((moment, 1, lost, orphans, time.monotonic() - begun))
        _until(lambda run=run: run.status.is_over)
        assert run.status.state == DONE, run.status
        assert_same(run.read_result(), expected)
        whole.append(run.id)
        for id in whole:
            check(Run(id).folder / "result")
        print(f"{len(rows)} kills, {len(whole) - 1} runs whole and equal", file=sys.stderr, flush=True)
    table = pd.DataFrame(rows, columns=["moment", "kills", "units lost", "orphans", "seconds to go on"])
    how = {"kills": "sum", "units lost": "sum", "orphans": "sum", "seconds to go on": ["median", "max"]}
    return table.groupby("moment").agg(how).round(1)


def _any_time(run: Run, rng: random.Random) -> bool:
    time.sleep(rng.uniform(0.0, 3.0))
    return is_at_work(run.folder)


def _a_page_is_open(run: Run, _: random.Random) -> bool:
    """All processes of the app are killed while a page is open, and the worker right after."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = data_folder("app.log")
    with log.open("wb") as out:
        app = subprocess.Popen(
            [sys.executable, *MAKE_APP, str(port)], stdout=out, stderr=out, start_new_session=True
        )
    wait_until_up(f"http://127.0.0.1:{port}", app, log)
    wish = BackMsg()
    wish.rerun_script.page_name = "tradeoff"
    wish.rerun_script.query_string = f"run={run.id}"
    with session(f"http://127.0.0.1:{port}") as connection:
        connection.send(wish.SerializeToString())
        connection.recv()
        os.killpg(app.pid, signal.SIGKILL)
    app.wait()
    return is_at_work(run.folder)


def _write_of_a_unit(run: Run, _: random.Random) -> bool:
    _until(lambda: any(run.units.glob(".*.part")) or not is_at_work(run.folder))
    return is_at_work(run.folder)


def _write_of_the_result(run: Run, _: random.Random) -> bool:
    _until(lambda: any(run.folder.glob(".result*")) or not is_at_work(run.folder), seconds=300)
    return is_at_work(run.folder)


MOMENTS: dict[str, Callable[[Run, random.Random], bool]] = {
    "any time": _any_time,
    "a page is open": _a_page_is_open,
    "a unit is written": _write_of_a_unit,
    "the result is written": _write_of_the_result,
}


def _until(holds: Callable[[], object], *, seconds: float = SECONDS) -> None:
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > seconds:
            raise TimeoutError
        time.sleep(0.001)


if __name__ == "__main__":
    main()
