#!/usr/bin/env bash
# Package: insurance-distill 0.1.6, with polars 2.1.0, numpy 2.4.6, glum 3.4.1 and scikit-learn 1.9.1.
# Seen: SurrogateGLM, which writes factor tables for a boosted model, leaves out columns of small whole numbers (Int8, Int16,
#   UInt8, UInt16). fit is documented to use all numeric columns. With ages as Int16, the tariff has no factor for age, and
#   young drivers would pay 0.4 times the model's price. The report says that prices deviate from the model's by at most
#   0 %, because it compares only along the factors that are left. With ages as Int64, it says 3 %. Nothing warns.
# Expected: a factor for every numeric column, or an error, and a deviation along all columns of the model.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check insurance-distill==0.1.6 polars==2.1.0 numpy==2.4.6 glum==3.4.1 scikit-learn==1.9.1
env/bin/python -W ignore::DeprecationWarning > seen.txt <<'PY'
import warnings

import numpy as np
import polars as pl
from insurance_distill import SurrogateGLM

warnings.simplefilter("error", UserWarning)
rng = np.random.default_rng(0)
n = 6_000
years = rng.uniform(0.1, 1, n)
x = pl.DataFrame({"age": rng.integers(18, 80, n), "power": rng.uniform(40, 120, n)})


class Model:
    def predict(self, rows):
        return 0.1 * np.exp(1.2 * (rows["age"].to_numpy() < 30) + 0.01 * rows["power"].to_numpy())


claims, young = rng.poisson(years * Model().predict(x)), x["age"].to_numpy() < 30
for kind in (pl.Int64, pl.Int16):
    table = x.with_columns(pl.col("age").cast(kind))
    surrogate = SurrogateGLM(Model(), table, claims, exposure=years).fit()
    report = surrogate.report()
    share = surrogate._glm_predictions[young].sum() / Model().predict(table)[young].sum()
    print(f"age as {kind}: factor tables for", *sorted(report.factor_tables))
    print(f"  largest deviation in the report {report.metrics.max_segment_deviation:.0%}")
    print(f"  young drivers: price / model's price {share:.1f}")
PY
diff - seen.txt <<'SEEN'
age as Int64: factor tables for age power
  largest deviation in the report 3%
  young drivers: price / model's price 1.0
age as Int16: factor tables for power
  largest deviation in the report 0%
  young drivers: price / model's price 0.4
SEEN
