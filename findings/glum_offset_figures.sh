#!/usr/bin/env bash
# Package: glum 3.4.1, with pandas 3.1.1, numpy 2.4.6, scikit-learn 1.9.1 and statsmodels 0.15.0 for comparison.
# Seen: figures of a Poisson model leave out its offset, the log of the years insured. aic, aicc and bic take none and
#   predict without it: AIC is 8676 instead of 7153, and prefers a model with a column that tells the years, not the rate.
#   score takes the offset, and compares with one count for all policies instead of one rate: it explains 22 % of the
#   deviance, where the rate explains 4 %. The coefficients are right, and nothing warns.
# Expected: likelihood and null deviance with the offset, or an error for a model that was fitted with one.
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
x = pd.DataFrame({"age": rng.uniform(0, 1, n), "parking": rng.uniform(0, 1, n)})
years = np.where(x["parking"] < 0.5, 0.2, 1.0)
claims = rng.poisson(years * np.exp(-1 + x["age"]))
for columns in (["age"], ["age", "parking"]):
    model = GeneralizedLinearRegressor(family="poisson", alpha=0)
    model.fit(x[columns], claims, offset=np.log(years))
    peer = sm.GLM(claims, sm.add_constant(x[columns]), family=sm.families.Poisson(), offset=np.log(years)).fit()
    same = np.allclose(np.r_[model.intercept_, model.coef_], peer.params, atol=1e-3)
    print(" and ".join(columns), "- same coefficients:", same)
    print(f"  AIC of glum {model.aic(x[columns], claims):.0f}, of statsmodels {peer.aic:.0f}")
    own = model.score(x[columns], claims, offset=np.log(years))
    print(f"  explained deviance of glum {own:.3f}, of statsmodels {1 - peer.deviance / peer.null_deviance:.3f}")
PY
diff - seen.txt <<'SEEN'
age - same coefficients: True
  AIC of glum 8676, of statsmodels 7153
  explained deviance of glum 0.217, of statsmodels 0.041
age and parking - same coefficients: True
  AIC of glum 8647, of statsmodels 7155
  explained deviance of glum 0.217, of statsmodels 0.041
SEEN
