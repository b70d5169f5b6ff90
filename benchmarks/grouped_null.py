"""False alarms at 5 % for rows grouped by policy, with permutations of rows and exchanges of whole policies.

    OMP_NUM_THREADS=1 python -m benchmarks.grouped_null

Data sets have 60 policies, of 2 to 8 rows, or each of a different size from 1 to 60. The prediction u is a
value of the policy plus a little noise. s is independent of u between policies; within a policy it is
constant, or the value of the policy plus a little noise. Writes results/grouped_null.csv.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import assess_dependence

RESULTS = Path(__file__).parent / "results"
POLICIES, N_PERMUTATIONS = 60, 39
MEASURES = ("pearson", "hgr_rdc", "hgr_kde", "hgr_spline", "fairquant")
#: Rows per policy, mapped to the number of data sets: data sets with all different sizes are long.
SETS = {"2 to 8": 1000, "all unlike": 200}
#: Standard deviation of s within a policy, in units of that between policies.
KINDS = {"constant": 0.0, "varying": 0.3}


def policies(
    seed: int, *, within: float, sizes: str = "2 to 8"
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """u, s and the policy of each row."""
    rng = np.random.default_rng(seed)
    of_each = rng.integers(2, 9, size=POLICIES) if sizes == "2 to 8" else np.arange(1, POLICIES + 1)
    policy = np.repeat(np.arange(POLICIES), of_each)
    own = rng.normal(size=(2, POLICIES))[:, policy]
    noise = rng.normal(size=(2, len(policy)))
    return own[0] + 0.3 * noise[0], own[1] + within * noise[1], policy


def main() -> None:
    rows = []
    for measure, sizes, (kind, within) in itertools.product(MEASURES, SETS, KINDS.items()):
        alarms = {"rows": 0, "policies": 0}
        for k in range(SETS[sizes]):
            u, s, policy = policies(k, within=within, sizes=sizes)
            for exchanged, groups in (("rows", None), ("policies", policy)):
                found = assess_dependence(
                    measure, u, s, groups=groups, n_permutations=N_PERMUTATIONS, n_bootstrap=0, random_state=k
                )
                alarms[exchanged] += found.p_value <= 0.05
        for exchanged, count in alarms.items():
            row = {"measure": measure, "sizes": sizes, "s_in_policy": kind, "exchanged": exchanged}
            rows.append(row | {"false_alarms": count / SETS[sizes], "sets": SETS[sizes]})
            print(rows[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    pd.DataFrame(rows).to_csv(RESULTS / "grouped_null.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
