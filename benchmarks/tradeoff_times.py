"""Response times of the trade-off page: moves of λ, on the server and in the browser, and the first front.

    python -m benchmarks.tradeoff_times [--datasets crime motor] [--moves 40] [--only moves|first]

Moves: a run of 8 λ × 5 splits is opened (two epochs, because times do not depend on how well a model was
trained), and the slider moves one position at a time. "Server" is the script run under Streamlit's test
runner; "browser" is the time from the key press to the frame with a new answer, in a Chromium browser
connected to a server (figures follow at once: `benchmarks.stage_frames`). First front: the time from a click
on "See what fairness costs" on the data page, with roles set, to the front in the browser. Needs
FAIRDASH_DATA and Chromium.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
CHROMIUM = os.environ.get("FAIRDASH_CHROMIUM", "/usr/bin/chromium")

#: Resolves with the milliseconds from now until the page's text changes.
WATCH = """
() => {
    const said = () => [...document.querySelectorAll(
        '[data-testid=stMarkdown], [data-testid=stCaptionContainer]')].map(each => each.textContent).join();
    const before = said(), started = performance.now();
    window.moved = new Promise(resolve => {
        const look = () => {
            const now = said();
            if (now && now !== before) requestAnimationFrame(() => resolve(performance.now() - started));
            else requestAnimationFrame(look);
        };
        look();
    });
}
"""
#: Returns whether the component has drawn the front.
DRAWN = """
() => [...document.querySelectorAll('*')].some(
    each => each.shadowRoot?.querySelector('.stage')?.stage?.drawn()['What fairness costs'])
"""

TRAIN = """
import sys
from fairdash.training.defaults import LAMS
from fairdash.data.source import CatalogueSource
from fairdash.runs import worker
from fairdash.runs.store import create_run
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep
plan = Sweep(methods=("standard", "hgr_spline"), lams=LAMS, n_splits=5, validation_share=0.2,
             settings=TrainingSettings(n_epochs=2, warm_up_epochs=1))
run = create_run(CatalogueSource(dataset=sys.argv[1]), plan)
assert worker.main(run.id) == 0
print(run.id)
"""

SERVER = """
import json, sys, time
from pathlib import Path
from streamlit.testing.v1 import AppTest
run, moves, root = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
at = AppTest.from_file(str(root / "fairdash" / "ui" / "main.py"), default_timeout=300).run()
at.query_params["run"] = run
at = at.switch_page(str(root / "pages" / "work" / "tradeoff.py")).run()
(stage,) = at.get("bidi_component")
options = json.loads(stage.proto.json)["slider"]["stops"]
for k in range(moves):
    lam = options[1 + (7 * k) % (len(options) - 1)]
    at.query_params["lam"] = lam
    started = time.perf_counter()
    at = at.run()
    print(1e3 * (time.perf_counter() - started))
assert not at.exception
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=["crime", "motor"])
    parser.add_argument("--moves", type=int, default=40)
    parser.add_argument("--only", choices=["moves", "first"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        if options.only != "first":
            print("data set | where   | median, ms | p95, ms | moves")
            for dataset in options.datasets:
                run = _program(TRAIN, dataset, home=home)[-1]
                server = _program(SERVER, run, str(options.moves), str(ROOT), home=home)
                _print(dataset, "server", [float(line) for line in server])
                _print(dataset, "browser", browser_moves(run, options.moves, home=home))
        if options.only != "moves":
            for attempt in range(3):
                seconds = first_front(home=home / f"first-{attempt}")
                print(f"crime, roles set to first front drawn: {seconds:.1f} s")


def browser_moves(run: str, moves: int, *, home: Path) -> list[float]:
    """Milliseconds from key press to redrawn front, one value per move."""
    with _app(home) as address, _page() as page:
        page.goto(f"{address}/tradeoff?run={run}")
        slider = page.get_by_role("slider", name="Weight of fairness")
        slider.wait_for()
        page.wait_for_function(DRAWN)
        page.wait_for_timeout(1500)
        slider.focus()
        times = []
        for k in range(moves):
            page.evaluate(WATCH)
            slider.press("ArrowRight" if k % 40 < 30 else "ArrowLeft")
            times.append(float(page.evaluate("() => window.moved")))
            page.wait_for_timeout(150)
        return times


def first_front(*, home: Path) -> float:
    """Seconds from leaving the data page, with roles set, to the first front in the browser."""
    with _app(home) as address, _page() as page:
        page.goto(f"{address}/data")
        page.get_by_text("Communities and Crime", exact=True).first.click()
        page.get_by_role("heading", name="Communities and Crime").wait_for()
        page.wait_for_timeout(8000)  # wait for the ranking of proxies, which runs first
        started = time.monotonic()
        page.get_by_role("button", name="See what fairness costs").click()
        page.wait_for_function(DRAWN)
        seconds = time.monotonic() - started
        # The sweep that follows the preview would slow down the next attempt.
        for run in (home / "runs").iterdir():
            (run / "cancel").touch()
        page.get_by_text("What should have followed was not finished").wait_for()
        return seconds


def _print(dataset: str, where: str, times: list[float]) -> None:
    median, p95 = np.quantile(times, [0.5, 0.95])
    print(f"{dataset:>8} | {where:<7} | {median:>10.0f} | {p95:>7.0f} | {len(times)}", flush=True)


def _program(program: str, *arguments: str, home: Path) -> list[str]:
    """Lines printed by a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | {"FAIRDASH_HOME": str(home), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.strip().splitlines()


@contextmanager
def _app(home: Path) -> Iterator[str]:
    """Address of the app, started as a user starts it."""
    from tests.serving import served

    home.parent.mkdir(parents=True, exist_ok=True)
    with served(home) as address:
        yield address


@contextmanager
def _page() -> Iterator:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.set_default_timeout(120_000)
        yield page
        browser.close()


if __name__ == "__main__":
    main()
