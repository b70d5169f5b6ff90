#!/usr/bin/env bash
# Package: insurance-fairness-ot 0.1.0, with polars 2.1.0, numpy 2.4.6 and scipy 1.17.1.
# Seen: WassersteinCorrector raises the prices of a tariff with few distinct prices. All rows of a price get the rank of the
#   last of them, and so the quantile at the upper end of the step. With steps of 200, the repaired prices add up to 1.16
#   times the prices, and with only one class, where nothing is to repair, to 1.08 times. The same prices before rounding
#   keep their total. Nothing warns.
# Expected: about the same total, for instance with the middle rank of equal prices.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check insurance-fairness-ot==0.1.0 polars==2.1.0 numpy==2.4.6 scipy==1.17.1
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import polars as pl
from insurance_fairness_ot import WassersteinCorrector

warnings.simplefilter("error")
rng = np.random.default_rng(0)
n = 10_000
man = np.arange(n) % 2 == 0
exact = np.exp(rng.normal(6, 0.4, n) + 0.2 * man)
for name, price in (("prices of each row", exact), ("prices in steps of 200", 200 * np.ceil(exact / 200))):
    for sexes in (np.where(man, "M", "F"), np.full(n, "all")):
        classes = pl.DataFrame({"sex": sexes})
        repaired = WassersteinCorrector(["sex"]).fit(price, classes).transform(price, classes)
        print(f"{name}, classes {len(set(sexes))}: total after / before {repaired.sum() / price.sum():.2f}")
PY
diff - seen.txt <<'SEEN'
prices of each row, classes 2: total after / before 0.99
prices of each row, classes 1: total after / before 1.00
prices in steps of 200, classes 2: total after / before 1.16
prices in steps of 200, classes 1: total after / before 1.08
SEEN
