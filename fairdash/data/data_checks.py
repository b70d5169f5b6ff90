"""What to know about the target and the sensitive columns before a model is trained on them.

>>> import pandas as pd
>>> target_remarks(pd.Series([0.0] * 880 + [100.0] * 120, name="cost"))
('“cost” is zero in 88 % of the rows: a squared error then follows the few others.',)
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.dependence import quantile_groups

#: Quantile groups that FairQuant asks for.
GROUPS_WANTED = 50
_MANY_ZEROS = 0.5
#: The largest hundredth of normal costs, or of an exponential's, holds under a twelfth of the total.
_HEAVY = 0.15
#: Rows beyond a quantile that is shown: fewer would tell of single persons.
_FEWEST_BEYOND = 20


def target_remarks(target: pd.Series) -> tuple[str, ...]:
    """Sentences on many zeros and on a heavy tail of a target; nothing is clipped for either.

    Parameters
    ----------
    target : Series, shape (n,)
        float64, finite.
    """
    cells = target.to_numpy(dtype=float)
    found = []
    zeros = float(np.mean(cells == 0))
    if zeros >= _MANY_ZEROS:
        found.append(
            f"“{target.name}” is zero in {100 * zeros:.0f} % of the rows: "
            "a squared error then follows the few others."
        )
    sizes = np.sort(np.abs(cells - np.median(cells)))[::-1]
    top = max(len(cells) // 100, 1)
    share = float(sizes[:top].sum() / sizes.sum()) if sizes.sum() > 0 else 0.0
    if len(cells) >= 100 and share >= _HEAVY:
        beyond = f" (beyond {np.quantile(cells, 0.99):.3g})" if top >= _FEWEST_BEYOND else ""
        found.append(
            f"“{target.name}” has a heavy tail: the 1 % of rows farthest from the middle{beyond} make up "
            f"{100 * share:.0f} % of all distances from it. They are used as they are, never clipped."
        )
    return tuple(found)


def quantile_support(values: pd.Series) -> int:
    """How many of `GROUPS_WANTED` quantile groups are left, as equal values are never parted.

    Parameters
    ----------
    values : Series, shape (n,)
        A sensitive column: float64, finite.
    """
    cells = values.to_numpy(dtype=float)
    return len(np.unique(quantile_groups(cells, min(GROUPS_WANTED, len(cells)))))


def support_sentence(values: pd.Series) -> str:
    """Say how finely a sensitive column can be cut; `values` as for :func:`quantile_support`."""
    counts = values.value_counts()
    if len(counts) == len(values):
        ties = "no two rows are tied"
    else:
        ties = f"the commonest stands in {100 * counts.max() / len(values):.2g} % of the rows"
    return (
        f"{len(counts):,} different values; {ties}. Of {GROUPS_WANTED} quantile groups "
        f"{quantile_support(values)} can be told apart."
    )
