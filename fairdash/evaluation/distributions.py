"""How predictions are spread in the low, the middle and the high third of the sensitive attribute."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.evaluation.transfers import merged_groups

THIRDS = ("low", "middle", "high")
N_POINTS = 120
MOST_ROWS = 4000
#: What is spread less than this share of its size is constant.
_ROUNDING = 1e-6


def densities(
    values: NDArray[np.float64],
    s: NDArray[np.float64],
    *,
    grid: NDArray[np.float64],
    random_state: int = 0,
) -> pd.DataFrame:
    """Gaussian kernel densities (Scott's bandwidth) of `values` within groups of `s`.

    Parameters
    ----------
    values, s : (n,) arrays
        Predictions or residuals of some rows, and their sensitive attribute; at most 4,000 of them, drawn at
        random, are used.
    grid
        Where the densities are wanted, in the units of `values`.

    Returns
    -------
    DataFrame, one row a group and grid point
        ``group`` ("low", "middle", "high"; fewer where ties or few rows leave fewer), ``s_low``, ``s_high``,
        ``n``, ``mean``, ``x``, ``density`` (integrates to 1), ``is_constant``: the group's values lie within
        one step of the grid; its density is then 0 everywhere but in one cell.
    """
    from scipy.stats import gaussian_kde

    if len(values) > MOST_ROWS:
        rows = np.random.default_rng(random_state).choice(len(values), MOST_ROWS, replace=False)
        values, s = values[rows], s[rows]
    groups = merged_groups(s, [np.arange(len(s))], n_groups=len(THIRDS))
    names = THIRDS if groups.max() == 2 else (THIRDS[0], THIRDS[2])
    parts = []
    for group in range(int(groups.max()) + 1):
        own, own_s = values[groups == group], s[groups == group]
        step = float(grid[1] - grid[0])
        is_constant = bool(np.ptp(own) <= step)
        if is_constant:
            density = np.zeros(len(grid))
            density[np.abs(grid - own.mean()).argmin()] = 1 / step
        else:
            # Scott's, but no narrower than the grid: a kernel between two of its points would not be seen.
            width = max(len(own) ** -0.2, step / float(own.std(ddof=1)))
            density = gaussian_kde(own, bw_method=width)(grid)
        parts.append(
            pd.DataFrame(
                {
                    "group": names[group],
                    "s_low": own_s.min(),
                    "s_high": own_s.max(),
                    "n": len(own),
                    "mean": own.mean(),
                    "x": grid,
                    "density": density,
                    "is_constant": is_constant,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def common_grid(*values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points over the range of all `values` but their outermost half per cent, with a margin."""
    together = np.concatenate(values)
    low, high = np.quantile(together, [0.005, 0.995])
    margin = 0.08 * (high - low)
    size = max(abs(low), abs(high))
    if high - low <= _ROUNDING * size:
        # Constant but for rounding: its digits are no spread to look into.
        margin = 0.5 * size or 0.5
    return np.linspace(low - margin, high + margin, N_POINTS)
