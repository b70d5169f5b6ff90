"""Write docs/estimators.md from the committed results of the estimator studies.

    python -m benchmarks.estimator_tables

The results themselves are remade by benchmarks.estimators and benchmarks.coverage.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "estimators.md"


def page() -> str:
    """The whole page as Markdown."""
    gaussian = pd.read_csv(RESULTS / "estimators_gaussian.csv").assign(truth=lambda rows: rows["truth"].abs())
    gaussian["mean (truth)"] = [
        f"{mean:.3f} ({truth:.3f})" for mean, truth in zip(gaussian["mean"], gaussian["truth"], strict=True)
    ]
    by_rho = gaussian.pivot(index="measure", columns="rho", values="mean (truth)")
    by_rho = by_rho.loc[gaussian["measure"].unique()].rename(columns=lambda rho: f"ρ = {rho:g}").reset_index()
    patterns = pd.read_csv(RESULTS / "estimators_patterns.csv").rename(columns={"ms_a_value": "ms a value"})
    links = pd.read_csv(RESULTS / "hard_links.csv")
    judges = pd.read_csv(RESULTS / "judges.csv")
    power = judges.pivot_table(
        index=["link", "rows"], columns="measure", values="power", sort=False, aggfunc="first"
    )[list(judges["measure"].unique())].reset_index()
    coverage = pd.read_csv(RESULTS / "coverage.csv")
    speed = pd.read_csv(RESULTS / "estimators_speed.csv")
    return "\n".join(
        [
            "# How good the estimators are",
            "",
            "Made by `python -m benchmarks.estimator_tables` from `benchmarks/results/`, which "
            "`python -m benchmarks.estimators`, `python -m benchmarks.hard_links`, "
            "`python -m benchmarks.judges` and `python -m benchmarks.coverage` remake. Fitted "
            "measures are cross-fitted unless the table says otherwise.",
            "",
            "## Bivariate Gaussians, 2,000 rows: mean over 20 data sets (truth)",
            "",
            markdown(by_rho),
            "",
            "## The paper's four kinds of pattern, 500 rows",
            "",
            "Root mean squared error and bias against the exact maximal correlation, over ten noise levels "
            "from 0.5 to 9 and five data sets each; the last columns are the readings without noise, where "
            "the truth is 1.",
            "",
            markdown(patterns),
            "",
            "## Links that the paper does not have",
            "",
            "Root mean squared error against the exact maximal correlation over 100 data sets "
            "(`python -m benchmarks.hard_links`).",
            "",
            markdown(links),
            "",
            "## Which measure is shown, and chosen by",
            "",
            "The share of data sets in which the measure's own permutation test (99 permutations, 5 %) "
            "finds the link: 200 of 300 rows, 100 of 1,000 (`python -m benchmarks.judges`). `hgr_spline`, "
            "corrected, is blind to no row and has the smallest error of the table before on most: pages, "
            "reports and the command line show it and choose by it unless told otherwise. The spline "
            "network itself is chosen by `hgr_kde_scores`, since `hgr_spline` is nearly its own penalty. "
            "RDC misses jumps, HGR_KDE heavy tails, and FairQuant all that leaves the averages of groups "
            "alike: a link in spread, a ring.",
            "",
            markdown(power),
            "",
            "## Coverage of the 95 % interval of `hgr_spline`",
            "",
            markdown(coverage),
            "",
            "## Time",
            "",
            "Processor time on one core, paired with the published forms in one run.",
            "",
            markdown(speed),
            "",
        ]
    )


def markdown(table: pd.DataFrame) -> str:
    """The table in Markdown, numbers with three digits."""

    def cell(value: object) -> str:
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    rows = [list(table.columns), ["---"] * len(table.columns), *table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(cell(value) for value in row) + " |" for row in rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
