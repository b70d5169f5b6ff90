"""Curves are as smooth as held-out rows require, and exactly monotone if the user asks for it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.errors import OptionError
from fairdash.tariff.choosing import TermOptions, choose_terms
from fairdash.tariff.fit import FitOptions, fit_terms
from fairdash.tariff.path import fit_tariffs
from fairdash.tariff.shape import Shape
from fairdash.tariff.terms import CLAIMS_OF_BASE, MIN_CLAIMS
from fairdash.training.losses import find_loss
from fairdash.training.splits import random_splits
from tests.data.tables import dataset_of
from tests.tariff.test_model import OPTIONS, _target, policies
from tests.tiers import few

POISSON = find_loss("poisson")


def claims_of(effect, n=3000, seed=0):
    """A column “wear” with this effect on the logarithm of claims, an unrelated column, and age."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"wear": rng.uniform(0, 1, n), "noise": rng.normal(size=n)})
    years = rng.uniform(0.3, 1, n)
    age = 50 - 30 * table["wear"].to_numpy() + 10 * rng.normal(size=n)
    return table, rng.poisson(years * np.exp(-1.5 + effect(table["wear"]))) / years, years, age


def curve(model, factor="wear", **how):
    """Breakpoints or lower limits, relativities and exposure shares of a factor, without missing cells."""
    rows = model.relativities(**how)
    rows = rows[(rows["factor"] == factor) & (rows["kind"] != "missing")]
    return rows["at"].to_numpy(), rows["relativity"].to_numpy(), rows["share"].to_numpy()


def turns(values):
    signs = np.sign(np.diff(values))
    return int((signs[1:] * signs[:-1] < 0).sum())


def test_smoothing_brings_relativities_closer_to_a_smooth_effect_with_fewer_turning_points():
    def effect(wear):
        return 0.8 * np.sin(2.5 * wear)

    def distance_and_turns(smooth):
        model = fd.FairTariff(lam=0, smooth=smooth).fit(table, claims, sample_weight=years)
        at, found, share = curve(model, base="average")
        assert (model.smooth_["wear"] > 0) == (smooth == "auto")
        return (np.log(found) - effect(at) + effect(at) @ share) ** 2 @ share, turns(found)

    nearer = []
    for seed in range(4):
        table, claims, years, _ = claims_of(effect, seed=seed)
        (rough, bends), (smoothed, fewer) = (distance_and_turns(smooth) for smooth in (0, "auto"))
        nearer.append(smoothed < 0.5 * rough)
        assert fewer < bends
    assert sum(nearer) >= 3


@pytest.mark.parametrize("loss", few(["poisson", "gamma", "squared_error"], "poisson"))
def test_zero_smoothing_equals_the_ridge_fit_and_strong_smoothing_gives_straight_lines(loss):
    table, claims, years, _ = policies()
    y = _target(loss, claims)
    terms = choose_terms(table, years, TermOptions(bands={"value": 6}))
    shape = Shape.of(terms, alpha=1e-3, smooth=0.0, monotone={})
    assert (shape.is_ridge, shape.alpha) == (True, 1e-3)

    def fit(smooth):
        how = {"options": FitOptions(loss=find_loss(loss), alpha=1e-5, smooth=smooth), "lams": [0.0]}
        fitted = fit_terms(terms, table, y, s=None, sample_weight=years, random_state=0, **how)
        return fitted.coefficients[0]

    # scikit-learn and a separate Newton's method solve the same problem, so the solutions are equal.
    assert fit(1e-12) == pytest.approx(fit(0.0), abs=1e-5)
    stiff = fit(1e6)
    blocks = np.split(stiff, np.cumsum([term.width for term in terms])[:-1])
    for term, block in zip(terms, blocks, strict=True):
        if term.column in ("bonus", "value"):
            line = term.values(block[None])[0, : term.n_places]
            assert np.diff(line, 2) == pytest.approx(0, abs=1e-5)
            assert np.ptp(line) > 1e-3


HELD = {"bonus": 1, "value": -1}


