"""The protocol that compares methods, and the two simple repairs by attribute bands."""

import json
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairdash as fd
from fairdash.cli import main
from fairdash.data.dataset import Dataset
from fairdash.errors import OptionError
from fairdash.evaluation.bench import READINGS, compare_methods, default_methods, equal_dependence
from fairdash.evaluation.rivals import RIVALS, BandBarycentre, BandRatio
from fairdash.training.losses import LOSSES
from fairdash.training.methods import METHODS

QUICK = fd.TrainingSettings(hidden=(8,), n_epochs=40, warm_up_epochs=4, batch_size=64, lr=0.01)


class Line:
    """A linear model with a penalty on its squared covariance with s, as in docs/methods.md."""

    lams = (0.0, 0.1, 1.0, 10.0, 1000.0)
    seen: ClassVar = []

    def __init__(self, lam):
        self.lam = lam

    def fit(self, X, y, *, sensitive_features):
        self.seen.append((len(X), len(y), *sensitive_features.columns))
        x, s = np.column_stack([np.ones(len(X)), X]), np.ravel(sensitive_features)
        c = x.T @ (s - s.mean()) / len(x)
        self.beta = np.linalg.solve(x.T @ x / len(x) + self.lam * np.outer(c, c), x.T @ y / len(x))
        return self

    def predict(self, X):
        return np.column_stack([np.ones(len(X)), X]) @ self.beta


@pytest.fixture(scope="module")
def dataset():
    rng = np.random.default_rng(0)
    age, fair = rng.normal(size=(2, 600))
    features = pd.DataFrame({"a": age + 0.4 * rng.normal(size=600), "b": fair})
    target = pd.Series(features["a"] + fair + 0.3 * rng.normal(size=600), name="y")
    return Dataset(name="six hundred", features=features, target=target, sensitive=pd.DataFrame({"age": age}))


@pytest.fixture(scope="module")
def found(dataset):
    Line.seen.clear()
    others = {"line": Line, "default weights": lambda lam: Line(lam)}
    return fd.bench(
        dataset, methods=["hsic", "band_barycentre"], others=others, n_splits=2, settings=QUICK
    ).set_index(["method", "reading", "level"])


def test_built_in_and_external_methods_are_compared_at_the_same_levels_of_dependence(found, dataset):
    assert list(dict.fromkeys(found.index.get_level_values("method"))) == [
        "standard", "hsic", "band_barycentre", "line", "default weights",
    ]  # fmt: skip
    assert found.loc["line"].index.tolist() == [
        (each, level) for each in READINGS for level in (0.75, 0.5, 0.25)
    ]
    assert found.xs(1.0, level="level").index.tolist() == [("standard", each) for each in READINGS]
    fair = found[found.index.get_level_values("method") != "standard"]
    assert found.groupby("method")["needs_s"].first().to_dict() == {
        "standard": False, "hsic": False, "band_barycentre": True, "line": False, "default weights": False,
    }  # fmt: skip
    # Fairness has a cost here, because the target depends on age.
    gaps = fair.xs("gap", level="reading")
    for method in ("hsic", "band_barycentre", "line"):
        errors = gaps.loc[method, "error"].tolist()
        assert errors == sorted(errors)
        assert errors[0] > found.loc[("standard", "gap", 1.0), "error"]
        assert gaps.loc[method, "dependence"].tolist() == pytest.approx([0.75, 0.5, 0.25], abs=0.12)
    assert gaps.loc["line", "reached"].tolist() == [2, 2, 2]
    assert (gaps["error_low"] < gaps["error"])["line"].all()
    # The method sees training rows only, with five and six weights in each split.
    assert (set(Line.seen), len(Line.seen)) == ({(384, 384, "age")}, 22)


def test_a_method_with_constant_predictions_has_no_dependence(dataset):
    class Flat(Line):
        def predict(self, X):
            return super().predict(X) if self.lam < 1000 else np.full(len(X), 0.7)

    rows = compare_methods(dataset, [], others={"flat": Flat}, n_splits=1, settings=QUICK)
    last = rows[(rows["method"] == "flat") & (rows["lam"] == 1000)].iloc[0]
    assert last[[f"{each}_test" for each in READINGS]].tolist() == pytest.approx([0, 0, 0])
    assert rows["hgr_rdc_test"].iloc[0] > 0.3


