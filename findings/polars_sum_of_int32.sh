#!/usr/bin/env bash
# Package: polars 2.1.0.
# Seen: the sum of an Int32 column has 32 bits and wraps around, alone and in groups. The sum of 30,000 premiums of 900.00
#   in cents is negative, and that of 60,000 premiums is a fifth of the true sum. Columns of Int8 and Int16 are summed as
#   Int64, and the mean is right. R and Spark write whole numbers as Int32.
# Expected: the sum as Int64, as for smaller types, or an error.
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
for count in (30_000, 60_000):
    rows = pl.DataFrame({"zone": ["north"] * count, "cents": pl.Series([90_000] * count, dtype=pl.Int32)})
    in_zones = rows.group_by("zone").agg(pl.col("cents").sum())["cents"].item()
    print(f"{count} premiums: sum {rows['cents'].sum() / 100:.0f}, in its zone {in_zones / 100:.0f},",
          f"of Int64 {rows['cents'].cast(pl.Int64).sum() / 100:.0f},",
          f"mean times count {rows['cents'].mean() * count / 100:.0f}")
small = pl.Series([100] * 30_000, dtype=pl.Int8)
print("Int8:", small.sum(), "of", 100 * 30_000)
PY
diff - seen.txt <<'SEEN'
30000 premiums: sum -15949673, in its zone -15949673, of Int64 27000000, mean times count 27000000
60000 premiums: sum 11050327, in its zone 11050327, of Int64 54000000, mean times count 54000000
Int8: 3000000 of 3000000
SEEN
