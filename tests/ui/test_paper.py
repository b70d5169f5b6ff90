"""The page on the paper: what it counts, compares and judges is what the committed results say."""

from __future__ import annotations

import json

import pytest

from fairdash.figures.paper import dots_figure
from fairdash.figures.theme import LIGHT
from fairdash.reports.paper import FAIRNESS, OBJECTIVES, committed, read_result, row_of
from fairdash.reports.paper import METHODS as PUBLISHED
from fairdash.reports.paper.judging import cells, count, of_equivalence, sentences, summary
from fairdash.training.methods import METHODS
from fairdash.ui.paper import table1
from tests.ui.conftest import open_page, words


def open_part(part):
    at = open_page("paper")
    at.session_state["paper.figures part"] = part
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


def test_every_part_begins_with_the_counts_of_the_comparable_data_alone():
    result = read_result("table1_crime")
    strict, share = (count(result, "crime", as_share=each) for each in (False, True))
    said, scores = (each.value for each in open_part("fig3").markdown[:2])
    assert f"in standardised units | **{strict.reached} of {strict.total}**" in scores
    assert f"(second count, added after the first) | **{share.reached} of {share.total}**" in scores
    verdict = {0: "No", 2 * strict.total: "Yes"}.get(strict.reached + share.reached, "In part")
    assert f"**{verdict}.**" in said
    counted, _, aside = said.partition("Not comparable, and not counted: ")
    for name in ("motor", "motor_all", "census_county"):
        assert table1.title_of(name) not in counted
        assert table1.title_of(name) in aside


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("census_county", "all 12 values of the paper's Fair HGR NN are below the noise floor"),
        ("motor", "HGR_NN of 0.354 here and of 0.201 in the paper"),
        ("motor_all", "HGR_NN of 0.361 here and of 0.201 in the paper"),
    ],
)
def test_what_is_not_comparable_is_shown_with_the_reason_and_not_counted(name, reason):
    at = open_page("paper", data=name)
    assert not at.exception
    said = at.markdown[2].value
    assert "not comparable, and not counted" in said
    assert reason in said
    assert "of 12 fairness values" not in words(at)
    assert "Not at or below" not in words(at)
    ours = at.dataframe[0].value
    ours = ours[ours["Values"] == "ours, their way"]
    assert len(ours) == 6
    assert not ours.apply(lambda column: column.str.contains("lower|higher")).any(axis=None)


def test_equivalence_stands_beside_the_count():
    result = read_result("table1_crime")
    found = of_equivalence(result, "crime", count(result, "crime"))
    assert found in words(open_page("paper"))


def test_the_table_has_our_error_as_a_share_of_the_constants_too():
    shown = open_page("paper").dataframe[0].value
    splits = read_result("table1_crime").tables["splits"]
    own = splits[(splits["method"] == "hgr_nn") & (splits["objective"] == "demographic_parity")]
    share = own["mse"].mean() / own["constant"].mean()
    row = shown[(shown["Method"] == "Fair HGR") & (shown["Values"] == "ours, their way")]
    assert list(row[table1.SHARE]) == [f"{share:.3f}"]


def test_the_second_count_holds_shares_of_a_constant_predictions_error_to_the_papers():
    result = read_result("table1_crime")
    strict, share = (count(result, "crime", as_share=each) for each in (False, True))
    constant = result.tables["splits"].groupby("split")["constant"].first().mean()
    for objective in OBJECTIVES:
        assert share.cells[objective][0].ours == pytest.approx(strict.cells[objective][0].ours / constant)
        assert share.cells[objective][1:] == strict.cells[objective][1:]
    said = words(open_page("paper"))
    assert f"has error 1 there and {constant:.3f} here" in said
    assert f"{share.reached} of {share.total} values count" in said


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_cell_that_is_missed_is_listed_with_its_floor(objective):
    at = open_page("paper")
    at.session_state["paper.table1 objective"] = objective
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


