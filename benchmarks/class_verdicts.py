"""False verdicts of audits along classes in eight cases, and power compared with a permutation F-test.

    OMP_NUM_THREADS=1 python -m benchmarks.class_verdicts [--seeds 200]

In each case one class pays more than all others by a known share of the mean price: 0, δ = 10 %, or a gap
that tests find about half the time. Without a gap, the verdict “above” is false. At a gap of δ, “above” and
“below” are both false, each with an error rate of 5 %; they are counted separately because together they may
reach 10 % at this gap. Writes results/class_verdicts.csv, one row per case: false verdicts, and how often the
test of the largest gap and a permutation F-test (Freedman and Lane 1983; weighted, and of policies where rows
belong to them) find a gap at 5 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import fairdash as fd
from fairdash.auditing.audit import compute_verdicts
from fairdash.evaluation.classes import holm

RESULTS = Path(__file__).parent / "results" / "class_verdicts.csv"
Array = NDArray[np.float64]
DELTA, N_PERMUTATIONS = 0.1, 199
REGIONS = [0.3, 0.25, 0.15, 0.1, 0.08, 0.07, 0.05]
#: The p-values for any kind of link take most of an audit's time and affect no verdict.
LINKS = ("fairdash.auditing.data.p_of_any_link", "fairdash.auditing.questions.decomposition.p_among_equals")


@dataclass(frozen=True, kw_only=True)
class Case:
    """Shares of the classes, the class `dear` that pays more, and a gap found about half the time."""

    shares: list[float]
    dear: int
    middling: float
    n: int = 1_000
    #: Noise factor with mean 1 for a row of weight w.
    noise: Callable[[np.random.Generator, Array], Array] = lambda rng, w: rng.gamma(4 * w) / (4 * w)
    kind: str = "plain"
    roles: tuple[tuple[str, Any], ...] = (("sensitive", "group"),)

    def draw(self, rng: np.random.Generator, gap: float) -> pd.DataFrame:
        """Price, group, and other columns depending on the case; `gap` is a share of the mean price."""
        n = self.n // 5 if self.kind == "policies" else self.n
        share = self.shares[self.dear]
        code = rng.choice(len(self.shares), n, p=self.shares)
        is_dear = (code == self.dear).astype(float)
        frame = pd.DataFrame({"group": np.array(list("abcdefg"))[code], "years": 1.0})
        mean = 100 * (1 + gap / (1 - share * gap) * is_dear)
        if self.kind == "exposure":
            frame["years"] = rng.uniform(0.1, 1, n) ** (1 + is_dear)
            # Shares of the exposure, whose mean is 0.55 for uniform draws on (0.1, 1) and 0.37 for their
            # squares.
            usual, dear = 0.55, 0.37
            share = share * dear / (share * dear + (1 - share) * usual)
            mean = 100 * (1 + gap / (1 - share * gap) * is_dear)
        if self.kind == "factor":
            frame["x"] = is_dear - share + rng.normal(size=n)
            mean = mean + 15 * frame["x"].to_numpy()
        if self.kind == "age":
            frame["age"] = rng.uniform(18, 80, n)
        if self.kind == "policies":
            mean = mean * self.noise(rng, np.ones(n))
            frame = frame.assign(policy=np.arange(n)).loc[np.repeat(np.arange(n), 5)].reset_index(drop=True)
            return frame.assign(price=np.repeat(mean, 5) * rng.gamma(25, 1 / 25, len(frame)))
        return frame.assign(price=mean * self.noise(rng, frame["years"].to_numpy()))


def _tweedie(rng: np.random.Generator, w: Array) -> Array:
    """Compound Poisson sums of exponentials with mean 1 and variance 1; one in seven is 0."""
    counts = rng.poisson(2, len(w))
    return np.where(counts > 0, rng.gamma(np.maximum(counts, 1)) / 2, 0.0)


AMONG_EQUALS = (("sensitive", "group"), ("controls", ["x"]), ("criterion", "conditional_independence"))
CASES = {
    "two levels, balanced": Case(shares=[0.5, 0.5], dear=1, middling=0.06),
    "rare class, 3 %": Case(shares=[0.57, 0.4, 0.03], dear=2, middling=0.25),
    "seven regions of unequal size": Case(shares=REGIONS, dear=3, middling=0.16),
    "class follows a factor": Case(
        shares=[0.6, 0.3, 0.1], dear=1, middling=0.09, kind="factor", roles=AMONG_EQUALS
    ),
    "heavy tails (Tweedie)": Case(shares=[0.4, 0.3, 0.2, 0.1], dear=2, middling=0.2, noise=_tweedie),
    "exposure follows the class": Case(
        shares=[0.4, 0.3, 0.3], dear=2, middling=0.15, kind="exposure",
        roles=(("sensitive", "group"), ("exposure", "years")),
    ),
    "age and sex": Case(
        shares=[0.5, 0.5], dear=1, middling=0.07, kind="age", roles=(("sensitive", ["age", "group"]),)
    ),
    "five rows a policy": Case(
        shares=[0.5, 0.3, 0.2], dear=2, middling=0.2, n=2_000, kind="policies",
        roles=(("sensitive", "group"), ("groups", "policy")),
    ),
}  # fmt: skip


def audited(case: Case, frame: pd.DataFrame, seed: int) -> tuple[str, float]:
    """Verdict, and the p-value for no gap; for several attributes, the smallest Holm-corrected p-value."""
    kept: list[Any] = []

    def keep(audits: Any) -> Any:
        kept.extend(audits)
        return compute_verdicts(audits)

    roles = dict(case.roles)
    with ExitStack() as stack:
        for link in LINKS:
            stack.enter_context(patch(link, return_value=np.nan))
        stack.enter_context(patch("fairdash.auditing.audit.compute_verdicts", keep))
        result = fd.audit(frame, price="price", questions=[1], max_gap=DELTA, random_state=seed, **roles)
    criterion = result.plan.criterion
    return result.verdict, min(holm([each.criteria[criterion].found.p_value for each in kept]))


def of_f_test(case: Case, frame: pd.DataFrame, rng: np.random.Generator) -> float:
    """p-value of the permutation F-test; for several attributes, the smallest Holm-corrected p-value."""
    if case.kind == "policies":
        frame = frame.groupby("policy").agg({"price": "mean", "group": "first", "years": "first"})
    if case.kind == "age":
        frame = frame.assign(age=pd.qcut(frame["age"], 10, labels=False))
    root = np.sqrt(frame["years"].to_numpy())[:, None]
    nuisance = np.column_stack([np.ones(len(frame)), *([frame["x"]] if "x" in frame else [])]) * root
    base = np.linalg.qr(nuisance)[0]
    residual = (frame["price"].to_numpy() * root[:, 0])[:, None]
    residual = residual - base @ (base.T @ residual)
    drawn = np.column_stack([residual, *(rng.permutation(residual) for _ in range(N_PERMUTATIONS))])
    drawn -= base @ (base.T @ drawn)
    p_values = []
    for name in ("group", "age") if case.kind == "age" else ("group",):
        dummies = pd.get_dummies(frame[name]).to_numpy(dtype=float)[:, 1:] * root
        classes = np.linalg.qr(dummies - base @ (base.T @ dummies))[0]
        between = ((classes.T @ drawn) ** 2).sum(axis=0)
        ratio = between / ((drawn**2).sum(axis=0) - between)
        p_values.append((1 + (ratio[1:] >= ratio[0] * (1 - 1e-12)).sum()) / (1 + N_PERMUTATIONS))
    return min(holm(p_values))


def counts(name: str, seeds: int) -> dict[str, Any]:
    """One row of the table."""
    case = CASES[name]
    row: dict[str, Any] = {"case": name, "rows": case.n, "samples": seeds}
    for what, gap in (("no gap", 0.0), ("at δ", DELTA), ("middling", case.middling)):
        verdicts, ours, theirs = [], 0, 0
        for seed in range(seeds):
            rng = np.random.default_rng([seed, list(CASES).index(name), round(1_000 * gap)])
            frame = case.draw(rng, gap)
            verdict, p_value = audited(case, frame, seed)
            verdicts.append(verdict)
            ours += p_value <= 0.05
            theirs += of_f_test(case, frame, rng) <= 0.05
        if what == "no gap":
            row |= {"no gap: above": verdicts.count("above"), "below": verdicts.count("below")}
        if what == "at δ":
            row |= {"at δ: above": verdicts.count("above"), "at δ: below": verdicts.count("below")}
        else:
            row |= {f"{what}: found": ours, f"{what}: found by F": theirs}
    return row | {"middling gap": case.middling}


def page_lines(table: pd.DataFrame) -> list[str]:
    """The table of docs/classes.md."""
    lines = [
        "| case | rows | no gap: “above” | δ: “above” | δ: “below” | no gap: found, by F | found, by F |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in table.to_dict("records"):
        wrong = [
            row[f"{where}: {what}"]
            for where, what in (("no gap", "above"), ("at δ", "above"), ("at δ", "below"))
        ]
        pairs = [f"{row[f'{at}: found']}, {row[f'{at}: found by F']}" for at in ("no gap", "middling")]
        pairs[1] = f"{100 * row['middling gap']:.0f} %: {pairs[1]}"
        lines.append("| " + " | ".join(map(str, (row["case"], f"{row['rows']:,}", *wrong, *pairs))) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    options = parser.parse_args()
    rows = []
    for name in CASES:
        rows.append(counts(name, options.seeds))
        print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
