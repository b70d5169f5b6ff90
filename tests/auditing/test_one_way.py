"""Actual against expected by any factor and coverage, losses capped, amounts with their unit: as pandas has it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.auditing.evidence import AuditResult
from fairdash.errors import OptionError
from fairdash.evaluation.insurance import bands_of

ROLES = {"price": "premium", "sensitive": "age", "exposure": "years", "outcome": "claims"}
ROLES["criterion"] = "independence"


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
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


def asked(frame: pd.DataFrame, **more) -> AuditResult:
    return fd.audit(frame, **ROLES, questions=(1, 2, 5, 7), **more)


@pytest.mark.parametrize("expected", [None, "expected"])
def test_one_ways_are_those_of_pandas(frame, expected):
    found = asked(frame, expected_cost=expected, controls=["power"], coverage="cover").tables
    sums = frame[["premium", "claims", "expected"]].mul(frame["years"], axis=0).assign(years=frame["years"])
    loss_ratio = sums["claims"].sum() / sums["premium"].sum()
    # Fifths of the exposure for a number, levels for a text.
    fifth = bands_of(frame["power"].to_numpy(), frame["years"].to_numpy(), 5)
    assert len(set(fifth)) == 5
    for name, by in (("cover", frame["cover"]), ("power", fifth)):
        own = found["one_way"].query("column == @name")
        own = own.sort_values("level") if name == "cover" else own
        total = sums.groupby(by).sum()
        cost = total["premium"] * loss_ratio if expected is None else total["expected"]
        by_hand = {
            "exposure": total["years"], "price": total["premium"] / total["years"],
            "outcome": total["claims"] / total["years"], "loss_ratio": total["claims"] / total["premium"],
            "ratio": total["claims"] / cost,
        }  # fmt: skip
        np.testing.assert_allclose(own[list(by_hand)], pd.DataFrame(by_hand), rtol=1e-10)
        assert (own["ci_low"] < own["ratio"]).all()
    covers = found["by_coverage"].set_index("level")
    assert covers["rows"].to_dict() == frame["cover"].value_counts().to_dict()
    # The gap stands in one of the coverages alone.
    assert covers.loc["third party", "gap"] == pytest.approx(0, abs=1e-6)
    assert covers.loc["own damage", "gap"] > 0.3


def test_large_losses_are_capped_and_that_is_said(frame):
    cap = 1_000.0
    result = asked(frame, cap=cap)
    capped = frame.assign(claims=frame["claims"].clip(upper=cap))
    plain = asked(capped)
    pd.testing.assert_frame_equal(result.measures, plain.measures)
    above = int((frame["claims"] > cap).sum())
    taken = 1 - (frame["years"] @ capped["claims"]) / (frame["years"] @ frame["claims"])
    assert above > 5
    said = f"“claims” is capped at 1,000 in {above} rows. The cap removes {100 * taken:.1f} % of"
    assert said in result.notes[0]
    totals = asked(frame, cap=cap, totals=["claims"]).measures
    pd.testing.assert_frame_equal(totals, asked(capped, totals=["claims"]).measures)


def test_amounts_have_their_currency_and_unit_in_every_sentence(frame, tmp_path):
    plain, named = asked(frame), asked(frame, currency="€", period="year")
    for one, other in zip(plain.answers, named.answers, strict=True):
        assert other.text.replace(" €", "") == re.sub("per unit( of exposure)?", "per year", one.text)
    said = " ".join(each.text for each in named.answers)
    assert said.count("€") >= 8
    assert "€ per year" in said
    read = AuditResult.load(named.save(tmp_path / "it.zip"))
    assert (read.plan.currency, read.plan.period) == ("€", "year")


def test_what_can_t_be_a_cap_or_a_coverage_is_refused(frame):
    for option, value in (("cap", 0.0), ("coverage", "premium"), ("coverage", "nowhere")):
        with pytest.raises(OptionError, match=option):
            asked(frame, **{option: value})
