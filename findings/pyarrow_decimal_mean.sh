#!/usr/bin/env bash
# Package: pyarrow 26.0.1, with pandas 3.1.1 and numpy 2.4.6.
# Seen: the mean of a decimal column is rounded to the digits of the column. Databases return whole numbers as decimals
#   without digits (NUMBER of Oracle, numeric(10,0)). 1 claim in 10 policies then has a mean of 0, and 6 claims in 10
#   policies have a mean of 1, by compute.mean, by group_by, and by pandas for a column of the Arrow type. No warning is
#   given.
# Expected: 0.1 and 0.6, as for integers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check pyarrow==26.0.1 pandas==3.1.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import warnings

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

warnings.simplefilter("error")
for kind in (pa.int64(), pa.decimal128(10, 0)):
    for claims in ([1] + [0] * 9, [1] * 6 + [0] * 4):
        column = pa.array(claims, pa.int64()).cast(pa.decimal128(19, 0)).cast(kind)
        grouped = pa.table({"zone": ["a"] * 10, "claims": column}).group_by("zone").aggregate([("claims", "mean")])
        series = pd.Series(column, dtype=pd.ArrowDtype(kind))
        means = pc.mean(column).as_py(), grouped["claims_mean"][0].as_py(), series.mean()
        print(f"{kind}, {sum(claims)} claims in 10 policies: mean {means[0]}, by zone {means[1]}, by pandas {means[2]}")
PY
diff - seen.txt <<'SEEN'
int64, 1 claims in 10 policies: mean 0.1, by zone 0.1, by pandas 0.1
int64, 6 claims in 10 policies: mean 0.6, by zone 0.6, by pandas 0.6
decimal128(10, 0), 1 claims in 10 policies: mean 0, by zone 0, by pandas 0
decimal128(10, 0), 6 claims in 10 policies: mean 1, by zone 1, by pandas 1
SEEN
