"""CPU seconds of each part of a refined run with the page's defaults, and of its first front.

    python -m benchmarks.parts_of_a_run [crime household …] [--label now] [--steps]

Runs each table in a separate process with one thread, and writes the seconds of the label to
results/parts_of_a_run.csv. Real tables need FAIRDASH_DATA. With `--steps` it prints the steps of the parts
instead. With a PYTHONPATH to another version of fairdash, this file measures that version.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Start before importing fairdash, because the import is a measured part.
START = time.process_time()
RESULTS = Path(__file__).parent / "results" / "parts_of_a_run.csv"
TABLES = ("crime", "household", "counties", "freMPL1", "pg15training")
PARTS = ("start", "reading", "pilot", "networks", "adversary", "references", "measuring", "storing", "rest")
#: First parts of step names; training of fair networks is split into networks and adversaries.
OF_STEPS = {
    "pilot": "pilot",
    "tuning": "networks",
    "train": "networks",
    "set-aside": "networks",
    "references": "references",
    "baselines": "references",
    "tariffs": "references",
    "assess": "measuring",
    "assess-baselines": "measuring",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--label", default="now")
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--splits", type=int, help="splits of the refined run; by default the page's")
    parser.add_argument("--one", choices=("first", "refined"), help="measure in this process, and print")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.tables[0], options.splits, is_preview=options.one == "first")))
        return
    import pandas as pd

    from fairdash.jobs.process import ONE_THREAD

    found = []
    for table in options.tables:
        for run in ("first", "refined"):
            command = [sys.executable, "-m", "benchmarks.parts_of_a_run", table, "--one", run]
            command += [] if options.splits is None else ["--splits", str(options.splits)]
            told = subprocess.run(
                command, env=os.environ | ONE_THREAD, check=True, text=True, stdout=subprocess.PIPE
            )
            steps = json.loads(told.stdout)
            if options.steps:
                print(table, run, *(f"{seconds:8.2f} {name}" for name, seconds in steps.items()), sep="\n")
            of_parts = dict.fromkeys(PARTS, 0.0)
            for name, seconds in steps.items():
                first = name.split("/")[0]
                of_parts[OF_STEPS.get(first, first)] += seconds
            print(table, run, {part: round(seconds, 2) for part, seconds in of_parts.items()}, flush=True)
            own = {"label": options.label, "table": table, "run": run, "splits": options.splits or "page"}
            found += [own | {"part": part, "seconds": round(each, 2)} for part, each in of_parts.items()]
    if not options.steps:
        kept = [pd.read_csv(RESULTS)] if RESULTS.exists() else []
        rows = pd.concat([*kept, pd.DataFrame(found)])
        rows.drop_duplicates(["label", "table", "run", "splits", "part"], keep="last").to_csv(
            RESULTS, index=False
        )


def measured(table: str, n_splits: int | None, *, is_preview: bool) -> dict[str, float]:
    """CPU seconds of each step, or of a part without steps."""
    import torch

    import fairdash  # noqa: F401
    from fairdash.evaluation.execute_sweep import execute_sweep
    from fairdash.runs.result import write_result
    from fairdash.training.defaults import share_of_rows
    from fairdash.training.minimax import MinimaxTrainer
    from fairdash.training.sweep import default_plan, preview_of

    torch.set_num_threads(1)
    seconds: defaultdict[str, float] = defaultdict(float)
    seconds["start"] = time.process_time() - START
    open_: list[float] = []

    def timed(name: str, compute: Callable[[], Any]) -> Any:
        """The result of a call, whose time counts for the innermost name."""
        begun = time.process_time()
        open_.append(0.0)
        try:
            return compute()
        finally:
            took = time.process_time() - begun
            seconds[name] += took - open_.pop()
            if open_:
                open_[-1] += took

    def run_step(name: str, compute: Callable[[], Any], /) -> Any:
        words = name.split("/")
        return timed("/".join(words[: 3 if words[0] in ("references", "assess") else 2]), compute)

    play = MinimaxTrainer._step_adversaries

    def played(self: Any, u: Any, batch: Any) -> Any:
        return timed("adversary", lambda: play(self, u, batch))

    MinimaxTrainer._step_adversaries = played  # type: ignore[method-assign]
    dataset = timed("reading", lambda: load(table))
    plan = default_plan(dataset, device="cpu", n_splits=n_splits)
    options: dict[str, Any] = {}
    if is_preview:
        n_rows, columns = dataset.features.shape
        share = share_of_rows(n_rows, tariff_columns=columns if plan.tariff else 0)
        plan, options = preview_of(plan), {"is_preview": True, "share": share}
    result = timed("rest", lambda: execute_sweep(dataset, plan, run_step=run_step, **options))
    with tempfile.TemporaryDirectory() as folder:
        timed("storing", lambda: write_result(result, Path(folder)))
    return dict(seconds)


def load(table: str) -> Any:
    from benchmarks.whole_run import source_of
    from fairdash.data.catalogue import CATALOGUE

    named = {"counties": "census_county"}.get(table, table)
    if named in CATALOGUE:
        import fairdash as fd

        return fd.load_dataset(named)
    with tempfile.TemporaryDirectory() as home:
        os.environ["FAIRDASH_HOME"] = home
        return source_of(named).load()


if __name__ == "__main__":
    main()
