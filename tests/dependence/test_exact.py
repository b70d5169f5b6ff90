"""Exact values compared with other calculations, neural measures with exact values, and cross-fitting."""

import numpy as np
import pytest

from fairdash.dependence import exact, learned_functions, measure, measure_many, neural
from fairdash.dependence.patterns import PATTERNS, Pattern, draw, pattern_from_points
from fairdash.dependence.registry import REGISTRY
from fairdash.errors import OptionError
from tests.tiers import few


def test_exact_values_of_a_gaussian_follow_their_closed_forms():
    truth = exact.gaussian(-0.6)
    assert (truth.hgr, truth.chi2, truth.mi) == pytest.approx((0.6, 0.36 / 0.64, -0.5 * np.log(0.64)))
    assert exact.gaussian(1).chi2 == np.inf


def test_discrete_tables_of_two_attributes_have_the_exact_joint_hgr():
    """U = S₁ ⊕ S₂ except for a share ε of errors, or of unknown U: HGR is 1 − 2ε, or √(1 − ε)."""
    s = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)])
    same, share = s.sum(axis=1) % 2, 0.2
    for values, exactly in ((2, 1 - 2 * share), (3, np.sqrt(1 - share))):
        u, rows = np.repeat(np.arange(values), 4), np.tile(s, (values, 1))
        second = share * (u == (2 if values == 3 else 1 - np.tile(same, values)))
        cells = ((1 - share) * (u == np.tile(same, values)) + second) / 4
        found = measure("hgr_witsenhausen", u, rows, sample_weight=cells)
        assert found == pytest.approx(exactly, abs=1e-6)
        smooth = measure("hgr_spline", u, rows, sample_weight=cells, evaluation="in_sample")
        assert smooth == pytest.approx(exactly, abs=1e-6)
        assert max(measure("hgr_witsenhausen", u, each, sample_weight=cells) for each in rows.T) < 1e-6


def test_spline_hgr_of_three_gaussians_is_close_to_their_multiple_correlation():
    rng = np.random.default_rng(0)
    law = np.array([[1.0, 0.55, 0.5], [0.55, 1.0, 0.5], [0.5, 0.5, 1.0]])
    truth = exact.gaussian(np.sqrt((0.55**2 + 0.5**2 - 2 * 0.55 * 0.5 * 0.5) / 0.75))
    u, *s = rng.multivariate_normal(np.zeros(3), law, size=(4, 2_000)).transpose(2, 0, 1)
    found = [measure("hgr_spline", a, np.column_stack(b)) for a, *b in zip(u, *s, strict=True)]
    # Three standard errors of the correlation in 2,000 rows, averaged over four samples.
    assert np.mean(found) == pytest.approx(truth.hgr, abs=3 * (1 - truth.hgr**2) / 2_000**0.5 / 2)


def test_spline_hgr_of_the_sum_of_two_normal_columns_is_close_to_one():
    # Splines of ranks without other functions reach 0.993.
    s = np.random.default_rng(0).normal(size=(5_000, 2))
    assert measure("hgr_spline", s.sum(axis=1), s) > 0.9995


def by_svd(shape: Pattern, sigma: float) -> float:
    """HGR from a singular value decomposition on grids several times as fine."""
    cells = np.sort(shape(np.linspace(-10, 10, 200_001)[:-1] + 5e-5)).reshape(1000, 200).mean(axis=1)
    v = np.linspace(cells[0] - 8 * sigma, cells[-1] + 8 * sigma, 500)
    q = np.exp(-0.5 * ((v - cells[:, None]) / sigma) ** 2)
    q /= q.sum(axis=1, keepdims=True)
    return float(np.linalg.svd(q / np.sqrt(1000 * np.maximum(q.mean(axis=0), 1e-300)), compute_uv=False)[1])


@pytest.mark.parametrize("name", list(PATTERNS))
def test_the_exact_hgr_of_patterns_is_within_its_stated_error(name):
    for sigma in (0.5, 3.0, 9.0):
        result = exact.pattern_hgr(name, noise=sigma)
        assert result.value == pytest.approx(by_svd(PATTERNS[name], sigma), abs=1e-4)


def test_the_exact_hgr_is_one_without_noise_and_close_to_zero_under_large_noise():
    assert float(exact.pattern_hgr("parabola", noise=0)) == 1
    assert exact.pattern_hgr("parabola", noise=0.02).value == pytest.approx(1, abs=1e-3)
    assert exact.pattern_hgr("parabola", noise=1e4).value < 1e-3
    assert exact.pattern_hgr(pattern_from_points([0, 1], [3, 3]), noise=1.0).value == 0


