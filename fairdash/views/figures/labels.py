"""Placement of labels next to points, without overlap or clipping at any chart width.

When labels are placed, the width of the chart on the screen is unknown. A label therefore has a fixed
distance in pixels from its point, chosen so that it overlaps no other label at any of WIDTHS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.views.figures.parts import Values, note
from fairdash.views.figures.theme import Theme, escaped

Array = NDArray[np.float64]
#: Ranges of the x-axis and the y-axis.
Axes = tuple[tuple[float, float], tuple[float, float]]
#: Area occupied by a label, in pixels: left (at each of WIDTHS), bottom, right (at each of WIDTHS) and top.
Box = tuple[Array, float, Array, float]
#: Areas of all possible positions (“candidates”) of a label. Each edge (left, bottom, right and top) is an
#: array (candidates, widths) or (candidates, 1).
Edges = tuple[Array, Array, Array, Array]

#: `WIDTHS`: possible widths of the plot inside its axes, in pixels. `HEIGHT`: its height in a chart of the
#: usual height.
WIDTHS = np.array([255.0, 285.0, 330.0, 400.0, 460.0, 540.0, 640.0, 800.0, 1000.0])
HEIGHT = 285.0
#: Minimum distance of a label from other labels, and from the upper, lower and left edge of the plot.
_GAP = 3.0
#: Maximum length by which a label may extend beyond the right edge of the plot. It is smaller than the
#: margin.
_MAX_OVERHANG = 10.0
#: A line connects a label with its point if the distance between them is larger than this.
_NEAR = 26.0
#: Cost of a label that covers a point, if each pixel of distance between a label and its own point costs 1.
_COST_OF_POINT = 15.0
#: Covering a point with a label costs as much as covering this number of points without labels.
_POINTS_OF_LABEL = 4
#: Cost of an overlap of one pixel. It is larger than the cost of any distance plus all covered points.
_COST_OF_OVERLAP = 1e4
#: Cost of two lines that cross. It is larger than the cost of any distance, and smaller than that of any
#: overlap.
_COST_OF_CROSSING = 2e3
_ATTEMPTS = 8


@dataclass(frozen=True, kw_only=True)
class Label:
    """Label next to a point, with an optional mark on the point.

    Parameters
    ----------
    x, y
        Coordinates of the point, in the units of the axes.
    text
        Text of the label, without HTML.
    colour
        Colour of text and mark.
    symbol
        Plotly symbol of the mark; "" if the point has no mark. The label of a point with a mark is larger and
        bold.
    is_hollow
        True draws the mark as a ring.
    """

    x: float
    y: float
    text: str
    colour: str
    symbol: str = ""
    is_hollow: bool = False

    @property
    def size(self) -> int:
        """Font size, in pixels."""
        return 13 if self.symbol else 11

    @property
    def extent(self) -> tuple[float, float]:
        """Estimated width and height of the label in pixels; the estimates are slightly too large."""
        return len(self.text) * self.size * (0.53 if self.symbol else 0.47) + 4, self.size * 1.3 + 4


def placed(
    labels: Sequence[Label], *, axes: Axes, occupied: Sequence[Box], points: Array, theme: Theme
) -> list[dict[str, Any]]:
    """Return plotly annotations, with each label near its point; earlier labels are placed first.

    If an attempt leaves a label without room, the next attempt places this label first. In every second
    attempt, the other labels are then sorted by length, the longest first.

    Parameters
    ----------
    axes
        Ranges of x and of y.
    occupied
        Occupied areas, which no label may cover.
    points : (n, 2) array
        Points without labels that labels should not cover, in the units of the axes.
    """
    at = shares([(label.x, label.y) for label in labels], axes)
    points = np.array([*shares(points, axes), *_POINTS_OF_LABEL * list(at)])
    edges = [_edges(label, *position) for label, position in zip(labels, at, strict=True)]
    own_costs = [_costs(label_edges, occupied, points) for label_edges in edges]

    # Results are cached, because most labels have the same position in several attempts.
    @cache
    def overlap(k: int, other: int, j: int) -> Array:
        return _overlap(edges[k], _box_at(edges[other], j))

    @cache
    def crossing(k: int, other: int, j: int) -> NDArray[np.bool_]:
        return _crosses(at[k], at[other], j)

    def costs(k: int, positions: Mapping[int, int], crossed: float) -> Array:
        """Return the cost of each possible position of label k, given the positions of the other labels."""
        others = [(other, j) for other, j in positions.items() if other != k]
        overlaps = sum((overlap(k, *other) for other in others), np.zeros((1, 1)))
        lines = [crossing(k, *other) for other in others if crossed and _LEADS[other[1]]]
        cost: Array = own_costs[k] + _COST_OF_OVERLAP * overlaps.max(axis=1)
        return cost + crossed * np.sum(lines, axis=0)

    best: tuple[float, dict[int, int]] = (np.inf, {})
    # In the first round, lines may cross. If none do, the nearest positions are the best.
    for crossed in (0.0, _COST_OF_CROSSING):
        order = list(range(len(labels)))
        for attempt in range(_ATTEMPTS):
            positions: dict[int, int] = {}
            without_room = -1
            # If lines cross, every label is placed again, given the positions of all other labels.
            for k in order * (2 if crossed else 1):
                cost = costs(k, positions, crossed)
                positions[k] = int(cost.argmin())
                if cost.min() >= (crossed or _COST_OF_OVERLAP) and without_room < 0:
                    without_room = k
            cost_of_label = [float(costs(k, positions, _COST_OF_CROSSING)[positions[k]]) for k in order]
            if sum(cost_of_label) < best[0]:
                best = (sum(cost_of_label), positions)
            if without_room < 0:
                break
            order = sorted(order, key=lambda k: -len(labels[k].text)) if attempt % 2 else order
            order = [without_room, *(k for k in order if k != without_room)]
        if max(cost_of_label) < _COST_OF_CROSSING:
            break
    return [_annotation(label, _ANCHORS[best[1][k]], theme) for k, label in enumerate(labels)]


def shares(points: ArrayLike, axes: Axes) -> Array:
    """Return points, (n, 2), as shares of the axes' lengths, measured from the lower left corner."""
    low, high = np.array(axes).T
    return (np.asarray(points, dtype=float).reshape(-1, 2) - low) / (high - low)


