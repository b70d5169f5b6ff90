"""The data page: what a person meets who brings a table of their own."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from fairdash.data import Roles, build_dataset, uploads
from fairdash.data.source import load_source
from fairdash.data.uploads import list_uploads
from fairdash.dependence import measure, quantile_groups
from fairdash.runs import worker
from fairdash.runs.studies import create_study
from fairdash.simulations.studies import PROXIES, Study
from fairdash.training.sweep import default_plan
from fairdash.ui.cached import link_of
from tests.data.test_rate import ROLES, claims
from tests.data.workbooks import formula, workbook
from tests.ui.conftest import charts, numbers, open_page, words


def policies(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, n), "power": rng.normal(5, 1, n).round(3)})
    frame["cost"] = (frame["power"] * 10 + 0.1 * frame["age"]).round(2)
    return frame


def csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def choose_upload(at, content: bytes, name: str = "policies.csv"):
    at = at.segmented_control(key="data.choice table").set_value("upload").run()
    return at.file_uploader[0].set_value((name, content, "application/octet-stream")).run()


def upload(content: bytes, name: str = "policies.csv"):
    at = choose_upload(open_page("data"), content, name)
    assert not at.exception
    return at


def said(at) -> str:
    """What the page says, without the marks that keep Markdown from coming alive."""
    return words(at).replace("\\", "")


def box(at, label: str):
    (found,) = [box for box in at.selectbox if box.label.startswith(label)]
    return found


def button(at, label: str):
    (found,) = [button for button in at.button if button.label.startswith(label)]
    return found


def ranked(at, sensitive: str) -> str:
    """What the page says of the proxies once the computation beside it is done."""
    study = Study(PROXIES, source=load_source(at.query_params["dataset"]).to_json(), sensitive=sensitive)
    assert worker.main(create_study(study).id) == 0
    at.run()
    assert not at.exception
    return next(
        each.value for each in at.markdown if "most of all" in each.value or "detectable" in each.value
    )


# Reading.


def test_typed_files_are_read() -> None:
    buffer = io.BytesIO()
    policies().to_parquet(buffer)
    at = upload(buffer.getvalue(), "policies.parquet")
    assert not at.error
    assert "Read as a Parquet file: 120 rows, 3 columns" in said(at)
    assert "sensitive: age · target: cost" in said(at)
    assert not [box for box in at.selectbox if box.label == "Encoding"]


@pytest.mark.bad_input(22)
def test_the_sheet_of_a_workbook_is_chosen() -> None:
    frame = policies()
    rows = [list(frame), *frame.to_numpy().tolist()]
    at = upload(workbook({"Notes": [["a"], [1]], "Policies": rows}), "policies.xlsx")
    assert "Sheet “Notes” is read; there is also “Policies”" in said(at)
    at = box(at, "Sheet").set_value("Policies").run()
    assert not at.exception
    assert "sensitive: age · target: cost" in said(at)
    again = open_page("data", dataset=at.query_params["dataset"])
    assert not again.error
    assert box(again, "Sheet").value == "Policies"


@pytest.mark.bad_input(22)
def test_formulas_without_results_are_said_plainly() -> None:
    at = upload(workbook({"Tab": [["a", "b"], [1, formula("A2*2")]]}), "x.xlsx")
    assert "save it again" in at.error[0].value


@pytest.mark.bad_input(23)
def test_a_cut_off_parquet_file_is_said_plainly() -> None:
    buffer = io.BytesIO()
    policies().to_parquet(buffer)
    at = upload(buffer.getvalue()[:-100], "policies.parquet")
    assert "incomplete" in at.error[0].value


@pytest.mark.bad_input(17)
def test_missing_marks_can_be_changed() -> None:
    frame = policies().assign(country=["NA", "FR"] * 60)
    at = upload(csv(frame))
    assert "60 marked" in said(at)
    field = next(each for each in at.text_input if each.label.startswith("Marks"))
    assert "NA" in field.placeholder
    at = field.set_value("none").run()
    assert not at.exception
    assert "No cell is missing" in said(at)


@pytest.mark.bad_input(1, 2, 4, 5)
def test_how_a_text_is_read_can_be_changed() -> None:
    at = upload(csv(policies()))
    at = box(at, "Encoding").set_value("UTF-16").run()
    assert not at.exception
    assert "not UTF" in at.error[0].value
    at = box(at, "Encoding").set_value("Windows-1252").run()
    assert "Read as Windows" in said(at)
    at = box(at, "Between").set_value("semicolon").run()
    assert not at.exception
    assert "with semicolons" in said(at)


# Choosing roles: a problem is shown with its hint, and one click fixes it.


def roles_set(at, *, target: str = "cost", sensitive: str = "age"):
    at = box(at, "Target").set_value(target).run()
    at = box(at, "Sensitive").set_value(sensitive).run()
    assert not at.exception
    return at


def click(at, label: str):
    at = button(at, label).click().run()
    assert not at.exception
    return at


@pytest.mark.bad_input(24)
@pytest.mark.parametrize("column", ["cost", "age"])
def test_a_constant_outcome_is_blocked(column: str) -> None:
    at = roles_set(upload(csv(policies().assign(**{column: 7391}))))
    assert "dependence on it is undefined" in said_in_errors(at)
    assert "7391" not in said_in_errors(at)


def said_in_errors(at) -> str:
    return "\n".join(each.value for each in at.error).replace("\\", "")


@pytest.mark.bad_input(25)
def test_rows_without_an_outcome_are_dropped_by_a_click() -> None:
    frame = policies().astype({"age": float})
    frame.loc[[3, 7], "age"] = np.nan
    at = upload(csv(frame))
    assert "2 places; lines 5, 9" in said_in_errors(at)
    at = click(at, "Drop these rows")
    assert not at.error
    assert "118 rows" in said(at)
    again = open_page("data", dataset=at.query_params["dataset"])
    assert not again.error
    assert "118 rows" in said(again)
    again = click(again, "Drop these rows: age")
    assert "2 places; lines 5, 9" in said_in_errors(again), "taken back"


@pytest.mark.bad_input(16, 19)
def test_text_is_converted_by_a_click() -> None:
    frame = policies()
    frame["cost"] = [f"1 {100 + k}" for k in range(120)]
    at = roles_set(upload(csv(frame)))
    assert "must hold numbers" in said_in_errors(at)
    at = click(at, "Convert to numbers")
    assert not at.error
    assert "“cost” is converted from text to numbers." in said(at)


@pytest.mark.bad_input(26, 27, 28)
def test_what_is_left_out_can_be_brought_in_by_a_click() -> None:
    frame = policies().assign(
        name=[f"person {k}" for k in range(120)],
        start=pd.date_range("2001-01-01", periods=120),
        nothing=np.nan,
    )
    at = roles_set(upload(csv(frame)))
    features = next(each for each in at.multiselect if each.label.startswith("Features"))
    at = features.set_value(["power", "name", "start", "nothing"]).run()
    assert "every cell is missing (“nothing”)" in said(at)
    at = click(at, "Keep it")
    at = click(at, "Use the year")
    assert "“start” is used as the year." in said(at)
    assert "120 rows · 3 features" in said(at)


@pytest.mark.bad_input(28)
def test_dates_that_can_be_read_either_way_are_asked_about() -> None:
    frame = policies().assign(born=[f"{1 + k % 9}/{1 + k % 12}/{1950 + k % 40}" for k in range(120)])
    at = upload(csv(frame))
    assert "its dates are ambiguous" in said(at)
    at = roles_set(at, sensitive="born")
    assert "day and month are ambiguous" in said_in_errors(at)
    at = click(at, "Use the age, month first")
    assert not at.error
    assert "“born” is read as dates, with the month first, and used as an age" in said(at)
    again = open_page("data", dataset=at.query_params["dataset"])
    assert "“born” is read as dates, with the month first" in said(again)
    at = click(again, "Use the age, month first: born")
    at = click(at, "Use the year, day first")
    assert "“born” is read as dates, with the day first, and used as the year" in said(at)


@pytest.mark.bad_input(29)
def test_a_hidden_copy_is_asked_about() -> None:
    frame = policies(300)
    frame["born"] = 2020 - frame["age"]
    at = upload(csv(frame))
    assert "“age” can be recovered" in said_in_errors(at)
    kept = click(at, "Keep it")
    assert not kept.error
    assert "2 features" in said(kept)
    at = click(upload(csv(frame)), "Leave it out")
    assert not at.error
    assert "1 feature ·" in said(at)


@pytest.mark.bad_input(30)
def test_rows_without_exposure_are_dropped_by_a_click() -> None:
    frame = policies().assign(exposure=1.5)
    frame.loc[[1, 2], "exposure"] = [0, -1]
    at = upload(csv(frame))
    assert "above zero" in said_in_errors(at)
    at = click(at, "Drop these rows")
    assert "118 rows" in said(at)


@pytest.mark.bad_input(31, 32)
def test_ties_zeros_and_tails_are_said() -> None:
    rng = np.random.default_rng(0)
    frame = policies(400)
    frame["cost"] = np.where(rng.random(400) < 0.88, 0, rng.pareto(1.2, 400).round(4) + 1)
    at = upload(csv(frame))
    warned = "\n".join(each.value for each in at.warning).replace("\\", "")
    assert "“cost” is zero in 88 % of the rows" in warned or "“cost” is zero in 8" in warned
    assert "heavy tail" in warned
    assert "quantile groups" in said(at)


@pytest.mark.bad_input(12)
def test_too_few_rows_are_said() -> None:
    assert "need at least 50" in said_in_errors(upload(csv(policies(30))))


@pytest.mark.bad_input(33)
def test_huge_numbers_are_rescaled_and_said() -> None:
    frame = policies()
    frame["cost"] = frame["cost"] * 1e60
    assert "single precision" in said(upload(csv(frame)))


def test_an_existing_price_and_a_row_id_get_their_roles() -> None:
    frame = policies().assign(predicted=1.0 + np.arange(120), policy_no=np.arange(120) + 5)
    at = upload(csv(frame))
    assert not at.error
    assert box(at, "Existing prediction").value == "predicted"
    assert box(at, "Row id").value == "policy_no"
    roles = at.dataframe[1].value.set_index("column")["role"]
    assert (roles["predicted"], roles["policy_no"]) == ("existing prediction", "row id")


def test_a_group_and_a_time_are_chosen_and_the_train_page_offers_their_splits() -> None:
    frame = policies().assign(policy_no=np.arange(120) // 3, year=np.tile([2019, 2020, 2021], 40))
    at = upload(csv(frame))
    at = box(at, "Group").set_value("policy_no").run()
    at = box(at, "Time").set_value("year").run()
    assert not at.exception
    roles = at.dataframe[1].value.set_index("column")["role"]
    assert (roles["policy_no"], roles["year"]) == ("group", "time")
    train = open_page("train", dataset=at.query_params["dataset"])
    kinds = box(train, "Choose test rows")
    assert (kinds.value, len(kinds.options)) == ("group", 3)
    train = kinds.set_value("time").run()
    assert not train.exception
    assert "Earlier rows train" in said(train)
    assert any(each.label.startswith("Before-and-after splits") for each in train.slider)


def test_the_proxies_are_ranked_beside_the_page() -> None:
    frame = policies(300)
    frame["power"] = np.random.default_rng(5).normal(size=300).round(3)
    frame["since"] = (frame["age"] - 18 + np.random.default_rng(1).normal(0, 3, 300)).round(2)
    at = upload(csv(frame))
    assert "Which features predict age?" in said(at)
    assert ranked(at, "age").startswith("**1 of 2 features predicts age**, most of all since (HGR 0.9")
    drawn = [json.loads(each.proto.spec) for each in at.get("plotly_chart")]
    (bars,) = [spec for spec in drawn if "each feature predicts" in spec["layout"]["title"]["text"]]
    assert bars["layout"]["yaxis"]["ticktext"][:2] == ["all features together", "since"]


def two_sensitive(n: int = 300) -> pd.DataFrame:
    """The older have driven for longer, the richer have more power."""
    rng = np.random.default_rng(3)
    frame = policies(n).assign(income=rng.normal(30, 5, n).round(2))
    frame["since"] = (frame["age"] - 18 + rng.normal(0, 3, n)).round(2)
    frame["power"] = (frame["income"] / 5 + rng.normal(0, 0.3, n)).round(3)
    return frame


def further(at, *columns: str):
    (found,) = [each for each in at.multiselect if each.label == "Further sensitive attributes"]
    at = found.set_value(list(columns)).run()
    assert not at.exception
    return at


def test_several_sensitive_columns_each_in_view() -> None:
    at = further(upload(csv(two_sensitive())), "income")
    assert "2 features · sensitive: age, income · target: cost" in said(at)
    assert box(at, "Sensitive attribute").value == "age"
    roles = at.dataframe[1].value.set_index("column")["role"]
    assert (roles["age"], roles["income"], roles["power"]) == ("sensitive", "sensitive", "feature")
    assert "most of all since" in ranked(at, "age")
    links = next(each.value for each in at.markdown if "HGR" in each.value)
    at = at.segmented_control[1].set_value("income").run()
    assert not at.exception
    assert "Which features predict income?" in said(at)
    assert next(each.value for each in at.markdown if "HGR" in each.value) != links
    assert "most of all power" in ranked(at, "income")
    again = open_page("data", dataset=at.query_params["dataset"])
    assert "sensitive: age, income" in said(again)
    assert len(further(again).segmented_control) == 1, "one alone needs no choice"


@pytest.mark.bad_input(24, 25)
def test_what_is_wrong_with_a_further_sensitive_column_names_it() -> None:
    frame = two_sensitive().assign(rooms=3)
    frame.loc[[3, 7], "income"] = np.nan
    at = further(upload(csv(frame)), "income", "rooms")
    errors = said_in_errors(at)
    assert "Column “income”: the sensitive column has missing cells (2 places; lines 5, 9)" in errors
    assert "Column “rooms”: the sensitive column holds the same value in every row" in errors
    assert "“age”" not in errors
    at = further(click(at, "Drop these rows"), "income")
    assert not at.error
    assert "298 rows" in said(at)


@pytest.mark.data
def test_a_data_set_of_the_catalogue_takes_further_sensitive_columns(real_data) -> None:
    at = open_page("data").segmented_control(key="data.choice table").set_value("crime").run()
    assert not at.exception
    at = further(at, "racePctHisp")
    assert not at.error
    assert "1,994 rows · 98 features · sensitive: racepctblack, racePctHisp" in said(at)
    train = open_page("train", dataset=at.query_params["dataset"])
    assert not train.exception
    (methods,) = [each for each in train.multiselect if each.label == "Fair methods"]
    assert "Fair KDE network" not in methods.options
    assert len(methods.options) > 3


def test_a_file_is_parsed_once_whatever_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, read = [], uploads.read_content
    monkeypatch.setattr(uploads, "read_content", lambda *given: parsed.append(given) or read(*given))
    frame = two_sensitive().assign(
        exposure=np.arange(1, 301) / 300, claims=np.arange(300) % 3, born="1980-05-17"
    )
    frame.loc[::2, "born"] = "1975-01-02"
    at = upload(csv(frame))
    at = box(at, "Target").set_value("claims").run()
    assert "claims ÷ exposure" in said(at)
    at = box(at, "Sensitive attribute").set_value("power").run()
    at = further(at, "age")
    at = box(at, "Exposure").set_value("None: all rows have equal weight").run()
    at = box(at, "Exposure").set_value("exposure").run()
    (features,) = [each for each in at.multiselect if each.label.startswith("Features")]
    at = features.set_value(["income", "born"]).run()
    at = click(at, "Use the age")
    (name,) = [each for each in at.text_input if each.label == "Display name of “claims”"]
    at = name.set_value("claims a year").run()
    assert not at.exception
    assert not at.error
    assert "claims a year" in said(at)
    address = at.query_params["dataset"]
    for page in ("train", "data"):
        assert not open_page(page, dataset=address).exception
    assert load_source(address).load().roles.features == ("income", "born")
    assert len(parsed) == 1


# Keeping files.


def test_a_file_can_be_deleted_and_does_not_come_back() -> None:
    at = upload(csv(policies()))
    assert len(list_uploads()) == 1
    address = at.query_params["dataset"]
    at = click(at, "Delete it now")
    assert list_uploads() == ()
    at = at.run()
    assert not at.exception
    assert list_uploads() == ()
    gone = open_page("data", dataset=address)
    assert not gone.exception
    assert "names a data set that is not stored here" in said_in_errors(gone)


def test_how_long_a_file_is_kept_can_be_chosen() -> None:
    at = upload(csv(policies()))
    at = box(at, "Keep this file").set_value(1).run()
    assert not at.exception
    assert list_uploads()[0].keep_days == 1
    at = at.run()
    assert box(at, "Keep this file").value == 1
    assert list_uploads()[0].keep_days == 1


def test_another_session_does_not_see_this_ones_files() -> None:
    at = upload(csv(policies()), "policies.csv")
    other = open_page("data").segmented_control(key="data.choice table").set_value("upload").run()
    assert not [each for each in other.selectbox if "uploaded before" in each.label]
    known = open_page("data", dataset=at.query_params["dataset"])
    assert box(known, "or a file you uploaded before").value.name == "policies.csv"


# Every other row on reading, as the page says it.

SOUND = csv(policies())
HEADER, *BODY = SOUND.decode().splitlines()


def lines(*rows: str) -> bytes:
    return "\n".join(rows).encode()


@pytest.mark.bad_input(6, 7, 8, 9, 11, 13, 15, 55)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lines(HEADER, *(f"{row},1" for row in BODY)), "120 with 4"),
        (lines(HEADER, *BODY, "1,2"), "line 122"),
        (lines(HEADER, BODY[0], '1,"2,3', *BODY), "line 3"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (SOUND + b"\0", "binary data"),
        (pickle.dumps(BODY), "a Python pickle, not"),
        (lines(HEADER), "no data rows"),
        (SOUND.replace(b"power", b"age", 1), "is repeated over columns: 1, 2"),
        (lines(HEADER, *BODY, "40,1e400,3"), "infinite, or too large"),
    ],
)  # fmt: skip
def test_a_file_that_can_not_be_read_says_why(content: bytes, words: str) -> None:
    assert words in said_in_errors(upload(content))


@pytest.mark.bad_input(13)
def test_names_that_repeat_are_numbered_by_a_click() -> None:
    content = SOUND.replace(b"power", b"age", 1)
    at = upload(content)
    assert not at.multiselect, "no roles before the columns have names"
    at = click(at, "Number them")
    assert not at.error
    assert "column 2 is “age (2)”" in said(at)
    assert "1 feature · sensitive: age · target: cost" in said(at)
    again = open_page("data", dataset=at.query_params["dataset"])
    assert not again.error
    (ticked,) = [each for each in again.checkbox if each.label.startswith("Number repeated column names")]
    assert ticked.value
    assert "is repeated over columns" in said_in_errors(ticked.uncheck().run())


@pytest.mark.bad_input(3, 14, 18, 19)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xef\xbb\xbf" + SOUND, "sensitive: age"),
        (SOUND.replace(b"power", b"", 1), "column 2 is “column 2”"),
        (csv(policies().assign(code=["007"] * 120)), "“code” stays text, as an identifier"),
        (csv(policies().assign(value=["1’234"] * 120)), "have a separator between thousands"),
    ],
)
def test_what_is_read_otherwise_than_it_looks_is_said(content: bytes, words: str) -> None:
    at = upload(content)
    assert not at.error
    assert words in said(at)


@pytest.mark.bad_input(10, 20, 21)
def test_files_beyond_the_limits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairdash.data.readers import excel, limits

    # Another test's same table may be in memory.
    st.cache_resource.clear()
    uploads.forget_tables()
    monkeypatch.setattr(limits, "MOST_CELLS", 300)
    assert "more than 300" in said_in_errors(upload(SOUND))
    monkeypatch.setattr(limits, "LARGEST_FILE", 3000)
    assert "when it is unpacked" in said_in_errors(upload(gzip.compress(SOUND * 9), "policies.csv.gz"))
    monkeypatch.setattr(limits, "LARGEST_FILE", 10**6)
    monkeypatch.setattr(excel, "MOST_EXCEL_CELLS", 100)
    rows = [list(policies()), *policies().to_numpy().tolist()]
    assert "more than 100" in said_in_errors(upload(workbook({"Tab": rows}), "policies.xlsx"))


@pytest.mark.bad_input(52, 53, 54)
def test_a_hostile_files_name_and_header_stay_plain_text() -> None:
    name = "../../![x](http://evil.example/a.png)<b>$x^2$</b>.csv"
    at = upload(csv(policies().rename(columns={"power": "=1+1"})), name)
    assert not at.error
    shown = words(at)
    assert "![x](" not in shown
    assert "<b>$" not in shown
    assert "../../![x]" in said(at)
    assert at.dataframe[0].value.columns[0] == "=1+1"


def test_a_header_is_no_picture_in_a_label():
    header = "![x](https://evil.example/p.png)"
    at = upload(csv(policies().rename(columns={"cost": header})))
    at = box(at, "Target").set_value(header).run()
    assert not at.exception
    labels = [each.label for each in (*at.text_input, *at.checkbox, *at.selectbox)]
    assert any("evil" in label for label in labels)
    assert not any("![" in label or "](" in label for label in labels)


def test_columns_are_called_what_the_user_calls_them():
    at = upload(csv(policies()))
    at = next(each for each in at.text_input if "cost" in each.label).set_value("yearly *cost*").run()
    assert not at.exception
    assert not at.error
    source = load_source(at.query_params["dataset"])
    assert source.names == {"cost": "yearly *cost*"}
    # Whether there is a link is of no matter here, and a close call on so few rows.
    named = re.compile(r"yearly \*cost\* (depends on|shows no detectable link with) age")
    assert named.search(said(at))
    assert named.search(said(open_page("data", dataset=source.id)))
    at = next(each for each in at.text_input if "cost" in each.label).set_value(" ").run()
    assert load_source(at.query_params["dataset"]).names == {}


@pytest.mark.data
def test_built_in_columns_have_plain_names(real_data):
    at = open_page("data").segmented_control(key="data.choice table").set_value("crime").run()
    assert "violent crimes per head depends on share of Black people" in said(at)
    axes = [
        json.loads(each.proto.spec)["layout"]["xaxis"]["title"]["text"] for each in at.get("plotly_chart")
    ]
    assert any(axis.startswith("share of Black people") for axis in axes)
    assert not any("racepctblack" in axis for axis in axes)
    assert any("column racepctblack" in each.proto.help for each in at.markdown)


# Exposure.


def test_counts_with_an_exposure_are_predicted_as_a_rate_and_the_page_says_so() -> None:
    frame = claims()
    frequency = frame["ClaimNb"].sum() / frame["Exposure"].sum()
    at = upload(csv(frame))
    box(at, "Sensitive").set_value("DrivAge").run()
    assert box(at, "Target").value == "ClaimNb"
    (asked,) = [each for each in at.checkbox if each.label.startswith("Predict ClaimNb per unit")]
    assert asked.value
    assert "target: ClaimNb ÷ Exposure" in said(at)
    assert f"= {frequency:.4g} over all rows" in said(at)
    assert load_source(at.query_params["dataset"]).load().per_exposure
    drawn = charts(at)
    (target,) = [each for title, each in drawn.items() if "Distribution of the target" in title]
    assert f"mean by exposure {frequency:.4g}" in str(target["layout"])
    asked.set_value(False).run()
    assert "target: ClaimNb ·" in said(at)
    assert not load_source(at.query_params["dataset"]).load().per_exposure


def test_a_rate_is_not_divided_again() -> None:
    frame = claims()
    at = upload(
        csv(
            frame.assign(ClaimNb=frame["ClaimNb"] / frame["Exposure"]).rename(
                columns={"ClaimNb": "ClaimRate"}
            )
        )
    )
    box(at, "Sensitive").set_value("DrivAge").run()
    box(at, "Target").set_value("ClaimRate").run()
    (asked,) = [each for each in at.checkbox if each.label.startswith("Predict ClaimRate per unit")]
    assert not asked.value
    assert "target: ClaimRate ·" in said(at)


def test_averages_count_rows_by_exposure_and_say_so() -> None:
    frame = claims()
    at = upload(csv(frame))
    box(at, "Sensitive").set_value("DrivAge").run()
    (drawn,) = [each for title, each in charts(at).items() if "follows" in title]
    assert "group averages, by exposure" in str(drawn["layout"])
    (line,) = [trace for trace in drawn["data"] if trace["name"] == "average by group"]
    # Ages in the lowest group, by the quantiles that the page cuts at.
    s, averages = frame["DrivAge"].to_numpy(), numbers(line["y"])
    lowest = quantile_groups(s.astype(float), 20) == 0
    expected = frame["ClaimNb"][lowest].sum() / frame["Exposure"][lowest].sum()
    assert averages[0] == pytest.approx(expected)
    assert "rows are weighted by exposure" in said(at)
    assert "Means are weighted by exposure, Exposure." in said(at)


def test_the_sentence_on_the_link_counts_rows_by_exposure() -> None:
    dataset = build_dataset(claims(), Roles(**(vars(ROLES) | {"rate": False})), name="claims")
    value, _, _ = link_of(dataset, "DrivAge")
    y, s = dataset.target.to_numpy(), dataset.sensitive["DrivAge"].to_numpy()
    options = {"evaluation": "corrected", "sample_weight": dataset.weight.to_numpy()}
    assert value == measure("hgr_spline", y, s, **options)


def test_a_table_of_claims_opens_training_on_the_poisson_deviance() -> None:
    at = upload(csv(claims()))
    box(at, "Sensitive").set_value("DrivAge").run()
    source = load_source(at.query_params["dataset"])
    assert default_plan(source.load()).settings.loss == "poisson"
    at = open_page("train", dataset=source.id)
    assert at.selectbox(key="train.form loss").value == "poisson"
    assert "as the target is a count or a rate of counts" in said(at)
    assert "ClaimNb ÷ Exposure" in said(at)
