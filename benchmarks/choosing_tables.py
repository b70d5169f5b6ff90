"""The tables of docs/choosing.md, from the committed results.

python -m benchmarks.choosing_tables
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "choosing.md"


def page() -> str:
    """The page with tables made from the results."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (("find_lam", _find_lam()), ("confirmation", _confirmation())):
        text = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)",
            lambda found, table=table: f"{found[1]}{table}\n{found[2]}",
            text,
            flags=re.DOTALL,
        )
    return text


def _find_lam() -> str:
    rows = []
    for when, file in (("before", "find_lam_before"), ("now", "find_lam")):
        for n, found in pd.read_csv(RESULTS / f"{file}.csv").groupby("rows"):
            gap = found["foretold"] - found["found"]
            rows.append(
                f"| {n:,} | {when} | {len(found)} | {found['foretold'].mean():.1f} | "
                f"{found['found'].mean():.1f} | {gap.mean():+.1f} ± {gap.sem():.1f} |"
            )
    return _table("| rows | folds | seeds | predicted | found | difference |", sorted(rows, key=_rows_of))


def _rows_of(line: str) -> int:
    return int(line.split("|")[1].replace(",", ""))


def _confirmation() -> str:
    laws = pd.read_csv(RESULTS / "confirmation.csv")
    return _table(
        "| predictions | runs | HGR of the choice | no link on its own test rows | confirmed |",
        [
            f"| {law} | {runs} | {hgr:.2f} | {100 * fair:.0f} % | {100 * confirmed:.0f} % |"
            for law, runs, hgr, fair, confirmed in laws[
                ["law", "runs", "hgr", "fair_on_test", "confirmed"]
            ].itertuples(index=False)
        ],
    )


def _table(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *rows])


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