def test_the_command_that_makes_a_result_again_is_named():
    (code,) = open_page("paper").code
    command = read_result("table1_crime").command
    assert code.value.splitlines()[0] == command
    assert code.value.splitlines()[1].startswith(f"{command} --methods hgr_nn --objectives ")
    for part in ("fig1", "fig2", "fig3", "household"):
        said = [each.value for each in open_part(part).caption]
        assert any(f"in a checkout of fairdash: `{read_result(part).command}`" in each for each in said)


@pytest.mark.parametrize("networks", ["authors", "published", "ours"])
def test_the_papers_sentences_are_judged_from_the_data(networks):
    result = read_result("fig2")
    found = sentences(result.tables["values"], result.tables["exact"], networks=networks)
    at = open_page("paper")
    at.session_state["paper.figures part"] = "fig2"
    at.session_state["paper.figures networks"] = networks
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
    at.select_slider(key="paper.figures epoch").set_value(int(flow["epoch"].iloc[1])).run()
    (element,) = at.get("plotly_chart")
    notes = [note["text"] for note in json.loads(element.proto.spec)["layout"]["annotations"]]
    assert any(f"{flow['j'].iloc[1]:+.3f}" in note for note in notes)
    assert any(f"{flow['grad_f'].iloc[1]:.3f}" in note for note in notes)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_household_says_what_it_costs_beside_the_papers_percentages(objective):
    at = open_page("paper")
    at.session_state["paper.figures part"] = "household"
    at.session_state["paper.figures fig4-objective"] = objective
    at.run()
    splits = read_result("household").tables["splits"]
    mse = splits[splits["objective"] == objective].groupby("method")["mse"].mean()
    said = words(at)
    for method, paper in (("hgr_nn", {"demographic_parity": "+10%", "equalized_residuals": "+67%"}),):
        assert f"{mse[method] / mse['standard'] - 1:+.0%} (the paper" in said
        assert paper[objective] in said
    assert "the length of training" in said


def test_what_was_tried_is_shown_with_its_failures():
    tries = read_result("rehearsal_crime").tables["tries"]
    assert (tries["cells"] == 0).any()
    (shown,) = [each.value for each in open_page("paper").dataframe if "Error found" in each.value]
    assert list(shown["Error found"]) == [f"{value:.3f}" for value in tries["mse"]]
    assert list(shown["Cells"]) == list(tries["cells"])


@pytest.mark.parametrize(
    ("address", "key", "chosen"),
    [
        ({"part": "fig2"}, "paper.figures part", "fig2"),
        ({"part": "household", "objective": "equalized_residuals"}, "paper.figures fig4-objective", None),
        ({"part": "household", "reading": "household_surface"}, "paper.figures reading", None),
        ({"data": "motor"}, "paper.table1 data", None),
        ({"objective": "equalized_residuals"}, "paper.table1 objective", None),
        ({"part": "fig2", "networks": "ours"}, "paper.figures networks", None),
    ],
)
def test_the_address_holds_ids(address, key, chosen):
    at = open_page("paper", **address)
    assert not at.exception
    assert not at.warning
    assert at.segmented_control(key=key).value == (chosen or list(address.values())[-1])


def test_what_is_chosen_goes_into_the_address_by_its_id_and_is_there_on_coming_back():
    at = open_page("paper")
    assert not {"part", "data", "objective"} & set(at.query_params)
    at.segmented_control(key="paper.table1 objective").set_value("equalized_residuals").run()
    at.segmented_control(key="paper.figures part").set_value("fig2").run()
    at.segmented_control(key="paper.figures networks").set_value("ours").run()
    address = {name: "".join(value) for name, value in at.query_params.items()}
    assert address == {"part": "fig2", "objective": "equalized_residuals", "networks": "ours"}
    at.segmented_control(key="paper.figures part").set_value("table1").run()
    assert at.segmented_control(key="paper.table1 objective").value == "equalized_residuals"


