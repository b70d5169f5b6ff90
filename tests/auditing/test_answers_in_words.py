"""Answers of an audit: spelling of numbers, the note on units, and the rows that an answer leaves out."""

from __future__ import annotations

import io
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fairdash as fd
from fairdash.__main__ import main
from fairdash.auditing import audit
from fairdash.auditing.filing.document import render_filing
from fairdash.auditing.gaps import Estimate
from fairdash.auditing.questions import attribution
from fairdash.errors import DataError
from tests.auditing.test_audit import policies

ROLES = {"price": "price", "sensitive": "age", "outcome": "claims", "exposure": "time", "totals": ["claims"]}


def motor(n: int = 500, *, days: bool = False) -> pd.DataFrame:
    """Annual prices that rise with age in whole years, and claims over the exposure, in years or in days."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 81, n)
    years = rng.uniform(0.2, 1, n)
    price = 300 * (1 + 0.004 * age) * np.exp(0.1 * rng.normal(size=n))
    table = pd.DataFrame({"price": price, "age": age, "time": 365 * years if days else years})
    return table.assign(claims=0.7 * price * years * rng.gamma(2, 0.5, n))


def said(result: fd.AuditResult) -> str:
    return " ".join(each.text for each in result.answers)


@pytest.mark.parametrize(("price", "exposure", "cost", "words"), [
    (1, 365, 1, "is 0.2 % of “price”. Days and years differ by a factor of 365."), (1, 1, 0.1, ""), (1, 1, 8, ""),
    (1 / 365, 1, 1, "Days and years differ by"), (1, 12, 0.5, "Months and years differ by a factor of 12."),
    (1000, 1, 1, "Units and thousands of money differ by"), (1, 1, 1e-9, "e-08 % of “price”. State both"),
])  # fmt: skip
def test_different_units_of_price_and_cost_are_noted_before_the_verdict(price, exposure, cost, words):
    table = motor() * {"price": price, "age": 1, "time": exposure, "claims": cost}
    result = fd.audit(table, **ROLES, questions=[1])
    assert (bool(result.units_remark), words in result.units_remark) == (bool(words), True)
    assert result.notes[:1] == ((result.units_remark,) if words else ())


def test_claim_counts_given_with_a_premium_are_reported_as_counts():
    table = motor()
    table["claims"] = (table["claims"] > 0) * 1
    remark = fd.audit(table, **ROLES, questions=[1]).units_remark
    assert "“claims” seems to count claims, and “price” to be an amount of money." in remark
    assert "same unit of money" not in remark


def test_the_note_on_units_precedes_the_verdict_in_command_output_report_and_filing(tmp_path, capsys):
    motor(days=True).to_csv(tmp_path / "t.csv", index=False)
    roles = "--price price --sensitive age --outcome claims --exposure time --total claims --question 1"
    path = tmp_path / "e.zip"
    assert main(["audit", str(tmp_path / "t.csv"), *roles.split(), "--out", str(path)]) == 1
    with zipfile.ZipFile(path) as archive:
        report = archive.read("report.html").decode().partition("<h1")[2]
    for text, verdict in (
        (capsys.readouterr().out, "1. Does the price follow the attribute?"),
        (render_filing(fd.AuditResult.load(path), "general", {}).decode(), "The data show that"),
        (report, "The data show that"),
    ):
        assert -1 < text.index("The units seem to differ") < text.index(verdict)
        assert text.count("The units seem to differ") <= 2


@pytest.mark.parametrize("name", ["price", "second"])
def test_a_mean_close_to_zero_relative_to_the_values_is_refused_and_tiny_prices_are_accepted(name):
    table = motor().assign(second=1.0)
    table["second"] += table["price"]
    table[name] -= table[name].mean() - 1e-9
    with pytest.raises(
        DataError, match=f"“{name}”: the column's mean is almost zero compared with its values"
    ):
        fd.audit(table, price="price", sensitive="age", candidate="second", questions=[1])
    tiny = motor().assign(price=lambda each: each["price"] * 1e-9)
    one, other = (fd.audit(each, price="price", sensitive="age", questions=[1]) for each in (tiny, motor()))
    assert one.verdicts["value"].iloc[0] == pytest.approx(other.verdicts["value"].iloc[0], rel=1e-6)


def test_proxy_discrimination_is_not_measured_for_a_price_that_no_column_explains(monkeypatch):
    monkeypatch.setattr(attribution, "fit_in_words", lambda _: "a fit")
    costs = SimpleNamespace(is_learned=True)
    fits = pd.DataFrame({"value": [-0.05, 0.6], "ci_low": [-0.1, 0.5]})
    found = attribution._discrimination_in_words(None, costs, fits.head(1))
    assert found == "Proxy discrimination can't be measured. No column explains the price."
    near = attribution._discrimination_in_words(Estimate.of(0.45, 0.01), costs, fits)
    assert "45.0 % (43.0 % to 47.0 %) of the price's variance, of which the columns leave 40.0 % unex" in near


def tariff(n: int = 700, seed: int = 0) -> pd.DataFrame:
    """Policies, many of which have the same price, age and exposure."""
    rng = np.random.default_rng(seed)
    frame = policies(n, seed=seed) if seed else policies(n)
    frame["premium"] = frame["premium"].round(-1)
    frame["age"], frame["bonus"] = frame["age"].round(-1), rng.integers(0, 5, n)
    return frame.assign(mu=frame["premium"] / 2, new=frame["premium"].round(-2) + 50)


def test_an_answer_states_the_number_of_excluded_rows_and_that_an_empty_cell_may_mean_no_claim():
    frame = tariff()
    frame["claims"] = frame["claims"].where(frame["claims"] > frame["claims"].quantile(0.2))
    result = fd.audit(frame, price="premium", sensitive="age", outcome="claims", questions=[1, 3, 5])
    said = "Figures that use “claims” leave out 140 rows in which it is missing. An empty cell may mean no claim. Then write 0"
    assert [said in each.text for each in result.answers] == [False, True, True]
    assert result.n == len(frame)
    # Missing cells in other columns don't change the results on the price alone either.
    roles = {"price": "premium", "sensitive": "age", "exposure": "years", "outcome": "claims"}
    roles |= {"expected_cost": "mu", "controls": ["zone", "bonus"], "features": ["zone", "bonus"]}
    blank = frame.index % 3 == 0
    gaps = frame.assign(zone=frame["zone"].mask(blank), mu=frame["mu"].mask(blank))
    whole, other = (fd.audit(each, **roles, questions=[1, 2]) for each in (tariff(), gaps))
    for one, same in ((whole.curve, other.curve), (whole.measures, other.measures)):
        pd.testing.assert_frame_equal(one, same, check_exact=True)
    assert other.n == len(frame)


def test_a_question_with_too_few_rows_is_left_unanswered_and_the_others_are_answered():
    frame = tariff().assign(claims=lambda each: each["claims"].where(each.index < 60))
    roles = {"price": "premium", "sensitive": "age", "outcome": "claims"}
    result = fd.audit(frame, **roles, questions=[1, 3, 5])
    assert result.verdict != "none"
    for part in ("Not answered: An audit needs 100 rows in which “claims” is known", "leave out 640 rows"):
        assert part in result.answers[2].text
    assert result.verdicts.set_index("criterion").loc["sufficiency", "verdict"] == "undecided"
    with pytest.raises(DataError, match="“claims” is known, and there are 60"):
        fd.audit(frame, **roles, criterion="sufficiency", questions=[1])


def test_class_names_stay_correct_if_another_column_is_missing_in_a_whole_class():
    frame = tariff()
    frame["region"] = np.random.default_rng(2).choice(list("abcd"), len(frame))
    frame["claims"] = frame["claims"].mask(frame["region"] == "b")
    result = fd.audit(frame, price="premium", sensitive="region", outcome="claims", questions=[1, 5])
    assert result.tables["classes"]["class"].tolist() == list("abcd")
    assert result.tables["residual_curve"]["class"].tolist() == list("acd")


def test_large_tables_are_audited_on_a_sample_of_whole_policies_and_a_note_states_it(monkeypatch):
    table = policies(3_000, slope=0.2).assign(policy=np.arange(3_000) // 2)
    options = {"price": "premium", "sensitive": "age", "questions": [1], "features": []}
    whole = fd.audit(table, **options)
    assert not [note for note in whole.notes if "drawn at random" in note]
    monkeypatch.setattr(audit, "MAX_ROWS", 1_000)
    some = fd.audit(table, **options, groups="policy")
    assert "1,000 of 3,000 rows are audited, drawn at random." in some.notes
    assert some.verdict == whole.verdict == "above"
    assert some.to_dict() == fd.audit(table, **options, groups="policy").to_dict()


def test_the_requested_columns_are_read_from_a_parquet_file_with_duplicate_column_names() -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array([k] * 2) for k in range(4)], names=list("xaya")), buffer)
    frame, _ = fd.read_table(buffer.getvalue(), number_names=True, columns=["a", "y"])
    assert frame.iloc[0].to_dict() == {"a": 1, "y": 2, "a (2)": 3}
