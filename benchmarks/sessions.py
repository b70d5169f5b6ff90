"""Many people at once: ten open new data together; twenty move the slider while a sweep runs.

    python -m benchmarks.sessions [--seconds 60]

Sessions are Streamlit's own test runner, a thread each in one process, as a server has them; each moves its
slider every three seconds. Prints how many runs the ten have started, and the seconds of a rerun.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
SECONDS_BETWEEN_MOVES = 3.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"FAIRDASH_HOME": folder, "OMP_NUM_THREADS": "1"}
        print(f"ten sessions on new data: {ten_open_new_data()} run(s)", flush=True)
        times, errors = twenty_move_the_slider(options.seconds)
        median, p95 = np.quantile(times, [0.5, 0.95])
        print(f"twenty sessions while a sweep runs: {len(times)} reruns, {errors} with an error")
        print(f"median {median:.2f} s, p95 {p95:.2f} s, most {max(times):.2f} s")


def ten_open_new_data() -> int:
    """How many runs ten sessions start that open the same new data on the trade-off page at once."""
    from fairdash.data.source import CatalogueSource, save_source
    from fairdash.runs.listing import list_runs

    dataset = save_source(CatalogueSource(dataset="household", options={"n": 700}))
    _all_at_once(10, lambda _: _trade_off(dataset=dataset))
    runs = list_runs().runs
    for run in runs:
        run.ask_to_cancel()
    return len(runs)


def twenty_move_the_slider(seconds: float) -> tuple[list[float], int]:
    """Seconds of every rerun, and how many ended in an error, while a sweep of minutes is at work."""
    from fairdash.data.source import CatalogueSource
    from fairdash.runs import worker
    from fairdash.runs.launch import start_run
    from fairdash.runs.store import create_run
    from fairdash.training.settings import TrainingSettings
    from fairdash.training.sweep import Sweep

    source = CatalogueSource(dataset="household")
    few = TrainingSettings(n_epochs=2, warm_up_epochs=1)
    plan = Sweep(methods=("standard", "hgr_spline"), lams=(0.5, 1.0, 2.0, 4.0), n_splits=5, settings=few)
    run = create_run(source, plan)
    if worker.main(run.id):
        sys.exit(run.status.message)
    at_work = start_run(source, Sweep(lams=(1.0,), settings=TrainingSettings(n_epochs=5000)))
    times: list[float] = []
    errors: list[str] = []

    def session(k: int) -> None:
        rng, at = random.Random(k), _trade_off(run=run.id)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(rng.uniform(0.0, 2 * SECONDS_BETWEEN_MOVES))
            slider = at.select_slider(key="lam")
            slider = slider.set_value(float(rng.choice(slider.options)))
            begun = time.perf_counter()
            at = slider.run()
            times.append(time.perf_counter() - begun)
            errors.extend(str(each.value) for each in (*at.exception, *at.error))

    _all_at_once(20, session)
    at_work.ask_to_cancel()
    return times, len(errors)


def _trade_off(**address: str) -> Any:
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_file(str(ROOT / "fairdash" / "ui" / "main.py"), default_timeout=300).run()
    for name, value in address.items():
        at.query_params[name] = value
    return at.switch_page(str(ROOT / "pages" / "work" / "tradeoff.py")).run()


def _all_at_once(n: int, work: Callable[[int], object]) -> None:
    threads = [threading.Thread(target=work, args=(k,)) for k in range(n)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


if __name__ == "__main__":
    main()
