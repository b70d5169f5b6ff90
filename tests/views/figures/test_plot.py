"""fd.plot: the app's figures from a sweep's result, without Streamlit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.errors import OptionError
from fairdash.evaluation import summarise_splits, wide
from tests.training.test_sweep import QUICK, small_dataset
from tests.ui.conftest import numbers


@pytest.fixture(scope="module")
def trained():
    data = small_dataset(160)
    options = {"methods": ["standard", "hgr_spline", "pearson"], "lams": [2.0], "n_splits": 2}
    result = fd.sweep(data, settings=QUICK, measures=["hgr_kde", "hgr_rdc"], device="cpu", **options)
    return data, result


def words(figure):
    return " ".join(str(each.text) for each in figure.layout.annotations) + str(figure.layout.title.text)


def test_the_front_figure_shows_means_over_test_rows(trained):
    _, result = trained
    figure = fd.plot.front(result)
    means = wide(summarise_splits(result.frames[result.objective]))
    means = means.query("part == 'test'")[["hgr_kde", "rmse"]]
    drawn = np.vstack([np.column_stack([numbers(trace.x), numbers(trace.y)]) for trace in figure.data])
    assert set(map(tuple, means.to_numpy())) <= set(map(tuple, drawn))
    assert "mean of 2 random splits" in figure.layout.title.subtitle.text.replace("<br>", " ")
    other = fd.plot.front(result, measure="hgr_rdc", method="pearson", dark=True)
    assert "RDC" in other.layout.xaxis.title.text
    assert other.layout.font.color != figure.layout.font.color


def test_plot_front_draws_the_standard_model_alone_or_with_reference_predictions(trained):
    data, _ = trained
    alone = fd.sweep(data, methods=["standard"], lams=[], n_splits=1, settings=QUICK, device="cpu")
    assert "standard model" in words(fd.plot.front(alone))
    references = fd.references(data, n_splits=1, settings=QUICK, device="cpu")
    assert "uses s" in words(fd.plot.front(alone, references=references))


def test_plots_of_profile_transfers_and_dependence_show_the_chosen_model(trained):
    data, result = trained
    figure = fd.plot.profile(result, method="pearson", lam=2.0)
    assert "λ = 2" in words(figure)
    assert "age (years)" in figure.layout.xaxis.title.text
    s = data.sensitive["age"].to_numpy()
    (line,) = [each for each in figure.data if each.line.dash == "solid" and "markers" in (each.mode or "")]
    own = result.members.query("method == 'pearson' and lam == 2")["split"]
    means = [result.predictions[k][result.splits[j].test].mean() for k, j in own.items()]
    assert np.mean(line.y) == pytest.approx(np.mean(means), abs=2.0)
    moved = fd.plot.transfers(result, method="pearson", lam=2.0)
    assert "Who pays" in words(moved)
    assert "€" in moved.layout.yaxis.title.text
    dots = fd.plot.dependence(data).data[0]
    assert sorted(dots.x) == sorted(s)


def test_plot_front_shows_several_columns_jointly_by_a_measure_that_takes_several():
    data = small_dataset(200)
    more = pd.DataFrame({"age": data.sensitive["age"], "income": np.random.default_rng(1).normal(size=200)})
    options = {"methods": ["standard"], "lams": [1.0], "n_splits": 1, "measures": ["hgr_kde", "hgr_spline"]}
    result = fd.sweep(replace(data, sensitive=more), settings=QUICK, device="cpu", **options)
    figure = fd.plot.front(result)
    assert "prediction and the sensitive attribute" in figure.layout.xaxis.title.text
    value = result.frame.query("part == 'test'")["hgr_spline"].iloc[0]
    assert any(value in numbers(trace.x) for trace in figure.data)
    with pytest.raises(OptionError, match="hgr_spline"):
        fd.plot.front(result, measure="hgr_kde")
