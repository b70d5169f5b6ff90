"""Every page of the app: what it says, what it draws, and that it survives what people do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fairdash.jobs import queue
from fairdash.runs import worker
from fairdash.runs.listing import list_runs
from fairdash.runs.store import Run
from fairdash.ui.pages import PAGES
from fairdash.ui.train.searching import GRID, METHOD
from tests.ui.conftest import ROOT, click, move, named, open_page, words


@pytest.mark.parametrize("name", PAGES)
def test_every_page_opens_with_nothing_there(name):
    at = open_page(name)
    assert not at.error
    assert len(at.title) == 1


@pytest.mark.parametrize(
    ("name", "kind"), [("train", "run"), ("tradeoff", "run"), ("train", "search"), ("audit", "audit")]
)
def test_what_is_gone_is_said_plainly(name, kind):
    at = open_page(name, **{kind: "0123456789ab"})
    assert f"This {kind} is gone" in at.error[0].value
    assert not at.run().error, "the next look must not stumble over it again"


def test_a_grid_that_makes_no_sense_is_refused_at_the_field():
    at = open_page("train").selectbox(key=GRID).set_value("My own").run()
    refused = {
        "-1 2": "negative",
        "": "empty",
        "1 1": "repeated",
        "one two": "numbers",
        "nan": "negative or not",
    }
    for weights, said in refused.items():
        at = at.text_input[0].set_value(weights).run()
        at = click(at, "Train")
        assert said in at.error[0].value
    assert not list_runs().runs


def test_several_methods_and_another_loss_are_trained_and_compared(monkeypatch):
    monkeypatch.setattr(queue, "see_to", lambda lane: None)
    at = open_page("train")
    at = at.multiselect(key=METHOD).set_value(["hgr_spline", "pearson"]).run()
    at = at.selectbox(key="train.form loss").set_value("poisson").run()
    at = at.checkbox(key="train.form balance").set_value(True).run()
    at = at.selectbox(key=GRID).set_value("My own").run()
    at = at.text_input[0].set_value("1").run()
    at = at.slider(key="train.form splits").set_value(1).run()
    at = named(at.number_input, "Epochs").set_value(4).run()
    at = click(at, "Train")
    (run,) = list_runs().runs
    assert at.query_params["run"] == run.id
    assert run.spec.plan.methods == ("standard", "hgr_spline", "pearson")
    assert run.spec.plan.settings.n_epochs == 4
    assert (run.spec.plan.settings.loss, run.spec.plan.settings.balance) == ("poisson", True)
    assert worker.main(run.id) == 0, run.status
    result = run.read_result()
    split = result.splits[0]
    for y_pred in result.predictions:
        assert y_pred[split.train].mean() == pytest.approx(result.target[split.train].mean(), rel=1e-6)
    at = open_page("train", run=run.id)
    assert at.success[0].value.startswith("Done in")
    assert any(button.label == "See what fairness costs" for button in at.button)
    at = open_page("tradeoff", run=run.id)
    choice = next(box for box in at.selectbox if box.label == "Method")
    assert len(choice.options) == 2
    choice.set_value("pearson").run()


def test_the_app_process_stays_without_torch(finished_run):
    # The data page grows trees on a table, to find columns that give its target away; no other page does.
    last_data = sorted(PAGES, key=lambda name: name == "data")
    program = (
        "import sys\n"
        "from tests.ui.conftest import open_page\n"
        f"for name in {last_data!r}:\n"
        f"    at = open_page(name, run={finished_run.id!r})\n"
        "    assert not at.error, (name, at.error)\n"
        "    print(name, 'sklearn' in sys.modules)\n"
        "print('torch' in sys.modules)\n"
    )
    # conftest imports the training room for its fixtures; none of that loads torch by itself.
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    *pages, torch = done.stdout.split("\n")[:-1]
    assert torch == "False"
    assert pages[:-1] == [f"{name} False" for name in last_data[:-1]]


def test_a_run_deleted_while_it_is_shown_does_not_crash_the_page(finished_run):
    import shutil

    at = open_page("tradeoff", run=finished_run.id)
    shutil.rmtree(Run(finished_run.id).folder)
    at = move(at, 4.0)
    assert "This run is gone" in at.error[0].value


def choose(at, dataset):
    return at.segmented_control(key="data.choice table").set_value(dataset).run()


def test_a_set_that_must_be_brought_says_how(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRDASH_DATA", str(tmp_path))
    at = choose(open_page("data"), "census")
    assert not at.error
    assert "not on this machine" in at.info[0].value
    assert "kaggle" in at.info[0].value
    assert not any("Download" in button.label for button in at.button)


@pytest.mark.data
def test_a_set_that_must_be_brought_can_be_handed_over(real_data, monkeypatch, tmp_path):
    content = (real_data / "census" / "acs2015_county_data.csv").read_bytes()
    monkeypatch.setenv("FAIRDASH_DATA", str(tmp_path))
    at = choose(open_page("data"), "census_county")
    at = at.file_uploader[0].set_value(("x.csv", content + b"\n", "text/csv")).run()
    assert "not the published" in at.error[0].value
    at = at.file_uploader[0].set_value(("x.csv", content, "text/csv")).run()
    assert not at.error
    assert "3,218 rows" in words(at)
    assert "3,218 rows" in words(choose(open_page("data"), "census_county"))


def test_a_set_that_can_be_fetched_offers_it(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRDASH_DATA", str(tmp_path))
    at = choose(open_page("data"), "motor")
    assert "not on this machine yet" in at.info[0].value
    assert any(button.label.startswith("Download") for button in at.button)
