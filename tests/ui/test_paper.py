"""The page on the paper: what it counts, compares and judges is what the committed results say."""

from __future__ import annotations

import json

import pytest

from fairdash.reproduction import StudyResult, again, committed, read_result, write_result
from fairdash.reproduction.cells import cells, count, summary
from fairdash.reproduction.paper import FAIRNESS, OBJECTIVES, row_of
from fairdash.reproduction.sentences import sentences
from fairdash.runs.store import DONE, RunStatus
from fairdash.ui.paper import table1
from tests.ui.conftest import open_page, words


def open_part(part):
    at = open_page("paper")
    at.session_state["paper-part"] = part
    return at.run()


def title_of_chart(at):
    (element,) = at.get("plotly_chart")
    return json.loads(element.proto.spec)["layout"]["title"]["text"]


def test_the_answer_is_counted_from_the_committed_cells():
    found = count(read_result("table1_crime"), "crime")
    said = words(open_page("paper"))
    assert f"{found.reached} of {found.total} fairness values" in said
    assert found.total == len(FAIRNESS) * len(OBJECTIVES)
    # The same, counted by hand.
    table = summary(read_result("table1_crime")).set_index(["method", "objective"])
    reached = 0
    for objective, method in found.chosen.items():
        own, paper = table.loc[(method, objective)], row_of("crime", "hgr_nn", objective)
        if round(own["mse"], 3) <= paper["mse"]:
            reached += sum(round(own[f"{id}_paper"], 3) <= paper[id] for id in FAIRNESS)
    assert reached == found.reached


def test_every_part_begins_with_the_counts_of_all_data_sets():
    found = {name: count(read_result(f"table1_{name}"), table1.dataset_of(name)) for name in table1.names()}
    assert {"crime", "motor"} <= set(found)
    at = open_part("fig3")
    for name, each in found.items():
        assert f"{table1.title_of(name)} {each.reached} of {each.total}" in words(at)
    reached, total = (sum(getattr(each, what) for each in found.values()) for what in ("reached", "total"))
    verdict = {0: "No", total: "Yes"}.get(reached, "In part")
    assert f"**{verdict}.**" in at.markdown[0].value


def test_the_second_count_holds_shares_of_a_constant_predictions_error_to_the_papers():
    result = read_result("table1_crime")
    strict, share = (count(result, "crime", as_share=each) for each in (False, True))
    constant = result.tables["splits"].groupby("split")["constant"].first().mean()
    for objective in OBJECTIVES:
        assert share.cells[objective][0].ours == pytest.approx(strict.cells[objective][0].ours / constant)
        assert share.cells[objective][1:] == strict.cells[objective][1:]
    said = words(open_page("paper"))
    assert f"has {constant:.3f} here" in said
    assert f"{share.reached} of {share.total} values count" in said


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_cell_that_is_missed_is_listed_with_its_floor(objective):
    at = open_page("paper")
    at.session_state["paper-objective"] = objective
    at.run()
    assert not at.exception
    said = words(at)
    missed = count(read_result("table1_crime"), "crime").missed(objective)
    for cell, reason in missed:
        assert f"ours {cell.printed:.3f}" in said
        assert f"floor {cell.floor:.3f}" in said
        assert reason in said
    if not missed:
        assert "Every fairness value" in said


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_cells_colour_goes_with_its_words(objective):
    texts, colours = table1.rows(read_result("table1_crime"), "crime", objective)
    for text, colour in zip(texts.to_numpy().ravel(), colours.to_numpy().ravel(), strict=True):
        if colour:
            side = str(text).partition(" ")[2]
            green, orange = "0,158,115" in colour, "213,94,0" in colour
            assert green == side.startswith(("lower", "same"))
            assert orange == (side == "higher"), text
    for cell in cells(read_result("table1_crime"), "crime", "hgr_nn", objective):
        assert (texts == table1.text_of(cell)).any(axis=None)
        assert (texts == f"{cell.paper:.3f}").any(axis=None)


def test_a_row_can_be_run_again_by_a_command():
    at = open_page("paper")
    (code,) = at.code
    assert code.value.startswith("python -m fairdash reproduce table1 --dataset crime --methods standard ")
    at.selectbox(key="paper-row").set_value("mine").run()
    at.selectbox(key="paper-row-objective").set_value("equalized_residuals").run()
    assert "--methods mine --objectives equalized_residuals --out again" in at.code[0].value


