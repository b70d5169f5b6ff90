#!/usr/bin/env bash
# Package: insurance-monitoring 1.2.2, with polars 2.1.0, numpy 2.4.6 and scipy 1.17.1.
# Seen: missing cells do not count as drift. If half of this year's ages are missing (NaN), the indices of stability, psi and
#   csi, are as low as before, and csi gives the column a green light. ks_test has a statistic of NaN and the result
#   "significant": False. Nothing warns. If the same half of the ages is 0, psi is 1.1, four times the bound of red.
# Expected: missing cells as a class of their own, or an error or a warning that counts them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check insurance-monitoring==1.2.2 polars==2.1.0 numpy==2.4.6 scipy==1.17.1
env/bin/python > seen.txt <<'PY'
import warnings

import insurance_monitoring as monitoring
import numpy as np
import polars as pl

warnings.simplefilter("error")
rng = np.random.default_rng(0)
n = 6_000
last_year = rng.normal(45, 12, n)
ages = rng.normal(45, 12, n)
for name, this_year in (("all ages known", ages), ("half missing", np.where(np.arange(n) % 2, ages, np.nan))):
    index = monitoring.csi(pl.DataFrame({"age": last_year}), pl.DataFrame({"age": this_year}), features=["age"])
    test = monitoring.ks_test(last_year, this_year)
    psi = monitoring.psi(last_year, this_year)
    print(f"{name}: PSI {psi:.2f}, CSI {index['csi'][0]:.2f} ({index['band'][0]}),", end=" ")
    print(f"Kolmogorov-Smirnov {test['statistic']:.2f}, significant: {test['significant']}")
zeros = np.where(np.arange(n) % 2, ages, 0)
print(f"half are 0: PSI {monitoring.psi(last_year, zeros):.1f}")
PY
diff - seen.txt <<'SEEN'
all ages known: PSI 0.01, CSI 0.01 (green), Kolmogorov-Smirnov 0.02, significant: False
half missing: PSI 0.01, CSI 0.01 (green), Kolmogorov-Smirnov nan, significant: False
half are 0: PSI 1.1
SEEN
