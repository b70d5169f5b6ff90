#!/usr/bin/env bash
# Package: hyppo 0.5.2 (Hsic), with numpy 2.4.6, scipy 1.17.1, pandas 3.1.1, scikit-learn 1.9.1 and numba 0.68.1.
# Seen: the width of the kernel is the median distance between two rows. If most claims are 0, this median is 0, and hyppo
#   takes the width 1 in the unit of the column. Older drivers' claims are three times as high. The p-value of age and
#   claims is 0.47 in cents, 0.18 in euros and below 0.001 in thousands of euros. Nothing warns, and Dcorr gives the same
#   p-value, below 0.001, in all units.
# Expected: a p-value that does not depend on the unit, as when the median is not 0, or an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check hyppo==0.5.2 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1 scikit-learn==1.9.1 numba==0.68.1
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
from hyppo.independence import Dcorr, Hsic

warnings.simplefilter("error")
rng = np.random.default_rng(3)
age = rng.integers(18, 90, 500).astype(float)
claims = np.where(rng.uniform(size=500) < 0.25, rng.gamma(4, 250, 500) * np.where(age > 60, 3, 1), 0)
for unit, factor in (("cents", 100), ("euros", 1), ("thousands", 0.001)):
    found = [test().test(age, factor * claims, auto=True)[1] for test in (Hsic, Dcorr)]
    print(f"{unit}: Hsic {found[0]:.2f}, below 0.001: {found[0] < 0.001}; Dcorr below 0.001: {found[1] < 0.001}")
PY
diff - seen.txt <<'SEEN'
cents: Hsic 0.47, below 0.001: False; Dcorr below 0.001: True
euros: Hsic 0.18, below 0.001: False; Dcorr below 0.001: True
thousands: Hsic 0.00, below 0.001: True; Dcorr below 0.001: True
SEEN
