"""Error rates of the verdict: its power on links of every kind, and its false alarms without a link.

    OMP_NUM_THREADS=1 python -m benchmarks.omnibus [power size multipliers splits seconds]
        [--shard 0/1] [--write]

Power: 300 data sets of 300 rows for each link of :mod:`benchmarks.hard_links`, compared with the test of each
measure alone. Size: 2,000 independent data sets for each of eight distributions. Multipliers: power and size
of the random signs that replace permutations above 20,000 rows, compared on the same data. Splits: the
verdict of a run, on test rows of five random splits of 1,994 rows, at a true correlation ρ. Seconds:
processor time of one test.

The seed of a data set is its number. Finished counts are stored in results/omnibus_parts/ and not computed
again, so a run may be interrupted and shards may run on several machines. The tables results/omnibus_*.csv
are written from the stored counts (with --write nothing else is counted).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import fairdash as fd
from benchmarks.hard_links import LINKS
from benchmarks.verdict import GROUPS, RHOS, TABLES, simulated
from fairdash.dependence.omnibus import (
    COMPONENTS,
    MAX_PERMUTED_ROWS,
    combined_p,
    draw_signs,
    multiplied_values,
)
from fairdash.evaluation.assess import VERDICT_PERMUTATIONS

Array = NDArray[np.float64]
#: u, v, weight and group of a data set.
Sample = tuple[Array, Array, Array | None, NDArray[np.intp] | None]
RESULTS = Path(__file__).parent / "results"
PARTS = RESULTS / "omnibus_parts"
LEVEL = 0.05
ROWS, SETS_OF_POWER, SETS_OF_SIZE = 300, 300, 2000
#: Number of data sets whose counts are stored together.
BATCH = 100
#: Rows of the comparison with random signs, fewer than the number from which they are used, because they are
#: less accurate there.
ROWS_OF_MULTIPLIERS, SETS_OF_MULTIPLIERS = 2000, 200
#: Coefficient of v in u for this comparison, such that the power is between 0 and 1.
WEAK = 0.08


def _normal(rng: np.random.Generator, n: int) -> Sample:
    return *rng.normal(size=(2, n)), None, None


def _ties(rng: np.random.Generator, n: int) -> Sample:
    return rng.poisson(0.7, n).astype(float), rng.integers(0, 3, n).astype(float), None, None


def _heavy_tails(rng: np.random.Generator, n: int) -> Sample:
    return *rng.standard_cauchy(size=(2, n)), None, None


def _zero_inflated(rng: np.random.Generator, n: int) -> Sample:
    return np.maximum(rng.normal(size=n) - 0.9, 0), np.exp(rng.normal(size=n)), None, None


def _weights_by_s(rng: np.random.Generator, n: int) -> Sample:
    u, v = rng.normal(size=(2, n))
    return u, v, np.exp(v + 0.5 * rng.normal(size=n)), None


def _weights_by_u(rng: np.random.Generator, n: int) -> Sample:
    u, v = rng.normal(size=(2, n))
    return u, v, np.exp(u + 0.5 * rng.normal(size=n)), None


def _five_rows_a_policy(rng: np.random.Generator, n: int) -> Sample:
    policy = np.repeat(np.arange(n // 5), 5)
    u, v = rng.normal(size=(2, n // 5))[:, policy] + 0.3 * rng.normal(size=(2, n))
    return u, v, None, policy


def _policies_with_exposure(rng: np.random.Generator, n: int) -> Sample:
    u, v, _, policy = _five_rows_a_policy(rng, n)
    return u, v, rng.uniform(0.1, 1.0, n), policy


#: Laws of independent data.
LAWS: dict[str, Callable[[np.random.Generator, int], Sample]] = {
    "normal": _normal,
    "ties": _ties,
    "heavy tails": _heavy_tails,
    "zero-inflated": _zero_inflated,
    "weights by s": _weights_by_s,
    "weights by u": _weights_by_u,
    "five rows a policy": _five_rows_a_policy,
    "policies with exposure": _policies_with_exposure,
}


def power(name: str, seeds: range) -> dict[str, float]:
    """Number of data sets in which a link is found, by the joint test and by each measure alone."""
    found = dict.fromkeys(("found", *COMPONENTS), 0.0)
    for seed in seeds:
        u, v = LINKS[name].draw(np.random.default_rng([17, seed]), ROWS)
        test = fd.independence_test(u, v, n_permutations=VERDICT_PERMUTATIONS, random_state=seed)
        for which, p_value in {"found": test.p_value, **test.p_values}.items():
            found[which] += p_value <= LEVEL
    return found


def size(name: str, seeds: range) -> dict[str, float]:
    """Number of independent data sets in which a link is found."""
    found = 0.0
    for seed in seeds:
        u, v, weight, groups = LAWS[name](np.random.default_rng([23, seed]), ROWS)
        found += _is_found(u, v, weight, groups, seed)
    return {"found": found}


def _is_found(u: Array, v: Array, weight: Array | None, groups: NDArray[np.intp] | None, seed: int) -> bool:
    test = fd.independence_test(
        u, v, sample_weight=weight, groups=groups, n_permutations=VERDICT_PERMUTATIONS, random_state=seed
    )
    return test.p_value <= LEVEL


def multipliers(name: str, seeds: range) -> dict[str, float]:
    """Number of data sets in which a link is found, by permutations and by random signs."""
    found = {"by_permutations": 0.0, "by_multipliers": 0.0}
    law, _, linked = name.partition(", ")
    for seed in seeds:
        u, v, weight, groups = LAWS[law](np.random.default_rng([29, seed]), ROWS_OF_MULTIPLIERS)
        if linked:
            u = u + WEAK * v
        found["by_permutations"] += _is_found(u, v, weight, groups, seed)
        codes = np.arange(len(u)) if groups is None else groups
        blocks, signs = draw_signs(codes, VERDICT_PERMUTATIONS, seed)
        found["by_multipliers"] += (
            combined_p(multiplied_values(u[None], v, blocks, signs, weight=weight)[0, :, 0])[0] <= LEVEL
        )
    return found


def splits(name: str, seeds: range) -> dict[str, float]:
    """Number of tables with correlation ρ in which the verdict finds a link, by group of tables."""
    found = 0.0
    for group in seeds:
        frame = simulated(float(name), group, ("pearson",))
        verdicts = frame[frame["part"] == "test"].groupby("lam")["verdict_p"].first()
        found += (verdicts <= LEVEL + 1e-9).sum()
    return {"found": found}


#: Name of a study, mapped to its function, cases, number of data sets, and data sets per stored count.
STUDIES: dict[str, tuple[Callable[[str, range], dict[str, float]], list[str], int, int]] = {
    "power": (power, list(LINKS), SETS_OF_POWER, BATCH),
    "size": (size, list(LAWS), SETS_OF_SIZE, BATCH),
    "multipliers": (
        multipliers,
        ["normal", "normal, linked", "weights by u", "weights by u, linked", "five rows a policy"],
        SETS_OF_MULTIPLIERS,
        BATCH,
    ),
    "splits": (splits, [str(rho) for rho in RHOS], GROUPS, 10),
}


def batches(study: str) -> Iterator[tuple[str, range, Path]]:
    """Name, seeds and file of every count of a study."""
    _, names, sets, batch = STUDIES[study]
    for name in names:
        for start in range(0, sets, batch):
            seeds = range(start, min(start + batch, sets))
            yield name, seeds, PARTS / study / f"{name.replace(' ', '_')}-{start}.csv"


def count(study: str, *, shard: int, shards: int) -> None:
    """Compute the missing counts of one shard."""
    of = STUDIES[study][0]
    for k, (name, seeds, path) in enumerate(batches(study)):
        if k % shards != shard or path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        row = {study: name, "sets": len(seeds) * (TABLES if study == "splits" else 1), **of(name, seeds)}
        pd.DataFrame([row]).to_csv(path, index=False)


def write(study: str) -> None:
    """The table of a study's stored counts, with the number of data sets."""
    paths = [path for _, _, path in batches(study)]
    if not (counted := [path for path in paths if path.exists()]):
        return
    if len(counted) < len(paths):
        print(f"{study}: {len(paths) - len(counted)} of {len(paths)} batches are still to be counted")
    table = pd.concat([pd.read_csv(path, dtype={study: str}) for path in counted])
    table = table.groupby(study, sort=False).sum()
    shares = table.drop(columns="sets").div(table["sets"], axis=0).join(table["sets"]).reset_index()
    print(shares.round(3).to_string(index=False), flush=True)
    shares.to_csv(RESULTS / f"omnibus_{study}.csv", index=False, float_format="%.4g")


