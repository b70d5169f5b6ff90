"""Spline HGR without what noise adds to it: the equation it solves, its laws, and links that splines smooth."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from benchmarks.hard_links import LINKS
from benchmarks.zero_inflated import LINKED, PLACE, amounts, claims, samples
from fairdash.dependence import measure_many
from fairdash.dependence.grouping import draw_exchanges
from fairdash.dependence.spline import hgr_spline
from fairdash.dependence.spline_corrected import corrected


def draw(name: str, *, n: int, repeats: int = 8) -> tuple[np.ndarray, np.ndarray]:
    pairs = [LINKS[name].draw(np.random.default_rng([n, k]), n) for k in range(repeats)]
    return np.array([u for u, _ in pairs]), np.array([v for _, v in pairs])


@cache
def exact(name: str) -> float:
    return LINKS[name].exact()


def rmse(name: str, *, n: int, evaluation: str = "corrected") -> float:
    found = measure_many("hgr_spline", *draw(name, n=n), evaluation=evaluation)
    return float(np.sqrt(np.mean((found - exact(name)) ** 2)))


def test_it_is_where_the_sample_value_comes_from():
    """Sample canonical correlations of Gaussian columns of which one on each side are linked."""
    n, p, q, truth = 1500, 90, 60, 0.6
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(n, p)), rng.normal(size=(n, q))
        y[:, 0] = truth * x[:, 0] + np.sqrt(1 - truth**2) * y[:, 0]
        across = np.linalg.qr(x)[0].T @ np.linalg.qr(y)[0]
        found.append(np.linalg.svd(across, compute_uv=False)[0])
    assert min(found) > truth + 0.02
    assert_allclose(corrected(np.mean(found), p / n, q / n), truth, atol=0.02)


def test_below_the_edge_it_is_zero_and_a_perfect_link_stays_one():
    p, q = 8 / 300, 8 / 300
    edge = np.sqrt(p * (1 - q)) + np.sqrt(q * (1 - p))
    assert corrected(np.array(edge - 1e-6), p, q) == 0
    assert_allclose(corrected(np.array(edge + 1e-9), p, q), (p * q / (1 - p) / (1 - q)) ** 0.25, atol=1e-3)
    assert_allclose(corrected(np.array(1.0), p, q), 1.0)
    assert corrected(np.array(1.0), np.array(2.0), np.array(0.1)) == 0


@pytest.mark.parametrize(
    "name", ["heavy tails", "s with 3 levels", "zero-inflated", "spread only", "five waves", "ring"]
)
def test_it_is_near_the_exact_value(name):
    assert rmse(name, n=1000) < 0.05


@pytest.mark.parametrize(
    ("name", "n", "within"), [("top 3 % of s", 1000, 0.1), ("3 levels, 34 jumps", 2000, 0.08)]
)
def test_it_follows_jumps_and_the_ends_of_the_range(name, n, within):
    assert rmse(name, n=n) < within
    assert rmse(name, n=n, evaluation="in_sample") > 0.2


def test_of_nothing_it_is_nearly_nothing():
    u, v = draw("independent", n=300, repeats=60)
    found = measure_many("hgr_spline", u, v, evaluation="corrected")
    assert found.mean() < 0.13 < measure_many("hgr_spline", u, v, evaluation="in_sample").mean()
    assert (found == 0).mean() > 0.4


@pytest.mark.parametrize(
    ("law", "truth", "n", "most"),
    [
        (amounts(0.0, 0.8, 2), 0.0, 300, 0.08),
        (amounts(0.0, 0.95, 2), 0.0, 300, 0.06),
        (amounts(0.0, 0.95, 2), 0.0, 1000, 0.03),
        (claims(0.8), LINKED, 300, 0.11),
        (claims(0.95), LINKED, 300, 0.2),
    ],
)
def test_columns_of_zeros_do_not_make_a_link(law, truth, n, most):
    u, v = samples(law, n, 60)
    found = measure_many("hgr_spline", u, v)
    assert np.sqrt(np.mean((found - truth) ** 2)) < most
    if truth == 0:
        assert (found > 0.2).mean() <= 0.05


def test_without_ties_all_rows_are_behind_a_correlation():
    u, v = draw("five waves", n=200, repeats=2)
    tied = np.where(np.arange(200) == u[0].argmin(), np.sort(u[0])[1], u[0])
    plain, nearly = (measure_many("hgr_spline", x[None], v[:1])[0] for x in (u[0], tied))
    # A single tie takes nothing away from fast functions of few rows.
    assert abs(plain - nearly) < 0.01


def test_the_study_of_zeros_is_within_its_limits():
    table = pd.read_csv(PLACE)
    assert len(table) == 45
    assert (table["rmse"] <= table["limit"]).all()


def test_laws():
    u, v = draw("zero-inflated", n=400, repeats=3)
    found = measure_many("hgr_spline", u, v, evaluation="corrected")
    order = np.random.default_rng(0).permutation(400)
    assert_allclose(measure_many("hgr_spline", u[:, order], v[:, order], evaluation="corrected"), found)
    assert_allclose(measure_many("hgr_spline", np.exp(u), -v, evaluation="corrected"), found, atol=1e-9)
    assert_allclose(measure_many("hgr_spline", v, u, evaluation="corrected"), found, atol=1e-9)
    ones = np.ones_like(u[0])
    assert_allclose(measure_many("hgr_spline", u, v, sample_weight=ones, evaluation="corrected"), found)
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("name", ["independent", "3 levels, 34 jumps", "zero-inflated", "s with 3 levels"])
@pytest.mark.parametrize("evaluation", ["corrected", "cross_fit", "in_sample"])
def test_permuting_is_measuring_the_permuted(name, evaluation):
    (u,), (v,) = draw(name, n=600, repeats=1)
    orders = np.array([np.random.default_rng(k).permutation(600) for k in range(5)])
    orders[0] = np.arange(600)
    moved = hgr_spline(u[None], v[None], permutations=orders, evaluation=evaluation)
    apart = measure_many("hgr_spline", np.tile(u, (5, 1)), v[orders], evaluation=evaluation)
    assert_allclose(moved[0], apart, atol=1e-9)
    several = np.stack([v, np.roll(u, 1)], axis=-1)
    moved = hgr_spline(u[None], several[None], permutations=orders, evaluation=evaluation)
    apart = measure_many("hgr_spline", np.tile(u, (5, 1)), several[orders], evaluation=evaluation)
    assert_allclose(moved[0], apart, atol=1e-9)


def test_rows_that_repeat_their_group_are_no_separate_witnesses():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(300), 5)
    u, v = (np.repeat(rng.normal(size=(20, 300)), 5, axis=1) for _ in range(2))
    once = measure_many("hgr_spline", u, v, evaluation="corrected")
    found = measure_many("hgr_spline", u, v, groups=groups, evaluation="corrected")
    assert found.mean() < 0.15 < 0.5 < once.mean()
    assert_allclose(
        measure_many("hgr_spline", u, 0.6 * u + 0.8 * v, groups=groups, evaluation="corrected"),
        0.6,
        atol=0.15,
    )
    # Where one side has nothing in common in a group, its rows are as good as any.
    own = rng.normal(size=u.shape)
    apart = measure_many("hgr_spline", u, own, evaluation="corrected")
    grouped = measure_many("hgr_spline", u, own, groups=groups, evaluation="corrected")
    assert abs(grouped.mean() - apart.mean()) < 0.03
    # Floors are of the same statistic.
    orders = np.concatenate([np.arange(1500)[None], draw_exchanges(groups, v[0][:, None], 4, 0)])
    for evaluation in ("corrected", "cross_fit"):
        moved = hgr_spline(u[:1], v[:1], permutations=orders, groups=groups, evaluation=evaluation)[0]
        apart = measure_many(
            "hgr_spline", np.tile(u[0], (5, 1)), v[0][orders], groups=groups, evaluation=evaluation
        )
        assert_allclose(moved, apart, atol=1e-9)