@pytest.mark.parametrize("loss", few(["poisson", "gamma", "squared_error"], "poisson", "squared_error"))
@pytest.mark.parametrize(("lam", "smooth"), [(0, 0), (0.3, "auto")])
def test_monotone_constraints_on_relativities_hold_exactly(loss, lam, smooth, tmp_path):
    table, claims, years, age = policies()
    y = _target(loss, claims)
    how = {"loss": loss, "lam": lam, "smooth": smooth, "random_state": 0}
    own = OPTIONS | {"bands": {"value": 7}, "interactions": [("zone", "gender")]}
    model = fd.FairTariff(monotone=HELD, **how, **own)
    model.fit(table, y, sensitive_features=age, sample_weight=years)
    name = "points" if loss == "squared_error" else "relativity"
    model.export(tmp_path / "tariff.csv")
    shown = [model.relativities(**each) for each in ({}, {"base": "average"}, {"unpenalised": True})]
    for each in (*shown, shown[0].round(2), fd.read_tariff(tmp_path / "tariff.csv")):
        for factor, sign in HELD.items():
            rows = each[(each["factor"] == factor) & (each["kind"] != "missing")]
            assert (sign * np.diff(rows[name]) >= 0).all()
    ordered = table.iloc[np.zeros(50, dtype=int)].assign(bonus=np.linspace(0, 12, 50), zone="A")
    assert (np.diff(model.predict(ordered)) >= -1e-12).all()
    if loss != "squared_error":
        assert years @ model.predict(table) == pytest.approx(years @ y, rel=1e-9)
    free = fd.FairTariff(**how, **own).fit(table, y, sensitive_features=age, sample_weight=years)
    assert (free.monotone_cost_, model.smooth_) == (None, free.smooth_)
    flat = np.full(len(y), np.average(y, weights=years))
    own, others, most = (
        find_loss(loss).mean_deviance(y, each, years)
        for each in (model.predict(table), free.predict(table), flat)
    )
    cost = model.monotone_cost_.loc["training"]
    assert cost[["monotone", "free"]].tolist() == pytest.approx([own / most, others / most], rel=1e-6)
    assert cost["cost"] == pytest.approx(cost["monotone"] - cost["free"])
    if lam == 0:
        assert cost["cost"] > -1e-9


def test_the_increase_of_deviance_due_to_monotone_constraints_is_reported():
    table, claims, years, _ = claims_of(lambda wear: np.sin(6 * wear))
    model = fd.FairTariff(lam=0, monotone={"wear": 1}).fit(table, claims, sample_weight=years)
    cost = model.monotone_cost_
    assert list(cost.index) == ["training", "held out"]
    # For a wave-shaped effect, a monotone curve costs much more than noise.
    assert (cost["cost"] > np.maximum(0.02, 2 * cost["noise"])).all()
    said = model.formula().splitlines()[-1]
    assert said.startswith("Constraints: “wear” may only rise. On held-out rows, the deviance is 0.9")
    assert f"{cost.loc['held out', 'cost']:+.4f}" in said
    few = fd.FairTariff(lam=0, monotone={"wear": -1}).fit(table[:80], claims[:80])
    assert (list(few.monotone_cost_.index), few.smooth_) == (["training"], {"wear": 0, "noise": 0})
    assert "“wear” may only fall. On its training rows" in few.formula()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"monotone": {"zone": 1}}, r"“zone” is a category.*List its levels"),
        ({"monotone": {"height": 1}}, r"no feature called “height”.*Name columns"),
        ({"monotone": {"bonus": 2}}, r"“bonus” has no valid direction.*Give \+1"),
        ({"monotone": {"group": 1}, "categorical_features": ["group"]}, "“group” is a category"),
        ({"monotone": {"bonus": 1}, "interactions": [("bonus", "zone")]}, "“bonus” is in an interaction"),
        ({"monotone": {"garage": 1}, "fixed": {"garage": {True: 1, False: 1.1}}}, "“garage” are fixed"),
        ({"monotone": {"zone": "best"}}, "have no order"),
        ({"monotone": {"zone": ["A", "B"]}}, "lacks “C”"),
        ({"monotone": {"zone": ["A", "B", "C", "C"]}}, "appears twice"),
        ({"smooth": -1}, "“smooth”.*at least 0"),
        ({"smooth": {"bonus": -1}}, "“smooth”.*map of columns"),
        ({"smooth": {"zone": 1}}, "“zone” is not a numeric feature"),
    ],
)
@pytest.mark.every_case
def test_invalid_smoothing_and_monotone_options_are_refused_with_advice(options, said):
    table, claims, _, _ = policies(120)
    with pytest.raises(OptionError, match=said) as caught:
        fd.FairTariff(**({"lam": 0} | options)).fit(table, claims)
    assert [problem.column for problem in caught.value.problems] == [next(iter(options))]


LAMS = (0.0, 1.0)


def test_tariff_fits_ignore_test_rows_and_are_reproducible() -> None:
    table, claims, years, age = policies(600)
    data = dataset_of(table, {"claims": claims}, {"age": age}, weight={"years": years})
    splits = random_splits(data.n_rows, n_splits=1, random_state=0, validation_share=0.25)
    poisoned = data.target.copy()
    poisoned.iloc[splits[0].test] = 50.0
    one, same, other = (
        fit_tariffs(each, splits, lams=LAMS, options=FitOptions(loss=POISSON), shrink=True).predictions
        for each in (data, data, replace(data, target=poisoned))
    )
    np.testing.assert_array_equal(one, same)
    np.testing.assert_array_equal(one, other)


# Relativities of levels with few claims are shrunk towards the base and listed; levels may have a fixed
# order.


PLAIN = {"lam": 0, "smooth": 0, "alpha": 0}


def rare(n: int = 4000, *, rows: int = 124) -> tuple[pd.DataFrame, np.ndarray]:
    """Three zones, the last with few rows and no claim; a bonus as text; age."""
    rng = np.random.default_rng(0)
    zone = np.where(np.arange(n) < rows, "C", rng.choice(["A", "B"], n))
    table = pd.DataFrame({"zone": zone, "bonus": rng.choice(["best", "good", "new"], n, p=[0.5, 0.3, 0.2])})
    claims = rng.poisson(0.05 * np.exp(0.3 * (table["bonus"] == "new") + 0.2 * (zone == "B")))
    return table, np.where(zone == "C", 0, claims)


