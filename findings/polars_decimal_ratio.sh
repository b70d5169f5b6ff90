#!/usr/bin/env bash
# Package: polars 2.1.0.
# Seen: a ratio of two decimal columns has no more digits than the columns. Claims of 1.00 for an exposure of 300.00 years
#   have a frequency of 0.00, and a ratio of two sums is cut to cents as well. Counts of type numeric(10,0), as databases
#   return them, give whole-number ratios. The mean of the same columns is a float.
# Expected: enough digits for a rate, as for floats and integers, and as in DuckDB.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check polars==2.1.0
env/bin/python > seen.txt <<'PY'
import warnings

import polars as pl

warnings.simplefilter("error")
rows = pl.DataFrame({"claims": [1, 7], "years": [300, 40]})
for name, kind in (
    ("integers", pl.Int64), ("floats", pl.Float64), ("decimals of 2 digits", pl.Decimal(10, 2)), ("decimals of none", pl.Decimal(10, 0))
):
    table = rows.cast(kind)
    rates = table.select(pl.col("claims") / pl.col("years")).to_series().to_list()
    total = table.select(pl.col("claims").sum() / pl.col("years").sum()).item()
    print(f"{name}: frequencies {float(rates[0]):.4f} and {float(rates[1]):.4f}, of all {float(total):.4f}")
PY
diff - seen.txt <<'SEEN'
integers: frequencies 0.0033 and 0.1750, of all 0.0235
floats: frequencies 0.0033 and 0.1750, of all 0.0235
decimals of 2 digits: frequencies 0.0000 and 0.1800, of all 0.0200
decimals of none: frequencies 0.0000 and 0.0000, of all 0.0000
SEEN
