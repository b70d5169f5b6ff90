"""Spline HGR and its correction for noise, HGR_KDE of normal scores, and the rank correlation on all rows."""

from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import spearmanr

from benchmarks.hard_links import LINKS
from benchmarks.zero_inflated import PLACE
from fairdash.dependence import measure, measure_many
from fairdash.dependence.classical import normal_scores, rank_link
from fairdash.dependence.grouping import draw_exchanges
from fairdash.dependence.spline import hgr_spline
from fairdash.dependence.spline_basis import basis
from fairdash.dependence.spline_corrected import corrected


def draw(name: str, *, n: int, repeats: int = 8) -> tuple[np.ndarray, np.ndarray]:
    pairs = [LINKS[name].draw(np.random.default_rng([n, k]), n) for k in range(repeats)]
    return np.array([u for u, _ in pairs]), np.array([v for _, v in pairs])


def of(u, v, **options):
    return measure_many("hgr_spline", u, v, **options)


def rmse(name: str, *, n: int, evaluation: str = "corrected") -> float:
    found = of(*draw(name, n=n), evaluation=evaluation)
    return float(np.sqrt(np.mean((found - LINKS[name].exact()) ** 2)))


def test_the_bias_correction_recovers_the_true_canonical_correlation_of_gaussian_columns():
    """Sample canonical correlations of Gaussian columns, one of which on each side is correlated."""
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


def test_the_corrected_correlation_is_0_below_the_noise_limit_and_1_for_perfect_correlation():
    p = q = 8 / 300
    edge = np.sqrt(p * (1 - q)) + np.sqrt(q * (1 - p))
    assert corrected(np.array(edge - 1e-6), p, q) == 0
    assert_allclose(corrected(np.array(edge + 1e-9), p, q), (p * q / (1 - p) / (1 - q)) ** 0.25, atol=1e-3)
    assert_allclose(corrected(np.array(1.0), p, q), 1.0)
    assert corrected(np.array(1.0), np.array(2.0), np.array(0.1)) == 0


@pytest.mark.parametrize(
    "name", ["heavy tails", "s with 3 levels", "zero-inflated", "spread only", "five waves", "ring"]
)
def test_corrected_spline_hgr_is_close_to_the_exact_value(name):
    assert rmse(name, n=1000) < 0.05


def test_corrected_spline_hgr_of_independent_pairs_is_close_to_zero():
    pair = draw("independent", n=300, repeats=60)
    found = of(*pair, evaluation="corrected")
    assert found.mean() < 0.13 < of(*pair, evaluation="in_sample").mean()
    assert (found == 0).mean() > 0.4


def test_the_committed_study_of_zero_inflation_is_within_its_error_limits():
    table = pd.read_csv(PLACE)
    assert len(table) == 45
    assert (table["rmse"] <= table["limit"]).all()


def test_spline_hgr_is_symmetric_between_0_and_1_and_unchanged_by_row_order_and_monotone_transformations():
    u, v = draw("zero-inflated", n=400, repeats=3)
    found, order = of(u, v), np.random.default_rng(0).permutation(400)
    for pair in ((u[:, order], v[:, order]), (np.exp(u), -v), (v, u)):
        assert_allclose(of(*pair), found, atol=1e-9)
    assert_allclose(of(u, v, sample_weight=np.ones_like(u[0])), found)
    assert_allclose(of(u, v, evaluation="corrected"), found)
    assert ((found >= 0) & (found <= 1)).all()
    # A single tie does not weaken rapidly oscillating functions of few rows.
    u, v = draw("five waves", n=200, repeats=1)
    tied = np.where(np.arange(200) == u[0].argmin(), np.sort(u[0])[1], u[0])
    assert abs(of(u, v)[0] - of(tied[None], v)[0]) < 0.01


@pytest.mark.parametrize("name", ["independent", "3 levels, 34 jumps", "zero-inflated", "s with 3 levels"])
@pytest.mark.parametrize("evaluation", ["corrected", "cross_fit", "in_sample"])
def test_spline_hgr_under_permutations_equals_measuring_the_permuted_rows(name, evaluation):
    (u,), (v,) = draw(name, n=600, repeats=1)
    orders = np.array([np.arange(600), *(np.random.default_rng(k).permutation(600) for k in range(1, 5))])
    for s in (v, np.stack([v, np.roll(u, 1)], axis=-1)):
        moved = hgr_spline(u[None], s[None], permutations=orders, evaluation=evaluation)
        assert_allclose(moved[0], of(np.tile(u, (5, 1)), s[orders], evaluation=evaluation), atol=1e-9)