@pytest.mark.parametrize(
    ("address", "key", "known"),
    [
        ({"part": "fig9 <b>"}, "paper.figures part", ["table1", "fig1", "fig2", "fig3", "household"]),
        ({"data": "boston"}, "paper.table1 data", ["crime", "motor"]),
        ({"objective": "calibration"}, "paper.table1 objective", OBJECTIVES),
        ({"part": "fig2", "networks": "wide"}, "paper.figures networks", ["authors", "published", "ours"]),
    ],
)
def test_an_unknown_id_is_named_and_the_known_ones_are_offered(address, key, known):
    at = open_page("paper", **address)
    assert not at.exception
    (said,) = [each.value.replace("\\", "") for each in at.warning]
    name, asked = list(address.items())[-1]
    assert f"{name}, “{asked}”" in said
    for each in known:
        assert f"“{each}”" in said
    # It is said until somebody chooses.
    at.segmented_control(key=key).set_value(known[1]).run()
    assert not at.warning
    assert "".join(at.query_params[name]) == known[1]


@pytest.mark.parametrize("reading", ["household", "household_surface"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_household_says_which_rows_a_number_comes_from(reading, objective):
    at = open_page("paper", part="household", objective=objective, reading=reading)
    said, shown = words(at), at.dataframe[0].value.set_index("Method")
    result = read_result(reading)
    choices, splits = (result.tables[name] for name in ("choices", "splits"))
    for choice in choices[choices["objective"] == objective].to_dict("records"):
        own = splits[(splits["objective"] == objective) & (splits["method"] == choice["method"])]
        there, here = f"{choice['dependence']:.3f}", f"{own['hgr_spline'].mean():.3f}"
        title = METHODS[choice["method"]].title
        assert (f"{title} ({there} there, {here} on the test rows)" in said) == (not choice["reached"])
        assert shown.loc[title, "HGR, held-out rows"] == there
        assert shown.loc[title, "HGR, test rows"].startswith(here)
    assert ("λ was chosen on held-out rows" in said) == (
        not choices.query("objective == @objective")["reached"].all()
    )


def test_a_side_that_three_data_sets_cannot_tell_is_not_judged():
    said = words(open_part("fig1"))
    below, above = (line for line in said.splitlines() if line.startswith("- *"))
    assert "can't be resolved with three data sets (ρ = 0, 0.1, 0.2, 0.3, 0.4, 0.5)" in above
    assert "holds at 5 of 11 ρ (ρ = 0.6, 0.7, 0.8, 0.9, 0.95)" in above
    assert "fails" not in above + below


def test_the_table_names_its_rows_and_its_rule_as_they_are():
    at = open_page("paper")
    shown = at.dataframe[0].value
    assert set(shown["Values"]) == {"the paper", "ours, their way", "ours, cross-fitted", "its floor"}
    assert "“Within”: at least 5 % of" in words(at)


def test_increases_with_noise_compares_end_points_and_says_so():
    said = words(open_part("fig2"))
    (line,) = [each for each in said.splitlines() if "increases with noise" in each]
    assert "From no noise to the most noise" in line


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_dots_are_the_cells_of_the_table(objective):
    result = read_result("table1_crime")
    values = table1.dots(result, "crime", objective)
    names = {each: each for each in values["method"].unique()}
    titles = {each: each for each in ("mse", *FAIRNESS)}
    words = {"title": "t", "subtitle": "s", "x": "x"}
    figure = dots_figure(values, titles=titles, names=names, theme=LIGHT, **words)
    drawn = {trace.name: list(trace.x) for trace in figure.data}
    for method in names:
        all_cells = cells(result, "crime", method, objective)
        assert drawn[method] == pytest.approx([each.ours for each in all_cells])
        # The paper has no splines: nothing of theirs is drawn there.
        published = [] if method not in PUBLISHED else [each.paper for each in all_cells]
        assert drawn[f"{method}, the paper"] == pytest.approx(published)
    floors = [each.floor_q95 for id in FAIRNESS for method in names
              for each in cells(result, "crime", method, objective) if each.measure == id]  # fmt: skip
    assert drawn["noise floor"] == pytest.approx(floors)
    assert len({trace.marker.symbol for trace in figure.data if trace.name in names}) == len(names)
    # On the axis of powers nothing is lost on the left.
    powers = dots_figure(values, titles=titles, names=names, theme=LIGHT, log=True, **words)
    assert (
        min(x for trace in powers.data if getattr(trace, "mode", None) == "markers" for x in trace.x) >= 0.001
    )
