"""Benchmarks in parts: separate processes write one file of rows each, which are combined into the results.

    python -m benchmarks.NAME --only crime --out crime.csv &
    python -m benchmarks.NAME --only motor --out motor.csv
    wait; python -m benchmarks.NAME --combine crime.csv motor.csv

Without `--out`, one process measures everything and writes the results. Stored results of other names are
kept.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd

#: Names of measurements, and the functions that compute them.
Work = Iterable[tuple[str, Callable[[], pd.DataFrame]]]


def run(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    work: Callable[[argparse.Namespace], Work],
    results_of: Callable[[pd.DataFrame], pd.DataFrame],
    path: Path,
    *,
    by: str,
) -> None:
    """Measure the names on the command line, and write rows or results; the column `by` has the names."""
    parser.add_argument("--only", f"--{by}", nargs="+", dest="only", help="names of what to measure")
    parser.add_argument("--out", type=Path, help="write rows there, to be combined, and no results")
    parser.add_argument("--combine", nargs="+", type=Path, help="make results of rows, and measure nothing")
    options = parser.parse_args(argv)
    found = [pd.read_csv(each) for each in options.combine or ()]
    for name, measure in () if options.combine else work(options):
        if options.only and name not in options.only:
            continue
        started = time.process_time()
        found.append(measure())
        print(name, f"{time.process_time() - started:.0f} s of computing", flush=True)
        if options.out:
            pd.concat(found).to_csv(options.out, index=False)
    if not found:
        parser.error(f"nothing is named {' or '.join(options.only)}")
    if options.out is None:
        made = results_of(pd.concat(found, ignore_index=True))
        kept = pd.read_csv(path) if path.exists() else made[:0]
        pd.concat([kept[~kept[by].isin(made[by])], made]).to_csv(path, index=False)