def test_parameters_without_an_exact_value_are_refused():
    points = (([0], [1]), ([0, 0], [1, 2]), ([0, np.nan], [1, 2]), ([0, 1], [1, 2, 3]))
    for function, given, options in (
        (exact.gaussian, (1.2,), {}),
        (exact.pattern_hgr, ("parabola",), {"noise": -1}),
        *((pattern_from_points, each, {}) for each in points),
    ):
        with pytest.raises(OptionError):
            function(*given, **options)
    with pytest.raises(OptionError, match="parabola"):
        exact.pattern_hgr("circle", noise=1)


def test_simulated_rows_follow_the_pattern_and_are_determined_by_the_seed():
    u, v = draw("parabola", 0.5, 2000, repeats=2, random_state=1)
    assert u.shape == v.shape == (2, 2000)
    assert (v - u**2 / 10).std() == pytest.approx(0.5, rel=0.05)
    assert (draw("parabola", 0.5, 2000, repeats=2, random_state=1)[1] == v).all()


NEURAL = [one.id for one in REGISTRY.values() if not one.quick]


# benchmarks/estimators.py tests means over 20 data sets and all values of ρ.
@pytest.mark.parametrize("rho", few([0, 0.6], 0.6))
def test_neural_measures_of_gaussians_are_close_to_their_exact_values(rho):
    u, noise = np.random.default_rng(7).normal(size=(2, 2, 2000))
    v, truth = rho * u + np.sqrt(1 - rho**2) * noise, exact.gaussian(rho)
    expected = {"hgr_nn": (truth.hgr, 0.05), "mi_mine": (truth.mi, 0.05)}
    expected["chi2_nn"] = (truth.chi2, 0.02 if rho == 0 else 0.25 * truth.chi2)
    for id, (value, within) in expected.items():
        n = 2 if id == "hgr_nn" else 1
        assert measure_many(id, u[:n], v[:n], random_state=0).mean() == pytest.approx(value, abs=within), id


def test_hgr_nn_of_noise_is_high_in_sample_and_zero_on_average_when_cross_fitted():
    u, v = np.random.default_rng(0).normal(size=(2, 12, 300))
    assert measure_many("hgr_nn", u, v, random_state=0, evaluation="in_sample").min() > 0.3
    honest = measure_many("hgr_nn", u, v, random_state=0)
    assert abs(honest.mean()) < 3 * honest.std() / np.sqrt(12)


@pytest.mark.parametrize("option", [{"evaluation": "test"}, {"n_steps": 1.5}, {"hidden": (3, 0)}])
@pytest.mark.parametrize("id", NEURAL)
def test_unusable_options_of_neural_measures_are_refused(id, option):
    with pytest.raises(OptionError, match=next(iter(option))):
        measure(id, [1, 2, 3], [1, 3, 2], **option)


@pytest.mark.parametrize("id", ["hgr_spline", "hgr_nn"])
def test_learned_functions_are_close_to_the_true_transformations(id):
    rng = np.random.default_rng(0)
    u = rng.uniform(-10, 10, 600)
    curves = learned_functions(id, u, u**2 / 10 + 0.5 * rng.normal(size=600), random_state=0)
    for x, f, link in ((curves.u, curves.f, curves.u**2), (curves.v, curves.g, curves.v)):
        assert (np.diff(x) >= 0).all()
        assert np.corrcoef(f, link)[0, 1] > 0.9
    assert curves.f.std() == pytest.approx(1)


def test_measures_without_learned_functions_are_refused_with_alternatives():
    with pytest.raises(OptionError, match="hgr_spline"):
        learned_functions("pearson", [1, 2, 3], [1, 2, 2])
    with pytest.raises(OptionError, match="constant"):
        learned_functions("hgr_spline", [1, 2, 3], [1, 1, 1])


def test_chi2_and_mutual_information_of_the_same_pairs_share_a_single_training(monkeypatch):
    trained = []
    train = neural.train
    monkeypatch.setattr(neural, "train", lambda *given, **more: (trained.append(1), train(*given, **more)))
    u, v = np.random.default_rng(11).normal(size=(2, 60))
    few = {"n_steps": 10}
    values = [
        measure(id, u, v, random_state=seed, **few) for id in ("chi2_nn", "mi_mine") for seed in (0, 0, 1)
    ]
    assert len(trained) == 2
    assert values[0] == values[1] != values[2]
    # Without a seed, each call draws new random numbers.
    assert measure("mi_mine", u, v, **few) != measure("mi_mine", u, v, **few)