def _annotation(label: Label, anchor: tuple[float, float, str, str], theme: Theme) -> dict[str, Any]:
    text = escaped(label.text)
    dx, dy, xanchor, yanchor = anchor
    leads = np.hypot(dx, dy) > _NEAR
    words = f"<b>{text}</b>" if label.symbol else text
    offsets = {"ax": dx, "ay": -dy, "xanchor": xanchor, "yanchor": yanchor, "standoff": 6}
    arrow = {"arrowhead": 0, "arrowwidth": 1, "arrowcolor": label.colour if leads else "rgba(0,0,0,0)"}
    veil = {"bgcolor": theme.veil, "borderpad": 0, "opacity": 1}
    style: Values = {"colour": label.colour, "size": label.size, "showarrow": True}
    return note(words, x=label.x, y=label.y, **style) | offsets | arrow | veil


#: Possible positions of a label: the offset of its anchor from the point, and the side and the edge of the
#: label at the anchor. Positions near the point come first, then positions further up and down.
_ACROSS, _UP = (8, 24, 44, 68, 96, 130), (12, 20, 28, 36, 46, 58, 72, 88, 106, 126, 148, 172, 198, 226, 255)
_SIDES = ((0.0, "center"), *((dx, "left") for dx in _ACROSS), *((-dx, "right") for dx in _ACROSS))
_ANCHORS: tuple[tuple[float, float, str, str], ...] = (
    (9, 0, "left", "middle"),
    (7, 5, "left", "bottom"),
    (-7, 5, "right", "bottom"),
    (0, 9, "center", "bottom"),
    (7, -5, "left", "top"),
    (-7, -5, "right", "top"),
    (0, -9, "center", "top"),
    (-9, 0, "right", "middle"),
    *(
        (dx, side * distance, xanchor, "bottom" if side > 0 else "top")
        for distance in _UP
        for side in (1, -1)
        for dx, xanchor in _SIDES
    ),
)
#: `_DX`, `_DY`: offsets of the candidates, (candidates, 1). `_LEFT_OF`, `_BELOW`: shares of a label's width
#: and height that are left of and below its anchor.
_SHARES = {"left": 0.0, "center": 0.5, "right": 1.0, "bottom": 0.0, "middle": 0.5, "top": 1.0}
_DX, _DY, _LEFT_OF, _BELOW = np.array(
    [(dx, dy, _SHARES[xanchor], _SHARES[yanchor]) for dx, dy, xanchor, yanchor in _ANCHORS], dtype=float
).T[:, :, None]


