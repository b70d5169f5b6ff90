"""Which runs can stand on one front, and the table behind it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairdash.evaluation.result import SweepResult
from fairdash.runs.store import Run
from fairdash.training.sweep import Sweep
from fairdash.views.reports.fronts import ComparedRun, Front, differences, remarks, shared_measures, table_of
from tests.runs.finished import PLAN, SOURCE


@pytest.fixture
def result(done: Run) -> SweepResult:
    return done.read_result()


def compared(result: SweepResult, plan: Sweep | None = None, source=SOURCE) -> ComparedRun:
    planned = result if plan is None else replace(result, sweep=plan)
    return ComparedRun(letter="A", title="a", data=source.to_json(), result=planned)


def test_equal_runs_differ_in_nothing(result: SweepResult) -> None:
    assert differences([compared(result)] * 2) == ""
    assert remarks([compared(result)] * 2) == []


def test_what_differs_is_named(result: SweepResult) -> None:
    first = compared(result)
    residuals = replace(result.sweep, objective="equalized_residuals")
    other = replace(result, target_name="Price", sweep=residuals)
    said = differences([first, compared(other)])
    assert [part in said for part in ("target (“Cost”, “Price”)", "objective", "loss")] == [True, True, False]
    plan = replace(PLAN, settings=replace(PLAN.settings, loss="poisson"))
    assert "loss (“squared_error”, “poisson”)" in differences([first, compared(result, plan)])
    sensitive = result.sensitive.rename(columns={result.sensitive.columns[0]: "Sex"})
    assert "sensitive columns" in differences([first, compared(replace(result, sensitive=sensitive))])


def test_other_data_and_other_splits_are_remarked_on(result: SweepResult) -> None:
    other = replace(SOURCE, options={"n": 300})
    said = remarks([compared(result), compared(result, replace(PLAN, n_splits=3), other)])
    assert len(said) == 2


def test_the_table_has_every_trained_model_once(result: SweepResult) -> None:
    front = Front.of(result, objective=result.objective, sensitive=result.sensitive.columns[0])
    runs = [compared(result), replace(compared(result), letter="B")]
    measures = shared_measures([front, front])
    assert measures[0] == front.default_measure
    table = table_of(runs, [front, front], measure=measures[0])
    assert table.groupby("Run").size().to_dict() == {"A": 3, "B": 3}
    assert table["λ"].tolist() == [0.0, 0.5, 1.0] * 2
    assert table["Method"].tolist()[:2] == ["Standard network", "Fair linear network"]
