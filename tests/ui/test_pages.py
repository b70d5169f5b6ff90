"""Every page of the app: its texts and charts, and its reactions to user actions."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from fairdash.auditing.plan import AuditPlan, Columns
from fairdash.data import Roles, keep_upload
from fairdash.data.source import UploadSource, save_source
from fairdash.jobs import queue
from fairdash.runs import worker
from fairdash.runs.audits import create_audit
from fairdash.runs.launch import cancel
from fairdash.runs.listing import list_runs
from fairdash.runs.searches import SearchJob, create_search
from fairdash.runs.state import CANCELLED
from fairdash.storage import LOCAL
from fairdash.training.lam_search import LamSearch, Target
from fairdash.training.search import SearchGrid, SettingsSearch
from fairdash.training.sweep import Sweep
from fairdash.ui import pages
from fairdash.ui.frame import enlarged
from fairdash.ui.keys import Keys
from fairdash.ui.pages import PAGES
from fairdash.ui.train.searching import GRID, METHOD, OBJECTIVE
from fairdash.views.figures.theme import LIGHT, new_figure
from tests.data.test_dataset import people
from tests.runs.finished import QUICK, finished
from tests.runs.test_runs import wait
from tests.ui.conftest import ROOT, SOURCE, box, calm, click, named, open_page, words


@pytest.mark.parametrize("name", PAGES)
def test_every_page_opens_when_no_data_exist(name):
    at = open_page(name)
    assert not at.error
    assert len(at.title) == 1


@pytest.mark.parametrize(
    ("name", "kind"), [("train", "run"), ("tradeoff", "run"), ("train", "search"), ("audit", "audit")]
)
def test_an_unknown_job_in_the_address_is_reported_as_gone(name, kind):
    at = open_page(name, **{kind: "0123456789ab"})
    assert f"This {kind} is gone" in at.error[0].value
    assert not at.run().error, "the next look must not stumble over it again"


def test_an_invalid_grid_of_weights_is_refused_with_the_reason():
    at = open_page("train").selectbox(key=GRID).set_value("My own").run()
    refused = {"-1 2": "negative", "": "no weight λ", "1 1": "repeated", "one two": "numbers"}
    for weights, said in (refused | {"nan": "negative or not"}).items():
        at = click(at.text_input[0].set_value(weights).run(), "Train")
        assert said in at.error[0].value
    assert not list_runs().runs


def test_several_methods_and_another_loss_are_trained_and_compared(monkeypatch):
    monkeypatch.setattr(queue, "ensure_worker", lambda queue_name: None)
    at = open_page("train", dataset=save_source(SOURCE))
    at = at.multiselect(key=METHOD).set_value(["hgr_spline", "pearson"]).run()
    at = at.selectbox(key="train.form loss").set_value("poisson").run()
    at = at.checkbox(key="train.form balance").set_value(True).run()
    at = at.selectbox(key=GRID).set_value("My own").run()
    at = at.text_input[0].set_value("1").run()
    at = at.slider(key="train.form splits").set_value(1).run()
    at = click(named(at.number_input, "Epochs").set_value(4).run(), "Train")
    (run,) = list_runs().runs
    assert at.query_params["run"] == run.id
    plan = run.spec.plan
    assert plan.methods == ("standard", "hgr_spline", "pearson")
    assert (plan.settings.n_epochs, plan.settings.loss, plan.settings.balance) == (4, "poisson", True)
    assert worker.main(run.id) == 0, run.status
    result = run.read_result()
    rows = result.splits[0].train
    means = result.predictions[:, rows].mean(axis=1)
    assert means == pytest.approx(result.target[rows].mean(), rel=1e-6)
    at = open_page("train", run=run.id)
    assert at.success[0].value.startswith("Done in")
    assert named(at.button, "See what fairness costs")
    choice = box(open_page("tradeoff", run=run.id), "Method")
    assert len(choice.options) == 2
    choice.set_value("pearson").run()


def choose(at, dataset):
    return at.segmented_control(key="data.choice table").set_value(dataset).run()


@pytest.mark.parametrize(
    ("name", "told", "can_fetch"),
    [("census", "not on this machine.*kaggle", False), ("motor", "not on this machine yet", True)],
)
def test_a_missing_data_set_shows_how_to_obtain_it(name, told, can_fetch, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRDASH_DATA", str(tmp_path))
    at = calm(choose(open_page("data"), name))
    assert re.search(told, at.info[0].value, flags=re.DOTALL)
    assert any(button.label.startswith("Download") for button in at.button) == can_fetch


@pytest.mark.data
def test_a_data_set_that_cannot_be_downloaded_can_be_uploaded(real_data, monkeypatch, tmp_path):
    content = (real_data / "census" / "acs2015_county_data.csv").read_bytes()
    monkeypatch.setenv("FAIRDASH_DATA", str(tmp_path))
    at = choose(open_page("data"), "census_county")
    at = at.file_uploader[0].set_value(("x.csv", content + b"\n", "text/csv")).run()
    assert "not the published" in at.error[0].value
    at = at.file_uploader[0].set_value(("x.csv", content, "text/csv")).run()
    assert not at.error
    assert "3,218 rows" in words(at)
    assert "3,218 rows" in words(choose(open_page("data"), "census_county"))


SHORT = replace(QUICK, n_epochs=8, warm_up_epochs=2)
SETTINGS = SettingsSearch(
    **{"method": "hgr_spline", "objective": "equalized_residuals", "device": "cpu"},
    grid=SearchGrid(hidden=((8, 4),), dropout=(0.1,), lr=(1e-6, 2e-2), weight_decay=(0.005,)),
    **{"n_folds": 2, "settings": SHORT},
)
LAM = LamSearch(
    target=Target.parse("mse<=+1000%"), lams=(0.5, 1.25), method="hgr_spline", n_folds=2, settings=SHORT
)


def searched(plan):
    search = create_search(SOURCE, plan)
    assert worker.main(search.id) == 0
    return search


def field(at, label):
    return named([*at.number_input, *at.text_input], label)


def test_settings_found_by_a_search_are_shown_and_adopted_by_one_click():
    search = searched(SETTINGS)
    at = open_page("train", search=search.id)
    assert [part for part in ("Household", "learning rate 0.02") if part not in words(at)] == []
    table = at.dataframe[0].value
    assert table["Learning rate"].tolist() == ["0.02", "1e-06"]
    assert len(table) == len(search.read_result().frame)
    tuned = named(at.checkbox, "First find the learning rate")
    assert tuned.value
    assert field(at, "Learning rate").disabled
    at = field(tuned.set_value(False).run(), "Learning rate").set_value(0.5).run()
    at = click(at, "Use these settings")
    assert not named(at.checkbox, "First find the learning rate").value, (
        "what is found is not looked for again"
    )
    own = {"Learning rate": 2e-2, "Units of the predictor": "8 4", "Dropout": 0.1, "Weight decay": 0.005}
    for label, value in (own | {"Epochs": SHORT.n_epochs}).items():
        assert field(at, label).value == value
    assert not at.dataframe, "the search is out of view"
    assert "search" not in at.query_params
    at = field(at, "Learning rate").set_value(0.5).run()
    at.query_params["search"] = search.id
    at = click(at.run(), "Use these settings")
    assert field(at, "Learning rate").value == 2e-2, "also the second time"
    assert at.multiselect(key=METHOD).value == ["hgr_spline"]
    assert at.segmented_control(key=OBJECTIVE).value == "equalized_residuals"


def test_a_fairness_weight_found_by_a_search_is_shown_and_applied_by_one_click():
    search = searched(LAM)
    lam = search.read_result().lam
    at = open_page("train", search=search.id)
    assert at.dataframe[0].value["λ"].tolist() == ["0", "0.5", "1.25"]
    assert "among the weights that meet" in words(at)
    at = click(at, f"Use λ = {lam:g}")
    assert (at.selectbox(key=GRID).value, at.text_input[0].value) == ("My own", f"{lam:g}")
    click(at, "Train")
    (run,) = list_runs().runs
    cancel(run)
    plan = run.spec.plan
    assert (plan.lams, plan.methods, plan.settings) == ((lam,), ("standard", "hgr_spline"), SHORT)


def test_a_search_uses_the_options_chosen_on_the_form(monkeypatch):
    monkeypatch.setattr(queue, "ensure_worker", lambda queue_name: None)
    at = open_page("train").multiselect(key=METHOD).set_value(["hgr_spline"]).run()
    at = field(at, "Epochs").set_value(2).run()
    at = at.number_input(key="train.searching folds").set_value(2).run()
    at = click(at.number_input(key="train.searching lam").set_value(0.5).run(), "Search")
    plan = SearchJob(at.query_params["search"]).spec.plan
    assert (plan.method, plan.n_folds, plan.lam, plan.settings.n_epochs) == ("hgr_spline", 2, 0.5, 2)
    assert len(plan.grid.candidates(plan.settings)) == 12


def test_a_search_target_is_set_by_form_fields_and_the_search_can_be_cancelled():
    at = open_page("train")
    at = field(at, "Epochs").set_value(2000).run()
    at = at.radio[0].set_value("excess").run()
    at = at.selectbox(key="train.searching target-measure").set_value("hgr_rdc").run()
    at = field(at, "At most").set_value(0.03).run()
    at = click(at, "Find the weight")
    search = SearchJob(at.query_params["search"])
    assert (str(search.spec.plan.target), search.spec.plan.n_folds) == ("hgr_rdc<=floor+0.03", 10)
    at = click(at, "Cancel")
    assert wait(search).state == CANCELLED
    at = at.run()
    assert "Stopped" in at.warning[0].value


@pytest.fixture
def source() -> UploadSource:
    frame = people(500)
    frame["price"] = 300 + 20 * frame["rooms"] + 60 * (frame["region"] == "C")
    kept = keep_upload(frame.to_csv(index=False).encode(), name="people.csv", owner=LOCAL)
    roles = Roles(target="cost", sensitive=("region",), features=("rooms", "sex"), prediction="price")
    made = UploadSource(sha256=kept.sha256, name="people.csv", roles=roles, names={"region": "Origin"})
    save_source(made, owner=LOCAL)
    return made


def test_a_run_with_sensitive_classes_opens_and_the_data_page_shows_each_class(source: UploadSource) -> None:
    at = calm(open_page("data", dataset=source.id))
    assert "Origin: A" in words(at).replace("\\", "")
    calm(open_page("train", dataset=source.id))
    plan = Sweep(methods=("standard", "pearson"), lams=(1.0,), n_splits=1, settings=QUICK, device="cpu")
    run = finished(plan, source=source)
    assert "Origin: A" in run.read_result().names.values()
    calm(open_page("tradeoff", run=run.id))


def test_the_audit_page_accepts_a_categorical_sensitive_attribute(source: UploadSource) -> None:
    chosen = box(calm(open_page("audit", dataset=source.id)), "Sensitive attribute")
    assert chosen.value == "region"
    assert "sex" in chosen.options
    columns = Columns(price="price", sensitive="region", outcome="cost")
    plan = AuditPlan(columns=columns, questions=(1, 2))
    audit = create_audit(source, plan, owner=LOCAL)
    assert worker.main(audit.id) == 0, audit.status
    assert "among the classes of" in words(calm(open_page("audit", audit=audit.id)))


FILES = sorted(path for folder in ("fairdash/ui", "pages") for path in (ROOT / folder).rglob("*.py"))
STATES = ("session_state", "query_params")
#: Functions whose argument `key` is not a widget key.
NO_WIDGETS = ("sorted", "min", "max", "sort_values")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_widget_session_and_address_keys_are_never_string_literals(path: Path):
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    for call in calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        for given in call.keywords:
            if given.arg == "key" and name not in NO_WIDGETS:
                is_literal = isinstance(given.value, ast.Constant | ast.JoinedStr | ast.BinOp)
                assert not is_literal, f"line {given.value.lineno}: take it from Keys or Address"
    own = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "KEY"]
    names = [call.args[0].value for call in own if isinstance(call.args[0], ast.Constant)]
    assert len(names) == len(own), "a name is a word, what varies comes after it"
    assert not [name for name in names if " " in name]
    assert len(names) == len(set(names)), "one name, one place"
    assert len([call for call in calls if getattr(call.func, "id", "") == "Keys"]) <= 1
    for node in nodes:
        if isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") in STATES:
            assert not isinstance(node.slice, ast.Constant | ast.JoinedStr), f"line {node.lineno}"


def test_two_source_files_cannot_share_a_widget_key_prefix(tmp_path):
    Keys(str(tmp_path / "ui" / "here" / "part.py"))("refit")
    Keys(str(tmp_path / "ui" / "here" / "part.py"))  # a page's script runs at every visit
    with pytest.raises(ValueError, match="keys of here"):
        Keys(str(tmp_path / "elsewhere" / "ui" / "here" / "part.py"))


def test_a_chart_title_of_several_lines_gets_a_larger_margin():
    one, many = (
        enlarged(new_figure(title="Price", subtitle=said, x="", y="", theme=LIGHT))
        for said in ("by age", "average prices of groups with their 95 % intervals, dots: rows at random")
    )
    assert many.layout.margin.t > one.layout.margin.t
    assert many.layout.height > one.layout.height
    assert many.layout.title.y < one.layout.title.y


def page(*, presented: bool) -> AppTest:
    def script():
        import pandas as pd

        from fairdash.ui.blocks import show_table
        from fairdash.ui.keys import Keys
        from fairdash.views.blocks import Table

        show_table(Table("Ages", pd.DataFrame({"age": ["*18*"], "gap": [0.5]})), Keys("pages/work/audit.py"))

    at = AppTest.from_function(script)
    if presented:
        at.query_params["present"] = "true"
    return at.run()


def test_a_short_table_is_drawn_in_large_text_with_escaped_cells_in_presentation_mode():
    shown = page(presented=True)
    assert not shown.exception
    (large,) = shown.table
    assert (len(shown.dataframe), large.value.shape) == (0, (1, 2))
    assert "\\*18" in large.value.iloc[0, 0]
    small = page(presented=False)
    assert (len(small.table), len(small.dataframe)) == (0, 1)
    assert isinstance(small.dataframe[0].value, pd.DataFrame)


def test_a_page_that_the_user_has_left_is_no_longer_refreshed(monkeypatch):
    """Otherwise a late refresh would take the browser back to the page that the user left."""
    context = Mock()
    monkeypatch.setattr(pages, "get_script_run_ctx", lambda: context)
    monkeypatch.setattr(pages.st, "switch_page", Mock())
    pages.go_to("train", address={})
    context.fragment_storage.clear.assert_called_once_with()
