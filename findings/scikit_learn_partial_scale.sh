#!/usr/bin/env bash
# Package: scikit-learn 1.9.1, with numpy 2.4.6.
# Seen: for a HistGradientBoostingRegressor with a log link (poisson, gamma), partial_dependence returns by default
#   logarithms less a constant, and with sample_weight, even if all weights are 1, averages of predictions. A model of
#   about 3 claims has a partial dependence from -0.2 to 0.1, or from 2.3 to 3.1. No warning is given.
# Expected: one scale, that of predict, or a warning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check scikit-learn==1.9.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import partial_dependence

warnings.simplefilter("error")
rng = np.random.default_rng(0)
x = np.column_stack([rng.uniform(20, 80, 3_000), rng.uniform(4, 12, 3_000)])
claims = rng.poisson(np.exp(0.5 + 0.01 * x[:, 0]))
for loss, y in (("poisson", claims), ("gamma", claims + 0.5)):
    model = HistGradientBoostingRegressor(loss=loss, max_iter=50).fit(x, y)
    for name, options in (("by default", {}), ("with weights of one", {"sample_weight": np.ones(3_000)})):
        found = partial_dependence(model, x, [0], **options)["average"]
        print(f"{loss} {name}: below 0 somewhere {bool(found.min() < 0)},",
              f"mean {abs(found.mean()):.0f} where predictions have a mean of {model.predict(x).mean():.0f}")
PY
diff - seen.txt <<'SEEN'
poisson by default: below 0 somewhere True, mean 0 where predictions have a mean of 3
poisson with weights of one: below 0 somewhere False, mean 3 where predictions have a mean of 3
gamma by default: below 0 somewhere True, mean 0 where predictions have a mean of 3
gamma with weights of one: below 0 somewhere False, mean 3 where predictions have a mean of 3
SEEN