@pytest.fixture
def started(monkeypatch):
    """Jobs are created, and no process is started."""
    jobs = []
    monkeypatch.setattr(again, "start_detached", lambda module, id, *, log: jobs.append(id))
    return jobs


def again_button(at):
    (button,) = [each for each in at.button if each.label == "Run it again"]
    return button


def test_a_row_can_be_run_again_in_the_app(started):
    at = open_page("paper")
    at.selectbox(key="paper-row").set_value("hgr_spline").run()
    again_button(at).click().run()
    assert not at.exception
    (job,) = [again.AgainJob(id) for id in started]
    assert job.spec == again.AgainSpec(
        study="table1", dataset="crime", method="hgr_spline", objective="demographic_parity"
    )
    # While it works there is a way to stop it, and none to start it twice.
    assert [each.label for each in at.button if "again" in each.label] == []
    (cancel,) = [each for each in at.button if each.label == "Cancel"]
    cancel.click().run()
    assert job.is_cancelled()


def finish(job, result):
    """The job's result is there, as its process would have left it."""
    write_result(result, job.folder / "result")
    job.write_status(RunStatus(state=DONE, fraction=1.0, seconds=3.0))


def test_what_comes_of_it_stands_beside_the_committed_values(started):
    at = open_part("fig1")
    again_button(at).click().run()
    committed_one = read_result("fig1")
    values = committed_one.tables["values"].copy()
    values.loc[0, "value"] += 0.5
    finish(again.AgainJob(started[0]), StudyResult(committed_one.about, {"values": values}))
    at.run()
    assert not at.exception
    n = len(values.groupby(["id", "evaluation", "rho"]))
    assert f"{n - 1:,} of {n:,} values are the same" in words(at)
    table = at.dataframe[-1].value
    assert table.iloc[0]["Difference"].startswith("+0.17")  # one of three draws
    assert (table.iloc[1:][""] == "same").all()
    assert again_button(at)


def test_a_job_of_another_study_is_not_shown(started):
    at = open_part("fig1")
    again_button(at).click().run()
    at = open_part("fig3")
    assert again_button(at)


@pytest.mark.parametrize("networks", ["authors", "published", "ours"])
def test_the_papers_sentences_are_judged_from_the_data(networks):
    result = read_result("fig2")
    found = sentences(result.tables["values"], result.tables["exact"], networks=networks)
    at = open_page("paper")
    at.session_state["paper-part"] = "fig2"
    at.session_state["paper-networks"] = networks
    at.run()
    said = words(at)
    for one in found:
        mark = ":green-badge[holds]" if one.holds else ":orange-badge[does not hold]"
        assert f"{mark} *“{one.quote}”* {one.finding}" in said


@pytest.mark.parametrize("part", ["fig1", "fig2", "fig3", "household"])
def test_every_figure_is_drawn(part):
    assert part in committed()
    at = open_part(part)
    assert not at.exception
    assert not at.error
    assert title_of_chart(at).startswith("<b>")


def test_the_picture_of_the_networks_follows_the_slider():
    flow = read_result("fig3").tables["flow"]
    at = open_part("fig3")
    at.select_slider(key="paper-epoch").set_value(int(flow["epoch"].iloc[1])).run()
    (element,) = at.get("plotly_chart")
    notes = [note["text"] for note in json.loads(element.proto.spec)["layout"]["annotations"]]
    assert any(f"{flow['j'].iloc[1]:+.3f}" in note for note in notes)
    assert any(f"{flow['grad_f'].iloc[1]:.3f}" in note for note in notes)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_household_says_what_it_costs_beside_the_papers_percentages(objective):
    at = open_page("paper")
    at.session_state["paper-part"] = "household"
    at.session_state["paper-fig4-objective"] = objective
    at.run()
    splits = read_result("household").tables["splits"]
    mse = splits[splits["objective"] == objective].groupby("method")["mse"].mean()
    said = words(at)
    for method, paper in (("hgr_nn", {"demographic_parity": "+10%", "equalized_residuals": "+67%"}),):
        assert f"{mse[method] / mse['standard'] - 1:+.0%} (the paper" in said
        assert paper[objective] in said
    assert "how long it was trained" in said


def test_what_was_tried_is_shown_with_its_failures():
    tries = read_result("rehearsal_crime").tables["tries"]
    assert (tries["cells"] == 0).any()
    (shown,) = [each.value for each in open_page("paper").dataframe if "Error found" in each.value]
    assert list(shown["Error found"]) == [f"{value:.3f}" for value in tries["mse"]]
    assert list(shown["Cells"]) == list(tries["cells"])
