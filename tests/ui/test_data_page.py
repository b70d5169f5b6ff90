"""The data page: what a person meets who brings a table of their own."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from tests.data.workbooks import formula, workbook
from tests.ui.conftest import open_page, words


def policies(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, n), "power": rng.normal(5, 1, n).round(3)})
    frame["cost"] = (frame["power"] * 10 + 0.1 * frame["age"]).round(2)
    return frame


def csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def choose_upload(at, content: bytes, name: str = "policies.csv"):
    at = at.segmented_control(key="table").set_value("upload").run()
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


# Reading.


@pytest.mark.parametrize(("suffix", "what"), [("parquet", "a Parquet file"), ("feather", "a Feather file")])
def test_typed_files_are_read(suffix: str, what: str) -> None:
    buffer = io.BytesIO()
    (policies().to_parquet if suffix == "parquet" else policies().to_feather)(buffer)
    at = upload(buffer.getvalue(), f"policies.{suffix}")
    assert not at.error
    assert f"Read as {what}: 120 rows, 3 columns" in said(at)
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
