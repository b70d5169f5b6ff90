"""Which measure should pages show and use for choices: power of each candidate's permutation test.

    OMP_NUM_THREADS=1 python -m benchmarks.judges [--rows 300 1000] [--repeats 200 100]

For each number of rows, `--repeats` samples are drawn of every link in benchmarks/hard_links.py and of
independent data with the same margins. A link is found if the value exceeds all but 5 % of 99 permutations of
v (p at most 0.05). Writes one row per link, number of rows and measure to benchmarks/results/judges.csv: the
share of samples in which the link is found, the share in which one is found after shuffling v (should be
0.05), and milliseconds for a value with its permutations.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.hard_links import LINKS, Law, Ring
from fairdash.dependence.api import Estimator, Pairs
from fairdash.dependence.inference import draw_orders, permutation_p_value
from fairdash.dependence.registry import REGISTRY

RESULTS = Path(__file__).parent / "results" / "judges.csv"
PERMUTATIONS = 99
CANDIDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "hgr_spline, corrected": ("hgr_spline", {"evaluation": "corrected"}),
    "hgr_spline, cross-fitted": ("hgr_spline", {"evaluation": "cross_fit"}),
    "hgr_kde_scores": ("hgr_kde_scores", {}),
    "hgr_kde": ("hgr_kde", {}),
    "hgr_rdc": ("hgr_rdc", {}),
    "fairquant": ("fairquant", {}),
    "fairquant_cumulative": ("fairquant_cumulative", {}),
}


def found(link: Law | Ring, n: int, repeats: int) -> pd.DataFrame:
    """One row per candidate: how often it finds the link, and how often it finds one in shuffled data."""
    names = list(CANDIDATES)
    hits = pd.DataFrame(0.0, index=names, columns=["power", "false_alarms", "ms"])
    for repeat in range(repeats):
        rng = np.random.default_rng([n, repeat])
        u, v = link.draw(rng, n)
        # The first row is the observed order.
        orders = np.concatenate([np.arange(n)[None], draw_orders(u[None], PERMUTATIONS, repeat, None)])
        for column, own in (("power", v), ("false_alarms", rng.permutation(v))):
            for name, (id, options) in CANDIDATES.items():
                start = time.process_time()
                values = Estimator(REGISTRY[id], options, 0).permuted(Pairs(u[None], own[None]), orders)[0]
                hits.loc[name, "ms"] += 500 * (time.process_time() - start)
                hits.loc[name, column] += permutation_p_value(values[0], values[1:]) <= 0.05
    return (hits / repeats).rename_axis("measure").reset_index()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000])
    parser.add_argument("--repeats", type=int, nargs="+", default=[200, 100])
    options = parser.parse_args()
    tables = []
    for n, repeats in zip(options.rows, options.repeats, strict=True):
        for name, link in LINKS.items():
            tables.append(found(link, n, repeats).assign(link=name, rows=n, draws=repeats))
            print(f"{name}, {n} rows")
            print(
                tables[-1].drop(columns=["link", "rows", "draws"]).round(3).to_string(index=False), flush=True
            )
    table = pd.concat(tables)[["link", "rows", "draws", "measure", "power", "false_alarms", "ms"]]
    table.round({"power": 3, "false_alarms": 3, "ms": 2}).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
