"""Tests of ``fairdash.audit``: questions, options, verdicts, fixed points, two prices, and refusals."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import fairdash as fd
from fairdash.__main__ import main
from fairdash.auditing.audit import QUESTIONS_OF_BOTH_PRICES
from fairdash.auditing.gaps import holm
from fairdash.auditing.plan import CRITERIA, QUESTIONS, AuditPlan, plan_of
from fairdash.errors import DataError, OptionError
from fairdash.utils.records import from_plain, to_plain
from fairdash.views.figures.audit import FIGURES
from tests.tiers import few

ROLES = {"price": "premium", "sensitive": "age", "exposure": "years", "outcome": "claims"}


def policies(n: int = 800, *, slope: float = 0.1, seed: int = 0, noise: float = 0.1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z, zone = rng.normal(size=n), rng.choice(["city", "land"], n)
    price = 300 * (1 + slope * z + 0.2 * (zone == "city")) * np.exp(noise * rng.normal(size=n) - noise**2 / 2)
    frame = pd.DataFrame({"premium": price, "age": 45 + 12 * z, "zone": zone})
    frame["years"] = rng.integers(1, 4, n).astype(float)
    return frame.assign(claims=price * rng.gamma(2, 0.5, n), new=price * (1 - 0.05 * z))


def test_the_verdict_is_below_threshold_for_independence_and_undecided_for_few_noisy_rows():
    asked = {"price": "premium", "sensitive": "age", "questions": [1]}
    assert fd.audit(policies(3000, slope=0, noise=0.02), **asked, max_gap=0.1).verdict == "below"
    noisy = fd.audit(policies(200, slope=0, noise=0.6), **asked)
    assert noisy.verdict == "undecided"
    assert noisy.details["independence"]["smallest"] > 0.05
    assert "do not show whether" in noisy.answers[0].sentence


def test_an_audit_answers_the_questions_asked_and_names_missing_roles():
    result = fd.audit(policies(400), price="premium", sensitive="age", questions=[2, 4, 5])
    said = {each.question: each.text for each in result.answers}
    assert set(said) == {1, 2, 4, 5}
    assert ("controls" in said[4], "outcome" in said[5]) == (True, True)
    columns = "question criterion value ci_low ci_high p_value p_any_link verdict"
    assert list(result.verdicts) == columns.split()
    assert result.verdicts["verdict"][1:].eq("none").all()


@pytest.mark.parametrize("criterion", few(["conditional_independence", "sufficiency"], "sufficiency"))
def test_the_primary_criterion_can_be_chosen(criterion):
    result = fd.audit(policies(), **ROLES, controls=["zone"], criterion=criterion, questions=[1])
    first = result.verdicts.iloc[0]
    assert (first["criterion"], first["verdict"]) == (criterion, result.verdict)
    assert result.verdict != "none"


def test_columns_named_as_totals_are_divided_by_the_exposure():
    frame = policies(400).assign(years=2.0)  # so that the quotient has the same last bit
    rates = fd.audit(frame, **ROLES, questions=[1, 3, 5, 7])
    sums = frame.assign(claims=2 * frame["claims"])
    totals = fd.audit(sums, **ROLES, totals=["claims"], questions=[1, 3, 5, 7])
    assert_allclose(totals.measures["value"], rates.measures["value"], rtol=1e-6)


def test_notes_report_columns_that_are_probably_totals_and_the_number_of_negative_losses():
    frame = policies(400)
    recovered = np.where(np.arange(400) % 4, 0.0, 900.0)
    recovered[:3] = -50.5
    for claims, below in ((np.arange(400) % 2, []), (recovered, ["“claims” is below zero in 3 rows"])):
        notes = " ".join(fd.audit(frame.assign(claims=claims), **ROLES, questions=[1]).notes)
        assert all(part in notes for part in ["among the totals", *below])


def test_with_too_few_rows_an_audit_compares_fixed_percentiles_and_a_note_says_so():
    frame = policies(100).assign(age=np.arange(100) % 3.0)
    result = fd.audit(frame, price="premium", sensitive="age", outcome="claims", questions=[1, 2, 3])
    assert "gap" not in set(result.measures["measure"])
    assert "10th and 90th percentile" in result.answers[2].sentence
    assert any("too few rows" in note for note in result.notes)


def test_a_constant_price_has_the_verdict_below_the_threshold():
    constant = fd.audit(pd.DataFrame({"price": 7.0, "s": np.arange(500.0)}), price="price", sensitive="s")
    assert constant.verdict == "below"
    json.dumps(constant.to_dict(), allow_nan=False)
    for least, unit in ((1e12, 1e3), (0, 1e-12)):
        s = least + unit * np.random.default_rng(0).normal(size=400)
        found = fd.audit(
            policies(400).assign(age=s), **ROLES, controls=["zone"], questions=[1, 4, 5]
        ).verdicts
        assert found["p_value"].between(0, 1, inclusive="right").all()


@pytest.mark.parametrize(("change", "roles", "words"), [
    ({}, {"price": "premum"}, "premium"), ({}, {"controls": ["age"]}, "already"),
    ({}, {"criterion": "fairness"}, "independence"),
    ({}, {"criterion": "conditional_independence"}, "controls"),
    ({}, {"max_gap": 5}, "0.05 for 5 %"), ({}, {"questions": [12]}, "no such question"),
    ({}, {"totals": ["zone"]}, "can't be divided"), ({"premium": "dear"}, {}, "column does not hold numbers only"),
    ({"years": -1.0}, {}, "below zero"), ({"premium": 1e90}, {}, "too large to compute with"),
    ({"claims": [7e3] + [0.0] * 199}, {}, "nonzero in only 1 row"), ({"premium": -3.0}, {}, "above zero"),
    ({"age": 30.0}, {}, "same value"),
    ({"age": np.nan}, {}, "100 complete rows, and there are 0. fairdash leaves out 200 rows in which “age”"),
    ({"power": np.inf}, {"controls": ["power"]}, "Column “power”: numbers that are infinite"),
])  # fmt: skip
def test_tables_and_roles_that_cannot_be_audited_are_refused_with_a_remedy(change, roles, words):
    with pytest.raises((DataError, OptionError), match=words):
        fd.audit(policies(200).assign(**change), **(ROLES | roles))


def test_rows_with_missing_cells_are_left_out_and_counted():
    frame = policies(400)
    frame.loc[:9, "age"] = np.nan
    frame.loc[20, ["years", "claims"]] = 0, 125.5
    result = fd.audit(frame, **ROLES, questions=[1])
    assert result.n == 389
    assert result.notes[:2] == (
        "fairdash leaves out 10 rows in which “age” is missing.",
        "fairdash leaves out 1 row with no exposure. “claims” adds up to 125.5 in these rows.",
    )


def test_no_source_file_implements_more_than_two_audit_questions():
    assert list(QUESTIONS) == list(range(1, len(QUESTIONS) + 1))
    files = [each.implementation.partition(":")[0] for each in QUESTIONS.values()]
    assert max(files.count(name) for name in files) <= 2
    for name, each in zip(files, QUESTIONS.values(), strict=True):
        assert each.answer.__module__ == f"fairdash.auditing.questions.{name}"
        assert each.answer.__doc__
    assert {each.question for each in CRITERIA.values()} <= set(QUESTIONS)
    assert {10} == QUESTIONS_OF_BOTH_PRICES


def test_every_figure_of_an_audit_plots_a_table_of_the_audit_or_of_its_comparison():
    tables = {name for each in QUESTIONS.values() for name in each.tables}
    measures = {f"measures_{number}" for number in QUESTIONS}
    assert set(FIGURES) <= tables | measures | {"moved_curve"}


@pytest.mark.parametrize(
    ("option", "value"),
    [("max_gap", 1.0), ("max_gap", 0.0), ("reliability", (0.5, 1.5)), ("cap", 0.0), ("random_state", -1)],
)
def test_python_json_and_command_line_refuse_an_out_of_range_option_in_the_same_words(option, value, capsys):
    with pytest.raises(OptionError) as of_plan:
        plan_of("price", "age", **{option: value})
    plain = to_plain(plan_of("price", "age")) | {option: list(value) if option == "reliability" else value}
    with pytest.raises(OptionError) as of_json:
        from_plain(AuditPlan, plain)
    values = value if isinstance(value, tuple) else (value,)
    words = [part for each in values for part in (f"--{option.replace('_', '-')}", str(each))]
    assert main(["audit", "absent.csv", "--price", "price", "--sensitive", "age", *words]) == 2
    assert str(of_plan.value) == str(of_json.value) == capsys.readouterr().err.strip()
    assert f"Option “{option}”: the number is out of range. Give a number " in str(of_plan.value)


def test_option_ranges_include_or_exclude_their_limits_as_documented():
    assert plan_of("price", "age", reliability=1.0, random_state=0).reliability == (1.0,)
    with pytest.raises(OptionError, match="above 0 and below 1, such as 0"):
        plan_of("price", "age", max_gap=1)


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(0)
    frame = policies(600).assign(income=rng.normal(size=600), place=rng.normal(size=600))
    frame["premium"] *= 1 + 0.1 * frame["place"]
    return fd.audit(frame, **(ROLES | {"sensitive": ["age", "income", "place"]}), questions=[1, 5])


def test_several_attributes_are_each_audited_with_holm_correction_over_all_of_them(several):
    attributes = ["age", "income", "place"]
    names = [" × ".join(each) for k in (1, 2, 3) for each in combinations(attributes, k)]
    assert [each.plan.columns.sensitive for each in several.along] == names
    primary = several.tables["by_sensitive"].query("criterion == 'independence'").set_index("sensitive")
    assert primary["verdict"]["place"] == several.verdict == "above"
    above = holm([each.details["independence"]["p_above"] for each in several.along])
    for each, p_value in zip(several.along, above, strict=True):
        assert (each.verdict == "above") == (p_value <= 0.05)
    assert "“income”" in several.others[0].answers[0].sentence
