"""The Runs page: listing, naming, comparing, repeating, exporting, importing and deleting runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st

from fairdash.data import UploadSource, keep_upload
from fairdash.data.uploads import delete_upload
from fairdash.jobs import queue
from fairdash.runs.archive import export_run
from fairdash.runs.deletion import delete_run
from fairdash.runs.launch import enqueue
from fairdash.runs.listing import list_runs
from fairdash.runs.store import Run, create_run
from fairdash.ui.text import safe
from tests.data.test_codes import ROLES, claims
from tests.runs.finished import PLAN, SOURCE, finished
from tests.ui.conftest import button, calm, charts, click, named, open_page, words

EVIL = "![x](http://evil.example/a.png) <b>$x^2$</b>"


@pytest.fixture(autouse=True)
def _nobody_works(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Jobs wait, and the server has no run of another test in memory."""
    monkeypatch.setattr(queue, "ensure_worker", lambda queue_name: None)
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that can be compared, and one run with another objective."""
    names = {"one": {}, "two": {"methods": ("standard", "hgr_spline"), "random_state": 1}}
    names["other"] = {"objective": "equalized_residuals"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRDASH_HOME", str(tmp_path_factory.mktemp("page")))
        for name, changed in names.items():
            finished(replace(PLAN, **changed)).rename(name)
        return Run.home()


@pytest.fixture
def runs(template: Path) -> dict[str, Run]:
    shutil.copytree(template, Run.home())
    return {run.name: run for run in list_runs().runs}


def listed(at) -> list[str]:
    return [box.label for box in at.checkbox]


def choose(at, *names: str):
    for name in names:
        at = calm(named(at.checkbox, name).check().run())
    return at


def bring_in(at, content: bytes):
    return at.file_uploader[0].set_value(("run.zip", content, "application/zip")).run()


def downloads(at) -> list[str]:
    return [each.proto.label for each in at.get("download_button")]


def test_runs_are_listed_filtered_and_named(runs):
    at = calm(open_page("runs"))
    assert sorted(listed(at)) == ["one", "other", "two"]
    assert "Demographic parity · Fair spline network · 2 weights λ × 2 splits · done" in words(at)
    found = calm(at.text_input[0].set_value("SPLINE household").run())
    assert listed(found) == ["two"]
    found = calm(found.text_input[0].set_value("").run())
    enqueue(create_run(replace(SOURCE, options={"n": 300}), PLAN))
    found = calm(found.multiselect[0].set_value(["waiting"]).run())
    assert listed(found) == [safe(SOURCE.title)]
    found = calm(found.multiselect[0].set_value(["failed"]).run())
    assert "Remove a filter" in words(found)
    found = calm(found.multiselect[0].set_value([]).run())
    (title,) = found.selectbox[0].options
    assert len(listed(calm(found.selectbox[0].set_value(title).run()))) == 4


def test_the_address_contains_the_id_of_a_single_chosen_run(runs):
    at = calm(open_page("runs", run=runs["two"].id))
    assert named(at.checkbox, "two").value
    assert "two" in [each.value for each in at.subheader]
    assert "Export (zip)" in downloads(at)
    at = choose(at, "one")
    assert "run" not in at.query_params
    assert "2 runs chosen" in [each.value for each in at.subheader]
    at = calm(named(at.checkbox, "two").uncheck().run())
    assert at.query_params["run"] in (runs["one"].id, [runs["one"].id])


def test_an_unknown_run_in_the_address_is_reported_once(runs):
    for address in ("../../etc/passwd", EVIL, "", "x" * 5000):
        at = open_page("runs", run=address)
        assert "This run is gone" in at.error[0].value
        assert len(at.checkbox) == 3
        calm(at.run())


def test_a_run_name_can_be_set_shown_as_plain_text_and_removed(runs):
    at = open_page("runs", run=runs["one"].id)
    at = calm(named(at.text_input, "Name").set_value(EVIL).run())
    assert Run(runs["one"].id).name == EVIL
    shown = words(at) + "".join(listed(at)) + words(calm(open_page("home")))
    assert [part for part in ("![x](", "<b>$") if part in shown] == []
    calm(named(at.text_input, "Name").set_value("").run())
    assert Run(runs["one"].id).name == ""


def test_run_again_starts_a_new_run_with_the_same_plan(runs):
    at = calm(click(open_page("runs", run=runs["one"].id), "Run again"))
    (again,) = {run.id for run in list_runs().runs} - {run.id for run in runs.values()}
    assert Run(again).spec.plan == PLAN
    assert at.query_params["run"] in (again, [again])
    calm(click(at, "Stop"))
    assert Run(again).status.state == "cancelled"


def test_the_runs_page_states_what_a_deletion_removes_and_deletes_it_completely(runs):
    at = open_page("runs", run=runs["one"].id)
    assert "This deletes this run from this machine" in words(at).replace("\\", "")
    at = calm(click(at, "Delete permanently"))
    assert not runs["one"].folder.exists()
    assert sorted(listed(at)) == ["other", "two"]
    at = choose(at, "other", "two")
    assert "This deletes 2 runs" in words(at).replace("\\", "")
    assert "No run yet" in words(calm(click(at, "Delete permanently")))
    assert list_runs().runs == ()


def test_an_exported_run_can_be_imported_on_the_runs_page(runs):
    content = export_run(runs["one"])
    delete_run(runs["one"])
    at = calm(bring_in(calm(open_page("runs")), content))
    assert "imported" in at.success[-1].value
    assert at.query_params["run"] in (runs["one"].id, [runs["one"].id])
    assert len(list_runs().runs) == 3
    at = calm(bring_in(calm(at.run()), content))
    assert "already" in at.success[-1].value
    assert "not a run written by fairdash" in bring_in(at, content[:-1]).error[0].value
    assert len(list_runs().runs) == 3


def test_a_run_whose_data_file_was_deleted_is_shown_with_unavailable_actions_disabled():
    upload = keep_upload(claims(200).to_csv(index=False).encode(), name="claims.csv")
    run = finished(source=UploadSource(sha256=upload.sha256, name="claims.csv", roles=ROLES))
    delete_upload(upload.sha256)
    at = calm(open_page("runs", run=run.id))
    assert "not on this machine" in words(at)
    assert button(at, "Run again").disabled
    at = calm(open_page("tradeoff", run=run.id))
    assert charts(at)
    assert "not on this machine" in words(at)
    assert "Refit this model on all rows" not in [each.label for each in at.button]
    assert sum("Report" in label for label in downloads(at)) == 1
