#!/usr/bin/env bash
# Package: xgboost 3.2.0 (its build for CPUs, xgboost-cpu), with numpy 2.4.6.
# Seen: a model trained with a custom objective (here Poisson with a log link) is saved with the objective
#   reg:squarederror. The file, JSON or UBJSON, contains no information on the custom objective except a base_score of
#   0.5, and its predictions are logarithms.
# Expected: the file states that the objective is unknown, so that a reader does not use the scores as values of the
#   outcome.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check xgboost-cpu==3.2.0 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import json
import warnings
from pathlib import Path

import numpy as np
import xgboost

warnings.simplefilter("error")
rng = np.random.default_rng(0)
X = rng.normal(size=(2_000, 2))
data = xgboost.DMatrix(X, rng.poisson(np.exp(1 + 0.5 * X[:, 0])))


def poisson(score, data):
    return np.exp(score) - data.get_label(), np.exp(score)


for name, options in (("own", {"obj": poisson}), ("squared error", {})):
    xgboost.train({"max_depth": 3}, data, 50, **options).save_model("model.json")
    learner = json.loads(Path("model.json").read_text())["learner"]
    file = xgboost.Booster(model_file="model.json")
    made, y = file.predict(data), data.get_label()
    print(f"{name}: {learner['objective']['name']}, base_score {learner['learner_model_param']['base_score']},",
          f"mean prediction {made.mean():.1f} of {y.mean():.1f}, of exp {np.exp(made).mean():.1f}")
PY
diff - seen.txt <<'SEEN'
own: reg:squarederror, base_score [5E-1], mean prediction 1.0 of 3.0, of exp 3.0
squared error: reg:squarederror, base_score [3.0465E0], mean prediction 3.0 of 3.0, of exp 648.0
SEEN
