#!/usr/bin/env bash
# Package: dcor 0.7, with numpy 2.4.6, scipy 1.17.1 and numba 0.68.1.
# Seen: for columns of whole numbers (int64), the distance correlation is computed with whole numbers, and sums of
#   products exceed 64 bits. For 10,000 incomes and premiums in cents the result is 0.0, which means independence; for the
#   same amounts as floats it is 0.93. In euros both are 0.92. In both units a warning says that the code is not compiled
#   for these types, but no warning concerns the value.
# Expected: the value for floats, whatever the type of the columns.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check dcor==0.7 numpy==2.4.6 scipy==1.17.1 numba==0.68.1
env/bin/python > seen.txt <<'PY'
import warnings

import dcor
import numpy as np

rng = np.random.default_rng(0)
euros = np.exp(rng.normal(10.5, 0.6, 10_000))
premiums = 300 + euros / 100 + rng.uniform(0, 300, 10_000)
for unit, factor in (("euros", 1), ("cents", 100)):
    columns = [(each * factor).astype(np.int64) for each in (euros, premiums)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        whole = dcor.distance_correlation(*columns)
    floats = dcor.distance_correlation(*(each.astype(float) for each in columns))
    print(f"{unit}: whole numbers {whole:.2f}, floats {floats:.2f},", len(said), "warning,",
          "that names an overflow:", any("overflow" in str(each.message).lower() for each in said))
PY
diff - seen.txt <<'SEEN'
euros: whole numbers 0.93, floats 0.93, 1 warning, that names an overflow: False
cents: whole numbers 0.00, floats 0.93, 1 warning, that names an overflow: False
SEEN
