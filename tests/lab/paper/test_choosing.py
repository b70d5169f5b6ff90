"""How λ is chosen in a split's training rows, and what a study tells that is made again or has few splits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.paper import judging
from benchmarks.paper.choosing import BLENDS, Trial, choose
from benchmarks.paper.remake import compare
from fairdash.data.catalogue import load_dataset
from fairdash.lab.paper import FAIRNESS, read_result, row_of
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.splits import random_splits

SMALL_SETTINGS = TrainingSettings(
    hidden=(6,), adversary_hidden=(4,), batch_size=32, n_epochs=6, warm_up_epochs=2, adversary_steps=1
)
TRIED = tuple(StackedModel("hgr_spline", lam, SMALL_SETTINGS) for lam in (0.1, 1.0, 10.0))
PAPER = row_of("crime", "hgr_nn", "demographic_parity")


@pytest.fixture(scope="module")
def small():
    dataset = load_dataset("household", n=150)
    return dataset, random_splits(dataset.n_rows, n_splits=2, random_state=0)


def trial(dataset, split, candidates=TRIED, **options):
    options = {"n_folds": 3, "objective": "demographic_parity"} | options
    return Trial(dataset=dataset, split=split, candidates=candidates, **options)


def test_test_rows_take_no_part_in_the_choice(small):
    """Other targets and ages on a split's test rows change neither its choice nor its predictions there."""
    dataset, splits = small
    rows = splits[0].test
    target, sensitive = dataset.target.copy(), dataset.sensitive.astype(float).copy()
    target.iloc[rows] *= 5
    sensitive.iloc[rows] += 20
    found = []
    for each in (dataset, replace(dataset, target=target, sensitive=sensitive)):
        own = trial(each, splits[0], n_networks=2)
        frame = own.compared()
        chosen, _ = choose(frame, "hgr_spline", PAPER)
        found.append((frame, own.trained(chosen)[rows]))
    (frame, predicted), (other, again) = found
    pd.testing.assert_frame_equal(frame, other)
    np.testing.assert_array_equal(predicted, again)


def test_every_weight_and_the_blends_between_neighbours_are_compared(small):
    dataset, (split, _) = small
    frame = trial(dataset, split).compared()
    assert len(frame) == 3 + 2 * len(BLENDS)
    assert frame["lam"].is_monotonic_increasing
    assert frame["lam"].iloc[1] == pytest.approx(0.1 + BLENDS[0] * 0.9)
    # The squared error of a blend is at most the blend of the squared errors.
    ends = frame[frame["blend"] == 0].set_index("low")["mse"]
    low, high = (frame[end].map(ends) for end in ("low", "high"))
    assert (frame["mse"] <= (1 - frame["blend"]) * low + frame["blend"] * high + 1e-12).all()


def with_shift(result, table, column, by):
    frame = result.tables[table].copy()
    frame[column] += by
    return replace(result, tables={**result.tables, table: frame})


def test_draws_are_averaged_and_held_to_three_standard_errors():
    result = read_result("fig1")
    values = result.tables["values"]
    first = values[(values["id"] == "hgr_nn") & (values["evaluation"] == "ours") & (values["rho"] == 0)]
    error = first["value"].std(ddof=1) / np.sqrt(len(first))
    for by, within in ((2.9 * error, True), (3.1 * error, False)):
        compared = compare(result, with_shift(result, "values", "value", by))
        (row,) = compared[compared["row"] == "hgr_nn, ours, 0.0"].to_dict("records")
        assert (row["error"], row["difference"]) == (pytest.approx(error), pytest.approx(by))
        assert (row["same"], row["within"]) == (False, within)
    assert compare(result, with_shift(result, "values", "value", 1e-8))["same"].all()


def test_a_row_of_the_table_is_compared_with_its_own_row():
    whole = read_result("table1_crime")
    splits = whole.tables["splits"]
    own = splits[(splits["method"] == "mine") & (splits["objective"] == "equalized_residuals")]
    compared = compare(whole, replace(whole, tables={"splits": own.reset_index(drop=True)}))
    assert set(compared["row"]) == {"mine, equalized_residuals"}
    assert compared["same"].all()
    (mse,) = compared.loc[compared["column"] == "mse", "error"]
    # The splits overlap.
    assert mse == pytest.approx(np.sqrt((1 / len(own) + 399 / 1595) * own["mse"].var(ddof=1)), rel=1e-6)


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
        found = result, "crime", judging.count(result, "crime")
        return judging.equivalent(*found), judging.of_equivalence(*found)

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
    assert judging.central_range(values) == pytest.approx((-1.645 / 5**0.5, 1.645 / 5**0.5), abs=0.04)
    assert judging.central_range(values[:19]) is None


def test_the_side_of_a_bound_is_told_where_the_data_sets_can():
    rho = [0.1, 0.5, 0.9]
    values = pd.DataFrame({"rho": np.repeat(rho, 3), "id": "chi2_nn", "evaluation": "ours"})
    values["value"] = [0.008, 0.011, 0.009, 0.30, 0.31, 0.32, 0.70, 0.71, 0.72]
    exact = pd.DataFrame({"rho": rho, "hgr2": [0.0095, 0.25, 0.81]})
    above, other = (judging.sides_of_bound(values, exact, bound="hgr2", above=each) for each in (True, False))
    assert above.set_index("rho")["side"].to_dict() == dict(
        zip(rho, ["unresolved", "holds", "fails"], strict=True)
    )
    assert list(other["side"]) == ["unresolved", "fails", "holds"]
    assert "can't be resolved with three data sets (ρ = 0.1)" in judging.in_words(above)