def test_spline_hgr_counts_identical_rows_of_a_group_as_one_row():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(300), 5)
    u, v = (np.repeat(rng.normal(size=(20, 300)), 5, axis=1) for _ in range(2))
    assert of(u, v, groups=groups).mean() < 0.15 < 0.5 < of(u, v).mean()
    assert_allclose(of(u, 0.6 * u + 0.8 * v, groups=groups), 0.6, atol=0.15)
    # If the values of one side are independent within groups, grouping does not change the result.
    own = rng.normal(size=u.shape)
    assert abs(of(u, own, groups=groups).mean() - of(u, own).mean()) < 0.03
    # Permutations for the floor compute the same statistic.
    orders = np.concatenate([np.arange(1500)[None], draw_exchanges(groups, v[0][:, None], 4, 0)])
    for evaluation in ("corrected", "cross_fit"):
        options = {"groups": groups, "evaluation": evaluation}
        moved = hgr_spline(u[:1], v[:1], permutations=orders, **options)[0]
        assert_allclose(moved, of(np.tile(u[0], (5, 1)), v[0][orders], **options), atol=1e-9)


@pytest.mark.parametrize("share_of_zeros", [0.5, 0.84, 0.95])
@pytest.mark.parametrize("weighted", [False, True])
def test_spline_functions_of_zero_inflated_values_are_uncorrelated(share_of_zeros, weighted):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = np.maximum(rng.normal(size=1000) - NormalDist().inv_cdf(share_of_zeros), 0.0)
        weight = rng.uniform(0.2, 1.0, 1000) if weighted else np.ones(1000)
        found = basis(x[None], weight[None] if weighted else None)
        f = found.tables[0][found.position[0]]
        products = f.T @ (weight[:, None] * f) / weight.sum()
        # Functions that consist only of rounding errors are set to zero, and all others stay correct.
        live = np.diagonal(products) > 0.5
        assert live.sum() >= 3
        assert np.abs(products - np.diag(live.astype(float))).max() < 1e-5


def test_the_rank_correlation_equals_the_spearman_correlation() -> None:
    rng = np.random.default_rng(0)
    u, w = rng.poisson(1.0, 300).astype(float), rng.uniform(0.1, 1, 300)
    v = u + rng.normal(size=300)
    assert rank_link(u, v).value == pytest.approx(spearmanr(u, v).statistic)
    assert rank_link(u, v, w).value == pytest.approx(measure("spearman", u, v, sample_weight=w))
    assert rank_link(u, v, 7 * w).stays_within == pytest.approx(rank_link(u, v, w).stays_within)
    half = rank_link(u, v, np.repeat([0.3, 0.0], 150))
    assert half.stays_within == pytest.approx(rank_link(u[:150], v[:150]).stays_within)
    found = rank_link(np.ones(50), np.arange(50.0))
    assert (found.value, found.stays_within, found.smallest, found.n) == (0, 1, 1, 50), "a constant"


def test_hgr_kde_scores_equals_hgr_kde_of_normal_scores_and_ignores_increasing_transformations():
    u, v = np.random.default_rng(0).normal(size=(2, 3, 200))
    v = v + u**2
    found = measure_many("hgr_kde_scores", u, v)
    assert_allclose(found, measure_many("hgr_kde", normal_scores(u), normal_scores(v)))
    assert_allclose(measure_many("hgr_kde_scores", np.exp(3 * u), v**3), found)
    assert_allclose(measure_many("hgr_kde_scores", v, u), found, atol=1e-9)
    assert ((found > 0) & (found < 1)).all()


def test_normal_scores_treat_weights_as_copies_of_rows_and_hgr_kde_scores_ignores_groups():
    rng = np.random.default_rng(2)
    u, v = rng.normal(size=(2, 120))
    weight = rng.integers(0, 3, size=120)
    scores, copies = normal_scores(u, weight.astype(float)), normal_scores(np.repeat(u, weight))
    assert_allclose(np.repeat(scores, weight), copies, atol=1e-9)
    groups = np.arange(120) // 4
    assert measure("hgr_kde_scores", u, v, groups=groups) == measure("hgr_kde_scores", u, v)
    tiny = np.where(np.arange(120) == u.argmax(), 1e-18, 1.0)
    assert np.isfinite(measure("hgr_kde_scores", u, v, sample_weight=tiny))


@pytest.mark.parametrize("n", [300, 2000])
def test_step_functions_detect_dependence_in_one_tail_better_than_smooth_splines_alone(n):
    u, noise = np.random.default_rng([1, n]).normal(size=(2, n))
    v = np.where(u > np.quantile(u, 0.95), 3 + 2 * u, noise)
    assert measure("hgr_spline", u, v) > 0.95
    assert measure("hgr_spline", u, v, evaluation="in_sample") < 0.85
