"""The data page for users with a table of their own or of an insurer."""

from __future__ import annotations

import gzip
import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from fairdash.data import Roles, build_dataset, uploads
from fairdash.data.source import load_source
from fairdash.dependence import measure
from fairdash.lab.studies import PROXIES, Study
from fairdash.runs import worker
from fairdash.runs.studies import create_study
from fairdash.training.sweep import default_plan
from fairdash.ui import cached
from fairdash.ui.cached import link_of
from fairdash.utils.text import amount
from tests.data.test_codes import ROLES, claims
from tests.data.workbooks import formula, workbook
from tests.tiers import few
from tests.ui.conftest import box, calm, charts, click, named, open_page, words


def policies(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, n), "power": rng.normal(5, 1, n).round(3)})
    return frame.assign(cost=lambda t: (t["power"] * 10 + 0.1 * t["age"]).round(2))


def csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def choose_upload(at, content: bytes, name: str = "policies.csv"):
    at = at.segmented_control(key="data.choice table").set_value("upload").run()
    return at.file_uploader[0].set_value((name, content, "application/octet-stream")).run()


def upload(content: bytes, name: str = "policies.csv"):
    return choose_upload(open_page("data"), content, name)


def said(at) -> str:
    """Text of the page without Markdown escapes."""
    return words(at).replace("\\", "")


def role_of(at) -> pd.Series:
    """Roles by column, from the table of columns."""
    return at.dataframe[1].value.set_index("column")["role"]


def ranked(at, sensitive: str) -> str:
    """Text on the proxies, after their computation in the background has finished."""
    study = Study(PROXIES, source=load_source(at.query_params["dataset"]).to_json(), sensitive=sensitive)
    assert worker.main(create_study(study).id) == 0
    at.run()
    return next(each.value for each in at.markdown if re.search("most of all|detectable", each.value))


def said_in_errors(at) -> str:
    return "\n".join(each.value for each in at.error).replace("\\", "")


def roles_set(at, *, target: str = "cost", sensitive: str = "age"):
    at = box(at, "Target").set_value(target).run()
    return box(at, "Sensitive").set_value(sensitive).run()


def changed(n: int = 120, **columns) -> bytes:
    return csv(policies(n).assign(**columns))


SOUND = csv(policies())
HEADER, *BODY = SOUND.decode().splitlines()


def lines(*rows: str) -> bytes:
    return "\n".join(rows).encode()


