#!/usr/bin/env bash
# Package: scipy 1.17.1 (stats.quantile), with numpy 2.4.6.
# Seen: weights count rows. With weights that add up to 1, as shares of the exposure do, every quantile of the default
#   method is the same number, and with exposures in years it is another one than in months. The documentation says that
#   weights other than counts may have no valid interpretation; nothing warns. method="inverted_cdf", and quantile of
#   numpy, give the same for shares as for months.
# Expected: quantiles that do not depend on the unit of the weights, or a warning for weights that are no counts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check scipy==1.17.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import numpy as np
from scipy import stats

rng = np.random.default_rng(0)
premium = rng.gamma(2, 300, 1_000)
months = rng.integers(1, 13, 1_000)
for unit, weights in (("months", months), ("days", 30 * months), ("shares", months / months.sum())):
    default = stats.quantile(premium, [0.1, 0.5, 0.9], weights=weights)
    inverted = stats.quantile(premium, [0.1, 0.5, 0.9], weights=weights, method="inverted_cdf")
    peer = np.quantile(premium, [0.1, 0.5, 0.9], weights=weights, method="inverted_cdf")
    print(f"{unit}: 10 %, 50 % and 90 % of premiums are below {default[0]:.0f}, {default[1]:.0f} and {default[2]:.0f}")
    print(f"  inverted_cdf {inverted.round()}, numpy {peer.round()}")
months_of_40, years_of_40 = np.ones(40), np.full(40, 1 / 12)
for unit, weights in (("months", months_of_40), ("years", years_of_40)):
    default = stats.quantile(premium[:40], [0.1, 0.5, 0.9], weights=weights)
    print(f"40 policies of a month, exposure in {unit}: {default.round()}")
PY
diff - seen.txt <<'SEEN'
months: 10 %, 50 % and 90 % of premiums are below 154, 501 and 1144
  inverted_cdf [ 154.  501. 1144.], numpy [ 154.  501. 1144.]
days: 10 %, 50 % and 90 % of premiums are below 154, 501 and 1144
  inverted_cdf [ 154.  501. 1144.], numpy [ 154.  501. 1144.]
shares: 10 %, 50 % and 90 % of premiums are below 2644, 2644 and 2644
  inverted_cdf [ 154.  501. 1144.], numpy [ 154.  501. 1144.]
40 policies of a month, exposure in months: [ 166.  520. 1231.]
40 policies of a month, exposure in years: [198. 394. 715.]
SEEN
