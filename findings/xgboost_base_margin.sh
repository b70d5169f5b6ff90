#!/usr/bin/env bash
# Package: xgboost 3.2.0 (its build for CPUs, xgboost-cpu), with scikit-learn 1.9.1 and numpy 2.4.6.
# Seen: a Poisson model fitted with base_margin = log(exposure) gives different predictions without a margin and with a
#   margin of 0. Without a margin, each prediction is multiplied by base_score, the mean of the counts, which training
#   with a margin never used. Here the rate per unit of exposure is 1.85 times too high. The saved file does not state
#   whether the model was fitted with a margin.
# Expected: no margin and a margin of 0 are the same, as no offset and an offset of 0 are in a GLM; or base_score is neutral
#   in a model that was fitted with a margin.
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
X, years = rng.normal(size=(2_000, 2)), rng.uniform(0.2, 1, 2_000)
rate = np.exp(1 + 0.5 * X[:, 0])
counts = rng.poisson(years * rate)
model = xgboost.XGBRegressor(objective="count:poisson", n_estimators=50).fit(X, counts, base_margin=np.log(years))
none, zero = model.predict(X), model.predict(X, base_margin=np.zeros(len(X)))
print("a margin of 0:", round(float(zero.mean() / rate.mean()), 1), "times the true rate")
print("no margin:", round(float(none.mean() / rate.mean()), 1), "times the true rate")
print("their ratio is the mean count in each row:", np.allclose(none / zero, counts.mean(), rtol=1e-3))
PY
diff - seen.txt <<'SEEN'
a margin of 0: 1.0 times the true rate
no margin: 1.9 times the true rate
their ratio is the mean count in each row: True
SEEN
