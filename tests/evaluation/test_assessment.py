"""Assessment: tidy frames, corrected errors, the front and the averages by quantile group."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from fairdash.dependence import measure
from fairdash.errors import OptionError
from fairdash.evaluation import (
    assess_predictions,
    corrected_standard_error,
    group_averages,
    of_sensitive,
    quantile_profile,
    wide,
)
from fairdash.evaluation.figures import FIGURES, of_measure, tidy, untidy
from fairdash.training.methods import THE_STANDARD, ModelKey
from fairdash.training.splits import random_splits
from tests.training.test_sweep import small_dataset


def _assessed(n_splits=3, **options):
    """Predictions of two methods, of which the standard one adds age, and their errors and dependence."""
    dataset = small_dataset(n=300)
    splits = random_splits(300, n_splits=n_splits, random_state=0)
    members = pd.DataFrame({"method": ["standard", "hgr_nn"] * n_splits, "lam": [0.0, 1.0] * n_splits})
    members = members.assign(split=np.repeat(np.arange(n_splits), 2), diverged=False)
    own = np.outer(members["method"] == "standard", dataset.sensitive["age"])
    noise = np.random.default_rng(1).normal(size=own.shape)
    predictions = dataset.target.to_numpy() + noise + own
    return dataset, splits, members, predictions, _frame(dataset, predictions, members, splits, **options)


def _frame(*given, **options):
    return wide(_table(*given, **options))


def _table(*given, **options):
    return assess_predictions(*given, **({"objective": "demographic_parity", "n_permutations": 30} | options))


def test_every_sensitive_column_has_a_dependence_value_and_all_together_have_a_joint_value():
    dataset, splits, members, predictions, alone = _assessed()
    distance = np.random.default_rng(5).normal(size=300)
    both = replace(dataset, sensitive=dataset.sensitive.assign(distance=distance))
    table = _table(both, predictions, members, splits, measures=("hgr_kde", "distance_correlation"))
    frame = wide(table)
    columns = ["hgr_kde", "hgr_kde_floor", "hgr_kde_floor_q95"]
    pd.testing.assert_frame_equal(wide(of_sensitive(table, "age"))[columns], alone[columns])
    test = frame[(frame["part"] == "test") & (frame["method"] == "standard")]
    assert (test["hgr_kde[age]"] > test["hgr_kde[age]_floor_q95"]).all()
    assert test["hgr_kde[distance]"].mean() < test["hgr_kde[distance]_floor_q95"].mean()
    # The joint value exists only for the measure that takes several columns at once.
    assert "hgr_kde" not in frame
    assert (test["distance_correlation"] > test["distance_correlation_floor_q95"]).all()
    assert [*wide(of_sensitive(table, "distance"))] == [*wide(of_sensitive(table, "age"))]


def test_errors_and_dependence_use_the_sample_weights():
    dataset, splits, members, predictions, plain = _assessed()
    weight = pd.Series(np.where(np.arange(300) < 150, 2.0, 1.0), name="exposure")
    frame = _frame(replace(dataset, weight=weight), predictions, members, splits)
    row, rows = frame[frame["part"] == "test"].iloc[0], splits[0].test
    twice = np.repeat(rows, weight[rows].astype(int))
    y, s = dataset.target.to_numpy(), dataset.sensitive["age"].to_numpy()
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean((predictions[0, twice] - y[twice]) ** 2)))
    expected = measure("hgr_kde", predictions[0, rows], s[rows], sample_weight=weight[rows])
    assert row["hgr_kde"] == pytest.approx(expected)
    assert row["hgr_kde"] != pytest.approx(plain.loc[row.name, "hgr_kde"], abs=1e-6)


def test_for_large_data_sets_dependence_is_measured_on_a_sample_of_rows(monkeypatch):
    dataset, splits, members, predictions, plain = _assessed()
    monkeypatch.setattr("fairdash.evaluation.assess.MAX_ROWS", 30)
    sampled = _frame(dataset, predictions, members, splits)
    pd.testing.assert_frame_equal(sampled[["n", "mse"]], plain[["n", "mse"]])
    assert not np.allclose(sampled["hgr_kde"], plain["hgr_kde"], atol=1e-3)


def test_the_standard_error_has_the_correction_of_nadeau_and_bengio():
    variance = pd.Series([4.0])
    error = corrected_standard_error(variance, n_splits=pd.Series([5]), test_to_train=0.25)
    assert error[0] == pytest.approx(np.sqrt((1 / 5 + 1 / 4) * 4.0))


def test_the_table_of_group_averages_is_the_mean_over_splits_of_averages_of_test_rows():
    s = np.arange(400.0)
    splits = random_splits(400, n_splits=2, random_state=0)
    values = np.stack([s * 2, s * 2 + 10])
    profile = quantile_profile(values, s, splits, n_groups=4)
    assert profile["s_low"].tolist() == [0, 100, 200, 300]
    means = [pd.Series(values[j, one.test]).groupby(one.test // 100).mean() for j, one in enumerate(splits)]
    assert profile["mean"].tolist() == pytest.approx(list(sum(means) / 2))
    assert (np.diff(profile[["low", "mean", "high"]]) > 0).all()


def test_group_averages_and_their_standard_errors_are_weighted():
    rng = np.random.default_rng(0)
    s, values = rng.uniform(size=1000), rng.normal(size=(1, 1000))
    split = random_splits(1000, n_splits=1, random_state=0)
    twice = np.where(s > 0.5, 2.0, 1.0)
    plain, same = (quantile_profile(values, s, split, weight=weight) for weight in (None, np.full(1000, 3.0)))
    pd.testing.assert_frame_equal(plain, same)
    one = quantile_profile(values, s, split, n_groups=2, groups=np.zeros(1000, dtype=int), weight=twice)
    rows = split[0].test
    assert one["mean"][0] == pytest.approx(np.average(values[0, rows], weights=twice[rows]))
    # Computed by hand: the standard error of a ratio of sums.
    gap = twice[rows] * (values[0, rows] - one["mean"][0])
    error = np.sqrt((gap**2).sum() * 200 / 199) / twice[rows].sum()
    as_good_as = twice[rows].sum() ** 2 / (twice[rows] ** 2).sum()
    assert one["error"][0] == pytest.approx(error)
    assert one["high"][0] - one["mean"][0] == pytest.approx(t.ppf(0.975, as_good_as - 1) * error)


def test_tied_values_of_the_attribute_reduce_the_number_of_groups():
    s = np.repeat([1.0, 2.0, 3.0], 200)
    profile = quantile_profile(s[None], s, random_splits(600, n_splits=1, random_state=0), n_groups=20)
    assert profile["s_mean"].tolist() == [1, 2, 3]
    assert group_averages(2 * s, s)[["mean", "n"]].to_numpy().tolist() == [[2, 200], [4, 200], [6, 200]]


CELLS = [
    ("mse", ""), ("hgr_kde", "age"), ("hgr_kde", "a]_floor"), ("verdict", "age"), ("verdict", "a]_floor"),
]  # fmt: skip


def table(cells=CELLS):
    models = pd.DataFrame({"method": "standard", "lam": 0.0, "split": [0, 1], "part": "test"})
    values = np.arange(2.0 * len(cells) * 6).reshape(2, len(cells), 6)
    return models, values, tidy(models, cells, values)


def test_a_long_table_has_one_row_per_model_and_measure_and_is_converted_back_exactly():
    models, values, rows = table()
    assert len(rows) == 2 * len(CELLS)
    assert of_measure(rows, "mse")["value"].tolist() == values[:, 0, 0].tolist()
    again, cells, found = untidy(rows)
    pd.testing.assert_frame_equal(again, models)
    assert cells == CELLS
    assert np.array_equal(found, values)
    for wrong in (rows.iloc[1:], rows.iloc[[*range(9), 8]], rows.iloc[[1, 0, *range(2, 10)]]):
        with pytest.raises(ValueError, match="other measures"):
            untidy(wrong)


def test_the_wide_table_names_several_sensitive_columns_and_never_splits_their_names():
    _, values, rows = table()
    seen = wide(rows)
    assert seen["hgr_kde[a]_floor]_edge"].tolist() == values[:, 2, FIGURES.index("edge")].tolist()
    assert seen["verdict[age]_p"].tolist() == values[:, 3, FIGURES.index("p")].tolist()
    alone = wide(of_sensitive(rows, "a]_floor"))
    assert alone["hgr_kde_floor"].tolist() == values[:, 2, FIGURES.index("floor")].tolist()
    assert "hgr_kde[age]" not in alone
    assert not {"mse_floor", "mse_p", "hgr_kde_by"} & {*alone}


def test_model_keys_are_converted_to_and_from_text_and_compared_without_blend_details():
    assert ModelKey.parse("hgr_nn:0.1") == ModelKey("hgr_nn", 0.1, low=0.0, high=1.0, share=0.1)
    assert str(ModelKey("hgr_nn", 1 / 3)) == f"hgr_nn:{1 / 3!r}"
    assert ModelKey.parse("standard") == THE_STANDARD
    with pytest.raises(OptionError, match="“x” is not a weight"):
        ModelKey.parse("hgr_nn:x")
