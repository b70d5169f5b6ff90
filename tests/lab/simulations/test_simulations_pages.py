"""Both simulation pages in AppTest: every control is used once, links work, and no error appears."""

from collections.abc import Iterator

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from fairdash.dependence import REGISTRY, measure_many
from fairdash.lab import SCENES, Progress, Scene, scene_estimates, truth_of
from fairdash.lab.studies import Study, noise_axis_study, power_study
from fairdash.runs.state import DONE, RunStatus, write_status
from fairdash.runs.studies import create_study
from tests.tiers import few
from tests.ui.conftest import calm, charts, open_page, stage


def opened(name: str, **query: str) -> AppTest:
    return calm(open_page(name, **query))


def figure(app: AppTest, title: str) -> dict:
    return next(drawn for name, drawn in charts(app).items() if title in name)


def at(app: AppTest) -> float:
    """The current position of the noise slider."""
    slider = stage(app)["slider"]
    return float(slider["stops"][slider["at"]])


def answer(app: AppTest) -> str:
    said = ("estimators detect the link", "There is no link", "At ρ =")
    return next(each.value for each in app.markdown if any(words in each.value for words in said))


def carried_out(study: Study, progress: Iterator[Progress]) -> None:
    """Replace the complete study by a small one with a result."""
    *_, last = progress
    job = create_study(study)
    for name, table in last.tables.items():
        job.save(name, table)
    write_status(job.folder, RunStatus(state=DONE, fraction=1.0))


def test_the_patterns_page_shows_four_estimators_first_and_other_results_on_request() -> None:
    app = opened("patterns")
    assert app.title[0].value == "Which measure detects the link?"
    assert [part for part in ("estimators detect the link", "0.89") if part not in answer(app)] == []
    bars = figure(app, "Value of each estimator")
    assert {trace["name"] for trace in bars["data"]} == {"noise floor", "value", "exact", "as published"}
    assert app.get("progress"), "a bar for the networks, which follow"
    named = bars["layout"]["yaxis"]["ticktext"]
    assert len(named) == 4
    assert "HGR_NN &nbsp;…" in named
    calm(app.segmented_control(key="patterns.parts more").set_value("Learned f and g").run())
    said = "\n".join(each.value for part in (app.markdown, app.caption, app.info) for each in part)
    for words in (
        "the two most correlated functions",
        "Share this link. People who open the link see the same",
    ):
        assert words in said
    assert "Download" in [each.value for each in app.subheader]
    calm(app.segmented_control(key="patterns.parts more").set_value("All numbers").run())
    table = app.dataframe[0].value
    assert {"Estimator", "Reads", "Exact", "Noise floor"} <= set(table.columns)
    (rdc,) = [row for _, row in table.iterrows() if "RDC" in row["Estimator"]]
    assert "no slow sine of u's rank" in rdc["0 means"]
    calm(app.segmented_control(key="patterns.parts more").set_value("When each fails").run())
    calm(app.button(key='patterns.scene fails "chi2_kde" "heavy_tails"').click().run())
    assert app.toggle(key="heavy").value


SHOWN = few(SCENES, *(each for each in SCENES if each.id in ("u_shape", "heavy_tails")))


@pytest.mark.parametrize("each", SHOWN, ids=lambda each: each.id)
def test_one_click_opens_the_simulated_example_in_which_an_estimator_fails(each) -> None:
    app = opened("patterns")
    calm(app.button(key=f'patterns.scene example "{each.id}"').click().run())
    assert (app.selectbox(key="pattern").value, at(app)) == (each.scene.pattern, each.scene.noise)
    assert app.toggle(key="heavy").value == each.scene.heavy_tails
    assert app.info[0].value == each.look_at


def test_custom_points_are_read_from_the_address_and_invalid_points_are_ignored() -> None:
    for points in ("a:b", "nan:1,2:3", "1:1,1:2"):
        open_page("patterns", pattern="points", points=points, n="50")
    assert opened("patterns", pattern="spiral", n="50").selectbox(key="pattern").value == Scene().pattern
    app = opened("patterns", pattern="points", points="-10:0,0:8,10:0", n="50")
    assert figure(app, "Your own points")
    truth = truth_of(Scene(pattern="points", points=((-10, 0), (0, 8), (10, 0))).shape, noise=2.0)
    assert f"The exact maximal correlation is {truth.hgr:.2f}" in answer(app)


IDS = ("pearson", "hgr_spline")
FOUR = ("parabola", "cosine", "sawtooth", "fast_cosine")


SMALL = {"noises": (1.0, 4.0), "repeats": 2, "ids": IDS}
AXIS, POWER = (Study(kind, Scene(n=50, noise=0.0)) for kind in ("noise_axis", "power"))


def test_finished_studies_are_drawn() -> None:
    carried_out(AXIS, noise_axis_study([Scene(n=50)], **SMALL))
    carried_out(
        Study("fig2", Scene(n=50)), noise_axis_study([Scene(n=50, pattern=id) for id in FOUR], **SMALL)
    )
    carried_out(POWER, power_study(Scene(n=50), noises=(1.0, 10.0), repeats=20, ids=IDS))
    app = opened("patterns", n="50")
    for choice, title in {
        "Whole noise axis": "All noise levels",
        "The paper's four patterns": "four kinds of pattern",
        "How often detected": "How often the link is detected",
    }.items():
        calm(app.segmented_control(key="patterns.parts more").set_value(choice).run())
        assert any(trace["name"] == "HGR_spline" for trace in figure(app, title)["data"])


def test_slow_estimators_are_added_to_the_figure_when_they_finish() -> None:
    reading = scene_estimates(Scene(), ["hgr_spline"]).assign(id="hgr_nn", value=0.75)
    create_study(Study("scene", Scene())).save("readings", reading)
    ticks = figure(opened("patterns"), "Value of each")["layout"]["yaxis"]["ticktext"]
    assert "HGR_NN &nbsp;<b>0.75</b>" in ticks


def test_the_in_sample_value_of_networks_on_noise_matches_the_text_of_the_page() -> None:
    said = REGISTRY["hgr_nn"].fails_when
    assert "200 rows of pure noise give about 0.7, 500 rows about 0.5" in said
    u, v = np.random.default_rng(0).normal(size=(2, 5, 200))
    read = measure_many("hgr_nn", u, v, evaluation="in_sample", random_state=0)
    assert 0.65 < np.median(read) < 0.8


def test_the_old_address_of_the_gaussians_page_opens_the_gaussians_part_of_the_patterns_page() -> None:
    app = opened("gaussians", rho="0.9", base="bits")
    assert app.title[0].value.startswith("Does χ² or mutual information bound the maximal correlation")
    assert "1.198 bits" in answer(app)
    assert app.query_params["part"] == "gaussians"
    # Open the new address, to which a browser has been redirected by then.
    app = opened("patterns", part="gaussians")
    calm(app.segmented_control(key="patterns.parts part").set_value("patterns").run())
    assert app.title[0].value == "Which measure detects the link?"
