"""False verdicts and power of audits along two attributes and their combinations.

    OMP_NUM_THREADS=1 python -m benchmarks.crossing [--seeds 1000]

There are 4,000 rows. The mean price of each combination of groups (cell) is set so that the largest gap
between cells is 0, δ or 4 δ (δ = 5 % of the mean price), while the average price along each attribute alone
hardly changes. With “all cells”, cells are alternately expensive and cheap, so that every pair of an
expensive and a cheap cell has this gap. With “two cells”, the largest cell is expensive, the smallest is
cheap, and all others are between. A price is the mean of its cell times a gamma factor of mean 1. The
factor's coefficient of variation is 0.2, or 0.05 at a gap of δ: with more noise, so few rows would lead to no
verdict.

Each sample is judged by functions of the audit, :func:`fairdash.auditing.data.data_of` and
:func:`~fairdash.auditing.audit.compute_verdicts`, without sentences, tables and the p-values for no gap and
for any link, which affect no verdict. Writes results/crossing.csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.audit import compute_verdicts
from fairdash.auditing.data import Answered, crossed_cells, data_of
from fairdash.auditing.gaps import ABOVE, BELOW
from fairdash.auditing.plan import AuditPlan, plan_of

RESULTS = Path(__file__).parent / "results" / "crossing.csv"
Array = NDArray[np.float64]
ROWS, DELTA, MEAN = 4_000, 0.05, 100.0
#: Attributes by name. The rarest region has 3 % of the rows, and 24 rows in a cell with a fifth of incomes.
DRAWS: dict[str, Callable[[np.random.Generator], Any]] = {
    "age": lambda rng: rng.uniform(18, 80, ROWS),
    "income": lambda rng: np.exp(rng.normal(10, 0.5, ROWS)),
    "sex": lambda rng: rng.choice(["F", "M"], ROWS),
    "region": lambda rng: rng.choice(list("abcde"), ROWS, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
}
CROSSINGS = (("age", "sex"), ("income", "region"), ("age", "income"))
#: Affected cells, their gap in δ, the coefficient of variation, and the share of the samples that are drawn.
CASES = (
    ("all cells", 0, 0.2, 1.0),
    ("all cells", 1, 0.05, 1.0),
    ("two cells", 1, 0.05, 0.4),
    ("all cells", 4, 0.2, 0.2),
)


def drawn(
    names: tuple[str, ...], planted: str, gap: float, cv: float, seed: int
) -> tuple[pd.DataFrame, AuditPlan]:
    """A table whose cells have a largest gap of `gap`, as a share of the mean price, and its plan."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: DRAWS[name](rng) for name in names})
    plan = plan_of("price", names, questions=(1,), max_gap=DELTA)
    cells = crossed_cells(frame.assign(price=MEAN), plan.columns, names)
    code = cells.codes.astype(int)
    counts = np.bincount(code)
    if planted == "all cells":
        places = [cells.places[column].factorize()[0] for column in ("band", "group")]
        side = np.where(np.sum(places, axis=0) % 2 == 0, 0.5, -0.5)
    else:
        side = np.zeros(len(counts))
        side[counts.argmax()], side[counts.argmin()] = 0.5, -0.5
    # The mean of all rows is MEAN, so a gap as an amount is `gap` times MEAN.
    mean = MEAN * (1 + gap * (side - side @ counts / ROWS))
    return frame.assign(price=mean[code] * rng.gamma(1 / cv**2, cv**2, ROWS)), plan


def judged(frame: pd.DataFrame, plan: AuditPlan) -> list[str]:
    """Verdict of each hypothesis; the last is that of the combination of attributes."""
    of_flat = patch("fairdash.auditing.gaps.p_value_of_flat_curve", return_value=np.nan)
    with of_flat, patch("fairdash.auditing.data.p_of_any_link", return_value=np.nan):
        hypotheses = data_of(frame, plan, tell=lambda *_: None)
        return [
            each["independence"] for each in compute_verdicts([Answered(data=each) for each in hypotheses])
        ]


def counts(names: tuple[str, ...], planted: str, gap: int, cv: float, seeds: int) -> dict[str, Any]:
    """One row of the table."""
    verdicts = [judged(*drawn(names, planted, gap * DELTA, cv, seed)) for seed in range(seeds)]
    return {
        "crossing": " × ".join(names),
        "planted": planted,
        "gap": gap,
        "cv": cv,
        "samples": seeds,
        "any_above": sum(ABOVE in each for each in verdicts),
        "crossing_above": sum(each[-1] == ABOVE for each in verdicts),
        "all_below": sum(set(each) == {BELOW} for each in verdicts),
        "crossing_below": sum(each[-1] == BELOW for each in verdicts),
    }


def page_lines(table: pd.DataFrame) -> list[str]:
    """The table of docs/audit.md from the stored results, in per cent of the samples."""
    lines = [
        "| crossing | planted gap | noise | samples | any “above” | crossing “above” | crossing “below” |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in table.to_dict("records"):
        gap = {0: "none", 1: f"δ, {row['planted']}"}.get(row["gap"], f"{row['gap']} δ, {row['planted']}")
        shares = [
            f"{row[each] / row['samples']:.1%}" for each in ("any_above", "crossing_above", "crossing_below")
        ]
        cells = (row["crossing"], gap, f"{100 * row['cv']:g} %", f"{row['samples']:,}", *shares)
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1_000)
    seeds = parser.parse_args().seeds
    rows = []
    for names in CROSSINGS:
        for planted, gap, cv, share in CASES:
            rows.append(counts(names, planted, gap, cv, int(seeds * share)))
            print(rows[-1], flush=True)
            pd.DataFrame(rows).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
