"""Every page of the app: what it says, what it draws, and that it survives what people do."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from fairdash.data.source import CatalogueSource, load_source
from fairdash.data.uploads import keep_upload
from fairdash.runs.listing import list_runs
from fairdash.runs.status import DONE
from fairdash.runs.store import Run, create_run
from fairdash.ui.pages import PAGES
from fairdash.ui.train.searching import GRID, METHOD
from tests.ui.conftest import PLAN, ROOT, SOURCE, charts, move, open_page, words


@pytest.mark.parametrize("name", PAGES)
def test_every_page_opens_with_nothing_there(name):
    at = open_page(name)
    assert not at.exception
    assert not at.error
    assert len(at.title) == 1


@pytest.mark.parametrize("name", ["train", "tradeoff"])
def test_a_run_that_is_gone_is_said_plainly(name):
    at = open_page(name, run="0123456789ab")
    assert not at.exception
    assert "This run is gone" in at.error[0].value
    assert not at.run().error, "the next look must not stumble over it again"


def test_a_data_set_that_is_gone_is_said_plainly():
    at = open_page("data", dataset="0123456789abcdef")
    assert not at.exception
    assert "not stored here" in at.error[0].value
    assert "Household" in words(at)


def test_home_lists_runs_and_names_the_damaged(finished_run):
    bad = create_run(SOURCE, PLAN)
    (bad.folder / "spec.json").write_text("{")
    at = open_page("home")
    assert "Household insurance" in words(at)
    assert "done" in words(at)
    assert bad.id in at.warning[0].value


@pytest.mark.parametrize(
    ("weights", "words_of_the_error"),
    [
        ("-1 2", "negative"),
        ("", "empty"),
        ("1 1", "repeated"),
        ("one two", "numbers"),
        ("nan", "negative or not"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused_at_the_field(weights, words_of_the_error):
    at = open_page("train")
    at = at.selectbox(key=GRID).set_value("My own").run()
    at = at.text_input[0].set_value(weights).run()
    at = next(button for button in at.button if button.label == "Train").click().run()
    assert not at.exception
    assert words_of_the_error in at.error[0].value
    assert not list_runs().runs


def test_several_methods_and_another_loss_are_trained_and_compared():
    at = open_page("train")
    at = at.multiselect(key=METHOD).set_value(["hgr_spline", "pearson"]).run()
    at = at.selectbox(key="train.form loss").set_value("poisson").run()
    at = at.checkbox(key="train.form balance").set_value(True).run()
    at = at.selectbox(key=GRID).set_value("My own").run()
    at = at.text_input[0].set_value("1").run()
    at = at.slider(key="train.form splits").set_value(1).run()
    epochs = next(each for each in at.number_input if each.label.startswith("Epochs"))
    at = epochs.set_value(4).run()
    at = next(button for button in at.button if button.label == "Train").click().run()
    assert not at.exception
    (run,) = list_runs().runs
    assert at.query_params["run"] == run.id
    assert run.spec.plan.methods == ("standard", "hgr_spline", "pearson")
    assert run.spec.plan.settings.n_epochs == 4
    assert (run.spec.plan.settings.loss, run.spec.plan.settings.balance) == ("poisson", True)
    until = time.monotonic() + 60
    seen = set()
    while not run.status.is_over and time.monotonic() < until:
        seen.add(run.status.doing)
        time.sleep(0.05)
    assert run.status.state == DONE
    assert any("on the CPU" in doing or "on the GPU" in doing for doing in seen)
    result = run.read_result()
    split = result.splits[0]
    for y_pred in result.predictions:
        assert y_pred[split.train].mean() == pytest.approx(result.target[split.train].mean(), rel=1e-6)
    at = open_page("train", run=run.id)
    assert at.success[0].value.startswith("Done in")
    assert any(button.label == "See what fairness costs" for button in at.button)
    at = open_page("tradeoff", run=run.id)
    assert not at.exception
    choice = next(box for box in at.selectbox if box.label == "Method")
    assert len(choice.options) == 2
    assert not choice.set_value("pearson").run().exception


def choose_upload(at, content, name="policies.csv"):
    at = at.segmented_control(key="data.choice table").set_value("upload").run()
    return at.file_uploader[0].set_value((name, content, "text/csv")).run()


def policies(n=120):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"id": np.arange(n) + 1000, "age": rng.integers(18, 80, n), "power": rng.normal(5, 1, n).round(3)}
    )
    return frame.assign(cost=(frame["power"] * 10 + 0.1 * frame["age"]).round(2))


def test_a_hostile_header_is_plain_text_everywhere():
    name = "![x](http://evil.example/a.png) <b>$x^2$</b>"
    content = policies().rename(columns={"age": name}).to_csv(index=False).encode()
    keep_upload(content, name="x.csv")
    at = choose_upload(open_page("data"), content)
    box = next(box for box in at.selectbox if box.label.startswith("Sensitive"))
    at = box.set_value(name).run()
    assert not at.exception
    assert not at.error
    said = words(at)
    assert "\\!\\[x\\]\\(http\\:\\/\\/evil\\.example" in said
    assert "![x](" not in said
    assert "<b>$" not in said
    for chart in charts(at).values():
        assert "<b>$" not in json.dumps(chart)


def test_the_app_process_stays_without_torch(finished_run):
    # The data page grows trees on a table, to find columns that give its target away; no other page does.
    last_data = sorted(PAGES, key=lambda name: name == "data")
    program = (
        "import sys\n"
        "from tests.ui.conftest import open_page\n"
        f"for name in {last_data!r}:\n"
        f"    at = open_page(name, run={finished_run.id!r})\n"
        "    assert not at.exception and not at.error, (name, at.error)\n"
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
    assert not at.exception
    assert "This run is gone" in at.error[0].value


def choose(at, dataset):
    return at.segmented_control(key="data.choice table").set_value(dataset).run()


def box(at, label):
    (found,) = [box for box in at.selectbox if box.label.startswith(label)]
    return found


@pytest.mark.data
def test_the_motor_policies_come_with_their_exposure(real_data):
    at = choose(open_page("data"), "motor")
    assert not at.exception
    assert not at.error
    assert "100,021 rows · 11 features · sensitive: Age · target: Indtppd" in words(at)
    assert box(at, "Exposure").value.startswith("None")
    at = box(at, "Target").set_value("frequency").run()
    assert not at.error
    assert "target: ClaimsPerYear · exposure: Years" in words(at)
    assert box(at, "Exposure").value == "Years"
    roles = at.dataframe[1].value.set_index("column")["role"]
    assert (roles["Years"], roles["Age"]) == ("exposure", "sensitive")
    source = load_source(at.query_params["dataset"])
    assert source == CatalogueSource(dataset="motor", options={"target": "frequency"})
    assert "exposure: Years" in words(open_page("data", dataset=source.id))


@pytest.mark.data
def test_the_counties_are_shown(real_data):
    at = choose(open_page("data"), "census_county")
    assert not at.exception
    assert not at.error
    assert "3,218 rows · 31 features · sensitive: WomenShare · target: ChildPoverty" in words(at)


@pytest.mark.parametrize("dataset", ["census", "census_county"])
def test_a_set_that_must_be_brought_says_how(dataset, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRDASH_DATA", str(tmp_path))
    at = choose(open_page("data"), dataset)
    assert not at.exception
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
    assert not at.exception
    assert "not the published" in at.error[0].value
    at = at.file_uploader[0].set_value(("x.csv", content, "text/csv")).run()
    assert not at.exception
    assert not at.error
    assert "3,218 rows" in words(at)
    assert "3,218 rows" in words(choose(open_page("data"), "census_county"))


def test_a_set_that_can_be_fetched_offers_it(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRDASH_DATA", str(tmp_path))
    at = choose(open_page("data"), "motor")
    assert not at.exception
    assert "not on this machine yet" in at.info[0].value
    assert any(button.label.startswith("Download") for button in at.button)


def test_an_exposure_that_can_be_used_or_not():
    frame = policies()
    frame["exposure"] = np.linspace(0.1, 1, len(frame)).round(2)
    at = choose_upload(open_page("data"), frame.to_csv(index=False).encode())
    assert not at.error
    assert box(at, "Exposure").value == "exposure"
    assert "exposure: exposure" in words(at)
    frame.loc[4, "exposure"] = 0
    at = choose_upload(open_page("data"), frame.to_csv(index=False).encode())
    assert not at.exception
    assert "above zero" in at.error[0].value
    assert "line 6" in at.error[0].value
    at = box(at, "Exposure").select_index(0).run()
    assert not at.error
    # Taken out of that role it can be a feature.
    assert "exposure: " not in words(at)
