"""The rank correlation on all rows: right under independence, and what it calls the smallest link is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from fairdash.dependence import measure
from fairdash.dependence.classical import rank_link

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
