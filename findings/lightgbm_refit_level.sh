#!/usr/bin/env bash
# Package: lightgbm 4.7.0, with scikit-learn 1.9.1, numpy 2.4.6 and scipy 1.17.1.
# Seen: Booster.refit, which computes new leaf values of given trees from given rows, changes the level of models with a
#   log link, even for the training rows. The predictions of a Poisson model, whose sum equalled that of the claims, are
#   then 8 % too high with the default decay_rate, and those of a gamma model with decay_rate=0 are 2.6 times too high. A
#   model of the squared error keeps its level.
# Expected: about the same sum of predictions as before, because the rows are the same.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check lightgbm==4.7.0 scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1
env/bin/python > seen.txt <<'PY'
import warnings

import lightgbm
import numpy as np

warnings.simplefilter("error")
rng = np.random.default_rng(0)
x = np.column_stack([rng.uniform(18, 80, 20_000), rng.integers(0, 5, 20_000)])
mean = 0.1 * (x[:, 0] / 40) * np.array([1.0, 3.0, 0.5, 2.0, 4.0])[x[:, 1].astype(int)]
rows = {"regression": rng.poisson(mean), "poisson": rng.poisson(mean), "gamma": rng.gamma(2, mean / 2)}
for objective, y in rows.items():
    settings = {"objective": objective, "verbose": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True}
    model = lightgbm.train(settings, lightgbm.Dataset(x, y.astype(float)), 60)
    ratios = [model.predict(x).sum() / y.sum()]
    ratios += [model.refit(x, y.astype(float), decay_rate=rate).predict(x).sum() / y.sum() for rate in (0.9, 0.0)]
    print(objective, "predicted / actual: trained {:.1f}, refitted {:.1f}, with decay_rate=0 {:.1f}".format(*ratios))
PY
diff - seen.txt <<'SEEN'
regression predicted / actual: trained 1.0, refitted 1.0, with decay_rate=0 1.0
poisson predicted / actual: trained 1.0, refitted 1.1, with decay_rate=0 1.1
gamma predicted / actual: trained 1.0, refitted 1.0, with decay_rate=0 2.6
SEEN
