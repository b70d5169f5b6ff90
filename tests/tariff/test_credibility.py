"""Levels with few claims are drawn towards the base, listed, and levels may be held in an order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.errors import OptionError
from fairdash.tariff.terms import CLAIMS_OF_BASE, MIN_CLAIMS

PLAIN = {"lam": 0, "smooth": 0, "alpha": 0}


def rare(n: int = 4000, *, rows: int = 124) -> tuple[pd.DataFrame, np.ndarray]:
    """Three zones, the last of which has few rows and no claim; a bonus in words; age."""
    rng = np.random.default_rng(0)
    zone = np.where(np.arange(n) < rows, "C", rng.choice(["A", "B"], n))
    table = pd.DataFrame({"zone": zone, "bonus": rng.choice(["best", "good", "new"], n, p=[0.5, 0.3, 0.2])})
    claims = rng.poisson(0.05 * np.exp(0.3 * (table["bonus"] == "new") + 0.2 * (zone == "B")))
    return table, np.where(zone == "C", 0, claims)


def relativity(model: fd.FairTariff, level: str) -> float:
    rows = model.relativities().set_index("level")
    return float(rows.loc[level, "relativity"])


def test_a_level_without_claims_counts_those_of_the_base():
    table, claims = rare()
    alone = fd.FairTariff(**PLAIN | {"alpha": 1e-5}, credibility=0).fit(table, claims)
    assert relativity(alone, "C") < 0.05
    model = fd.FairTariff(**PLAIN, balance=False).fit(table, claims)
    found = np.log(relativity(model, "C"))
    # The maximum of Poisson's likelihood, of as many claims as rows have one, times a normal prior.
    expected = model.predict(table)[table["zone"] == "C"].sum() * (claims > 0).sum() / claims.sum()
    assert -expected == pytest.approx(CLAIMS_OF_BASE * found, rel=1e-4)
    assert 0.5 < np.exp(found) < 0.8
    # Other levels have claims enough of their own: they differ as far as the rows of C tell of them.
    for level in ("A", "B", "best", "good", "new"):
        assert relativity(model, level) == pytest.approx(relativity(alone, level), rel=0.05)
    rows = model.relativities().set_index("level")["claims"]
    assert rows[["B", "C"]].tolist() == [(claims[table["zone"] == "B"] > 0).sum(), 0]
    assert f"Fewer than {MIN_CLAIMS} training rows have a claim at “zone” “C” (0)." in model.formula()
    assert "Each counts 10 further claims" in model.formula()


def test_levels_with_enough_claims_are_those_of_the_glm():
    table, claims = rare(rows=0)
    one, other = (fd.FairTariff(**PLAIN, credibility=each).fit(table, claims) for each in (0, 10))
    np.testing.assert_array_equal(one.predict(table), other.predict(table))
    assert "Fewer than" not in other.formula()


@pytest.mark.parametrize("loss", ["poisson", "squared_error"])
def test_many_small_levels_are_nearer_to_the_truth(loss):
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


def test_bands_pairs_and_missing_cells_count_as_levels_do():
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


def test_levels_of_a_text_are_held_in_their_order(tmp_path):
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


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (1, "have no order"),
        ("best", "have no order"),
        (["best", "good"], "lacks “new”"),
        (["best", "good", "new", "new"], "appears twice"),
    ],
)
def test_an_order_that_is_none_is_refused(order, says):
    with pytest.raises(OptionError, match=says):
        fd.FairTariff(lam=0, monotone={"bonus": order}).fit(*rare())
