"""What few splits, or few data sets, can tell of the paper's values, and what they can't."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairdash.reports.paper import FAIRNESS, read_result, row_of
from fairdash.reports.paper.judging import (
    central_range,
    count,
    equivalent,
    in_words,
    of_equivalence,
    sides_of_bound,
)


def with_splits(n, *, spread, centre):
    """Table 1 of Crime with `n` splits, each fairness value around `centre` times the paper's."""
    result = read_result("table1_crime")
    rng = np.random.default_rng(0)
    rows = []
    for (method, objective), group in result.tables["splits"].groupby(["method", "objective"]):
        paper = row_of("crime", "hgr_nn", objective)
        for split in range(n):
            row = group.iloc[split % len(group)].to_dict() | {"method": method, "split": split}
            values = {f"{id}_paper": paper[id] * (centre + spread * rng.normal()) for id in FAIRNESS}
            rows.append(row | values)
    return replace(result, tables={**result.tables, "splits": pd.DataFrame(rows)})


def test_equivalence_is_the_papers_value_within_the_means_of_five_of_our_splits():
    def of(**how):
        result = with_splits(**how)
        found = result, "crime", count(result, "crime")
        return equivalent(*found), of_equivalence(*found)

    # The count by size turns on a hair; equivalence does not.
    for n, spread, centre, reached, says in (
        (96, 0.2, 1.03, 12, "12 of 12."),
        (24, 0.05, 1.5, 0, "24 splits): 0 of 12."),
        (19, 0.2, 1.0, None, "At least 20 are needed"),
    ):
        found, said = of(n=n, spread=spread, centre=centre)
        assert found == reached
        assert says in said


def test_the_central_range_is_that_of_means_of_five():
    values = np.random.default_rng(1).normal(size=4_000)
    assert central_range(values) == pytest.approx((-1.645 / 5**0.5, 1.645 / 5**0.5), abs=0.04)
    assert central_range(values[:19]) is None


def test_the_side_of_a_bound_is_told_where_the_data_sets_can():
    rho = [0.1, 0.5, 0.9]
    values = pd.DataFrame({"rho": np.repeat(rho, 3), "id": "chi2_nn", "evaluation": "ours"})
    values["value"] = [0.008, 0.011, 0.009, 0.30, 0.31, 0.32, 0.70, 0.71, 0.72]
    exact = pd.DataFrame({"rho": rho, "hgr2": [0.0095, 0.25, 0.81]})
    above, other = (sides_of_bound(values, exact, bound="hgr2", above=each) for each in (True, False))
    assert above.set_index("rho")["side"].to_dict() == dict(
        zip(rho, ["unresolved", "holds", "fails"], strict=True)
    )
    assert list(other["side"]) == ["unresolved", "fails", "holds"]
    assert "can't be resolved with three data sets (ρ = 0.1)" in in_words(above)
