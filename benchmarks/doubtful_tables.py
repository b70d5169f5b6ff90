"""How many of 30 doubtful tables are reported, and how many of 30 regular ones cause a false report?

    python -m benchmarks.doubtful_tables

Each doubtful table has values whose meaning probably differs from their appearance: codes for missing cells,
amounts in brackets, dates as numbers, bands, two spellings of a class, or a layout that no delimiter
separates. It counts as reported if the reading report, or a fix that the data page offers, names the column,
or the report names the layout. A regular table looks similar without such values: any message about it is a
false report. Half of the tables were written by someone who had not read the rules. Writes
results/doubtful_tables.csv.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import doubtful_tables_own, doubtful_tables_stranger
from fairdash.data import read_table
from fairdash.errors import ReadingError
from fairdash.tables.features import fixes_of_columns

RESULTS = Path(__file__).parent / "results" / "doubtful_tables.csv"
AUTHORS = {"own": doubtful_tables_own, "stranger": doubtful_tables_stranger}
Make = Callable[[np.random.Generator], tuple[str, bytes]]


def said_of(name: str, content: bytes) -> list[str]:
    """Return the messages about a table: notes of the report, and columns for which a fix is offered."""
    try:
        table, report = read_table(content, name=name)
    except ReadingError as error:
        return [str(error)]
    # Every table gets the message that identifiers and dates are not used as features.
    roles = ("the column is left out", "the dates are left out")
    ways = (
        f"“{each.column}”: {each.what}" for each in fixes_of_columns(table) if not each.what.startswith(roles)
    )
    aligned = report.sentences()[:1] if report.delimiter == " " else ()
    return [*aligned, *report.notes, *ways]


def judged() -> Iterator[dict[str, object]]:
    """Judge each table."""
    for author, module in AUTHORS.items():
        for kind, tables in (("doubtful", module.DOUBTFUL), ("honest", module.HONEST)):
            for name, make in tables.items():
                said = said_of(*make(np.random.default_rng(0)))
                columns = module.EXPECTED[name] if kind == "doubtful" else []
                named = all(
                    bool(said) if each == "file" else any(f"“{each}”" in text for text in said)
                    for each in columns
                )
                yield {
                    "author": author,
                    "table": name,
                    "kind": kind,
                    "right": named if kind == "doubtful" else not said,
                    "said": " | ".join(said),
                }


def main() -> None:
    found = pd.DataFrame(judged())
    found.to_csv(RESULTS, index=False)
    print(found.groupby(["kind", "author"])["right"].agg(["sum", "size"]))
    print(found[~found["right"]][["author", "table", "kind", "said"]].to_string())


if __name__ == "__main__":
    main()
