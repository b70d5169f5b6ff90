"""Functions of s that a curve is made of, and the points at which it is read.

Between the 5th and 95th percentile of s a curve is a cubic spline whose roughness is penalised (O'Sullivan
1986; Wand and Ormerod 2008), or the mean of each level where s has few; the rows below and above are one
mean each, so that a surcharge on the topmost rows counts and does not bend the curve beside it. How far
such a mean may stand from where the curve goes straight on is a penalty of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from scipy.sparse import csr_matrix, hstack

from fairdash.auditing.table import FEWEST_SHOWN, AuditTable
from fairdash.dependence.ranks import quantiles

Array = NDArray[np.float64]

#: The range of s between which the curve is read, as shares of the exposure.
LOW, HIGH = 0.05, 0.95
#: Distinct values up to which s has levels, and no curve.
MOST_LEVELS = 25
_DEGREE = 3
_FEWEST_KNOTS, _MOST_KNOTS = 6, 40
#: How far beyond the range the curve goes straight on, in ranges.
_FARTHEST = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class Basis:
    """Functions of s at the rows and at the points where a curve is read.

    Attributes
    ----------
    rows : (n, p) sparse array
        The functions at each row; they add up to 1 in every row.
    points : (J, p) array
        The functions at each point, so that ``points @ coefficients`` is the curve.
    penalty : (p, p) array
        Roughness ∫ f''² as a quadratic form of the coefficients; zeros for levels and tails.
    steps : (p, p) array
        Square of each tail's mean less what the curve is there if it goes straight on, times the tail's
        share of the exposure, added up; zeros beside levels.
    at : (J,) array
        The value of s at a point; the mean s of a tail's rows.
    share : (J,) array
        The share of the exposure at or below a point.
    kind : tuple of J texts
        ``"curve"``, ``"level"``, ``"below"`` (the mean of the rows below the 5th percentile) or ``"above"``.
    ends : (2,) array
        The shares of exposure below and at or below the range.
    """

    rows: csr_matrix
    points: Array
    penalty: Array
    steps: Array
    at: Array
    share: Array
    kind: tuple[str, ...]
    ends: Array

    @property
    def is_curve(self) -> NDArray[np.bool_]:
        return np.array([each == "curve" for each in self.kind])

    def nearest(self, share: float) -> int:
        """The point within the range that is nearest to a share of the exposure."""
        inner = np.array([each in ("curve", "level") for each in self.kind])
        return int(np.argmin(np.where(inner, np.abs(self.share - share), np.inf)))


def basis_of(table: AuditTable) -> Basis:
    """The functions that suit a table's s, and the points where a curve along it is read."""
    s, weight = table.sensitive, table.weight
    low, high = quantiles(s, weight, np.array([LOW, HIGH]))
    inner = (s >= low) & (s <= high)
    values = np.unique(s[inner])
    if len(values) <= MOST_LEVELS:
        core = _levels(table, inner, values)
    else:
        core = _spline(s, weight, inner, knots=_knots(table.n_distinct))
    rows, points, penalty, at, kind, beyond = core
    steps = np.zeros_like(penalty)
    total = weight.sum()
    share = np.cumsum(weight)[np.searchsorted(s, at, side="right") - 1] / total
    ends = np.array([weight[s < low].sum(), weight[s <= high].sum()]) / total
    for name, tail, where in (("below", s < low, ends[0]), ("above", s > high, ends[1])):
        if not tail.any():
            continue
        rows = hstack([rows, csr_matrix(tail[:, None].astype(float))], format="csr")
        points = np.pad(points, ((0, 0), (0, 1)))
        penalty, steps = (np.pad(each, (0, 1)) for each in (penalty, steps))
        mean = weight[tail] @ s[tail] / weight[tail].sum()
        if beyond is not None:
            step = np.append(np.zeros(points.shape[1] - 1), 1.0)
            straight = beyond(mean)
            step[: len(straight)] -= straight
            steps += weight[tail].sum() / total * np.outer(step, step)
        if len(np.unique(table.units[tail])) < FEWEST_SHOWN:
            continue  # too few rows to be shown; they have a coefficient so that they don't bend the curve
        points = np.vstack([points, np.eye(points.shape[1])[-1]])
        at = np.append(at, mean)
        share, kind = np.append(share, where), (*kind, name)
    return Basis(
        rows=rows, points=points, penalty=penalty, steps=steps, at=at, share=share, kind=kind, ends=ends
    )


def _knots(n: int) -> int:
    return int(np.clip(round(n ** (1 / 3)), _FEWEST_KNOTS, _MOST_KNOTS))


#: Rows, points, penalty, at, kind, and the functions at a value beyond the range if they go straight on.
_Core = tuple[csr_matrix, Array, Array, Array, tuple[str, ...], Callable[[float], Array] | None]


def _levels(table: AuditTable, inner: NDArray[np.bool_], values: Array) -> _Core:
    s = table.sensitive
    code = np.searchsorted(values, s[inner])
    counts = np.array([len(np.unique(table.units[inner][code == k])) for k in range(len(values))])
    where = (np.flatnonzero(inner), code)
    rows = csr_matrix((np.ones(len(code)), where), shape=(len(s), len(values)))
    shown = counts >= FEWEST_SHOWN
    points = np.eye(len(values))[shown]
    return rows, points, np.zeros((len(values),) * 2), values[shown], ("level",) * int(shown.sum()), None


def _spline(s: Array, weight: Array, inner: NDArray[np.bool_], *, knots: int) -> _Core:
    within, heavy = s[inner], weight[inner]
    low, high = within[0], within[-1]
    # In units of the range, so that the penalty's weight does not depend on what s is counted in.
    x = (within - low) / (high - low)
    middle = np.unique(quantiles(x, heavy, np.linspace(0, 1, knots + 2)[1:-1]))
    middle = middle[(middle > 0) & (middle < 1)]
    edges = np.concatenate([[0.0], middle, [1.0]])
    full = np.concatenate([[0.0] * _DEGREE, edges, [1.0] * _DEGREE])
    values = csr_matrix(BSpline.design_matrix(x, full, _DEGREE))
    p = values.shape[1]
    # A row of the table outside the range has zeros here.
    place = csr_matrix((np.ones(len(x)), (np.flatnonzero(inner), np.arange(len(x)))), shape=(len(s), len(x)))
    functions = BSpline(full, np.eye(p), _DEGREE)
    second = functions.derivative(2)
    # Gauss's rule of two nodes is exact: f'' is linear between knots.
    half, centre = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    bent = np.vstack([second(centre - half / np.sqrt(3)), second(centre + half / np.sqrt(3))])
    penalty = bent.T @ (bent * np.tile(half, 2)[:, None])
    shares = np.linspace(LOW, HIGH, 37)
    at = np.unique(quantiles(s, weight, shares))
    points = BSpline.design_matrix((at - low) / (high - low), full, _DEGREE).toarray()

    def beyond(value: float) -> Array:
        edge = 0.0 if value < low else 1.0
        # Far out in a long tail a straight line says nothing.
        reach = np.clip((value - low) / (high - low) - edge, -_FARTHEST, _FARTHEST)
        return functions(edge) + reach * functions(edge, 1)

    return place @ values, points, penalty, at, ("curve",) * len(at), beyond
