#!/usr/bin/env bash
# Package: xgboost 3.2.0 (its build for CPUs, xgboost-cpu), with pandas 3.1.1, scikit-learn 1.9.1 and numpy 2.4.6.
# Seen: with reg:absoluteerror and reg:quantileerror, a monotone constraint is accepted but not satisfied. After each
#   tree, its leaves are set to quantiles of residuals, ignoring the constraint. The median price falls along a mileage
#   with a rising constraint, although costs rise with mileage. The squared error and count:poisson satisfy the
#   constraint.
# Expected: prices that never fall along the column, or an error, as LightGBM gives for the absolute error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check xgboost-cpu==3.2.0 pandas==3.1.1 scikit-learn==1.9.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import numpy as np
import pandas as pd
from xgboost import XGBRegressor

rng = np.random.default_rng(0)
x = pd.DataFrame({"km": rng.uniform(0, 30, 4_000), "age": rng.uniform(18, 80, 4_000)})
cost = rng.gamma(1.2, 300, 4_000) * (1 + x["km"] / 30)
steps = pd.DataFrame({"km": np.linspace(0, 30, 301)})
for objective, options in (
    ("reg:squarederror", {}),
    ("count:poisson", {}),
    ("reg:absoluteerror", {}),
    ("reg:quantileerror", {"quantile_alpha": 0.9}),
):
    model = XGBRegressor(objective=objective, monotone_constraints={"km": 1}, n_jobs=1, **options).fit(x, cost)
    prices = np.array([model.predict(steps.assign(age=float(age))) for age in (25, 45, 65)])
    fall = float((np.maximum.accumulate(prices, axis=1) - prices).max() / prices.mean())
    words = "never falls" if fall == 0 else "falls by more than 10 % of its mean" if fall > 0.1 else "falls"
    print(f"{objective}: the price {words} along km")
PY
diff - seen.txt <<'SEEN'
reg:squarederror: the price never falls along km
count:poisson: the price never falls along km
reg:absoluteerror: the price falls by more than 10 % of its mean along km
reg:quantileerror: the price falls by more than 10 % of its mean along km
SEEN
