"""What is true of patterns and of normal laws, checked against other ways to compute it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairdash.dependence import exact
from fairdash.dependence.exact import gaussian
from fairdash.dependence.patterns import PATTERNS
from fairdash.lab import SHAPES, Scene, truth_of
from fairdash.lab.truth import (
    bound_crossing,
    hgr2,
    information,
    mi_crossing,
    middle,
    printed_threshold,
    upper,
)
from tests.tiers import few


def smooth(id: str) -> bool:
    return SHAPES[id].kind == "smooth"


@pytest.mark.parametrize("id", few(SHAPES, "cosine", "step", "top_jump", "none"))
def test_best_transformations_reach_the_exact_value(id: str) -> None:
    truth = truth_of(SHAPES[id], noise=2.0)
    assert truth.hgr == exact.pattern_hgr(SHAPES[id], noise=2.0).value
    u, v = Scene(pattern=id, n=200_000, noise=2.0).draw()
    f, g = np.interp(u[0], truth.u, truth.f), np.interp(v[0], truth.v, truth.g)
    if truth.hgr == 0:
        assert not f.any()
        return
    # The page's grid of u is coarse for jumps and for forty waves.
    assert np.corrcoef(f, g)[0, 1] == pytest.approx(truth.hgr, abs=0.005 if smooth(id) else 0.03)


@pytest.mark.parametrize("id", few(PATTERNS, "cosine", "step"))
def test_chi2_bounds_hgr_squared_and_mi(id: str) -> None:
    for noise in (0.5, 2.0, 9.0):
        truth = truth_of(PATTERNS[id], noise=noise)
        assert truth.hgr**2 <= truth.chi2 + 1e-6
        assert truth.mi <= math.log1p(truth.chi2) + 1e-6


#: Pattern of two levels to the share of the upper one, and both levels.
CHANNELS = {"step": (0.5, 5.0, -5.0), "top_jump": (0.05, 10.0, 0.0)}


@pytest.mark.parametrize("noise", few([0.5, 1.0, 1.5, 2.0, 4.0, 9.0], 1.0, 4.0))
@pytest.mark.parametrize("id", CHANNELS)
def test_a_pattern_of_two_levels_is_a_noisy_channel(id: str, noise: float) -> None:
    share, *levels = CHANNELS[id]
    v = np.linspace(-5 - 12 * noise, 10 + 12 * noise, 400_001)
    parts = [np.exp(-0.5 * ((v - level) / noise) ** 2) for level in levels]
    parts = [part / part.sum() for part in parts]
    mean = share * parts[0] + (1 - share) * parts[1]
    ratios = [np.divide(part, mean, out=np.ones_like(v), where=mean > 0) for part in parts]
    chi2, mi = -1.0, 0.0
    for weight, part, ratio in zip((share, 1 - share), parts, ratios, strict=True):
        chi2 += weight * (part * ratio).sum()
        mi += weight * (part * np.log(np.where(part > 0, ratio, 1))).sum()
    truth = truth_of(PATTERNS[id], noise=noise)
    # U is known by one bit, so that HGR² and χ² are one.
    assert truth.hgr**2 == pytest.approx(chi2, abs=1e-4)
    assert (truth.chi2, truth.mi) == (pytest.approx(chi2, abs=1e-4), pytest.approx(mi, abs=1e-4))


def test_without_noise_only_few_values_have_finite_information() -> None:
    assert math.isinf(truth_of(PATTERNS["cosine"], noise=0.0).mi)
    step = truth_of(PATTERNS["step"], noise=0.0)
    assert (step.hgr, step.chi2) == (1.0, 1.0)
    assert step.mi == pytest.approx(math.log(2))


def test_ties_put_their_share_at_zero_and_keep_the_exact_value_exact() -> None:
    scene = Scene(ties=0.5, n=200_000, pattern="parabola")
    u, v = scene.draw()
    assert np.mean(u == 0) == pytest.approx(0.5, abs=0.01)
    truth = truth_of(scene.shape, noise=scene.noise)
    # f is a function of F(U) alone; on the parabola F orders |U|
    f = np.interp(np.abs(u[0]), (np.maximum(truth.u, 0) - 5).clip(0) * 2, truth.f)
    g = np.interp(v[0], truth.v, truth.g)
    assert np.corrcoef(f, g)[0, 1] == pytest.approx(truth.hgr, abs=0.01)


def test_in_bits_the_middle_term_is_hgr_squared_and_in_nats_the_first_inequality_fails() -> None:
    chi2 = np.geomspace(1e-6, 1e3, 200)
    bits, nats = (middle(information(chi2, base)) for base in ("bits", "nats"))
    assert np.allclose(bits, hgr2(chi2), rtol=1e-9)
    assert (bits < chi2).all()
    assert (nats < hgr2(chi2)).all()
    truth = gaussian(0.7)
    chi2 = np.array(truth.chi2)
    assert float(information(chi2, "nats")) == pytest.approx(truth.mi)
    assert float(hgr2(chi2)) == pytest.approx(truth.hgr**2)


def test_thresholds_are_where_the_lines_cross() -> None:
    assert printed_threshold() == pytest.approx(-0.3458, abs=1e-4)
    assert bound_crossing("nats") == pytest.approx(0.3181, abs=1e-4)
    assert bound_crossing("bits") == pytest.approx((math.sqrt(5) - 1) / 2)
    for base, at in (("nats", bound_crossing("nats")), ("bits", bound_crossing("bits"))):
        assert float(upper(np.array(at), base)) == pytest.approx(at)
    assert math.sqrt(mi_crossing("bits")) == pytest.approx(math.sqrt(0.5))
    assert math.sqrt(mi_crossing("nats")) == pytest.approx(0.8926, abs=1e-4)