def test_lambda_is_chosen_on_validation_rows_and_the_error_is_measured_on_test_rows():
    columns = {"test_to_train": 0.25, "needs_s": False, "cpu_s": 1.0}
    columns |= {f"{reading}_{part}": 1.0 for reading in READINGS for part in ("validation", "test")}
    standard = pd.DataFrame({"method": "standard", "lam": 0.0, "split": [0, 1], "error": [0.3, 0.5]})
    own = pd.DataFrame({"method": "m", "lam": [2.0, 0.0, 1.0] * 2, "split": np.repeat([0, 1], 3)})
    own["error"] = 0.3 + own["lam"] / 10 + own["split"] / 5
    rows = pd.concat([standard, own], ignore_index=True).assign(**columns)
    own = rows["method"] == "m"
    rows.loc[own, "gap_validation"] = 1 - 0.4 * rows["lam"]
    rows.loc[own, "gap_test"] = 0.9 - 0.2 * rows["lam"]
    rows.loc[own & (rows["split"] == 1), "gap_validation"] = 0.6
    made = equal_dependence(rows)
    made = made[(made["method"] == "m") & (made["reading"] == "gap")].set_index("level")
    # At level 0.5 the first split uses λ = 1.25, and the second has no such model. At 0.75 it starts below
    # the level.
    assert made["reached"].tolist() == [2, 1, 1]
    assert made.loc[0.5, ["error", "dependence"]].tolist() == pytest.approx([0.425, 0.65])
    assert made.loc[0.75, "error"] == pytest.approx((0.3625 + 0.5) / 2)
    assert made["more"].isna().all()
    other = rows[rows["method"] == "m"].assign(
        method="hgr_spline", error=rows["error"] - 0.1 + 0.02 * rows["split"]
    )
    made = equal_dependence(pd.concat([rows, other]))
    made = made[(made["method"] == "m") & (made["reading"] == "gap")].set_index("level")
    assert made["more"].tolist() == pytest.approx([0.09, 0.1, 0.1])
    assert made.loc[0.75, "error_high"] - made.loc[0.75, "error"] == pytest.approx(
        stats.t.ppf(0.975, 1) * np.sqrt((1 / 2 + 0.25) * np.var([0.3625, 0.5], ddof=1))
    )


def test_the_bench_compares_all_methods_that_suit_the_data(dataset):
    fair = [name for name, each in METHODS.items() if each.penalty]
    assert default_methods(dataset, LOSSES["squared_error"]) == (*fair, *RIVALS)
    assert "fair_tariff" in default_methods(dataset, LOSSES["poisson"])


class Known(Line):
    """A predictor that returns one column or the sum of all columns, without fitting."""

    lams = (0.0,)

    def fit(self, X, y, *, sensitive_features):
        return self

    def predict(self, X):
        return X["price"].to_numpy() if "price" in X else X.sum(axis=1).to_numpy()


def test_joint_dependence_measures_detect_dependence_on_a_combination_of_columns():
    rng = np.random.default_rng(0)
    age, sex, noise = rng.normal(size=800), rng.integers(0, 2, 800), rng.normal(size=800)
    price = 100 + 8 * np.sign(age) * (2 * sex - 1) + noise
    both = Dataset(
        name="crossing", features=pd.DataFrame({"price": price, "noise": noise}),
        target=pd.Series(price, name="y"), sensitive=pd.DataFrame({"age": age, "sex": sex.astype(float)}),
    )  # fmt: skip
    settings = fd.TrainingSettings(hidden=(4,), n_epochs=2, warm_up_epochs=1)
    rows = compare_methods(both, ["repair"], others={"known": Known}, n_splits=2, settings=settings)
    known = rows[rows["method"] == "known"].iloc[0]
    assert known[["hgr_rdc_test", "mi_ksg_test"]].max() < 0.15 < 0.3 < known["mi_ksg_joint_test"]
    assert known["hgr_rdc_joint_test"] > 0.4
    assert known["gap_test"] + 3 < known["gap_joint_test"]
    # Networks of two epochs show no dependence on either column beyond noise, so there are no levels to
    # reach.
    standard = rows["method"] == "standard"
    for reading in READINGS:
        for part in ("validation", "test"):
            rows.loc[standard, f"{reading}_{part}"] = [0.1, -0.05]
            rows.loc[standard, f"{reading}_joint_{part}"] = [0.4, 0.5]
    found = equal_dependence(rows).set_index(["method", "reading"])
    assert not found.loc[("known", "gap"), ["linked", "reached"]].to_numpy().any()
    assert found.loc[("known", "gap_joint"), "linked"].all()
    assert set(found.loc["repair"].index) == {*READINGS, *(f"{each}_joint" for each in READINGS)}


def test_errors_are_measured_against_the_true_means_if_they_are_given(dataset):
    truth = dataset.features.sum(axis=1).to_numpy()
    options = {"n_splits": 1, "settings": QUICK, "others": {"sum": Known}}
    by_target = compare_methods(dataset, [], **options).set_index("method")["error"]
    by_truth = compare_methods(dataset, [], truth=truth, **options).set_index("method")["error"]
    assert by_truth["sum"].max() == pytest.approx(0, abs=1e-12)
    assert by_target["sum"].min() > 0.02