#: True for each candidate that needs a line between point and label, (candidates,).
_LEADS = np.hypot(_DX, _DY)[:, 0] > _NEAR


def _crosses(point: Array, other: Array, j: int) -> NDArray[np.bool_]:
    """Return True for each candidate whose line crosses another label's line, at any chart width."""
    a, b = other[0] * WIDTHS - point[0] * WIDTHS, other[1] * HEIGHT - point[1] * HEIGHT
    dx, dy = _DX[j, 0], _DY[j, 0]
    is_right = (_DX * b - _DY * a) * (_DX * (b + dy) - _DY * (a + dx)) < 0
    crosses_up = (dx * -b - dy * -a) * (dx * (_DY - b) - dy * (_DX - a)) < 0
    return (is_right & crosses_up).any(axis=1) & _LEADS


def _edges(label: Label, x: float, y: float) -> Edges:
    """Return the candidates' edges: left and right (candidates, widths), bottom and top (candidates, 1).

    `x` and `y` are the coordinates of the label's point as shares of the axes' lengths.
    """
    width, height = label.extent
    left = x * WIDTHS + _DX - _LEFT_OF * width
    bottom = y * HEIGHT + _DY - _BELOW * height
    return left, bottom, left + width, bottom + height


def _box_at(edges: Edges, k: int) -> Box:
    left, bottom, right, top = edges
    return left[k], float(bottom[k, 0]), right[k], float(top[k, 0])


def _costs(edges: Edges, occupied: Sequence[Box], points: Array) -> Array:
    """Return the cost of each position: distance, covered points and, most costly, overlap and clipping."""
    left, bottom, right, top = edges
    overhang = np.clip(_GAP - left, 0, None) + np.clip(right - WIDTHS - _MAX_OVERHANG, 0, None)
    overhang += np.clip(_GAP - bottom, 0, None) + np.clip(top - HEIGHT, 0, None)
    x, y = (points * (1.0, HEIGHT)).T[:, :, None, None]
    in_height = (y > bottom - _GAP) & (y < top + _GAP)
    covered = ((x * WIDTHS > left - _GAP) & (x * WIDTHS < right + _GAP) & in_height).sum(axis=0)
    distance = np.hypot(_DX, _DY)[:, 0]
    cost: Array = _COST_OF_OVERLAP * overhang.max(axis=1) + distance + _COST_OF_POINT * covered.max(axis=1)
    return cost + _COST_OF_OVERLAP * sum((_overlap(edges, box) for box in occupied), np.zeros((1, 1))).max(
        axis=1
    )


def _overlap(edges: Edges, box: Box) -> Array:
    """Return each candidate's overlap with an area at each chart width, in pixels, (candidates, widths)."""
    (left, bottom, right, top), (o_left, o_bottom, o_right, o_top) = edges, box
    x_overlap = np.minimum(right, o_right) - np.maximum(left, o_left) + _GAP
    overlap = np.minimum(top, o_top) - np.maximum(bottom, o_bottom) + _GAP
    return np.where((x_overlap > 0) & (overlap > 0), 1 + np.minimum(x_overlap, overlap), 0.0)
