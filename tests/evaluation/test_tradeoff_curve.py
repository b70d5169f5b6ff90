"""The curve between trained weights: blended models, their results, and the choice of a point."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairdash import evaluation as ev
from fairdash.dependence import measure
from fairdash.training.methods import ModelKey
from fairdash.training.splits import random_splits
from tests.training.test_sweep import small_dataset
from tests.views.figures.rows import rows_of

LAMS = (0.5, 2.0)
MEASURES = ("hgr_kde", "fairquant")


@given(
    lams=st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=30, unique=True),
    between=st.one_of(st.none(), st.integers(0, 12)),
)
def test_points_of_the_trade_off_curve_are_sorted_by_lambda_and_include_every_trained_lambda(lams, between):
    way = ev.curve_points("hgr_nn", lams, between=between)
    assert [stop.lam for stop in way if stop.is_trained] == sorted({0.0, *lams})
    for stop in way:
        assert stop.low <= stop.high
        assert 0 <= stop.share < 1
    if between is None:
        assert len(way) <= 1 + max(45, len(lams))


def _judged(n_splits=2, diverged=(), objective="demographic_parity"):
    dataset = small_dataset(n=400)
    splits = random_splits(400, n_splits=n_splits, random_state=0, validation_share=0.25)
    models = {"method": ["standard", "hgr_nn", "hgr_nn"] * n_splits, "lam": [0.0, *LAMS] * n_splits}
    members = pd.DataFrame(models).assign(split=np.repeat(np.arange(n_splits), 3))
    members["diverged"] = members.index.isin(diverged)
    pull = np.outer(members["lam"].map({0.0: 1.0, 0.5: 0.4, 2.0: 0.0}), dataset.sensitive["age"])
    predictions = dataset.target.to_numpy() + pull + np.random.default_rng(1).normal(size=pull.shape)
    options = {"objective": objective, "measures": MEASURES}
    frame = ev.assess_predictions(dataset, predictions, members, splits, n_permutations=20, **options)
    path = ev.assess_curve(dataset, predictions, frame, members, splits, **options)
    return dataset, splits, members, predictions, frame, path


def test_a_blended_model_is_evaluated_on_its_own_predictions():
    dataset, splits, members, predictions, _, path = _judged()
    path = ev.wide(path)
    y, s = dataset.target.to_numpy(), dataset.sensitive["age"].to_numpy()
    stop = next(stop for stop in ev.curve_points("hgr_nn", LAMS) if stop.low == 0.5 and stop.share > 0.3)
    blends = ev.curve_predictions(predictions, members, stop)
    assert set(blends) == {0, 1}
    for split, y_pred in blends.items():
        low, high = predictions[3 * split + 1 : 3 * split + 3]
        assert np.allclose(y_pred, (1 - stop.share) * low + stop.share * high)
        for part in ("validation", "test"):
            rows = splits[split].parts[part]
            own = path.set_index(["lam", "split", "part"]).loc[(stop.lam, split, part)]
            error = np.mean((y_pred[rows] - y[rows]) ** 2)
            error /= np.mean((y[splits[split].train].mean() - y[rows]) ** 2)
            expected = [error, *(measure(id, y_pred[rows], s[rows]) for id in MEASURES)]
            assert own[["mse", *MEASURES]].tolist() == pytest.approx(expected)


def test_points_of_the_curve_next_to_a_diverged_model_are_left_out():
    _, _, members, predictions, _, path = _judged(diverged=(4,))  # λ = 0.5 diverged in the second split
    second = path[path["split"] == 1]
    assert set(second.loc[second["share"] == 0, "lam"]) == {0.0, 2.0}
    assert not ((second["low"] == 0.5) | (second["high"] == 0.5)).any()
    blend = ModelKey("hgr_nn", 1.0, low=0.5, high=2.0, share=0.5)
    assert set(ev.curve_predictions(predictions, members, blend)) == {0}
    summary = ev.summarise_splits(path, test_to_train=0.4)
    assert set(summary["n_splits"]) == {1, 2}


points = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12)


@given(points)
def test_the_hypervolume_is_the_area_dominated_by_the_points(found):
    error, dependence = (np.array(values) for values in zip(*found, strict=True))
    # Computed by hand on a fine grid: a grid cell counts if some point is no worse than the cell's lower
    # corner.
    middle = (np.arange(200) + 0.5) / 200
    won = ((error[:, None, None] <= middle[:, None]) & (dependence[:, None, None] <= middle)).any(axis=0)
    value = ev.hypervolume(error, dependence, corner=(1.0, 1.0))
    assert value == pytest.approx(won.mean(), abs=0.03)
    efficient = ev.pareto_efficient(error, dependence)
    assert value == pytest.approx(ev.hypervolume(error[efficient], dependence[efficient], corner=(1.0, 1.0)))


def _front(error, dependence):
    front = {"method": "hgr_nn", "lam": np.arange(1.0 * len(error)), "mse": error, "m": dependence}
    return rows_of(pd.DataFrame(front), "mse", "m")


def test_points_of_a_front_are_chosen_by_a_dependence_limit_an_error_limit_or_the_knee():
    front = _front([0.4, 0.42, 0.5, 0.7, 0.9], [0.8, 0.5, 0.3, 0.2, 0.25])
    assert ev.least_error(front, "m", at_most=0.35)[0].lam == 2
    assert ev.least_dependence(front, "m", growth=0.26)[0].lam == 2
    assert (ev.least_dependence(front, "m", growth=0.0)[0].lam, ev.knee(front, "m")[0].lam) == (0, 2)
    assert ev.least_error(front, "m", at_most=0.1) == (ModelKey("hgr_nn", 3.0), False)


def _path(dependence, se, share=0.0):
    return pd.DataFrame({"share": share, "value": dependence, "se": se, "floor": 0.1, "edge": 0.15})


def test_only_points_of_a_curve_that_differ_by_more_than_noise_are_connected():
    # The points are a blended model, a fall within noise, a rise, a fall, its blend, a fall below the noise
    # limit, and noise.
    path = _path([0.6, 0.5, 0.57, 0.62, 0.3, 0.2, 0.1, 0.09], 0.01, [0, 0.5, 0, 0, 0, 0.5, 0, 0])
    assert np.flatnonzero(ev.differ_beyond_noise(path)).tolist() == [0, 4, 5, 6]
    # With one split, only the width of the floor is known. Larger errors leave no line.
    assert ev.differ_beyond_noise(_path([0.6, 0.58, 0.5], np.nan)).tolist() == [True, False, True]
    assert ev.differ_beyond_noise(_path([0.6, 0.58, 0.5], 0.05)).tolist() == [True, False, False]
    rng = np.random.default_rng(0)
    lines = [ev.differ_beyond_noise(_path(rng.normal(0.1, 0.03, 8), 0.03)).sum() > 1 for _ in range(500)]
    assert np.mean(lines) < 0.15, "under independence a path is noise"


def test_a_front_that_does_not_bend_towards_the_origin_has_no_knee():
    assert ev.knee(_front([0.0, 0.5, 1.0], [1.0, 0.5, 0.0]), "m") == (ModelKey("hgr_nn", 0.0), False)
    assert not ev.knee(_front([0.0, 0.9, 1.0], [1.0, 0.9, 0.0]), "m")[1]
