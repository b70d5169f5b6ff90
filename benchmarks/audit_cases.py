"""Simulated cases for the audit: false verdicts, undecided verdicts, coverage and width of intervals.

    OMP_NUM_THREADS=1 python -m benchmarks.audit_cases --seeds 0:200 --rows 2000

A price is a mean along a normal attribute z times an independent positive factor with mean 1 and coefficient
of variation 0.6, so that the largest gap, the direction and the part explained by cost are known in closed
form. Each seed of each case is one row of results/audit_cases_rows.csv; existing rows are not computed again.
Writes results/audit_cases.csv, one row per case. The p-value for any kind of link takes most of the time and
affects no verdict, so it is computed for the first --links seeds only.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

import fairdash as fd

RESULTS = Path(__file__).parent / "results"
ROWS = RESULTS / "audit_cases_rows.csv"
DELTA, CV = 0.05, 0.6
Array = NDArray[np.float64]
#: E[z | z above its 95th percentile], and the same for z².
TAIL = float(norm.pdf(norm.ppf(0.95)) / 0.05)
TAIL_SQUARE = 1 + norm.ppf(0.95) * TAIL
NINETIETH = float(norm.ppf(0.9))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A way to draw a table, and its true values, as shares of the mean price.

    Parameters
    ----------
    draw
        Function of rows and a generator; returns columns price and s, and others by their names in `roles`.
    gap, direction
        The largest gap, and E[π|s₉₀] − E[π|s₁₀].
    earned
        Part of the direction that expected cost explains.
    conditional
        The largest gap of the controlled curve.
    sufficient
        Whether the bias surface is 0.
    found
        Whether the verdicts, by criterion, show what is special about the case.
    """

    draw: Callable[[int, np.random.Generator], dict[str, Any]]
    gap: float
    direction: float
    earned: float | None = None
    conditional: float | None = None
    sufficient: bool = False
    found: Callable[[pd.DataFrame], bool] | None = None
    roles: dict[str, Any] = field(default_factory=dict)


def _factor(n: int, rng: np.random.Generator, cv: float | Array = CV) -> Array:
    shape = 1 / np.square(cv)
    return rng.gamma(shape, 1 / shape, n)


def _along(mean: Callable[[Array], Array], *, cost: Callable[[Array, Array], Array] | None = None) -> Any:
    def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
        z = rng.normal(size=n)
        table = {"price": mean(z) * _factor(n, rng), "s": 45 + 12 * z}
        if cost is not None:
            table["claims"] = cost(z, table["price"]) * _factor(n, rng, 1.5)
        return table

    return draw


def _line(gap: float) -> float:
    """The slope of a straight line with the given largest gap, between the means of the tails."""
    return gap / (2 * TAIL)