def relativity(model: fd.FairTariff, level: str) -> float:
    rows = model.relativities().set_index("level")
    return float(rows.loc[level, "relativity"])


def test_a_level_without_claims_is_shrunk_towards_the_base():
    table, claims = rare()
    alone = fd.FairTariff(**PLAIN | {"alpha": 1e-5}, credibility=0).fit(table, claims)
    assert relativity(alone, "C") < 0.05
    model = fd.FairTariff(**PLAIN, balance=False).fit(table, claims)
    found = np.log(relativity(model, "C"))
    # The maximum of the Poisson likelihood times a normal prior; the number of claims is that of rows with a
    # claim.
    expected = model.predict(table)[table["zone"] == "C"].sum() * (claims > 0).sum() / claims.sum()
    assert -expected == pytest.approx(CLAIMS_OF_BASE * found, rel=1e-4)
    assert 0.5 < np.exp(found) < 0.8
    # Other levels have enough claims: they differ only as far as the rows of zone C change them.
    for level in ("A", "B", "best", "good", "new"):
        assert relativity(model, level) == pytest.approx(relativity(alone, level), rel=0.05)
    rows = model.relativities().set_index("level")["claims"]
    assert rows[["B", "C"]].tolist() == [(claims[table["zone"] == "B"] > 0).sum(), 0]
    assert f"Fewer than {MIN_CLAIMS} training rows have a claim for “zone” “C” (0)." in model.formula()
    assert "These values get 10 additional claims" in model.formula()


def test_credibility_leaves_levels_with_enough_claims_unchanged():
    table, claims = rare(rows=0)
    one, other = (fd.FairTariff(**PLAIN, credibility=each).fit(table, claims) for each in (0, 10))
    np.testing.assert_array_equal(one.predict(table), other.predict(table))
    assert "Fewer than" not in other.formula()


@pytest.mark.parametrize("loss", ["poisson", "squared_error"])
def test_credibility_brings_relativities_of_many_small_levels_closer_to_the_true_effects(loss):
    rng = np.random.default_rng(1)
    levels = np.append(np.repeat(np.arange(60), 15), np.full(900, 99))
    true = np.append(rng.normal(0, 0.3, 60), np.zeros(40))
    y = rng.poisson(np.exp(true[levels])) if loss == "poisson" else 5 + true[levels] + rng.normal(size=1800)
    table = pd.DataFrame({"garage": levels.astype(str)})
    away = []
    for credibility in (0, 10):
        model = fd.FairTariff(**PLAIN | {"alpha": 1e-5}, loss=loss, credibility=credibility).fit(table, y)
        rows = model.relativities().iloc[1:].set_index("level")
        value = np.log(rows["relativity"]) if loss == "poisson" else rows["points"]
        away.append(np.mean((value - true[value.index.astype(int)]) ** 2))
    assert away[1] < 0.75 * away[0]


def test_relativities_of_bands_interactions_and_missing_cells_are_shrunk_like_those_of_levels():
    table, claims = rare()
    table["km"] = np.where(table["zone"] == "C", 99.0, np.arange(len(table)) % 50)
    table["age"] = np.where(table["zone"] == "C", np.nan, np.arange(len(table)) % 60)
    options = {"bands": {"km": [25, 80]}, "interactions": [("bonus", "km")]}
    without = table.drop(columns="zone")
    for credibility, low, high in ((0, 0.0, 0.2), (10, 0.3, 1.0)):
        model = fd.FairTariff(lam=0, smooth=0, credibility=credibility, **options).fit(without, claims)
        premium = model.predict(without)
        assert low < premium[table["zone"] == "C"].mean() / premium.mean() < high
    for counted in ("“km” from 80 (0)", "“age” missing (0)", "“bonus” “good” × “km” from 80 (0)"):
        assert counted in model.formula()


def test_relativities_of_text_levels_follow_a_given_monotone_order(tmp_path):
    table, claims = rare()
    rng = np.random.default_rng(2)
    age = 40 - 20 * (table["bonus"] == "new") + rng.normal(0, 8, len(table))
    for order in (["best", "good", "new"], ["new", "good", "best", "none has it"]):
        model = fd.FairTariff(lam=0.3, monotone={"bonus": order}, random_state=0)
        model.fit(table, claims, sensitive_features=age)
        rows = model.relativities().query("factor == 'bonus'").set_index("level")["relativity"]
        assert rows.loc[order[:3]].is_monotonic_increasing
        assert f"“bonus” may only rise from “{order[0]}” to “{order[-1]}”" in model.formula()
        model.export(tmp_path / "t.xlsx")
        again = fd.rate(fd.read_tariff(tmp_path / "t.xlsx"), table)
        np.testing.assert_allclose(again, model.predict(table), rtol=1e-9)
