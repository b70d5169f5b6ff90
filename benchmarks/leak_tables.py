"""How many simulated leaks ``fd.check_data`` finds, and its messages about tables without leaks.

python -m benchmarks.leak_tables                   all sets that stand in SETS
python -m benchmarks.leak_tables --tables MODULE   those of one module; results of the others stay

One set of tables is by the author of the check ("own"; "sums", where columns add up to the price or the
target), and three are by authors who had not read its rule ("stranger", "fresh", "third"). The rule was
changed after "own" and "stranger" had been run, and was fixed when "third" was made. A further set needs a
module with a function ``tables`` like theirs. A certain leak counts as found if every leaking column is left
out; a suspect one if a leaking column is named at either level.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from pathlib import Path

import pandas as pd

from fairdash.tables.leak_check import check_data

RESULTS = Path(__file__).parent / "results" / "leak_tables.csv"
PREFIX = "benchmarks.leak_tables_"
#: Modules of tables, in the order of the results.
SETS = tuple(f"{PREFIX}{by}" for by in ("own", "stranger", "fresh", "third", "sums"))


def check_tables(module: str) -> pd.DataFrame:
    """Messages of the check about a module's tables, one row each."""
    rows = []
    for name, kind, frame, roles, planted in import_module(module).tables():
        began = time.perf_counter()
        found = check_data(frame, **roles)
        named = {*found.certain, *found.suspect}
        rows.append(
            {
                "by": module.removeprefix(PREFIX),
                "table": name,
                "kind": kind,
                "rows": len(frame),
                "planted": " ".join(sorted(planted)),
                "certain": " ".join(found.certain),
                "suspect": " ".join(found.suspect),
                "found": planted <= set(found.certain) if kind == "certain" else bool(planted & named),
                "loses_a_column": bool(found.certain) and kind == "honest",
                "warned": bool(found.suspect),
            }
        )
        print(rows[-1] | {"seconds": round(time.perf_counter() - began, 2)}, flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=SETS, metavar="MODULE")
    modules = parser.parse_args().tables
    table = pd.concat([check_tables(module) for module in modules], ignore_index=True)
    for (by, kind), part in table.groupby(["by", "kind"]):
        found = "" if kind == "honest" else f"planted found in {part['found'].sum()}, "
        print(
            f"{by}, {kind}: {len(part)} tables, {found}a column lost in {part['loses_a_column'].sum()}, "
            f"warned in {part['warned'].sum()}"
        )
    if RESULTS.exists():
        before = pd.read_csv(RESULTS, keep_default_na=False)
        stays = before[~before["by"].isin(table["by"])]
        table = pd.concat([stays, table], ignore_index=True)
    order = {module.removeprefix(PREFIX): place for place, module in enumerate(SETS)}
    place = table["by"].map(order).fillna(len(order))
    table.loc[place.sort_values(kind="stable").index].to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
