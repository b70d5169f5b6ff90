"""Fixed relativities: an offset of the GLM and of the fair fit, in the table that is filed, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_tweedie_deviance

import fairdash as fd
from fairdash.errors import DataError, OptionError
from fairdash.tariff.choosing import TermOptions
from fairdash.tariff.fit import FitOptions
from fairdash.tariff.path import fit_tariffs
from fairdash.tariff.terms import design
from fairdash.training.losses import find_loss
from fairdash.training.splits import random_splits
from fairdash.views.figures.comparison import factor_figure
from fairdash.views.figures.theme import LIGHT
from tests.data.tables import dataset_of
from tests.tariff.test_model import _target, policies
from tests.tiers import few

#: A text column, and numbers that are levels.
REGION = {"north": 0.8, "south": 1.3, "sea": 2.0}
CLASS = {50: 0.5, 60.0: 0.75, "75": 1.1}
FIXED = {"region": REGION, "class": CLASS}
OPTIONS = {"n_breakpoints": 5, "random_state": 0}


def fixed_policies(n=400, seed=0):
    """Policies with two columns whose relativities are fixed: one follows age."""
    table, claims, years, age = policies(n, seed)
    rng = np.random.default_rng(seed + 1)
    table["region"] = rng.choice(["north", "south"], size=n)
    table["class"] = np.where(age + rng.normal(0, 15, size=n) > 50, 50, rng.choice([60, 75], size=n))
    return table, claims, years, age


def product_of(table):
    """Each row's fixed relativities, by pandas."""
    by_class = table["class"].map({int(float(level)): value for level, value in CLASS.items()})
    return (table["region"].map(REGION) * by_class).to_numpy(dtype=float)


@pytest.mark.parametrize("loss", few(["poisson", "gamma", "tweedie"], "poisson"))
def test_at_lambda_zero_they_are_the_offset_of_a_glm(loss):
    table, claims, years, _ = fixed_policies()
    y, alpha = _target(loss, claims), 1e-3
    model = fd.FairTariff(
        loss=loss, lam=0, alpha=alpha, smooth=0, credibility=0, balance=False, fixed=FIXED, n_breakpoints=4
    )
    model.fit(table, y, sample_weight=years)
    x, given = design(model.terms_, table), product_of(table)
    power, unit = find_loss(loss).power, np.average(y, weights=years)

    def objective(beta):
        eta = np.log(given) + x @ beta[1:] + beta[0]
        deviance = mean_tweedie_deviance(y / unit, np.exp(eta), sample_weight=years, power=power)
        share = years / years.sum()
        first = 2 * share * (np.exp((2 - power) * eta) - y / unit * np.exp((1 - power) * eta))
        slope = np.append(first.sum(), x.T @ first + 2 * alpha * beta[1:])
        return deviance + alpha * beta[1:] @ beta[1:], slope

    # The definition itself, by a solver that knows nothing of GLMs.
    start = np.zeros(x.shape[1] + 1)
    found = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    own = np.append(model.intercept_ - np.log(unit), model.coef_)
    assert objective(own)[0] <= found.fun + 1e-12
    assert own == pytest.approx(found.x, abs=1e-5)
    if loss == "poisson":
        # Counts with an offset are rates with its weight.
        glm = PoissonRegressor(alpha=alpha * years.sum() / (years * given).sum(), tol=1e-10, max_iter=10_000)
        glm.fit(x, y / given / unit, sample_weight=years * given)
        assert model.predict(table) == pytest.approx(unit * given * glm.predict(x), rel=1e-4)


@pytest.mark.parametrize("base", ["level", "average"])
@pytest.mark.parametrize("way", ["csv", "xlsx"])
def test_the_exported_table_marks_them_and_gives_the_same_premiums(way, base, tmp_path):
    table, claims, years, age = fixed_policies()
    table.loc[3, "region"] = None
    given = {"region": {**REGION, None: 1.7}, "class": CLASS}
    model = fd.FairTariff(lam=0.3, fixed=given, **OPTIONS)
    model.fit(table, claims, sensitive_features=age, sample_weight=years)
    own = model.relativities(base=base)
    fixed = own[own["kind"] == "fixed"]
    # To the last digit as they were given, whatever the others are relative to, unseen levels too.
    assert dict(zip(fixed["level"], fixed["relativity"], strict=True)) == {
        **REGION, **{"50": 0.5, "60": 0.75, "75": 1.1}
    }  # fmt: skip
    assert own[(own["factor"] == "region") & (own["kind"] == "missing")]["relativity"].tolist() == [1.7]
    shares = fixed.set_index("level")["share"]
    assert shares["sea"] == 0
    assert shares["50"] == pytest.approx(years[table["class"] == 50].sum() / years.sum())
    model.export(tmp_path / f"tariff.{way}")
    read, glm = fd.read_tariff(tmp_path / f"tariff.{way}"), model.relativities(unpenalised=True)
    assert (read["kind"] == "fixed").sum() == 6
    for each in (read, own):
        assert fd.rate(each, table) == pytest.approx(model.predict(table), rel=1e-12)
    sea, north = (fd.rate(glm, table.assign(region=each)) for each in ("sea", "north"))
    assert sea / north == pytest.approx(2.5, rel=1e-12)
    assert "These relativities are fixed in advance, not fitted: “region”, “class”." in model.formula()
    figure = factor_figure(own, own, "region", theme=LIGHT, after_name="λ = 0.3")
    assert list(figure.data[0].x) == ["north", "south", "sea", "(missing)"]


