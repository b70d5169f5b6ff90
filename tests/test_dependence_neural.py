"""Neural measures against exact values, and what cross-fitting is for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from fairdash.dependence import exact, learned_functions, measure, measure_many
from fairdash.dependence.api import Estimator, Pairs
from fairdash.dependence.inference import permutation_p_value
from fairdash.dependence.patterns import PATTERNS, draw
from fairdash.dependence.registry import REGISTRY
from fairdash.errors import OptionError
from tests.tiers import few

NEURAL = [one.id for one in REGISTRY.values() if not one.quick]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def gaussians(rho, count, n=2000):
    rng = np.random.default_rng(7)
    u = rng.normal(size=(count, n))
    return u, rho * u + np.sqrt(1 - rho**2) * rng.normal(size=u.shape)


# Means over 20 data sets, and all values of ρ: benchmarks/estimators.py.
@pytest.mark.parametrize("rho", few([0, 0.6], 0.6))
def test_gaussians(rho):
    u, v = gaussians(rho, 2)
    truth = exact.gaussian(rho)
    assert measure_many("hgr_nn", u, v, random_state=0).mean() == pytest.approx(truth.hgr, abs=0.05)
    u, v = u[:1], v[:1]
    assert measure_many("mi_mine", u, v, random_state=0).mean() == pytest.approx(truth.mi, abs=0.05)
    chi2 = measure_many("chi2_nn", u, v, random_state=0).mean()
    assert chi2 == pytest.approx(truth.chi2, abs=0.02 if rho == 0 else 0.25 * truth.chi2)


def test_the_networks_follow_the_papers_patterns():
    u, v = (np.concatenate(x) for x in zip(*(draw(p, 0, 500, random_state=3) for p in _four()), strict=True))
    assert measure_many("hgr_nn", u, v, random_state=0, evaluation="in_sample").min() >= 0.95


def _four():
    return [one.id for one in PATTERNS.values() if one.paper]


def test_noise_reads_high_in_sample_and_nothing_when_cross_fitted(rng):
    u, v = rng.normal(size=(2, 12, 300))
    assert measure_many("hgr_nn", u, v, random_state=0, evaluation="in_sample").min() > 0.3
    honest = measure_many("hgr_nn", u, v, random_state=0)
    assert abs(honest.mean()) < 3 * honest.std() / np.sqrt(12)


@pytest.mark.parametrize("id", few(NEURAL, "hgr_nn"))
def test_false_alarms(id):
    """40 independent samples, ties and heavy tails among them; few steps and permutations."""
    rng = np.random.default_rng(1)
    rejected = 0
    for i in range(40):
        u, v = rng.normal(size=(2, 30))
        u = [u, np.round(u), np.exp(2 * u)][i % 3]
        orders = np.stack([np.arange(30), *(rng.permutation(30) for _ in range(19))])
        values = Estimator(REGISTRY[id], {"n_steps": 6}, i).permuted(Pairs(u[None], v[None]), orders)[0]
        rejected += permutation_p_value(values[0], values[1:]) <= 0.05
    assert binom.sf(rejected - 1, 40, 0.05) > 0.01 / len(REGISTRY)


@pytest.mark.parametrize("option", [{"evaluation": "test"}, {"n_steps": 1.5}, {"hidden": (3, 0)}])
@pytest.mark.parametrize("id", NEURAL)
def test_unusable_options(id, option):
    with pytest.raises(OptionError, match=next(iter(option))):
        measure(id, [1, 2, 3], [1, 3, 2], **option)


@pytest.mark.parametrize("id", ["hgr_spline", "hgr_nn"])
def test_learned_functions_are_the_links(id, rng):
    u = rng.uniform(-10, 10, 600)
    v = u**2 / 10 + 0.5 * rng.normal(size=600)
    curves = learned_functions(id, u, v, random_state=0)
    assert (np.diff(curves.u) >= 0).all()
    assert (np.diff(curves.v) >= 0).all()
    assert np.corrcoef(curves.f, curves.u**2)[0, 1] > 0.9
    assert np.corrcoef(curves.g, curves.v)[0, 1] > 0.9
    assert curves.f.std() == pytest.approx(1)


def test_measures_without_functions_say_so():
    with pytest.raises(OptionError, match="hgr_spline"):
        learned_functions("pearson", [1, 2, 3], [1, 2, 2])
    with pytest.raises(OptionError, match="constant"):
        learned_functions("hgr_spline", [1, 2, 3], [1, 1, 1])
