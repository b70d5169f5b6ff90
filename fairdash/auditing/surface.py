"""Sufficiency and autocalibration: b(p, s) = E[Y/L − π | π = p, S = s], and its mean at a price, b(p).

Y is the outcome and L the portfolio's loss ratio, so that a loading common to all prices is no bias. What
depends on s at a given price is b(p, s) − b(p): sufficiency is its root mean square. b(p) alone, a price
whose level fits the portfolio but not each price, says nothing of s: it is autocalibration (Denuit,
Michaelides and Trufin 2021), with a decomposition in
:func:`fairdash.auditing.insurance.murphy`.

Prices are cut into bands of equal exposure, and each band along s, into cells of 20 rows or more. b(p) is a
straight line in p in each third of a band, so that s does not stand in for the price within a band, not even
where prices are capped and s drives them. What differs within a cell does not count. A mean square is
taken without its noise: θ = Σ share b̂² less what the noise adds to it, which is the mean of the products
over all ways to part the units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from scipy.special import ndtr, ndtri

from fairdash.auditing.curve import by_unit
from fairdash.auditing.gaps import ABOVE, BELOW, LEVEL, POWER, UNDECIDED
from fairdash.auditing.table import FEWEST_SHOWN, AuditTable
from fairdash.dependence.ranks import quantiles
from fairdash.seeds import Stream, rng_of

Array = NDArray[np.float64]

_DRAWS = 2000
#: Bands of the price, and of s within each: at most so many, and so many rows in a cell as the aim.
_MOST_BANDS, _ROWS_A_CELL = 8, 100
#: Straight lines that b(p) is made of in a band.
_LINES_A_BAND = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class Surface:
    """A root mean square over cells without its noise; amounts in units of the price.

    Attributes
    ----------
    value, ci_low, ci_high
        Root mean square of b(p, s) − b(p), not below 0; 0 where rows of one price cost the same at every s.
        Of autocalibration, that of b(p); 0 where rows of one price cost that price.
    lower, upper
        One-sided 95 % limits.
    p_value
        Of 0 in all cells.
    p_below, p_above
        Of the claims that it is below and above δ.
    smallest
        The smallest δ that would be shown below with probability .8 if all cells were 0.
    cells
        Columns price_low, price_high, s_low, s_high (not of autocalibration), rows, share, b,
        standard_error; b is of the cell, less b(p) for sufficiency.
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

    def verdict(self, level: float = LEVEL) -> str:
        """``"below"``, ``"above"`` or ``"undecided"``, at a level a direction."""
        if self.p_below <= level:
            return BELOW
        return ABOVE if self.p_above <= level else UNDECIDED


def bias_surface(table: AuditTable, delta: float, *, random_state: int | None = 0) -> Surface:
    """Sufficiency of a table that has an outcome, against a threshold δ in units of the price."""
    price_band, bands = _price_bands(table)
    s_band = np.empty_like(price_band)
    for band in range(bands):
        rows = price_band == band
        if rows.any():
            s_band[rows] = _bands(table.sensitive[rows], table.weight[rows], bands)
    cells = _Cells.of(table, price_band * bands + s_band, of_s=True)
    return cells.root_mean_square(
        _less_price(_bands(table.price, table.weight, _LINES_A_BAND * bands), table),
        delta,
        random_state=random_state,
    )


def autocalibration(table: AuditTable, delta: float, *, random_state: int | None = 0) -> Surface:
    """How far the cost of a price, brought to the level of prices, is from that price; likewise."""
    cells = _Cells.of(table, _price_bands(table)[0], of_s=False)
    return cells.root_mean_square(None, delta, random_state=random_state)


def _price_bands(table: AuditTable) -> tuple[NDArray[np.intp], int]:
    bands = int(np.clip(np.sqrt(table.n / _ROWS_A_CELL), 2, _MOST_BANDS))
    return _bands(table.price, table.weight, bands), bands


def _bands(x: Array, weight: Array, count: int) -> NDArray[np.intp]:
    cuts = np.unique(quantiles(x, weight, np.arange(1, count) / count))
    return np.searchsorted(cuts, x, side="left")


