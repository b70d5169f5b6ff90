"""How many planted leaks ``fd.check_data`` finds, and what it says of honest tables.

python -m benchmarks.leak_tables

Tables are by whoever wrote the check ("own") and by two who had not read its rule ("stranger", "fresh"; the
latter made when the check stood, and run once it was fixed). A certain leak is found if every planted column
is left out; a suspect one if a planted column is named at either level.
"""

from __future__ import annotations

import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from fairdash.data.leak_check import check_data

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    rows = []
    for by in ("own", "stranger", "fresh"):
        module = f"benchmarks.leak_tables_{by}"
        if find_spec(module) is None:
            continue
        for name, kind, frame, roles, planted in import_module(module).tables():
            began = time.perf_counter()
            found = check_data(frame, **roles)
            wrong = set(found.certain) - planted if kind == "certain" else set(found.certain)
            rows.append(
                {
                    "by": by,
                    "table": name,
                    "kind": kind,
                    "rows": len(frame),
                    "planted": " ".join(sorted(planted)),
                    "certain": " ".join(found.certain),
                    "suspect": " ".join(found.suspect),
                    "found": planted <= set(found.certain)
                    if kind == "certain"
                    else bool(planted & {*found.certain, *found.suspect}),
                    "loses_a_column": bool(wrong) and kind == "honest",
                    "warned": bool(found.suspect),
                }
            )
            print(rows[-1] | {"seconds": round(time.perf_counter() - began, 2)}, flush=True)
    table = pd.DataFrame(rows)
    table.to_csv(RESULTS / "leak_tables.csv", index=False)
    for (by, kind), part in table.groupby(["by", "kind"]):
        found = "" if kind == "honest" else f"planted found in {part['found'].sum()}, "
        print(
            f"{by}, {kind}: {len(part)} tables, {found}a column lost in {part['loses_a_column'].sum()}, "
            f"warned in {part['warned'].sum()}"
        )


if __name__ == "__main__":
    main()
