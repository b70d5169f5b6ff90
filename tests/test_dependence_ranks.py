"""The rank correlation on all rows: right under independence, and what it calls the smallest link is found."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import spearmanr

from benchmarks.hard_links import LINKS
from fairdash.dependence import assess_dependence, measure, measure_many
from fairdash.dependence.classical import rank_link
from fairdash.dependence.ranks import normal_scores

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


@pytest.mark.parametrize("kind", ["none", "drawn"])
def test_the_smallest_link_is_found_in_four_of_five(kind: str) -> None:
    rng = np.random.default_rng(2)
    found_it = 0
    for _ in range(DRAWS):
        u, e = rng.normal(size=(2, N))
        w = weights(u, rng, kind)
        smallest = rank_link(u, e, w).smallest
        # Pearson's correlation of normal variables that has this rank correlation.
        rho = 2 * np.sin(np.pi * smallest / 6)
        found = rank_link(u, rho * u + np.sqrt(1 - rho**2) * e, w)
        found_it += abs(found.value) > found.stays_within
    assert found_it / DRAWS == pytest.approx(0.8, abs=0.085)


def test_a_constant_shows_nothing() -> None:
    found = rank_link(np.ones(50), np.arange(50.0))
    assert (found.value, found.stays_within, found.smallest, found.n) == (0, 1, 1, 50)


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