def _policies(n: int, rng: np.random.Generator) -> dict[str, Any]:
    policy = np.repeat(np.arange(n // 5), 5)
    z, own = rng.normal(size=n // 5), _factor(n // 5, rng)
    return {"price": own[policy] * _factor(n, rng, 0.1), "s": 45 + 12 * z[policy], "policy": policy}


def _spread(n: int, rng: np.random.Generator) -> dict[str, Any]:
    z = rng.normal(size=n)
    return {"price": _factor(n, rng, 0.3 + 0.2 * np.abs(z)), "s": 45 + 12 * z}


def _proxy(n: int, rng: np.random.Generator) -> dict[str, Any]:
    z = rng.normal(size=n)
    x = 0.8 * z + 0.6 * rng.normal(size=n)
    return {"price": (1 + _line(0.3) * x) * _factor(n, rng), "s": 45 + 12 * z, "x": x}


def _within(n: int, rng: np.random.Generator) -> dict[str, Any]:
    z, side = rng.normal(size=n), rng.choice(["a", "b"], n)
    slope = np.where(side == "a", 1, -1) * _line(0.3)
    return {"price": (1 + slope * z) * _factor(n, rng), "s": 45 + 12 * z, "side": side}


def _vanishing(n: int, rng: np.random.Generator) -> dict[str, Any]:
    c = rng.normal(size=n)
    z = 0.7 * c + np.sqrt(1 - 0.49) * rng.normal(size=n)
    return {"price": (1 + _line(0.3) * c) * _factor(n, rng), "s": 45 + 12 * z, "bonus": c}


def _exposed(n: int, rng: np.random.Generator) -> dict[str, Any]:
    z = rng.normal(size=n)
    return {"price": _factor(n, rng), "s": 45 + 12 * z, "years": np.minimum(0.5 * np.exp(0.4 * z), 1)}


def _lognormal(n: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"price": np.exp(rng.normal(size=n) - 0.5), "s": 45 + 12 * rng.normal(size=n)}


def _above(verdicts: pd.DataFrame) -> bool:
    return bool(verdicts.loc["independence", "verdict"] == "above")


def _link_within(verdicts: pd.DataFrame) -> bool:
    return bool(verdicts.loc["conditional_independence", "p_value"] <= 0.05)


def _less_within(verdicts: pd.DataFrame) -> bool:
    """Return whether the gap given the factors is surely smaller than the gap without them."""
    lows, highs = verdicts["ci_low"], verdicts["ci_high"]
    return _above(verdicts) and bool(highs["conditional_independence"] < lows["independence"])


_BY_LINE = 2 * NINETIETH
_U = 0.3 / TAIL_SQUARE
_STEEP = _line(0.3)
_TOP, _END = norm.ppf(0.97), norm.ppf(0.95)
CASES: dict[str, Case] = {
    "no effect": Case(draw=_along(np.ones_like), gap=0, direction=0),
    "five rows a policy": Case(draw=_policies, gap=0, direction=0, roles={"groups": "policy"}),
    "gap exactly δ": Case(
        draw=_along(lambda z: 1 + _line(DELTA) * z), gap=DELTA, direction=_line(DELTA) * _BY_LINE
    ),
    "gap 2δ": Case(
        draw=_along(lambda z: 1 + _line(2 * DELTA) * z), gap=2 * DELTA, direction=_line(2 * DELTA) * _BY_LINE
    ),
    "linear": Case(draw=_along(lambda z: 1 + _STEEP * z), gap=0.3, direction=_STEEP * _BY_LINE),
    "U-shaped": Case(draw=_along(lambda z: 1 + _U * (z**2 - 1)), gap=0.3, direction=0),
    "spread only": Case(draw=_spread, gap=0, direction=0),
    "top 3 %": Case(draw=_along(lambda z: 1 + 0.5 * (z > _TOP)), gap=0.3 / 1.015, direction=0),
    "earned in full": Case(
        draw=_along(lambda z: 1 + _STEEP * z, cost=lambda _, price: price),
        gap=0.3,
        direction=_STEEP * _BY_LINE,
        earned=_STEEP * _BY_LINE,
        sufficient=True,
        roles={"outcome": "claims"},
    ),
    "half earned": Case(
        draw=_along(lambda z: 1 + _STEEP * z, cost=lambda z, _: 1 + _STEEP / 2 * z),
        gap=0.3,
        direction=_STEEP * _BY_LINE,
        earned=_STEEP / 2 * _BY_LINE,
        roles={"outcome": "claims"},
    ),
    "proxy alone": Case(draw=_proxy, gap=0.24, direction=0.8 * _STEEP * _BY_LINE, found=_above),
    "within a factor": Case(
        draw=_within, gap=0, direction=0, conditional=0, found=_link_within, roles={"controls": ["side"]}
    ),
    "vanishing given a factor": Case(
        draw=_vanishing,
        gap=0.21,
        direction=0.7 * _STEEP * _BY_LINE,
        conditional=0,
        found=_less_within,
        roles={"controls": ["bonus"]},
    ),
    "exposure follows s": Case(draw=_exposed, gap=0, direction=0, roles={"exposure": "years"}),
    "heavy tails": Case(draw=_lognormal, gap=0, direction=0),
    # Designed to mislead the estimator: the middle of the range reveals neither end.
    "steps at both ends": Case(
        draw=_along(lambda z: 1 + DELTA / 2 * ((z > _END).astype(float) - (z < -_END))),
        gap=DELTA,
        direction=0,
    ),
}


def try_case(name: str, n: int, seed: int, *, link: bool = True) -> dict[str, Any]:
    """Audit one table and compare the result with the truth, possibly with the p-value for any link."""
    case = CASES[name]
    frame = pd.DataFrame(case.draw(n, np.random.default_rng([seed, n, list(CASES).index(name)])))
    roles = {"price": "price", "sensitive": "s", **case.roles}
    with nullcontext() if link else patch("fairdash.auditing.data.p_of_any_link", return_value=np.nan):
        result = fd.audit(frame, **roles, max_gap=DELTA, questions=(1, 3, 4, 5), random_state=seed)
    row: dict[str, Any] = {"case": name, "n": n, "seed": seed}
    verdicts = result.verdicts.set_index("criterion")
    truths = {"independence": case.gap, "conditional_independence": case.conditional}
    if case.sufficient:
        truths |= {"sufficiency": 0.0, "equalized_residuals": 0.0}
    for criterion, truth in truths.items():
        if truth is not None:
            found = verdicts.loc[criterion]
            row[f"{criterion}_verdict"] = found["verdict"]
            row[f"{criterion}_false"] = int(
                (found["verdict"] == "below" and truth >= DELTA)
                or (found["verdict"] == "above" and truth <= DELTA)
            )
            row[f"{criterion}_covers"] = int(found["ci_low"] <= truth <= found["ci_high"])
            row[f"{criterion}_width"] = found["ci_high"] - found["ci_low"]
    row["p_value"] = verdicts.loc["independence", "p_value"]
    if case.found is not None:
        row["found"] = int(case.found(verdicts))
    measures = result.measures.set_index("measure")
    parts = {"direction": case.direction}
    if case.earned is not None:
        parts |= {"earned_s10_s90": case.earned, "left_s10_s90": case.direction - case.earned}
    for part, truth in parts.items():
        found = measures.loc[part]
        row[part] = found["value"]
        row[f"{part}_covers"] = int(found["ci_low"] <= truth <= found["ci_high"])
        row[f"{part}_width"] = found["ci_high"] - found["ci_low"]
    return row


FIELDS = [
    *("case", "n", "seed", "p_value", "found"),
    *(
        f"{criterion}_{what}"
        for criterion in ("independence", "conditional_independence", "sufficiency", "equalized_residuals")
        for what in ("verdict", "false", "covers", "width")
    ),
    *(
        f"{part}{what}"
        for part in ("direction", "earned_s10_s90", "left_s10_s90")
        for what in ("", "_covers", "_width")
    ),
]


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per case: counts of false verdicts and covering intervals, undecided share, mean widths."""
    made = []
    for (name, n), part in rows.groupby(["case", "n"], sort=False):
        row: dict[str, Any] = {"case": name, "n": n, "seeds": len(part)}
        for short, criterion in (
            ("gap", "independence"),
            ("conditional", "conditional_independence"),
            ("sufficiency", "sufficiency"),
            ("residuals", "equalized_residuals"),
        ):
            verdicts = part[f"{criterion}_verdict"].dropna()
            if len(verdicts):
                row[f"{short}_false"] = int(part[f"{criterion}_false"].sum())
                row[f"{short}_above"] = float((verdicts == "above").mean())
                row[f"{short}_undecided"] = float((verdicts == "undecided").mean())
                row[f"{short}_covers"] = int(part[f"{criterion}_covers"].sum())
                row[f"{short}_width"] = part[f"{criterion}_width"].mean()
        if part["found"].notna().any():
            row["found"] = int(part["found"].sum())
        row["rejects_flat"] = float((part["p_value"].dropna() <= 0.05).mean())
        for each in ("direction", "earned_s10_s90", "left_s10_s90"):
            if part[each].notna().any():
                row[f"{each}_mean"] = part[each].mean()
                row[f"{each}_covers"] = int(part[f"{each}_covers"].sum())
                row[f"{each}_width"] = part[f"{each}_width"].mean()
        made.append(row)
    return pd.DataFrame(made)


def page_lines(table: pd.DataFrame) -> list[str]:
    """The table of docs/audit.md from the stored results."""
    lines = [
        "| case | rows | seeds | false verdicts | undecided | gap covered | direction covered | recognised |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in table.itertuples():
        cells = (row.case, f"{row.n:,}", row.seeds, int(row.gap_false), f"{row.gap_undecided:.0%}")
        counts = (
            int(row.gap_covers),
            int(row.direction_covers),
            "" if pd.isna(row.found) else int(row.found),
        )
        lines.append("| " + " | ".join(map(str, (*cells, *counts))) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:40", help="first and last, such as 0:40")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--links", type=int, default=20, help="seeds whose p-value of no link is found")
    parser.add_argument("--cases", default=None, help="comma-separated; all by default")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    names = list(CASES) if options.cases is None else options.cases.split(",")
    RESULTS.mkdir(exist_ok=True)
    done = set()
    if ROWS.exists():
        done = set(pd.read_csv(ROWS)[["case", "n", "seed"]].itertuples(index=False, name=None))
    with ROWS.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not done:
            writer.writeheader()
        for seed in range(first, last):
            for name in names:
                if (name, options.rows, seed) not in done:
                    found = try_case(name, options.rows, seed, link=seed < options.links)
                    kept = {key: f"{v:.5g}" if isinstance(v, float) else v for key, v in found.items()}
                    writer.writerow(kept)
                    file.flush()
    order = {name: k for k, name in enumerate(CASES)}
    rows = pd.read_csv(ROWS).sort_values(
        ["n", "case", "seed"], key=lambda c: c.map(order) if c.name == "case" else c
    )
    table = summary(rows)
    table.to_csv(RESULTS / "audit_cases.csv", index=False, float_format="%.4g")
    with pd.option_context("display.width", 250, "display.max_columns", 40):
        print(table.to_string(index=False, float_format="{:.3g}".format, na_rep=""))


if __name__ == "__main__":
    main()
