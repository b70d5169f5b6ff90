"""Labels beside points: none covers another, and no line to one crosses the line to another."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fairdash.views.figures.labels import _NEAR, HEIGHT, WIDTHS, Label, placed, shares
from fairdash.views.figures.theme import LIGHT

AXES = ((-0.05, 1.05), (-0.1, 1.15))
SHARE = {"left": 0.0, "center": 0.5, "right": 1.0, "bottom": 0.0, "middle": 0.5, "top": 1.0}


def crosses(a, b, c, d) -> bool:
    """Whether the segments ab and cd cross."""

    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


@pytest.mark.parametrize("seed", [0, 1])
def test_fifteen_labels_of_a_front_never_cross_from_a_phone_to_a_wide_screen(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=15))
    points = np.c_[x, (1 - x) ** 2 + rng.normal(0, 0.02, 15)]
    labels = [
        Label(x=x, y=y, text="Fair spline network"[: 8 + k], colour="#000") for k, (x, y) in enumerate(points)
    ]
    notes = placed(labels, axes=AXES, taken=[], points=points, theme=LIGHT)
    for width in WIDTHS:
        ends = shares(points, AXES) * (width, HEIGHT)
        begins = ends + [(each["ax"], -each["ay"]) for each in notes]
        extents = np.array([each.extent for each in labels])
        low = begins - extents * [(SHARE[each["xanchor"]], SHARE[each["yanchor"]]) for each in notes]
        for j, k in combinations(range(15), 2):
            assert not ((low[j] < low[k] + extents[k]) & (low[k] < low[j] + extents[j])).all()
            if np.hypot(*(begins[j] - ends[j])) > _NEAR and np.hypot(*(begins[k] - ends[k])) > _NEAR:
                assert not crosses(ends[j], begins[j], ends[k], begins[k])
