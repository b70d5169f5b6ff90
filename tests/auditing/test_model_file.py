"""Model files are read as their libraries define: link, outputs, shapes, levels, missing cells; or refused.

The files are those of tests/auditing/exported, written by the libraries themselves.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from benchmarks.model_files import EXP, PRICE, RESULTS, page_lines
from fairdash.auditing.models.foreign import read_model
from fairdash.auditing.models.model_answers import with_model_price
from fairdash.errors import DataError, OptionError, StorageError
from tests.auditing.test_model import onnx_file
from tests.serving import ROOT

EXPORTED = Path(__file__).parent / "exported"
NUMBERS = ["age", "power"]


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Open files in the process of the tests; test_foreign.py tests a separate process."""
    monkeypatch.setattr("fairdash.auditing.models.model_answers.ForeignModel", read_model)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.read_csv(EXPORTED / "portfolio.csv")


def file(name: str) -> bytes:
    return (EXPORTED / f"{name}.onnx").read_bytes()


def priced_by(name: str, rows: pd.DataFrame, columns=NUMBERS, **more):
    frame, _, notes = with_model_price(rows, file(name), columns=columns, name="price", **more)
    return frame["price"].to_numpy(), " ".join(notes)


@pytest.mark.parametrize(("name", "more"), [
    ("catboost_rmse", {}), ("catboost_pois", {}), ("catboost_twee", {}), ("glm_poisson", {}),
    ("lightgbm_poisson", {}), ("trees_poisson", {"link": "log"}),
    ("by_name", {"columns": ["region", *NUMBERS]}), ("two_targets", {"output": "variable[0]"}),
])  # fmt: skip
def test_an_onnx_file_gives_the_predictions_of_its_library_and_a_note_states_their_scale(rows, name, more):
    price, notes = priced_by(name, rows, check_column=name, **more)
    np.testing.assert_allclose(price, rows[name], rtol=2e-6)
    assert f"The model's price is “{name}” in all 300 rows" in notes
    is_log = name in ("catboost_pois", "catboost_twee", "trees_poisson")
    assert ("The price is exp of the model's output" in notes) == is_log
    assert ("CatBoost model with the loss" in notes) == (is_log and "link" not in more)
    assert ("in this order: “age”, “power”" in notes) == (name != "by_name")


def test_a_model_price_on_another_scale_is_noted_before_the_verdict(rows):
    for name, more, words in (
        ("trees_poisson", {}, "The model's price is the logarithm of this column: choose the link “log”."),
        (
            "glm_poisson",
            {"link": "log"},
            "The model's price is the exponential of this column: choose the link “identity”.",
        ),
    ):
        _, notes = priced_by(name, rows, check_column=name, **more)
        assert notes.startswith(f"The model's price differs from “{name}” in 300 of 300 rows, most in row ")
        assert words in notes
    _, notes = priced_by("glm_poisson", rows.assign(given=2 * rows["glm_poisson"]), check_column="given")
    assert "The model's price is 0.5 times this column in each row." in notes
    some = rows.assign(given=rows["glm_poisson"].where(rows.index != 7, 400.0).where(rows.index != 8))
    _, notes = priced_by("glm_poisson", some, check_column="given")
    assert "in 1 of 299 rows, most in row 8: " in notes
    result = fd.audit(
        rows[["age", "power", "claims", "trees_poisson"]], model=file("trees_poisson"), model_columns=NUMBERS,
        sensitive="age", outcome="claims", check_column="trees_poisson", questions=[1, 5],
    )  # fmt: skip
    assert result.units_remark.startswith("The model's price differs")
    # Without the insurer's own prices, the claims show that the price is a logarithm.
    assert any("the price seems to be a logarithm" in note for note in result.notes)
    assert "trees_poisson" not in str(result.tables)


@pytest.mark.parametrize(("change", "words"), [
    (lambda t: t.assign(region=["east"] * 9 + t["region"].tolist()[9:]), "know “east” of “region”, in 9 rows"),
    (lambda t: t.assign(region=t["region"].where(t.index > 3)), "“region” is missing in 4 rows"),
    # A missing cell turns whole numbers into floats.
    (lambda t: t.assign(region=pd.Series(t.index % 3).where(t.index > 0)), "know “0”, “1”, “2” of “region”, in 299 rows"),
])  # fmt: skip
def test_levels_that_the_model_does_not_know_are_counted(rows, change, words):
    assert words in priced_by("by_name", change(rows), columns=None)[1]
    assert "know" not in priced_by("by_name", rows, columns=None)[1]


@pytest.mark.parametrize(("name", "change", "columns", "words"), [
    ("by_name", {"age": lambda t: t["age"].where(t.index != 4)}, None, "“age” is missing in 1 row (row 5)"),
    ("by_name", {"age": lambda t: t["age"] + 0.5}, None, "“age” is a fraction in 300 rows"),
    ("by_name", {"age": lambda t: t["age"].astype(str)}, None, "“age” contains text, such as “79”"),
    ("glm_poisson", {}, ["age", "power", "claims"], "it takes 2 columns, not 3"),
    ("glm_poisson", {}, ["age", "region"], "it needs numbers, but “region” contains text"),
    ("classifier", {}, NUMBERS, "it has 2 outputs: “output_label” (tensor(int64)), “output_probability”"),
    ("two_targets", {}, NUMBERS, "its output “variable” has 2 numbers per row"),
])  # fmt: skip
def test_rows_that_a_model_cannot_price_are_refused_with_the_cause(rows, name, change, columns, words):
    frame = rows.assign(**{column: make(rows) for column, make in change.items()})
    with pytest.raises(StorageError, match=re.escape(words)):
        priced_by(name, frame, columns=columns)


