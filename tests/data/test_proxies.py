"""Who carries the sensitive attribute: values, corrected p-values, categories, and all features together."""

import numpy as np
import pandas as pd
import pytest

from fairdash.data import Dataset
from fairdash.data.proxies import ProxyRanking, corrected_p_values, rank_proxies
from fairdash.dependence import exact, measure
from fairdash.dependence.spline import hgr_of_bases, scores
from fairdash.dependence.spline_basis import category_basis, number_basis
from fairdash.errors import OptionError
from tests.data.tables import dataset_of


def dataset(features: dict, s: np.ndarray) -> Dataset:
    return dataset_of(features, {"y": np.arange(len(s), dtype=float)}, {"s": s})


@pytest.fixture(scope="module")
def known() -> Dataset:
    rng = np.random.default_rng(0)
    n = 3000
    s, noise = rng.normal(size=(2, n))
    linear = 0.6 * s + 0.8 * noise
    features = {"linear": linear, "even": s**2 + 0.1 * rng.normal(size=n), "noise": rng.normal(size=n)}
    features |= {"coin": rng.random(n) < 0.5, "level": pd.Categorical(np.where(np.abs(s) > 1, "far", "near"))}
    features["town"] = pd.Categorical(rng.choice(list("abcde"), n))
    features["gaps"] = np.where(rng.random(n) < 0.3, np.nan, linear)
    return dataset(features | {"copy": 3 - 2 * s}, s)


@pytest.fixture(scope="module")
def ranking(known: Dataset) -> ProxyRanking:
    return rank_proxies(known, n_permutations=39)


def test_features_are_ranked_by_their_known_dependence_on_the_sensitive_attribute(
    known: Dataset, ranking: ProxyRanking
) -> None:
    found = ranking.features.set_index("feature")
    assert ranking.features["hgr"].is_monotonic_decreasing
    assert found.loc["copy", "hgr"] == pytest.approx(1, abs=1e-3)
    assert found.loc["linear", "hgr"] == pytest.approx(exact.gaussian(0.6).hgr, abs=0.04)
    assert found.loc["even", "hgr"] > 0.9
    assert found.loc["level", "hgr"] > 0.9
    # The median in 30 % of the rows.
    assert 0.3 < found.loc["gaps", "hgr"] < found.loc["linear", "hgr"]
    assert found["is_copy"].to_dict() == {name: name == "copy" for name in found.index}
    carries = found["p_corrected"] <= 0.05
    assert set(found.index[carries]) == {"linear", "even", "level", "gaps", "copy"}
    assert (found["p_corrected"] >= found["p_value"]).all()
    assert (found.loc[["noise", "coin", "town"], "hgr"].abs() < 0.1).all()
    assert ranking.joint > 0.99
    assert ranking.joint_r2 > 0.98
    assert (ranking.n, ranking.n_used, ranking.sensitive) == (3000, 3000, "s")
    s = known.sensitive["s"].to_numpy()
    for name in ("linear", "even", "noise", "coin"):
        expected = measure(
            "hgr_spline", known.features[name].to_numpy(dtype=float), s, evaluation="cross_fit"
        )
        assert found.loc[name, "hgr"] == pytest.approx(expected, abs=1e-12)


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


def test_the_hgr_of_a_category_equals_its_closed_form() -> None:
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


def test_the_proxy_ranking_refuses_invalid_options(known: Dataset) -> None:
    for options in ({"sensitive": "gone"}, {"max_rows": 3}, {"n_permutations": 0}):
        with pytest.raises(OptionError):
            rank_proxies(known, **options)
