"""Features that reveal the sensitive attribute: values, corrected p-values, and categories."""

import numpy as np
import pytest

from fairdash.data.proxies import corrected_p_values, rank_proxies
from fairdash.dependence import measure
from fairdash.dependence.spline import hgr_of_bases, scores
from fairdash.dependence.spline_basis import category_basis, number_basis
from fairdash.errors import OptionError
from tests.data.tables import dataset_of


@pytest.mark.variant
def test_features_are_ranked_by_their_known_dependence_on_the_sensitive_attribute() -> None:
    s, noise, own = np.random.default_rng(0).normal(size=(3, 3000))
    linear = 0.6 * s + 0.8 * noise
    features = {"noise": own, "linear": linear, "gaps": np.where(own > 1, np.nan, linear), "copy": 3 - 2 * s}
    ranking = rank_proxies(dataset_of(features, {"y": np.arange(3000.0)}, {"s": s}), n_permutations=39)
    found = ranking.features.set_index("feature")
    assert found["is_copy"].to_dict() == {"copy": True, "linear": False, "gaps": False, "noise": False}
    assert list(found.index) == ["copy", "linear", "gaps", "noise"]
    of_library = measure("hgr_spline", linear, s, evaluation="cross_fit")
    assert found.loc["linear", "hgr"] == pytest.approx(of_library, abs=1e-12)
    assert (found["p_corrected"][:3] <= 0.05).all()
    assert (abs(found.loc["noise", "hgr"]) < 0.1, ranking.joint > 0.99) == (True, True)


def test_the_step_down_corrected_p_values_follow_their_definition() -> None:
    rng = np.random.default_rng(4)
    values, permuted = rng.normal(1, 2, 6), rng.normal(size=(6, 49)) * np.arange(1, 7)[:, None]
    single, together = corrected_p_values(values, permuted)
    both = np.column_stack([values, permuted])
    z = (both - both.mean(1, keepdims=True)) / both.std(1, keepdims=True)
    order = np.argsort(-z[:, 0])
    before = 0.0
    for place, j in enumerate(order):
        weaker = order[place:]
        reached = sum(max(z[k, b] for k in weaker) >= z[j, 0] for b in range(1, 50))
        before = max(before, (1 + reached) / 50)
        assert together[j] == pytest.approx(max(before, single[j]))


def test_the_hgr_of_a_categorical_variable_equals_its_closed_form() -> None:
    """HGR of two variables with few levels is the second singular value of their normalised table."""
    rng = np.random.default_rng(5)
    law = rng.random((5, 4))
    law /= law.sum()
    n = 40_000
    cells = rng.choice(20, n, p=law.ravel())
    codes, v = cells // 4, (cells % 4).astype(float)
    table = np.bincount(cells, minlength=20).reshape(5, 4) / n
    normalised = table / np.sqrt(np.outer(table.sum(1), table.sum(0)))
    expected = np.linalg.svd(normalised)[1][1]
    inside = scores(category_basis(codes), number_basis(v), None, "in_sample")
    assert inside[0] == pytest.approx(expected, abs=2e-3)
    crossed = hgr_of_bases(category_basis(codes), number_basis(v))
    assert crossed[0] == pytest.approx(expected, abs=0.015)


def test_the_proxy_ranking_refuses_invalid_options() -> None:
    x = np.arange(100.0)
    known = dataset_of({"x": x}, {"y": x}, {"s": x})
    for options in ({"sensitive": "gone"}, {"max_rows": 3}, {"n_permutations": 0}):
        with pytest.raises(OptionError):
            rank_proxies(known, **options)
