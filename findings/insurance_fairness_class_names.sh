#!/usr/bin/env bash
# Package: insurance-fairness 1.2.2, with dcor 0.7, numpy 2.4.6, pandas 2.3.3 and scikit-learn 1.9.1.
# Seen: the penalty by concatenated distance covariance numbers classes 0, 1, 2 in alphabetical order. One region of three
#   pays 30 more. With the same prices and rows, the penalty is 1.7 if the name of this region is the second in the
#   alphabet, and 5.6 if it is the first or the last.
# Expected: a dependence on unordered classes that is the same for any names.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check insurance-fairness==1.2.2 dcor==0.7 numpy==2.4.6 pandas==2.3.3 scikit-learn==1.9.1
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import pandas as pd

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from insurance_fairness.intersectional import DistanceCovFairnessRegulariser

rng = np.random.default_rng(0)
region = np.repeat([0, 1, 2], 200)
price = np.where(region == 1, 130.0, 100.0) + rng.normal(size=600)
for names in (["north", "south", "west"], ["north", "valley", "coast"], ["north", "coast", "south"]):
    s = pd.DataFrame({"region": np.array(names)[region], "sex": np.tile(["f", "m"], 300)})
    penalty = DistanceCovFairnessRegulariser(protected_attrs=["region", "sex"], method="ccDcov", lambda_val=1.0)
    print(f"{names[1]} of {', '.join(sorted(names))} pays more:", round(penalty.penalty(price, s), 1))
PY
diff - seen.txt <<'SEEN'
south of north, south, west pays more: 1.7
valley of coast, north, valley pays more: 5.6
coast of coast, north, south pays more: 5.6
SEEN
