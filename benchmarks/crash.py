"""Kill the app's worker, its children and the app at random moments; nothing finished may be lost or altered.

    python -m benchmarks.crash --kills 300

Prints a row a kind of kill. A short form is in tests/jobs/test_lanes.py.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd

#: How a moment is chosen: at any time, as a unit is being written, or as the result is.
MOMENTS = ("any time", "a unit's write", "the result's write")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"FAIRDASH_HOME": folder, "FAIRDASH_NO_STANDBY": "1", "OMP_NUM_THREADS": "1"}
        table = study(options.kills, random.Random(options.seed))
    print(table.to_string())


def study(kills: int, rng: random.Random) -> pd.DataFrame:
    """Carry runs out under fire until there were so many kills; a row a moment."""
    from fairdash.jobs import engine
    from fairdash.runs import worker
    from fairdash.runs.launch import start_run
    from fairdash.runs.store import DONE, create_run
    from tests.jobs.test_lanes import LONGER, assert_equal, units
    from tests.runs.test_runs import SOURCE

    undisturbed = create_run(SOURCE, LONGER)
    assert worker.main(undisturbed.id) == 0
    expected, rows, done = undisturbed.read_result(), [], 0
    finished = {undisturbed.id: _hashes(undisturbed.folder / "result")}
    while done < kills:
        run = start_run(SOURCE, replace(LONGER, device="cpu"), owner=f"{done}")
        deaths = 0
        while not run.status.is_over:
            engine.see_to_all()
            if done >= kills or deaths >= 15:
                time.sleep(0.2)
                continue
            moment = rng.choice(MOMENTS)
            begun, at = time.monotonic(), units(run)
            before = len(at)
            if not _wait_for(run, moment, rng):
                continue
            kept = units(run)
            killed = _kill()
            if not killed:
                continue
            done, deaths = done + 1, deaths + 1
            lost = [name for name in kept if name not in units(run)]
            rows.append(
                {
                    "moment": moment,
                    "killed": 1,
                    "units before": len(kept) - before,
                    "finished units lost": 0 if (run.folder / "result").is_dir() else len(lost),
                    "orphans": len(_processes()),
                    "seconds to go on": _seconds_to_go_on(run, begun),
                }
            )
        assert run.status.state == DONE, run.status
        assert_equal(run.read_result(), expected)
        finished[run.id] = _hashes(run.folder / "result")
        for id, hashes in finished.items():
            assert _hashes(run.folder.parent / id / "result") == hashes, f"{id} was altered"
        print(f"{done} kills, {len(finished) - 1} runs whole and equal", file=sys.stderr, flush=True)
    table = pd.DataFrame(rows).groupby("moment").agg(
        kills=("killed", "sum"),
        lost=("finished units lost", "sum"),
        orphans=("orphans", "sum"),
        median=("seconds to go on", "median"),
        most=("seconds to go on", "max"),
    )
    return table.rename(columns={"median": "seconds to go on, median", "most": "most"})
