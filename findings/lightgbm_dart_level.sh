#!/usr/bin/env bash
# Package: lightgbm 4.7.0, with xgboost 3.2.0 (its build for CPUs, xgboost-cpu) for comparison, scikit-learn 1.9.1,
#   numpy 2.4.6 and scipy 1.17.1.
# Seen: boosting="dart" loses the level of the outcome. The mean outcome is part of the first tree. If this tree is dropped,
#   the mean is dropped and shrunk too, and later trees learn it back slowly. After 50 trees, the prices of the training
#   rows add up to 0.9 times the claims for the squared error, 1.1 times for Poisson and half of them for gamma. With the
#   mean given as init_score, and with dart of XGBoost, they add up to the claims. Nothing warns.
# Expected: about the sum of the claims, as with boosting="gbdt", or a mean that is never dropped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check lightgbm==4.7.0 xgboost-cpu==3.2.0 scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1
env/bin/python > seen.txt <<'PY'
import warnings

import lightgbm as lgb
import numpy as np
import xgboost as xgb

warnings.simplefilter("error")
rng = np.random.default_rng(0)
n = 5_000
age = rng.integers(18, 80, (n, 1)).astype(float)
young = age[:, 0] < 30
costs = 1_000 + 500 * young + rng.normal(0, 100, n)
counts = rng.poisson(np.exp(-1.5 + 1.5 * young))
for objective, peer, y in (
    ("regression", "reg:squarederror", costs), ("poisson", "count:poisson", counts), ("gamma", "reg:gamma", costs),
):
    start = y.mean() if objective == "regression" else np.log(y.mean())
    inverse = (lambda score: score) if objective == "regression" else np.exp
    sums = {}
    for boosting in ("gbdt", "dart"):
        options = {"objective": objective, "boosting": boosting, "num_leaves": 8, "verbose": -1, "num_threads": 1}
        sums[boosting] = lgb.train(options, lgb.Dataset(age, y), 50).predict(age).sum()
    model = lgb.train(options, lgb.Dataset(age, y, init_score=np.full(n, start)), 50)
    sums["dart with init_score"] = inverse(start + model.predict(age, raw_score=True)).sum()
    model = xgb.XGBRegressor(booster="dart", objective=peer, n_estimators=50, max_depth=3, learning_rate=0.1,
                             rate_drop=0.1, n_jobs=1).fit(age, y)
    sums["dart of XGBoost"] = model.predict(age).sum()
    print(f"{objective}, prices / claims:")
    for name, total in sums.items():
        print(f"  {name}: {total / y.sum():.1f}")
PY
diff - seen.txt <<'SEEN'
regression, prices / claims:
  gbdt: 1.0
  dart: 0.9
  dart with init_score: 1.0
  dart of XGBoost: 1.0
poisson, prices / claims:
  gbdt: 1.0
  dart: 1.1
  dart with init_score: 1.0
  dart of XGBoost: 1.0
gamma, prices / claims:
  gbdt: 1.0
  dart: 0.5
  dart with init_score: 1.0
  dart of XGBoost: 1.0
SEEN
