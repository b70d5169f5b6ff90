"""Error rates of the tests of single measures: how often they show no link at a true correlation ρ.

    OMP_NUM_THREADS=1 python -m benchmarks.verdict

500 tables of 1,994 rows for each ρ. Predictions are simulated, not trained: normal, correlated with s by ρ,
and scored on the test rows of five random splits like those of a run. At ρ = 0, "no link" is right and should
be the result in at least 93 % of tables; at ρ = 0.15 in at most 20 %. Writes results/verdict.csv. The verdict
itself, one test of several measures, is studied in :mod:`benchmarks.omnibus` on the same tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fairdash.data.dataset import Dataset
from fairdash.evaluation import assess_predictions, wide
from fairdash.training.splits import random_splits

RESULTS = Path(__file__).parent / "results"
ROWS, N_SPLITS = 1994, 5
#: Tables that share s and its permutations, and number of such groups: the error of a noise limit must
#: average out.
TABLES, GROUPS = 10, 50
RHOS = (0.0, 0.1, 0.15, 0.2)
#: The measure that pages show first, and the measure that misses the fewest links.
MEASURES = ("hgr_rdc", "hgr_spline")


def simulated(rho: float, group: int, measures: Sequence[str] = MEASURES) -> pd.DataFrame:
    """Results of a group's tables, each labelled by a separate λ."""
    rng = np.random.default_rng([int(100 * rho), group])
    s = rng.normal(size=ROWS)
    u = rho * s + np.sqrt(1 - rho**2) * rng.normal(size=(TABLES, ROWS))
    dataset = Dataset(
        name="simulated",
        features=pd.DataFrame({"x": rng.normal(size=ROWS)}),
        target=pd.Series(rng.normal(size=ROWS), name="y"),
        sensitive=pd.DataFrame({"s": s}),
    )
    members = pd.DataFrame(
        {
            "method": "standard",
            "lam": np.tile(np.arange(TABLES, dtype=float), N_SPLITS),
            "split": np.repeat(range(N_SPLITS), TABLES),
            "diverged": False,
        }
    )
    return wide(
        assess_predictions(
            dataset,
            np.tile(u, (N_SPLITS, 1)),
            members,
            random_splits(ROWS, n_splits=N_SPLITS, random_state=group),
            objective="demographic_parity",
            measures=measures,
            random_state=group,
        )
    )


def no_link(rho: float, group: int) -> pd.DataFrame:
    """Whether no link is found in each table of a group, one column per measure."""
    frame = simulated(rho, group)
    means = frame[frame["part"] == "test"].groupby("lam").mean(numeric_only=True)
    return pd.DataFrame({measure: means[measure] <= means[f"{measure}_edge"] for measure in MEASURES})


def main() -> None:
    rows = []
    for rho in RHOS:
        found = pd.concat([no_link(rho, group) for group in range(GROUPS)])
        rows += [
            {"measure": measure, "rho": rho, "no_link": found[measure].mean(), "tables": len(found)}
            for measure in MEASURES
        ]
        print(pd.DataFrame(rows[-len(MEASURES) :]).to_string(index=False, header=rho == 0), flush=True)
    RESULTS.mkdir(exist_ok=True)
    pd.DataFrame(rows).to_csv(RESULTS / "verdict.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
