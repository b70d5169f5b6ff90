"""Boosted trees with row weights: equal to scikit-learn's for equal weights, and similar otherwise."""

from unittest.mock import patch

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from fairdash.utils.boosting import BoostedTrees, in_bins
from fairdash.utils.trees import boosted_trees


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    x[:30, 1] = np.nan
    return x, x[:, 0] + rng.normal(size=600), rng.uniform(0.1, 1, 600)


def test_boosted_trees_with_equal_weights_predict_as_scikit_learn_does(rows):
    x, y, _ = rows
    own = boosted_trees(max_iter=10).fit(x, y, sample_weight=np.full(600, 2.0))
    theirs = HistGradientBoostingRegressor(max_iter=10, max_leaf_nodes=15, early_stopping=False).fit(x, y)
    np.testing.assert_allclose(own.predict(x), theirs.predict(x), rtol=1e-9)


def test_boosted_trees_with_unequal_weights_predict_nearly_as_scikit_learn_does(rows):
    x, y, weight = rows
    before = x.copy()
    with patch("sklearn.ensemble._hist_gradient_boosting.binning._weighted_percentile", create=True) as sort:
        own = BoostedTrees(max_iter=20).fit(x, y, sample_weight=weight)
    assert not sort.called
    np.testing.assert_array_equal(x, before)
    theirs = HistGradientBoostingRegressor(max_iter=20).fit(x, y, sample_weight=weight)
    off = own.predict(x) - theirs.predict(x)
    assert np.std(off) < 0.1 * np.std(y)


def test_binning_preserves_order_ties_missing_cells_and_few_valued_columns():
    rng = np.random.default_rng(0)
    column = np.round(rng.normal(size=1_000), 3)
    column[::50] = np.nan
    binned = in_bins(column[:, None].copy(), 20).ravel()
    known = ~np.isnan(column)
    np.testing.assert_array_equal(np.isnan(binned), ~known)
    order = np.argsort(column[known], kind="stable")
    assert (np.diff(binned[known][order]) >= 0).all()
    _, counts = np.unique(binned[known], return_counts=True)
    assert len(counts) == 20
    # Tied values are on the same side of a bin edge.
    assert counts.min() >= 40
    assert set(binned[known]) <= set(column[known])
    few = rng.integers(5, size=(100, 1)).astype(float)
    np.testing.assert_array_equal(in_bins(few.copy(), 20), few)


def test_columns_with_few_distinct_values_get_few_bins_without_a_change_of_predictions():
    rng = np.random.default_rng(0)
    x = (rng.random((200, 400)) < 0.3).astype(float)
    y = x[:, 0] + rng.normal(size=200)
    own = boosted_trees(max_iter=5, min_samples_leaf=10)
    for some in (x[:, :40], x):
        theirs = HistGradientBoostingRegressor(**own.get_params()).fit(some, y)
        np.testing.assert_allclose(own.fit(some, y).predict(some), theirs.predict(some), rtol=1e-9)
        assert (own.max_bins, own._bin_mapper.n_bins) == (theirs.max_bins, 3)
    x[:, 1] = rng.normal(size=200)
    assert own.fit(x, y)._bin_mapper.n_bins == 126
