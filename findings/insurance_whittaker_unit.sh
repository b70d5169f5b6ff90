#!/usr/bin/env bash
# Package: insurance-whittaker 0.1.5, with numpy 2.4.6 and scipy 1.17.1.
# Seen: the default smoothing of rates by age depends on the unit of the exposure, which the documentation asks for as
#   weights. REML takes 1/weights for the variance of a cell and estimates no scale. The same rates are a curve of 4
#   degrees of freedom with exposures in years, and of 58 with exposures in days, which leaves 60 ages about as they
#   are. Nothing warns.
# Expected: the same curve for the same rates, or a documentation that asks for inverse variances.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check insurance-whittaker==0.1.5 numpy==2.4.6 scipy==1.17.1
env/bin/python > seen.txt <<'PY'
import numpy as np
from insurance_whittaker import WhittakerHenderson1D

rng = np.random.default_rng(0)
ages = np.arange(20, 80)
true = 0.05 + 0.1 * ((ages - 50) / 30) ** 2
years = np.full(60, 500.0)
rates = rng.poisson(years * true) / years
print(f"root mean squared error of the raw rates: {np.sqrt(np.mean((rates - true) ** 2)):.3f}")
for unit, exposure in (("years", years), ("months", 12 * years), ("days", 365 * years)):
    curve = WhittakerHenderson1D().fit(ages, rates, weights=exposure)
    error = np.sqrt(np.mean((curve.fitted - true) ** 2))
    print(f"exposure in {unit}: {curve.edf:.0f} degrees of freedom, root mean squared error {error:.3f}")
PY
diff - seen.txt <<'SEEN'
root mean squared error of the raw rates: 0.014
exposure in years: 4 degrees of freedom, root mean squared error 0.004
exposure in months: 6 degrees of freedom, root mean squared error 0.004
exposure in days: 58 degrees of freedom, root mean squared error 0.013
SEEN
