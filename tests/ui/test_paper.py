"""The page on the paper: its counts, comparisons and judgements equal the committed results."""

from __future__ import annotations

import pytest

from benchmarks.paper.judging import count, summary
from fairdash.lab.paper import FAIRNESS, OBJECTIVES, committed, read_result, row_of
from tests.serving import ROOT
from tests.ui.conftest import calm, charts, open_page, words


def test_the_counts_on_the_paper_page_match_the_committed_results():
    found = count(read_result("table1_crime"), "crime")
    at = open_page("paper")
    said = words(at)
    assert f"at its error** ({found.reached} of {found.total}, scored as in the paper)" in said
    # The first sentences contain no count and also begin the documentation page.
    first = at.markdown[0].value.replace("**", "")
    assert "Crime we reach" in first
    assert not set("0123456789") & set(first)
    assert first in " ".join((ROOT / "docs" / "paper.md").read_text("utf-8").split())
    assert found.total == len(FAIRNESS) * len(OBJECTIVES)
    # The expected numbers, counted separately.
    table = summary(read_result("table1_crime")).set_index(["method", "objective"])
    reached = 0
    for objective, method in found.chosen.items():
        own, paper = table.loc[(method, objective)], row_of("crime", "hgr_nn", objective)
        if round(own["mse"], 3) <= paper["mse"]:
            reached += sum(round(own[f"{id}_paper"], 3) <= paper[id] for id in FAIRNESS)
    assert reached == found.reached


@pytest.mark.parametrize(("name", "reason"), [
    ("census_county", "all 12 values of the paper's Fair HGR NN are below the noise floor"),
    ("motor_all", "HGR_NN of 0.361 here and of 0.201 in the paper"),
])  # fmt: skip
def test_results_not_comparable_with_the_paper_are_shown_with_the_reason_and_not_counted(name, reason):
    at = open_page("paper", data=name)
    said = at.markdown[2].value
    assert [part for part in ("not comparable, and not counted", reason) if part not in said] == []
    assert [part for part in ("of 12 fairness values", "Not at or below") if part in words(at)] == []
    ours = at.dataframe[0].value
    ours = ours[ours["Values"] == "ours, their way"]
    assert len(ours) == 6
    assert not ours.apply(lambda column: column.str.contains("lower|higher")).any(axis=None)


def test_the_paper_page_shows_the_command_that_reproduces_a_result():
    (code,) = open_page("paper").code
    command = read_result("table1_crime").command
    whole, first = code.value.splitlines()[:2]
    assert whole == command
    assert first.startswith(f"{command} --methods hgr_nn --objectives ")


@pytest.mark.parametrize("part", ["fig1", "fig2", "fig3", "household"])
def test_every_figure_of_the_paper_page_is_drawn(part):
    assert part in committed()
    at = calm(open_page("paper", part=part))
    (title,) = charts(at)
    assert title.startswith("<b>")
    assert f"in a checkout of fairdash: `{read_result(part).command}`" in words(at)


ADDRESSES = [
    ({"part": "household", "objective": "equalized_residuals", "reading": "household_surface"}, "", []),
    ({"part": "fig9 <b>"}, "paper.figures part", ["table1", "fig1", "fig2", "fig3", "household"]),
    ({"part": "fig2", "networks": "wide"}, "paper.figures networks", ["authors", "published", "ours"]),
]


@pytest.mark.parametrize(("address", "key", "known"), ADDRESSES)
def test_an_unknown_id_in_the_address_is_named_with_the_known_ids(address, key, known):
    at = open_page("paper", **address)
    if not known:
        assert not at.warning
        assert set(address.values()) <= {each.value for each in at.segmented_control}
        return
    (said,) = [each.value.replace("\\", "") for each in at.warning]
    name, asked = list(address.items())[-1]
    assert f"{name}, “{asked}”" in said
    assert [each for each in known if f"“{each}”" not in said] == []
    # The message stays until the user makes a choice.
    at.segmented_control(key=key).set_value(known[1]).run()
    assert not at.warning
    assert "".join(at.query_params[name]) == known[1]
