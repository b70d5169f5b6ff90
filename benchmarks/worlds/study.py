"""Every answer of an audit for simulated portfolios (worlds), compared with the truth over several samples.

    OMP_NUM_THREADS=1 python -m benchmarks.worlds

A world has its default number of rows, times `--times`. Writes results/worlds.csv, one row per truth: the
answer (the mean of numbers, or else the most frequent answer), its standard deviation, and the number of
samples in which it was right. Prints one row per world, and the wrong answers.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import parts
from benchmarks.worlds.book import WORLDS
from benchmarks.worlds.truths import NUMBERS

RESULTS = Path(__file__).parents[1] / "results" / "worlds.csv"
#: Number of characters that are stored of a text.
_MAX_TEXT = 60


def judged(name: str, *, seeds: int, times: int) -> pd.DataFrame:
    """Judge audits of some samples of a world: one row per truth and sample."""
    world, rows = WORLDS[name], []
    for seed in range(seeds):
        made = world.judge(world.audit(seed=seed, times=times), times=times)
        rows.append(made.assign(world=name, rows=times * world.rows, seed=seed, place=range(len(made))))
    return pd.concat(rows)


def results_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per truth: world, rows, question, truth, answer, deviation, error, samples, right."""
    made = []
    for (world, _), part in rows.groupby(["world", "place"], sort=False):
        first, said = part.iloc[0], pd.to_numeric(part["said"], errors="coerce")
        is_number = said.notna().all()
        made.append(
            {
                **first[["world", "rows", "question", "truth"]],
                "said": f"{said.mean():.4g}" if is_number else str(part["said"].mode()[0])[:_MAX_TEXT],
                "deviation": said.std() if is_number else np.nan,
                "error": first["error"] / np.sqrt(first["rows"] / WORLDS[world].rows),
                "samples": len(part),
                "right": int(part["ok"].sum()),
            }
        )
    return pd.DataFrame(made).round({"deviation": 6, "error": 6})


def page_lines(table: pd.DataFrame) -> list[str]:
    """Return one row per world: for each question, the number of samples in which all answers were right."""
    lines = [
        "| world | what is true | rows | samples | " + " | ".join(map(str, NUMBERS)) + " |",
        "|---" * (4 + len(NUMBERS)) + "|",
    ]
    for name, part in table.groupby("world", sort=False):
        cells = [name, WORLDS[name].about, f"{part['rows'].iloc[0]:,}", f"{part['samples'].iloc[0]}"]
        for number in NUMBERS:
            own = part[part["question"] == number]
            asked = not (own["truth"] == "not answered").all()
            right = own["right"].min()
            cells.append(str(right) if asked else "–" if right == own["samples"].iloc[0] else f"– {right}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="samples of each world")
    parser.add_argument("--times", type=int, default=2, help="how many times a world's own rows")

    def work(options: argparse.Namespace) -> parts.Work:
        return [(name, partial(judged, name, seeds=options.seeds, times=options.times)) for name in WORLDS]

    parts.run(parser, argv, work, results_of, RESULTS, by="world")
    table = pd.read_csv(RESULTS)
    print("\n".join(page_lines(table)))
    wrong = table[table["right"] < table["samples"]]
    print(wrong.to_string(index=False) if len(wrong) else "Every answer was right in every sample.")
