"""The trade-off page: texts, charts, choices, restored views, slider and downloads; and the home page."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from benchmarks.home_curve import THEMES, picture
from fairdash.data.source import CatalogueSource, UploadSource, save_source
from fairdash.data.uploads import keep_upload
from fairdash.errors import RunError
from fairdash.evaluation import DEFAULT_MEASURE, knee, wide
from fairdash.evaluation.crossed_cells import TOGETHER, crossings_of, views_of
from fairdash.jobs.steps import run_directly
from fairdash.runs import worker
from fairdash.runs.comparison import parse_comparison
from fairdash.runs.launch import cancel
from fairdash.runs.listing import list_runs
from fairdash.runs.models import ModelJob, create_model
from fairdash.runs.state import RUNNING, JobContext, RunStatus
from fairdash.runs.store import Run, create_run
from fairdash.tables.roles import Roles
from fairdash.training.methods import ModelKey
from fairdash.training.settings import OBJECTIVES
from fairdash.training.sweep import preview_of, quicker_plan
from fairdash.ui.home import KEY, sentence
from fairdash.ui.widgets import FileOnRequest
from fairdash.utils.text import number
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.fronts import fronts_of
from fairdash.views.reports.sentences import who_pays
from fairdash.views.reports.stage import four_numbers, stage_of, stops_of
from tests.serving import until
from tests.tiers import few
from tests.ui.conftest import PLAN, SOURCE, button, calm, charts, click, move, named, open_page, stage, words

PANELS = ("Who pays", "Averages", "Distributions", "Transformations", "Features", "Find the point")
PANELS += ("Both objectives", "All numbers", "Explanations")


def compared(run, lam, *, measure=DEFAULT_MEASURE, a=None):
    """The comparison that the page should show at λ."""
    result, plan = run.read_result(), run.spec.plan
    points = {"a": a or ModelKey("standard", 0.0), "b": ModelKey("hgr_nn", lam)}
    about = {"plan": plan, "objective": plan.objective, "measure": measure}
    return Comparison(title="", result=result, fronts=fronts_of(result, sensitive="Age"), **about, **points)


def look(at, panel):
    return at.segmented_control(key="tradeoff.comparison more").set_value(panel).run()


def lam_shown(at):
    slider = stage(at)["slider"]
    return slider["stops"][slider["at"]]


def said(at):
    """The answer as plain text."""
    return re.sub(r"\\(.)", r"\1", at.markdown[0].value)


@pytest.fixture
def drawn_once(monkeypatch):
    """Draw the interactive figures once per slider position, because a panel does not change them."""
    drawn = {}

    def once(*found, at, theme):
        if at not in drawn:
            drawn[at] = stage_of(*found, at=at, theme=theme)
        return drawn[at]

    monkeypatch.setattr("fairdash.views.reports.stage.stage_of", once)


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize("objective", few(OBJECTIVES, "demographic_parity"))
def test_panels_open_for_a_trained_a_blended_and_the_standard_model(finished_run, another_result, objective):
    named = {"Age": "driver's age", "Cost": "yearly *price*"}
    another_result(replace(finished_run.read_result(), names=named))
    lams = [4.0, 2.3, 0.0]
    at = open_page("tradeoff", run=finished_run.id, objective=OBJECTIVES[objective].title, lam="4")
    for panel in PANELS:
        at = calm(look(at, panel))
        for lam in lams[1:]:
            at = calm(move(at, lam))
        assert lam_shown(at) == f"{lam:g}"
        lams.reverse()
    assert OBJECTIVES[objective].meaning in words(at)
    # Users see display names, and column headers only in a tooltip.
    assert [name for name in named.values() if name not in said(at)] == []
    axis = charts(at)["<b>What fairness costs</b>"]["layout"]["xaxis"]
    assert "driver's age" in axis["title"]["text"]
    assert any("column Age" in each.proto.help.replace("\\", "") for each in at.caption)


def test_the_address_restores_a_view_of_an_objective_that_was_not_used_in_training(finished_run):
    address = {"lam": "2.3", "measure": "FairQuant", "against": "hgr_nn:4"}
    at = open_page("tradeoff", run=finished_run.id, objective="Equalized residuals", **address)
    shown = (at.selectbox(key="measure").value, at.segmented_control(key="objective").value, lam_shown(at))
    assert shown == ("fairquant", "equalized_residuals", "2.3")
    assert "λ = 4" in {trace["name"] for trace in charts(at)["<b>Average residual by Age</b>"]["data"]}
    assert "the residual of Cost" in said(at)
    assert "trained for demographic parity" in words(at)
    assert button(at, "Train models for equalized residuals")


def test_a_point_kept_for_comparison_appears_in_charts_and_tables(finished_run):
    at = click(move(open_page("tradeoff", run=finished_run.id), 4.0), "Compare with this point")
    assert at.query_params["against"] == "hgr_nn:4"
    at = move(at, 0.5)
    found = compared(finished_run, 0.5, a=ModelKey("hgr_nn", 4.0))
    drawn = {trace["name"] for trace in charts(at)["<b>Average prediction by Age</b>"]["data"]}
    assert {"λ = 4", "λ = 0.5"} <= drawn
    moved = look(at, "Who pays").dataframe[0].value
    a, b = found.predictions(found.a), found.predictions(found.b)
    change = np.mean([(b[j] - a[j])[split.test].sum() for j, split in enumerate(found.result.splits)])
    assert found.moved["total"].sum() == pytest.approx(change)
    assert moved["Average: Fair HGR network, λ = 4"].notna().all()
    assert "against" not in click(at, "Compare with the standard").query_params


@pytest.mark.parametrize(
    "wish", few(["Dependence at most …", "Cost at most …", "The knee"], "Dependence at most …", "The knee")
)
def test_a_point_is_chosen_on_validation_rows_and_reported_on_test_rows(finished_run, another_result, wish):
    result = finished_run.read_result()
    # The chosen model must not be the standard model, which has nothing to report. The test therefore lowers
    # the dependence of the fair models, with slightly higher errors, as longer training would.
    path = result.paths["demographic_parity"].copy()
    standard = path[path["lam"] == 0].set_index(["split", "part", "measure"])["value"]
    own = standard.reindex(pd.MultiIndex.from_frame(path[["split", "part", "measure"]])).to_numpy()
    is_measure, is_error = path["measure"] == DEFAULT_MEASURE, path["measure"] == "mse"
    fair = [own * np.exp(-path["lam"]), own * (1 + 0.03 * path["lam"] ** 2)]
    path["value"] = np.select([is_measure, is_error], fair, path["value"])
    path["edge"] = path["edge"].mask(is_measure, 0.2 * standard.xs(DEFAULT_MEASURE, level="measure").mean())
    another_result(replace(result, paths={**result.paths, "demographic_parity": path}))
    at = look(open_page("tradeoff", run=finished_run.id), "Find the point")
    at = at.segmented_control(key="tradeoff.comparison wish").set_value(wish).run()
    text = re.sub(r"\\(.)", r"\1", "\n".join(each.value for each in at.markdown))
    lam = float(re.search(r"λ = ([\d.]+)\. On test rows", text)[1])
    found = compared(finished_run, 1.0)
    validation = wide(found.front.validation).set_index("lam")
    if wish == "Dependence at most …":
        limit = at.number_input(key='tradeoff.comparison limit "hgr_spline" "demographic_parity"').value
        expected = validation["mse"][validation[DEFAULT_MEASURE] <= limit].idxmin()
    elif wish == "Cost at most …":
        within = validation["mse"] <= 1.1 * validation.loc[0.0, "mse"]
        expected = validation[DEFAULT_MEASURE][within].idxmin()
    else:
        expected = knee(found.front.validation, DEFAULT_MEASURE, error="mse")[0].lam
    assert lam == expected > 0
    shown = f"HGR_spline is {found.shown(DEFAULT_MEASURE, ModelKey('hgr_nn', lam))}, and on validation rows "
    assert number(validation.loc[lam, DEFAULT_MEASURE]) in text.partition(shown)[2]
    at = at if lam == 1.0 else click(at, "Show this point")
    assert lam_shown(at) == f"{lam:g}"
    assert button(at, "Show this point").disabled


def test_an_unreachable_limit_and_missing_validation_rows_are_reported(finished_run, another_result):
    at = look(open_page("tradeoff", run=finished_run.id), "Find the point")
    limit = at.number_input(key='tradeoff.comparison limit "hgr_spline" "demographic_parity"')
    assert "No model reaches this goal" in words(limit.set_value(0.0).run())
    result = finished_run.read_result()
    parts = {
        name: {id: rows[rows["part"] != "validation"] for id, rows in getattr(result, name).items()}
        for name in ("frames", "paths", "baselines")
    }
    another_result(replace(result, **parts))
    at = look(open_page("tradeoff", run=finished_run.id), "Find the point")
    assert "a point chosen on test rows looks better" in words(at)


@pytest.mark.usefixtures("drawn_once")
def test_a_preview_starts_automatically_and_stays_usable_if_refinement_is_cancelled():
    source = CatalogueSource(dataset="household", options={"n": 300})
    at = open_page("tradeoff", dataset=save_source(source))
    (run,) = list_runs().runs
    assert (run.spec.source, run.spec.first.n_splits) == (source, 1)
    until(lambda: run.available_result is not None)
    at = at.run()
    assert "Preview" in words(at)
    assert "1 random split" in str(charts(at)["<b>What fairness costs</b>"]["layout"]["title"])
    for panel in PANELS:
        look(at, panel)
    cancel(run)
    until(lambda: run.status.is_over)
    at = open_page("tradeoff", run=run.id)
    assert "The refined run was not finished" in at.warning[0].value
    assert "What fairness costs" in str(list(charts(at)))


def test_a_shorter_run_is_offered_as_a_replacement_for_a_long_run(monkeypatch):
    plan = replace(PLAN, methods=("standard", "hgr_spline", "pearson"), n_splits=4)
    run = create_run(SOURCE, plan, first=preview_of(PLAN))
    worker.preview(run, JobContext(run, ends=False), run_directly)
    left = 600.0, 1200.0
    at_work = property(lambda _: RunStatus(state=RUNNING, doing="training", fraction=0.1, seconds_left=left))
    with monkeypatch.context() as patched:
        patched.setattr(Run, "status", at_work)
        at = open_page("tradeoff", run=run.id)
        instead = button(at, "Instead")
        assert re.fullmatch(r"Instead: Fair spline network alone, 3 splits, about [4-7] min.*", instead.label)
        left = 40.0, 80.0
        assert not [each for each in open_page("tradeoff", run=run.id).button if "Instead" in each.label]
        left = 600.0, 1200.0
        instead.click().run()
    assert run.is_cancelled()
    (quick,) = [each for each in list_runs().runs if each.id != run.id]
    assert (quick.spec.plan.methods, quick.spec.plan.n_splits) == (("standard", "hgr_spline"), 3)
    assert quicker_plan(quick.spec.plan) is None
    cancel(quick)
    until(lambda: quick.status.is_over)


@pytest.mark.parametrize(
    ("objective", "a"),
    [("demographic_parity", ModelKey("standard", 0.0)), ("equalized_residuals", ModelKey("hgr_nn", 4.0))],
)
def test_each_slider_position_shows_the_values_computed_for_its_model(finished_run, objective, a):
    found = replace(compared(finished_run, 1.0, a=a), objective=objective)
    stops = stops_of(found)
    for k, point in enumerate(stops.points):
        here = replace(found, b=point)
        profile = here.profile(point)
        for name in ("mean", "low", "high"):
            assert np.allclose(getattr(stops, name)[k], profile[name]), (name, point)
        cards = four_numbers(here)
        assert stops.values[k] == tuple(card[1] for card in cards)
        assert stops.below[k] == tuple(card[2] for card in cards)


@pytest.fixture
def curve():
    return json.loads(files("fairdash.ui").joinpath("home_curve.json").read_text(encoding="utf-8"))


def test_the_sentences_on_the_home_page_match_the_computed_numbers(curve):
    at = open_page("home")
    assert sentence(curve, stage(at)["slider"]["at"]) in words(at)
    end = len(curve["lam"]) - 1
    at.session_state[KEY("at")] = end
    at = at.run()
    assert stage(at)["slider"]["at"] == end
    apart, before = (max(curve["mean"][k]) - min(curve["mean"][k]) for k in (end, 0))
    old, new = curve["rmse"][0], curve["rmse"][end]
    error = f"the root mean squared error grows from {old:.1f} € to {new:.1f} €"
    assert f"differ by {apart:.0f} € between ages instead of {before:.0f} €, {error}" in words(at)
    link = "no longer finds a link" if curve["p"][end] > 0.05 else "still finds a link"
    assert link in words(at)
    assert apart < before / 2, "what the page is about"


@pytest.mark.parametrize("name", list(THEMES))
def test_the_chart_on_the_home_page_matches_the_stored_numbers(curve, name):
    assert json.loads(json.dumps(picture(curve, THEMES[name]))) == curve[name]


def press(at, label):
    return named(at.download_button, label).click().run()


def test_a_damaged_model_is_reported_on_the_trade_off_page(run_of_two_methods):
    run = run_of_two_methods
    job = create_model(run.spec.source, run.spec.plan, run=run.id, method="hgr_spline", lam=1.0)
    assert worker.main(job.id) == 0
    at = calm(open_page("tradeoff", run=run.id))
    at = calm(press(at, "Model, refitted on all rows (zip)"))
    (ModelJob(job.id).folder / "result" / "bundle.zip").write_bytes(b"PK")
    at = press(calm(at.run()), "Model, refitted on all rows (zip)")
    assert "damaged" in at.error[0].value


def test_a_download_file_is_created_once_for_simultaneous_requests():
    times = []
    making = FileOnRequest(lambda: times.append(1) or b"content")
    with ThreadPoolExecutor(4) as pool:
        assert {*pool.map(lambda _: making.content(), range(4))} == {b"content"}
    assert (making.failure(), len(times)) == (None, 1)


def test_a_failed_download_does_not_reveal_the_original_error():
    def make():
        raise ValueError("could not convert string to float: 'Zoe'")

    with pytest.raises(RunError) as caught:
        FileOnRequest(make).content()
    assert "Zoe" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_clicked_download_is_kept_until_the_browser_fetches_it(run_of_two_methods, monkeypatch):
    """Afterwards the button is drawn again and the old file is deleted."""
    at, seen = calm(open_page("tradeoff", run=run_of_two_methods.id)), []
    monkeypatch.setattr(FileOnRequest, "wait_until_asked", lambda making, seconds: seen.append(making))
    calm(press(at, "All figures (CSV)"))
    assert len(seen) == 1


@pytest.fixture
def crossed_run(light_runs):
    rng = np.random.default_rng(0)
    age, sex, km = rng.uniform(20, 70, 900), rng.random(900) < 0.5, rng.normal(size=900)
    price = 100 + (age - 45) * np.where(sex, 1, -1) + 5 * km + rng.normal(size=900)
    turn = price + 3 * rng.normal(size=900)
    table = pd.DataFrame({"age": age, "sex": sex.astype(int), "km": km, "turn": turn})
    kept = keep_upload(table.assign(price=price).to_csv(index=False).encode(), name="people.csv")
    roles = Roles(target="price", sensitive=("age", "sex"), features=("km", "turn"))
    source = UploadSource(sha256=kept.sha256, name="people.csv", roles=roles)
    plan = replace(PLAN, methods=("standard", "jdcov"), lams=(1.0, 30.0), n_splits=1)
    made = create_run(source, plan)
    assert worker.main(made.id) == 0
    return made


def test_the_trade_off_page_offers_each_sensitive_attribute_their_combination_and_a_joint_view(crossed_run):
    result = crossed_run.read_result()
    views = ["age", "sex", "age × sex", TOGETHER]
    assert list(views_of(result.sensitive, result.frames[result.objective])) == views
    seen = {each: parse_comparison(crossed_run, sensitive=each) for each in views}
    of = {each: one.mean("hgr_spline", one.a) for each, one in seen.items()}
    # The spread of the price depends on age, its mean only on the combination of age and sex.
    assert of["sex"] < 0.2 < of["age"] + 0.1 < of["age × sex"] < of[TOGETHER] + 0.05, of
    assert seen["age × sex"].has_link(seen["age × sex"].a)
    assert seen["age × sex"].b.lam == seen["age × sex"].front.opening != 0
    at = open_page("tradeoff", run=crossed_run.id)
    control = at.segmented_control(key="sensitive")
    assert control.options == views
    for each in views[2:]:
        control.set_value(each).run()
        assert f"Combinations of {seen[each].sensitive_called}" in words(at)
        assert f"{seen[each].b.lam:g}" in str(stage(at)["slider"])
        # The stage draws no figure whose axes have no range.
        assert [one["spec"]["layout"]["xaxis"]["range"] for one in stage(at)["figures"]]
        # Cells are nominal: each is a point of its own, called by its name, and has no low or high third.
        cells = crossings_of(result.sensitive)["age × sex"]
        profile, moved = seen[each].profile(seen[each].b), seen[each].moved
        assert profile["s_low"].tolist() == profile["s_high"].tolist() == list(range(len(cells.names)))
        test = result.splits[0].test
        own = pd.Series(seen[each].predictions(seen[each].b)[0][test]).groupby(cells.codes[test]).mean()
        np.testing.assert_allclose(profile["mean"], own)
        assert seen[each].groups_called(moved) == list(cells.names)
        assert f"rise by {moved['per_head'].max():.2g} " in who_pays(seen[each])
        assert f" for {cells.names[int(moved['per_head'].argmax())]} and fall" in who_pays(seen[each])
        assert stage(at)["table"]["rows"][0][0] == cells.names[0]
        for panel in ("Distributions", "Transformations"):
            assert " have no order" in words(look(at, panel))
