#!/usr/bin/env bash
# Package: statsmodels 0.15.0, with pandas 3.1.1, numpy 2.4.6 and scipy 1.17.1.
# Seen: a GLM with an exposure gives two different predictions for its training rows. predict() returns counts for the
#   exposure of each row, and get_prediction() returns counts for an exposure of 1, with intervals. Here the latter add up
#   to 1.7 times the claims. Poisson of the discrete models does the same. No warning is given.
# Expected: the predicted mean of get_prediction() is what predict() gives, as without an exposure.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check statsmodels==0.15.0 pandas==3.1.1 numpy==2.4.6 scipy==1.17.1
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

warnings.simplefilter("error")
rng = np.random.default_rng(0)
rows = pd.DataFrame({"age": rng.uniform(20, 80, 2_000), "years": rng.uniform(0.2, 1, 2_000)})
rows["claims"] = rng.poisson(rows["years"] * np.exp(0.02 * rows["age"] - 1))
poisson = sm.families.Poisson()
for name, model in (
    ("GLM with exposure", smf.glm("claims ~ age", rows, family=poisson, exposure=rows["years"])),
    ("Poisson with exposure", smf.poisson("claims ~ age", rows, exposure=rows["years"])),
    ("GLM without", smf.glm("claims ~ age", rows, family=poisson)),
):
    fit = model.fit(**({} if "GLM" in name else {"disp": False}))
    found = fit.get_prediction()
    mean = found.predicted_mean if "GLM" in name else found.predicted
    sums = [float(np.sum(each) / rows["claims"].sum()) for each in (fit.predict(), mean)]
    print(f"{name}: predict() adds up to {sums[0]:.2f} times the claims, get_prediction() to {sums[1]:.2f}")
PY
diff - seen.txt <<'SEEN'
GLM with exposure: predict() adds up to 1.00 times the claims, get_prediction() to 1.68
Poisson with exposure: predict() adds up to 1.00 times the claims, get_prediction() to 1.68
GLM without: predict() adds up to 1.00 times the claims, get_prediction() to 1.00
SEEN
