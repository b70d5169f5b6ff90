"""The trade-off page: what it says, draws, chooses and brings back."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairdash.data.source import CatalogueSource, save_source
from fairdash.dependence import REGISTRY, measure
from fairdash.evaluation import DEFAULT_MEASURE, knee, told_apart, wide
from fairdash.figures.front import NOISE_NOTE
from fairdash.jobs.steps import at_once
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import fronts_of
from fairdash.reports.tables import in_full
from fairdash.reports.words import who_pays
from fairdash.runs import worker
from fairdash.runs.listing import list_runs
from fairdash.runs.status import RUNNING, RunStatus
from fairdash.runs.store import Run, create_run
from fairdash.training.methods import ModelKey
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.sweep import preview_of, quicker
from fairdash.utils.text import number
from tests.serving import until
from tests.tiers import few
from tests.ui.conftest import PLAN, SOURCE, button, charts, click, move, numbers, open_page, stage, words

PANELS = ("Who pays", "Averages", "Distributions", "Transformations", "Features", "Find the point")
PANELS += ("Both objectives", "All numbers", "Explanations")


def compared(run, lam, *, measure=DEFAULT_MEASURE, a=None):
    """The comparison that the page should show at λ."""
    result = run.read_result()
    return Comparison(
        title="",
        plan=run.spec.plan,
        result=result,
        fronts=fronts_of(result, sensitive="Age"),
        objective=run.spec.plan.objective,
        measure=measure,
        a=a or ModelKey("standard", 0.0),
        b=ModelKey("hgr_nn", lam),
    )


def look(at, panel):
    return at.segmented_control(key="tradeoff.comparison more").set_value(panel).run()


def lam_shown(at):
    slider = stage(at)["slider"]
    return slider["stops"][slider["at"]]


def said(at):
    """The answer as plain text."""
    return re.sub(r"\\(.)", r"\1", at.markdown[0].value)


def test_the_answer_fits_the_figures(finished_run):
    at = open_page("tradeoff", run=finished_run.id)
    for lam in (0.5, 1.0, 1.32, 4.0):
        at = move(at, lam)
        found = compared(finished_run, lam)
        answer = said(at)
        assert f"λ = {lam:g}" in answer
        p_value = found.verdict_p(found.b)
        assert ("no link is found" in answer) == (p_value > 0.05)
        assert f"joint test of several measures: p = {p_value:.2g}" in answer
        old, new = (number(found.mean("rmse", point)) for point in (found.a, found.b))
        assert f"from {old} € to {new} €" in answer
        assert who_pays(found) in answer


def test_a_figure_is_the_same_on_the_card_in_the_table_and_by_the_library(finished_run):
    lam = 2.3
    at = move(open_page("tradeoff", run=finished_run.id), lam)
    found = compared(finished_run, lam)
    by_hand = np.mean(
        [
            measure("fairquant", y_pred[rows], found.s[rows])
            for y_pred, rows in (
                (y_pred, found.result.splits[j].test) for j, y_pred in found.predictions(found.b).items()
            )
        ]
    )
    assert found.mean("fairquant", found.b) == pytest.approx(by_hand)
    shown = found.shown("fairquant", found.b)
    slider, card = stage(at)["slider"], stage(at)["cards"][2]
    assert card["title"] == "FairQuant"
    assert card["values"][slider["at"]].startswith(shown)
    table = look(at, "All numbers").dataframe[0].value.set_index("Figure (test rows)")
    assert table.loc[in_full(REGISTRY["fairquant"]), found.b.title].startswith(shown)


def test_the_front_draws_the_paths_figures(finished_run):
    at = open_page("tradeoff", run=finished_run.id)
    found = compared(finished_run, 1.0)
    traces = {trace["name"]: trace for trace in charts(at)["<b>What fairness costs</b>"]["data"]}
    path = traces["Fair HGR network: path"]
    rows, errors = (found.front.rows(each) for each in (DEFAULT_MEASURE, "rmse"))
    apart = told_apart(rows)
    assert np.allclose(numbers(path["x"]), rows["value"][apart])
    assert np.allclose(numbers(path["y"]), errors["value"][apart])
    chosen = traces["chosen: λ = 1"]
    assert numbers(chosen["y"])[0] == pytest.approx(found.mean("rmse", found.b))
    noise, drawn = found.noise_begins, charts(at)["<b>What fairness costs</b>"]["layout"]["annotations"]
    notes = [(each["x"], each["y"]) for each in drawn if each["text"] == NOISE_NOTE]
    assert notes == (
        [] if noise is None else [(found.mean(DEFAULT_MEASURE, noise), found.mean("rmse", noise))]
    )
    references = wide(found.front.references)
    curve = traces["Reference (uses s): Wasserstein barycentre"]
    assert np.allclose(numbers(curve["y"]), references[references["method"] == "barycentre"]["rmse"])


@pytest.mark.parametrize("objective", few(OBJECTIVES, "demographic_parity"))
def test_every_panel_opens_for_a_model_a_blend_and_the_standard(finished_run, another_result, objective):
    named = replace(finished_run.read_result(), names={"Age": "driver's age", "Cost": "yearly *price*"})
    another_result(named)
    at = open_page("tradeoff", run=finished_run.id, objective=OBJECTIVES[objective].title)
    for panel in PANELS:
        at = look(at, panel)
        for lam in (4.0, 2.3, 0.0):
            at = move(at, lam)
            assert not at.error
    assert OBJECTIVES[objective].meaning in words(at)
    # People read names, and find the headers in a tip.
    assert "yearly *price*" in said(at)
    assert "driver's age" in said(at)
    drawn = charts(at)
    assert "driver's age" in drawn["<b>What fairness costs</b>"]["layout"]["xaxis"]["title"]["text"]
    assert any("column Age" in each.proto.help.replace("\\", "") for each in at.caption)


def test_the_address_brings_back_the_view_of_another_objective_than_the_trained_one(finished_run):
    address = {
        "lam": "2.3",
        "measure": "FairQuant",
        "objective": "Equalized residuals",
        "against": "hgr_nn:4",
    }
    at = open_page("tradeoff", run=finished_run.id, **address)
    assert lam_shown(at) == "2.3"
    assert at.selectbox(key="measure").value == "fairquant"
    assert at.segmented_control(key="objective").value == "equalized_residuals"
    assert "λ = 4" in {trace["name"] for trace in charts(at)["<b>Average residual by Age</b>"]["data"]}
    assert "the residual of Cost" in said(at)
    assert "trained for demographic parity" in words(at)
    assert button(at, "Train models for equalized residuals")


def test_a_point_is_kept_and_compared_with_everywhere(finished_run):
    at = move(open_page("tradeoff", run=finished_run.id), 4.0)
    at = click(at, "Compare with this point")
    assert at.query_params["against"] == "hgr_nn:4"
    at = move(at, 0.5)
    found = compared(finished_run, 0.5, a=ModelKey("hgr_nn", 4.0))
    assert {"λ = 4", "λ = 0.5"} <= {
        trace["name"] for trace in charts(at)["<b>Average prediction by Age</b>"]["data"]
    }
    moved = look(at, "Who pays").dataframe[0].value
    total = found.moved["total"].sum()
    change = np.mean(
        [
            (found.predictions(found.b)[j] - found.predictions(found.a)[j])[split.test].sum()
            for j, split in enumerate(found.result.splits)
        ]
    )
    assert total == pytest.approx(change)
    assert moved["Average: Fair HGR network, λ = 4"].notna().all()
    assert "against" not in click(at, "Compare with the standard").query_params


@pytest.mark.parametrize(
    "wish", few(["Dependence at most …", "Cost at most …", "The knee"], "Dependence at most …", "The knee")
)
def test_a_point_is_chosen_on_validation_rows_and_reported_on_test_rows(finished_run, another_result, wish):
    result = finished_run.read_result()
    # Here the choice must not be the standard model, of which there is nothing to report: the fair models'
    # dependence is made as small, and their error as little larger, as training would make them in time.
    path = result.paths["demographic_parity"].copy()
    standard = path[path["lam"] == 0].set_index(["split", "part", "measure"])["value"]
    own = standard.reindex(pd.MultiIndex.from_frame(path[["split", "part", "measure"]])).to_numpy()
    is_measure, is_error = path["measure"] == DEFAULT_MEASURE, path["measure"] == "mse"
    path["value"] = np.select(
        [is_measure, is_error],
        [own * np.exp(-path["lam"]), own * (1 + 0.03 * path["lam"] ** 2)],
        path["value"],
    )
    path["edge"] = path["edge"].mask(is_measure, 0.2 * standard.xs(DEFAULT_MEASURE, level="measure").mean())
    assert (path["lam"] > 0).any()
    another_result(replace(result, paths={**result.paths, "demographic_parity": path}))
    at = look(open_page("tradeoff", run=finished_run.id), "Find the point")
    at = at.segmented_control(key="tradeoff.comparison wish").set_value(wish).run()
    text = re.sub(r"\\(.)", r"\1", "\n".join(each.value for each in at.markdown))
    lam = float(re.search(r"λ = ([\d.]+)\. On test rows", text)[1])
    found = compared(finished_run, 1.0)
    validation = wide(found.front.validation).set_index("lam")
    if wish == "Dependence at most …":
        limit = at.number_input(key='tradeoff.comparison limit "hgr_spline" "demographic_parity"').value
        within = validation[validation[DEFAULT_MEASURE] <= limit]
        assert lam == within["mse"].idxmin()
    elif wish == "Cost at most …":
        within = validation[validation["mse"] <= 1.1 * validation.loc[0.0, "mse"]]
        assert lam == within[DEFAULT_MEASURE].idxmin()
    else:
        assert lam == knee(found.front.validation, DEFAULT_MEASURE, error="mse")[0].lam
    assert lam > 0
    point = ModelKey("hgr_nn", lam)
    shown = f"HGR_spline is {found.shown(DEFAULT_MEASURE, point)}, and on validation rows "
    assert shown in text
    assert number(validation.loc[lam, DEFAULT_MEASURE]) in text.partition(shown)[2]
    at = at if lam == 1.0 else click(at, "Show this point")
    assert lam_shown(at) == f"{lam:g}"
    assert button(at, "Show this point").disabled


def test_what_can_t_be_reached_is_said(finished_run):
    at = look(open_page("tradeoff", run=finished_run.id), "Find the point")
    limit = at.number_input(key='tradeoff.comparison limit "hgr_spline" "demographic_parity"')
    assert "Not reached here" in words(limit.set_value(0.0).run())


def test_without_validation_rows_no_point_is_chosen():
    run = create_run(SOURCE, replace(PLAN, validation_share=0.0, lams=(1.0,), n_splits=1))
    worker.main(run.id)
    at = look(open_page("tradeoff", run=run.id), "Find the point")
    assert "a point chosen on test rows looks better" in words(at)


def test_a_first_look_starts_by_itself_and_is_refined():
    source = CatalogueSource(dataset="household", options={"n": 300})
    at = open_page("tradeoff", dataset=save_source(source))
    (run,) = list_runs().runs
    assert run.spec.source == source
    assert run.spec.first.n_splits == 1
    until(lambda: run.look is not None)
    at = at.run()
    assert "Preview" in words(at)
    assert "1 random split" in str(charts(at)["<b>What fairness costs</b>"]["layout"]["title"])
    for panel in PANELS:
        look(at, panel)
    run.ask_to_cancel()
    until(lambda: run.status.is_over)
    at = open_page("tradeoff", run=run.id)
    assert "The refined run was not finished" in at.warning[0].value
    assert "What fairness costs" in str(list(charts(at)))


def test_features_are_those_of_the_nearest_trained_model(finished_run):
    at = move(look(open_page("tradeoff", run=finished_run.id), "Features"), 2.3)
    table = finished_run.read_result().importance
    own = table[(table["method"] == "hgr_nn") & (table["lam"] == 4.0)].groupby("feature")
    for kind in ("reliance", "importance"):
        at = at.segmented_control(key="tradeoff.comparison features-by").set_value(kind).run()
        traces = charts(at)["<b>Change in feature importance</b>"]["data"]
        (drawn,) = [each for each in traces if each["name"] == "λ = 2.3" and each["mode"] == "markers"]
        shown = dict(zip(drawn["y"], numbers(drawn["x"]), strict=True))
        assert shown == pytest.approx(own[kind].mean().to_dict())


def test_beside_a_long_run_a_quicker_one_is_offered(monkeypatch):
    plan = replace(PLAN, methods=("standard", "hgr_spline", "pearson"), n_splits=4)
    run = create_run(SOURCE, plan, first=preview_of(PLAN))
    worker.first_look(run, worker.Reporter(run, ends=False), at_once)
    left = 900.0
    at_work = property(lambda _: RunStatus(state=RUNNING, doing="training", fraction=0.1, seconds_left=left))
    with monkeypatch.context() as patched:
        patched.setattr(Run, "status", at_work)
        at = open_page("tradeoff", run=run.id)
        instead = button(at, "Instead")
        assert re.fullmatch(r"Instead: Fair spline network alone, 3 splits, about [4-7] min.*", instead.label)
        left = 60.0
        assert not [each for each in open_page("tradeoff", run=run.id).button if "Instead" in each.label]
        left = 900.0
        instead.click().run()
    assert run.is_cancelled()
    (quick,) = [each for each in list_runs().runs if each.id != run.id]
    assert (quick.spec.plan.methods, quick.spec.plan.n_splits) == (("standard", "hgr_spline"), 3)
    assert quicker(quick.spec.plan) is None
    quick.ask_to_cancel()
    until(lambda: quick.status.is_over)
