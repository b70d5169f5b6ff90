"""FairPostprocessor: scikit-learn's checks, closed forms, supported repairs, and refusals."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import fairdash as fd
from fairdash.errors import DataError, OptionError

FOLDS = {"check_sample_weight_equivalence_on_dense_data": "its folds go by rows"}


@parametrize_with_checks(
    [fd.FairPostprocessor(None, sensitive_columns=[0])],
    expected_failed_checks=lambda _: FOLDS,
    xfail_strict=True,
)
def test_fair_postprocessor_passes_the_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


def priced(n=3_000, *, seed=0, follows=1.0):
    """age, x = age + noise and z; price 100 + 10 x + 10 z; the barycentre is the price less 10 age."""
    rng = np.random.default_rng(seed)
    age, noise, z = rng.normal(size=(3, n))
    x = follows * age + noise
    table = pd.DataFrame({"x": x, "z": z, "price": 100 + 10 * x + 10 * z})
    return table, age, table["price"].to_numpy() - 10 * follows * age


def test_repair_matches_the_closed_form_for_a_price_column_a_function_and_a_fitted_model():
    table, age, _ = priced()
    (new, new_age, exact), x = priced(seed=1), ["x", "z"]
    model = LinearRegression().fit(table[x], table["price"])
    column = fd.FairPostprocessor("price").fit(table, sensitive_features=age)
    by_column = column.predict(new, sensitive_features=new_age)
    assert np.sqrt(np.mean((by_column - exact) ** 2)) < 1.5  # prices have a standard deviation of 17
    assert abs(fd.measure("pearson", by_column, new_age)) < 0.05
    half = column.predict(new, sensitive_features=new_age, alpha=0.5)
    assert half == pytest.approx((new["price"] + by_column) / 2)
    # Years of driving follow age: in a band of years, age hardly varies, but the price must not follow years.
    years = 0.3 * np.random.default_rng(2).normal(size=(2, 3_000)) + [age, new_age]
    s, new_s = (pd.DataFrame({"a": a, "y": y}) for a, y in zip([age, new_age], years, strict=True))
    both = fd.FairPostprocessor("price").fit(table, sensitive_features=s)
    by_both = both.predict(new, sensitive_features=new_s[["y", "a"]])
    assert np.sqrt(np.mean((by_both - exact) ** 2)) < 5
    assert new_s.corrwith(pd.Series(by_both)).abs().max() < 0.05
    for estimator in (model, lambda rows: 100 + 10 * rows["x"] + 10 * rows["z"]):
        repair = fd.FairPostprocessor(estimator).fit(table[x], sensitive_features=age)
        assert repair.predict(new[x], sensitive_features=new_age) == pytest.approx(by_column)
    fitted_here = fd.FairPostprocessor(LinearRegression(), random_state=0)
    fitted_here.fit(table[x], table["price"], sensitive_features=age)
    assert fitted_here.predict(new[x], sensitive_features=new_age) == pytest.approx(by_column, abs=0.5)


@pytest.mark.parametrize("follows", [0.3, 1.0, 3.0])
def test_the_share_of_a_repair_that_is_possible_without_the_attribute_is_estimated_correctly(follows):
    table, age, _ = priced(follows=follows)
    # The repair is −10 a age, and x = a age + noise explains a² / (1 + a²) of its variance.
    share = follows**2 / (1 + follows**2)
    for monotone in (False, True):
        repair = fd.FairPostprocessor("price", monotone=monotone, random_state=0)
        repair.fit(table, sensitive_features=age)
        assert repair.share_without_s_ == pytest.approx(share, abs=0.08)
    factors = fd.FairPostprocessor("price", projection="factors", random_state=0)
    table["price"] += 200
    assert factors.fit(table, sensitive_features=age).share_without_s_ == pytest.approx(share, abs=0.1)


def test_the_share_of_a_repair_possible_without_the_attribute_is_nan_for_too_few_rows():
    table, age, _ = priced(150)
    assert np.isnan(fd.FairPostprocessor("price").fit(table, sensitive_features=age).share_without_s_)


def test_a_repair_removes_joint_dependence_of_a_price_on_two_numeric_attributes():
    """The price is 16 higher if both attributes have the same sign, and also depends on the first attribute."""

    def drawn(seed):
        a, b, z = np.random.default_rng(seed).normal(size=(3, 2_000))
        b = 0.4 * a + b
        return np.column_stack([a, b]), 100 + 8 * np.sign(a) * np.sign(b) + 4 * a + 5 * z

    (s, price), (new, of_new) = drawn(0), drawn(1)
    repair = fd.FairPostprocessor("price").fit(pd.DataFrame({"price": price}), sensitive_features=s)
    told = repair.predict(pd.DataFrame({"price": of_new}), sensitive_features=new)

    def gap(price):
        bands = [pd.qcut(column, 4, labels=False) for column in new.T]
        return np.ptp(pd.Series(price).groupby(bands).mean())

    assert gap(told) < 5 < 20 < gap(of_new)
    assert max(fd.measure("hgr_spline", told, column) for column in new.T) < 0.36
    assert told.mean() == pytest.approx(of_new.mean(), abs=0.5)


def test_a_repair_equalises_class_means_and_treats_an_unseen_class_as_the_last_class():
    table, _, _ = priced()
    region = np.random.default_rng(2).choice(["east", "north", "south"], len(table), p=[0.7, 0.2, 0.1])
    table["price"] += 30 * (region == "north") + 5 * (region == "south")
    repair = fd.FairPostprocessor("price").fit(table, sensitive_features=region)
    told = pd.Series(repair.predict(table, sensitive_features=region))
    assert told.groupby(region).mean().to_numpy() == pytest.approx([table["price"].mean()] * 3, abs=0.1)
    one = table[:1]
    first, last = (repair.predict(one, sensitive_features=pd.Series([name])) for name in ("south", "new"))
    assert first == last
    with pytest.raises(DataError, match="missing cells"):
        repair.predict(one, sensitive_features=pd.Series([None]))


def test_a_repair_hardly_changes_a_price_that_is_independent_of_the_attribute():
    (table, _, _), s = priced(), np.random.default_rng(4).normal(size=3_000)
    repair = fd.FairPostprocessor("price", random_state=0).fit(table, sensitive_features=s)
    for told in (repair.predict(table), repair.predict(table, sensitive_features=s)):
        assert np.std(told - table["price"]) < 0.1 * table["price"].std()


def test_a_repair_equalises_mean_residuals_across_the_attribute_and_keeps_their_spread():
    table, age, _ = priced()
    y = table["price"] + 8 * age**2 + np.random.default_rng(5).normal(size=len(age)) * (1 + 5 * (age > 0))
    repair = fd.FairPostprocessor("price", objective="equalized_residuals")
    told = repair.fit(table, y, sensitive_features=age).predict(table, sensitive_features=age)
    bands = pd.qcut(age, 10, labels=False)
    before, after = ((price - y).groupby(bands).mean() for price in (table["price"], pd.Series(told)))
    assert np.ptp(after) < 2 < 10 < np.ptp(before)
    spread = (told - y).groupby(age > 0).std()
    assert spread[True] > 2 * spread[False]


@pytest.mark.parametrize("projection", ["trees", "factors"])
def test_a_repair_without_the_attribute_lowers_dependence_as_far_as_the_features_allow(projection):
    table, age, _ = priced(follows=2.0)
    new, new_age, _ = priced(seed=1, follows=2.0)
    repair = fd.FairPostprocessor("price", projection=projection, random_state=0)
    links = {}
    for name, told_x in {"x": table, "age": table.assign(age=age)}.items():
        new_x = new.assign(age=new_age) if name == "age" else new
        told = repair.fit(told_x, sensitive_features=age).predict(new_x)
        links[name] = abs(fd.measure("pearson", told, new_age))
        assert repair.predict(told_x).mean() == pytest.approx(table["price"].mean(), rel=1e-3)
    assert fd.measure("pearson", new["price"], new_age) > 0.75
    assert abs(fd.measure("pearson", repair.predict(new_x, sensitive_features=new_age), new_age)) < 0.05
    # E[price − 20 age | x, z] = price − 16 x, which still depends on age; if x equals age, no dependence
    # remains.
    assert 0.1 < links["x"] < 0.4
    assert links["age"] < 0.1


@pytest.mark.parametrize(("loss", "shift"), [("poisson", 0.0), ("squared_error", -200.0)])
def test_a_repair_by_network_without_the_attribute_reaches_any_requested_level_of_dependence(loss, shift):
    table, age, _ = priced(600, follows=0.8)
    table = table.assign(price=table["price"] + shift)
    (new, new_age, _), links = priced(seed=1, follows=0.8), {}
    new["price"] += shift
    for alpha in (0.5, 1.0) if shift == 0 else (1.0,):
        repair = fd.FairPostprocessor("price", projection="network", alpha=alpha, random_state=0)
        told = repair.fit(table, sensitive_features=age).predict(new)
        links[alpha] = abs(fd.measure("pearson", told, new_age))
        assert repair.projection_.loss == loss
        assert repair.predict(table).mean() == pytest.approx(table["price"].mean(), rel=1e-3)
    trees = fd.FairPostprocessor("price", random_state=0).fit(table, sensitive_features=age).predict(new)
    assert abs(fd.measure("pearson", trees, new_age)) > 0.3
    assert links[1.0] < 0.25
    assert np.corrcoef(told, new["z"])[0, 1] > 0.8
    if shift == 0:
        assert 0.15 < links[0.5] < 0.4
    with pytest.raises(OptionError, match="alpha"):
        repair.predict(new, alpha=0.3)


def test_exported_repair_factors_reproduce_the_repaired_prices(tmp_path):
    table, age, _ = priced()
    repair = fd.FairPostprocessor("price", projection="factors", alpha=0.5, random_state=0)
    repair.fit(table, sensitive_features=age)
    repair.export(tmp_path / "factors.csv")
    rated = table["price"] * fd.rate(fd.read_tariff(tmp_path / "factors.csv"), table)
    assert repair.predict(table) == pytest.approx(rated.to_numpy())


def test_monotone_repaired_prices_never_fall_with_the_original_price():
    table, age, _ = priced()
    repair = fd.FairPostprocessor("price", monotone=True, random_state=0).fit(table, sensitive_features=age)
    row = pd.concat([table[:1]] * 50).assign(price=np.linspace(60, 140, 50))
    assert np.diff(repair.predict(row)).min() >= 0


def test_invalid_options_and_tables_of_a_repair_are_refused_by_name():
    table, age, _ = priced(300)
    for options in (
        {"alpha": 1.5}, {"projection": "lines"}, {"alpha": 0.0, "projection": "factors"},
        {"objective": "equalized_residuals", "projection": "network"},
    ):  # fmt: skip
        with pytest.raises(OptionError, match=next(iter(options))):
            fd.FairPostprocessor("price", **options).fit(table, sensitive_features=age)
    with pytest.raises(OptionError, match="sensitive_features"):
        fd.FairPostprocessor("price").fit(table)
    with pytest.raises(DataError, match="cost"):
        fd.FairPostprocessor("cost").fit(table, sensitive_features=age)
    with pytest.raises(OptionError, match="projection"):
        fd.FairPostprocessor("price").fit(table, sensitive_features=age).factors()
