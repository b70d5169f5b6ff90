"""Sufficiency: the bias surface b(p, s) = E[Y − π | π = p, S = s], its size, and autocalibration b(p).

Prices are cut into bands of equal exposure, and each band along s, into cells of 20 rows or more. The root
mean square of b is that of pairs of different units, so that noise does not count: θ = Σ share b̂² less what
the noise adds to it, which is the mean of the products over all ways to part the units (Denuit, Michaelides
and Trufin for autocalibration).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import ndtr, ndtri

from fairdash.auditing.gaps import ABOVE, BELOW, LEVEL, POWER, UNDECIDED
from fairdash.auditing.table import FEWEST_SHOWN, AuditTable
from fairdash.dependence.ranks import quantiles
from fairdash.seeds import Stream, rng_of

Array = NDArray[np.float64]

_DRAWS = 2000
#: Bands of the price, and of s within each: at most so many, and so many rows in a cell as the aim.
_MOST_BANDS, _ROWS_A_CELL = 8, 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Surface:
    """The bias surface and its root mean square; amounts in units of the price.

    Attributes
    ----------
    value, ci_low, ci_high
        Root mean square of b, not below 0; 0 where at every price and s the cost is what was charged.
    lower, upper
        One-sided 95 % limits.
    p_value
        Of b = 0 in all cells.
    p_below, p_above
        Of the claims that it is below and above δ.
    smallest
        The smallest δ that would be shown below with probability .8 if b were 0.
    cells
        Columns price_low, price_high, s_low, s_high, rows, share, b, standard_error.
    calibration
        Autocalibration: columns price_low, price_high, rows, share, b, standard_error.
    """

    value: float
    ci_low: float
    ci_high: float
    lower: float
    upper: float
    p_value: float
    p_below: float
    p_above: float
    smallest: float
    cells: pd.DataFrame
    calibration: pd.DataFrame

    def verdict(self, level: float = LEVEL) -> str:
        """``"below"``, ``"above"`` or ``"undecided"``, at a level a direction."""
        if self.p_below <= level:
            return BELOW
        return ABOVE if self.p_above <= level else UNDECIDED


def bias_surface(table: AuditTable, delta: float, *, random_state: int | None = 0) -> Surface:
    """The bias surface of a table that has an outcome, against a threshold δ in units of the price."""
    assert table.outcome is not None
    error = table.outcome - table.price
    bands = int(np.clip(np.sqrt(table.n / _ROWS_A_CELL), 2, _MOST_BANDS))
    price_band = _bands(table.price, table.weight, bands)
    s_band = np.empty_like(price_band)
    for band in range(bands):
        rows = price_band == band
        if rows.any():
            s_band[rows] = _bands(table.sensitive[rows], table.weight[rows], bands)
    cells, b, covariance, share = _means(error, price_band * bands + s_band, table, of_s=True)
    calibration, *_ = _means(error, price_band, table, of_s=False)
    noise = covariance * share[:, None]  # CD
    theta = float(share @ b**2 - np.trace(noise))
    # Variance of a quadratic form of normal means: 4 b'DCDb + 2 tr(DCDC).
    own = 2 * float((noise * noise.T).sum())
    spread = float(np.sqrt(max(4 * float((share * b) @ covariance @ (share * b)) + own, 1e-300)))
    root = np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) / len(b) * np.eye(len(b)) + 0.0)
    drawn = rng_of(Stream.AUDIT_DRAWS, random_state, 1).normal(size=(_DRAWS, len(b))) @ root.T
    none = (drawn**2) @ share - np.trace(noise)
    at = [theta + ndtri(level) * spread for level in (0.025, 0.05, 0.95, 0.975)]
    low, lower, upper, high = (float(np.sqrt(max(each, 0.0))) for each in at)
    return Surface(
        value=float(np.sqrt(max(theta, 0.0))),
        ci_low=low,
        ci_high=high,
        lower=lower,
        upper=upper,
        p_value=float((1 + (none >= theta).sum()) / (1 + _DRAWS)),
        p_below=float(ndtr((theta - delta**2) / spread)),
        p_above=float(ndtr((delta**2 - theta) / spread)),
        smallest=float(np.sqrt(np.quantile(np.maximum(none + ndtri(0.95) * np.sqrt(own), 0), POWER))),
        cells=cells,
        calibration=calibration,
    )


def _bands(x: Array, weight: Array, count: int) -> NDArray[np.intp]:
    cuts = np.unique(quantiles(x, weight, np.arange(1, count) / count))
    return np.searchsorted(cuts, x, side="left")


def _means(
    error: Array, cell: NDArray[np.intp], table: AuditTable, *, of_s: bool
) -> tuple[pd.DataFrame, Array, Array, Array]:
    """Means of the error by cell: a frame, the means, their covariance over units, and the shares of
    exposure."""
    names, code, rows = np.unique(cell, return_inverse=True, return_counts=True)
    weight = np.bincount(code, weights=table.weight)
    b = np.bincount(code, weights=table.weight * error) / weight
    off = table.weight * (error - b[code]) / weight[code]
    of_units = csr_matrix((off, (table.units, code)), shape=(table.n_units, len(names)))
    covariance = (of_units.T @ of_units).toarray() * np.sqrt(np.outer(*[rows / np.maximum(rows - 1, 1)] * 2))
    shown = rows >= FEWEST_SHOWN
    frame = pd.DataFrame({"rows": rows, "share": weight / weight.sum()})
    frame["b"], frame["standard_error"] = b, np.sqrt(np.diag(covariance))
    ranges = {"price": table.price} | ({"s": table.sensitive} if of_s else {})
    for k, (name, values) in enumerate(ranges.items()):
        by = pd.Series(values).groupby(code)
        frame.insert(2 * k, f"{name}_low", by.min())
        frame.insert(2 * k + 1, f"{name}_high", by.max())
    share = weight[shown] / weight[shown].sum()
    return frame[shown].reset_index(drop=True), b[shown], covariance[np.ix_(shown, shown)], share
