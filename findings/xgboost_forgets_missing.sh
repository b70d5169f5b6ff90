#!/usr/bin/env bash
# Package: xgboost 3.2.0 (its build for CPUs, xgboost-cpu), with scikit-learn 1.9.1 and numpy 2.4.6.
# Seen: a model that was fitted with missing=-1, saved as JSON or UBJSON and loaded again treats -1 as a number. Rows
#   without missing values have the same predictions as before, and all other rows have different ones. No warning is
#   given.
# Expected: the loaded model gives the predictions of the saved model.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check xgboost-cpu==3.2.0 scikit-learn==1.9.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
from xgboost import XGBRegressor

warnings.simplefilter("error")
rng = np.random.default_rng(0)
age = rng.integers(18, 90, 1_000).astype(float)
y = 100 + age
age[rng.random(1_000) < 0.2] = -1
X, known = age[:, None], age >= 0
model = XGBRegressor(missing=-1, n_estimators=20).fit(X, y)
for file in ("model.json", "model.ubj"):
    model.save_model(file)
    loaded = XGBRegressor()
    loaded.load_model(file)
    before, after = model.predict(X), loaded.predict(X)
    print(file, "missing is", loaded.get_params()["missing"])
    print("  known rows are the same:", np.allclose(after[known], before[known]))
    print("  others differ by more than 20:", bool((np.abs(after - before)[~known] > 20).all()))
PY
diff - seen.txt <<'SEEN'
model.json missing is nan
  known rows are the same: True
  others differ by more than 20: True
model.ubj missing is nan
  known rows are the same: True
  others differ by more than 20: True
SEEN