def seconds() -> None:
    """Processor seconds of one test by the number of rows; writes them."""
    rows = []
    for n in (300, 2000, MAX_PERMUTED_ROWS, 100_000):
        u, v = np.random.default_rng(n).normal(size=(2, n))
        for weight in (None, np.exp(u)):
            begun = time.process_time()
            found = fd.independence_test(u, v, sample_weight=weight, random_state=0)
            rows.append(
                {
                    "rows": n,
                    "weights": weight is not None,
                    "by": "multipliers" if found.by_multipliers else "permutations",
                    "n_permutations": found.n_permutations,
                    "processor_seconds": time.process_time() - begun,
                }
            )
    table = pd.DataFrame(rows)
    print(table.to_string(index=False))
    table.to_csv(RESULTS / "omnibus_seconds.csv", index=False, float_format="%.3g")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=[*STUDIES, "seconds"])
    parser.add_argument("--shard", default="0/1", help="which of how many, from 0")
    parser.add_argument("--write", action="store_true", help="write the tables of what has been counted")
    options = parser.parse_args()
    shard, shards = (int(part) for part in options.shard.split("/"))
    for study in options.what:
        if study != "seconds":
            if not options.write:
                count(study, shard=shard, shards=shards)
            write(study)
        elif not options.write:
            seconds()


if __name__ == "__main__":
    main()
