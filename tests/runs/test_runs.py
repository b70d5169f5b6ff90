"""Runs and searches: stored, run in a separate process, cancelled, and reported if their worker dies."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.auditing.plan import AuditPlan, Columns
from fairdash.data import keep_upload
from fairdash.data.source import CatalogueSource, UploadSource
from fairdash.errors import RunError
from fairdash.runs import state, store, worker
from fairdash.runs.audits import create_audit
from fairdash.runs.launch import start_search
from fairdash.runs.listing import list_runs
from fairdash.runs.models import ModelJob, create_model
from fairdash.runs.searches import SearchJob, create_search
from fairdash.runs.state import DONE, FAILED, QUEUED
from fairdash.runs.store import Run, RunSpec, create_run
from fairdash.storage import data_folder
from fairdash.training.defaults import current_defaults, default_settings
from fairdash.training.lam_search import LamSearch, Target, search_lam
from fairdash.training.search import SearchGrid, SettingsSearch, search_settings
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import random_splits
from fairdash.training.sweep import Sweep, default_plan
from tests.data.test_codes import ROLES, claims
from tests.golden.policies import source as claims_of_policies
from tests.serving import until
from tests.tiers import few

pytestmark = pytest.mark.usefixtures("light_runs")

SOURCE = CatalogueSource(dataset="household", options={"n": 200})
QUICK = TrainingSettings(hidden=(8,), adversary_hidden=(8,), batch_size=64, n_epochs=4, warm_up_epochs=1)
PLAN = Sweep(lams=(0.5, 1.0), n_splits=2, settings=QUICK, device="cpu")
ENDLESS = replace(PLAN, settings=replace(QUICK, n_epochs=100_000))


def wait(job, wanted=lambda status: status.is_over):
    """The status of a job once `wanted` accepts it, by default when the job has ended."""
    try:
        until(lambda: wanted(job.status))
    except AssertionError:
        logs = {path.name: path.read_text() for path in data_folder("workers").glob("*.log")}
        pytest.fail(f"still {job.status}; logs: {logs}")
    return job.status


@pytest.mark.parametrize("data_set", few(["costs", "claims"], "costs"))
def test_a_sweep_in_a_notebook_equals_a_run_with_the_same_settings(data_set, monkeypatch):
    """All numbers are equal: predictions, results with verdicts, blended models, baselines, references."""
    monkeypatch.setattr("fairdash.evaluation.execute_sweep._has_references", lambda _: True)
    source = SOURCE if data_set == "costs" else claims_of_policies()
    data = source.load()
    own = default_settings(data)
    few = {"methods": ("standard", "hgr_spline"), "lams": (0.5, 2.0), "n_splits": 1, "device": "cpu"}
    few["settings"] = replace(QUICK, hidden=(4,), n_epochs=2, loss=own.loss, balance=own.balance)
    run = create_run(source, default_plan(data, **few))
    assert worker.main(run.id) == 0, run.status
    there, here = run.read_result(), fd.sweep(data, **few)
    assert here.sweep == run.spec.plan
    np.testing.assert_array_equal(there.predictions, here.predictions)
    np.testing.assert_array_equal(there.price, here.price)
    for name in ("frames", "paths", "baselines", "references", "importance", "members"):
        mine, its = getattr(here, name), getattr(there, name)
        mine, its = (each if isinstance(each, dict) else {"": each} for each in (mine, its))
        assert list(mine) == list(its)
        for objective in mine:
            pd.testing.assert_frame_equal(mine[objective], its[objective], check_exact=True)
    assert (here.gain, here.evaluations) == (there.gain, there.evaluations)


def test_a_run_states_which_default_settings_have_changed_since_the_run():
    then = current_defaults() | {"fairdash": "0.0.9", "methods": ["standard", "hgr_nn"], "n_splits": 3}
    spec = RunSpec(source=SOURCE, plan=replace(PLAN, methods=("standard", "hgr_nn"), n_splits=7))
    assert not Run.create(replace(spec, defaults=current_defaults())).other_defaults
    # Seven splits were chosen by the user; the default number was different then too.
    assert Run.create(replace(spec, defaults=then)).other_defaults == (
        "fairdash 0.0.9, which made this run, had other defaults: "
        "methods standard, hgr_nn (now standard, hgr_spline, chi2_kde, hgr_nn)."
    )
    # Imported runs may contain any values.
    for odd in ({"methods": [["standard"], {}]}, {"fairdash": ["x"], "methods": "hgr_nn", "lams": None}):
        assert not Run.create(replace(spec, defaults=odd)).other_defaults


def test_defaults_are_the_same_in_notebook_command_and_page(monkeypatch):
    """A notebook, the command line and the page that starts a run automatically use the same plan."""
    from fairdash.__main__ import main as command
    from fairdash.ui.tradeoff import run as run_page

    asked, line = [], []

    class Enough(BaseException):
        pass

    def hear(dataset, plan, **_):
        asked.append(plan)
        raise Enough

    monkeypatch.setattr("fairdash.evaluation.execute_sweep.execute_sweep", hear)
    monkeypatch.setattr(run_page, "start_run", lambda source, plan, **_: line.append(plan))
    monkeypatch.setattr(run_page, "current_owner", lambda: "local")
    source = CatalogueSource(dataset="household", options={})
    for call in (lambda: fd.sweep(source.load()), lambda: command(["sweep", "--dataset", "household"])):
        with pytest.raises(Enough):
            call()
    run_page.start_quick(source, "demographic_parity")
    assert asked[0] == asked[1] == line[0]
    assert fd.FairRegressor().method == asked[0].methods[1]


def test_a_job_cannot_read_a_file_uploaded_by_another_owner():
    """Knowing the hash of a file, for example from an imported run, gives no access to the file."""
    theirs, mine = 32 * "a", 32 * "b"
    content = claims(300).to_csv(index=False).encode()
    upload = keep_upload(content, name="claims.csv", owner=theirs)
    source = UploadSource(sha256=upload.sha256, name="claims.csv", roles=ROLES)
    # The file is also in the memory of this process.
    plan = default_plan(source.load(owner=theirs))
    price = AuditPlan(columns=Columns(price="VehPower", sensitive="DrivAge"))
    model = {"run": "0" * 12, "method": "standard", "lam": 0.0}
    for job in (
        Run.create(RunSpec(source=source, plan=plan, owner=mine)),
        Run.create(RunSpec(source=source, plan=plan, first=plan, owner=mine)),
        create_search(source, LAM, owner=mine),
        create_model(source, plan, owner=mine, **model),
        create_audit(source, price, owner=mine),
    ):
        assert (worker.main(job.id), job.status.state) == (1, FAILED)
        assert "uploaded file is not stored here" in job.status.message
        assert getattr(job, "available_result", None) is None
    keep_upload(content, name="mine.csv", owner=mine)
    assert source.load(owner=mine).n_rows == 300


def test_a_worker_does_not_start_a_run_locked_by_another_worker(monkeypatch):
    monkeypatch.setattr(worker, "SECONDS_FOR_THE_LOCK", 0.2)
    run = create_run(SOURCE, PLAN)
    with run.lock():
        assert (worker.main(run.id), run.status.state) == (0, QUEUED)
    assert run.curves().empty


@pytest.mark.parametrize("kind", [Run, ModelJob, SearchJob])
def test_an_unknown_job_is_reported_as_gone(kind):
    for name in ("", "0" * 12, "../../etc", "a" * 300, "ABCDEF123456", "x\0y"):
        with pytest.raises(RunError, match="gone"):
            kind(name)


def test_a_damaged_run_is_named_and_the_other_runs_are_listed():
    good, bad = create_run(SOURCE, PLAN), create_run(SOURCE, PLAN)
    for name in ("status.json", "spec.json"):
        for content in ("", "{", '{"a": 1}', "[]", "\0"):
            (bad.folder / name).write_text(content)
            found = list_runs()
            assert ([run.id for run in found.runs], found.damaged) == ([good.id], (bad.id,))


def test_a_damaged_result_is_reported_and_a_failed_write_leaves_no_partial_files(done, monkeypatch):
    result = done.read_result()
    (done.folder / "result" / "members.parquet").write_bytes(b"PAR1")
    with pytest.raises(RunError, match="damaged"):
        done.read_result()
    other = create_run(SOURCE, PLAN)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fairdash.runs.result.write_whole", full)
    with pytest.raises(OSError, match="No space"):
        other.write_result(result)
    assert sorted(path.name for path in other.folder.iterdir()) == ["spec.json", "status.json"]


def test_runs_created_within_one_second_are_listed_in_order():
    asked = [create_run(SOURCE, PLAN).id for _ in range(5)]
    assert [run.id for run in list_runs().runs] == asked[::-1]


def test_a_list_of_runs_takes_no_lock_and_parses_each_spec_once(monkeypatch):
    runs = [create_run(SOURCE, PLAN) for _ in range(3)]
    with monkeypatch.context() as patch:
        patch.setattr(state, "is_at_work", None)
        assert {run.id for run in list_runs().runs} == {run.id for run in runs}
        patch.setattr(store, "parse_spec", None)
        assert ([Run(run.id).spec.plan for run in runs], len(list_runs().runs)) == ([PLAN] * 3, 3)
    changed = replace(runs[0].spec, plan=replace(PLAN, n_splits=7))
    (runs[0].folder / "spec.json").write_text(store.spec_text(changed))
    assert Run(runs[0].id).spec == changed, "a file that has changed is read again"


def test_the_job_type_is_recognised_from_the_job_folder():
    model = create_model(SOURCE, PLAN, run="0" * 12, method="hgr_nn", lam=1.0)
    for each in (create_run(SOURCE, PLAN), create_search(SOURCE, LAM), model):
        again = worker.open_job(each.id)
        assert (type(again), again.folder) == (type(each), each.folder)
        for content in ("", "{", "[]", "\0", '{"lam": "x"}'):
            (each.folder / "spec.json").write_text(content)
            with pytest.raises(RunError, match="damaged"):
                type(each)(each.id).spec  # noqa: B018 (reading it is the test)
    for nobody in ("0" * 12, "", "..", "../runs"):
        with pytest.raises(RunError, match="gone"):
            worker.open_job(nobody)


SETTINGS = SettingsSearch(
    method="hgr_spline",
    grid=SearchGrid(hidden=((8,),), dropout=(0.0,), lr=(1e-6, 2e-2), weight_decay=(0.0,)),
    **{"n_folds": 2, "random_state": 3, "settings": QUICK, "device": "cpu"},
)
LAM_PLAN = {"lams": (0.5, 2.0), "method": "hgr_spline", "n_folds": 2, "settings": QUICK}
LAM = LamSearch(target=Target.parse("mse<=+20%"), **LAM_PLAN)


def test_a_search_finishes_in_a_separate_process_and_is_not_listed_as_a_run():
    search = start_search(SOURCE, SETTINGS)
    assert (wait(search).state, SearchJob(search.id).read_result().best.lr) == (DONE, 2e-2)
    assert list_runs().runs == ()
    with pytest.raises(RunError, match="gone"):
        Run(search.id)


@pytest.mark.parametrize(("plan", "searches"), [(SETTINGS, search_settings), (LAM, search_lam)])
def test_a_search_job_equals_a_library_search_on_the_training_rows_of_the_first_split(plan, searches):
    search = create_search(SOURCE, plan)
    assert (search.spec.plan, worker.main(search.id)) == (plan, 0)
    rows = random_splits(200, n_splits=1, random_state=plan.random_state)[0].train
    found, here = search.read_result(), searches(SOURCE.load(), plan, rows=rows)
    for name in ("best", "lam", "reached", "rule"):
        assert getattr(found, name) == getattr(here, name, None), name
    pd.testing.assert_frame_equal(found.frame, here.frame)
    assert "160 rows" in found.rule
