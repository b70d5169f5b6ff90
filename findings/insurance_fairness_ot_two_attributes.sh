#!/usr/bin/env bash
# Package: insurance-fairness-ot 0.1.0, with polars 2.1.0, numpy 2.4.6 and scipy 1.17.1.
# Seen: for several attributes, WassersteinCorrector repairs prices for one attribute after the other, but takes the ranks for
#   each attribute in the prices before any repair. If more men than women live in the north, both repairs remove the same
#   difference. Men and the north pay 1.6 times the price of the others before, and three quarters of it after. With sex
#   alone, men and women pay the same after the repair. Nothing warns.
# Expected: ranks in the prices that the repair before has made, so that a repair does not reverse the difference.
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
man = rng.uniform(size=n) < 0.5
north = rng.uniform(size=n) < np.where(man, 0.8, 0.2)
price = 300 * np.exp(0.3 * man + 0.3 * north + rng.normal(0, 0.2, n))
classes = pl.DataFrame({"sex": np.where(man, "M", "F"), "region": np.where(north, "north", "south")})
for names in (["sex"], ["sex", "region"]):
    corrector = WassersteinCorrector(names).fit(price, classes)
    repaired = corrector.transform(price, classes)
    print("prices repaired for", *names)
    for of, values in (("before", price), ("after", repaired)):
        ratios = [values[one].mean() / values[~one].mean() for one in (man, north)]
        print(f"  {of}: men / women {ratios[0]:.2f}, north / south {ratios[1]:.2f}")
PY
diff - seen.txt <<'SEEN'
prices repaired for sex
  before: men / women 1.62, north / south 1.62
  after: men / women 1.00, north / south 1.20
prices repaired for sex region
  before: men / women 1.62, north / south 1.62
  after: men / women 0.75, north / south 0.74
SEEN
