"""Server time of the pages: the first one with nothing cached, and a slider move.

    python -m benchmarks.page_times [--moves 40]

Each page runs in a fresh process under Streamlit's own test runner, on the household data; times are
those of the script run (imports of fairdash included, Streamlit itself being loaded already, as in a
server). A slider move is timed on a finished run of 8 λ × 5 splits.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent

FIRST = """
import sys, time
from streamlit.testing.v1 import AppTest
at = AppTest.from_file({main!r}, default_timeout=120)
started = time.perf_counter()
at.run()
home = time.perf_counter() - started
started = time.perf_counter()
if {page!r} != "home":
    at.switch_page({script!r}).run()
assert not at.exception and not at.error, at.error
print(f"{page:>9} | {{1e3 * home:>9.0f}} | {{1e3 * (time.perf_counter() - started):>9.0f}} | "
      f"{{'yes' if 'torch' in sys.modules else 'no'}}")
"""

MOVES = """
import time, statistics
from fairdash.api import DEFAULT_LAMS
from fairdash.data.source import CatalogueSource
from fairdash.runs import worker
from fairdash.runs.store import create_run
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep
from streamlit.testing.v1 import AppTest
import subprocess, sys
plan = Sweep(lams=DEFAULT_LAMS, n_splits=5, settings=TrainingSettings(n_epochs=4, warm_up_epochs=1))
run = create_run(CatalogueSource(dataset="household"), plan)
subprocess.run([sys.executable, "-m", "fairdash.runs.worker", run.id], check=True)
at = AppTest.from_file({main!r}, default_timeout=120).run()
at.query_params["run"] = run.id
at.switch_page({script!r}).run()
times = []
for k in range({moves}):
    slider = at.select_slider[0]
    started = time.perf_counter()
    at = slider.set_value(DEFAULT_LAMS[k % 8]).run()
    times.append(1e3 * (time.perf_counter() - started))
times.sort()
print(f"slider move, ms: median {{statistics.median(times):.0f}}, p95 {{times[int(0.95 * len(times))]:.0f}}, "
      f"of {{len(times)}}")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"FAIRDASH_HOME": home, "PYTHONPATH": str(ROOT)}
        main_script = str(ROOT / "fairdash" / "ui" / "main.py")
        print("     page | first, ms |  page, ms | torch loaded")
        for page in ("home", "data", "train", "tradeoff"):
            script = str(ROOT / "pages" / "work" / f"{page}.py")
            run(FIRST.format(main=main_script, page=page, script=script), environment)
        script = str(ROOT / "pages" / "work" / "tradeoff.py")
        run(MOVES.format(main=main_script, script=script, moves=options.moves), environment)


def run(program: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    print(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
