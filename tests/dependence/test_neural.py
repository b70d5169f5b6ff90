"""Neural measures against exact values, and what cross-fitting is for."""

from __future__ import annotations

import numpy as np
import pytest

from fairdash.dependence import exact, learned_functions, measure, measure_many, neural
from fairdash.dependence.patterns import PATTERNS, draw
from fairdash.dependence.registry import REGISTRY
from fairdash.errors import OptionError
from tests.tiers import few

NEURAL = [one.id for one in REGISTRY.values() if not one.quick]


# Means over 20 data sets, and all values of ρ: benchmarks/estimators.py.
@pytest.mark.parametrize("rho", few([0, 0.6], 0.6))
def test_gaussians(rho):
    u, noise = np.random.default_rng(7).normal(size=(2, 2, 2000))
    v, truth = rho * u + np.sqrt(1 - rho**2) * noise, exact.gaussian(rho)
    expected = {"hgr_nn": (truth.hgr, 0.05), "mi_mine": (truth.mi, 0.05)}
    expected["chi2_nn"] = (truth.chi2, 0.02 if rho == 0 else 0.25 * truth.chi2)
    for id, (value, within) in expected.items():
        n = 2 if id == "hgr_nn" else 1
        assert measure_many(id, u[:n], v[:n], random_state=0).mean() == pytest.approx(value, abs=within), id


def test_the_networks_follow_the_papers_patterns():
    pairs = [draw(one.id, 0, 500, random_state=3) for one in PATTERNS.values() if one.paper]
    u, v = (np.concatenate(each) for each in zip(*pairs, strict=True))
    assert measure_many("hgr_nn", u, v, random_state=0, evaluation="in_sample").min() >= 0.95


def test_noise_reads_high_in_sample_and_nothing_when_cross_fitted():
    u, v = np.random.default_rng(0).normal(size=(2, 12, 300))
    assert measure_many("hgr_nn", u, v, random_state=0, evaluation="in_sample").min() > 0.3
    honest = measure_many("hgr_nn", u, v, random_state=0)
    assert abs(honest.mean()) < 3 * honest.std() / np.sqrt(12)


@pytest.mark.parametrize("option", [{"evaluation": "test"}, {"n_steps": 1.5}, {"hidden": (3, 0)}])
@pytest.mark.parametrize("id", NEURAL)
def test_unusable_options(id, option):
    with pytest.raises(OptionError, match=next(iter(option))):
        measure(id, [1, 2, 3], [1, 3, 2], **option)


@pytest.mark.parametrize("id", ["hgr_spline", "hgr_nn"])
def test_learned_functions_are_the_links(id):
    rng = np.random.default_rng(0)
    u = rng.uniform(-10, 10, 600)
    curves = learned_functions(id, u, u**2 / 10 + 0.5 * rng.normal(size=600), random_state=0)
    for x, f, link in ((curves.u, curves.f, curves.u**2), (curves.v, curves.g, curves.v)):
        assert (np.diff(x) >= 0).all()
        assert np.corrcoef(f, link)[0, 1] > 0.9
    assert curves.f.std() == pytest.approx(1)


def test_measures_without_functions_say_so():
    with pytest.raises(OptionError, match="hgr_spline"):
        learned_functions("pearson", [1, 2, 3], [1, 2, 2])
    with pytest.raises(OptionError, match="constant"):
        learned_functions("hgr_spline", [1, 2, 3], [1, 1, 1])


def test_chi2_and_mutual_information_of_the_same_pairs_take_one_training(monkeypatch):
    trained = []
    train = neural.train
    monkeypatch.setattr(neural, "train", lambda *given, **more: (trained.append(1), train(*given, **more)))
    u, v = np.random.default_rng(11).normal(size=(2, 60))
    values = [measure(id, u, v, random_state=seed) for id in ("chi2_nn", "mi_mine") for seed in (0, 0, 1)]
    assert len(trained) == 2
    assert values[0] == values[1] != values[2]
    # Without a seed each is a draw of its own.
    assert measure("mi_mine", u, v) != measure("mi_mine", u, v)
