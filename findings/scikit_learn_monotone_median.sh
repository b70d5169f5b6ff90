#!/usr/bin/env bash
# Package: scikit-learn 1.9.1, with pandas 3.1.1 and numpy 2.4.6.
# Seen: HistGradientBoostingRegressor with loss="absolute_error" or "quantile" accepts monotonic_cst but does not satisfy
#   it. After each tree, its leaves are set to medians or quantiles of residuals, which need not rise with the column. The
#   squared error and the Poisson loss satisfy the constraint. No warning is given.
# Expected: prices that never fall along the column, or an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check scikit-learn==1.9.1 pandas==3.1.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

warnings.simplefilter("error")
rng = np.random.default_rng(0)
x = pd.DataFrame({"km": rng.uniform(0, 30, 4_000), "age": rng.uniform(18, 80, 4_000)})
cost = rng.gamma(1.2, 300, 4_000) * (1 + x["km"] / 30)
steps = pd.DataFrame({"km": np.linspace(0, 30, 301)})
for loss in ({"loss": "squared_error"}, {"loss": "poisson"}, {"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.9}):
    model = HistGradientBoostingRegressor(monotonic_cst={"km": 1}, random_state=0, **loss).fit(x, cost)
    prices = np.array([model.predict(steps.assign(age=float(age))) for age in (25, 45, 65)])
    fall = float((np.maximum.accumulate(prices, axis=1) - prices).max() / prices.mean())
    words = "never falls" if fall == 0 else "falls by more than 2 % of its mean" if fall > 0.02 else "falls"
    print(f"{loss['loss']}: the price {words} along km")
PY
diff - seen.txt <<'SEEN'
squared_error: the price never falls along km
poisson: the price never falls along km
absolute_error: the price falls by more than 2 % of its mean along km
quantile: the price falls by more than 2 % of its mean along km
SEEN