@dataclass(frozen=True, eq=False, kw_only=True)
class _Cells:
    """Which cell each row lies in, (n,), and what each cell is; `member` (n, C) is each row's share of it."""

    table: AuditTable
    code: NDArray[np.intp]
    frame: pd.DataFrame
    member: csr_matrix

    @classmethod
    def of(cls, table: AuditTable, cell: NDArray[np.intp], *, of_s: bool) -> _Cells:
        _, code, rows = np.unique(cell, return_inverse=True, return_counts=True)
        weight = np.bincount(code, weights=table.weight)
        frame = pd.DataFrame({"rows": rows, "share": weight / weight.sum()})
        ranges = {"price": table.price} | ({"s": table.sensitive} if of_s else {})
        for k, (name, values) in enumerate(ranges.items()):
            by = pd.Series(values).groupby(code)
            frame.insert(2 * k, f"{name}_low", by.min())
            frame.insert(2 * k + 1, f"{name}_high", by.max())
        member = csr_matrix((table.weight / weight[code], (np.arange(table.n), code)))
        return cls(table=table, code=code, frame=frame, member=member)

    def root_mean_square(self, less: _Less | None, delta: float, *, random_state: int | None) -> Surface:
        """That of the cells' mean errors, less what `less` has told of the rows' errors."""
        table, rows = self.table, self.frame["rows"].to_numpy()
        error, part = table.outcome_at_price_level - table.price, self.member
        if less is not None:
            # Each row's part in each cell: of its own cell, less its part in what is told of the others.
            error, part = error - less.told(error), part - less.part(self.member)
        b = error @ self.member
        of_units = by_unit(part, error - b[self.code], table)
        covariance = (of_units.T @ of_units).toarray()
        covariance = covariance * np.sqrt(np.outer(*[rows / np.maximum(rows - 1, 1)] * 2))
        frame = self.frame.assign(b=b, standard_error=np.sqrt(np.diag(covariance)))
        shown = rows >= FEWEST_SHOWN
        share = frame["share"].to_numpy()[shown]
        found = _of_means(
            b[shown], covariance[np.ix_(shown, shown)], share / share.sum(), delta, random_state=random_state
        )
        return Surface(**found, cells=frame[shown].reset_index(drop=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Less:
    """Weighted least squares on few columns of a sparse design (n, q)."""

    design: csr_matrix
    solve: Array
    weight: Array

    def told(self, y: Array) -> Array:
        """What is told of y (n,) in each row."""
        return np.asarray(self.design @ (self.solve @ (self.design.T @ (self.weight * y))))

    def part(self, member: csr_matrix) -> csr_matrix:
        """Each row's part in what is told of each cell's mean, (n, C)."""
        of_cells = csr_matrix(self.solve @ (self.design.T @ member).toarray())
        return self.design.multiply(self.weight[:, None]).tocsr() @ of_cells


def _less_price(band: NDArray[np.intp], table: AuditTable) -> _Less:
    """b(p): a straight line in each of the given bands of the price."""
    _, code = np.unique(band, return_inverse=True)
    total = np.bincount(code, weights=table.weight)
    middle = np.bincount(code, weights=table.weight * table.price) / total
    away = table.price - middle[code]
    width = np.sqrt(np.bincount(code, weights=table.weight * away**2) / total)
    # Prices of one value have no slope.
    steep = width > 1e-9 * max(float(np.abs(table.price).max()), 1e-300)
    rows, count = np.arange(table.n), len(total)
    kept = steep[code]
    slope = csr_matrix(
        ((away / np.where(steep, width, 1.0)[code])[kept], (rows[kept], code[kept])), shape=(table.n, count)
    )
    level = csr_matrix((np.ones(table.n), (rows, code)), shape=(table.n, count))
    design = hstack([level, slope[:, steep]], format="csr")
    # Columns are orthogonal under the weights.
    solve = np.diag(1 / np.append(total, total[steep]))
    return _Less(design=design, solve=solve, weight=table.weight)


def _of_means(
    b: Array, covariance: Array, share: Array, delta: float, *, random_state: int | None
) -> dict[str, float]:
    """Root mean square of normal means b (C,) with what can be said of it; see :class:`Surface`."""
    noise = covariance * share[:, None]  # CD
    theta = float(share @ b**2 - np.trace(noise))
    # Variance of a quadratic form of normal means: 4 b'DCDb + 2 tr(DCDC).
    own = 2 * float((noise * noise.T).sum())
    spread = float(np.sqrt(max(4 * float((share * b) @ covariance @ (share * b)) + own, 1e-300)))
    size, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(size, 0))
    drawn = rng_of(Stream.AUDIT_DRAWS, random_state, 1).normal(size=(_DRAWS, len(b))) @ root.T
    none = (drawn**2) @ share - np.trace(noise)
    at = [theta + ndtri(level) * spread for level in (0.025, 0.05, 0.95, 0.975)]
    low, lower, upper, high = (float(np.sqrt(max(each, 0.0))) for each in at)
    return {
        "value": float(np.sqrt(max(theta, 0.0))),
        "ci_low": low,
        "ci_high": high,
        "lower": lower,
        "upper": upper,
        "p_value": float((1 + (none >= theta).sum()) / (1 + _DRAWS)),
        "p_below": float(ndtr((theta - delta**2) / spread)),
        "p_above": float(ndtr((delta**2 - theta) / spread)),
        "smallest": float(np.sqrt(np.quantile(np.maximum(none + ndtri(0.95) * np.sqrt(own), 0), POWER))),
    }
