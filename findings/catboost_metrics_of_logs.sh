#!/usr/bin/env bash
# Package: catboost 1.2.10, with numpy 2.4.6.
# Seen: eval_metrics of a Poisson or Tweedie model compares counts with the logarithms of the predictions, if it is asked
#   for another metric than the loss. RMSE is 8.4, where the error of predict is 2.3, and R2 is negative, where score
#   gives 0.8. calc_feature_statistics shows the mean target next to a mean of logarithms. A model of the squared error
#   gives the right figures. Nothing warns.
# Expected: metrics of what predict gives, or an error for a metric of another scale.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check catboost==1.2.10 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import numpy as np
from catboost import CatBoostRegressor, Pool

rng = np.random.default_rng(0)
x = rng.uniform(0, 1, (2_000, 2))
claims = rng.poisson(np.exp(1 + 2 * x[:, 0]))
for loss in ("Poisson", "Tweedie:variance_power=1.5", "RMSE"):
    model = CatBoostRegressor(
        loss_function=loss, iterations=300, learning_rate=0.1, verbose=0, thread_count=1, allow_writing_files=False
    ).fit(x, claims)
    own = model.eval_metrics(Pool(x, claims), ["RMSE", "R2"])
    price = model.predict(x)
    rmse = np.sqrt(np.mean((price - claims) ** 2))
    logs = np.sqrt(np.mean((model.predict(x, prediction_type="RawFormulaVal") - claims) ** 2))
    print(f"{loss}: RMSE {own['RMSE'][-1]:.1f}, of predict {rmse:.1f}, of raw predictions {logs:.1f}")
    print(f"  R2 {own['R2'][-1]:.1f}, by score {model.score(x, claims):.1f}")
    table = model.calc_feature_statistics(x, claims, 0, plot=False)
    weights = table["objects_per_bin"]
    target, prediction = (np.average(table[each], weights=weights) for each in ("mean_target", "mean_prediction"))
    print(f"  feature statistics: mean target {target:.1f}, mean prediction {prediction:.1f}")
PY
diff - seen.txt <<'SEEN'
Poisson: RMSE 8.4, of predict 2.3, of raw predictions 8.4
  R2 -1.2, by score 0.8
  feature statistics: mean target 8.7, mean prediction 2.0
Tweedie:variance_power=1.5: RMSE 8.4, of predict 2.4, of raw predictions 8.4
  R2 -1.2, by score 0.8
  feature statistics: mean target 8.7, mean prediction 2.0
RMSE: RMSE 2.4, of predict 2.4, of raw predictions 2.4
  R2 0.8, by score 0.8
  feature statistics: mean target 8.7, mean prediction 8.7
SEEN
