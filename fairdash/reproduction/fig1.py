"""What the paper says of the estimated χ² in Fig. 1, held to where the number of data sets can tell."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

_COVERAGE = 0.95
HOLDS, FAILS, UNRESOLVED = "holds", "fails", "unresolved"


def sides_of_bound(values: pd.DataFrame, exact: pd.DataFrame, *, bound: str, above: bool) -> pd.DataFrame:
    """Whether the mean χ² by network lies above, or below, a true value at each ρ.

    Parameters
    ----------
    values, exact
        Tables of Fig. 1's result.
    bound
        Column of `exact`.
    above
        Whether the paper says that the estimate lies above it; else below.

    Returns
    -------
    DataFrame
        A row a ``rho``. ``side``: ``"holds"`` where the mean's 95 % interval lies on the side that the paper
        names, ``"fails"`` where it lies on the other, ``"unresolved"`` where it holds the true value: with so
        few data sets the side can't be told. ``repeats``: data sets behind the mean.
    """
    own = values[(values["id"] == "chi2_nn") & (values["evaluation"] == "ours")]
    groups = own.groupby("rho")["value"]
    means, errors, counts = groups.mean(), groups.sem(), groups.size()
    gap = means - exact.set_index("rho")[bound].reindex(means.index)
    reach = stats.t.ppf((1 + _COVERAGE) / 2, counts - 1) * errors
    on_side = np.where((gap > 0) == above, HOLDS, FAILS)
    side = np.where(gap.abs() <= reach, UNRESOLVED, on_side)
    return pd.DataFrame({"rho": means.index, "side": side, "repeats": counts.to_numpy()})


def in_words(sides: pd.DataFrame) -> str:
    """What :func:`sides_of_bound` has found."""
    at = {
        side: [f"{rho:g}" for rho in sides.loc[sides["side"] == side, "rho"]]
        for side in (HOLDS, FAILS, UNRESOLVED)
    }
    named = {side: f" (ρ = {', '.join(rhos)})" if rhos else "" for side, rhos in at.items()}
    parts = [f"holds at {len(at[HOLDS])} of {len(sides)} ρ{named[HOLDS]}"]
    if at[FAILS]:
        parts.append(f"fails{named[FAILS]}")
    if at[UNRESOLVED]:
        repeats = int(sides["repeats"].min())
        sets = {2: "two", 3: "three", 4: "four", 5: "five"}.get(repeats, str(repeats))
        parts.append(
            f"can't be resolved with {sets} data sets{named[UNRESOLVED]}, where the 95 % interval of their "
            "mean holds the true value"
        )
    return "; ".join(parts)
