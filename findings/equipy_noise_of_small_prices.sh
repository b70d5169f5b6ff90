#!/usr/bin/env bash
# Package: equipy 0.0.11a0.dev0, with numpy 2.4.6, pandas 2.3.3, scikit-learn 1.9.1, scipy 1.17.1, matplotlib 3.10.8,
#   seaborn 0.13.2 and statsmodels 0.15.0.
# Seen: before computing ranks, FairWasserstein adds noise with an absolute standard deviation (sigma, 0.0001), whatever
#   the unit of the predictions, and draws new noise at each call. Daily claim frequencies of about 0.0003 lose their
#   order within a class, and the repaired frequency of one policy changes by more than half of the mean between calls.
#   Yearly frequencies of the same policies keep their order.
# Expected: a repair that does not depend on the unit and is the same at each call.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check equipy==0.0.11a0.dev0 numpy==2.4.6 pandas==2.3.3 scikit-learn==1.9.1 scipy==1.17.1 matplotlib==3.10.8 seaborn==0.13.2 statsmodels==0.15.0
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from equipy.fairness import FairWasserstein

rng = np.random.default_rng(0)
sex = rng.choice(["f", "m"], 4000)
a_day = 3e-4 * np.exp(0.3 * rng.normal(size=4000) + 0.2 * (sex == "m"))
s = pd.DataFrame({"sex": sex})
for unit, factor in (("day", 1), ("year", 365)):
    np.random.seed(0)
    repair = FairWasserstein()
    repair.fit(factor * a_day, s)
    first, second = (repair.transform(factor * a_day, s) for _ in range(2))
    order = min(spearmanr(first[sex == each], a_day[sex == each])[0] for each in "fm")
    moved = np.abs(first - second).max() / first.mean()
    print(f"frequency a {unit}: order kept {order > 0.99}, moves by more than half of the mean {moved > 0.5}")
PY
diff - seen.txt <<'SEEN'
frequency a day: order kept False, moves by more than half of the mean True
frequency a year: order kept True, moves by more than half of the mean False
SEEN
