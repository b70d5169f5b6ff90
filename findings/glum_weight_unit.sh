#!/usr/bin/env bash
# Package: glum 3.4.1, with pandas 3.1.1, numpy 2.4.6, scikit-learn 1.9.1 and statsmodels 0.15.0 for comparison.
# Seen: standard errors with robust=False depend on the unit of sample_weight. The documentation calls the weights inverse
#   to the variance, and the dispersion is divided by their sum, as if they counted rows. A claim frequency with its
#   exposure in days has a standard error of a twentieth of the one with its exposure in years, and neither is right.
#   The coefficients and robust=True, the default, do not depend on the unit.
# Expected: one standard error for the same model, near the robust one, as in statsmodels.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check glum==3.4.1 pandas==3.1.1 numpy==2.4.6 scikit-learn==1.9.1 statsmodels==0.15.0
env/bin/python > seen.txt <<'PY'
import numpy as np
import pandas as pd
import statsmodels.api as sm
from glum import GeneralizedLinearRegressor

rng = np.random.default_rng(0)
n = 5_000
x = pd.DataFrame({"age": rng.uniform(0, 1, n)})
years = rng.uniform(0.05, 1, n)
claims = rng.poisson(years * np.exp(-1 + x["age"]))
for unit, exposure in (("years", years), ("days", 365 * years)):
    rate = claims / exposure
    model = GeneralizedLinearRegressor(family="poisson", alpha=0).fit(x, rate, sample_weight=exposure)
    plain = model.std_errors(x, rate, sample_weight=exposure, robust=False)[1]
    robust = model.std_errors(x, rate, sample_weight=exposure, robust=True)[1]
    design = sm.add_constant(x)
    peer = sm.GLM(rate, design, family=sm.families.Poisson(), var_weights=exposure).fit(scale="X2").bse["age"]
    print(f"exposure in {unit}: coefficient of age {model.coef_[0]:.2f}, standard error {plain:.3f}")
    print(f"  robust {robust:.3f}, by statsmodels {peer:.3f}")
PY
diff - seen.txt <<'SEEN'
exposure in years: coefficient of age 1.08, standard error 0.117
  robust 0.083, by statsmodels 0.085
exposure in days: coefficient of age 1.08, standard error 0.006
  robust 0.083, by statsmodels 0.085
SEEN
