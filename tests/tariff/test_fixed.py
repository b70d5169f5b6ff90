"""Fixed relativities: an offset of the GLM and of the fair fit, in the exported table, and refusals."""

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

#: A text column, and a column of numbers that are levels.
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
    """The product of each row's fixed relativities, computed with pandas."""
    by_class = table["class"].map({int(float(level)): value for level, value in CLASS.items()})
    return (table["region"].map(REGION) * by_class).to_numpy(dtype=float)


@pytest.mark.parametrize("loss", few(["poisson", "gamma", "tweedie"], "poisson"))
def test_fixed_relativities_are_the_offset_of_a_glm_at_lambda_zero(loss):
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

    # The definition, minimised by a general solver.
    start = np.zeros(x.shape[1] + 1)
    found = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    own = np.append(model.intercept_ - np.log(unit), model.coef_)
    assert objective(own)[0] <= found.fun + 1e-12
    assert own == pytest.approx(found.x, abs=1e-5)
    if loss == "poisson":
        # Counts with an offset are rates weighted by the offset.
        glm = PoissonRegressor(alpha=alpha * years.sum() / (years * given).sum(), tol=1e-10, max_iter=10_000)
        glm.fit(x, y / given / unit, sample_weight=years * given)
        assert model.predict(table) == pytest.approx(unit * given * glm.predict(x), rel=1e-4)


@pytest.fixture(scope="module")
def filed():
    """Policies, one of which has no region; their years; and a tariff with a relativity for a missing region."""
    table, claims, years, age = fixed_policies()
    table.loc[3, "region"] = None
    model = fd.FairTariff(lam=0.3, fixed={"region": {**REGION, None: 1.7}, "class": CLASS}, **OPTIONS)
    return table, years, model.fit(table, claims, sensitive_features=age, sample_weight=years)


@pytest.mark.parametrize("base", ["level", "average"])
@pytest.mark.parametrize("way", ["csv", "xlsx"])
def test_an_exported_tariff_marks_fixed_relativities_and_gives_the_same_premiums(way, base, filed, tmp_path):
    table, years, model = filed
    own = model.relativities(base=base)
    fixed = own[own["kind"] == "fixed"]
    # Fixed relativities are exported with all given digits, whatever the base levels, also for unseen levels.
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
    assert (
        "The relativities of these factors are fixed in advance, not fitted: “region”, “class”."
        in model.formula()
    )
    figure = factor_figure(own, own, "region", theme=LIGHT, after_name="λ = 0.3")
    assert list(figure.data[0].x) == ["north", "south", "sea", "(missing)"]


def test_rows_without_a_relativity_are_named_in_fit_and_predict():
    table, claims, years, age = fixed_policies(100)
    model = fd.FairTariff(lam=0.1, fixed=FIXED, **OPTIONS)
    # The message gives row numbers of the user's table, including rows without weight.
    how = {"sensitive_features": age, "sample_weight": np.where(np.arange(100) < 3, 0, years)}
    other = table.assign(**{"class": np.where(np.arange(100) >= 90, 99, table["class"])})
    other.loc[[4, 7], "region"] = ["moon", None]
    places = {"region": "rows 5, 8 (2 places)", "class": "rows 91, 92, 93, 94, 95, … (10 places)"}
    says = [
        f"Column “{name}”: the relativities of this column are fixed, but no relativity is given for the cells in {rows}. "
        "Add these levels to fixed, with None for missing cells, or correct the cells."
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
        (FIXED, {"bands": {"class": 3}}, "the relativities of “class” are fixed, so this option has no effect"),
        (FIXED, {"interactions": [("zone", "region")]}, "of “region” are fixed, so this option has no effect"),
        (FIXED, {"loss": "squared_error"}, "this loss gives an additive tariff"),
    ],
)  # fmt: skip
def test_invalid_fixed_relativities_are_refused(fixed, options, says):
    table, claims, _, _ = fixed_policies(60)
    with pytest.raises(OptionError) as caught:
        fd.FairTariff(lam=0, fixed=fixed, **options).fit(table, claims)
    assert says.lower() in str(caught.value).lower()


