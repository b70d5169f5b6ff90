#!/usr/bin/env bash
# Package: scikit-learn 1.9.1, with numpy 2.4.6.
# Seen: with sample_weight, HistGradientBoostingRegressor computes the bins of a column by calling a weighted percentile
#   for each of 254 quantiles, and each call sorts the column. Equal weights, which do not change the predictions, lead to
#   more than 10 times the CPU seconds of a fit without weights.
# Expected: one sort per column, as without weights.
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
x = rng.normal(size=(600, 60))
y = x[:, 0] + rng.normal(size=600)


def seconds(sample_weight: np.ndarray | None) -> float:
    model = HistGradientBoostingRegressor(max_iter=5, early_stopping=False)
    begun = time.process_time()
    model.fit(x, y, sample_weight=sample_weight)
    return time.process_time() - begun


seconds(None)
print("equal weights take more than 10 times the seconds of none:", seconds(np.ones(600)) > 10 * seconds(None))
PY
diff - seen.txt <<'SEEN'
equal weights take more than 10 times the seconds of none: True
SEEN
