"""Amounts computed by hand, by factor and by coverage as in pandas, with caps and units; deviances."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import mean_tweedie_deviance

import fairdash as fd
from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.questions.money import payments_by_band, segments
from fairdash.errors import OptionError
from fairdash.evaluation.insurance import bands_of, deviances
from tests.auditing.test_learned import table_of


def test_amounts_by_attribute_value_equal_a_hand_calculation():
    n = 400
    s = np.repeat([1.0, 2.0], n // 2)
    frame = pd.DataFrame(
        {"p": 4 + 4 * s + np.tile([-1.0, 1.0], n // 2), "s": s, "y": 1 + 2 * s, "w": 2 * s - 1}
    )
    table = table_of(frame, exposure="w", outcome="y")
    # The mean price is (8 + 3 × 12) ÷ 4 = 11 and the mean cost 4.5, so a cost of 1 justifies a price of 11 ÷
    # 4.5.
    found = payments_by_band(table, table.price, None)
    assert_allclose(found[["per_head", "total"]], [[-3, -600], [1, 600]])
    earned = payments_by_band(table, table.price, table.outcome)
    assert_allclose(earned["per_head"], [8 - 3 * 11 / 4.5, 12 - 5 * 11 / 4.5])
    assert earned["total"].sum() == pytest.approx(0, abs=1e-9)
    assert (found["per_head_low"] < found["per_head"]).all()
    assert_allclose(found["total_low"], found["per_head_low"] * found["exposure"])


def test_a_simulated_overpriced_segment_ranks_first_and_random_segments_are_not_shown():
    rng = np.random.default_rng(0)
    n = 4000
    s, zone, x = rng.uniform(0, 1, n), rng.choice(list("abcde"), n), rng.normal(size=n)
    plain = pd.DataFrame({"p": 100 * rng.gamma(10, 0.1, n), "s": s, "zone": zone, "x": x})
    dear = plain.assign(p=plain["p"] + 40 * ((zone == "c") & (s > 0.8)))
    of_plain, of_dear = (
        segments(table, table.features, table.price, None) for table in map(table_of, (plain, dear))
    )
    assert (of_plain[1], len(of_plain[0]), set(of_plain[0]["shown"])) == (50, 20, {0})
    found = of_dear[0]
    assert (found["column"][0], found["level"][0]) == ("zone", "c")
    assert found["s_low"][0] == pytest.approx(0.8, abs=0.02)
    # Compared with rows of the same zone, a fifth of which pays 40 more.
    assert found["per_head_low"][0] < 32 < found["per_head_high"][0]
    assert (found["rows"] >= 20).all()


def test_a_small_segment_without_claims_is_not_reported_as_overcharged():
    rng = np.random.default_rng(1)
    n = 3000
    zone = np.where(np.arange(n) % 25 == 0, "small", "large")
    claims = rng.poisson(0.05, n) * np.where(zone == "small", 0.0, 2000.0)
    frame = pd.DataFrame(
        {"p": 100.0 + rng.normal(size=n), "s": rng.normal(size=n), "zone": zone, "y": claims}
    )
    table = table_of(frame, outcome="y", controls=["zone"])
    found, _ = segments(table, table.controls, table.price, table.outcome)
    assert set(found.loc[found["level"] == "small", "shown"]) == {0}


def test_deviances_equal_those_of_scikit_learn():
    rng = np.random.default_rng(3)
    price, outcome, weight = rng.gamma(2, 1, 300), rng.gamma(1, 1, 300) + 0.01, rng.uniform(0.2, 1, 300)
    found = deviances({"now": price}, outcome, weight).set_index("deviance")
    level = weight @ outcome / (weight @ price)
    for name, power in (("poisson", 1), ("gamma", 2), ("tweedie", 1.5)):
        how = {"sample_weight": weight, "power": power}
        expected = [mean_tweedie_deviance(outcome, each, **how) for each in (price, price * level)]
        assert_allclose(found.loc[name, ["value", "balanced"]].astype(float), expected)
    counts = deviances({"now": price}, rng.poisson(0.1, 300).astype(float), weight).set_index("deviance")
    assert np.isfinite(counts["value"][["gamma", "poisson"]]).tolist() == [False, True]
    # The price that equals the outcome explains all of the deviance, and the mean explains none.
    assert_allclose(deviances({"now": outcome}, outcome, weight)["explained"], 1)
    mean = np.full(300, weight @ outcome / weight.sum())
    assert_allclose(deviances({"now": mean}, outcome, weight)["explained"], 0, atol=1e-12)


@pytest.mark.parametrize("n", [39, 150, 5000])
def test_every_band_has_at_least_20_rows(n):
    rng = np.random.default_rng(n)
    for x in (rng.normal(size=n), rng.integers(0, 7, n).astype(float), np.full(n, 3.0)):
        code = bands_of(x, rng.uniform(0.01, 1, n))
        rows = np.bincount(code)
        assert (rows.min() >= 20, len(rows) <= 10) == (True, True)
        # Bands are sorted by x, and equal values are in the same band.
        ends = pd.Series(x).groupby(code).agg(["min", "max"])
        assert (ends["min"].to_numpy()[1:] > ends["max"].to_numpy()[:-1]).all()


OF_COVERS = {"price": "premium", "sensitive": "age", "exposure": "years", "outcome": "claims"}
OF_COVERS["criterion"] = "independence"


@pytest.fixture(scope="module")
def covers() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 600
    cover = rng.choice(["own damage", "third party"], n, p=[0.3, 0.7])
    age = rng.integers(18, 80, n)
    premium = 300 + 200 * (cover == "own damage") * (age < 40)
    claims = rng.gamma(0.3, 900, n) * (rng.random(n) < 0.3)
    years = rng.uniform(0.2, 1, n).round(2)
    return pd.DataFrame(
        {"premium": premium + 0.0, "age": age, "years": years, "claims": claims, "cover": cover,
         "power": rng.normal(6, 2, n), "expected": rng.uniform(50, 100, n)}
    )  # fmt: skip


def asked(covers: pd.DataFrame, *questions: int, **more) -> AuditResult:
    return fd.audit(covers, **OF_COVERS, questions=questions or (1, 2, 5, 7), **more)


def test_large_losses_are_capped_and_a_note_states_the_effect(covers):
    capped, result = covers.assign(claims=covers["claims"].clip(upper=1_000)), asked(covers, 5, cap=1_000.0)
    pd.testing.assert_frame_equal(result.measures, asked(capped, 5).measures)
    above = int((covers["claims"] > 1_000).sum())
    taken = 1 - (covers["years"] @ capped["claims"]) / (covers["years"] @ covers["claims"])
    assert above > 5
    said = f"“claims” is capped at 1,000 in {above} rows. The cap removes {100 * taken:.1f} % of"
    assert said in result.notes[0]
    totals = asked(covers, 5, cap=1_000.0, totals=["claims"]).measures
    pd.testing.assert_frame_equal(totals, asked(capped, 5, totals=["claims"]).measures)
    fifth = bands_of(covers["power"].to_numpy(), covers["years"].to_numpy(), 5)
    own = asked(covers, controls=["power"]).tables["one_way"].query("column == 'power'")
    sums = covers[["premium", "claims"]].mul(covers["years"], axis=0).groupby(fifth).sum()
    np.testing.assert_allclose(own["loss_ratio"], sums["claims"] / sums["premium"], rtol=1e-10)


def test_every_sentence_states_amounts_with_currency_and_period(covers, tmp_path):
    plain, named = asked(covers), asked(covers, currency="€", period="year")
    for one, other in zip(plain.answers, named.answers, strict=True):
        assert other.text.replace(" €", "") == re.sub("per unit( of exposure)?", "per year", one.text)
    said = " ".join(each.text for each in named.answers)
    assert said.count("€") >= 8
    assert "€ per year" in said
    read = AuditResult.load(named.save(tmp_path / "it.zip"))
    assert (read.plan.currency, read.plan.period) == ("€", "year")


def test_invalid_caps_and_coverages_are_refused(covers):
    for option, value in (("cap", 0.0), ("coverage", "premium"), ("coverage", "nowhere")):
        with pytest.raises(OptionError, match=option):
            asked(covers, **{option: value})
