#!/usr/bin/env bash
# Package: glum 3.4.1, with pandas 3.1.1, numpy 2.4.6 and scikit-learn 1.9.1.
# Seen: a model fitted to a frame matches the columns of another frame by position. If these are in another order, predict
#   returns other prices, although the frame has column names and the model stores those of the training (feature_names_).
#   No warning is given. A model fitted by a formula matches columns by name.
# Expected: columns matched by name, or an error, as in scikit-learn for names in another order.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check glum==3.4.1 pandas==3.1.1 numpy==2.4.6 scikit-learn==1.9.1
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import pandas as pd
from glum import GeneralizedLinearRegressor
from sklearn.linear_model import PoissonRegressor

warnings.filterwarnings("ignore", "Input array is not contiguous")
rng = np.random.default_rng(0)
x = pd.DataFrame({"age": rng.uniform(20, 80, 2_000), "power": rng.uniform(4, 12, 2_000)})
claims = rng.poisson(np.exp(0.02 * x["age"] - 0.1 * x["power"]))
swapped = x[["power", "age"]]
for name, model in (
    ("glum", GeneralizedLinearRegressor(family="poisson", alpha=0)),
    ("glum with a formula", GeneralizedLinearRegressor(family="poisson", alpha=0, formula="age + power")),
    ("scikit-learn", PoissonRegressor()),
):
    model.fit(x, claims)
    own = model.predict(x)
    try:
        ratio = model.predict(swapped).mean() / own.mean()
        print(f"{name}: the mean prediction is {ratio:.2f} times that of the order of the training")
    except ValueError as error:
        print(f"{name}:", str(error).splitlines()[0])
PY
diff - seen.txt <<'SEEN'
glum: the mean prediction is 0.02 times that of the order of the training
glum with a formula: the mean prediction is 1.00 times that of the order of the training
scikit-learn: The feature names should match those that were passed during fit.
SEEN
