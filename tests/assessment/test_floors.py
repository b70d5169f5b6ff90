"""One independence floor for all models whose predictions have no ties."""

import numpy as np
import pytest

from fairdash.dependence import REGISTRY
from fairdash.dependence.api import Estimator, Pairs
from fairdash.evaluation.assess import _null_of

RANKS = [one.id for one in REGISTRY.values() if one.rank_based and one.quick and not one.on_request]


def pairs_of(measure, *, weighted: bool) -> tuple[Pairs, np.ndarray]:
    """Three models of one s: without ties, skewed without ties, and with a dozen values."""
    rng = np.random.default_rng(0)
    n = 200
    s = np.round(rng.normal(size=n), 1)
    plain = rng.normal(size=n)
    u = np.stack([plain, np.exp(2 * rng.normal(size=n)), np.round(2 * plain)])
    weight = (
        np.broadcast_to(rng.uniform(0.1, 1, n), u.shape) if weighted and measure.accepts_weights else None
    )
    orders = np.array([rng.permutation(n) for _ in range(60)])
    return Pairs(u, np.broadcast_to(s, u.shape), weight), orders


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("id", RANKS)
def test_its_law_is_that_of_each_model(id, weighted):
    estimator = Estimator(REGISTRY[id], random_state=0)
    pairs, orders = pairs_of(estimator.measure, weighted=weighted)
    shared, own = _null_of(estimator, pairs, orders), estimator.null(pairs, orders)
    assert shared.shape == own.shape
    # The first model's own, and that of the model with ties.
    assert shared[:, [0, 2]] == pytest.approx(own[:, [0, 2]], abs=1e-12)
    if weighted and pairs.weight is not None:
        assert shared[0] == pytest.approx(own[0], abs=1e-12), "the weight stays with u: each model's own law"
    assert (shared[-1, 1] == shared[-1, 0]).all()
    noise = np.hypot(shared[-1, 1].std(), own[-1, 1].std()) / np.sqrt(len(orders))
    assert abs(shared[-1, 1].mean() - own[-1, 1].mean()) <= 4 * noise + 1e-12