#: A file, and the message of the page.
REFUSED = [
    (lines(HEADER, *(f"{row},1" for row in BODY)), "120 with 4"), (lines(HEADER, *BODY, "1,2"), "line 122"),
    (lines(HEADER, BODY[0], '1,"2,3', *BODY), "line 3"), (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
    (SOUND + b"\0", "binary data"), (pickle.dumps(BODY), "a Python pickle, not"),
    (lines(HEADER), "no data rows"), (lines(HEADER, *BODY, "40,1e400,3"), "infinite, or too large"),
    (csv(policies(30)), "need at least 50"), (policies().to_parquet()[:-100], "incomplete"),
    (workbook({"Tab": [["a", "b"], [1, formula("A2*2")]]}), "save it again"),
]  # fmt: skip


@pytest.mark.bad_input(6, 7, 8, 9, 11, 12, 15, 22, 23, 55)
def test_an_unreadable_file_is_refused_with_the_reason() -> None:
    at = open_page("data")
    for content, told in REFUSED:
        at = choose_upload(at, content)
        assert told in said_in_errors(at)


def tails() -> bytes:
    rng = np.random.default_rng(0)
    return changed(400, cost=np.where(rng.random(400) < 0.88, 0, rng.pareto(1.2, 400).round(4) + 1))


READ = [
    (policies().to_parquet(), "Read as a Parquet file: 120 rows, 3 columns"),
    (b"\xef\xbb\xbf" + SOUND, "sensitive: age"),
    (SOUND.replace(b"power", b"", 1), "column 2 is “column 2”"),
    (changed(code=["007"] * 120), "“code” stays text, as an identifier"),
    (changed(value=["1’234"] * 120), "have a thousands separator"),
    (changed(cost=policies()["cost"] * 1e60), "single precision"),
    (tails(), "“cost” is zero in 8", "heavy tail", "quantile groups"),
]


@pytest.mark.bad_input(3, 14, 18, 19, 31, 32, 33)
def test_automatic_conversions_and_unusual_values_in_a_file_are_reported() -> None:
    at = open_page("data")
    for content, *told in READ:
        at = choose_upload(at, content)
        assert not at.error
        shown = said(at) + "".join(each.value for each in at.warning).replace("\\", "")
        assert [each for each in told if each not in shown] == []


@pytest.mark.bad_input(22)
def test_the_sheet_of_a_workbook_is_chosen() -> None:
    frame = policies()
    rows = [list(frame), *frame.to_numpy().tolist()]
    at = upload(workbook({"Notes": [["a"], [1]], "Policies": rows}), "policies.xlsx")
    assert "Sheet “Notes” is read; there is also “Policies”" in said(at)
    at = box(at, "Sheet").set_value("Policies").run()
    assert "sensitive: age · target: cost" in said(at)
    again = open_page("data", dataset=at.query_params["dataset"])
    assert not again.error
    assert box(again, "Sheet").value == "Policies"


@pytest.mark.bad_input(1, 2, 4, 5, 17)
def test_missing_value_marks_encoding_and_separator_of_a_text_file_can_be_changed() -> None:
    at = upload(changed(country=["NA", "FR"] * 60))
    assert "60 marked" in said(at)
    field = named(at.text_input, "Marks")
    assert "NA" in field.placeholder
    assert "No cell is missing" in said(field.set_value("none").run())
    assert "not UTF" in box(at, "Encoding").set_value("UTF-16").run().error[0].value
    assert "Read as Windows" in said(box(at, "Encoding").set_value("Windows-1252").run())
    assert "with semicolons" in said(box(at, "Between").set_value("semicolon").run())


# Choosing roles: a problem is shown with advice, and one click fixes it.


@pytest.mark.bad_input(24)
def test_a_constant_target_or_sensitive_column_is_blocked() -> None:
    at = open_page("data")
    for column in ("cost", "age"):
        at = roles_set(choose_upload(at, changed(**{column: 7391})))
        assert "dependence on it is undefined" in said_in_errors(at)
        assert "7391" not in said_in_errors(at)


def missing(column: str) -> bytes:
    frame = policies().astype({column: float})
    frame.loc[[3, 7], column] = np.nan
    return csv(frame)


#: A file, the sensitive attribute, the reported problem, the click that fixes it, and the text after the
#: click.
FIXED = {
    "missing cells": (missing("age"), "age", "2 places; lines 5, 9", "Drop these rows", "118 rows"),
    "texts": (changed(cost=[f"1 {100 + k}" for k in range(120)]), "age", "must contain numbers", "Convert to numbers",
              "“cost” is converted from text to numbers."),
    "dates": (changed(born=[f"{1 + k % 9}/{1 + k % 12}/{1950 + k % 40}" for k in range(120)]), "born",
              "day and month are ambiguous", "Use the age (month before day)",
              "“born” is read as dates, with the month first, and used as an age"),
    "a hidden copy": (changed(300, born=2020 - policies(300)["age"]), "age", "“age” can be recovered", "Leave it out",
                      "1 feature ·"),
    "no exposure": (changed(exposure=[0, -1, *[1.5] * 118]), "age", "above zero", "Drop these rows", "118 rows"),
    "names that repeat": (SOUND.replace(b"power", b"age", 1), "", "have the same name: columns 1, 2", "Number them",
                          "column 2 is “age (2)”"),
}  # fmt: skip


@pytest.mark.bad_input(13, 16, 19, 25, 28, 29, 30)
@pytest.mark.parametrize("fault", FIXED)
def test_a_data_problem_is_fixed_by_one_click_and_the_fix_can_be_undone(fault: str) -> None:
    content, sensitive, problem, label, words = FIXED[fault]
    at = upload(content)
    at = roles_set(at, sensitive=sensitive) if sensitive else at
    assert problem in said_in_errors(at)
    at = click(at, label)
    assert not at.error
    assert words in said(at)
    again = open_page("data", dataset=at.query_params["dataset"])
    assert not again.error
    assert words in said(again)
    undo = [each for each in again.button if each.label.startswith(f"{label}: ")]
    undo += [each for each in again.checkbox if each.label.startswith("Number repeated")]
    again = undo[0].click().run() if sensitive else undo[0].uncheck().run()
    assert problem in said_in_errors(again), "taken back"


@pytest.mark.bad_input(26, 27, 28)
def test_excluded_columns_can_be_included_by_one_click() -> None:
    columns = {"name": [f"person {k}" for k in range(120)], "nothing": np.nan}
    at = roles_set(upload(changed(start=pd.date_range("2001-01-01", periods=120), **columns)))
    at = named(at.multiselect, "Features").set_value(["power", "name", "start", "nothing"]).run()
    assert "every cell is missing (“nothing”)" in said(at)
    at = click(at, "Keep it")
    at = click(at, "Use the year")
    assert "“start” is used as the year." in said(at)
    assert "120 rows · 3 features" in said(at)


def test_the_train_page_offers_splits_by_the_chosen_group_and_time_columns() -> None:
    at = upload(changed(policy_no=np.arange(120) // 3, year=np.tile([2019, 2020, 2021], 40)))
    at = box(at, "Group").set_value("policy_no").run()
    at = box(at, "Time").set_value("year").run()
    assert (role_of(at)["policy_no"], role_of(at)["year"]) == ("group", "time")
    train = open_page("train", dataset=at.query_params["dataset"])
    kinds = box(train, "Choose test rows")
    assert (kinds.value, len(kinds.options)) == ("group", 3)
    train = kinds.set_value("time").run()
    assert "Models are trained on earlier rows" in said(train)
    assert any(each.label.startswith("Before-and-after splits") for each in train.slider)


def two_sensitive(n: int = 300) -> pd.DataFrame:
    """Older drivers have driven for longer, and richer drivers have more power."""
    rng = np.random.default_rng(3)
    frame = policies(n).assign(income=rng.normal(30, 5, n).round(2))
    frame["since"] = (frame["age"] - 18 + rng.normal(0, 3, n)).round(2)
    frame["power"] = (frame["income"] / 5 + rng.normal(0, 0.3, n)).round(3)
    return frame


def further(at, *columns: str):
    return named(at.multiselect, "Further sensitive attributes").set_value(list(columns)).run()


def test_each_of_several_sensitive_columns_can_be_viewed() -> None:
    at = further(upload(csv(two_sensitive())), "income")
    assert "2 features · sensitive: age, income · target: cost" in said(at)
    assert box(at, "Sensitive attribute").value == "age"
    assert role_of(at)[["age", "income", "power"]].tolist() == ["sensitive", "sensitive", "feature"]
    assert "most of all since" in ranked(at, "age")
    links = next(each.value for each in at.markdown if "HGR" in each.value)
    at = at.segmented_control[1].set_value("income").run()
    assert "Which features predict income?" in said(at)
    assert next(each.value for each in at.markdown if "HGR" in each.value) != links
    again = open_page("data", dataset=at.query_params["dataset"])
    assert "sensitive: age, income" in said(again)
    assert len(further(again).segmented_control) == 1, "one alone needs no choice"


def test_an_uploaded_file_is_parsed_only_once_while_roles_change(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, read = [], uploads.read_content
    monkeypatch.setattr(uploads, "read_content", lambda *given: parsed.append(given) or read(*given))
    more = {"exposure": np.arange(1, 301) / 300, "claims": np.arange(300) % 3}
    at = upload(csv(two_sensitive().assign(**more, born=["1975-01-02", "1980-05-17"] * 150)))
    at = box(at, "Target").set_value("claims").run()
    assert "claims ÷ exposure" in said(at)
    at = further(box(at, "Sensitive attribute").set_value("power").run(), "age")
    at = box(at, "Exposure").set_value("None: all rows have equal weight").run()
    at = click(named(at.multiselect, "Features").set_value(["income", "born"]).run(), "Use the age")
    at = calm(named(at.text_input, "Display name of “claims”").set_value("claims a year").run())
    assert "claims a year" in said(at)
    address = at.query_params["dataset"]
    for page in ("train", "data"):
        open_page(page, dataset=address)
    assert (load_source(address).load().roles.features, len(parsed)) == (("income", "born"), 1)


# Keeping files.


@pytest.mark.bad_input(10, 20, 21)
def test_files_beyond_the_size_limits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Clear the cache, which may contain the same table from another test.
    st.cache_resource.clear()
    uploads.clear_cached_tables()
    sheet = workbook({"Tab": [list(policies()), *policies().to_numpy().tolist()]})
    for limit, most, content, name, told in (
        ("limits.MAX_CELLS", 300, SOUND, "policies.csv", "more than 300"),
        ("limits.MAX_FILE", 3000, gzip.compress(SOUND * 9), "policies.csv.gz", "The unpacked file has"),
        ("excel.MAX_EXCEL_CELLS", 100, sheet, "policies.xlsx", "more than 100"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"fairdash.tables.readers.{limit}", most)
            assert told in said_in_errors(upload(content, name))


@pytest.mark.bad_input(52, 53, 54)
def test_a_file_name_and_headers_with_markup_stay_plain_text() -> None:
    header = "![x](http://evil.example/p.png)<b>$"
    hostile = csv(policies().rename(columns={"power": "=1+1", "age": header}))
    at = upload(hostile, "../../![x](http://evil.example/a.png)<b>$x^2$</b>.csv")
    at = calm(roles_set(at, sensitive=header))
    labels = [each.label for each in (*at.text_input, *at.checkbox, *at.selectbox)]
    assert any("evil" in label for label in labels)
    assert not [shown for shown in (words(at), *labels) if "![x](" in shown or "<b>$" in shown]
    # Plotly supports some HTML tags but no Markdown.
    assert not [each for each in charts(at).values() if "<b>$" in json.dumps(each)]
    assert "../../![x]" in said(at)
    assert at.dataframe[0].value.columns[0] == "=1+1"


# Exposure.


def test_the_dependence_shown_on_the_data_page_is_weighted_by_exposure() -> None:
    dataset = build_dataset(claims(), Roles(**(vars(ROLES) | {"rate": False})), name="claims")
    y, s = dataset.target.to_numpy(), dataset.sensitive["DrivAge"].to_numpy()
    options = {"evaluation": "corrected", "sample_weight": dataset.weight.to_numpy()}
    assert link_of(dataset, "DrivAge")[0] == measure("hgr_spline", y, s, **options)


def tariff(n: int = 600) -> pd.DataFrame:
    """Policies of three durations, with random claim counts and amounts."""
    rng = np.random.default_rng(4)
    exposure = rng.choice([0.25, 0.5, 1.0], n)
    count = rng.poisson(0.6 * exposure)
    frame = pd.DataFrame({"DrivAge": rng.integers(18, 80, n), "VehPower": rng.integers(4, 12, n)})
    frame = frame.assign(Exposure=exposure, ClaimNb=count, ClaimAmount=0.0)
    frame.loc[count > 0, "ClaimAmount"] = rng.gamma(1.0, 900 * count[count > 0]).round(2) + 1
    return frame


def features(at):
    return named(at.multiselect, "Features")


#: Label of a pricing target, its columns, and its loss.
TARGETS = {
    "Claim frequency": ("ClaimNb", "Exposure", "poisson"),
    "Claim severity": ("ClaimAmount", "ClaimNb", "gamma"),
    "Pure premium": ("ClaimAmount", "Exposure", "tweedie"),
}


@pytest.mark.parametrize("label", few(TARGETS, "Claim severity"))
def test_claim_frequency_claim_severity_and_pure_premium_are_offered_as_targets(label: str) -> None:
    target, weight, loss = TARGETS[label]
    frame = tariff()
    frame.loc[frame["ClaimNb"].idxmin(), "ClaimAmount"] = 70.0
    at = click(click(upload(csv(frame)), "Claim frequency"), label)
    source = load_source(at.query_params["dataset"])
    assert (source.roles.target, source.roles.weight, source.roles.rate) == (target, weight, True)
    dataset, kept = source.load(), frame[frame[weight] > 0]
    mean = kept[target].sum() / kept[weight].sum()
    assert np.average(dataset.target, weights=dataset.weight) == pytest.approx(mean)
    settings = default_plan(dataset).settings
    assert (settings.loss, settings.balance) == (loss, True), "with a log link totals are preserved"
    train = open_page("train", dataset=at.query_params["dataset"])
    assert train.selectbox(key="train.form loss").value == loss
    assert train.checkbox(key="train.form balance").value
    without = int((frame["ClaimNb"] == 0).sum())
    if label == "Claim severity":
        assert f"{without} rows left out, because “ClaimNb” can't be used there." in said(at)
        assert "“ClaimAmount” has the sum 70 in these rows." in said(at)
        assert "ClaimAmount (per claim)" in dataset.label("ClaimAmount")
        assert dataset.n_rows == 600 - without
    else:
        assert dataset.n_rows == 600
        assert "Gamma deviance is not available: it needs a target of which all values" in said(train)


@pytest.mark.bad_input(59)
@pytest.mark.parametrize(
    "label", few(["Use them as they are", "Count them as 0", "Leave these rows out"], "Leave these rows out")
)
def test_negative_claim_amounts_require_a_decision_before_they_are_used_as_target(label: str) -> None:
    frame = tariff().drop(columns="ClaimNb")
    free = frame.index[frame["ClaimAmount"] == 0]
    frame.loc[free[:7], "ClaimAmount"] = -120.5
    at = upload(csv(frame))
    assert [each.label for each in at.button if "ClaimAmount ÷ Exposure" in each.label], "a price target"
    assert f"7 places; lines {free[0] + 2}, " in said_in_errors(at)
    at = calm(click(at, label))
    kept = frame[frame["ClaimAmount"] >= 0] if label == "Leave these rows out" else frame
    cost = kept["ClaimAmount"].clip(lower=0 if label == "Count them as 0" else None)
    premium = cost.sum() / kept["Exposure"].sum()
    assert f"= {amount(premium)} over all rows" in said(at)
    # The table of columns shows the same number, and no average of totals.
    (table,) = [each.value for each in at.dataframe if "role" in each.value]
    assert table.set_index("role")["mean"]["target"] == pytest.approx(premium)
    loss = "squared_error" if label == "Use them as they are" else "tweedie"
    assert default_plan(load_source(at.query_params["dataset"]).load()).settings.loss == loss
    # Choosing another treatment replaces the first one.
    assert "below zero" in said_in_errors(click(at, f"{label}: ClaimAmount"))


def test_one_click_excludes_a_suspiciously_predictive_feature_without_repeating_the_check(monkeypatch):
    """Missing cells can reveal the target too; a suspect column stays a feature until the user decides."""
    at, checked, check = open_page("data"), [], cached.check_data
    monkeypatch.setattr(
        cached, "check_data", lambda frame, **r: checked.append(r["columns"]) or check(frame, **r)
    )
    frame = tariff(1500).drop(columns="ClaimAmount")
    rng = np.random.default_rng(1)
    frame["avrg"] = np.where(frame["ClaimNb"] > 0, rng.gamma(2.0, 400.0, 1500).round(2), np.nan)
    frame["calls"] = rng.poisson(0.05 + 4.0 * frame["ClaimNb"])
    at = choose_upload(at, csv(frame))
    assert "avrg** is left out: it is missing exactly where the target is 0" in said(at)
    assert features(at).value == ["VehPower", "calls"]
    (warned,) = [each.value for each in at.warning if "too good" in each.value]
    assert warned.startswith("**calls** looks too good to be true: it alone explains")
    assert len(checked) == 1
    at = click(at, "Leave out calls")
    assert (features(at).value, len(checked)) == (["VehPower"], 1)
    assert not [each for each in at.warning if "too good" in each.value]
    at = click(at, "Use avrg anyway")
    assert "avrg** gives the target away" in "".join(each.value for each in at.warning)
    again = open_page("data", dataset=at.query_params["dataset"])
    assert features(again).value == ["VehPower", "avrg"], "a recipe keeps what it has"


def test_one_click_excludes_all_components_of_the_price_and_one_click_includes_them_again() -> None:
    frame = tariff(900).drop(columns="ClaimNb")
    rng = np.random.default_rng(1)
    frame["TPL"], frame["Hull"] = rng.gamma(9, 20, (2, 900)).round(2)
    frame["Premium"] = (1.19 * (frame["TPL"] + frame["Hull"])).round(2)
    at = upload(csv(frame))
    assert box(at, "Existing prediction or price").value == "Premium"
    assert features(at).value == ["VehPower"]
    assert "**Each of 2 columns** is left out: “Premium” is 1.19 times the sum of “TPL”, “Hull”." in said(at)
    at = click(at, "Use these 2 columns anyway")
    assert features(at).value == ["VehPower", "TPL", "Hull"]
    (warned,) = [each.value for each in at.warning if "price away" in each.value]
    assert warned.startswith("**Each of 2 columns** gives the price away")
    at = click(at, "Leave out these 2 columns")
    assert features(at).value == ["VehPower"]
