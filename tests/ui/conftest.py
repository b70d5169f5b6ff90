"""The app without a browser: pages driven by AppTest, and a finished run to show."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, local_script_runner

from fairdash.data.source import CatalogueSource
from fairdash.evaluation.result import SweepResult
from fairdash.runs import worker
from fairdash.runs.store import Run, RunSpec
from fairdash.storage import LOCAL
from fairdash.training.defaults import current_defaults
from fairdash.training.sweep import Sweep
from tests.runs.finished import QUICK

# Search for components once: every new AppTest searches all installed packages, longer than the page takes
# (Streamlit 1.67).
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# Compile pages once, as a server does; AppTest would compile them at every run.
local_script_runner.ScriptCache = cache(local_script_runner.ScriptCache)

ROOT = Path(__file__).parents[2]
SOURCE = CatalogueSource(dataset="household", options={"n": 600})
PLAN = Sweep(
    methods=("standard", "hgr_nn"),
    lams=(0.5, 1.0, 4.0),
    n_splits=2,
    validation_share=0.2,
    settings=replace(QUICK, hidden=(8,), adversary_hidden=(8,), n_epochs=12, warm_up_epochs=3),
    device="cpu",
)


@pytest.fixture(autouse=True)
def _no_browser_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest does not request a file after a click."""
    monkeypatch.setattr("fairdash.ui.widgets.SECONDS_TO_ASK", 0.0)


def open_page(name: str, **address: str) -> AppTest:
    """Run one page of the app at an address; neither this run nor any later run may raise an exception."""
    at = AppTest.from_file(str(ROOT / "fairdash" / "ui" / "main.py"), default_timeout=60)
    run = at._run

    def run_without_exception(*given: Any, **options: Any) -> AppTest:
        found = run(*given, **options)
        assert not found.exception
        return found

    at._run = run_without_exception
    if name != "home":
        # Set the page before the first run, which would draw home: the address of a page is its file name.
        (script,) = (ROOT / "pages").rglob(f"{name}.py")
        at.switch_page(str(script))
    for key, value in address.items():
        at.query_params[key] = value
    return at.run()


def words(at: AppTest) -> str:
    """All Markdown text of the page."""
    parts = (at.title, at.subheader, at.markdown, at.caption, at.info)
    return "\n".join(each.value for part in parts for each in part)


def calm(at: AppTest) -> AppTest:
    """The page, after checking that it shows no error."""
    assert not at.error, [error.value for error in at.error]
    return at


def named(parts: Sequence[Any], label: str) -> Any:
    """The element with this label, or else the first whose label begins with it."""
    same = [each for each in parts if each.label == label]
    (found,) = same or [each for each in parts if each.label.startswith(label)]
    return found


def button(at: AppTest, label: str) -> Any:
    return named(at.button, label)


def click(at: AppTest, label: str) -> AppTest:
    return button(at, label).click().run()


def box(at: AppTest, label: str) -> Any:
    return named(at.selectbox, label)


def charts(at):
    """Name, mapped to the plotly figure that the browser gets."""
    found = {}
    for element in at.get("plotly_chart"):
        spec = json.loads(element.proto.spec)
        found[spec["layout"]["title"]["text"]] = spec
    for element in at.get("bidi_component"):
        for figure in json.loads(element.proto.json)["figures"]:
            found[figure["spec"]["layout"]["title"]["text"]] = figure["spec"]
    return found


def stage(at):
    """Arguments of the interactive component: its slider, figures, transitions and cards."""
    (element,) = at.get("bidi_component")
    return json.loads(element.proto.json)


def move(at, lam):
    """Release the slider at λ."""
    at.query_params["lam"] = f"{lam:g}"
    return at.run()


def numbers(values):
    """Numbers of a trace, which plotly stores as a list or as bytes."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])
    return np.array(values, dtype=float)


#: Two fair methods, as in the run that follows a preview.
TWO_METHODS = replace(PLAN, methods=("standard", "hgr_spline", "pearson"), lams=(1.0,), n_splits=1)


def carried_out(plan: Sweep, home: Path, *, owner: str = LOCAL) -> Path:
    """Folder of a finished run, in the given store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRDASH_HOME", str(home))
        run = Run.create(RunSpec(source=SOURCE, plan=plan, owner=owner, defaults=current_defaults()))
        assert worker.main(run.id) == 0
        return run.folder


def _taken_over(home: Path) -> Run:
    """The run of that home, copied to this test's store."""
    (folder,) = (home / "runs").iterdir()
    shutil.copytree(folder, Run.home() / folder.name)
    return Run(folder.name)


@pytest.fixture
def finished_run(shared) -> Run:
    """A finished run in this test's store."""
    return _taken_over(shared("front"))


@pytest.fixture
def run_of_two_methods(shared) -> Run:
    """A finished run of two fair methods in this test's store."""
    return _taken_over(shared("front of two methods"))


@pytest.fixture
def another_result(monkeypatch) -> Iterator[Callable[[SweepResult], None]]:
    """Replace the result of every run by the given one, whatever the server has cached."""

    def give(result: SweepResult) -> None:
        st.cache_resource.clear()
        monkeypatch.setattr("fairdash.runs.store.Run.read_result", lambda run: result)

    yield give
    st.cache_resource.clear()
