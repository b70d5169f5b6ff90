"""Many users at once: ten open new data together; twenty move the slider while a sweep runs.

    python -m benchmarks.sessions [--seconds 60]

Each user is a websocket to the app as `make app` serves it, and moves the slider about every three seconds.
Prints the number of runs that the ten users have started, and the seconds from a move to the end of the
page's script run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection

from tests.serving import served
from tests.websocket import complaints, session, until_run

SECONDS_BETWEEN_MOVES = 3.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder, "home")
        os.environ |= {"FAIRDASH_HOME": str(home), "OMP_NUM_THREADS": "1"}
        print(f"ten sessions on new data: {ten_open_new_data(home)} run(s)", flush=True)
        times, errors = twenty_move_the_slider(home, options.seconds)
        median, p95 = np.quantile(times, [0.5, 0.95])
        print(f"twenty sessions while a sweep runs: {len(times)} moves, {errors} with an error")
        print(f"median {median:.2f} s, p95 {p95:.2f} s, most {max(times):.2f} s")


def ten_open_new_data(home: Path) -> int:
    """Number of runs that start when ten sessions open the same new data on the trade-off page at once."""
    from fairdash.data.source import CatalogueSource, save_source
    from fairdash.runs.launch import cancel
    from fairdash.runs.listing import list_runs

    dataset = save_source(CatalogueSource(dataset="household", options={"n": 700}))

    def visit(_: int) -> None:
        with session(address) as connection:
            assert not complaints(open_trade_off(connection, f"dataset={dataset}"))

    with served(home) as address, ThreadPoolExecutor(10) as people:
        list(people.map(visit, range(10)))
        runs = list_runs().runs
        for run in runs:
            cancel(run)
    return len(runs)


def twenty_move_the_slider(home: Path, seconds: float) -> tuple[list[float], int]:
    """Seconds of every move, and number of errors, while a sweep of minutes is running."""
    from fairdash.data.source import CatalogueSource
    from fairdash.runs import worker
    from fairdash.runs.launch import cancel, start_run
    from fairdash.runs.store import create_run
    from fairdash.training.settings import TrainingSettings
    from fairdash.training.sweep import Sweep

    source = CatalogueSource(dataset="household")
    few = TrainingSettings(n_epochs=2, warm_up_epochs=1)
    plan = Sweep(methods=("standard", "hgr_spline"), lams=(0.5, 1.0, 2.0, 4.0), n_splits=5, settings=few)
    run = create_run(source, plan)
    if worker.main(run.id):
        sys.exit(run.status.message)
    query = f"run={run.id}"

    def visit(k: int) -> tuple[list[float], int]:
        rng, times, errors = random.Random(k), [], 0
        with session(address) as connection:
            said = open_trade_off(connection, query)
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                time.sleep(rng.uniform(0.0, 2 * SECONDS_BETWEEN_MOVES))
                begun = time.perf_counter()
                connection.send(a_move(said, query, rng).SerializeToString())
                answer = until_run(connection)
                times.append(time.perf_counter() - begun)
                errors += bool(complaints(answer)) or not any(
                    each.delta.new_element.HasField("bidi_component") for each in answer
                )
        return times, errors

    with served(home) as address, ThreadPoolExecutor(20) as people:
        at_work = start_run(source, Sweep(lams=(1.0,), settings=TrainingSettings(n_epochs=5000)))
        visits = list(people.map(visit, range(20)))
        cancel(at_work)
    return [each for times, _ in visits for each in times], sum(errors for _, errors in visits)


def open_trade_off(connection: ClientConnection, query: str) -> list[ForwardMsg]:
    """All messages of the server for the trade-off page at an address."""
    wish = BackMsg()
    wish.rerun_script.page_name = "tradeoff"
    wish.rerun_script.query_string = query
    connection.send(wish.SerializeToString())
    return until_run(connection)


def a_move(said: list[ForwardMsg], query: str, rng: random.Random) -> BackMsg:
    """The message that requests another λ, based on the page's messages."""
    (shown,) = (
        each.delta.new_element.bidi_component
        for each in said
        if each.delta.new_element.HasField("bidi_component")
    )
    (place,) = (each.navigation for each in said if each.WhichOneof("type") == "navigation")
    wish = BackMsg()
    wish.rerun_script.page_script_hash = place.page_script_hash
    lam = rng.choice(json.loads(shown.json)["slider"]["stops"])
    wish.rerun_script.query_string = f"{query}&lam={lam}"
    return wish


if __name__ == "__main__":
    main()
