"""How long the whole run takes that a page starts by itself: first look to result, workers and all.

    python -m benchmarks.whole_run [--datasets crime household] [--rows 5000] [--tries 1]

Needs FAIRDASH_DATA and a quiet machine. FAIRDASH_NO_STANDBY=1 leaves out the second process.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import defaultdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=["crime", "household"])
    parser.add_argument("--rows", type=int, default=5_000, help="of generated data")
    parser.add_argument("--tries", type=int, default=1)
    options = parser.parse_args()
    for name in options.datasets:
        for _ in range(options.tries):
            with tempfile.TemporaryDirectory() as folder:
                os.environ["FAIRDASH_HOME"] = folder
                seconds(name, options.rows)


def seconds(name: str, rows: int) -> None:
    """Print the seconds of a run and of what it was doing meanwhile, as its bar said it."""
    from fairdash.data.catalogue import CATALOGUE
    from fairdash.data.source import CatalogueSource
    from fairdash.runs.launch import start_run
    from fairdash.runs.status import DONE
    from fairdash.training.defaults import share_of_rows
    from fairdash.training.sweep import default_plan, preview_of

    has_n = any(option.name == "n" for option in CATALOGUE[name].options)
    source = CatalogueSource(dataset=name, options={"n": rows} if has_n else {})
    dataset = source.load()
    plan = default_plan(dataset)
    first = preview_of(plan)
    share = share_of_rows(dataset.n_rows, tariff_columns=dataset.features.shape[1] if plan.tariff else 0)
    run = start_run(source, plan, first=first, first_share=share)
    begun = last = time.perf_counter()
    doing: defaultdict[str, float] = defaultdict(float)
    while not run.status.is_over:
        time.sleep(0.1)
        status, now = run.status, time.perf_counter()
        doing[status.doing or status.state] += now - last
        last = now
    assert run.status.state == DONE, run.status
    print(f"{name}, {dataset.n_rows} rows: {last - begun:.1f} s; {len(plan.models())} models")
    print(*(f"  {took:5.1f} s {what}" for what, took in doing.items()), sep="\n", flush=True)


if __name__ == "__main__":
    main()
