"""The page on the paper: its counts, comparisons and judgements equal the committed results."""

from __future__ import annotations

import pytest

from fairdash.lab.paper import read_result, study_ids
from tests.ui.conftest import calm, charts, open_page, words


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
    assert part in study_ids()
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
