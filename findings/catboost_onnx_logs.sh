#!/usr/bin/env bash
# Package: catboost 1.2.10, with onnxruntime 1.32.0.
# Seen: a Poisson or Tweedie model saved as ONNX returns the logarithm of the model's own predictions. Neither library
#   warns. For a model of the squared error, both return the same values.
# Expected: the file returns the model's predictions, or the library states on which scale the file's predictions are.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check catboost==1.2.10 onnxruntime==1.32.0
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import onnxruntime
from catboost import CatBoostRegressor

warnings.simplefilter("error")
onnxruntime.set_default_logger_severity(3)  # it logs the shape of the output for every loss
rng = np.random.default_rng(0)
X = rng.normal(size=(1_000, 2)).astype(np.float32)
y = rng.poisson(np.exp(2 + 0.5 * X[:, 0])).astype(float)
for loss in ("RMSE", "Poisson", "Tweedie:variance_power=1.5"):
    model = CatBoostRegressor(loss_function=loss, iterations=50, verbose=False, allow_writing_files=False).fit(X, y)
    model.save_model("model.onnx", format="onnx")
    own = model.predict(X)
    (file,) = onnxruntime.InferenceSession("model.onnx").run(["predictions"], {"features": X})
    same, logs = (np.allclose(file.ravel(), each, atol=1e-3) for each in (own, np.log(own)))
    print(loss, "the predictions" if same else "their logarithms" if logs else "something else")
PY
diff - seen.txt <<'SEEN'
RMSE the predictions
Poisson their logarithms
Tweedie:variance_power=1.5 their logarithms
SEEN
