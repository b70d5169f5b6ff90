"""FairTariff: scikit-learn's contract, its GLM at λ = 0, fairness along λ, balance, and refusals."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge, TweedieRegressor
from sklearn.metrics import mean_tweedie_deviance
from sklearn.utils.estimator_checks import parametrize_with_checks

import fairdash as fd
from fairdash.errors import DataError, OptionError
from fairdash.tariff.fit import PENALTIES
from fairdash.tariff.terms import BAND, BREAKPOINT, LEVEL, Factor, Interaction, design
from fairdash.training.losses import find_loss
from tests.tiers import few

#: Few steps: in tables of more columns than rows, later ones are decided by what rounding leaves.
TINY = {"n_breakpoints": 4, "max_iter": 3}


def _expected_failures(model):
    if model.penalty != "chi2_kde":
        return {}
    reason = "its bandwidth goes by the number of rows, which weights in any unit don't tell"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


def _with_checks(*options):
    return parametrize_with_checks(
        [fd.FairTariff(**(TINY | {"sensitive_columns": [0]} | each)) for each in options],
        expected_failed_checks=_expected_failures,
        xfail_strict=True,
    )


@_with_checks({"loss": "squared_error", "penalty": "hgr_spline"}, {"loss": "poisson"})
@pytest.mark.filterwarnings("ignore:The tariff did not converge")
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)


@pytest.mark.variant
@_with_checks(
    # One check asks for an R² above .5, which λ = 1 may give up.
    *({"loss": "squared_error", "penalty": each, "lam": 0.3} for each in PENALTIES if each != "hgr_spline"),
    {"loss": "squared_error", "lam": 0, "sensitive_columns": None},
)
@pytest.mark.filterwarnings("ignore:The tariff did not converge")
def test_scikit_learns_contract_holds_for_every_other_penalty(estimator, check):
    check(estimator)


def policies(n=400, seed=0):
    """A table of every kind of column with missing cells, claims a year, years and age, which shows in it."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 80, size=n)
    table = pd.DataFrame(
        {
            "bonus": age / 10 + rng.normal(size=n),
            "value": rng.lognormal(9, 0.5, size=n),
            "zone": rng.choice(["A", "B", "C"], size=n, p=[0.2, 0.5, 0.3]),
            "gender": pd.Categorical(rng.choice(["m", "f"], size=n), categories=["m", "f", "x"]),
            "group": pd.array(rng.integers(1, 5, size=n), dtype="Int64"),
            "garage": rng.random(n) < 0.4,
        }
    )
    table.loc[::17, "value"] = np.nan
    table.loc[::13, "zone"] = None
    table.loc[::19, "group"] = pd.NA
    years = rng.uniform(0.3, 1, size=n)
    mean = 0.3 * np.exp(0.15 * table["bonus"] + 0.3 * (table["zone"] == "A") - 0.2 * table["garage"])
    claims = rng.poisson(mean * years * 3) / years
    return table, claims, years, age


def _target(loss, claims, seed=5):
    """Claims as they are, or positive amounts."""
    amounts = np.random.default_rng(seed).gamma(2, 1 + claims)
    return amounts if loss == "gamma" else claims


OPTIONS = {
    "bands": {"value": [5000.0, 9000.0]},
    "categorical_features": ["group"],
    "interactions": [("zone", "gender"), ("bonus", "group")],
    "n_bands": 3,
}


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie", "squared_error"])
def test_at_lambda_zero_it_is_scikit_learns_glm_on_the_same_columns(loss):
    table, claims, years, _ = policies()
    y = _target(loss, claims)
    alpha = 1e-3
    model = fd.FairTariff(loss=loss, lam=0, alpha=alpha, smooth=0, credibility=0, balance=False, **OPTIONS)
    model.fit(table, y, sample_weight=years)
    x = design(model.terms_, table)
    family = find_loss(loss)
    if family.has_log_link:
        # Another solver than the tariff's own; the target has mean 1, for which α is said.
        unit = np.average(y, weights=years)
        glm = TweedieRegressor(power=family.power, link="log", alpha=alpha, tol=1e-10, max_iter=10_000)
        expected = unit * glm.fit(x, y / unit, sample_weight=years).predict(x)
    else:
        ridge = Ridge(alpha=alpha * years.sum()).fit(x, y, sample_weight=years)
        expected = ridge.predict(x)
    own, theirs = (
        mean_tweedie_deviance(y, each, sample_weight=years, power=family.power)
        for each in (model.predict(table), expected)
    )
    assert own == pytest.approx(theirs, abs=1e-6)
    assert model.predict(table) == pytest.approx(expected, rel=2e-3)
    assert model.n_iter_ >= 1


