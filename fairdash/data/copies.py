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
#: What some of their rows then reach for sure.
_NEARLY_SAME = 0.99
_FEW = 2000


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
    f = feature[known].reset_index(drop=True)
    s = pd.Series(sensitive.to_numpy(dtype=float)[known])
    # Most features are ruled out by a few of their rows; a million need not be looked through for that.
    few = np.unique(np.linspace(0, n - 1, _FEW).astype(np.intp))
    if _is_function(f.iloc[few], s.iloc[few]) and _is_function(f, s):
        repeated = f.duplicated()
        # Each further row of a level agrees with the first by chance this often, at the most.
        agreement = float(s.value_counts().iloc[0] / n)
        if agreement < 1 and agreement ** int(repeated.sum()) < _CHANCE:
            return True
    if not pd.api.types.is_numeric_dtype(f.dtype) or f.iloc[few].nunique() < len(few) / 2:
        return False
    return _order(f.iloc[few], s.iloc[few]) > _NEARLY_SAME and _order(f, s) > _SAME_ORDER


def _is_function(feature: pd.Series, sensitive: pd.Series) -> bool:
    """Say whether rows of one value of the feature always share one sensitive value."""
    # Levels that stand once agree with themselves.
    again = feature.duplicated(keep=False).to_numpy()
    levels = pd.factorize(feature[again])[0].astype(np.int64)
    if not len(levels):
        return True
    codes, values = pd.factorize(sensitive[again])
    pairs = pd.Series(levels * len(values) + codes)
    return int(pairs.nunique()) == int(levels.max()) + 1


def _order(feature: pd.Series, sensitive: pd.Series) -> float:
    """Size of the rank correlation, 0 to 1; 0 where one of the two is constant."""
    own = feature.rank().to_numpy(dtype=float)
    other = sensitive.rank().to_numpy(dtype=float)
    if own.std() == 0 or other.std() == 0:
        return 0.0
    return float(abs(np.corrcoef(own, other)[0, 1]))
