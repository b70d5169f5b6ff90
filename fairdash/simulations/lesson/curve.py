"""Scene 1: zero correlation, total dependence. And scene 2: the two functions that straighten the cloud."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.exact import pattern_hgr
from fairdash.dependence.patterns import HALF_WIDTH
from fairdash.simulations import Scene, Truth, truth_of
from fairdash.simulations.scene import POINTS

Array = NDArray[np.float64]
Points = tuple[tuple[float, float], ...]

#: Where the curve's five points stand: u from −10 to 10 is an age from 20 to 60.
PLACES = (-10.0, -5.0, 0.0, 5.0, 10.0)
#: A price that rises to the middle and falls as much, as the household scenario's does.
HUMP: Points = tuple(zip(PLACES, (-6.0, 3.0, 6.0, 3.0, -6.0), strict=True))
LOWEST, HIGHEST = -10.0, 10.0
NOISE, ROWS = 1.5, 300
_CELLS = 20_000


def scene_of(points: Points) -> Scene:
    """Rows about the curve."""
    return Scene(pattern=POINTS, points=points, n=ROWS, noise=NOISE)


def points_of(heights: list[float]) -> Points:
    """The curve through these five heights, each brought into its range."""
    return tuple(zip(PLACES, np.clip(heights, LOWEST, HIGHEST).tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class Dials:
    """What is true of the curve with its noise.

    Attributes
    ----------
    pearson
        Correlation of age and price, in [−1, 1].
    hgr
        Maximal correlation, in [0, 1]: :func:`fairdash.dependence.exact.pattern_hgr`.
    """

    pearson: float
    hgr: float


def dials(points: Points) -> Dials:
    """The two dials, by quadrature."""
    shape = scene_of(points).named
    u = HALF_WIDTH * (2 * (np.arange(_CELLS) + 0.5) / _CELLS - 1)
    f = shape(u)
    covariance = float(np.mean(u * (f - f.mean())))
    pearson = covariance / float(u.std() * np.sqrt(f.var() + NOISE**2))
    return Dials(pearson=pearson, hgr=float(pattern_hgr(shape, noise=NOISE)))


def sentence(points: Points) -> str:
    """What the two dials say of each other, in Markdown."""
    read = dials(points)
    values = f"**Pearson's correlation of age and price is {signed(read.pearson)}, HGR {read.hgr:.2f}.** "
    if read.hgr < 0.1:
        return values + "The price does not follow age: neither of them finds a link."
    if abs(read.pearson) < 0.1:
        return values + (
            "So a price can have no correlation with age and still follow it: what it gains on one side it "
            "loses on the other. HGR may bend both before it correlates them, and is 0 only without any link."
        )
    if read.hgr - abs(read.pearson) < 0.05:
        return values + "The curve is nearly straight, and both say the same. Bend it until they part."
    return values + "Correlation sees the straight part of the link alone. Can you bring it to 0?"


def straightened(points: Points, share: float) -> tuple[Array, Array]:
    """The rows on their way from (u, v), standardised, at 0 to (f(u), g(v)) at 1; standardised, (n,) each."""
    u, v = (values[0] for values in scene_of(points).draw())
    truth = best_pair(points)
    ends = (np.interp(u, truth.u, truth.f), np.interp(v, truth.v, truth.g))
    moved = (
        (1 - share) * _standardised(begin) + share * _standardised(end)
        for begin, end in zip((u, v), ends, strict=True)
    )
    x, y = map(_standardised, moved)
    return x, y


def best_pair(points: Points) -> Truth:
    """f and g of the curve, and their correlation, HGR."""
    return truth_of(scene_of(points).named, noise=NOISE)


def straight_sentence(points: Points, share: float) -> str:
    """How straight the cloud is, in Markdown."""
    x, y = straightened(points, share)
    slope, hgr = float(np.mean(x * y)), best_pair(points).hgr
    if share == 0:
        return (
            f"**As it is the cloud has a slope of {signed(slope)}: that is Pearson's correlation of these "
            f"{ROWS} rows.** Press play, and watch f bend age and g bend the price."
        )
    if share < 1:
        return f"**{share:.0%} of the way the slope is {signed(slope)}.** Both axes are being bent."
    return (
        f"**Bent by f and g the cloud lies along a line, whose slope is {signed(slope)} on these {ROWS} "
        f"rows; the exact one is HGR = {hgr:.2f}.** No other two functions make it steeper."
    )


def _standardised(x: Array) -> Array:
    centred = x - x.mean()
    size = float(np.sqrt(np.mean(centred**2)))
    return centred / size if size > 0 else centred


def signed(value: float) -> str:
    """Two decimals, a true minus, and no minus before 0."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")
