#!/usr/bin/env bash
# Package: pot 0.9.7.post1, with numpy 2.4.6 and scipy 1.17.1.
# Seen: for two columns of whole numbers (int64), wasserstein_1d is 0, whatever the values. The weights of quantiles have
#   the type of the columns, in which 1/n is 0. emd2_1d of the same input is right. No warning is given.
# Expected: the distance of the same numbers as floats, as in scipy and emd2_1d, or an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check pot==0.9.7.post1 numpy==2.4.6 scipy==1.17.1
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import ot
from scipy.stats import wasserstein_distance

warnings.simplefilter("error")
rng = np.random.default_rng(0)
women, men = rng.integers(200, 900, 50), rng.integers(100, 700, 80)
for kind in (float, int):
    u, v = women.astype(kind), men.astype(kind)
    found = wasserstein_distance(u, v), ot.emd2_1d(u, v, metric="euclidean"), ot.wasserstein_1d(u, v)
    print(f"prices as {kind.__name__}:", "scipy {:.1f}, emd2_1d {:.1f}, wasserstein_1d {:.1f}".format(*map(float, found)))
PY
diff - seen.txt <<'SEEN'
prices as float: scipy 96.8, emd2_1d 96.8, wasserstein_1d 96.8
prices as int: scipy 96.8, emd2_1d 96.8, wasserstein_1d 0.0
SEEN