def test_rows_without_a_relativity_are_named_in_fit_and_predict():
    table, claims, years, age = fixed_policies(100)
    model = fd.FairTariff(lam=0.1, fixed=FIXED, **OPTIONS)
    # The row counts in the user's own table, whatever has no weight.
    how = {"sensitive_features": age, "sample_weight": np.where(np.arange(100) < 3, 0, years)}
    other = table.assign(**{"class": np.where(np.arange(100) >= 90, 99, table["class"])})
    other.loc[[4, 7], "region"] = ["moon", None]
    places = {"region": "rows 5, 8 (2 places)", "class": "rows 91, 92, 93, 94, 95, … (10 places)"}
    says = [
        f"Column “{name}”: its relativities are fixed, and there is none for the cells in {rows}. "
        "Add the level to those in fixed, None for missing cells, or correct the cells."
        for name, rows in places.items()
    ]
    with pytest.raises(DataError) as caught:
        model.fit(other, claims, **how)
    assert str(caught.value).splitlines() == says
    model.fit(table, claims, **how)
    with pytest.raises(DataError) as caught:
        model.predict(other)
    assert str(caught.value).splitlines() == says


@pytest.mark.parametrize(
    ("fixed", "options", "says"),
    [
        *(({"region": REGION | {"north": each}}, {}, "relativity of “region” is not a number above 0")
          for each in (0.0, np.inf, "1")),
        ({"region": 1.2}, {}, "“region” has no relativities"),
        ({"class": {50: 1.0, "50": 1.1}}, {}, "a level of “class” appears twice"),
        ({"age": {50: 1.0}}, {}, "there is no feature called “age”"),
        (FIXED, {"bands": {"class": 3}}, "the relativities of “class” are fixed, and none is fitted"),
        (FIXED, {"interactions": [("zone", "region")]}, "of “region” are fixed, and none is fitted"),
        (FIXED, {"loss": "squared_error"}, "premiums of this loss add up"),
    ],
)  # fmt: skip
def test_what_cannot_be_fixed_is_refused(fixed, options, says):
    table, claims, _, _ = fixed_policies(60)
    with pytest.raises(OptionError) as caught:
        fd.FairTariff(lam=0, fixed=fixed, **options).fit(table, claims)
    assert says.lower() in str(caught.value).lower()


@pytest.mark.parametrize("shrink", [False, True])
def test_many_tariffs_take_them_as_one_does(shrink):
    table, claims, years, age = fixed_policies()
    table = table[["bonus", "value", *FIXED]]
    dataset = dataset_of(table, {"claims": claims}, {"age": age}, weight={"years": years})
    splits = random_splits(len(table), n_splits=2, random_state=0)
    given = {"lams": (0.0, 0.3), "options": FitOptions(loss=find_loss("poisson"), tol=1e-3), "shrink": shrink}
    fitted = fit_tariffs(dataset, splits, terms=TermOptions(fixed=FIXED), **given)
    train = splits[1].train
    for lam, price in () if shrink else zip((0.0, 0.3), fitted.predictions[2:], strict=True):
        one = fd.FairTariff(lam=lam, smooth=0, fixed=FIXED, tol=1e-3).fit(
            table.iloc[train], claims[train], sensitive_features=age[train], sample_weight=years[train]
        )
        assert one.predict(table) == pytest.approx(price, rel=1e-6)
    # What every row is multiplied by, the base takes back.
    twins = replace(dataset, features=table.assign(region="sea"))
    dear, same = (
        fit_tariffs(twins, splits, terms=TermOptions(fixed={"region": {"sea": value}}), **given).predictions
        for value in (2.0, 1.0)
    )
    assert dear == pytest.approx(same, rel=1e-3)
    wrong = replace(dataset, features=table.assign(region=np.where(np.arange(400) == 6, "moon", "sea")))
    with pytest.raises(DataError, match=r"“region”: .* in row 7 \(1 place\)"):
        fit_tariffs(wrong, splits, terms=TermOptions(fixed=FIXED), **given)