def test_the_terms_are_those_that_were_asked_for():
    table, claims, years, _ = policies()
    model = fd.FairTariff(lam=0, **OPTIONS).fit(table, claims, sample_weight=years)
    assert {term.column: term.kind for term in model.terms_ if isinstance(term, Factor)} == {
        "bonus": BREAKPOINT,
        "value": BAND,
        "zone": LEVEL,
        "gender": LEVEL,
        "group": LEVEL,
        "garage": BREAKPOINT,
    }
    terms = {tuple(part.column for part in term.parts): term for term in model.terms_}
    assert list(terms)[-2:] == [("zone", "gender"), ("bonus", "group")]
    assert terms[("value",)].cells == (5000.0, 9000.0)
    assert terms[("zone",)].cells == ("A", "B", "C")
    assert terms[("zone",)].base == 1  # the most exposure
    assert terms[("gender",)].cells == ("m", "f")  # no row is x
    assert terms[("group",)].cells == ("1", "2", "3", "4")
    assert terms[("garage",)].cells == (0.0, 1.0)
    assert terms[("bonus", "group")].first.n_places == 3
    assert [terms[name,].has_missing for name in ("bonus", "value", "zone", "group")] == [
        False,
        True,
        True,
        True,
    ]
    for term in model.terms_:
        own = (
            years[table[[part.column for part in term.parts]].notna().all(axis=1)]
            if isinstance(term, Interaction)
            else years
        )
        assert sum(term.shares) == pytest.approx(own.sum() / years.sum())
    places = terms[("zone",)].places(table)
    assert np.bincount(places, years) / years.sum() == pytest.approx(terms[("zone",)].shares)


def test_breakpoints_and_bases_of_ones_own():
    table, claims, _, _ = policies()
    model = fd.FairTariff(
        lam=0, breakpoints={"bonus": [2, 4, 8]}, base_levels={"bonus": 4, "zone": "C", "group": 3}
    ).fit(table, claims)
    rows = model.relativities()
    curve = rows[rows["factor"] == "bonus"]
    assert curve["at"].tolist() == [2, 4, 8]
    assert curve["relativity"].tolist()[1] == 1
    assert (curve["relativity"] == 1).sum() == 1
    zone = rows[rows["factor"] == "zone"].set_index("level")["relativity"]
    assert zone["C"] == 1
    assert zone["B"] != 1


@pytest.mark.parametrize("penalty", few(PENALTIES, "averages"))
@pytest.mark.parametrize("objective", ["demographic_parity", "equalized_residuals"])
def test_the_dependence_falls_with_lambda(penalty, objective):
    table, claims, _, age = policies(600)
    # Errors that follow age: no factor but the bonus knows of it.
    y = claims + 0.1 * (age - 45).clip(0) if objective == "equalized_residuals" else claims
    found, errors = [], []
    for lam in (0, 0.03, 0.1, 0.3):
        model = fd.FairTariff(lam=lam, penalty=penalty, objective=objective, random_state=0)
        model.fit(table[["bonus", "zone"]], y, sensitive_features=age)
        premium = model.predict(table)
        u = premium - y if objective == "equalized_residuals" else premium
        found.append(
            fd.measure("pearson", u, age) ** 2 if penalty == "pearson" else fd.measure("hgr_kde", u, age)
        )
        errors.append(model.score(table, y))
    if objective == "demographic_parity":
        assert all(b < a for a, b in pairwise(found))
        assert found[-1] < 0.5 * found[0]
        assert all(b < a for a, b in pairwise(errors))
    else:
        assert found[-1] < found[0]


