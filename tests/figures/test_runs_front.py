"""Several runs on one chart: what is drawn is what was given, and names are plain text."""

from __future__ import annotations

import numpy as np
import pytest

from fairdash.figures.front import RunPath, runs_front_figure
from fairdash.figures.theme import LIGHT
from tests.figures.test_comparing import EVIL, assert_names_are_text, path

VIEW = {"error": "mse", "error_title": "Test error (MSE)", "measure": "hgr_kde", "measure_title": "HGR"}


def test_every_method_of_every_run_has_a_line_points_and_a_name_of_its_own() -> None:
    runs = [
        RunPath(letter="A", title=EVIL, test=path(0.0, "hgr_nn", "pearson")),
        RunPath(letter="B", title="later", test=path(0.05, "hgr_nn")),
    ]
    figure = runs_front_figure(runs, theme=LIGHT, subtitle=EVIL, **VIEW)
    lines, points = ([each for each in figure.data if each.mode == mode] for mode in ("lines", "markers"))
    assert [len(each.x) for each in (*lines, *points)] == [4, 4, 4, 3, 3, 3]
    np.testing.assert_array_equal(points[2].y, runs[1].test.query("share == 0")["mse"])
    looks = {(each.marker.color, each.marker.symbol) for each in points}
    assert len(looks) == len({colour for colour, _ in looks}) == 3
    names = ["A: Fair HGR network", "A: Fair linear network", "B: Fair HGR network"]
    assert [each.name for each in points] == names
    named = {note.text for note in figure.layout.annotations}
    assert named >= set(names)
    (band,) = figure.layout.shapes
    assert band.x1 == pytest.approx(0.15)
    assert_names_are_text(figure)
