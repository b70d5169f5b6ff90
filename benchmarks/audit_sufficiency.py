"""Sufficiency and equalized residuals for a loaded or compressed price, and for a cost that depends on s.

    OMP_NUM_THREADS=1 python -m benchmarks.audit_sufficiency

Expected cost is μ = 100 exp(0.4 x). The price is μ, a multiple of it (1.1 μ, 1.4 μ) or compressed about the
mean (100 + 0.6 (μ − 100)); s is independent of both. In cases with bias, expected cost at each price is
higher by 20 % of the mean for the upper half of s and lower by 20 % for the other half: b(p, s) = ± 20 %,
b(p) = 0. In other cases the root mean square of b(p, s) equals the threshold, along a line, by a jump in the
middle of s, or by a jump at its top 3 %. Cost is gamma with a coefficient of variation of 1. The threshold is
5 %. Writes results/audit_sufficiency.csv, which docs/audit.md reads.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.audit_cases import RESULTS
from fairdash.auditing.curve import basis_of, fit_curve
from fairdash.auditing.gaps import largest_gap
from fairdash.auditing.plan import Columns
from fairdash.auditing.questions.sufficiency import autocalibration, bias_surface
from fairdash.auditing.table import AuditTable

Array = NDArray[np.float64]
PLACE = RESULTS / "audit_sufficiency.csv"
N, DELTA = 3_000, 0.05
#: Price as a function of expected cost μ.
PRICES: dict[str, Callable[[Array], Array]] = {
    "price = μ": lambda mu: mu,
    "loading 1.1": lambda mu: 1.1 * mu,
    "loading 1.4": lambda mu: 1.4 * mu,
    "compressed": lambda mu: 100 + 0.6 * (mu - 100),
}
#: Share by which cost exceeds its expectation at each price, as a function of s from 20 to 80.
PLANTED: dict[str, Callable[[Array], Array]] = {
    "none": np.zeros_like,
    "± 20 %": lambda s: 0.2 * np.sign(s - 50),
    "5 %, a line": lambda s: DELTA * 3**0.5 * (s - 50) / 30,
    "± 5 %": lambda s: DELTA * np.sign(s - 50),
    "5 %, the top 3 %": lambda s: DELTA * np.where(s > 78.2, (0.97 / 0.03) ** 0.5, -((0.03 / 0.97) ** 0.5)),
}
#: Price, bias, and rows. A loading has no effect, so the threshold is tested without a loading.
CASES = [
    *((price, planted, N) for price in PRICES for planted in ("none", "± 20 %")),
    *((next(iter(PRICES)), planted, n) for n in (N, 20_000) for planted in list(PLANTED)[2:]),
]


def sample(price: Callable[[Array], Array], *, planted: str, seed: int, n: int = N) -> pd.DataFrame:
    """A table of prices and costs."""
    rng = np.random.default_rng(seed)
    x, s = rng.normal(size=n), rng.uniform(20, 80, n)
    mu = 100 * np.exp(0.4 * x - 0.08)
    expected = mu * (1 + PLANTED[planted](s))
    return pd.DataFrame({"price": price(mu), "s": s, "cost": expected * rng.gamma(1.0, 1.0, n)})


def verdicts(frame: pd.DataFrame) -> dict[str, str | float]:
    """The verdicts for one table, without the audit's other questions."""
    table = AuditTable.of(frame, Columns(price="price", sensitive="s", outcome="cost"))
    delta = DELTA * table.mean_price
    surface, calibrated = bias_surface(table, delta), autocalibration(table, delta)
    curve = fit_curve(table.outcome_at_price_level - table.price, table, basis_of(table))
    residuals, _ = largest_gap(curve, delta)
    return {
        "sufficiency": surface.verdict(),
        "sufficiency_p": surface.p_value,
        "sufficiency_value": surface.value / table.mean_price,
        "residuals": residuals.verdict(),
        "autocalibration_p": calibrated.p_value,
    }


def summary(name: str, planted: str, seeds: int, n: int = N) -> dict[str, object]:
    """One row of the table: counts over seeds."""
    found = pd.DataFrame(
        [verdicts(sample(PRICES[name], planted=planted, seed=seed, n=n)) for seed in range(seeds)]
    )
    return {
        "price": name,
        "planted": planted,
        "rows": n,
        "samples": seeds,
        "sufficiency_above": int((found["sufficiency"] == "above").sum()),
        "sufficiency_below": int((found["sufficiency"] == "below").sum()),
        "sufficiency_found": int((found["sufficiency_p"] <= 0.05).sum()),
        "sufficiency_value": float(found["sufficiency_value"].median()),
        "residuals_above": int((found["residuals"] == "above").sum()),
        "autocalibration_found": int((found["autocalibration_p"] <= 0.05).sum()),
    }


def page_lines(table: pd.DataFrame) -> list[str]:
    """The table of docs/audit.md from the stored results."""
    lines = [
        "| price | planted b(p, s) | rows | sufficiency above 5 % | below 5 % | a link found (p ≤ 0.05) | "
        "residuals above 5 % | autocalibration rejected |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in table.itertuples():
        counts = (
            row.sufficiency_above,
            row.sufficiency_below,
            row.sufficiency_found,
            row.residuals_above,
            row.autocalibration_found,
        )
        cells = (row.price, row.planted, f"{row.rows:,}", *map(str, counts))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    seeds = parser.parse_args().seeds
    rows = []
    for name, planted, n in CASES:
        rows.append(summary(name, planted, seeds, n))
        print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(PLACE, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
