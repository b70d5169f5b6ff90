"""The page “Which method?”: its texts, charts and downloads equal the committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairdash.evaluation.bench import GAP, JOINT
from fairdash.training.methods import DEFAULT_METHOD
from fairdash.views.reports.methods import best_at_half, errors_of, mean_ranks, missing, read_methods, summary
from tests.ui.conftest import calm, charts, open_page, words


@pytest.mark.parametrize("address", [{}, {"data": "crime", "reading": "gap"}, {"data": "crossing"}])
def test_the_methods_page_shows_the_committed_results(address):
    at = calm(open_page("methods", **address))
    table = read_methods()
    data = address.get("data", table["data"].iloc[0])
    assert all(each in words(at).replace("\\", "") for each in summary(table))
    shown = at.dataframe[-1].value
    pd.testing.assert_frame_equal(shown.reset_index(drop=True), errors_of(table, data), check_dtype=False)
    (figure,) = charts(at).values()
    own = table[(table["data"] == data) & (table["method"] == DEFAULT_METHOD)]
    # For combinations of attributes, the page first shows a joint measure, which alone detects the link.
    reading = "gap" if "reading" in address else "hgr_rdc_joint" if data == "crossing" else "hgr_rdc"
    path = own[(own["reading"] == reading) & own["comparable"].notna()].sort_values("level", ascending=False)
    drawn = next(each for each in figure["data"] if each["name"] == DEFAULT_METHOD)
    assert list(drawn["x"]) == [1.0, *path["level"]]
    assert list(drawn["y"])[1:] == pytest.approx(path["error"].tolist())
    assert len(path)


def made(errors, **columns):
    """Errors of methods (rows) on two data sets (columns), for one measure and three levels."""
    rows = [
        {"method": method, "data": data, "comparable": error, "error": error, "level": level}
        for method, own in errors.items() for data, error in zip("ab", own, strict=True) for level in (0.75, 0.5, 0.25)
    ]  # fmt: skip
    same = {"reading": GAP, "linked": True, "needs_s": False, "more_low": np.nan, "more_high": np.nan}
    same["has_all_splits"] = True
    return pd.DataFrame(rows).assign(**(same | columns))


def test_mean_ranks_cover_only_data_sets_with_results_of_all_methods():
    table = made({DEFAULT_METHOD: [0.2, 0.3], "hsic": [0.1, 0.4], "gdp": [0.3, np.nan]})
    assert mean_ranks(table)[0.5].to_dict() == {DEFAULT_METHOD: 1.5, "hsic": 1.5, "gdp": 3.0}
    without = table[(table["method"] != "gdp") | (table["data"] != "b")]
    assert mean_ranks(without).index.tolist() == [DEFAULT_METHOD, "hsic"]
    joint = table.assign(reading=GAP + JOINT)
    assert (len(mean_ranks(joint)), len(mean_ranks(joint, several=True))) == (0, 3)
    assert best_at_half(table)["method"].tolist() == ["hsic", DEFAULT_METHOD]
    # A method with fewer splits can more easily reach a level in all of them.
    fewer = table.assign(has_all_splits=table["method"] != "hsic")
    assert mean_ranks(fewer).index.tolist() == [DEFAULT_METHOD, "gdp"]
    assert best_at_half(fewer)["method"].tolist() == [DEFAULT_METHOD, DEFAULT_METHOD]


def test_the_summary_counts_significant_differences():
    table = made({DEFAULT_METHOD: [0.2, 0.3], "hsic": [0.1, 0.4]})
    table.loc[6, ["more_low", "more_high"]] = -0.2, -0.05
    table.loc[9, ["more_low", "more_high"]] = -0.1, 0.3
    said = summary(table)[-1]
    assert "in 2 cases. The interval is above 0 in 0 cases and below 0 in 1, on 1 of 2 sets" in said


def test_a_reason_is_given_for_every_missing_method_result():
    table = read_methods()
    reasons = missing(table)
    for name, own in table.groupby("method"):
        assert name in reasons or set(own["data"]) == set(table["data"])
    assert "one attribute" in reasons["gedi"]
