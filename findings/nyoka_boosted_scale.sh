#!/usr/bin/env bash
# Package: nyoka 5.5.0, with xgboost 3.2.0, lightgbm 4.7.0, scikit-learn 1.9.1 and pandas 2.3.3.
# Seen: the PMML file of a LightGBM Poisson model is a sum of trees, whose result is the logarithm of the predictions. The
#   file of an XGBoost model adds 0.5 to the sum of its trees, whatever base_score the training found, and does not invert
#   the log link either. No warning is given. The file of a LightGBM model of the squared error gives the predictions.
# Expected: the file gives the model's predictions, or the exporter refuses the model.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check nyoka==5.5.0 xgboost==3.2.0 lightgbm==4.7.0 scikit-learn==1.9.1 pandas==2.3.3
env/bin/python > seen.txt <<'PY'
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from nyoka import lgb_to_pmml, xgboost_to_pmml
from sklearn.pipeline import Pipeline
from xgboost import XGBRegressor

X = pd.DataFrame({"age": np.repeat([20.0, 60.0], 100)})
y = np.repeat([200.0, 50.0], 100)
tree = {"n_estimators": 1, "max_depth": 1}
for name, model, export in (
    ("LightGBM squared error", LGBMRegressor(verbose=-1, **tree), lgb_to_pmml),
    ("LightGBM Poisson", LGBMRegressor(objective="poisson", verbose=-1, **tree), lgb_to_pmml),
    ("XGBoost squared error", XGBRegressor(**tree), xgboost_to_pmml),
    ("XGBoost Poisson", XGBRegressor(objective="count:poisson", **tree), xgboost_to_pmml),
):
    pipe = Pipeline([("model", model)]).fit(X, y)
    export(pipe, ["age"], "claims", "model.pmml")
    parts = list(ElementTree.parse("model.pmml").getroot().iter())
    # One tree with two leaves, first that of young drivers; the sum may be shifted, but not transformed otherwise.
    file = np.array([float(each.get("score")) for each in parts if each.get("score")])
    shift = sum(float(each.get("rescaleConstant", 0)) for each in parts)
    own = pipe.predict(X.iloc[[0, -1]])
    same, logs = (np.allclose(file + shift, each, rtol=1e-5) for each in (own, np.log(own)))
    print(name, "the predictions" if same else "their logarithms" if logs else f"the trees plus {shift:g}")
PY
diff - seen.txt <<'SEEN'
LightGBM squared error the predictions
LightGBM Poisson their logarithms
XGBoost squared error the trees plus 0.5
XGBoost Poisson the trees plus 0.5
SEEN
