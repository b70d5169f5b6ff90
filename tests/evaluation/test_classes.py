"""Classes, combinations of attributes, and repeated rows of a policy: formulas, groups, and intervals."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import rankdata

from fairdash.dependence.classical import rank_link
from fairdash.evaluation import blended_profiles, group_averages, quantile_profile
from fairdash.evaluation.classes import by_group, by_probability, calibration, pairs_of_groups
from fairdash.evaluation.crossed_cells import cells_in_view, cells_of, crossings_of, products_of, views_of
from fairdash.tables.leak_candidates import find_suspects
from fairdash.training.splits import Split

NAMES = tuple("ABCDEFG")


def sample(n: int = 800, seed: int = 0, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.choice(7, n, p=[0.3, 0.25, 0.15, 0.1, 0.08, 0.07, 0.05])
    return rng.gamma(2, 100, n) + shift * (codes == 2), codes, rng.uniform(0.2, 1, n)


def test_statistics_of_classes_equal_the_standard_formulas() -> None:
    y, codes, weight = sample()
    found = by_group(y, codes, NAMES, sample_weight=weight, cut_off=250.0).set_index("class")
    table = pd.DataFrame({"y": y, "code": codes, "w": weight})
    rates = table.groupby("code").apply(lambda part: np.average(part["y"] <= 250, weights=part["w"]))
    for k, name in enumerate(NAMES):
        own, rest = table[table["code"] == k], table[table["code"] != k]
        mean, other = (np.average(part["y"], weights=part["w"]) for part in (own, rest))
        variances = [np.cov(part["y"], aweights=part["w"], ddof=0) for part in (own, rest)]
        expected = {
            "rows": len(own), "share": own["w"].sum() / table["w"].sum(), "mean": mean,
            "difference": mean - other, "ratio": mean / other,
            "standardized_difference": (mean - other) / np.sqrt(sum(variances) / 2),
            "selection_rate": rates[k], "adverse_impact_ratio": rates[k] / rates.max(),
        }  # fmt: skip
        assert found.loc[name, list(expected)].to_dict() == pytest.approx(expected, rel=1e-12)
    pairs = pairs_of_groups(y, codes, NAMES, sample_weight=weight)
    first = found["mean"]["A"] - found["mean"]["B"]
    assert (len(pairs), pairs["difference"][0]) == pytest.approx((21, first), rel=1e-12)


def test_repeating_the_rows_of_each_policy_leaves_class_statistics_unchanged() -> None:
    y, codes, _ = sample(200)
    one = by_group(y, codes, NAMES)
    thrice = by_group(*(np.repeat(each, 3) for each in (y, codes)), NAMES, units=np.repeat(np.arange(200), 3))
    columns = ["mean", "low", "high", "difference", "difference_low", "p_value"]
    assert np.allclose(one[columns], thrice[columns], rtol=1e-9)


def test_classes_of_zero_variance_have_p_value_1_for_equal_means_and_0_for_unequal_means() -> None:
    codes = np.repeat([0, 1], 30)
    alike, apart = (by_group(y, codes, ("F", "M")) for y in (np.ones(60), codes + 1.0))
    assert (alike["p_value"].tolist(), apart["p_value"].tolist()) == ([1, 1], [0, 0])
    assert apart["ratio"].tolist() == [0.5, 2]


def test_the_view_of_a_combination_of_attributes_has_the_groups_of_this_combination() -> None:
    rng = np.random.default_rng(0)
    sensitive = pd.DataFrame(rng.normal(size=(400, 3)), columns=["age", "income", "share"])
    name = "age × share"
    assert np.array_equal(cells_in_view(sensitive, name).codes, crossings_of(sensitive)[name].codes)
    assert cells_in_view(sensitive, "age") is None
    # All attributes together have the cells of all three: (25 cells)^(1/3) gives two bands each.
    together, halves = cells_in_view(sensitive, "all together"), sensitive > sensitive.median()
    assert together.codes.tolist() == (halves @ [1, 2, 4]).tolist()


def test_a_crossing_consists_of_products_of_ranks_even_if_no_row_has_both_values():
    """No man lives in the north, and one sensitive column has the name of a crossing."""
    row = np.arange(600)
    zone = np.where(row % 2, 1 + row // 2 % 2, row // 2 % 3)
    sensitive = pd.DataFrame({"man": row % 2, **{f"zone: {k}": zone == k for k in range(3)}}).astype(float)
    ranks = (rankdata(sensitive, axis=0) - 0.5) / 600 - 0.5
    assert_allclose(products_of(sensitive)["man × zone"], ranks[:, :1] * ranks[:, 1:])
    two = sensitive.iloc[:, :2].set_axis(["a", "b"], axis=1)
    assert list(products_of(two.assign(**{"a × b": row}))) == ["a × a × b", "b × a × b"]
    table = pd.DataFrame({"column": ["", "all together × b"], "measure": "hgr_spline"})
    assert "" not in views_of(two.set_axis(["all together", "b"], axis=1), table).values()


def test_group_sizes_of_a_combination_count_policies_if_units_are_given_and_rows_otherwise() -> None:
    frame = pd.DataFrame({"sex": np.repeat([0.0, 1.0], 60), "region": np.tile(["a", "b"], 60)})
    # In the last, ten policies with three rows each are too few for a separate group.
    units = (None, np.arange(120), np.arange(120) // 6)
    by_row, by_own, few = (cells_of(frame, ("sex", "region"), units=each) for each in units)
    assert (by_row.names, by_row.codes.tolist()) == (by_own.names, by_own.codes.tolist())
    assert len(few.names) < len(by_row.names)


TIMES = 4


def test_repeating_every_row_does_not_narrow_the_intervals_of_group_averages():
    rng, policy = np.random.default_rng(0), np.repeat(np.arange(600), TIMES)
    y, s, weight = rng.normal(size=600), rng.integers(0, 60, 600).astype(float), rng.integers(1, 4, 600) / 2
    single = group_averages(y, s, weight=weight)
    repeated = group_averages(y[policy], s[policy], weight=weight[policy], units=policy)
    columns = ["mean", "error", "low", "high"]
    assert_allclose(repeated[columns], single[columns])
    alone = group_averages(y[policy], s[policy], weight=weight[policy])
    assert_allclose(alone["error"], single["error"] / np.sqrt(TIMES), rtol=0.05)


def test_confidence_intervals_of_average_blended_predictions_treat_policies_as_sampling_units():
    rng, rows = np.random.default_rng(1), np.arange(600)
    policy, values = np.repeat(np.arange(150), TIMES), rng.normal(size=(2, 2, 600))
    splits = [Split(train=rows[:300], test=rows[300:]), Split(train=rows[300:], test=rows[:300])]
    by = {"groups": rng.integers(0, 5, 600), "units": policy}
    _, low, high = blended_profiles(*values, np.array([0.3]), splits, **by)
    profile = quantile_profile(0.7 * values[0] + 0.3 * values[1], by["groups"].astype(float), splits, **by)
    assert_allclose([low[0], high[0]], profile[["low", "high"]].T)


def test_the_rank_correlation_of_independent_policies_rarely_exceeds_its_95_percent_limit():
    rng, beyond, policy = np.random.default_rng(2), {True: 0, False: 0}, np.repeat(np.arange(100), 5)
    for _ in range(200):
        u, v = rng.normal(size=(2, 100))[:, policy] + 0.1 * rng.normal(size=(2, 500))
        for counted in beyond:
            found = rank_link(u, v, units=policy if counted else None)
            beyond[counted] += abs(found.value) > found.stays_within
    assert beyond[True] <= 20 < 50 <= beyond[False]


def test_the_calibration_test_of_class_probabilities_counts_each_policy_once():
    rng, policy = np.random.default_rng(3), np.repeat(np.arange(400), TIMES)
    p = rng.uniform(0.1, 0.9, 400)
    known = (rng.random(400) < p**1.3).astype(int)
    p, y = np.column_stack([1 - p, p]), rng.normal(100, 10, 400)
    samples = ((p, known, "ab"), (p[policy], known[policy], "ab"), (p[policy], known[policy], "ab", policy))
    once, rows, counted = (calibration(*each)["p_value"][0] for each in samples)
    assert rows < once**3
    assert 0.3 * once < counted < 3 * once
    policy = policy[policy < 100]
    given = {"true_class": known[policy], "random_state": 0}
    found = [by_probability(y[policy], p[policy], ("a", "b"), None, each, **given) for each in (None, policy)]
    by_rows, by_policies = (each["bound_high"][0] - each["bound_low"][0] for each in found)
    assert by_policies > by_rows


def test_a_column_that_identifies_policies_is_suspect_only_if_splits_separate_their_rows():
    rng, policy = np.random.default_rng(4), np.repeat(np.arange(20), 30)
    effect, number = rng.normal(size=(2, 20))[:, policy]
    frame = pd.DataFrame({"policy": policy, "number": number, "y": effect + 0.05 * rng.normal(size=600)})
    (found,) = find_suspects(frame, "y", ["number"])
    assert (found.column, find_suspects(frame, "y", ["number"], group="policy")) == ("number", ())
