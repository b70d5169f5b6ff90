#!/usr/bin/env bash
# Package: pygam 0.12.0, with numpy 2.4.6 and scipy 1.16.3.
# Seen: PoissonGAM.gridsearch, which chooses the smoothing, divides counts by the exposure twice. It passes the exposure
#   as the weights of rates to a method that takes them for an exposure again. With exposures in years, the predicted
#   claims of the training rows are twice the claims; with the same exposures in months, a sixth of them. fit gives the
#   sum of the claims in both units. No warning is given.
# Expected: about the level of fit, as the models differ only in their smoothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check pygam==0.12.0 numpy==2.4.6 scipy==1.16.3
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
from pygam import PoissonGAM, s

warnings.simplefilter("error")
rng = np.random.default_rng(0)
n = 3_000
age = rng.uniform(0, 1, (n, 1))
years = rng.uniform(0.05, 1, n)
claims = rng.poisson(years * 5 * np.exp(-1 + np.sin(6 * age[:, 0])))
for unit, exposure in (("years", years), ("months", 12 * years)):
    fitted = PoissonGAM(s(0)).fit(age, claims, exposure=exposure)
    searched = PoissonGAM(s(0)).gridsearch(age, claims, exposure=exposure, progress=False)
    shares = [model.predict(age, exposure=exposure).sum() / claims.sum() for model in (fitted, searched)]
    print(f"exposure in {unit}: predicted / observed claims by fit {shares[0]:.2f}, by gridsearch {shares[1]:.2f}")
PY
diff - seen.txt <<'SEEN'
exposure in years: predicted / observed claims by fit 1.00, by gridsearch 1.97
exposure in months: predicted / observed claims by fit 1.00, by gridsearch 0.16
SEEN