def test_what_is_minimised_is_what_networks_minimise():
    """A small change of any coefficient does not lower L + λ Ψ, both as the networks have them."""
    import torch

    table, claims, years, age = policies()
    table = table[["bonus", "zone"]]
    model = fd.FairTariff(
        lam=0.3,
        penalty="hgr_spline",
        balance=False,
        alpha=0,
        smooth=0,
        tol=1e-10,
        max_iter=500,
        n_breakpoints=5,
    )
    model.fit(table, claims, sensitive_features=age, sample_weight=years)
    x, loss = design(model.terms_, table), find_loss("poisson")
    penalty = PENALTIES["hgr_spline"].penalty_class()
    weight = torch.tensor(years)[None, :, None]
    v = penalty.encode(torch.tensor(age)[None, :, None], [torch.arange(len(age))], weight)
    psi = penalty(seeds=[0], s=v, which_split=torch.zeros(1), settings=None)
    rows = np.arange(len(claims))

    def objective(coef, intercept):
        mu = np.exp(x @ coef + intercept)
        error = loss.relative(claims, mu, years, rows=rows, train=rows)
        return error + 0.3 * float(psi(torch.tensor(mu)[None, :, None], v, weight))

    least = objective(model.coef_, model.intercept_)
    assert least < objective(model.glm_coef_, model.glm_intercept_) - 0.01
    for direction in np.eye(len(model.coef_)):
        for step in (-0.02, 0.02):
            assert objective(model.coef_ + step * direction, model.intercept_) > least


@pytest.mark.parametrize("loss", few(["poisson", "gamma", "squared_error"], "poisson"))
@pytest.mark.parametrize("lam", [0, 0.5])
def test_balanced_premiums_add_up_to_the_target(loss, lam):
    table, claims, years, age = policies()
    y = _target(loss, claims)
    model = fd.FairTariff(loss=loss, lam=lam, **OPTIONS)
    model.fit(table, y, sensitive_features=age, sample_weight=years)
    assert years @ model.predict(table) == pytest.approx(years @ y, rel=1e-10)
    plain = clone(model).set_params(balance=False).fit(table, y, sensitive_features=age, sample_weight=years)
    ratio = model.predict(table) / plain.predict(table)
    if loss != "squared_error":
        assert ratio == pytest.approx(np.full(len(y), ratio[0]))
        if lam or loss != "poisson":  # the Poisson GLM is balanced by itself
            assert abs(ratio[0] - 1) > 1e-6


