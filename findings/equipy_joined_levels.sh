#!/usr/bin/env bash
# Package: equipy 0.0.11a0.dev0, with numpy 2.4.6, pandas 2.3.3, scikit-learn 1.9.1, scipy 1.17.1, matplotlib 3.10.8,
#   seaborn 0.13.2 and statsmodels 0.15.0.
# Seen: for three sensitive attributes, MultiWasserstein joins the levels of the other two attributes to one text without
#   a separator. Levels 1 and 11 of two attributes give "111" both for (1, 11) and for (11, 1), and both groups are
#   repaired as one: average prices still differ by 2.7 after the repair. With levels 1, 12 and 3, 14 of the same rows
#   they do not differ. No warning is given.
# Expected: a result that does not depend on the names of levels.
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

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from equipy.fairness import MultiWasserstein

rng = np.random.default_rng(1)
rows = 8000
sex, first, second = rng.choice(["f", "m"], rows), rng.choice(2, rows), rng.choice(2, rows)
price = rng.normal(size=rows) + 3 * ((sex == "m") & (first == 1) & (second == 0))
for of_first, of_second in ((np.array([1, 11]), np.array([1, 11])), (np.array([1, 12]), np.array([3, 14]))):
    s = pd.DataFrame({"sex": sex, "zone": of_first[first], "group": of_second[second]})
    np.random.seed(0)
    repair = MultiWasserstein()
    repair.fit(price, s)
    repaired = pd.Series(repair.transform(price, s))
    means = repaired.groupby([s[name] for name in s]).mean()
    print(f"levels {of_first.tolist()} and {of_second.tolist()}: averages of cells differ by", round(np.ptp(means), 1))
PY
diff - seen.txt <<'SEEN'
levels [1, 11] and [1, 11]: averages of cells differ by 2.7
levels [1, 12] and [3, 14]: averages of cells differ by 0.0
SEEN
