#!/usr/bin/env bash
# Package: lightgbm 4.7.0 and xgboost 3.2.0, with numpy 2.4.6 and scipy 1.17.1.
# Seen: if no cell of a column is missing in the training rows, LightGBM later prices a missing cell as the number 0,
#   without a warning. A driver whose age is missing gets the price of the youngest drivers. XGBoost, trained on the same
#   rows, sends the missing cell to the right of every split, which gives the price of the oldest drivers.
# Expected: an error, a warning, or a price near the average, as the models have seen no row without an age.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check lightgbm==4.7.0 xgboost==3.2.0 numpy==2.4.6 scipy==1.17.1
env/bin/python > seen.txt <<'PY'
import warnings

import lightgbm
import numpy as np
import xgboost

warnings.simplefilter("error")
rng = np.random.default_rng(0)
age = rng.uniform(18, 80, (20_000, 1))
claims = rng.poisson(np.where(age[:, 0] < 25, 0.6, np.where(age[:, 0] > 65, 0.3, 0.1)))
settings = {"objective": "poisson", "verbose": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True}
first = lightgbm.train(settings, lightgbm.Dataset(age, claims), 50).predict
data = xgboost.DMatrix(age, claims)
second = xgboost.train({"objective": "count:poisson", "nthread": 1}, data, 50)
asked = np.array([[np.nan], [0.0], [18.5], [45.0], [79.5]])
for name, price in (("lightgbm", first(asked)), ("xgboost", second.predict(xgboost.DMatrix(asked)))):
    equal = [age for age, other in zip(("0", "18.5", "45", "79.5"), price[1:]) if np.isclose(price[0], other, rtol=0.3)]
    print(name, "a missing age has the price of the ages", equal)
PY
diff - seen.txt <<'SEEN'
lightgbm a missing age has the price of the ages ['0', '18.5']
xgboost a missing age has the price of the ages ['79.5']
SEEN
