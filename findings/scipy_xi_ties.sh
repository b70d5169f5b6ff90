#!/usr/bin/env bash
# Package: scipy 1.17.1 (stats.chatterjeexi), with numpy 2.4.6.
# Seen: rows with equal x stay in the given order. Ages in years have ties, so if the table is sorted by price, the xi
#   correlation of age with an independent price is 0.80 with a p-value of 0. In random order it is 0.00. Neither the
#   documentation of x nor a warning mentions this.
# Expected: a value that does not depend on the order of rows, or ties that are broken at random, as in Chatterjee (2021).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check scipy==1.17.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
from scipy.stats import chatterjeexi

warnings.simplefilter("error")
rng = np.random.default_rng(0)
age, price = rng.integers(18, 90, 2_000), rng.normal(500, 100, 2_000)
by_price = np.argsort(price)
for order, rows in (("random", slice(None)), ("by price", by_price)):
    found = chatterjeexi(age[rows], price[rows])
    print(f"rows {order}: xi {found.statistic:.1f}, p-value below 0.001: {found.pvalue < 0.001}")
PY
diff - seen.txt <<'SEEN'
rows random: xi 0.0, p-value below 0.001: False
rows by price: xi 0.8, p-value below 0.001: True
SEEN
