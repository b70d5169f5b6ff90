"""Models in the native files of their libraries, in PMML and as tables: scales, levels, and refusals.

``benchmarks/model_exports.py exported/own --few`` writes the files in exported/own and states the libraries'
versions; portfolio.csv has the libraries' predictions. make.R writes the files in exported/r.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from benchmarks.model_files import PRICE, RESULTS, read
from fairdash.__main__ import main
from fairdash.auditing.models.foreign import ForeignModel, read_model
from fairdash.auditing.models.model_answers import with_model_price
from fairdash.errors import DataError, StorageError
from tests.auditing.test_model import onnx_file
from tests.data.workbooks import workbook

OWN = Path(__file__).parent / "exported" / "own"
EXPORTS = pd.read_csv(OWN / "exports.csv", keep_default_na=False)
INPUTS = ["age", "power", "bonus", "region"]


@pytest.fixture
def in_this_process(monkeypatch):
    monkeypatch.setattr("fairdash.auditing.models.model_answers.ForeignModel", read_model)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.read_csv(OWN / "portfolio.csv")


def file(library: str, model: str, ending: str) -> bytes:
    if importlib.util.find_spec(library) is None and ending not in ("pmml", "csv", "xlsx"):
        pytest.skip(f"{library} is not installed")
    at = (EXPORTS["library"] == library) & (EXPORTS["model"] == model) & (EXPORTS["file"] == ending)
    (name,) = EXPORTS.loc[at, "name"]
    return (OWN / name).read_bytes()


@pytest.mark.every_case
@pytest.mark.parametrize("library", EXPORTS["library"].unique())
@pytest.mark.filterwarnings("error:::fairdash")
def test_native_model_files_are_read_as_documented_and_predict_like_libraries(library, rows, in_this_process):
    own = EXPORTS[EXPORTS["library"] == library]
    if set(own["file"]) & {"txt", "ubj", "cbm"}:
        pytest.importorskip(library)
    shown = pd.read_csv(RESULTS).set_index(["library", "model", "file"])
    for _, row in own.iterrows():
        found = read(OWN, row, rows)
        assert found["read"] == shown.loc[(library, row["model"], row["file"]), "read"], row.to_dict()
        assert found["read"] != PRICE or found["difference"] < 2e-6, row.to_dict()


@pytest.mark.parametrize(("library", "model", "ending"), [
    ("lightgbm", "poisson, pandas categories", "txt"), ("xgboost", "count:poisson, categories", "ubj"),
    ("catboost", "Poisson, levels", "cbm"), ("R pmml", "poisson", "pmml"),
])  # fmt: skip
def test_levels_are_matched_by_name_and_unknown_ones_counted(rows, in_this_process, library, model, ending):
    content = file(library, model, ending)
    name = f"{library} {model}"
    # Columns in another order, with more columns than the model uses.
    mixed = rows[[name, "years", "band", *INPUTS[::-1]]]
    notes = with_model_price(mixed, content, columns=None, name="price", check_column=name)[2]
    assert f"The model's price is “{name}” in all 300 rows" in notes[0]
    east = mixed.assign(region=mixed["region"].where(mixed.index > 8, "east"))
    said = " ".join(with_model_price(east, content, columns=None, name="price")[2])
    # CatBoost stores hashes of levels. A level that the model treats like unknown levels is named too.
    is_hashed = ending == "cbm"
    assert (
        "“east”, “south” of “region” (106 rows)" if is_hashed else "“east” of “region”, in 9 rows"
    ) in said
    if not is_hashed:
        with pytest.raises(StorageError, match="no cell of “region” contains a level of the model"):
            with_model_price(mixed.assign(region="east"), content, columns=None, name="price")
    with pytest.raises(StorageError, match="needs the column “region”, which the table does not have"):
        read_model(content, table=["age", "power", "bonus", "band"])


def test_boolean_categories_are_hashed_as_catboost_hashes_them(rows, tmp_path):
    catboost = pytest.importorskip("catboost")
    x = rows[["age"]].assign(new=rows["power"] > 7)
    model = catboost.CatBoostRegressor(
        iterations=9, depth=2, cat_features=["new"], verbose=False, allow_writing_files=False
    ).fit(x, 100.0 + 50 * x["new"])
    model.save_model(tmp_path / "model.cbm")
    read = read_model((tmp_path / "model.cbm").read_bytes(), table=["new", "age"])
    np.testing.assert_allclose(read.predict(x), model.predict(x))


def test_ordered_pandas_categories_are_assigned_to_the_columns_that_contain_them(rows):
    content = file("lightgbm", "poisson, ordered categories", "txt")
    model = read_model(content, table=INPUTS)
    np.testing.assert_allclose(model.predict(rows), rows["lightgbm poisson, ordered categories"], rtol=1e-8)
    assert any("The columns with the following levels" in each for each in model.about["unknown"])
    with pytest.raises(StorageError, match="it lists the levels of 2 columns, and does not name the columns"):
        read_model(content, table=INPUTS).predict(rows.assign(age=rows["power"]))


def test_raw_scores_are_refused_as_prices_unless_a_link_is_named(rows, in_this_process):
    for library, model, ending in (
        ("lightgbm", "poisson, custom objective", "txt"),
        ("xgboost", "count:poisson, custom objective", "json"),
    ):
        content, table = file(library, model, ending), rows[INPUTS]
        with pytest.raises(StorageError, match="does not state its objective, so its output may be a log"):
            with_model_price(table, content, columns=None, name="price")
        made = with_model_price(table, content, columns=None, name="price", link="log")[0]["price"]
        np.testing.assert_allclose(made, rows[f"{library} {model}"], rtol=1e-6)
    told = file("xgboost", "count:poisson", "ubj")
    with pytest.raises(StorageError, match="the log link is inverted"):
        read_model(told, columns=INPUTS[:3], table=INPUTS, link="log")
    classes = file("catboost", "Logloss", "cbm")
    with pytest.raises(StorageError, match=r"it has 2 outputs.*“class\[1\]”"):
        read_model(classes, columns=INPUTS[:3], table=INPUTS)
    made = read_model(classes, columns=INPUTS[:3], table=INPUTS, output="class[1]").predict(rows)
    np.testing.assert_allclose(made, rows["catboost Logloss"], rtol=1e-8)


def test_a_training_offset_and_early_stopping_are_reported(rows):
    model = read_model(file("xgboost", "count:poisson, base_margin", "ubj"), table=INPUTS)
    ratio = model.predict(rows) / rows["xgboost count:poisson, base_margin"]
    assert f"these prices are {ratio[0]:.4g} times" in " ".join(model.remarks)
    early = read_model(file("xgboost", "count:poisson, early stopping", "json"), table=INPUTS)
    assert "the first 1 of 3 rounds" in " ".join(early.remarks)


GENMOD = "Parameter,Level1,DF,Estimate\nIntercept,,1,5.5\nzone,A,1,0.2\nzone,B,0,0\nScale,,0,1\n"
LONG = "Factor;Level;Relativity\nBase rate;;312,5\nage;18-24;1,5\nage;25-59;1,0\nage;60+;1,2\nzone;A;1,1\nzone;B;1\n"
PEOPLE = pd.DataFrame({"age": [18, 24, 40, 77], "zone": ["A", "B", "B", "A"]})


AGES = [["Band", "Relativity"], ["18-24", 1.5], ["25-59", 1], ["60+", 1.2]]
ZONES = [["zone", "Relativity"], ["A", 1.1], ["B", 1]]


@pytest.mark.parametrize("content", [
    LONG.encode(),
    # Each band ends before the next begins, in whatever order the rows are; the last band has no upper limit.
    b"Factor,Level,From,To,Relativity\nBase rate,,,,312.5\nage,,25,60,1\nage,,18,25,1.5\nage,,60,Inf,1.2\n"
    b"zone,A,,,1.1\nzone,B,,,1\n",
    LONG.replace("25-59", "24,5-60").replace("18-24", "18-24,5").encode(),
    workbook({"Notes": [["Motor 2026"]], "Base": [["Base rate", 312.5]], "age": AGES, "Territory": ZONES}),
    workbook({"Tariff": [["Factor", "Level", "Relativity"], ["base rate", "", 312.5],
                         *(["age", *row] for row in AGES[1:]), *(["zone", *row] for row in ZONES[1:])]}),
])  # fmt: skip
def test_rows_can_be_priced_with_a_table_of_rating_factors(content):
    model = read_model(content, table=list(PEOPLE))
    expected = 312.5 * np.array([1.5, 1.5, 1.0, 1.2]) * np.array([1.1, 1.0, 1.0, 1.1])
    np.testing.assert_allclose(model.predict(PEOPLE), expected)
    assert model.about["size"] == "2 factors, 6 rows"
    with pytest.raises(DataError, match=r"Column “age”: the tariff has no relativity.*row 2"):
        model.predict(PEOPLE.assign(age=[18, 5, 40, 77]))


def test_an_exported_fair_tariff_can_be_audited_as_a_model(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"km": rng.uniform(5, 20, 200), "zone": rng.choice(["A", "=B"], 200)})
    tariff = fd.FairTariff(lam=0).fit(X, rng.poisson(3, 200), sensitive_features=rng.normal(size=200))
    for ending in ("csv", "xlsx"):
        tariff.export(tmp_path / f"t.{ending}")
        made = read_model((tmp_path / f"t.{ending}").read_bytes(), table=list(X)).predict(X)
        np.testing.assert_allclose(made, tariff.predict(X))


@pytest.mark.parametrize(("text", "words"), [
    ("factor,level,relativity\nzone,A,1\nzone,B,2\n", "has no base rate"),
    ("factor,level,relativity\nbase,,9\nbase,,8\nzone,A,1\n", "has 2 base rates"),
    ("factor,level,relativity\nbase,,9\nzone,A,high\n", "there is text among the relativities"),
    ("factor,level,estimate\nbase,,9\nage,,0.1\n", "“age” has no level"),
    ("a,b\n1,2\n3,4\n", "no columns of factors, levels and relativities"),
    (GENMOD, "lists coefficients, and does not name their link"),
    ("term,estimate\n(Intercept),1\nage,NA\n", "“age” has no number"),
    ("term,estimate\nage,1\n", "exactly one base rate or intercept"),
    ("term,estimate\nIntercept,1\nage,1\nage,1\n", "has several rows for “age”"),
    (",x\nIntercept,9\nage,1.1\n", "does not say whether they are coefficients or relativities"),
    (GENMOD.replace("Level1,DF", "Level1,Level2"), "coefficients of two levels"),
    (",exp(coef)\n(Intercept),1\nzoneA,0\n", "some of its relativities are not above 0"),
    (",x\nIntercept,-1\nzoneA:s(age).1,2\n", r"terms “zoneA:s\(age\).1” name neither a column"),
])  # fmt: skip
def test_an_invalid_tariff_table_is_refused(text, words):
    with pytest.raises(StorageError, match=words):
        read_model(text.encode(), table=["zone", "age"], link="log" if "age" in text else "auto")


def test_sas_coefficients_are_used_with_the_link_function_named_by_the_user(in_this_process):
    frame = with_model_price(PEOPLE, GENMOD.encode(), columns=None, name="price", link="log")[0]
    np.testing.assert_allclose(frame["price"], np.exp([5.7, 5.5, 5.5, 5.7]))


@pytest.mark.every_case
@pytest.mark.parametrize("library", ["R glm", "statsmodels", "glum"])
def test_coefficients_are_assigned_to_columns_and_levels_by_term_names(rows, in_this_process, library):
    name, content = f"{library} poisson", file(library, "poisson", "csv")
    notes = with_model_price(rows, content, columns=None, name="price", link="log", check_column=name)[2]
    assert f"The model's price is “{name}” in all 300 rows" in notes[0]
    assert "“north” of “region” has no coefficient and is priced as the base level, in 87 rows." in notes
    more = rows.assign(region=rows["region"].where(rows.index > 8, "east"))
    with pytest.raises(StorageError, match="“east”, “north” of “region” have no coefficient"):
        with_model_price(more, content, columns=None, name="price", link="log")


@pytest.mark.every_case
@pytest.mark.parametrize(("name", "words"), [
    ("logical", ""), ("product", ""), ("glmnet", ""), ("gam_plain", ""),
    ("ordered", "“large”, “middle”, “small” of “size” have no coefficient"),
    ("sums", "“north”, “south”, “west” of “region” have no coefficient"),
    ("poly", r"its terms “poly\(age, 2\)1”"), ("logged", r"its terms “log\(bonus\)” name"),
    ("square", r"its terms “I\(age\^2\)” name"), ("gam", r"its terms “s\(age\).1”"),
])  # fmt: skip
def test_r_coefficients_reproduce_the_predictions_of_r_or_are_refused(in_this_process, name, words):
    prices = pd.read_csv(OWN.parent / "r" / "prices.csv")
    table = prices[["age", "power", "bonus", "region", "new", "size", name]]
    content = (OWN.parent / "r" / f"{name}.csv").read_bytes()
    ask = {"columns": None, "name": "price", "link": "log", "check_column": name}
    if words:
        with pytest.raises(StorageError, match=words):
            with_model_price(table, content, **ask)
    else:
        notes = with_model_price(table, content, **ask)[2]
        assert f"The model's price is “{name}” in all 100 rows" in notes[0]


def test_coefficients_may_be_relativities_and_terms_may_be_interactions():
    text = "term,exp(coef)\n(Intercept),100\nfactor(zone)B,1.5\nage,1.01\nzoneB:age,0.98\n"
    made = read_model(text.encode(), table=list(PEOPLE)).predict(PEOPLE)
    is_b, age = PEOPLE["zone"].eq("B"), PEOPLE["age"]
    np.testing.assert_allclose(made, 100 * 1.5**is_b * 1.01**age * 0.98 ** (age * is_b))


@pytest.mark.parametrize(("header", "term", "cells"), [
    ("Coef.", "\"C(zone, Treatment(reference='A'))[T.B]\"", "ABBA"),
    ("   coef   ", "zone[T.B]     ", "ABBA"), ("Estimate", "`zone`B", "ABBA"),
    ("Estimate", '"zone(24,39]"', ("(0,24]", "(24,39]", "(24,39]", "(0,24]")),
    ("Estimate", "zone2", (1, 2, 2, None)),
])  # fmt: skip
def test_term_names_of_r_and_statsmodels_are_parsed(header, term, cells):
    model = read_model(f",{header}\nIntercept,5\n{term},1\n".encode(), table=["zone"], link="log")
    rows = pd.DataFrame({"zone": list(cells)})
    assert "priced as the base" in model.unknown_levels(rows)[-1]
    np.testing.assert_allclose(model.predict(rows), [5, 6, 6, 5])


def test_numbered_coefficients_that_may_be_sum_contrasts_are_refused():
    text, rows = "term,estimate\n(Intercept),5\nzone1,1\nzone2,1\n", pd.DataFrame({"zone": [1, 2, 3]})
    with pytest.raises(StorageError, match=r"may be R's sum contrasts .* give zone3 a coefficient of 0"):
        read_model(text.encode(), table=["zone"], link="log").unknown_levels(rows)
    told = read_model(f"{text}zone3,0\n".encode(), table=["zone"], link="log")
    assert told.unknown_levels(rows) == ()


def pmml(old: str = "", new: str = "") -> bytes:
    content = file("R pmml", "poisson", "pmml").decode()
    assert old in content
    return content.replace(old, new).encode() if old else content.encode()


def test_the_offset_of_a_pmml_model_is_added_on_the_scale_of_the_link_function(rows):
    content = pmml('linkFunction="log"', 'linkFunction="log" offsetVariable="years"')
    model = read_model(content, table=["region", "band", "years"])
    np.testing.assert_allclose(model.predict(rows), rows["R pmml poisson"] * np.exp(rows["years"]), rtol=1e-7)
    assert "adds the offset “years” on the scale of its link" in " ".join(model.remarks)
    with pytest.raises(StorageError, match="needs the column “years”"):
        read_model(content, table=["region", "band"])
    with pytest.raises(StorageError, match="cells of “years” are missing"):
        model.unknown_levels(rows.assign(years=np.nan))


@pytest.mark.parametrize(("old", "new", "words"), [
    ('linkFunction="log"', "", "it does not state its link"),
    ('linkFunction="log"', 'linkFunction="loglog"', "does not support its link “loglog”"),
    ("</DataDictionary>", "</DataDictionary><TransformationDictionary><x/></TransformationDictionary>",
     "it transforms inputs or outputs"),
    ("GeneralRegressionModel", "TreeModel", "its model is a TreeModel, not a GLM"),
    ("</PMML>", "", "it is incomplete PMML"),
])  # fmt: skip
def test_pmml_with_unsupported_content_is_refused(old, new, words):
    with pytest.raises(StorageError, match=words):
        read_model(pmml(old, new), table=["region", "band"])


def test_the_models_command_describes_a_file_and_lists_what_the_file_does_not_specify(tmp_path, capsys):
    (tmp_path / "name.of.no.matter").write_bytes(pmml())
    assert main(["models", str(tmp_path / "name.of.no.matter")]) == 0
    said = capsys.readouterr().out
    for words in (
        "Kind: PMML 4.4.1 (GeneralRegressionModel)", "Objective: poisson", "the log link is inverted",
        "Size: 5 terms", "  band: levels, “30-59”, “60+”, “18-29”", "Use of an offset in the model's fit",
    ):  # fmt: skip
        assert words in said
    content = file("lightgbm", "poisson, pandas categories", "txt")
    (tmp_path / "model").write_bytes(content)
    assert main(["models", str(tmp_path / "model"), "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["inputs"][3] == {"name": "region", "type": "levels", "levels": ["west", "north", "south"]}
    assert (about["objective"], about["size"]) == ("poisson", "6 trees")


OF_MISSING = {"lightgbm": 0.0, "xgboost gbtree": 1e9, "xgboost gblinear": 0.0, "catboost": -1e9}


@pytest.mark.parametrize("kind", OF_MISSING)
def test_the_audit_states_the_value_that_boosted_models_substitute_for_a_missing_cell(kind, rows):
    """If the training lacked no cell: LightGBM and gblinear take 0, XGBoost the largest, CatBoost the smallest."""
    boosting = pytest.importorskip(kind.split()[0])
    table = rows[["age", "power"]].astype(float)
    outcome, asked = rows["power"] / 100 + (table["age"] > 40), table.head(5).mask(table > 0)

    def trained(x):
        options = {"objective": "poisson", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 3}
        if kind == "catboost":
            model = boosting.CatBoostRegressor(9, loss_function="Poisson", allow_writing_files=False)
            content = model.fit(x, outcome, verbose=0)._serialize_model()
        elif kind == "lightgbm":
            content = boosting.train(options, boosting.Dataset(x, outcome), 5).model_to_string().encode()
        else:
            options = {"booster": kind.split()[1], "objective": "count:poisson", "nthread": 1}
            content = bytes(boosting.train(options, boosting.DMatrix(x, outcome), 5).save_raw("json"))
        return read_model(content, table=list(table))

    whole, gaps = trained(table), trained(table.assign(age=table["age"].where(table["age"] >= 30)))
    np.testing.assert_array_equal(whole.predict(asked), whole.predict(asked.fillna(OF_MISSING[kind])))
    said = [[each.partition(" priced")[0] for each in one.unknown_levels(asked)] for one in (whole, gaps)]
    both = [f"“{name}” is missing in 5 rows," for name in table]
    assert said == [both, both if "gblinear" in kind else both[1:]]
    assert not whole.unknown_levels(table)


def test_a_model_file_is_read_in_another_process_and_a_crash_of_that_process_is_reported(rows):
    content = pmml()
    frame = rows[["region", "band"]].assign(band=rows["band"].astype("category")).replace("west", None)
    model, here = (make(content, table=list(frame)) for make in (ForeignModel, read_model))
    np.testing.assert_array_equal(model.predict(frame), here.predict(frame))
    assert (model.about, model.unknown_levels(frame)) == (here.about, here.unknown_levels(frame))
    assert "“region” is missing in " in model.unknown_levels(frame)[0]
    with pytest.raises(StorageError, match="needs the column “band”"):
        ForeignModel(content, table=["region"])
    # A bug in fairdash must not be reported as a fault of the file.
    with pytest.raises(RuntimeError, match="Traceback"):
        model._request({"predict": [["region", None]], "rows": 1}, b"")
    ended = ForeignModel(content, table=list(frame))
    ended._process.kill()
    with pytest.raises(StorageError, match="process that reads it stopped: the file is damaged or too large"):
        ended.predict(frame)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory")
def test_a_file_that_takes_too_much_memory_is_refused(monkeypatch):
    monkeypatch.setattr("fairdash.auditing.models.foreign.MAX_MEMORY", 3 * 10**9)
    content = onnx_file("""wide (double[N,1] age) => (double[N,1] price) <int64[2] shape = {1, 200000000},
        int64[1] axis = {1}> {w = Expand (age, shape) price = ReduceSum (w, axis)}""")
    with pytest.raises(StorageError, match=r"allocate|memory"):
        ForeignModel(content, table=["age"]).predict(pd.DataFrame({"age": [1.0, 2.0]}))
