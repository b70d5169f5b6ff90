#!/usr/bin/env bash
# Package: xgboost 3.2.0 (its build for CPUs, xgboost-cpu), with scikit-learn 1.9.1 and numpy 2.4.6.
# Seen: a file saved after early stopping gives two different predictions. An XGBRegressor loaded from the file uses the
#   trees up to the best iteration. A Booster loaded from the same file uses all trees, although the file contains the
#   best iteration. No warning is given.
# Expected: one file, one prediction.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check xgboost-cpu==3.2.0 scikit-learn==1.9.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import xgboost

warnings.simplefilter("error")
rng = np.random.default_rng(0)
X = rng.normal(size=(1_000, 2))
y = rng.poisson(np.exp(1 + 0.5 * X[:, 0]))
new, old = slice(500, None), slice(500)
model = xgboost.XGBRegressor(objective="count:poisson", learning_rate=0.5, early_stopping_rounds=10)
model.fit(X[old], y[old], eval_set=[(X[new], y[new])], verbose=False)
model.save_model("model.ubj")
wrapper = xgboost.XGBRegressor()
wrapper.load_model("model.ubj")
booster = xgboost.Booster(model_file="model.ubj")
first, second = wrapper.predict(X), booster.predict(xgboost.DMatrix(X))
print("rounds:", booster.num_boosted_rounds(), "best:", booster.attr("best_iteration"))
print("the wrapper gives what the model gave:", np.allclose(first, model.predict(X)))
print("the booster does:", np.allclose(second, first, rtol=1e-3))
print("the booster with iteration_range does:", np.allclose(
    booster.predict(xgboost.DMatrix(X), iteration_range=(0, int(booster.attr("best_iteration")) + 1)), first))
PY
diff - seen.txt <<'SEEN'
rounds: 20 best: 9
the wrapper gives what the model gave: True
the booster does: False
the booster with iteration_range does: True
SEEN
