#!/usr/bin/env bash
# Package: onnxmltools 1.16.0 (convert_lightgbm), with lightgbm 4.7.0, onnxruntime 1.32.0, onnx 1.23.2, skl2onnx 1.20.0,
#   scikit-learn 1.9.1, pandas 3.1.1, numpy 2.4.6 and protobuf 6.33.6.
# Seen: the file of a random forest (boosting_type="rf") divides the sum of its trees by 100, whatever their number. With 20
#   trees, each price is a fifth of the model's. For Poisson, the file also lacks the inverse of the log link, so its output
#   is near 1 where the model's price is near 1,100. Nothing warns of it. Files of boosted trees give the model's prices.
# Expected: the predictions of the model, as for boosted trees, or a refusal.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check onnxmltools==1.16.0 lightgbm==4.7.0 onnxruntime==1.32.0 onnx==1.23.2 skl2onnx==1.20.0 scikit-learn==1.9.1 pandas==3.1.1 numpy==2.4.6 protobuf==6.33.6
env/bin/python 2> warnings.txt > seen.txt <<'PY'
import lightgbm as lgb
import numpy as np
import onnxmltools
import onnxruntime
from onnxmltools.convert.common.data_types import FloatTensorType

rng = np.random.default_rng(0)
n = 3_000
x = rng.integers(18, 80, (n, 1)).astype(np.float32)
costs = 1_000 + 500 * (x[:, 0] < 30) + rng.normal(0, 100, n)
for boosting, objective, trees in (
    ("gbdt", "regression", 20), ("rf", "regression", 20), ("rf", "regression", 100), ("gbdt", "poisson", 20),
    ("rf", "poisson", 20),
):
    model = lgb.LGBMRegressor(boosting_type=boosting, objective=objective, n_estimators=trees, subsample=0.6,
                              subsample_freq=1, verbose=-1, n_jobs=1).fit(x, costs)
    file = onnxmltools.convert_lightgbm(model, initial_types=[("x", FloatTensorType([None, 1]))])
    session = onnxruntime.InferenceSession(file.SerializeToString(), providers=["CPUExecutionProvider"])
    (prices,) = session.run(None, {"x": x})
    print(f"{boosting}, {objective}, {trees} trees: file {prices.mean():.0f}, model {model.predict(x).mean():.0f}")
PY
diff - seen.txt <<'SEEN'
gbdt, regression, 20 trees: file 1094, model 1094
rf, regression, 20 trees: file 219, model 1093
rf, regression, 100 trees: file 1093, model 1093
gbdt, poisson, 20 trees: file 1094, model 1094
rf, poisson, 20 trees: file 1, model 1098
SEEN
