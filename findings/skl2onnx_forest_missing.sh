#!/usr/bin/env bash
# Package: skl2onnx 1.20.0, with scikit-learn 1.9.1, onnxruntime 1.32.0, onnx 1.22.0 and numpy 2.4.6.
# Seen: forests and trees of scikit-learn learn on which side of a split missing cells go. The ONNX file written by
#   skl2onnx does not contain this, so rows with a missing cell get other prices, here 1.5 times the model's on average.
#   Other rows are right, and no warning is given.
# Expected: the predictions of the model, or a refusal to convert trees that were fitted to missing cells.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check skl2onnx==1.20.0 scikit-learn==1.9.1 onnxruntime==1.32.0 onnx==1.22.0 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

warnings.simplefilter("error")
rng = np.random.default_rng(0)
x = rng.normal(size=(3_000, 2)).astype(np.float32)
cost = 100 + 20 * x[:, 0]
gone = rng.random(3_000) < 0.2
x[gone, 0] = np.nan
for model in (RandomForestRegressor(10, max_depth=4, random_state=0), DecisionTreeRegressor(random_state=0)):
    own = model.fit(x, cost).predict(x)
    content = to_onnx(model, x[:1]).SerializeToString()
    file = onnxruntime.InferenceSession(content).run(None, {"X": x})[0].ravel()
    same = [np.allclose(file[rows], own[rows], rtol=1e-3) for rows in (~gone, gone)]
    print(f"{type(model).__name__}: known rows equal {same[0]}, rows with a missing cell {same[1]},",
          f"on average {file[gone].mean() / own[gone].mean():.1f} times the model's")
PY
diff - seen.txt <<'SEEN'
RandomForestRegressor: known rows equal True, rows with a missing cell False, on average 1.5 times the model's
DecisionTreeRegressor: known rows equal True, rows with a missing cell False, on average 1.6 times the model's
SEEN
