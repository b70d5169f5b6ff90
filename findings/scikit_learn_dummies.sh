#!/usr/bin/env bash
# Package: scikit-learn 1.9.1, with numpy 2.4.6.
# Seen: for every column and node, HistGradientBoostingRegressor allocates max_bins + 1 histogram bins, whatever the
#   values of the column. With 3,000 columns of zeros and ones, a fit takes more than 3 times the CPU seconds of a fit
#   with max_bins=2, and all predictions are equal.
# Expected: the cost of a 0/1 column depends on its two values. The documentation calls max_bins a maximum and does not
#   mention cost.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check scikit-learn==1.9.1 numpy==2.4.6
OMP_NUM_THREADS=1 env/bin/python > seen.txt <<'PY'
import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

rng = np.random.default_rng(0)
x = (rng.random((400, 3_000)) < 0.3).astype(float)
y = x[:, 0] + rng.normal(size=400)


def fitted(max_bins: int) -> tuple[np.ndarray, float]:
    model = HistGradientBoostingRegressor(max_bins=max_bins, max_iter=60, early_stopping=False)
    begun = time.process_time()
    model.fit(x, y)
    return model.predict(x), time.process_time() - begun


fitted(2)
(few, seconds_of_few), (usual, seconds_of_usual) = fitted(2), fitted(255)
print("largest difference of predictions:", np.abs(few - usual).max().round(9))
print("255 bins take more than 3 times the seconds of 2:", seconds_of_usual > 3 * seconds_of_few)
PY
diff - seen.txt <<'SEEN'
largest difference of predictions: 0.0
255 bins take more than 3 times the seconds of 2: True
SEEN
