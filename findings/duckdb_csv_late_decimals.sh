#!/usr/bin/env bash
# Package: duckdb 2.0.1.
# Seen: if the first 20,480 rows of a column contain no decimals, read_csv reads the column as whole numbers (BIGINT).
#   Decimals in later rows are then rounded without a warning: exposures of 0.4 years become 0 and those of 0.5 become 1.
#   Text in such rows is an error. If one of the first rows contains a decimal, the column is read as DOUBLE.
# Expected: a column of decimals, or an error as for text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check duckdb==2.0.1
env/bin/python > seen.txt <<'PY'
from pathlib import Path

import duckdb

years = [1] * 30_000 + [0.4] * 5_000 + [0.5] * 5_000
for name, cells in (("last", years), ("first", years[::-1])):
    Path(f"{name}.csv").write_text("years\n" + "".join(f"{each}\n" for each in cells))
    kind, total = duckdb.sql(f"select any_value(typeof(years)), sum(years) from '{name}.csv'").fetchall()[0]
    print(f"decimals {name}: {kind}, {total:,.0f} of {sum(years):,.0f} years")
Path("text.csv").write_text("years\n" + "1\n" * 30_000 + "half\n")
try:
    duckdb.sql("select sum(years) from 'text.csv'").fetchall()
except duckdb.ConversionException:
    print("text last: an error")
PY
diff - seen.txt <<'SEEN'
decimals last: BIGINT, 35,000 of 34,500 years
decimals first: DOUBLE, 34,500 of 34,500 years
text last: an error
SEEN
