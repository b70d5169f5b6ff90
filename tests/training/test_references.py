"""References that use s: closed forms, properties, and the same results by group with numpy alone."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

import fairdash as fd
from fairdash import measure
from fairdash.errors import OptionError
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.methods import METHODS
from fairdash.training.references import (
    REFERENCES,
    barycentre_predictions,
    discrimination_free,
    discrimination_free_predictions,
    fit_barycentre,
    price_of_independence,
    sensitive_nodes,
)
from fairdash.training.splits import random_splits
from fairdash.utils.classes import classes_of
from tests.data.tables import dataset_of

# --- the barycentre: closed forms


def gaussian_rows(n, *, seed):
    """ŷ | s ~ N(1.5 s, 0.8²), s ~ N(2, 1), and the exact barycentre ŷ*."""
    rng = np.random.default_rng(seed)
    s = rng.normal(2, 1, n)
    z = rng.normal(0, 0.8, n)
    return 1.5 * s + z, s, 3 + z


def settings(n_epochs, **more):
    given = {"hidden": (8,), "warm_up_epochs": 1, "batch_size": 64} | more
    return fd.TrainingSettings(n_epochs=n_epochs, **given)


def test_the_barycentre_of_gaussians_matches_its_closed_form_and_price_of_independence():
    y, s, _ = gaussian_rows(20_000, seed=0)
    fitted = fit_barycentre(y, s)
    y_new, s_new, exact = gaussian_rows(4_000, seed=1)
    fair = fitted.predict(y_new, s_new)
    assert np.sqrt(np.mean((fair - exact) ** 2)) < 0.05  # predictions have a standard deviation of 1.7
    assert abs(measure("pearson", fair, s_new)) < 0.04  # 1/√4000 = 0.016
    assert measure("hgr_spline", fair, s_new, random_state=0) < 0.08
    assert measure("hgr_spline", y_new, s_new, random_state=0) > 0.85
    assert price_of_independence(y, s) == pytest.approx(1.5**2, rel=0.04)


def test_price_of_independence_is_near_zero_without_dependence():
    rng = np.random.default_rng(6)
    assert 0 <= price_of_independence(rng.normal(size=20_000), rng.uniform(size=20_000)) < 0.01


# --- the barycentre: an independent implementation


@pytest.mark.parametrize(
    ("shares", "options", "close"),
    [
        # Neighbouring values in a tail of the smallest group differ by 0.25; y has a standard deviation of 2.
        ([0.5, 0.3, 0.2], {"bandwidth": 0.01}, 0.1),
        ([0.3, 0.25, 0.15, 0.1, 0.1, 0.07, 0.03], {"classes": True}, 0.05),
    ],
)
def test_the_barycentre_of_groups_averages_their_quantiles_at_each_level(shares, options, close):
    rng = np.random.default_rng(13)
    s = rng.choice(len(shares), 4_000, p=shares)
    y = rng.gamma(2 + s % 3, 1 + 0.3 * (s == 6), 4_000)
    fair = fit_barycentre(y, s, **options).predict(y, s)
    laws = [np.sort(y[s == k]) for k in range(len(shares))]
    for k, law in enumerate(laws):
        level = (np.arange(len(law)) + 0.5) / len(law)
        expected = sum(len(other) / 4_000 * np.quantile(other, level, method="hazen") for other in laws)
        inner = (level > 0.02) & (level < 0.98)
        assert np.abs(np.sort(fair[s == k]) - expected)[inner].max() < close


def test_tied_predictions_get_the_common_quantile_at_the_middle_of_their_ranks():
    # For s = 0, half of the rows are at 0; the other group is uniform on (10, 11).
    s, k = np.repeat([0.0, 1.0], 2_000), np.arange(2_000)
    y = np.concatenate([np.where(k < 1_000, 0.0, 1 + k / 2_000), 10 + (k + 0.5) / 2_000])
    atom = fit_barycentre(y, s, bandwidth=0.05).predict(y, s)[:1_000]
    assert np.ptp(atom) == 0
    # At level ¼, the average of 0 and 10.25, up to the shift that keeps the mean.
    assert atom[0] == pytest.approx(5.125, abs=0.05)


# --- the barycentre: properties


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    s = np.round(rng.gamma(2.0, 2.0, 1_500), 1)  # skewed, with ties
    y = np.exp(0.2 * s) + (0.3 + 0.1 * s) * rng.standard_t(5, 1_500)
    return y, s


def test_repair_strengths_interpolate_from_the_prediction_to_the_barycentre_and_keep_the_mean(rows):
    y, s = rows
    fitted = fit_barycentre(y, s)
    path = fitted.predict(y, s, [0.0, 0.25, 1.0])
    assert np.array_equal(path[0], y)
    assert (path[1], path.mean(axis=1)) == (pytest.approx(0.75 * y + 0.25 * path[2]), pytest.approx(y.mean()))
    assert np.array_equal(path[2], fitted.predict(y, s))
    weight = np.random.default_rng(9).uniform(0, 2, len(y))
    weighted = fit_barycentre(y, s, sample_weight=weight).predict(y, s)
    assert np.average(weighted, weights=weight) == pytest.approx(np.average(y, weights=weight))
    # Only the order of s has an effect.
    assert np.array_equal(fit_barycentre(y, np.exp(s)).predict(y, np.exp(s)), path[2])


def test_a_row_of_weight_two_counts_twice_and_a_row_of_weight_zero_is_ignored(rows):
    y, s = rows
    weight = np.random.default_rng(11).integers(0, 3, len(y))
    # The kernel ends at five bandwidths, a distance that no two ranks have exactly.
    by_weight = fit_barycentre(y, s, sample_weight=weight, bandwidth=0.0813)
    by_copies = fit_barycentre(np.repeat(y, weight), np.repeat(s, weight), bandwidth=0.0813)
    assert by_weight.predict(y, s) == pytest.approx(by_copies.predict(y, s), abs=1e-8)
    by_share = fit_barycentre(y, s, sample_weight=weight / 12)
    assert by_share.bandwidth == pytest.approx(fit_barycentre(y, s, sample_weight=weight).bandwidth)


def test_the_barycentre_leaves_predictions_unchanged_if_they_or_the_attribute_are_constant(rows):
    y, s = rows
    constant_s = np.ones(len(y))
    assert fit_barycentre(y, constant_s).predict(y, constant_s) == pytest.approx(y, abs=1e-6)
    constant_y = np.full(len(y), 7.3)
    assert fit_barycentre(constant_y, s).predict(constant_y, s) == pytest.approx(constant_y)
    assert price_of_independence(constant_y, s) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        *({"s": each} for each in (np.ones((4, 2)), [1.0, 2.0, np.nan, 4.0])),
        *({"y_pred": each} for each in (["a", "b", "c", "d"], [])),
        *({"sample_weight": each} for each in ([1.0, 1.0, 1.0, -1.0], [0.0, 0.0, 0.0, 0.0])),
        {"bandwidth": 0.0},
    ],
)
def test_invalid_options_of_a_barycentre_are_refused_by_name(change):
    options = {"y_pred": [1.0, 2.0, 3.0, 4.0], "s": [1.0, 2.0, 3.0, 4.0], **change}
    with pytest.raises(OptionError) as caught:
        fit_barycentre(options.pop("y_pred"), options.pop("s"), **options)
    assert caught.value.problems[0].column == next(iter(change))
    with pytest.raises(OptionError, match="strength"):
        fit_barycentre([1.0, 2.0], [1.0, 2.0]).predict([1.0], [1.0], 1.1)


# --- the discrimination-free premium


def test_for_few_attribute_values_the_discrimination_free_premium_is_the_exact_weighted_average():
    rng = np.random.default_rng(13)
    s, x = rng.choice([1.0, 2.0, 9.0], 500), rng.normal(size=500)
    weight = rng.uniform(size=500)
    premium = discrimination_free(lambda x, s: np.sin(x * s), x, sensitive_nodes(s, sample_weight=weight))
    everyone = np.average(np.sin(x[:, None] * s), axis=1, weights=weight)
    assert premium == pytest.approx(everyone)


def test_the_discrimination_free_premium_of_many_attribute_values_has_the_stated_error():
    rng = np.random.default_rng(14)
    s, x = rng.normal(size=5_000), rng.normal(size=300)
    everyone = np.cos(x[:, None] + 2 * s).mean(axis=1)
    nodes = sensitive_nodes(s, max_nodes=10)
    values, shares = nodes
    assert (len(values), shares.sum()) == (10, pytest.approx(1))
    assert shares @ values == pytest.approx(s.mean(), abs=1e-9)
    within = (s**2).mean() - shares @ values**2
    premium = discrimination_free(lambda x, s: np.cos(x + 2 * s), x, nodes)
    assert np.abs(premium - everyone).max() <= 0.5 * 4 * within  # |f''| ≤ 4
    jumps = discrimination_free(lambda x, s: (s > x).astype(float), x, sensitive_nodes(s))
    assert np.abs(jumps - (s > x[:, None]).mean(axis=1)).max() <= 2 / 50


def test_predictors_that_do_not_give_one_finite_prediction_per_row_are_refused():
    nodes = sensitive_nodes([1.0, 2.0])
    for predict in (lambda x, s: s[:1], lambda x, s: np.ones((3, 2)), lambda x, s: s * np.nan):
        with pytest.raises(OptionError, match="predict"):
            discrimination_free(predict, np.zeros(3), nodes)
    with pytest.raises(OptionError, match="max_nodes"):
        sensitive_nodes([1.0, 2.0], max_nodes=0)


# --- predictions for a data set


def table_of(features, y, s, **more):
    return dataset_of(features, {"y": y}, {"s": s}, **more)


def made_up(n=600):
    rng = np.random.default_rng(17)
    s, own = rng.uniform(20, 80, n), rng.normal(size=n)
    proxy = (s - 50) / 15 + rng.normal(size=n)
    return table_of({"proxy": proxy, "own": own}, 10 * proxy + 5 * own + 0.2 * s + rng.normal(size=n), s)


def ridge(dataset, splits):
    """A stand-in for training: one model per split, with predictions for all rows."""
    y = dataset.target.to_numpy()
    predictions = []
    for split in splits:
        x = FeatureEncoder.fit(dataset.features, rows=split.train).transform(dataset.features)
        model = RidgeCV(np.logspace(-1, 4, 16)).fit(x[split.train], y[split.train])
        predictions.append(model.predict(x))
    return np.stack(predictions)


def test_the_barycentre_of_a_data_set_is_calibrated_on_out_of_fold_predictions():
    dataset, calls = made_up(2_000), []

    def train(dataset, folds):
        calls.append(folds)
        return ridge(dataset, folds)

    splits = random_splits(2_000, n_splits=2, random_state=0)
    base = ridge(dataset, splits)
    curves = barycentre_predictions(dataset, splits, base=base, train=train, strengths=[0.0, 0.5, 1.0])
    assert curves.shape == (2, 3, 2_000)
    assert np.array_equal(curves[:, 0], base)
    (folds,) = calls
    assert len(folds) == 10
    s = dataset.sensitive["s"].to_numpy()
    for j, split in enumerate(splits):
        mine = folds[5 * j : 5 * j + 5]
        assert sorted(np.concatenate([fold.validation for fold in mine])) == list(split.train)
        assert all(not set(fold.train) & set(fold.validation) for fold in mine)
        assert all(set(fold.train) <= set(split.train) for fold in mine)
        dependence = [abs(measure("pearson", curves[j, t, split.test], s[split.test])) for t in range(3)]
        assert dependence[0] > dependence[1] > dependence[2]
        assert dependence[2] < 0.15  # 1/√400 = 0.05


def test_the_discrimination_free_premium_of_a_data_set_averages_over_its_training_rows():
    dataset = made_up()
    splits = random_splits(600, n_splits=2, random_state=0)
    s = dataset.sensitive["s"].to_numpy()
    slopes = (2.0, 3.0)
    predictors = [lambda x, s, a=a: x["own"].to_numpy() + a * s for a in slopes]
    premiums = discrimination_free_predictions(dataset, splits, predictors=predictors)
    own = dataset.features["own"].to_numpy()
    for j, split in enumerate(splits):
        assert premiums[j] == pytest.approx(own + slopes[j] * s[split.train].mean())
    with pytest.raises(OptionError, match="predictors"):
        discrimination_free_predictions(dataset, splits, predictors=predictors[:1])


def test_reference_predictions_for_three_classes_have_nearly_equal_class_means():
    dataset, rng = made_up(900), np.random.default_rng(3)
    region = classes_of(rng.choice(["a", "b", "c"], 900, p=[0.5, 0.4, 0.1]))
    is_b = (region.codes == 1).astype(float)
    features = dataset.features.assign(proxy=is_b + 0.3 * rng.normal(size=900))
    y = 10 * dataset.features["own"] + 20 * is_b
    dataset = dataset_of(features, {"y": y}, region.columns("region"))
    options = {"strengths": (0.0, 1.0), "measures": ("pearson",), "settings": settings(40, lr=1e-2)}
    found = fd.references(dataset, n_splits=1, **options)
    test = found.frame[found.frame["part"] == "test"].set_index(["method", "lam"])
    means = test["pearson[region: b]"].abs()
    assert min(means["barycentre", 0.0], means["repair", 0.0]) > 0.5
    assert max(means["barycentre", 1.0], means["repair", 1.0]) < 0.2  # 1/√180 = 0.07
    assert found.price.mean() > 0.1


def test_wrong_shapes_and_several_sensitive_columns_are_refused():
    dataset = made_up(60)
    splits = random_splits(60, n_splits=1, random_state=0)
    base = ridge(dataset, splits)
    with pytest.raises(OptionError, match="base"):
        barycentre_predictions(dataset, splits, base=base[:, 1:], train=ridge)
    with pytest.raises(OptionError, match="train"):
        barycentre_predictions(dataset, splits, base=base, train=lambda d, folds: base)
    two = replace(dataset, sensitive=dataset.sensitive.assign(income=np.arange(60.0)))
    with pytest.raises(OptionError, match="sensitive"):
        discrimination_free_predictions(two, splits, predictors=[lambda x, s: s])


def test_reference_predictions_start_from_standard_networks_with_the_attribute_as_input():
    # A target that depends directly on a sensitive column and on a feature that is related to this column.
    age, noise, own, rest = np.random.default_rng(1).normal(size=(4, 400))
    proxy = age + 0.5 * noise
    dataset = table_of({"proxy": proxy, "own": own}, own + proxy + age + 0.1 * rest, age)
    same = {"n_splits": 1, "settings": settings(30, lr=1e-2)}
    result = fd.references(dataset, strengths=(0.0, 0.5, 1.0), measures=("hgr_kde",), **same)
    told = replace(dataset, features=dataset.features.assign(years=dataset.sensitive["s"]))
    bare = {"measures": (), "references": False, "importance": False, "device": "cpu"}
    sweep = fd.sweep(told, methods=["standard"], lams=(), tune=True, **same, **bare)
    members = result.members
    base = result.predictions[(members["method"] == "barycentre") & (members["lam"] == 0)]
    assert np.allclose(base, sweep.predictions, atol=1e-3)
    assert set(result.frame["method"]) == set(REFERENCES)
    assert not set(result.frame["method"]) & set(METHODS)
    test = result.frame[result.frame["part"] == "test"].groupby(["method", "lam"]).mean(numeric_only=True)
    along = test.loc["barycentre"]
    assert along["hgr_kde"].is_monotonic_decreasing
    assert along["mse"].is_monotonic_increasing
    # The premium no longer uses age directly, and keeps the link with age through the proxy.
    assert along.loc[1.0, "hgr_kde"] < test.loc[("discrimination_free", 1.0), "hgr_kde"]
    assert test.loc[("discrimination_free", 1.0), "hgr_kde"] < along.loc[0.0, "hgr_kde"]
    # The best prediction is own + proxy + age. Given age, its mean is 2 age and its variance is constant, so
    # the price of independence is 2² of a target variance of 1 + 2² + 0.5².
    assert result.price.mean() == pytest.approx(4 / 5.25, abs=0.2)


def test_reference_predictions_for_a_loss_with_log_link_stay_positive():
    rng = np.random.default_rng(20)
    s, x, years = rng.normal(size=800), rng.normal(size=800), rng.choice([0.05, 0.3, 1.0], 800)
    counts = rng.poisson(0.3 * np.exp(0.5 * s + 2 * x) * years)
    dataset = replace(table_of({"x": x}, counts / years, s, weight={"years": years}), per_exposure=True)
    poisson = settings(20, lr=4e-2, weight_decay=0.0, loss="poisson")
    result = fd.references(dataset, n_splits=1, settings=poisson, measures=())
    # Smoothed and shifted to keep the mean, the distribution reaches below 0, where no deviance is defined.
    curves = result.predictions[result.members["method"] == "barycentre"].reshape(1, 9, -1)
    assert (curves >= curves[:, :1].min(axis=2, keepdims=True)).all()
    assert np.isfinite(result.frame["deviance"]).all()
