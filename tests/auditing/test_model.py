"""fd.audit(model=…) with functions, scikit-learn objects and ONNX files; changes by hand; a simulated proxy."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression

import fairdash as fd
from fairdash.__main__ import main
from fairdash.auditing.models.foreign import ForeignModel
from fairdash.errors import OptionError, StorageError

COLUMNS = ["postcode", "power", "age"]
WEIGHTS = np.array([8.0, 5.0, 0.5])
ASKED = {"sensitive": "age", "questions": [1], "model_columns": COLUMNS}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    age, noise, power, colour = rng.normal(size=(4, 1_000))
    # The simulated proxy is the postcode. Power also changes the price but is independent of age.
    return pd.DataFrame({"age": age, "postcode": age + 0.3 * noise, "power": power, "colour": colour})


def by_hand(rows):
    return 100 + rows[COLUMNS].to_numpy(dtype=float) @ WEIGHTS


def onnx_file(graph):
    """An ONNX file, from ONNX's textual notation of a graph."""
    from onnx.parser import parse_model

    return parse_model(f'<ir_version: 8, opset_import: ["": 17]> {graph}').SerializeToString()


def onnx_bytes(*, n=3):
    weights = ", ".join(map(str, WEIGHTS[:n]))
    return onnx_file(f"""line (double[N,{n}] X) => (double[N,1] price)
        <double[{n},1] w = {{{weights}}}, double[1] b = {{100}}> {{m = MatMul (X, w) price = Add (m, b)}}""")


def test_the_audit_command_accepts_a_model_file(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").write_bytes(onnx_bytes())
    rows.to_csv("rows.csv", index=False)
    taken = [each for name in COLUMNS for each in ("--model-column", name)]
    assert main(["audit", "rows.csv", "--model", "model.onnx", "--sensitive", "age", *taken, "--question", "1",
                 "--customer", "7", "--out", "evidence.zip"]) == 1  # fmt: skip
    said = capsys.readouterr().out
    assert "11. What does the model do?" in said
    assert "The customer in row 7 pays" in said
    assert "in row 7" in Path("evidence-customer.html").read_text("utf-8")
    assert "flips.csv" in zipfile.ZipFile("evidence.zip").namelist()
    # The evidence names the model and its options, and repeating the command gives the same bytes.
    again = json.loads(zipfile.ZipFile("evidence.zip").read("plan.json"))["command"]
    assert again == "fairdash audit FILE --plan plan.json --model MODEL --out again.zip"
    repeated = ["audit", "rows.csv", "--plan", "evidence.zip"]
    assert main([*repeated, "--model", "model.onnx", "--out", "again.zip"]) == 1
    assert Path("again.zip").read_bytes() == Path("evidence.zip").read_bytes()
    assert main(repeated) == 2
    assert "Name the model's file" in capsys.readouterr().err


def test_the_effect_of_the_simulated_proxy_is_the_largest_and_equals_a_hand_calculation(rows):
    result = fd.audit(rows, model=by_hand, customer=7, **ASKED)

    def typical(values):
        return np.quantile(values, [0.1, 0.3, 0.5, 0.7, 0.9], method="inverted_cdf").mean()

    low, high = (rows["postcode"][rows["age"].rank(ascending=first) <= 100] for first in (True, False))
    changes = result.tables["flips"].set_index("column")["mean_change"] * result.mean_price
    assert changes["postcode"] == pytest.approx(8.0 * (typical(high) - typical(low)), abs=1e-9)
    assert abs(changes["power"]) < 0.1 * changes["postcode"]
    assert "“postcode” changes the price most" in result.answers[-1].sentence
    # One customer: each column is compared with the column's distribution in the table.
    moved = result.tables["customer_columns"].set_index("column")["change"]
    own = rows["postcode"][7] - typical(rows["postcode"])
    assert moved["postcode"] == pytest.approx(8.0 * own, abs=1e-9)


def test_partial_dependence_equals_that_of_scikit_learn(rows):
    fitted = LinearRegression().fit(rows[COLUMNS], by_hand(rows) + rows["power"] ** 2)
    table = fd.audit(rows, model=fitted, **ASKED).tables["partial_dependence"]
    own = table[table["column"] == "power"]
    given = {"custom_values": {"power": own["at"].astype(float).to_numpy()}, "method": "brute"}
    theirs = partial_dependence(fitted, rows[COLUMNS], ["power"], **given)
    assert own["value"].to_numpy() == pytest.approx(theirs["average"][0])


def test_a_model_that_ignores_a_class_attribute_is_reported_as_unaffected_by_it(rows):
    table = rows.assign(sex=np.where(rows["age"] > 0, "M", "F"))
    result = fd.audit(table, model=by_hand, sensitive="sex", questions=[1])
    assert result.answers[-1].sentence.startswith("The model's price does not change with “sex” alone.")
    assert "sex" not in set(result.tables["flips"]["column"])


def endless_bytes():
    """A model file with an endless loop."""
    body = "body (int64 i, bool go, double[N,3] v) => (bool on, double[N,3] w) {on = Identity (go) w = Add (v, v)}"
    return onnx_file(f"""endless (double[N,3] X) => (double[N,3] price)
        <int64 most = {{9000000000000000000}}, bool go = {{1}}> {{price = Loop <body = {body}> (most, go, X)}}""")


def test_an_audited_model_that_never_ends_is_stopped_at_the_time_limit(rows, monkeypatch):
    model = ForeignModel(endless_bytes(), columns=COLUMNS, table=COLUMNS)
    monkeypatch.setattr("fairdash.auditing.models.foreign.MAX_SECONDS", 0.2)
    with pytest.raises(StorageError, match=r"needs more than 0\.2 s"):
        model.predict(rows)


@pytest.mark.parametrize(("model", "asked", "says"), [
    (by_hand, {"sensitive": "age", "price": "age"}, "age"),
    (by_hand, ASKED | {"customer": "nobody"}, "customer"), (onnx_bytes(n=2), ASKED, "columns"),
    (3, {"sensitive": "age"}, "can't compute prices"),
], ids=["price", "customer", "columns", "number"])  # fmt: skip
def test_questions_that_cannot_be_answered_for_a_model_are_refused_with_the_reason(model, asked, says, rows):
    with pytest.raises((OptionError, StorageError), match=says):
        fd.audit(rows, model=model, **asked)
