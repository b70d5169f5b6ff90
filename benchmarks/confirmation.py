"""How often a choice made by eye on test rows is confirmed by the same test rows, and by confirmation rows.

    OMP_NUM_THREADS=1 python -m benchmarks.confirmation [--runs 300]

Closed-form predictors represent the models of a run: at each of eight weights λ, ŷ = √(1 − h²)·z + h·s with z
independent of s, so that HGR(ŷ, s) = h exactly (Gaussian). A part of z differs between weights, so that
weights also differ by chance. Every run has 400 test rows and 1,000 confirmation rows. The weight with the
lowest dependence on the test rows is chosen by eye, and among similar values (within 0.01) the smallest λ.
Laws:

- independent: all eight are independent of s;
- hgr 0.2: all eight have HGR 0.2 with s, so every choice has this HGR;
- front 0.5 to 0.1: HGR falls from 0.5 to 0.1 over the eight.

"fair_on_test" is the share of runs whose chosen point shows no link on the test rows used for choosing;
"confirmed" is the share for which the single test on the confirmation rows finds no link
(evaluation/confirmation.py). Writes results/confirmation.csv, one line per law; existing lines with the same
number of runs are kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import independence_test, measure_many
from fairdash.dependence.omnibus import ENOUGH_PERMUTATIONS
from fairdash.evaluation import confirm_point
from fairdash.evaluation.assess import DEFAULT_MEASURE
from fairdash.evaluation.verdict import ALPHA
from fairdash.training.split_kinds import SetAside

RESULTS = Path(__file__).parent / "results"
N_TEST, N_ASIDE = 400, 1_000
LAMS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
#: HGR with s at each weight.
LAWS = {
    "independent": np.zeros(len(LAMS)),
    "hgr 0.2": np.full(len(LAMS), 0.2),
    "front 0.5 to 0.1": np.linspace(0.5, 0.1, len(LAMS)),
}


def draw(
    rng: np.random.Generator, n: int, hgr: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """s (n,) and the predictions of every weight (K, n)."""
    s, shared = rng.normal(size=(2, n))
    own = rng.normal(size=(len(hgr), n))
    z = np.sqrt(0.7) * shared + np.sqrt(0.3) * own
    return s, np.sqrt(1 - hgr[:, None] ** 2) * z + hgr[:, None] * s


def one_run(law: str, seed: int) -> dict[str, float]:
    """Choose by eye on test rows, then test on these rows and on the confirmation rows."""
    hgr = LAWS[law]
    rng = np.random.default_rng([seed, list(LAWS).index(law)])
    s, predictions = draw(rng, N_TEST, hgr)
    seen = measure_many(
        DEFAULT_MEASURE, predictions, np.broadcast_to(s, predictions.shape), random_state=seed
    )
    chosen = int(np.flatnonzero(seen <= seen.min() + 0.01)[0])
    on_test = independence_test(predictions[chosen], s, n_permutations=ENOUGH_PERMUTATIONS, random_state=seed)
    s, predictions = draw(rng, N_ASIDE, hgr)
    aside = SetAside(
        rows=np.arange(N_ASIDE),
        members=pd.DataFrame(
            {"method": ["standard", *["pearson"] * len(LAMS)], "lam": [0.0, *LAMS], "diverged": False}
        ),
        predictions=np.vstack([predictions[:1], predictions]),
        target=predictions.mean(axis=0) + rng.normal(size=N_ASIDE),
        sensitive=pd.DataFrame({"s": s}),
    )
    found = confirm_point(
        aside, method="pearson", lam=LAMS[chosen], objective="demographic_parity", random_state=seed
    )
    return {
        "hgr": float(hgr[chosen]),
        "fair_on_test": float(on_test.p_value > ALPHA),
        "confirmed": float(not found.finds_link),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args()
    path = RESULTS / "confirmation.csv"
    kept = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["law", "runs"])
    for law in LAWS:
        if ((kept["law"] == law) & (kept["runs"] == options.runs)).any():
            continue
        found = pd.DataFrame([one_run(law, seed) for seed in range(options.runs)])
        row = {"law": law, "measure": DEFAULT_MEASURE, "runs": options.runs, **found.mean()}
        kept = pd.concat([kept[kept["law"] != law], pd.DataFrame([row])], ignore_index=True)
        kept.to_csv(path, index=False, float_format="%.4g")
        print(row, flush=True)


if __name__ == "__main__":
    main()
