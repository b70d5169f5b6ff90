"""Error of the displayed dependence, corrected ``hgr_spline``, above all for weak links.

    OMP_NUM_THREADS=1 python -m benchmarks.one_number

200 samples of each distribution in :mod:`benchmarks.one_number_laws` (600 without a link) with 300, 1,000,
2,000 and 10,000 rows. The study reports root mean squared errors of the corrected and of the cross-fitted
value (clipped at 0), and how often the corrected value is 0. results/one_number_before.csv has the corrected
value of commit 9ba3690 on the same samples. Writes results/one_number.csv, which README and docs read.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.audit_cases import RESULTS
from benchmarks.one_number_laws import Law, laws
from fairdash.dependence.omnibus import independence_test
from fairdash.dependence.spline import hgr_spline

Array = NDArray[np.float64]
PLACE, BEFORE = RESULTS / "one_number.csv", RESULTS / "one_number_before.csv"
POWER = RESULTS / "one_number_power.csv"
ROWS = (300, 1_000, 2_000, 10_000)
_LAW = ["family", "law", "truth", "rows"]
#: True values at which the power of the test is computed.
_TRUTHS = (0.0, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25)


def samples(law: Law, n: int, count: int) -> tuple[Array, Array]:
    """The samples of a distribution, twice (count, n), the same in every run."""
    seed = zlib.crc32(f"{law.name}{law.truth:.3f}".encode())
    drawn = [law.draw(np.random.default_rng([seed, n, k]), n) for k in range(count)]
    u, v = (np.array(each) for each in zip(*drawn, strict=True))
    return u, v


def rows_of(n: int, repeats: int) -> Iterator[dict[str, object]]:
    """One row per distribution."""
    for law in laws():
        u, v = samples(law, n, repeats * (3 if law.truth == 0 and law.family == "independent" else 1))
        shown = hgr_spline(u, v, evaluation="corrected")
        held_out = np.maximum(hgr_spline(u, v, evaluation="cross_fit"), 0)
        yield {
            **dict(zip(_LAW, (law.family, law.name, law.truth, n), strict=True)),
            "samples": len(u),
            "rmse": _rmse(shown, law.truth),
            "rmse_cross_fitted": _rmse(held_out, law.truth),
            "bias": float(shown.mean() - law.truth),
            "zero": float((shown == 0).mean()),
        }


def power(repeats: int) -> pd.DataFrame:
    """Power of the verdict's test at 5 % for Gaussian links of different strength."""
    rows = []
    for n in (300, 1_000, 2_000):
        for truth in _TRUTHS:
            found = []
            for k in range(repeats):
                u, other = np.random.default_rng([9, n, k]).normal(size=(2, n))
                v = truth * u + np.sqrt(1 - truth**2) * other
                found.append(independence_test(u, v, random_state=k).p_value <= 0.05)
            rows.append({"rows": n, "truth": truth, "samples": repeats, "found": np.mean(found)})
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def limit(row: pd.Series) -> float:
    """Upper limit of the error, from the earlier version's values on the same samples."""
    if row["family"] == "independent":
        return {300: 0.06, 2_000: 0.03}.get(row["rows"], np.inf)
    if row["family"] == "weak":
        return 1.15 * float(min(row["rmse_before"], row["rmse_cross_fitted"]))
    return max(1.1 * row["rmse_before"], row["rmse_before"] + 0.003) if row["truth"] > 0.3 else np.inf


def _rmse(values: Array, truth: float) -> float:
    return float(np.sqrt(np.mean((values - truth) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--power", action="store_true", help="the test's power alone")
    options = parser.parse_args()
    if options.power:
        power(options.samples).to_csv(POWER, index=False, float_format="%.4f")
        return
    found = []
    for n in ROWS:
        found += list(rows_of(n, options.samples))
        print(n, flush=True)
    before = pd.read_csv(BEFORE)
    table = pd.DataFrame(found).round({"truth": 4}).merge(before, on=_LAW, how="left", validate="one_to_one")
    table["limit"] = table.apply(limit, axis=1)
    table.to_csv(PLACE, index=False, float_format="%.4f")
    over = table[table["rmse"] > table["limit"]]
    print(over[[*_LAW, "rmse_before", "rmse_cross_fitted", "rmse", "limit"]].to_string())


if __name__ == "__main__":
    main()
