"""Coverage of both intervals of hgr_spline: 200 Gaussian samples of 2,000 rows for each ρ.

    OMP_NUM_THREADS=1 python -m benchmarks.coverage

Writes results/coverage.csv.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from fairdash.dependence import assess_dependence

RESULTS = Path(__file__).parent / "results"
SETS = 200


def main() -> None:
    rows = []
    for rho, evaluation in product((0.3, 0.6, 0.9), ("cross_fit", "corrected")):
        rng = np.random.default_rng(int(1000 * rho))
        covered, widths = 0, []
        for seed in range(SETS):
            u = rng.normal(size=2000)
            v = rho * u + np.sqrt(1 - rho**2) * rng.normal(size=2000)
            found = assess_dependence(
                "hgr_spline", u, v, n_permutations=19, random_state=seed, evaluation=evaluation
            )
            covered += found.ci_low <= rho <= found.ci_high
            widths.append(found.ci_high - found.ci_low)
        counted = {"coverage": covered / SETS, "mean_width": np.mean(widths), "sets": SETS}
        rows.append({"evaluation": evaluation, "rho": rho, **counted})
        print(rows[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    pd.DataFrame(rows).to_csv(RESULTS / "coverage.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
