"""Public names, the command line's words, and homes of older versions: see the package's docstring."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fairdash as fd
from fairdash.__main__ import main
from fairdash.reports.paper import committed, read_result
from fairdash.runs.archive import export_run, import_run
from fairdash.runs.listing import list_runs
from fairdash.runs.models import ModelJob, ModelSpec, find_model
from fairdash.runs.searches import SearchJob, SearchSpec
from fairdash.runs.store import Run, RunSpec, parse_spec, spec_text
from fairdash.training.sweep import train_sweep
from tests.golden.texts import HERE, help_of_every_command, public_names
from tests.ui.conftest import open_page

#: Commits whose homes are kept: before the settings were tuned, and since.
VERSIONS = ("c628dfb", "276bcb4")


@pytest.fixture(params=VERSIONS)
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with zipfile.ZipFile(HERE / f"home-{request.param}.zip") as archive:
        archive.extractall(tmp_path)
    monkeypatch.setenv("FAIRDASH_HOME", str(tmp_path))
    return tmp_path


def the_only(folder: Path) -> str:
    (each,) = folder.iterdir()
    return each.name


def is_within(old: object, new: object) -> bool:
    """Whether everything the old JSON says stands in the new one too."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(key in new and is_within(old[key], new[key]) for key in old)
    return old == new


@pytest.mark.parametrize("text", ["names", "help"])
def test_public_names_and_help_are_those_written_down(text: str) -> None:
    now = {"names": public_names, "help": help_of_every_command}[text]()
    assert now == (HERE / f"{text}.txt").read_text(encoding="utf-8")


def test_a_run_opens(home: Path) -> None:
    (run,) = list_runs().runs
    plan, result = run.spec.plan, run.read_result()
    assert plan.methods == ("standard", "hgr_spline")
    assert run.spec.first is not None
    assert result.predictions.shape == (len(plan.models()), 120)
    assert result.references is not None
    assert result.importance is not None
    assert len(run.curves()) > 0
    (home / "runs" / run.id / "result").rename(home / "result")
    assert run.available_plan == run.spec.first
    assert run.read_result().predictions.shape == (2, 120)


def test_a_run_says_which_defaults_are_others_today(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run,) = list_runs().runs
    said = run.other_defaults
    assert said.startswith("This run was made by an earlier version of fairdash, and its plan differs from")
    assert "methods standard, hgr_spline (now standard, hgr_spline, chi2_kde, hgr_nn); weights" in said
    assert "splits 2 (now 5)" in said
    assert "share of validation rows" not in said
    assert said in run.read_result().notes
    assert main(["runs", "show", run.id]) == 0
    assert said in capsys.readouterr().out
    assert main(["report", run.id, "--out", str(home / "report.html")]) == 0
    report = (home / "report.html").read_text(encoding="utf-8")
    assert len(report) > 1e6
    assert said in report
    page = open_page("tradeoff", run=run.id)
    assert any(each.value.startswith("This run was made by an earlier version") for each in page.warning)


def test_a_run_leaves_and_comes_in_as_it_was(home: Path) -> None:
    (run,) = list_runs().runs
    content = export_run(run)
    shutil.rmtree(run.folder)
    assert export_run(import_run(content).run) == content


def test_a_plan_trains_to_what_was_stored(home: Path) -> None:
    # Other processors round otherwise; another seed or order of drawing would move the predictions by far more.
    run = Run(the_only(home / "runs"))
    stored = run.read_result()
    trained = train_sweep(run.spec.source.load(), run.spec.plan)
    spread = stored.predictions.std()
    np.testing.assert_allclose(trained.predictions, stored.predictions, atol=1e-3 * spread)


def test_searches_open(home: Path) -> None:
    results = [SearchJob(path.name).read_result() for path in (home / "searches").iterdir()]
    assert {result.lam is None for result in results} == {True, False}
    assert all(len(result.frame) >= 2 for result in results)


def test_a_model_bundle_opens(home: Path) -> None:
    job = ModelJob(the_only(home / "models"))
    again = find_model(run=job.spec.run, method="hgr_spline", lam=1.0)
    assert again is not None
    assert again.id == job.id
    assert job.spec.figures == {"mse": 1.5, "note": "text", "none": None}
    with zipfile.ZipFile(io.BytesIO(job.bundle())) as bundle:
        bundle.extractall(home / "bundle")
    model = fd.FairRegressor.load(home / "bundle" / "model.safetensors")
    assert np.isfinite(model.predict(job.spec.source.load().features)).all()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("room", "spec"), [("runs", RunSpec), ("searches", SearchSpec), ("models", ModelSpec)]
)
def test_what_was_asked_for_is_written_as_it_was(home: Path, room: str, spec: type) -> None:
    for path in (home / room).iterdir():
        text = (path / "spec.json").read_text(encoding="utf-8")
        old, new = json.loads(text), json.loads(spec_text(parse_spec(spec, text)))
        del old["fairdash"]
        assert is_within(old, new)


@pytest.mark.parametrize("study", committed())
def test_a_committed_study_opens(study: str) -> None:
    result = read_result(study)
    assert result.study == study
    assert result.tables
    assert all(len(table) for table in result.tables.values())
