"""Answers of an audit: one spelling for each number, whole ages, and a remark where units differ."""

from __future__ import annotations

import re
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.__main__ import main
from fairdash.auditing.filing.document import render_filing
from fairdash.auditing.gaps import Estimate
from fairdash.auditing.questions import attribution
from fairdash.errors import DataError
from tests.auditing.test_audit import policies


def motor(n: int = 500, *, days: bool = False) -> pd.DataFrame:
    """Prices a year that rise with age in whole years, and claims of the exposure, in years or in days."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 81, n)
    years = rng.uniform(0.2, 1, n)
    price = 300 * (1 + 0.004 * age) * np.exp(0.1 * rng.normal(size=n))
    table = pd.DataFrame({"price": price, "age": age, "time": 365 * years if days else years})
    return table.assign(claims=0.7 * price * years * rng.gamma(2, 0.5, n))


def said(result: fd.AuditResult) -> str:
    return " ".join(each.text for each in result.answers)


def test_whole_numbers_stay_whole_and_others_keep_their_digits():
    asked = {"price": "price", "sensitive": "age", "outcome": "claims", "questions": [2, 3, 7]}
    text = said(fd.audit(motor(), **asked))
    assert re.search(r"From “age” \d\d( or \d\d)? to \d\d( or \d\d)? \(", text)
    assert not re.search(r"“age” (from )?\d+\.\d", text)
    text = said(fd.audit(motor().assign(age=lambda each: 1000.5 * each["age"]), **asked))
    assert ("e+0" in text, "From “age” " in text) == (False, True)
    assert re.search(r"From “age” \d\d,\d\d\d", text)


@pytest.mark.parametrize(
    ("more", "words", "others"),
    [({}, ["per row"], ["per unit", "exposure"]),
     ({"exposure": "time", "totals": ["claims"]}, ["per unit of exposure", "% of the exposure"], ["per row"])],
)  # fmt: skip
def test_without_an_exposure_amounts_are_per_row(more, words, others):
    table = motor().assign(second=lambda each: each["price"] * np.linspace(0.9, 1.1, len(each)))
    roles = {"price": "price", "sensitive": "age", "outcome": "claims", "candidate": "second"}
    text = said(fd.audit(table, **roles, questions=[5, 7, 10], **more))
    assert [word for word in (*words, *others) if word in text] == words


def test_the_rows_needed_are_one_number_in_texts_and_tables():
    result = fd.audit(policies(300, slope=0, noise=0.6), price="premium", sensitive="age", questions=[1, 9])
    (needed,) = result.tables["power"]["rows_needed"]
    assert needed == result.details["independence"]["rows_needed"]
    assert f"takes about {needed:,} rows" in result.answers[0].sentence
    assert f"about {needed:,} rows would be needed" in result.answers[1].sentence


@pytest.mark.parametrize(
    ("price", "exposure", "cost", "words"),
    [
        (1, 365, 1, "is 0.2 % of “price”. Days and years differ by a factor of 365."), (1, 1, 0.1, ""), (1, 1, 8, ""),
        (1 / 365, 1, 1, "Days and years differ by"), (1, 12, 0.5, "Months and years differ by a factor of 12."),
        (1000, 1, 1, "Single amounts and thousands differ by"), (1, 1, 1e-9, "e-08 % of “price”. Give both"),
    ],
)  # fmt: skip
def test_units_that_seem_to_differ_are_remarked_before_the_verdict(price, exposure, cost, words):
    table = motor() * {"price": price, "age": 1, "time": exposure, "claims": cost}
    roles = {"price": "price", "sensitive": "age", "outcome": "claims", "totals": ["claims"]}
    result = fd.audit(table, **roles, exposure="time", questions=[1])
    assert (bool(result.units_remark), words in result.units_remark) == (bool(words), True)
    assert result.notes[:1] == ((result.units_remark,) if words else ())


def test_claim_counts_beside_a_premium_are_named_as_counts():
    table = motor()
    table["claims"] = (table["claims"] > 0) * 1
    roles = {"price": "price", "sensitive": "age", "outcome": "claims", "totals": ["claims"]}
    remark = fd.audit(table, **roles, exposure="time", questions=[1]).units_remark
    assert "“claims” seems to count claims, and “price” to be an amount of money." in remark
    assert "same unit of money" not in remark


def test_command_report_and_filing_have_the_remark_before_the_verdict(tmp_path, capsys):
    motor(days=True).to_csv(tmp_path / "t.csv", index=False)
    roles = "--price price --sensitive age --outcome claims --exposure time --total claims --question 1"
    path = tmp_path / "e.zip"
    assert main(["audit", str(tmp_path / "t.csv"), *roles.split(), "--out", str(path)]) == 1
    with zipfile.ZipFile(path) as archive:
        report = archive.read("report.html").decode().partition("<h1")[2]
    for text, verdict in (
        (capsys.readouterr().out, "1. Does the price follow it?"),
        (render_filing(fd.AuditResult.load(path), "general", {}).decode(), "The data show that"),
        (report, "The data show that"),
    ):
        assert -1 < text.index("The units seem to differ") < text.index(verdict)
        assert text.count("The units seem to differ") <= 2


@pytest.mark.parametrize("name", ["price", "second"])
def test_a_mean_price_of_almost_nothing_is_refused(name):
    table = motor().assign(second=1.0)
    table["second"] += table["price"]
    table[name] -= table[name].mean() - 1e-9
    with pytest.raises(DataError, match=f"“{name}”: its mean is almost zero beside its values"):
        fd.audit(table, price="price", sensitive="age", candidate="second", questions=[1])


def test_small_units_of_money_are_no_small_mean():
    tiny = motor().assign(price=lambda each: each["price"] * 1e-9)
    one, other = (fd.audit(each, price="price", sensitive="age", questions=[1]) for each in (tiny, motor()))
    assert one.verdicts["value"].iloc[0] == pytest.approx(other.verdicts["value"].iloc[0], rel=1e-6)


def test_a_price_of_noise_has_no_distance_from_prices_without_proxies(monkeypatch):
    monkeypatch.setattr(attribution, "fit_of", lambda _: "a fit")
    costs = SimpleNamespace(is_learned=True)
    fits = pd.DataFrame({"value": [-0.05, 0.6], "ci_low": [-0.1, 0.5]})
    found = attribution._discrimination_in_words(None, costs, fits.head(1))
    assert found == "Proxy discrimination can't be measured. No column explains the price."
    near = attribution._discrimination_in_words(Estimate.of(0.45, 0.01), costs, fits)
    assert "45.0 % (43.0 % to 47.0 %) of the price's variance, of which the columns leave 40.0 % unex" in near
