#!/usr/bin/env bash
# Package: interpret-core 0.7.8 (ExplainableBoostingRegressor), with polars 2.1.0, pandas 3.1.1, numpy 2.4.6 and
#   scikit-learn 1.9.1.
# Seen: a model fitted to a frame matches the columns of a pandas frame by name, in any order. It also accepts polars
#   frames, but matches their columns by position, although they have the same names. If the order differs, predict
#   returns other prices, and no warning is given.
# Expected: columns matched by name, as for pandas, or an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check interpret-core==0.7.8 polars==2.1.0 pandas==3.1.1 numpy==2.4.6 scikit-learn==1.9.1
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import pandas as pd
import polars as pl
from interpret.glassbox import ExplainableBoostingRegressor

warnings.simplefilter("error")
rng = np.random.default_rng(0)
x = pd.DataFrame({"age": rng.uniform(20, 80, 2_000), "power": rng.uniform(40, 120, 2_000)})
cost = 3 * x["age"] + rng.normal(0, 5, 2_000)
settings = {"interactions": 0, "outer_bags": 2, "max_rounds": 300, "n_jobs": 1}
model = ExplainableBoostingRegressor(**settings).fit(x, cost)
for name, frame in (
    ("pandas", x), ("pandas, another order", x[["power", "age"]]),
    ("polars", pl.from_pandas(x)), ("polars, another order", pl.from_pandas(x[["power", "age"]])),
):
    print(f"{name}: correlation of price and age {np.corrcoef(model.predict(frame), x['age'])[0, 1]:.1f}")
PY
diff - seen.txt <<'SEEN'
pandas: correlation of price and age 1.0
pandas, another order: correlation of price and age 1.0
polars: correlation of price and age 1.0
polars, another order: correlation of price and age 0.0
SEEN
