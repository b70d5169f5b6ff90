#!/usr/bin/env bash
# Package: statsmodels 0.15.0, with pandas 3.1.1, numpy 2.4.6 and scipy 1.17.1.
# Seen: exposure, offset and weights that are given as a Series are taken by their position, whatever their index. With
#   years insured in another order than the policies, as after a sort or a join, the effect of age is 3.39 instead of
#   1.01 on the log of the frequency. Formulas of GLM, GEE and WLS do so without a warning. For an outcome and columns in
#   different orders, GLM gives an error.
# Expected: alignment by the index, or the error that the outcome gives.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check statsmodels==0.15.0 pandas==3.1.1 numpy==2.4.6 scipy==1.17.1
env/bin/python > seen.txt <<'PY'
import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

rng = np.random.default_rng(0)
n = 4_000
policies = pd.DataFrame({"age": rng.uniform(0, 1, n)})
years = pd.Series(np.where(policies["age"] < 0.5, 0.1, 1.0))
policies["claims"] = rng.poisson(years * np.exp(-1 + policies["age"]))
policies["rate"] = policies["claims"] / years
poisson = sm.families.Poisson()
for order, given in (("the same order", years), ("another order", years.sample(frac=1, random_state=1))):
    log = np.log(given)
    models = {
        "GLM, exposure": smf.glm("claims ~ age", policies, family=poisson, exposure=given),
        "GLM, offset": smf.glm("claims ~ age", policies, family=poisson, offset=log),
        "GLM, weights": smf.glm("rate ~ age", policies, family=poisson, var_weights=given),
        "GEE, offset": smf.gee("claims ~ age", groups=np.arange(n), data=policies, family=poisson, offset=log),
        "WLS, weights": smf.wls("rate ~ age", policies, weights=given),
    }
    print(f"Effect of age, years in {order}")
    for name, model in models.items():
        print(f"  {name} {model.fit().params['age']:.2f}")
try:
    sm.GLM(policies["claims"].sample(frac=1, random_state=1), sm.add_constant(policies[["age"]]), family=poisson)
except ValueError as error:
    print("the outcome in another order:", error)
PY
diff - seen.txt <<'SEEN'
Effect of age, years in the same order
  GLM, exposure 1.01
  GLM, offset 1.01
  GLM, weights 1.01
  GEE, offset 1.01
  WLS, weights 0.70
Effect of age, years in another order
  GLM, exposure 3.39
  GLM, offset 3.39
  GLM, weights 1.43
  GEE, offset 3.39
  WLS, weights 0.82
the outcome in another order: The indices for endog and exog are not aligned
SEEN