def test_no_pilot_models_are_trained_for_a_benchmark_if_the_user_gives_lambdas(dataset, monkeypatch):
    monkeypatch.setattr("fairdash.evaluation.bench.with_lams_found", None)
    rows = compare_methods(dataset, ["hsic"], n_splits=1, settings=QUICK, lams={"hsic": (0.5, 2.0)})
    assert rows.loc[rows["method"] == "hsic", "lam"].tolist() == [0.0, 0.5, 2.0]


def _prices(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.uniform(size=n)
    return 5 + 2 * s + (1 + s) * rng.normal(size=n), s


def test_the_band_barycentre_gives_all_bands_the_same_distribution_and_keeps_ranks_within_bands():
    """Of Gaussians, it is a Gaussian with their mean standard deviation: Chzhen et al., Theorem 2.3."""
    price, s = _prices()
    code = (s * 2).astype(float) // 1
    repaired = BandBarycentre(1.0).fit(price, price, code).predict(price, code)
    for group in (0, 1):
        own = code == group
        assert np.array_equal(np.argsort(price[own]), np.argsort(repaired[own]))
        expected = np.mean([price[code == each].std() for each in (0, 1)])
        assert repaired[own].mean() == pytest.approx(price.mean(), abs=0.02)
        assert repaired[own].std() == pytest.approx(expected, rel=0.02)
    repaired = BandBarycentre(1.0).fit(price, price, s).predict(price, s)
    bands = np.digitize(s, np.arange(1, 10) / 10)
    assert stats.ks_2samp(repaired[bands == 0], repaired[bands == 9]).statistic < 0.08
    assert BandBarycentre(0.0).fit(price, price, s).predict(price, s) == pytest.approx(price)


def test_the_repair_equalises_means_for_exclusive_flags_with_other_values_than_0_and_1():
    kind, noise = np.arange(900) % 3, np.random.default_rng(0).normal(size=900)
    flags, price = pd.DataFrame({"a": 2.0 * (kind == 1), "b": 1.0 * (kind == 2)}), 10 * kind + noise
    told = RIVALS["repair"](1.0).fit(price, price, flags).predict(price, flags)
    assert np.ptp([told[kind == k].mean() for k in range(3)]) < 0.1


@pytest.mark.parametrize("shift", [0.0, -6.0])
def test_scaling_predictions_within_each_attribute_band_equalises_band_averages(shift):
    price, s = _prices()
    price = price + shift
    model = BandRatio(1.0).fit(price, price, s)
    means = pd.Series(model.predict(price, s)).groupby(np.searchsorted(model.edges_, s)).mean()
    assert means.to_numpy() == pytest.approx(price.mean(), abs=1e-9)
    told = BandRatio(1.0).fit(price, price, s > 0.7).predict(price[:3], np.array([0.0, 1.0, 0.5]))
    assert np.isfinite(told).all()
    with pytest.raises(OptionError, match="one sensitive column"):
        model.fit(price, price, np.column_stack([s, s]))


def test_the_bench_command_prints_the_results_of_the_api(dataset, tmp_path, capsys, monkeypatch):
    path = tmp_path / "six hundred.csv"
    pd.concat([dataset.features, dataset.target, dataset.sensitive], axis=1).to_csv(path, index=False)
    (tmp_path / "mine.py").write_text("from tests.evaluation.test_bench import Line\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("fairdash.training.settings._MAX_EPOCHS", 15)
    asked = ["bench", "--file", str(path), "--predict", "y", "--sensitive", "age", "--splits", "1"]
    assert main([*asked, "--method", "band_ratio,mine:Line", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["splits"] == 1
    rows = pd.DataFrame(printed["rows"]).set_index(["method", "reading", "level"])
    assert [*dict.fromkeys(rows.index.get_level_values(0))] == ["standard", "band_ratio", "mine:Line"]
    assert rows.loc[("band_ratio", "gap", 0.5), "dependence"] == pytest.approx(0.5, abs=0.15)
    assert main([*asked, "--method", "band_ratio"]) == 0
    assert "1 of 1" in capsys.readouterr().out
    for wrong, said in (
        ("band_ration", "Choose one of: band_barycentre, band_ratio, repair, standard"),
        ("mine:Curve", "can't be imported"),
        ("nowhere:A", "nowhere"),
    ):
        assert main([*asked, "--method", wrong]) == 2
        assert said in capsys.readouterr().err
