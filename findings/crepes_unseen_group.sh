#!/usr/bin/env bash
# Package: crepes 0.9.1, with numpy 2.4.6, pandas 3.1.1, scikit-learn 1.9.1 and scipy 1.17.1.
# Seen: a Mondrian conformal regressor is calibrated per group (bins). For a row of a group without calibration rows, the
#   prediction interval is [0, 0] at every level of confidence, and a predictive system gives a 90 % quantile of 0 and a
#   p-value of 0, whatever the prediction. A group of three rows gets an interval of infinite width, with a warning. The
#   unknown group gets none.
# Expected: an infinite interval as for small groups, or an error that names the group.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check crepes==0.9.1 numpy==2.4.6 pandas==3.1.1 scikit-learn==1.9.1 scipy==1.17.1
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
from crepes import ConformalPredictiveSystem, ConformalRegressor

rng = np.random.default_rng(0)
errors = rng.normal(0, 50, 403)
region = np.repeat(["north", "south", "islands"], [200, 200, 3])
prices, of = np.full(3, 800.0), np.array(["north", "islands", "capital"])
model = ConformalRegressor().fit(errors, bins=region)
system = ConformalPredictiveSystem().fit(errors, bins=region)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    intervals = model.predict_int(prices, bins=of, confidence=0.95)
    chances = system.predict_p(prices, bins=of, y=prices, seed=0)
    quantiles = system.predict_percentiles(prices, bins=of, higher_percentiles=90)
for name, (low, high), p, most in zip(of, intervals, chances, np.ravel(quantiles)):
    print(f"{name}: price 800, interval {low:.0f} to {high:.0f}, p-value {p:.1f}, 90 % quantile {most:.0f}")
print("a warning names islands:", any("islands" in str(each.message) for each in caught))
print("a warning names capital:", any("capital" in str(each.message) for each in caught))
PY
diff - seen.txt <<'SEEN'
north: price 800, interval 705 to 895, p-value 0.5, 90 % quantile 866
islands: price 800, interval -inf to inf, p-value 0.7, 90 % quantile inf
capital: price 800, interval 0 to 0, p-value 0.0, 90 % quantile 0
a warning names islands: True
a warning names capital: False
SEEN
