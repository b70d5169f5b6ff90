"""Confirmation rows: training ignores them, they are opened once, and every later opening is counted."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.__main__ import main
from fairdash.data.dataset import Dataset
from fairdash.errors import OptionError, RunError
from fairdash.evaluation.execute_sweep import execute_sweep
from fairdash.runs import worker
from fairdash.runs.archive import export_run, import_run
from fairdash.runs.confirmations import CONFIRMATIONS, confirm_run, read_confirmations
from fairdash.runs.searches import create_search
from fairdash.runs.state import DONE, RunStatus, write_status
from fairdash.runs.store import create_run
from fairdash.storage.bundle import sealed_text
from fairdash.storage.log import read
from fairdash.training.search import GRIDS, SettingsSearch
from fairdash.training.split_kinds import FROM_ROWS, MAX_ROWS, default_share, draw_set_aside
from fairdash.training.sweep import Sweep, default_plan, preview_of, train_sweep, trains_for_holdout
from fairdash.utils.records import from_plain, to_plain
from tests.runs.finished import PLAN, SOURCE, finished
from tests.ui.conftest import click, move, open_page, words

pytestmark = pytest.mark.usefixtures("light_runs")
SHARED = replace(PLAN, confirmation_share=0.3)
POINT = {"method": "pearson", "lam": 1.0}


def table(n: int = 400, **roles: np.ndarray) -> Dataset:
    rng = np.random.default_rng(0)
    s, x = rng.normal(size=(2, n))
    target = pd.Series(x + s + rng.normal(size=n), name="y")
    more = {role: pd.Series(values, name=role) for role, values in roles.items()}
    columns = {"features": pd.DataFrame({"x": x + s}), "sensitive": pd.DataFrame({"s": s})}
    return Dataset(name="table", target=target, **columns, **more)


def draw(share: float = 0.2, *, n: int = 400, latest: bool = False, **roles: np.ndarray) -> np.ndarray:
    return draw_set_aside(table(n, **roles), share, latest=latest)


@pytest.fixture(scope="module")
def result():
    # Run the whole sweep, because a preview trains no models that could be confirmed.
    return execute_sweep(SOURCE.load(), SHARED)


@pytest.fixture
def run(result):
    run = create_run(SOURCE, SHARED)
    run.write_result(result)
    write_status(run.folder, RunStatus(state=DONE, fraction=1.0))
    return run


def test_confirmation_rows_are_set_aside_by_default_from_five_thousand_rows_on():
    assert (default_share(FROM_ROWS - 1), default_share(FROM_ROWS)) == (0, 0.2)
    few, many = (default_plan(fd.load_dataset("household", n=n)) for n in (500, FROM_ROWS))
    assert many.confirmation_share == 0.2
    assert preview_of(few).confirmation_share == few.confirmation_share == 0
    assert len(draw(n=60_000)) == MAX_ROWS


def test_confirmation_rows_depend_only_on_the_data_and_are_in_no_split():
    data = table()
    plans = [Sweep(lams=(1.0,), random_state=seed, confirmation_share=0.2) for seed in (0, 1)]
    rows = plans[0].set_aside(data)
    assert len(rows) == 80
    assert np.array_equal(rows, plans[1].set_aside(data))
    for split in plans[1].splits(data):
        together = np.concatenate([*split.parts.values()])
        assert np.array_equal(np.sort(together), np.setdiff1d(np.arange(400), rows))
        assert len(split.test) == 64
    # Without confirmation rows the splits are as before.
    none = replace(plans[0], confirmation_share=0.0)
    assert sum(len(part) for part in none.splits(data)[0].parts.values()) == 400


def test_confirmation_rows_are_set_aside_in_whole_groups():
    policy = np.repeat(np.arange(100), 4)
    rows = draw(group=policy)
    assert len(rows) == 80
    assert not set(policy[rows]) & set(np.delete(policy, rows))
    # With groups of 20 rows, a share of 0.22 of 400 rows sets aside 80 rows, in whole groups.
    assert len(draw(0.22, group=np.repeat(np.arange(20), 20))) == 80


def test_for_splits_by_time_the_latest_rows_become_confirmation_rows():
    year = np.random.default_rng(1).integers(2000, 2010, size=400).astype(float)
    data, plan = table(time=year), Sweep(lams=(1.0,), split="time", n_splits=1, confirmation_share=0.25)
    rows, (split,) = plan.set_aside(data), plan.splits(data)
    assert year[rows].min() > np.delete(year, rows).max() >= year[split.test].max()
    assert 50 <= len(rows) <= 100
    # The whole last time period is set aside, although it has more rows than the share.
    assert np.array_equal(draw(0.25, latest=True, time=np.repeat([2000.0, 2001.0], 200)), np.arange(200, 400))


def test_a_confirmation_share_out_of_range_or_with_too_few_rows_is_refused():
    for share in (0.01, 0.95):
        with pytest.raises(OptionError, match="set aside"):
            draw(share)
    for share in (-0.1, 1.0):
        with pytest.raises(OptionError, match="out of range"):
            Sweep(lams=(1.0,), confirmation_share=share)


def test_training_does_not_use_confirmation_rows():
    clean = fd.load_dataset("household", n=200)
    rows = SHARED.set_aside(clean)
    target, sensitive = clean.target.copy(), clean.sensitive.copy()
    target.iloc[rows], sensitive.iloc[rows] = 1e6, -1e6
    dirty = replace(clean, target=target, sensitive=sensitive)
    tuned = replace(SHARED, tune=True, lams=(1.0,), n_splits=1)
    found = [train_sweep(each, tuned) for each in (clean, dirty)]
    assert np.array_equal(found[0].predictions, found[1].predictions, equal_nan=True)
    assert np.isnan(found[0].predictions[:, rows]).all()
    assert np.isfinite(np.delete(found[0].predictions, rows, axis=1)).all()
    assert np.array_equal(found[0].set_aside.predictions, found[1].set_aside.predictions)
    assert list(found[0].set_aside.members["method"]) == ["standard", "pearson"]


def test_for_large_tables_models_of_the_first_split_predict_the_confirmation_rows(monkeypatch):
    data = fd.load_dataset("household", n=200)
    monkeypatch.setattr("fairdash.training.sweep.MANY_ROWS", 200)
    rows, plan = SHARED.set_aside(data), replace(SHARED, n_splits=2)
    found = train_sweep(data, plan)
    kept = found.set_aside
    assert len(kept.members) == (found.members["split"] == 0).sum()
    assert kept.predictions.shape == (len(kept.members), len(rows))
    assert np.isfinite(kept.predictions).all()
    assert np.isnan(found.predictions[:, rows]).all()
    assert train_sweep(data, plan, confirms=False).set_aside is None
    assert trains_for_holdout(replace(SHARED, split="time"), 200)
    assert not trains_for_holdout(SHARED, 200)


def test_confirm_evaluates_a_model_on_the_confirmation_rows_and_counts_the_evaluations():
    data = fd.load_dataset("household", n=300)
    options = {"methods": PLAN.methods, "lams": PLAN.lams, "settings": PLAN.settings, "n_splits": 1}
    options |= {"tariff": False, "measures": ["pearson"], "device": "cpu"}
    result = fd.sweep(data, confirmation=0.3, **options)
    first = fd.confirm(result, **POINT)
    assert (first.n, first.number, first.is_first, first.finds_link) == (90, 1, True, first.p_value <= 0.05)
    assert first.growth == pytest.approx(first.error / first.error_of_standard - 1)
    # Opening the same point again does not count; opening another point does, also for a blended model.
    assert fd.confirm(result, **POINT) is first
    blend = fd.confirm(result, method="pearson", lam=0.2)
    assert (blend.number, blend.is_first, len(result.opened)) == (2, False, 2)
    assert from_plain(type(first), to_plain(first)) == first
    with pytest.raises(OptionError, match="no point"):
        fd.confirm(result, method="pearson", lam=7.0)
    with pytest.raises(OptionError, match="sweep has no holdout rows"):
        fd.confirm(fd.sweep(data, **options), **POINT)


def test_a_run_stores_its_evaluations_on_confirmation_rows_and_refuses_altered_files(run):
    assert read_confirmations(run) == ()
    found = confirm_run(run, **POINT, owner="local")
    assert found.is_first
    assert confirm_run(run, **POINT, owner="local") == found
    other = confirm_run(run, method="pearson", lam=0.5, owner="local")
    assert other.number == 2
    opened = [event for event in read(run.folder).events if "set aside" in event.what]
    assert [event.details["weight"] for event in opened] == ["λ = 1", "λ = 0.5"]
    # The run is exported and imported elsewhere.
    kept = import_run(export_run(run)).run
    assert read_confirmations(run) == read_confirmations(kept) == (found, other)
    file = run.folder / CONFIRMATIONS
    file.write_text(file.read_text().replace('"n": ', '"n": 7'))
    with pytest.raises(RunError, match="have been changed"):
        read_confirmations(run)
    file.write_text(sealed_text({"openings": [to_plain(found), to_plain(other)]}))
    assert read_confirmations(run) == (found, other)
    file.unlink()
    with pytest.raises(RunError, match="have been changed"):
        confirm_run(run, method="pearson", lam=0.5, owner="local")


def test_previews_and_runs_without_confirmation_rows_cannot_be_confirmed(done):
    with pytest.raises(RunError, match="set no rows aside"):
        confirm_run(done, **POINT, owner="local")
    with pytest.raises(RunError, match="not finished"):
        confirm_run(finished(SHARED, first=True), **POINT, owner="local")


def test_the_page_evaluates_on_confirmation_rows_once_and_warns_before_a_second_evaluation(run):
    at = open_page("tradeoff", run=run.id, lam="1")
    assert "60 rows were set aside" in words(at)
    click(at, "Confirm on rows set aside")
    (found,) = read_confirmations(run)
    assert (str(found.point), found.number) == ("pearson:1.0", 1)
    assert ("not confirmed" if found.finds_link else "confirmed") in words(at)
    assert "also uses the 60 rows set aside" in words(at)
    assert not [each for each in at.button if "rows set aside" in each.label]
    at = move(at, 0.5)
    assert "Test number 2" in "".join(each.value for each in at.warning)
    click(at, "Open these rows again for this point")
    assert "used 2 times" in words(at)
    assert "does not confirm the choice" in words(at)


def test_the_report_states_the_number_of_confirmation_rows_and_of_evaluations_on_these_rows(run, capsys):
    def report(name):
        place = run.folder.parent / name
        assert main(["report", run.id, "--lam", "1", "--out", str(place)]) == 0
        return place.read_text(encoding="utf-8")

    assert "or choice has used these rows" in report("before.html")
    assert main(["runs", "confirm", run.id, "--lam", "1"]) == 0
    assert "60 rows set aside" in capsys.readouterr().out
    assert main(["runs", "confirm", run.id, "--lam", "0.5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["number"], told["is_first"], told["opened"]) == (2, False, 2)
    after = report("after.html")
    assert "used 2 times" in after
    assert "60 not used by any split" in after


def test_a_settings_search_does_not_use_confirmation_rows(monkeypatch):
    seen = {}

    def noted(dataset, plan, *, rows, **_):
        seen["rows"] = rows
        raise RunError.of("enough", "…")

    monkeypatch.setattr(worker, "search_settings", noted)
    plan = SettingsSearch(method="pearson", grid=GRIDS["small"], confirmation_share=0.3)
    assert worker.main(create_search(SOURCE, plan).id) == 1
    assert not set(seen["rows"]) & set(SHARED.set_aside(SOURCE.load()))
