#!/usr/bin/env bash
# Package: xgboost 3.2.0 (its build for CPUs, xgboost-cpu), with pandas 3.1.1, scikit-learn 1.9.1 and numpy 2.4.6.
# Seen: a monotone constraint on a categorical column is accepted but not satisfied. If levels are split one by one
#   (max_cat_to_onehot), the predictions equal those without the constraint. If levels are split in groups, a falling
#   constraint changes nothing, and a rising one removes the effect of the column: every level gets the same price. No
#   warning is given.
# Expected: an error, as LightGBM gives, or a constraint on the order of the levels.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check xgboost-cpu==3.2.0 pandas==3.1.1 scikit-learn==1.9.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import pandas as pd
from xgboost import XGBRegressor

warnings.simplefilter("error")
rng = np.random.default_rng(0)
bonus = pd.Categorical(rng.choice(list("abcd"), 4_000), list("abcd"), ordered=True)
x = pd.DataFrame({"bonus": bonus, "age": rng.uniform(20, 80, 4_000)})
cost = np.array([100.0, 150, 110, 200])[bonus.codes] + rng.normal(size=4_000)
levels = pd.DataFrame({"bonus": pd.Categorical(list("abcd"), list("abcd"), ordered=True), "age": 50.0})
for name, options in (
    ("no constraint", {}),
    ("rising, one by one", {"monotone_constraints": {"bonus": 1}, "max_cat_to_onehot": 100}),
    ("rising, in groups", {"monotone_constraints": {"bonus": 1}, "max_cat_to_onehot": 1}),
    ("falling, in groups", {"monotone_constraints": {"bonus": -1}, "max_cat_to_onehot": 1}),
):
    made = XGBRegressor(enable_categorical=True, n_estimators=60, **options).fit(x, cost).predict(levels)
    print(f"{name}:", made.round(-1).astype(int).tolist())
PY
diff - seen.txt <<'SEEN'
no constraint: [100, 150, 110, 200]
rising, one by one: [100, 150, 110, 200]
rising, in groups: [140, 140, 140, 140]
falling, in groups: [100, 150, 110, 200]
SEEN
