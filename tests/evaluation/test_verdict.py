"""One verdict from one test of the mean over splits, with s permuted jointly over all rows."""

import numpy as np
import pandas as pd
import pytest

from fairdash.dependence.omnibus import COMPONENTS, permuted_values
from fairdash.evaluation import assess_curve, assess_predictions, of_sensitive, wide
from fairdash.evaluation.verdict import edge_and_p, part_permutations, verdict_on
from fairdash.training.splits import random_splits
from fairdash.utils.seeds import Stream, seed_of
from tests.data.tables import dataset_of

N_SPLITS = 5


def table(rho, *, n=300, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    u = spread * (rho * s + np.sqrt(1 - rho**2) * rng.normal(size=n))
    return dataset_of({"x": u}, {"y": rng.normal(size=n)}, {"s": s}), u


def assessed(data, u, *, measure="pearson", n_splits=N_SPLITS, seed=0, n_permutations=59):
    """Results on test rows of the same prediction in every split."""
    members = pd.DataFrame({"method": "standard", "lam": 0.0, "split": range(n_splits), "diverged": False})
    splits = random_splits(data.n_rows, n_splits=n_splits, random_state=0)
    options = {"n_permutations": n_permutations, "random_state": seed, "measures": (measure,)}
    return frame_of(data, np.tile(u, (n_splits, 1)), members, splits, **options).query("part == 'test'")


def frame_of(*given, **options):
    """These results in a frame with one row per model and set of rows."""
    return wide(rows_of(*given, **options))


def rows_of(*given, **options):
    """Results for demographic parity by Pearson's correlation, unless other options are given."""
    how = {"objective": "demographic_parity", "measures": ("pearson",), "n_permutations": 39} | options
    return assess_predictions(*given, **how)


def is_found(rows, measure="pearson"):
    return abs(rows[measure].mean()) > rows[f"{measure}_edge"].iloc[0]


def test_permutations_give_a_row_of_two_test_sets_nearly_the_same_value_in_both_sets():
    rng = np.random.default_rng(0)
    s = rng.normal(size=400)
    one, two = np.sort(rng.choice(400, 200, replace=False)), np.sort(rng.choice(400, 200, replace=False))
    first, second = (part_permutations(s, rows, count=40, seed=7) for rows in (one, two))
    assert all((np.sort(each) == np.arange(200)).all() for each in first)
    assert np.array_equal(part_permutations(s, one, count=3, seed=7), first[:3])
    shared, at_one, at_two = np.intersect1d(one, two, return_indices=True)
    assert len(shared) > 60
    a, b = s[one][first][:, at_one], s[two][second][:, at_two]
    # A row in both test sets gets nearly the same value in both, as their overlap requires.
    assert min(np.corrcoef(x, y)[0, 1] for x, y in zip(a, b, strict=True)) > 0.95
    own = np.array([np.corrcoef(row, s[one][at_one])[0, 1] for row in a])
    assert abs(own.mean()) < 0.05


@pytest.mark.parametrize("count", [19, 20, 59, 100])
def test_a_value_exceeds_the_noise_limit_exactly_if_its_p_value_is_at_most_5_percent(count):
    rng = np.random.default_rng(count)
    permuted = rng.normal(size=(2, count))
    for value in [*permuted.ravel(), *rng.normal(size=50), 9.0]:
        edge, p_value = edge_and_p(value, permuted)
        assert (value > edge) == (p_value <= 0.05)
    assert edge_and_p(1e9, rng.normal(size=(1, 18)))[0] == np.inf


def test_models_that_diverged_are_left_out_of_the_test():
    data, u = table(0.5)
    rng = np.random.default_rng(1)
    diverged = [False, True, False]
    members = pd.DataFrame({"method": "standard", "lam": 0.0, "split": range(3), "diverged": diverged})
    predictions = np.stack([u, rng.normal(size=len(u)), u])
    splits = random_splits(len(u), n_splits=3, random_state=0)
    frame = frame_of(data, predictions, members, splits)
    kept = members.iloc[[0, 2]].assign(split=[0, 1])
    alone = frame_of(data, predictions[[0, 2]], kept, (splits[0], splits[2]))
    at = ["part", "pearson_edge", "pearson_p"]
    both = [each[at].reset_index(drop=True) for each in (frame[~frame["diverged"]], alone)]
    pd.testing.assert_frame_equal(*both)


def test_predictions_that_are_constant_but_for_rounding_have_no_dependence():
    for measure in ("hgr_kde", "hgr_rdc", "fairquant"):
        data, u = table(0.9, spread=1e-8)
        rows = assessed(data, 5.0 + u, measure=measure, n_splits=1, n_permutations=19)
        assert (rows[measure] == 0).all()
        assert not is_found(rows, measure)
    data, u = table(0.9, spread=1e-3)
    assert is_found(assessed(data, 5.0 + u, measure="hgr_rdc", n_splits=2), "hgr_rdc")


def test_a_blended_model_has_no_p_value_and_its_noise_limit_is_between_those_of_its_neighbours():
    data, u = table(0.4)
    lams = (1.0, 4.0)
    models = {"method": ["standard", "hgr_nn", "hgr_nn"] * 2, "lam": [0.0, *lams] * 2}
    members = pd.DataFrame(models).assign(split=np.repeat([0, 1], 3), diverged=False)
    predictions = u / (1 + members["lam"].to_numpy()[:, None])
    predictions += 0.1 * np.random.default_rng(0).normal(size=predictions.shape)
    splits = random_splits(len(u), n_splits=2, random_state=0)
    options = {"objective": "demographic_parity", "measures": ("hgr_rdc",)}
    rows = assess_predictions(data, predictions, members, splits, n_permutations=39, **options)
    path, frame = wide(assess_curve(data, predictions, rows, members, splits, **options)), wide(rows)
    test, own = (each.query("part == 'test' and split == 0").set_index("lam") for each in (path, frame))
    at = ["hgr_rdc_edge", "hgr_rdc_p"]
    pd.testing.assert_frame_equal(test.loc[list(lams), at], own.loc[list(lams), at], check_exact=True)
    between = test[(test["low"] == 1.0) & (test["share"] > 0)]
    low, high = sorted(test.loc[list(lams), "hgr_rdc_edge"])
    assert between["hgr_rdc_edge"].between(low, high).all()
    assert between["hgr_rdc_p"].isna().all()


def several(links, *, splits=3, n=300, seed=0):
    """Test results of predictions with the given correlations, one λ each, and two sensitive columns."""
    rng = np.random.default_rng(seed)
    s, other = rng.normal(size=(2, n))
    u = np.stack([rho * s + np.sqrt(1 - rho**2) * rng.normal(size=n) for rho in links])
    data = dataset_of({"x": other}, {"y": rng.normal(size=n)}, {"s": s, "other": other})
    members = pd.DataFrame({"method": "standard", "lam": np.tile(np.arange(float(len(links))), splits)})
    members = members.assign(split=np.repeat(np.arange(splits), len(links)), diverged=False)
    return data, np.tile(u, (splits, 1)), members, random_splits(n, n_splits=splits, random_state=0)


@pytest.mark.parametrize("objective", ["demographic_parity", "equalized_residuals"])
def test_the_verdict_tests_each_sensitive_column_once_over_all_splits(objective):
    data, predictions, members, splits = several((0.0, 0.5, 0.9))
    predictions[2::3] = 7.0
    rows = rows_of(data, predictions, members, splits, objective=objective, n_permutations=19)
    frame = wide(rows)
    test = frame[frame["part"] == "test"]
    assert "verdict_p" not in frame
    assert frame.loc[frame["part"] != "test", "verdict[s]_p"].isna().all()
    assert (test.groupby("lam")["verdict[s]_p"].nunique() == 1).all()
    of_s, of_other = (
        wide(of_sensitive(rows[rows["part"] == "test"], column)).groupby("lam")["verdict_p"].first()
        for column in ("s", "other")
    )
    assert of_s.between(1 / 200, 1).all()
    if objective == "demographic_parity":
        assert of_s[1] <= 0.03
        assert of_other[1] > 0.05
        # A constant has the same value in every order, so all values tie.
        assert of_s[2] == of_other[2] == 1


def test_the_verdict_of_a_single_split_equals_the_independence_test_of_its_test_rows():
    data, u = table(0.3)
    rows = assessed(data, u, n_splits=1, seed=4)
    (split,) = random_splits(data.n_rows, n_splits=1, random_state=0)
    s = data.sensitive["s"].to_numpy()
    seed = seed_of(Stream.TABLE_PERMUTATIONS, 4)
    orders = part_permutations(s, split.test, count=199, seed=seed)
    values = permuted_values(u[None, split.test], s[split.test], orders)
    verdict = verdict_on([values[:, :, 0]])
    assert rows["verdict_p"].item() == verdict.p_value
    # The measure with the smallest p-value, its value and its 95 % limit under independence.
    assert list(COMPONENTS)[int(rows["verdict_by"].item())] == "line"
    own = [np.corrcoef(u[split.test], s[split.test])[0, 1], np.sort(np.abs(values[0, 0, 0, 1:]))[-10]]
    assert rows[["verdict_value", "verdict_edge"]].iloc[0].tolist() == pytest.approx(own)
    assert verdict.value > verdict.edge
    # Without permutations there is no verdict.
    assert "verdict_p" not in assessed(data, u, n_splits=1, n_permutations=0)


def test_independence_tests_on_many_rows_use_random_signs_instead_of_permutations(monkeypatch):
    data, predictions, members, splits = several((0.0, 0.4), n=600)
    shuffled = frame_of(data, predictions, members, splits, n_permutations=19)
    monkeypatch.setattr("fairdash.evaluation.assess.MAX_PERMUTED_ROWS", 500)
    signed = frame_of(data, predictions, members, splits, n_permutations=19)
    for frame in (shuffled, signed):
        found = frame.query("part == 'test'").groupby("lam")["verdict[s]_p"].first()
        assert found[1] <= 0.03 < 0.05 < found[0]
    assert not shuffled["verdict[s]_p"].equals(signed["verdict[s]_p"])
