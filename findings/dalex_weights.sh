#!/usr/bin/env bash
# Package: dalex 1.8.0, with scikit-learn 1.9.1, pandas 2.3.3 and numpy 2.4.6.
# Seen: an Explainer takes weights, documented as the sampling weights of its rows. Only model_parts uses them, and only if
#   its loss has sample_weight. model_performance and model_profile show the figures of equal rows, with and without
#   weights, and nothing warns. Half of the policies here last a few days. With weights, the error is 0.20 and the mean
#   price at an age of 0.5 is 1.63; shown are 0.96 and 2.21.
# Expected: figures with the weights, or an error that they are not used.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check dalex==1.8.0 scikit-learn==1.9.1 pandas==2.3.3 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import warnings

import dalex as dx
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.metrics import root_mean_squared_error

warnings.simplefilter("error", UserWarning)
rng = np.random.default_rng(0)
n = 4_000
short = np.arange(n) % 2 == 0
x = pd.DataFrame({"age": rng.uniform(0, 1, n), "km": np.where(short, rng.uniform(0, 1, n), rng.uniform(0, 0.2, n))})
years = np.where(short, 0.01, 1.0)
cost = 3 * x["age"] + np.where(short, 5, 1) * x["km"] + rng.normal(0, 0.1, n)
model = LinearRegression().fit(x, cost, sample_weight=years)
half = x.assign(age=0.5)
for name, weights in (("without weights", None), ("with weights", years)):
    explainer = dx.Explainer(model, x, cost, weights=weights, verbose=False)
    shown = explainer.model_performance().result["rmse"].iloc[0]
    profile = explainer.model_profile(variables="age", grid_points=3, N=None, verbose=False).result
    middle = profile["_yhat_"].iloc[1]
    print(f"{name}: rmse shown {shown:.2f}, mean price at age 0.5 shown {middle:.2f}")
    parts = explainer.model_parts(loss_function=root_mean_squared_error, N=None, random_state=0).result
    print(f"  rmse by model_parts {parts['dropout_loss'].iloc[0]:.2f}")
    by_hand = root_mean_squared_error(cost, model.predict(x), sample_weight=weights)
    print(f"  by hand: rmse {by_hand:.2f}, mean price {np.average(model.predict(half), weights=weights):.2f}")
PY
diff - seen.txt <<'SEEN'
without weights: rmse shown 0.96, mean price at age 0.5 shown 2.21
  rmse by model_parts 0.96
  by hand: rmse 0.96, mean price 2.21
with weights: rmse shown 0.96, mean price at age 0.5 shown 2.21
  rmse by model_parts 0.20
  by hand: rmse 0.20, mean price 1.63
SEEN