def weak_policies(n=8000, seed=1):
    """A claim in twenty years, which the columns hardly predict, and age, which shows in most of them."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 85, size=n)
    away = (age - 50) / 20
    table = pd.DataFrame(
        {
            "bonus": -away + rng.normal(size=n),
            "licence": (age - 18) * rng.uniform(0.5, 1, size=n),
            "value": rng.gamma(2, 8, size=n) + 4 * np.exp(-(away**2)),
            "power": rng.integers(4, 13, size=n),
            "zone": rng.choice([f"Z{k}" for k in range(12)], size=n),
        }
    )
    years = rng.uniform(0.2, 1, size=n)
    mean = 0.05 * np.exp(0.12 * (table["bonus"] + 0.2 * (table["power"] - 8) + 0.8 * away**2))
    return table, rng.poisson(mean * years) / years, years, age


def _gap(premium, age, years):
    """Largest gap of the average premium between tenths by age, as a share of the mean."""
    tenth = pd.qcut(age, 10, labels=False)
    means = np.bincount(tenth, premium * years) / np.bincount(tenth, years)
    return np.ptp(means) / np.average(premium, weights=years)


def test_where_claims_are_weak_no_large_lambda_is_worse_than_one_flat_premium():
    table, claims, years, age = weak_policies()
    train, test = np.arange(4000), np.arange(4000, 8000)
    flat = np.full(len(test), np.average(claims[train], weights=years[train]))
    loss = find_loss("poisson")
    found = []
    for lam in (0.3, 3.0, 1e4):
        model = fd.FairTariff(lam=lam, random_state=0)
        model.fit(table.iloc[train], claims[train], sensitive_features=age[train], sample_weight=years[train])
        premium = model.predict(table.iloc[test])
        more = years[test] * (loss.deviances(claims[test], premium) - loss.deviances(claims[test], flat))
        noise = more.std() / np.sqrt(len(more))
        found.append((_gap(premium, age[test], years[test]), premium.max() / premium.min()))
        if lam >= 3:
            assert more.mean() < 2 * noise + 1e-9
            assert found[-1][1] < 3
    gaps, folds = zip(*found, strict=True)
    assert all(b < a for a, b in pairwise(gaps))
    assert all(b < a for a, b in pairwise(folds))
    assert gaps[-1] < 1e-3
    assert folds[-1] < 1.01


def test_what_does_not_follow_s_stays_while_the_averages_go():
    """Spread that counts at every λ would take it away long before the averages have gone."""
    rng = np.random.default_rng(0)
    age, years = rng.uniform(18, 85, 6000), rng.uniform(0.2, 1, 6000)
    table = pd.DataFrame(
        {"bonus": (50 - age) / 20 + rng.normal(size=6000), "power": rng.integers(4, 13, 6000).astype(float)}
    )
    mean = 0.1 * np.exp(0.2 * table["bonus"] + 0.15 * (table["power"] - 8))
    claims = rng.poisson(mean * years) / years
    model = fd.FairTariff(lam=0.2, alpha=0.01, n_breakpoints=5)
    model.fit(table, claims, sensitive_features=age, sample_weight=years)

    def reach(unpenalised):
        rows = model.relativities(unpenalised=unpenalised)
        return np.ptp(np.log(rows.loc[rows["factor"] == "power", "relativity"]))

    glm = fd.FairTariff(lam=0, alpha=0.01, n_breakpoints=5).fit(table, claims, sample_weight=years)
    gap, of_glm = (_gap(each.predict(table), age, years) for each in (model, glm))
    assert gap < 0.1 * of_glm
    assert reach(False) > 0.95 * reach(True)


@pytest.mark.parametrize("loss", few(["poisson", "gamma"], "gamma"))
def test_balance_does_not_bring_back_what_residuals_have_lost(loss):
    """Premiums that are scaled afterwards have other residuals than those whose dependence was lowered."""
    table, claims, years, age = policies(1000)
    y = _target(loss, claims + 0.1 * (age - 45).clip(0))
    model = fd.FairTariff(
        loss=loss, lam=3.0, penalty="pearson", objective="equalized_residuals", tol=1e-7, n_breakpoints=6
    )
    model.fit(table[["bonus", "zone"]], y, sensitive_features=age, sample_weight=years)
    premium = model.predict(table)
    assert years @ premium == pytest.approx(years @ y, rel=1e-9)
    covariance = np.cov(premium - y, age, aweights=years)
    assert abs(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])) < 2e-3


def test_the_same_seed_gives_the_same_bits_and_the_rows_of_the_penalty_follow_it():
    table, claims, years, age = policies()

    def coefficients(seed, **more):
        model = fd.FairTariff(lam=0.5, random_state=seed, **more)
        return model.fit(table, claims, sensitive_features=age, sample_weight=years).coef_

    assert (coefficients(0) == coefficients(1)).all()  # all rows are seen: nothing is drawn
    some = {"penalty_rows": 300}
    assert (coefficients(0, **some) == coefficients(0, **some)).all()
    assert not np.allclose(coefficients(0, **some), coefficients(1, **some))


def test_a_weight_is_a_number_of_rows():
    table, claims, _, age = policies(300)
    weight = np.arange(300) % 3
    again = table.index.repeat(weight)
    model = fd.FairTariff(lam=0.1, tol=1e-7, credibility=0, **OPTIONS)
    weighted = model.fit(table, claims, sensitive_features=age, sample_weight=weight)
    premiums, terms = weighted.predict(table[weight > 0]), weighted.terms_
    repeated = model.fit(table.loc[again], claims[again], sensitive_features=age[again])
    for one, other in zip(repeated.terms_, terms, strict=True):
        assert one.shares == pytest.approx(other.shares)
        assert replace(one, shares=()) == replace(other, shares=()) or isinstance(one, Interaction)
    assert repeated.predict(table[weight > 0]) == pytest.approx(premiums, rel=1e-3)


def test_what_was_not_there_in_training_counts_as_the_base_and_is_counted():
    table, claims, _, _ = policies()
    model = fd.FairTariff(lam=0).fit(table, claims)
    base = {"zone": "B", "bonus": dict(zip(model.columns_, model.terms_, strict=True))["bonus"]}
    known = table.assign(zone="B", bonus=base["bonus"].cells[base["bonus"].base])
    other = known.assign(zone="Z", bonus=np.nan)
    with pytest.warns(UserWarning, match=r"count as the base, in: “bonus” \(400\), “zone” \(400\)"):
        premiums = model.predict(other)
    assert premiums == pytest.approx(model.predict(known), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "column"),
    [
        ({"penalty": "hgr_nn"}, "penalty"),
        ({"alpha": np.nan}, "alpha"),
        ({"n_breakpoints": 1}, "n_breakpoints"),
        ({"breakpoints": {"zone": [1, 2]}}, "breakpoints"),
        ({"breakpoints": {"bonus": [2, 1]}}, "breakpoints"),
        ({"bands": {"bonus": [1]}, "breakpoints": {"bonus": [1, 2]}}, "bands"),
        ({"bands": {"height": [1]}}, "bands"),
        ({"interactions": [("zone", "age")]}, "interactions"),
        ({"base_levels": {"zone": "Z"}}, "base_levels"),
        ({"categorical_features": ["height"]}, "categorical_features"),
    ],
)
def test_options_that_cannot_be_used_are_named(options, column):
    table, claims, _, age = policies(60)
    with pytest.raises(OptionError) as caught:
        fd.FairTariff(**({"lam": 0.5} | options)).fit(table, claims, sensitive_features=age)
    assert [problem.column for problem in caught.value.problems] == [column]


def test_data_that_cannot_be_used_is_named():
    table, claims, _, _ = policies(1500)
    names = table.assign(name=[f"policy {i}" for i in range(len(table))])
    with pytest.raises(DataError, match=r"“name”: the column has more than 1,000 levels"):
        fd.FairTariff(lam=0).fit(names, claims)
    with pytest.raises(DataError, match="gamma"):
        fd.FairTariff(lam=0, loss="gamma").fit(table, claims)
    with pytest.raises(OptionError, match="needs the sensitive"):
        fd.FairTariff().fit(table, claims)


def test_a_descent_cut_short_warns():
    table, claims, _, age = policies()
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 steps"):
        fd.FairTariff(lam=3, max_iter=2).fit(table, claims, sensitive_features=age)


def test_averages_of_classes_and_of_a_number_beside_them_become_one():
    rng = np.random.default_rng(0)
    region, sex = rng.choice(list("abcd"), 3_000, p=[0.5, 0.3, 0.17, 0.03]), rng.choice(["F", "M"], 3_000)
    age = rng.uniform(18, 80, 3_000)
    table = pd.DataFrame(
        {
            "km": rng.normal(15, 5, 3_000) + 8 * (region == "c"),
            "bonus": age / 10 + rng.normal(size=3_000),
            "use": np.where(rng.random(3_000) < 0.3 + 0.4 * (sex == "M"), "work", "home"),
        }
    )
    claims = rng.poisson(
        np.exp(-2 + 0.06 * table["km"] + 0.1 * table["bonus"] + 0.3 * (table["use"] == "work"))
    )

    def gaps(s, lam):
        premium = (
            fd.FairTariff(lam=lam, random_state=0).fit(table, claims, sensitive_features=s).predict(table)
        )
        of_classes = [
            np.ptp(pd.Series(premium).groupby(each).mean()) / premium.mean() for each in (region, sex)
        ]
        return [*of_classes, abs(np.corrcoef(premium, age)[0, 1])], premium

    before, glm = gaps(region, 0.0)
    assert (glm == gaps(sex, 0.0)[1]).all()
    assert min(before) > 0.1
    assert gaps(region, 1.0)[0][0] < 0.02
    assert max(gaps(pd.DataFrame({"age": age, "sex": sex}), 1.0)[0][1:]) < 0.02