@pytest.mark.parametrize("shrink", [False, True])
def test_tariffs_fitted_together_apply_fixed_relativities_as_a_single_tariff_does(shrink):
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
    # The base rate absorbs a factor that multiplies every row.
    twins = replace(dataset, features=table.assign(region="sea"))
    dear, same = (
        fit_tariffs(twins, splits, terms=TermOptions(fixed={"region": {"sea": value}}), **given).predictions
        for value in (2.0, 1.0)
    )
    assert dear == pytest.approx(same, rel=1e-3)
    wrong = replace(dataset, features=table.assign(region=np.where(np.arange(400) == 6, "moon", "sea")))
    with pytest.raises(DataError, match=r"“region”: .* in row 7 \(1 place\)"):
        fit_tariffs(wrong, splits, terms=TermOptions(fixed=FIXED), **given)


# A cap on premium changes: the income is unchanged, the limits hold, and impossible caps are refused with the
# reason.


def portfolio(n=500, seed=0):
    """New premiums, existing premiums with the same income, and years."""
    rng = np.random.default_rng(seed)
    existing = rng.gamma(3, 100, size=n)
    premiums = existing * rng.lognormal(0, 0.4, size=n)
    years = rng.uniform(0.1, 1, size=n)
    return premiums * (years @ existing) / (years @ premiums), existing, years


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_change", [0.01, 0.3, 1.5])
@pytest.mark.parametrize("factor", [1.0, 1.009, 0.991])
def test_capped_premiums_keep_the_total_income_and_lie_within_the_limits(max_change, factor, weighted):
    premiums, existing, years = portfolio()
    premiums = premiums * factor
    weight = years if weighted else np.ones_like(years)
    # Without weights, both sets of premiums have another income.
    existing = existing * (weight @ premiums) / (weight @ existing) / factor
    how = {"sample_weight": years} if weighted else {}
    found = fd.cap_premiums(premiums, existing, max_change=max_change, **how)
    assert weight @ found.premiums == pytest.approx(weight @ premiums, rel=1e-9)
    low, high = max(1 - max_change, 0) * existing, (1 + max_change) * existing
    assert ((found.premiums >= low) & (found.premiums <= high)).all()
    # A premium that no limit holds equals the new premium times a common factor.
    free = (found.premiums > low) & (found.premiums < high)
    assert found.premiums[free] == pytest.approx(found.level * premiums[free], rel=1e-12)
    held = [weight @ o / weight.sum() for o in (found.level * premiums < low, found.level * premiums > high)]
    assert [found.at_lower, found.at_upper] == pytest.approx(held)


def test_a_cap_of_zero_returns_the_existing_premiums_if_their_income_is_the_same():
    premiums, existing, years = portfolio()
    found = fd.cap_premiums(premiums, existing, max_change=0, sample_weight=years)
    assert found.premiums == pytest.approx(existing, rel=1e-12)
    with pytest.raises(
        DataError, match=r"with changes of at most 0 %, .* is between 200 and 200, .* give 220"
    ):
        fd.cap_premiums([110.0, 330.0], [100.0, 300.0], max_change=0)


@pytest.mark.parametrize("income", [89.0, 111.0])
def test_an_income_unreachable_under_the_cap_is_refused_with_the_reachable_range(income):
    with pytest.raises(DataError) as caught:
        fd.cap_premiums([income - 5, income + 5], [100.0, 100.0], max_change=0.1)
    assert str(caught.value) == (
        "No common factor keeps the income: with changes of at most 10 %, the income per unit of weight is "
        f"between 90 and 110, but the new premiums give {income:g}. Raise max_change, or scale the existing or the new premiums to "
        "the same income first."
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"premiums": [np.inf, 0.0]}, "“premiums”: there is no number above 0 in rows 1, 2"),
        ({"existing": [np.nan, -1.0]}, "“existing”: there is no number above 0 in rows 1, 2"),
        ({"sample_weight": [0.0, 0.0]}, "“sample_weight”: the weights are not valid"),
        ({"sample_weight": [-1.0, 2.0]}, "“sample_weight”: the weights are not valid"),
        ({"existing": [1.0]}, "do not have one value per row"),
        ({"premiums": [], "existing": []}, "do not have one value per row"),
        *(({"max_change": each}, "max_change") for each in (-0.1, np.nan, "10 %", True)),
    ],
)
def test_invalid_premiums_weights_or_caps_are_refused(given, says):
    with pytest.raises(OptionError if "max_change" in given else DataError, match=says):
        fd.cap_premiums(**({"premiums": [1.0, 2.0], "existing": [1.0, 2.0], "max_change": 0.1} | given))
