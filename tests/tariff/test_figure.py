"""What changed in the tariff, a factor a figure: both tables are drawn as they are, with the exposure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.views.figures.comparison import factor_figure
from fairdash.views.figures.theme import LIGHT
from tests.tariff.test_model import OPTIONS, policies

EVIL = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module", params=["poisson", "squared_error"])
def tables(request):
    table, claims, years, age = policies(300)
    table["zone"] = table["zone"].replace({"A": EVIL, "C": "(missing)"})
    model = fd.FairTariff(loss=request.param, lam=0.3, tol=1, **OPTIONS | {"bands": {"bonus": 3}})
    model.fit(table, claims, sensitive_features=age, sample_weight=years)
    return model.relativities(unpenalised=True), model.relativities()


def _named(figure, name):
    return [trace for trace in figure.data if trace.name == name]


def test_points_are_the_relativities_and_curves_go_through_them(tables):
    before, after = tables
    value = "relativity" if "relativity" in after else "points"
    figure, zone, bands = (
        factor_figure(before, after, factor, theme=LIGHT, after_name="chosen")
        for factor in ("value", "zone", "bonus")
    )
    for table, name in ((before, "λ = 0"), (after, "chosen")):
        line, missing = _named(figure, name)
        rows = table[(table["factor"] == "value") & (table["kind"] == "breakpoint")]
        # At the breakpoints, and between two of them as premiums are.
        assert np.interp(rows["at"], line.x, line.y) == pytest.approx(rows[value])
        middle = rows["at"].iloc[:2].mean()
        rated = fd.rate(pd.concat([table.iloc[:1], rows]), pd.DataFrame({"value": [middle]}))
        base = table[value].iloc[0]
        expected = rated[0] / base if value == "relativity" else rated[0] - base
        assert np.interp(middle, line.x, line.y) == pytest.approx(expected, rel=1e-3)
        of_missing = table.loc[(table["factor"] == "value") & (table["kind"] == "missing"), value]
        assert list(missing.y) == of_missing.tolist()
        assert missing.x[0] > rows["at"].max()
    assert EVIL not in zone.to_json()
    (points,) = _named(zone, "chosen")
    rows = after[(after["factor"] == "zone") & (after["kind"] != "interaction")]
    assert list(points.y) == rows[value].tolist()
    assert _named(bands, "chosen")[0].x[0].startswith("below ")
