"""The repaired price of an audited table, on rows left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairdash.auditing.models.repaired import reach_in_words, repaired
from fairdash.auditing.plan import columns_of
from fairdash.auditing.table import AuditTable


def policies(*, follows):
    rng = np.random.default_rng(0)
    age, hidden, chance = rng.normal(size=(3, 1_200))
    price = 100 + 10 * hidden + follows * age
    claims = price * rng.gamma(2, 0.5, size=len(age))
    return pd.DataFrame({"price": price, "age": age, "near": age + 0.5 * chance, "claims": claims})


@pytest.mark.parametrize("follows", [8.0, 0.0])
def test_strengths_take_dependence_down_and_move_nothing_that_does_not_follow(follows):
    frame = policies(follows=follows)
    table = AuditTable.of(frame, columns_of("price", "age", outcome="claims"))
    figures, prices = repaired(table)
    by_knowledge = figures.set_index(["s at pricing", "strength"])
    known, other = by_knowledge.loc["known"], by_knowledge.loc["not known"]
    assert known.loc[0.0, "mean change"] == 0
    assert prices["s known, strength 0.5"].mean() == pytest.approx(frame["price"].mean(), rel=0.01)
    if follows:
        assert known.loc[0.0, "dependence"] > 0.5
        assert known.loc[1.0, "dependence"] < known.loc[1.0, "floor"] + 0.05
        # What is near age tells most of it, and not all.
        assert known.loc[1.0, "dependence"] < other.loc[1.0, "dependence"] < 0.5
        assert known.loc[1.0, "mean change"] == pytest.approx(0.08 * np.sqrt(2 / np.pi), rel=0.15)
        assert known.loc[1.0, "error"] > known.loc[0.0, "error"]
    else:
        assert figures["mean change"].max() < 0.02
        assert figures["moved by a tenth"].max() < 0.05


def test_what_is_reached_without_the_attribute_is_said():
    rows = [("known", 0.0, 0.455), ("known", 1.0, 0.03), ("not known", 0.0, 0.455), ("not known", 1.0, 0.441)]
    figures = pd.DataFrame(rows, columns=["s at pricing", "strength", "dependence"])
    said = reach_in_words(figures)
    assert "changes from 0.46 to 0.03 if the attribute is known at pricing, and to 0.44 if it is not" in said
    assert said.endswith("reaches 3 % of this reduction.")
    assert "reaches" not in reach_in_words(figures.assign(dependence=0.01))


def test_a_table_of_a_price_and_classes_alone_is_repaired():
    frame = policies(follows=0.0)[["price"]]
    frame["sex"] = np.random.default_rng(1).choice(["F", "M"], len(frame))
    frame["price"] += 20 * (frame["sex"] == "M")
    _, prices = repaired(AuditTable.of(frame, columns_of("price", "sex")))
    means = prices.groupby("sex")["s known, strength 1"].mean()
    assert means["F"] == pytest.approx(means["M"], abs=0.5)
