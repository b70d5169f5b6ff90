#!/usr/bin/env bash
# Package: onnxmltools 1.16.0 (convert_xgboost), with xgboost 3.2.0, onnxruntime 1.32.0, scikit-learn 1.9.1 and
#   protobuf 6.33.6.
# Seen: a model with the objective reg:logistic, which predicts rates in (0, 1), is converted without a warning to a file
#   that returns numbers on the scale of log-odds. These are not the log-odds either, because the base score, a rate, is
#   added without conversion. Files of models with reg:squarederror and count:poisson return the model's predictions.
# Expected: the file gives the model's predictions, as it does for count:poisson, or the conversion is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check onnxmltools==1.16.0 xgboost==3.2.0 onnxruntime==1.32.0 scikit-learn==1.9.1 protobuf==6.33.6
env/bin/python > seen.txt <<'PY'
import numpy as np
import onnxruntime
import xgboost
from onnxmltools import convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

onnxruntime.set_default_logger_severity(3)
rng = np.random.default_rng(0)
X = rng.normal(size=(1_000, 2)).astype(np.float32)
rate = 1 / (1 + np.exp(-X[:, 0]))
for objective, y in (("reg:squarederror", rate), ("count:poisson", rng.poisson(rate)), ("reg:logistic", rate)):
    model = xgboost.XGBRegressor(objective=objective, n_estimators=20, max_depth=3).fit(X, y)
    own = model.predict(X)
    content = convert_xgboost(model, initial_types=[("x", FloatTensorType([None, 2]))]).SerializeToString()
    file = onnxruntime.InferenceSession(content).run(None, {"x": X})[0].ravel()
    if np.allclose(file, own, atol=1e-3):
        print(objective, "the predictions")
        continue
    off = file - np.log(own / (1 - own))
    base = model.intercept_[0]
    print(objective, "their log-odds and", "a number" if np.ptp(off) < 1e-4 else "something else", end=", ")
    print("of the base score less its log-odds" if abs(off.mean() - base + np.log(base / (1 - base))) < 1e-3 else "")
PY
diff - seen.txt <<'SEEN'
reg:squarederror the predictions
count:poisson the predictions
reg:logistic their log-odds and a number, of the base score less its log-odds
SEEN
