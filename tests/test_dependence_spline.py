"""Spline HGR: its functions, its honesty and its accuracy against exact values."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fairdash.dependence import exact, measure, measure_many
from fairdash.dependence.patterns import PATTERNS, draw
from fairdash.dependence.spline_basis import WIDTH, basis

NOISE = (0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def gaussians(rho, *, n=2000, count=20):
    rng = np.random.default_rng(7)
    u = rng.normal(size=(count, n))
    return u, rho * u + np.sqrt(1 - rho**2) * rng.normal(size=u.shape)


def test_functions_are_uncorrelated_and_ordered_from_smooth_to_rough(rng):
    functions = basis(rng.normal(size=(1, 400)))
    table = functions.tables[0]
    assert table.shape == (400, WIDTH)
    assert_allclose(table.T @ table / 400, np.eye(WIDTH), atol=1e-10)
    assert_allclose(table.mean(axis=0), 0, atol=1e-10)
    changes_of_sign = (np.diff(np.sign(table), axis=0) != 0).sum(axis=0)
    assert (np.diff(changes_of_sign[:-2]) >= 0).all()


@pytest.mark.parametrize("share_of_zeros", [0.5, 0.84, 0.95])
@pytest.mark.parametrize("weighted", [False, True])
def test_functions_of_a_heap_of_zeros_are_uncorrelated(share_of_zeros, weighted):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = np.maximum(rng.normal(size=1000) - NormalDist().inv_cdf(share_of_zeros), 0.0)
        weight = rng.uniform(0.2, 1.0, 1000) if weighted else np.ones(1000)
        found = basis(x[None], weight[None] if weighted else None)
        f = found.tables[0][found.position[0]]
        products = f.T @ (weight[:, None] * f) / weight.sum()
        # Functions that would be nothing but rounding are zero, and all others as they should be.
        live = np.diagonal(products) > 0.5
        assert live.sum() >= 3
        assert np.abs(products - np.diag(live.astype(float))).max() < 1e-5


@pytest.mark.parametrize("rho", [0, 0.3, 0.6, 0.9])
def test_gaussians(rho):
    assert measure_many("hgr_spline", *gaussians(rho)).mean() == pytest.approx(rho, abs=0.03)


@pytest.fixture(scope="module")
def fig2():
    cells = [
        (name, sigma, *draw(name, sigma, 500, repeats=5, random_state=100 * i + j))
        for i, name in enumerate(key for key, one in PATTERNS.items() if one.paper)
        for j, sigma in enumerate(NOISE)
    ]
    truth = np.repeat([exact.pattern_hgr(name, noise=sigma).value for name, sigma, *_ in cells], 5)
    return np.concatenate([u for *_, u, _ in cells]), np.concatenate([v for *_, v in cells]), truth


def test_the_papers_patterns(fig2):
    u, v, truth = fig2
    error = measure_many("hgr_spline", u, v) - truth
    assert np.sqrt((error**2).mean()) < 0.07
    error = measure_many("hgr_spline", u, v, evaluation="in_sample") - truth
    assert np.sqrt((error**2).mean()) < 0.05


@pytest.mark.parametrize("levels", [None, (10, 10), (20, 3)])
def test_cross_fitting_is_honest(rng, levels):
    u, v = rng.normal(size=(2, 300, 200))
    if levels is not None:  # cells of several equal rows
        u, v = (rng.integers(0, count, (300, 200)).astype(float) for count in levels)
    honest = measure_many("hgr_spline", u, v, evaluation="cross_fit")
    # Mean 0 within three standard errors; in-sample values of noise can't be near 0.
    assert abs(honest.mean()) < 3 * honest.std() / np.sqrt(300)
    assert measure_many("hgr_spline", u, v, evaluation="in_sample").mean() > 0.1


def test_discrete_variables(rng):
    coin = rng.integers(0, 2, 400)
    assert measure("hgr_spline", coin, coin) == pytest.approx(1)
    flipped = np.where(rng.random(400) < 0.2, 1 - coin, coin)
    assert measure("hgr_spline", coin, flipped) == pytest.approx(
        abs(np.corrcoef(coin, flipped)[0, 1]), abs=0.02
    )


def test_weights_single_out_a_part(rng):
    u = rng.normal(size=1000)
    v = np.where(np.arange(1000) < 500, u**2, rng.normal(size=1000))
    first = np.where(np.arange(1000) < 500, 1.0, 1e-3)
    assert measure("hgr_spline", u, v, sample_weight=first) > 0.95
    assert measure("hgr_spline", u, v, sample_weight=1.001 - first) < 0.2
