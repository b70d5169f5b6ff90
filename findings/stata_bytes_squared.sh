#!/usr/bin/env bash
# Package: pandas 3.1.1 (read_stata) with statsmodels 0.15.0, numpy 2.4.6 and scipy 1.17.1.
# Seen: read_stata returns a byte column, in which Stata stores ages, as int8. A formula with I(age**2) then computes
#   squares with 8 bits: 60 squared is 16 and 89 squared is -15. The model is fitted to these numbers, and its curve along
#   age is wrong. No warning is given. The same table from a CSV file gives the right curve.
# Expected: the same model from both files, or a warning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check pandas==3.1.1 statsmodels==0.15.0 numpy==2.4.6 scipy==1.17.1
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

warnings.simplefilter("error")
rng = np.random.default_rng(0)
age = rng.integers(18, 90, 5_000).astype("int8")
claims = rng.poisson(np.exp(-1 + ((age - 50.0) / 25) ** 2))
rows = pd.DataFrame({"age": age, "claims": claims})
rows.to_csv("rows.csv", index=False)
rows.to_stata("rows.dta", write_index=False)
for name, table in (("csv", pd.read_csv("rows.csv")), ("dta", pd.read_stata("rows.dta"))):
    fit = smf.glm("claims ~ age + I(age**2)", table, family=sm.families.Poisson()).fit()
    square = fit.model.exog[:, 2][table["age"].to_numpy() == 60][0]
    means = fit.fittedvalues.groupby(table["age"]).mean()
    print(f"{name}: age is {table['age'].dtype}, 60 squared is {square:.0f}, at 20 {means[20]:.1f}, at 50 {means[50]:.1f} claims")
PY
diff - seen.txt <<'SEEN'
csv: age is int64, 60 squared is 3600, at 20 1.6, at 50 0.4 claims
dta: age is int8, 60 squared is 16, at 20 0.5, at 50 0.8 claims
SEEN
