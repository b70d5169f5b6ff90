#!/usr/bin/env bash
# Package: insurance-calibration 0.1.0, with numpy 2.4.6 and model-diagnostics 1.5.0 for comparison.
# Seen: murphy_decomposition recalibrates by an isotonic fit that keeps rows of equal predictions in the given order.
#   Tariffs have few distinct prices. If the table is sorted by claims, a price unrelated to claims has a discrimination
#   of a tenth of the uncertainty; in random order it has almost none. No warning is given.
# Expected: rows with equal predictions are one point of the fit, as in model-diagnostics, and the order has no effect.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check insurance-calibration==0.1.0 numpy==2.4.6 model-diagnostics==1.5.0
env/bin/python > seen.txt <<'PY'
import numpy as np
from insurance_calibration import murphy_decomposition
from model_diagnostics.scoring import PoissonDeviance, decompose

rng = np.random.default_rng(0)
price = 0.05 + 0.01 * rng.integers(20, 30, 3_000)
claims = rng.poisson(0.1, 3_000).astype(float)
for name, order in (("as given", np.arange(3_000)), ("sorted by claims", np.argsort(claims, kind="stable"))):
    y, rate = claims[order], price[order]
    found = murphy_decomposition(y, rate)
    other = decompose(y, rate, scoring_function=PoissonDeviance())
    shares = found.discrimination / found.uncertainty, other["discrimination"].item() / other["uncertainty"].item()
    print(f"rows {name}: discrimination {shares[0]:.0%} of the uncertainty, by model-diagnostics {shares[1]:.0%}")
PY
diff - seen.txt <<'SEEN'
rows as given: discrimination 0% of the uncertainty, by model-diagnostics 0%
rows sorted by claims: discrimination 10% of the uncertainty, by model-diagnostics 0%
SEEN
