"""HGR_KDE of normal scores: what ranks buy, and what stays as it is for raw values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.hard_links import LINKS
from fairdash.dependence import assess_dependence, measure, measure_many
from fairdash.dependence.ranks import normal_scores


def draw(name: str, *, n: int, repeats: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = [LINKS[name].draw(np.random.default_rng([n, k]), n) for k in range(repeats)]
    return np.array([u for u, _ in pairs]), np.array([v for _, v in pairs])


def test_it_is_hgr_kde_of_the_scores_and_blind_to_increasing_maps():
    u, v = np.random.default_rng(0).normal(size=(2, 3, 200))
    v = v + u**2
    found = measure_many("hgr_kde_scores", u, v)
    assert_allclose(found, measure_many("hgr_kde", normal_scores(u), normal_scores(v)))
    assert_allclose(measure_many("hgr_kde_scores", np.exp(3 * u), v**3), found)
    assert_allclose(measure_many("hgr_kde_scores", v, u), found, atol=1e-9)
    assert ((found > 0) & (found < 1)).all()


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_of_a_gaussian_it_is_near_the_smoothed_correlation(rho):
    """A kernel of variance h² shrinks the correlation of a Gaussian to ρ / (1 + h²)."""
    n = 4000
    u, noise = np.random.default_rng(1).normal(size=(2, n))
    v = rho * u + np.sqrt(1 - rho**2) * noise
    found = measure("hgr_kde_scores", u, v)
    assert found == pytest.approx(rho / (1 + n ** (-1 / 3)), abs=0.08 if rho == 0 else 0.03)


def test_weights_count_as_copies_do_and_groups_change_no_value():
    rng = np.random.default_rng(2)
    u, v = rng.normal(size=(2, 120))
    weight = rng.integers(0, 3, size=120)
    scores, copies = normal_scores(u, weight.astype(float)), normal_scores(np.repeat(u, weight))
    assert_allclose(np.repeat(scores, weight), copies, atol=1e-9)
    groups = np.arange(120) // 4
    assert measure("hgr_kde_scores", u, v, groups=groups) == measure("hgr_kde_scores", u, v)
    tiny = np.where(np.arange(120) == u.argmax(), 1e-18, 1.0)
    assert np.isfinite(measure("hgr_kde_scores", u, v, sample_weight=tiny))


def test_heavy_tails_hide_a_link_from_raw_values_alone():
    u, v = draw("heavy tails", n=300, repeats=20)
    options = {"n_permutations": 39, "n_bootstrap": 0, "random_state": 0}
    found = {
        id: np.mean(
            [assess_dependence(id, a, b, **options).p_value <= 0.05 for a, b in zip(u, v, strict=True)]
        )
        for id in ("hgr_kde", "hgr_kde_scores")
    }
    assert found["hgr_kde_scores"] > found["hgr_kde"] + 0.3