def test_an_output_of_a_model_is_chosen_by_name(rows):
    # The first output of this file was compared with the library above.
    assert (priced_by("two_targets", rows, output="variable[1]")[0] < 0).all()
    for output, words in (("output_probability", "which is not a price"), ("p", "it has no output “p”")):
        with pytest.raises(StorageError, match=words):
            read_model(file("classifier"), table=NUMBERS, output=output)


@pytest.mark.parametrize(("content", "words"), [
    (b"tree\nversion=v4", "incomplete LightGBM model"), (b"CBM1....", "incomplete CatBoost model"),
    (b'{"learner": {}}', "XGBoost can't read it"), (b'{"name": "tree"}', "JSON that neither"),
    (b"PK\x03\x04...", "zip archive"), (b"PK\x03\x04 model.ini", "MOJO of H2O"),
    (b"<PMML/>", "its model is a missing one"), (b"<!DOCTYPE x><PMML/>", "not a PMML file without"),
    (b"binf....", "old binary format"), (b"\x1f\x8b....", "compressed"), (b"\x80\x04...", "pickle"),
    (b"nothing", "not a self-contained ONNX model"),
])  # fmt: skip
def test_unsupported_model_files_are_refused_with_their_format(content, words):
    for library in ("LightGBM", "CatBoost", "XGBoost"):
        if f"{library} model" in words:
            pytest.importorskip(library.lower())
    with pytest.raises(StorageError, match=words) as caught:
        read_model(content, table=NUMBERS)
    assert "onnxruntime" not in str(caught.value).lower()


def test_an_exception_in_a_model_is_reported_with_its_message_and_the_input_columns(rows):
    def fails(_):
        raise TypeError("expects a DMatrix")

    with pytest.raises(DataError, match="TypeError: expects a DMatrix") as caught:
        with_model_price(rows, fails, columns=NUMBERS, name="price")
    assert "“age”, “power”" in str(caught.value)
    for more, words in (
        ({"link": "logit"}, "not a known link"),
        ({"check_column": "absent"}, "does not have the column of prices"),
    ):
        with pytest.raises(OptionError, match=words):
            with_model_price(rows, fails, columns=NUMBERS, name="price", **more)


@pytest.mark.parametrize(("change", "words"), [
    (lambda t: {"price": np.log(t["premium"])}, "the price seems to be a logarithm"),
    (lambda t: {"price": t["premium"] * t["years"]}, "grows with the exposure “years”, as a total does"),
    (lambda t: {"price": t["premium"].where(t.index % 9 > 0, -1.0)}, "is 0 or less in 112 rows of 1,000"),
    # Plausible prices: unchanged, weakly related to the exposure, or with a larger spread than the exposure.
    (lambda t: {"price": t["premium"]}, ""),
    (lambda t: {"price": t["premium"] * t["years"] ** 0.3}, ""),
    (lambda t: {"price": t["premium"] / t["years"]}, ""),
])  # fmt: skip
def test_implausible_prices_are_noted_before_the_verdict(change, words):
    rng = np.random.default_rng(0)
    t = pd.DataFrame({"age": rng.integers(18, 80, 1_000), "years": rng.uniform(0.1, 1, 1_000)})
    t["premium"] = 400 * np.exp(0.2 * rng.normal(size=1_000))
    t["claims"] = rng.gamma(0.5, 1.4 * t["premium"])
    t = t.assign(**change(t))
    result = fd.audit(t, price="price", sensitive="age", outcome="claims", exposure="years", questions=[1])
    said = " ".join(result.notes)
    assert words in said
    if not words:
        assert not any(each in said for each in ("logarithm", "as a total does", "0 or less"))
    assert bool(result.units_remark) == (words in said and bool(words) and "0 or less" not in words)


def summed(*inputs):
    """An ONNX file that adds its inputs, each given by a type with its shape and a name."""
    names = [each.split()[1] for each in inputs]
    nodes = (f"c_{x} = Cast <to = 11> ({x}) f_{x} = Reshape (c_{x}, flat)" for x in names)
    return onnx_file(f"""sum ({", ".join(inputs)}) => (double[N] price) <int64[1] flat = {{-1}}>
        {{{" ".join(nodes)} price = Sum ({", ".join(f"f_{x}" for x in names)})}}""")


def test_inputs_have_the_shapes_and_types_that_the_file_declares(rows):
    frame = rows.assign(new=rows["age"] < 30)
    content = summed("int32[N] age", "double[N,1] power", "bool[N] new")
    made = read_model(content, table=list(frame)).predict(frame)
    np.testing.assert_allclose(made, rows["age"] + rows["power"] + frame["new"])
    for refused, words in (
        (summed("float[1,1] age"), "it accepts only 1 row at a time"), (summed("uint8[N] age"), "its input “age” is tensor"),
        (content, "it needs the column “new”, which the table does not have"),
    ):  # fmt: skip
        with pytest.raises(StorageError, match=words):
            read_model(refused, table=list(rows))


def test_no_exported_model_is_misread_silently_and_the_page_shows_the_stored_results():
    table = pd.read_csv(RESULTS)
    assert len(table) >= 90
    assert not table["read"].str.contains("silent").any()
    right = table[table["read"].isin([PRICE, EXP])]
    assert right["difference"].max() < 1e-5
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- models -->\n")[2].partition("<!-- /models -->")[0]
    assert shown.splitlines() == page_lines(table)
