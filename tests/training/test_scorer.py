"""Measures as scikit-learn scorers, and tables of polars and arrow."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

import fairdash as fd
from fairdash.errors import OptionError

QUICK = {"method": "hgr_spline", "hidden": (8,), "batch_size": 60, "lr": 0.02, "n_epochs": 30}
QUICK |= {"warm_up_epochs": 6, "random_state": 0, "device": "cpu"}


def policies(n=240, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(45, 12, n)
    x = pd.DataFrame({"claims": 0.1 * age + rng.normal(size=n), "area": rng.normal(size=n), "age": age})
    x["roof"] = rng.choice(["tile", "slate"], n)
    return x, x["claims"] + x["area"] + rng.normal(size=n)


@pytest.mark.parametrize("objective", ["demographic_parity", "equalized_residuals"])
@pytest.mark.parametrize("measure", ["pearson", "hgr_spline"])
def test_a_score_is_the_negative_dependence_of_the_predictions(measure, objective):
    x, y = policies()
    x = x[["claims", "area", "age"]]
    model = LinearRegression().fit(x[["claims", "area"]].rename(columns=str), y)

    class OfTwo:
        def predict(self, table):
            return model.predict(table[["claims", "area"]])

    u = OfTwo().predict(x) - (y if objective == "equalized_residuals" else 0)
    scorer = fd.make_scorer(measure, sensitive="age", objective=objective)
    expected = -abs(fd.measure(measure, u, x["age"]))
    assert scorer(OfTwo(), x, y) == pytest.approx(expected)
    assert clone(scorer)(OfTwo(), x, y) == pytest.approx(expected)
    by_position = fd.make_scorer(measure, sensitive=2, objective=objective)
    assert by_position(OfTwo(), x, y) == pytest.approx(expected)
    routed = fd.make_scorer(measure, objective=objective)
    assert routed(OfTwo(), x, y, sensitive_features=x["age"].to_numpy()) == pytest.approx(expected)
    weight = np.linspace(0.1, 1, len(x))
    weighed = scorer(OfTwo(), x, y, sample_weight=weight)
    assert weighed == pytest.approx(-abs(fd.measure(measure, u, x["age"], sample_weight=weight)))


def test_grid_search_over_lam_scores_error_and_dependence():
    x, y = policies()
    scoring = {"error": "neg_mean_squared_error", "fairness": fd.make_scorer("hgr_kde", sensitive="age")}
    model = fd.FairRegressor(sensitive_columns=["age"], **QUICK)
    search = GridSearchCV(model, {"lam": [0.0, 5.0]}, scoring=scoring, refit="fairness", cv=2).fit(x, y)
    found = search.cv_results_
    assert found["mean_test_fairness"][1] > found["mean_test_fairness"][0] + 0.1
    assert found["mean_test_error"][1] < found["mean_test_error"][0]
    assert search.best_params_ == {"lam": 5.0}
    with config_context(enable_metadata_routing=True):
        scorer = fd.make_scorer("hgr_kde").set_score_request(sensitive_features=True)
        model = fd.FairRegressor(lam=5.0, **QUICK).set_fit_request(sensitive_features=True)
        routed = GridSearchCV(model, {"lam": [5.0]}, scoring=scorer, cv=2, refit=False)
        routed.fit(x.drop(columns="age"), y, sensitive_features=x["age"])
    assert routed.cv_results_["mean_test_score"] == pytest.approx(found["mean_test_fairness"][1:])


def test_scorers_refuse_unsupported_requests_with_the_reason():
    x, y = policies()
    numbers = x[["claims", "area"]]
    model = LinearRegression().fit(numbers, y)
    for words, rows, options in (
        ("hgr_spline", (numbers, y), {"measure": "love"}),
        ("demographic_parity", (numbers, y), {"objective": "luck"}),
        ("sensitive_features", (numbers, y), {}),
        ("age", (numbers, y), {"sensitive": "age"}),
        ("target", (numbers,), {"sensitive": "area", "objective": "equalized_residuals"}),
    ):
        with pytest.raises(OptionError, match=words):
            fd.make_scorer(**({"measure": "pearson"} | options))(model, *rows)
    same = x[["claims"]].assign(age=40.0)
    with pytest.raises(OptionError, match="the same value in all of these rows"):
        fd.make_scorer("pearson", sensitive="age")(LinearRegression().fit(same, y), same, y)


@pytest.mark.parametrize("of", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_polars_arrow_and_pandas_tables_give_the_same_scores(of):
    x, y = policies()
    table = of(x.assign(cost=y, policy=np.repeat(np.arange(80), 3).astype(str)))
    for id in ("pearson", "hgr_spline"):
        options = {"random_state": 0, "n_permutations": 19, "n_bootstrap": 10}
        own = fd.assess_dependence(id, table["cost"], table["age"], groups=table["policy"], **options)
        assert own == fd.assess_dependence(id, y, x["age"], groups=np.repeat(np.arange(80), 3), **options)
    brief = QUICK | {"n_epochs": 3, "warm_up_epochs": 1}
    model = fd.FairRegressor(lam=1.0, sensitive_columns=["age"], **brief)
    features = of(x)
    fitted = clone(model).fit(features, table["cost"])
    expected = clone(model).fit(x, y).predict(x)
    assert fitted.predict(features) == pytest.approx(expected)
    assert list(fitted.feature_names_in_) == list(x.columns)
    without = x.drop(columns="age")
    apart = fd.FairRegressor(lam=1.0, **brief).fit(of(without), y, sensitive_features=table["age"])
    assert apart.predict(without) == pytest.approx(expected)
    scorer = fd.make_scorer("hgr_kde", sensitive="age")
    assert scorer(fitted, features, table["cost"]) == pytest.approx(scorer(fitted, x, y))


def test_missing_cells_of_polars_series_are_refused():
    with pytest.raises(OptionError, match="missing"):
        fd.measure("pearson", pl.Series([1.0, None, 2.0]), pl.Series([1.0, 2.0, 3.0]))
