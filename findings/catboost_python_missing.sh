#!/usr/bin/env bash
# Package: catboost 1.2.10, with pandas 3.1.1 and numpy 2.4.6.
# Seen: for a model with nan_mode="Max", save_model(format="python") writes code that sends empty cells (NaN) to the lower
#   side of each split, while the model sends them to the upper side. Rows with an empty cell therefore get other prices
#   than with predict. With nan_mode="Min" both agree, and ONNX and JSON files are right in both modes. No warning is
#   given.
# Expected: the prices of predict, or a refusal to export.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check catboost==1.2.10 pandas==3.1.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import importlib
import warnings

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor

warnings.simplefilter("error")
rng = np.random.default_rng(0)
rows = pd.DataFrame({"age": rng.uniform(18, 80, 2_000), "km": rng.uniform(0, 9, 2_000)})
is_empty = rng.random(2_000) < 0.2
rows.loc[is_empty, "age"] = np.nan
cost = np.where(is_empty, 300, 100) + 10 * rows["km"] + rows["age"].fillna(0)
for mode in ("Min", "Max"):
    model = CatBoostRegressor(iterations=50, nan_mode=mode, verbose=0, thread_count=1, allow_writing_files=False)
    model.fit(rows, cost).save_model(f"exported_{mode}.py", format="python")
    exported = importlib.import_module(f"exported_{mode}").apply_catboost_model
    own, other = model.predict(rows), np.array([exported(list(each)) for each in rows.to_numpy()])
    for name, among in (("known", ~is_empty), ("empty", is_empty)):
        print(f"nan_mode={mode}, age {name}: predict {own[among].mean():.0f}, exported code {other[among].mean():.0f}")
PY
diff - seen.txt <<'SEEN'
nan_mode=Min, age known: predict 193, exported code 193
nan_mode=Min, age empty: predict 345, exported code 345
nan_mode=Max, age known: predict 193, exported code 193
nan_mode=Max, age empty: predict 345, exported code 164
SEEN
