"""A preview on a sample: the rows that it uses, its texts, and its independence from the whole result."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.data.dataset import draw_rows
from fairdash.evaluation import Gain, work
from fairdash.evaluation.execute_sweep import execute_sweep
from fairdash.runs import worker
from fairdash.runs.comparison import parse_comparison
from fairdash.runs.state import DONE, RUNNING, JobContext, RunStatus, write_status
from fairdash.runs.store import Run, RunSpec, create_run
from fairdash.views.reports.comparison import ROW
from fairdash.views.reports.content import data_facts, limits_of_comparison
from fairdash.views.reports.report import render_report
from fairdash.views.reports.sentences import nothing_learned
from tests.runs.finished import PLAN, SOURCE

pytestmark = pytest.mark.usefixtures("light_runs")

FIRST = replace(PLAN, n_splits=1)
SHARE = 0.6


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRDASH_HOME", str(tmp_path_factory.mktemp("samples")))
        found = Run.create(RunSpec(source=SOURCE, plan=PLAN, first=FIRST, first_share=SHARE))
        assert worker.work_at(found, worker.preview, ends=False) == 0
        return found.folder


@pytest.fixture
def run(looked: Path) -> Run:
    """A run with its preview, just before its whole result."""
    shutil.copytree(looked, Run.home() / looked.name)
    return Run(looked.name)


def test_a_preview_uses_only_the_sampled_rows(run: Run) -> None:
    result, dataset = run.read_result(), SOURCE.load()
    rows = draw_rows(dataset, 120, random_state=PLAN.random_state)
    assert result.drawn_from == 200
    assert np.array_equal(result.rows, rows)
    assert np.array_equal(result.target, dataset.target.to_numpy()[rows])
    alone = execute_sweep(dataset.take(rows), FIRST, is_preview=True)
    assert np.array_equal(result.predictions, alone.predictions)
    scored = parse_comparison(run).scored()
    numbers = scored[ROW].to_numpy() - 1
    assert np.array_equal(scored[dataset.roles.target], dataset.target.to_numpy()[numbers])


def test_page_and_report_name_the_sample(run: Run) -> None:
    comparison = parse_comparison(run)
    words = "120 of 200 rows, drawn at random"
    assert comparison.sample == words
    assert data_facts(comparison, None)["Rows"].startswith(words)
    assert any(words in line for line in limits_of_comparison(comparison))
    html = render_report(comparison, run_id=run.id, created=run.spec.created, is_preview=True).decode()
    assert f"This is a preview: {words}; the whole run will have all rows" in html


def test_a_preview_whose_models_do_not_beat_the_mean_is_reported_as_nothing_learned_yet(run: Run) -> None:
    found = parse_comparison(run)
    blind = replace(found.result, gain=Gain(error=1.002, error_se=0.004, is_beyond_noise=False))
    said = nothing_learned(replace(found, result=blind))
    assert said.startswith("Nothing was learned yet")
    assert "120 of 200 rows, drawn at random" in said
    whole = replace(blind, rows=None, drawn_from=None)
    assert "More rows" in nothing_learned(replace(found, result=whole))


def test_the_full_result_does_not_depend_on_the_preview(run: Run) -> None:
    other = create_run(SOURCE, PLAN)
    assert worker.main(run.id) == worker.main(other.id) == 0
    one, two = Run(run.id).read_result(), Run(other.id).read_result()
    assert Run(run.id).status.state == DONE
    assert one.rows is one.drawn_from is None
    assert np.array_equal(one.predictions, two.predictions)
    pd.testing.assert_frame_equal(one.frame, two.frame)


@pytest.fixture
def told(monkeypatch):
    """The estimate of the seconds left, at this number of seconds after the start."""
    now = [1000.0]
    monkeypatch.setattr("fairdash.runs.state.time.monotonic", lambda: now[0])

    def told(context: JobContext, seconds: float, fraction: float) -> tuple[float, float] | None:
        now[0] = 1000.0 + seconds
        context.progress("training", fraction)
        return context.job.stored_status().seconds_left

    return told


def test_the_estimated_range_of_remaining_time_uses_the_speeds_of_the_last_three_minutes(told) -> None:
    context = JobContext(create_run(SOURCE, PLAN))
    assert told(context, 0.0, 0.0) is None
    assert told(context, 10.0, 0.05) == pytest.approx((190, 190))
    assert told(context, 80.0, 0.2) == pytest.approx((320, 320))
    # No progress is known for the last minute yet.
    assert told(context, 150.0, 0.25) == pytest.approx((450, 450))
    assert told(context, 130.0 + 60, 0.4) == pytest.approx((160, 180 / 0.35 * 0.6))
    # Progress of more than three minutes ago is ignored.
    assert told(context, 500.0, 0.4) is None


def test_an_earlier_time_estimate_is_used_until_enough_work_is_done(told) -> None:
    run = create_run(SOURCE, PLAN)
    write_status(run.folder, RunStatus(state=RUNNING, fraction=0.02, seconds_left=(686.0, 1274.0)))
    context = JobContext(run)
    assert told(context, 0.0, 0.02) == pytest.approx((686, 1274))
    # The first steps were ten times as fast, which says little about the rest.
    low, high = told(context, 4.0, 0.06)
    assert (low, high) == pytest.approx((94, 1222))
    assert told(context, 50.0, 0.5) == pytest.approx((50 / 0.48 * 0.5,) * 2)


def test_processor_speed_is_measured_by_the_fastest_of_several_trials(monkeypatch) -> None:
    # Five trials, which take 5 to 9 times as long as on a usual core.
    readings = iter([at for seconds in range(5, 10) for at in (0, seconds * work._SECONDS_OF_A_LAYER)])
    monkeypatch.setattr("fairdash.evaluation.work.time.perf_counter", lambda: next(readings))
    assert work.slowness() == pytest.approx(5)


def test_reported_progress_grows_from_near_zero_to_near_one() -> None:
    told: list[float] = []
    plan = replace(FIRST, tune=True, find_lams=True)
    execute_sweep(SOURCE.load(), plan, progress=lambda _, share: told.append(share))
    assert told == sorted(told)
    assert 0 <= told[0] < 0.1
    assert 0.85 < told[-1] <= 1
