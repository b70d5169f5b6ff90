"""How often the band of an audit's curve contains the whole true curve, for six shapes of the curve.

    OMP_NUM_THREADS=1 python -m benchmarks.audit_bands

A price is a curve along s plus noise (coefficient of variation 0.1 or 0.3), and its largest gap is 20 % of
the mean price. The band is checked at the points where a page draws it: percentiles 5 to 95 of s, and the
means of the rows below and above. Writes results/audit_bands.csv, which docs/audit.md reads.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.audit_cases import RESULTS
from fairdash.auditing.curve import basis_of, fit_curve
from fairdash.auditing.gaps import largest_gap
from fairdash.auditing.plan import Columns
from fairdash.auditing.table import AuditTable

Array = NDArray[np.float64]
PLACE = RESULTS / "audit_bands.csv"
CVS, GAP, MEAN = (0.1, 0.3), 0.2, 100.0
ROWS = (1_000, 3_000, 20_000)
#: Curves along the percentile p of s, each from 0 to 1.
SHAPES: dict[str, Callable[[Array], Array]] = {
    "flat": lambda p: 0 * p,
    "straight line": lambda p: p,
    "U": lambda p: (2 * p - 1) ** 2,
    "smooth bump": lambda p: np.exp(-(((p - 0.5) / 0.08) ** 2) / 2),
    "step in the middle": lambda p: (p > 0.5).astype(float),
    "surcharge on the top 3 %": lambda p: (p > 0.97).astype(float),
}


def truth(shape: Callable[[Array], Array], kind: tuple[str, ...], share: Array) -> Array:
    """The curve at the points of the band; in a tail, the mean of the curve over the tail."""
    grid = (np.arange(200_000) + 0.5) / 200_000
    values = shape(grid)
    means = {"below": values[grid < 0.05].mean(), "above": values[grid > 0.95].mean()}
    return np.array([means.get(each, shape(np.array([p]))[0]) for each, p in zip(kind, share, strict=True)])


def holds(shape: Callable[[Array], Array], n: int, cv: float, seed: int) -> tuple[bool, float]:
    """Return whether the band contains the curve in one sample, and its mean width ÷ the mean price."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    price = MEAN * (1 + GAP * shape(p) + cv * rng.normal(size=n))
    frame = pd.DataFrame({"price": price, "s": 20 + 60 * p})
    table = AuditTable.of(frame, Columns(price="price", sensitive="s"))
    _, band = largest_gap(fit_curve(table.price, table, basis_of(table)), 0.05 * MEAN)
    right = MEAN * (1 + GAP * truth(shape, band.kind, band.share))
    inside = bool(((band.low <= right) & (right <= band.high)).all())
    return inside, float((band.high - band.low).mean() / MEAN)


def page_lines(table: pd.DataFrame) -> list[str]:
    """The table of docs/audit.md from the stored results, in per cent of the samples."""
    held = table.pivot(index="shape", columns=["cv", "rows"], values="held")
    titles = [f"{rows:,} rows, cv {cv:g}" for cv, rows in held.columns]
    lines = ["| true curve | " + " | ".join(titles) + " |", "|" + "---|" * (len(titles) + 1)]
    for name in SHAPES:
        lines.append(f"| {name} | " + " | ".join(f"{each:.0%}" for each in held.loc[name]) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    seeds = parser.parse_args().seeds
    rows = []
    for (name, shape), cv, n in product(SHAPES.items(), CVS, ROWS):
        held, width = zip(*(holds(shape, n, cv, seed) for seed in range(seeds)), strict=True)
        row = {"shape": name, "cv": cv, "rows": n, "samples": seeds}
        rows.append(row | {"held": np.mean(held), "width": np.mean(width)})
        print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(PLACE, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
