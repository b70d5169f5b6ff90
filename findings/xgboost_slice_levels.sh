#!/usr/bin/env bash
# Package: xgboost 3.2.0 (its build for CPUs, xgboost-cpu), with pandas 3.1.1, scikit-learn 1.9.1 and numpy 2.4.6.
# Seen: a model stores its categories by name, so a frame that lists its levels in another order gets the same
#   predictions. A slice of the model, such as booster[:best + 1] after early stopping, has lost the names and uses codes
#   instead. The same rows with levels listed in another order get other prices. No warning is given, and a saved slice
#   does the same.
# Expected: a slice with all trees gives the predictions of the model.
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
from xgboost import Booster, DMatrix, XGBRegressor

warnings.simplefilter("error")
rng = np.random.default_rng(0)
zone = rng.choice(["city", "suburb", "village"], 3_000)
claims = rng.poisson(pd.Series(zone).map({"city": 2.0, "suburb": 1.0, "village": 0.2}))
trained = pd.DataFrame({"zone": pd.Categorical(zone)})
reversed_levels = pd.DataFrame({"zone": pd.Categorical(zone, ["village", "suburb", "city"])})
model = XGBRegressor(objective="count:poisson", enable_categorical=True, n_estimators=50, n_jobs=1)
whole = model.fit(trained, claims).get_booster()
whole[:50].save_model("slice.ubj")
for name, booster in (
    ("the model", whole), ("a slice of all its trees", whole[:50]), ("the slice, saved and loaded", Booster(model_file="slice.ubj"))
):
    for order, frame in (("the training's order", trained), ("another order", reversed_levels)):
        price = pd.Series(booster.predict(DMatrix(frame, enable_categorical=True))).groupby(zone).mean()
        print(f"{name}, levels in {order}: city {price['city']:.1f}, village {price['village']:.1f}")
PY
diff - seen.txt <<'SEEN'
the model, levels in the training's order: city 2.0, village 0.2
the model, levels in another order: city 2.0, village 0.2
a slice of all its trees, levels in the training's order: city 2.0, village 0.2
a slice of all its trees, levels in another order: city 0.2, village 2.0
the slice, saved and loaded, levels in the training's order: city 2.0, village 0.2
the slice, saved and loaded, levels in another order: city 0.2, village 2.0
SEEN
