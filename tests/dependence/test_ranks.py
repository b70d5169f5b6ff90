"""The rank correlation on all rows, HGR_KDE of normal scores, and links in one tail."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import spearmanr

from fairdash.dependence import measure, measure_many
from fairdash.dependence.classical import normal_scores, rank_link

DRAWS, N = 600, 400


def weights(u: np.ndarray, rng: np.random.Generator, kind: str) -> np.ndarray | None:
    if kind == "none":
        return None
    drawn = rng.choice([0.05, 0.3, 1.0], len(u))
    return drawn if kind == "drawn" else np.where(u > 0, 1.0, drawn)


def test_it_is_spearmans_correlation() -> None:
    rng = np.random.default_rng(0)
    u, w = rng.poisson(1.0, 300).astype(float), rng.uniform(0.1, 1, 300)
    v = u + rng.normal(size=300)
    assert rank_link(u, v).value == pytest.approx(spearmanr(u, v).statistic)
    assert rank_link(u, v, w).value == pytest.approx(measure("spearman", u, v, sample_weight=w))
    assert rank_link(u, v, 7 * w).stays_within == pytest.approx(rank_link(u, v, w).stays_within)
    found = rank_link(np.ones(50), np.arange(50.0))
    assert (found.value, found.stays_within, found.smallest, found.n) == (0, 1, 1, 50), "a constant"


@pytest.mark.parametrize("kind", ["none", "drawn", "with u"])
def test_nineteen_of_twenty_stay_within_under_independence(kind: str) -> None:
    rng = np.random.default_rng(1)
    over = 0
    for _ in range(DRAWS):
        u, v = rng.normal(size=N), rng.poisson(0.5, N).astype(float)
        found = rank_link(u, v, weights(u, rng, kind))
        over += abs(found.value) > found.stays_within
    # Five standard errors of a share of 600.
    assert over / DRAWS == pytest.approx(0.05, abs=0.045)


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


@pytest.mark.parametrize("n", [200, 500])
def test_a_deterministic_link_reads_a_large_chi2_and_not_minus_thousands(n):
    """No n rows can show a density ratio above n: the ratio is capped there."""
    u = np.linspace(-10, 10, n)
    assert 5 < measure("chi2_nn", u, u, random_state=0) < n


@pytest.mark.parametrize("n", [300, 2000])
def test_steps_follow_a_link_in_one_tail_and_smooth_splines_alone_do_not(n):
    u, noise = np.random.default_rng([1, n]).normal(size=(2, n))
    v = np.where(u > np.quantile(u, 0.95), 3 + 2 * u, noise)
    assert measure("hgr_spline", u, v) > 0.95
    assert measure("hgr_spline", u, v, evaluation="in_sample") < 0.85
