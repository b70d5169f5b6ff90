#!/usr/bin/env bash
# Package: polars 2.1.0 (read_excel), with fastexcel 0.21.0, pyarrow 26.0.1 and xlsxwriter 3.3.1.
# Seen: the type of a column is guessed from its first 1,000 rows. Later text in a column that began with numbers becomes
#   null without a warning: of 1,500 policies, those of zones 2A and 2B have no zone. fastexcel alone does the same. If
#   one of the first rows contains text, the column is read as text without loss.
# Expected: a column of text, or an error, as in read_csv.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check polars==2.1.0 fastexcel==0.21.0 pyarrow==26.0.1 xlsxwriter==3.3.1
env/bin/python > seen.txt <<'PY'
import warnings

import fastexcel
import polars as pl
import xlsxwriter

warnings.simplefilter("error")
zones = [1 + k % 5 for k in range(1_000)] + ["2A", "2B"] * 250
for name, cells in (("late", zones), ("early", zones[::-1])):
    with xlsxwriter.Workbook(f"{name}.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_column(0, 0, ["policy", *range(len(cells))])
        sheet.write_column(0, 1, ["zone", *cells])
    tables = {
        "polars": pl.read_excel(f"{name}.xlsx"),
        "fastexcel": fastexcel.read_excel(f"{name}.xlsx").load_sheet(0).to_polars(),
    }
    for reader, table in tables.items():
        nulls = table["zone"].null_count()
        print(f"{reader}, text {name}: zone is {table.schema['zone']}, {nulls} of {len(table):,} cells are null")
PY
diff - seen.txt <<'SEEN'
polars, text late: zone is Int64, 500 of 1,500 cells are null
fastexcel, text late: zone is Float64, 500 of 1,500 cells are null
polars, text early: zone is String, 0 of 1,500 cells are null
fastexcel, text early: zone is String, 0 of 1,500 cells are null
SEEN
