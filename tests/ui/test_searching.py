"""The Train page's searches: started, followed, and taken over into the form by one click."""

from __future__ import annotations

from fairdash.jobs import queue
from fairdash.runs import worker
from fairdash.runs.listing import list_runs
from fairdash.runs.searches import SearchJob, create_search
from fairdash.runs.status import CANCELLED
from fairdash.training.lam_search import LamSearch, Target
from fairdash.training.search import SearchGrid, SettingsSearch
from fairdash.training.settings import TrainingSettings
from fairdash.ui.train.searching import GRID, METHOD, OBJECTIVE
from tests.runs.test_runs import wait
from tests.ui.conftest import SOURCE, click, named, open_page, words

QUICK = TrainingSettings(hidden=(8,), adversary_hidden=(8,), batch_size=64, n_epochs=8, warm_up_epochs=2)
SETTINGS = SettingsSearch(
    method="hgr_spline",
    objective="equalized_residuals",
    grid=SearchGrid(hidden=((8, 4),), dropout=(0.1,), lr=(1e-6, 2e-2), weight_decay=(0.005,)),
    n_folds=2,
    settings=QUICK,
    device="cpu",
)
LAM = LamSearch(
    target=Target.parse("mse<=+1000%"), lams=(0.5, 1.25), method="hgr_spline", n_folds=2, settings=QUICK
)


def finished(plan):
    search = create_search(SOURCE, plan)
    assert worker.main(search.id) == 0
    return search


def field(at, label):
    return named([*at.number_input, *at.text_input], label)


def test_settings_found_are_shown_and_taken_over_by_one_click():
    search = finished(SETTINGS)
    found = search.read_result()
    at = open_page("train", search=search.id)
    assert "Household" in words(at)
    assert "learning rate 0.02" in words(at)
    table = at.dataframe[0].value
    assert table["Learning rate"].tolist() == ["0.02", "1e-06"]
    assert len(table) == len(found.frame)
    (tuned,) = (each for each in at.checkbox if each.label.startswith("Find learning rate"))
    assert tuned.value
    assert field(at, "Learning rate").disabled
    at = field(tuned.set_value(False).run(), "Learning rate").set_value(0.5).run()
    at = click(at, "Use these settings")
    (tuned,) = (each for each in at.checkbox if each.label.startswith("Find learning rate"))
    assert not tuned.value, "what a search has found is not looked for again"
    assert field(at, "Learning rate").value == 2e-2
    assert field(at, "Units of the predictor").value == "8 4"
    assert field(at, "Dropout").value == 0.1
    assert field(at, "Weight decay").value == 0.005
    assert field(at, "Epochs").value == QUICK.n_epochs
    assert not at.dataframe, "the search is out of view"
    assert "search" not in at.query_params
    at = field(at, "Learning rate").set_value(0.5).run()
    at.query_params["search"] = search.id
    at = click(at.run(), "Use these settings")
    assert field(at, "Learning rate").value == 2e-2, "also the second time"
    assert at.multiselect(key=METHOD).value == ["hgr_spline"]
    assert at.segmented_control(key=OBJECTIVE).value == "equalized_residuals"


def test_a_weight_found_is_shown_and_taken_over_by_one_click():
    search = finished(LAM)
    found = search.read_result()
    at = open_page("train", search=search.id)
    assert at.dataframe[0].value["λ"].tolist() == ["0", "0.5", "1.25"]
    assert "among the weights that meet" in words(at)
    at = click(at, f"Use λ = {found.lam:g}")
    assert at.selectbox(key=GRID).value == "My own"
    assert at.text_input[0].value == f"{found.lam:g}"
    at = click(at, "Train")
    (run,) = list_runs().runs
    run.ask_to_cancel()
    assert run.spec.plan.lams == (found.lam,)
    assert run.spec.plan.methods == ("standard", "hgr_spline")
    assert run.spec.plan.settings == QUICK


def test_a_search_is_what_the_form_asks_for(monkeypatch):
    monkeypatch.setattr(queue, "see_to", lambda lane: None)
    at = open_page("train")
    at = at.multiselect(key=METHOD).set_value(["hgr_spline"]).run()
    at = field(at, "Epochs").set_value(2).run()
    at = at.number_input(key="train.searching folds").set_value(2).run()
    at = at.number_input(key="train.searching lam").set_value(0.5).run()
    at = click(at, "Search")
    plan = SearchJob(at.query_params["search"]).spec.plan
    assert (plan.method, plan.n_folds, plan.lam, plan.settings.n_epochs) == ("hgr_spline", 2, 0.5, 2)
    assert len(plan.grid.candidates(plan.settings)) == 12


def test_a_target_is_put_together_in_plain_words_and_may_be_cancelled():
    at = open_page("train")
    at = field(at, "Epochs").set_value(2000).run()
    at = at.radio[0].set_value("excess").run()
    at = at.selectbox(key="train.searching target-measure").set_value("hgr_rdc").run()
    at = field(at, "At most").set_value(0.03).run()
    at = click(at, "Find the weight")
    search = SearchJob(at.query_params["search"])
    assert str(search.spec.plan.target) == "hgr_rdc<=floor+0.03"
    assert search.spec.plan.n_folds == 10
    at = click(at, "Cancel")
    assert wait(search).state == CANCELLED
    at = at.run()
    assert "Stopped" in at.warning[0].value
