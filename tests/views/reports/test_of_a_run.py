"""From stored runs to reports: points by name, the model shown first, several runs, and the command line."""

from __future__ import annotations

import shutil
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from fairdash.__main__ import main
from fairdash.errors import OptionError
from fairdash.evaluation import DEFAULT_MEASURE, wide
from fairdash.evaluation.result import SweepResult
from fairdash.runs.comparison import parse_comparison
from fairdash.runs.store import Run
from fairdash.training.methods import ModelKey
from fairdash.training.references import REFERENCES
from fairdash.training.sweep import Sweep
from fairdash.views.reports import tables
from fairdash.views.reports.fronts import ComparedRun, Front, differences, remarks, shared_measures, table_of
from tests.runs.finished import PLAN, SOURCE
from tests.views.figures.rows import rows_of


@pytest.fixture
def run(shared) -> Run:
    (folder,) = (shared("front") / "runs").iterdir()
    shutil.copytree(folder, Run.home() / folder.name)
    return Run(folder.name)


def test_a_comparison_uses_the_defaults_of_the_page_for_options_not_given(run):
    found = parse_comparison(run)
    assert (found.a, found.b) == (ModelKey("standard", 0.0), ModelKey("hgr_nn", 1.0))
    assert (found.objective, found.measure) == (run.spec.plan.objective, DEFAULT_MEASURE)


def test_models_to_compare_are_found_by_method_and_lambda(run):
    found = parse_comparison(run, method="hgr_nn", lam=4, against="hgr_nn:0.5", measure="fairquant")
    assert (found.a, found.b) == (ModelKey("hgr_nn", 0.5), ModelKey("hgr_nn", 4.0))
    between = parse_comparison(run).front.rows("mse")["lam"].iloc[15]
    assert parse_comparison(run, lam=float(f"{between:g}")).b.lam == between


@pytest.mark.parametrize(("named", "said"), [
    ({"lam": 3.99}, "λ = 3.99"), ({"method": "mine"}, "mine"), ({"against": "hgr_nn"}, "not a weight"),
    ({"against": "hgr_nn:7"}, "λ = 7"), ({"measure": "pearson"}, "pearson"), ({"objective": "x"}, "x"),
    ({"sensitive": "x"}, "x"),
])  # fmt: skip
def test_unknown_models_and_measures_are_refused_with_the_available_ones(run, named, said):
    with pytest.raises(OptionError, match=said):
        parse_comparison(run, **named)


def test_the_report_command_writes_the_report(run, tmp_path, capsys):
    place = tmp_path / "report.html"
    assert main(["report", run.id, "--lam", "4", "--out", str(place)]) == 0
    page = place.read_text(encoding="utf-8")
    # Load the data set again for its features.
    features = f"Features ({len(run.spec.source.load().roles.features)})"
    assert [part for part in (f"Run {run.id}", "Fair HGR network, λ = 4", features) if part not in page] == []
    assert f"{place}: " in capsys.readouterr().out


def test_the_table_of_references_states_the_estimated_least_error_under_independence(run):
    found = parse_comparison(run)
    table = tables.references(found)
    front = found.front
    (whole,) = wide(front.references).query("method == 'barycentre' and lam == 1").itertuples()
    assert front.least_error == (whole.mse, whole.mse_se)
    assert front.price[0] == pytest.approx(found.result.price.mean())
    assert "independent of Age have an estimated error of at least" in table.note
    assert table.note.count("±") >= 2
    # On Crime, networks that do not see s are below the reference curve in its middle, but not at its end.
    assert REFERENCES["barycentre"].limits in table.note


def opening(validation: pd.DataFrame) -> Any:
    """λ that a front with these validation results shows first; floor 0.1, trained λ 1, 2 and 4."""
    test = pd.DataFrame({"method": "hgr_spline", "lam": [4, 0, 1, 2], "share": 0, "floor": 0.1})
    front = SimpleNamespace(
        validation=validation, rows=lambda _: test, default_measure="hgr_spline", methods=["hgr_spline"]
    )
    return Front.opening.func(front)


def figures(**stops: Any) -> pd.DataFrame:
    return rows_of(pd.DataFrame({"method": "hgr_spline", **stops}), "hgr_spline")


@pytest.mark.every_case
@pytest.mark.parametrize(("dependence", "expected"), [
    ([0.9, 0.8, 0.5, 0.4, 0.1], 2),
    ([0.9, 0.88, 0.6, 0.12, 0.1], 1.4),  # no trained model is in this range, so a blended model is shown
    ([0.08, 0.05, 0.03, 0.02, 0.01], 2), ([], 2),
])  # fmt: skip
def test_the_model_shown_first_is_in_the_middle_third_of_dependence_or_of_lambda(dependence, expected):
    stops = {"lam": [0, 1, 1.4, 2, 4], "share": [0, 0, 0.5, 0, 0]}
    found = figures(**{name: each[: len(dependence)] for name, each in stops.items()}, hgr_spline=dependence)
    assert opening(found) == expected


def test_the_model_shown_first_does_not_depend_on_other_methods_or_row_order():
    found = figures(lam=[4, 2, 1, 0], share=0, hgr_spline=[0.1, 0.4, 0.8, 0.9])
    other = found.assign(method="hgr_nn", value=[0.1, 0.1, 0.5, 0.9])
    assert opening(pd.concat([other, found], ignore_index=True)) == 2


@pytest.fixture
def result(done: Run) -> SweepResult:
    return done.read_result()


def compared(result: SweepResult, plan: Sweep | None = None, source=SOURCE) -> ComparedRun:
    planned = result if plan is None else replace(result, sweep=plan)
    return ComparedRun(letter="A", title="a", data=source.to_json(), result=planned)


def test_a_comparison_of_runs_lists_different_settings_data_and_splits(result):
    first = compared(result)
    assert (differences([first, first]), remarks([first, first])) == ("", [])
    elsewhere = replace(SOURCE, options={"n": 300})
    assert len(remarks([first, compared(result, replace(PLAN, n_splits=3), elsewhere)])) == 2
    residuals = replace(result.sweep, objective="equalized_residuals")
    other = replace(result, target_name="Price", sweep=residuals)
    said = differences([first, compared(other)])
    assert [part in said for part in ("target (“Cost”, “Price”)", "objective", "loss")] == [True, True, False]
    plan = replace(PLAN, settings=replace(PLAN.settings, loss="poisson"))
    assert "loss (“squared_error”, “poisson”)" in differences([first, compared(result, plan)])
    sensitive = result.sensitive.rename(columns={result.sensitive.columns[0]: "Sex"})
    assert "sensitive columns" in differences([first, compared(replace(result, sensitive=sensitive))])


def test_the_table_of_compared_runs_has_every_trained_model_once(result: SweepResult) -> None:
    front = Front.of(result, objective=result.objective, sensitive=result.sensitive.columns[0])
    runs = [compared(result), replace(compared(result), letter="B")]
    measures = shared_measures([front, front])
    assert measures[0] == front.default_measure
    table = table_of(runs, [front, front], measure=measures[0])
    assert table.groupby("Run").size().to_dict() == {"A": 3, "B": 3}
    assert table["λ"].tolist() == [0.0, 0.5, 1.0] * 2
    assert table["Method"].tolist()[:2] == ["Standard network", "Fair linear network"]
