"""Several runs on one chart: what is drawn is what was given, and names are plain text."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fairdash.figures.front import RunPath, runs_front_figure
from fairdash.figures.theme import LIGHT
from tests.figures.rows import rows_of
from tests.figures.test_comparing import EVIL

VIEW = {
    "error": "mse",
    "error_title": "Test error (MSE)",
    "measure": "hgr_kde",
    "measure_title": "HGR",
    "subtitle": EVIL,
}


def path(shift: float, *methods: str) -> pd.DataFrame:
    lams = np.array([0.0, 0.5, 1.0, 2.0])
    own = pd.DataFrame(
        {"lam": lams, "share": [0, 0.5, 0, 0], "mse": 0.4 + 0.1 * lams, "hgr_kde": 0.7 - 0.3 * lams}
    )
    own = own.assign(mse_se=0.01, hgr_kde_se=np.nan, hgr_kde_floor=0.1, hgr_kde_edge=0.15 + shift, n_splits=2)
    return pd.concat([own.assign(method=each, mse=own["mse"] + shift + k) for k, each in enumerate(methods)])


def test_every_method_of_every_run_has_a_line_points_and_a_name_of_its_own() -> None:
    runs = [
        RunPath(letter="A", title=EVIL, test=rows_of(path(0.0, "hgr_nn", "pearson"), "mse", "hgr_kde")),
        RunPath(letter="B", title="later", test=rows_of(path(0.05, "hgr_nn"), "mse", "hgr_kde")),
    ]
    figure = runs_front_figure(runs, theme=LIGHT, **VIEW)
    lines = [each for each in figure.data if each.mode == "lines"]
    points = [each for each in figure.data if each.mode == "markers"]
    assert [len(each.x) for each in lines] == [4, 4, 4]
    assert [len(each.x) for each in points] == [3, 3, 3]
    np.testing.assert_array_equal(points[2].y, path(0.05, "hgr_nn").query("share == 0")["mse"])
    looks = {(each.marker.color, each.marker.symbol) for each in points}
    assert len(looks) == len({colour for colour, _ in looks}) == 3
    assert [each.name for each in points] == [
        "A: Fair HGR network",
        "A: Fair linear network",
        "B: Fair HGR network",
    ]
    named = {note.text for note in figure.layout.annotations}
    assert named >= {each.name for each in points}
    (band,) = figure.layout.shapes
    assert band.x1 == pytest.approx(0.15)
    text = json.dumps(figure.to_plotly_json(), default=str)
    assert "<img" not in text
    assert "<a href" not in text
