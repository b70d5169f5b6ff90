#!/usr/bin/env bash
# Package: rdata 1.1.0, with pandas 3.1.1 and numpy 2.4.6.
# Seen: a column of R's class integer64, in which bit64, data.table and database drivers store whole numbers beyond 2^31,
#   is read as floats near 1e-319: the bits of the integers are interpreted as floats. A warning says that the class has
#   no constructor; the values look like ordinary numbers.
# Expected: the integers, or no column.
# Input: what R 4.2.2 with bit64 4.0.5 writes for
#   saveRDS(bit64::as.integer64(c(41250, 28000, 33000)), "v.rds", ascii = TRUE, version = 2)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check rdata==1.1.0 pandas==3.1.1 numpy==2.4.6
printf '%s\n' A 2 262658 131840 782 3 2.038020789095142e-319 1.38338380835549e-319 1.630416631276114e-319 \
  1026 1 262153 5 class 16 1 262153 9 integer64 254 > v.rds
env/bin/python > seen.txt <<'PY'
import warnings

import numpy as np
import rdata

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    read = np.asarray(rdata.read_rds("v.rds"))
print(read.dtype, ["%.4g" % value for value in read])
print("as integers", read.view("int64").tolist())
print(*(str(each.message) for each in said), sep="\n")
PY
diff - seen.txt <<'SEEN'
float64 ['2.038e-319', '1.383e-319', '1.63e-319']
as integers [41250, 28000, 33000]
Missing constructor for R class "integer64". The underlying R object is returned instead.
SEEN
