"""Features that are the sensitive column under another name: copied, rescaled, recoded or more finely cut.

>>> import pandas as pd
>>> age = pd.Series([40.0, 50.0, 60.0, 40.0, 50.0, 60.0] * 10)
>>> born = pd.Series([1985.0, 1975.0, 1965.0, 1985.0, 1975.0, 1965.0] * 10)
>>> tells(born, age), tells(pd.Series(range(60)) % 7, age)
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

#: A coincidence rarer than this is none.
_CHANCE = 1e-6
#: Two continuous columns of this rank correlation order nearly every pair of rows alike.
_SAME_ORDER = 0.9999


def find_copies(features: pd.DataFrame, sensitive: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Give each feature that tells a sensitive column exactly: ``(feature, sensitive column)``."""
    for name in features.columns:
        for column in sensitive.columns:
            if tells(features[name], sensitive[column]):
                yield str(name), str(column)


def tells(feature: pd.Series, sensitive: pd.Series) -> bool:
    """Say whether a sensitive value can be read off a feature.

    It can if rows of one value of the feature always share one value of the sensitive column, in more rows
    than chance would bring about, or if both columns put the rows in the same order, or the opposite.

    Parameters
    ----------
    feature : Series, shape (n,)
        Of any type; rows where it is missing don't count.
    sensitive : Series, shape (n,)
        float64 without missing cells, not constant.
    """
    known = feature.notna().to_numpy()
    n = int(known.sum())
    if n < len(feature) / 2 or n < 3:
        return False
    codes = pd.factorize(feature[known])[0].astype(np.int64)
    s_codes, s_values = pd.factorize(sensitive.to_numpy()[known])
    n_levels = int(codes.max()) + 1
    pairs = len(np.unique(codes * len(s_values) + s_codes))
    if pairs == n_levels:
        # Each further row of a level agrees with the first by chance this often, at the most.
        agreement = float(np.max(np.bincount(s_codes) / n))
        if agreement < 1 and agreement ** (n - n_levels) < _CHANCE:
            return True
    if not pd.api.types.is_numeric_dtype(feature.dtype) or n_levels < n / 2:
        return False
    own = feature[known].rank().to_numpy(dtype=float)
    other = pd.Series(sensitive.to_numpy()[known]).rank().to_numpy(dtype=float)
    if other.std() == 0:
        return False
    return bool(abs(np.corrcoef(own, other)[0, 1]) > _SAME_ORDER)
