"""Features that give the target away: what is known only once the target is.

>>> amount = pd.Series([0.0, 0.0, 812.5, 0.0, 44.1, 0.0] * 60) * (1 + np.arange(360))
>>> claim = (amount > 0).astype(int)
>>> target_leak(claim, amount), target_leak(amount, claim)
('it is 0 exactly where the target is', 'the target can be read off it')
>>> target_leak(pd.Series(np.arange(360) % 7), amount) is None
True
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.data.column_profile import NUMBERS, as_floats, kind_of
from fairdash.data.features import determines

READ_OFF = "the target can be read off it"
SAME_ZEROS = "it is 0 exactly where the target is"
TELLS_ZEROS = "it tells in every row whether the target is 0"


def target_leak(feature: pd.Series, target: pd.Series) -> str | None:
    """Say how a feature gives the target away, or None if it does not.

    It does if the target can be read off it, or whether the target is zero, in more rows than chance would
    bring about; see :func:`~fairdash.data.features.determines`.

    Parameters
    ----------
    feature : Series, shape (n,)
        Any column of a table.
    target : Series, shape (n,)
        Rows in which it is missing or infinite don't count; nothing is said of one that holds no numbers.
    """
    if kind_of(target) not in NUMBERS or kind_of(feature) not in (*NUMBERS, "text"):
        return None
    y = as_floats(target)
    known = np.isfinite(y.to_numpy())
    y, f = y[known], feature[known]
    if y.nunique() < 2:
        return None
    if determines(f, y):
        return READ_OFF
    zero = (y == 0).astype(float)
    if zero.nunique() < 2 or not determines(f, zero):
        return None
    numbers = kind_of(f) in NUMBERS and not f.isna().any()
    return SAME_ZEROS if numbers and ((as_floats(f) == 0) == (zero == 1)).all() else TELLS_ZEROS
