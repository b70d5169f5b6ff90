#!/usr/bin/env bash
# Package: dalex 1.8.0, with scikit-learn 1.9.1, pandas 2.3.3 and numpy 2.4.6.
# Seen: the fairness check of a regression depends on the groups' numbers of rows. Independence is a ratio of densities of
#   the prices of two groups, averaged over all rows, and is near 1 if the privileged group is rare. Two groups whose mean
#   prices differ by a standard deviation have an independence above 1.5 if both have half of the rows, and "No bias was
#   detected!" below 1.1 if the privileged group has 5 % of the rows. With the other group as the privileged one, the same
#   rows show a bias.
# Expected: one figure for the same two distributions of prices, or an interval and a warning for a rare group.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check dalex==1.8.0 scikit-learn==1.9.1 pandas==2.3.3 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import contextlib
import io

import dalex as dx
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

rng = np.random.default_rng(0)
n = 20_000
for share in (0.5, 0.05):
    group = np.where(np.arange(n) < share * n, "a", "b")
    x = pd.DataFrame({"risk": rng.normal(0, 1, n) + (group == "b")})
    model = LinearRegression().fit(x, x["risk"])
    explainer = dx.Explainer(model, x, x["risk"], verbose=False)
    gap = x["risk"][group == "b"].mean() - x["risk"][group == "a"].mean()
    print(f"group a has {share:.0%} of the rows, mean prices differ by {gap:.1f} standard deviations")
    for privileged in "ab":
        fairness, said = explainer.model_fairness(group, privileged=privileged), io.StringIO()
        with contextlib.redirect_stdout(said):
            fairness.fairness_check()
        independence = fairness.result["independence"].iloc[0]
        size = "above 1.5" if independence > 1.5 else "below 1.1" if independence < 1.1 else "between"
        print(f"  {privileged} is privileged: independence {size};", said.getvalue().splitlines()[0].split(" in ")[0])
PY
diff - seen.txt <<'SEEN'
group a has 50% of the rows, mean prices differ by 1.0 standard deviations
  a is privileged: independence above 1.5; Bias detected
  b is privileged: independence above 1.5; Bias detected
group a has 5% of the rows, mean prices differ by 1.0 standard deviations
  a is privileged: independence below 1.1; No bias was detected!
  b is privileged: independence above 1.5; Bias detected
SEEN
