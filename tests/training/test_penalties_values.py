"""Values of the penalties compared with other computations of the same number."""

import json
import math

import numpy as np
import pytest
import scipy.linalg
import torch

import fairdash as fd
from benchmarks.rival_values import VALUES, sample
from fairdash.dependence.kde import chi2_kde
from fairdash.errors import OptionError
from fairdash.training.methods import METHODS
from fairdash.training.penalties.adversarial import Chi2Penalty, MINEPenalty
from fairdash.training.penalties.closed_forms import (
    CanonicalPenalty,
    KDEPenalty,
    PearsonPenalty,
    SplineHGRPenalty,
)
from fairdash.training.penalties.rivals import EIPMPenalty, GDPPenalty, GeDIPenalty, HSICPenalty
from fairdash.training.settings import TrainingSettings

RNG = np.random.default_rng


def _built(cls, s):
    v = cls.encode(s, [torch.arange(s.shape[1])] * len(s))
    which_split = torch.arange(len(s))
    return (cls(seeds=[3] * len(s), s=v, which_split=which_split, settings=TrainingSettings()).to(s.dtype), v)


def _table(n=300, columns=1, seed=0):
    rng = RNG(seed)
    s = rng.normal(size=(n, columns))
    u = np.sin(2 * s[:, 0]) + 0.5 * s[:, -1] + 0.5 * rng.normal(size=n)
    return torch.from_numpy(u)[None, :, None], torch.from_numpy(s)[None]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_linear_penalty_of_several_columns_is_the_root_of_r_squared(weighted):
    from sklearn.linear_model import LinearRegression

    u, s = _table(columns=3)
    penalty, v = _built(PearsonPenalty, s)
    weight = RNG(1).uniform(0.1, 2, size=300) if weighted else np.ones(300)
    x, y = s[0].numpy(), u[0, :, 0].numpy()
    expected = LinearRegression().fit(x, y, sample_weight=weight).score(x, y, sample_weight=weight) ** 0.5
    own = penalty(u, v, torch.from_numpy(weight)[None, :, None] if weighted else None)
    assert own.item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize(
    ("cls", "bumps", "reach", "of_squares"),
    [(SplineHGRPenalty, 10, 2.5, lambda each: math.sqrt(each[-1])), (CanonicalPenalty, 12, 3.5, np.sum)],
)
def test_spline_penalties_are_canonical_correlations(cls, bumps, reach, of_squares, columns, weighted):
    """Expected values solve a generalised eigenvalue problem on the same functions, with the same ridges."""
    u, s = _table(columns=columns)
    penalty, v = _built(cls, s)
    weight = RNG(1).uniform(0.1, 2, size=300) if weighted else np.ones(300)
    share = weight / weight.sum()
    y = u[0, :, 0].numpy()
    z = (y - share @ y) / np.sqrt(share @ (y - share @ y) ** 2)
    centres = np.linspace(-reach, reach, bumps)
    width = centres[1] - centres[0]
    values = np.exp(-0.5 * ((np.clip(z, -reach, reach)[:, None] - centres) / width) ** 2)
    splines = v[0].numpy()
    f, g = values - share @ values, splines - share @ splines
    a, b, c = (p.T @ (share[:, None] * q) for p, q in ((f, f), (g, g), (f, g)))
    a += np.eye(bumps) * (0.1 * np.trace(a) / bumps + 1e-6)
    b += np.eye(len(b)) * 0.1
    squares = scipy.linalg.eigh(c @ np.linalg.solve(b, c.T), a, eigvals_only=True)
    own = penalty(u, v, torch.from_numpy(weight)[None, :, None] if weighted else None)
    assert own.item() == pytest.approx(of_squares(squares), rel=1e-6)


def test_spline_functions_are_uncorrelated_on_training_rows_and_their_number_falls_with_ties():
    _, s = _table(n=500)
    train = torch.arange(400)
    v = SplineHGRPenalty.encode(s, [train])[0, :400].numpy()
    assert np.allclose(v.mean(axis=0), 0, atol=1e-9)
    assert np.allclose(v.T @ v / 400, np.eye(8), atol=1e-6)
    assert SplineHGRPenalty.encode((s > 0).double(), [train]).shape == (1, 500, 1)
    assert SplineHGRPenalty.encode(torch.round(s).clamp(-1, 1), [train]).shape == (1, 500, 2)
    two = torch.cat([s, (s > 0).double()], dim=2)
    # Eight functions of the number, one of the class, and three of both.
    assert SplineHGRPenalty.encode(two, [train]).shape == (1, 500, 12)


@pytest.mark.parametrize("rank_based", ["hgr_spline", "cca_spline", "chi2_kde", "chi2_nn", "mine"])
def test_rank_based_penalties_are_unchanged_by_increasing_transformations_of_the_attribute(rank_based):
    _, s = _table(n=200)
    encode = METHODS[rank_based].penalty_class().encode
    train = [torch.arange(200)]
    assert torch.allclose(encode(s, train), encode(torch.exp(2 * s), train), atol=1e-9)


def test_the_canonical_penalty_weights_smooth_functions_more_than_rough_functions():
    """A correlation of about one with the j-th function of S is weighted by 1 / (1 + 0.3 j²)."""
    _, s = _table(n=2000)
    functions = SplineHGRPenalty.encode(s, [torch.arange(2000)])
    penalty, v = _built(CanonicalPenalty, s)
    shares = v[0].square().mean(dim=0) / (v[0].square().mean(dim=0) + 0.1)
    assert np.allclose(shares, 1 / (1 + 0.3 * np.arange(1, 9) ** 2), rtol=1e-6)
    found = [penalty(functions[:, :, [j]], v).item() for j in (0, 2, 4)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.5 > found[2] > 0.01


def _smoothed_chi2(u, v, share, spacing):
    """Σ p²/(p p) − 1, integrated on a fine and wide grid, with kernels of Silverman's bandwidth."""
    h = (share @ share) ** (1 / 6)
    grid = np.arange(-5 - 8 * h, 5 + 8 * h, spacing * h)
    kernels = []
    for x in (u, v):
        z = (x - share @ x) / np.sqrt(share @ (x - share @ x) ** 2)
        assert np.abs(z).max() < 4
        kernels.append(np.exp(-0.5 * ((grid[:, None] - z) / h) ** 2))
    joint = (kernels[0] * share) @ kernels[1].T
    joint /= joint.sum()
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    massive = product > 1e-200
    return (joint[massive] ** 2 / product[massive]).sum() - 1


@pytest.mark.parametrize("weighted", [False, True])
def test_the_kde_penalty_equals_the_chi2_divergence_of_the_smoothed_distribution(weighted):
    u, s = _table(n=200)
    penalty, v = _built(KDEPenalty, s)
    weight = torch.from_numpy(RNG(1).uniform(0.1, 2, size=200)) if weighted else torch.ones(200).double()
    share = (weight / weight.sum()).numpy()
    own = penalty(u, v, weight[None, :, None] if weighted else None).item()
    exact = _smoothed_chi2(u[0, :, 0].numpy(), v[0, :, 0].numpy(), share, spacing=0.25)
    assert own == pytest.approx(exact, rel=2e-3)
    # The grid of the measure ends three bandwidths beyond the rows.
    measured = chi2_kde(u[..., 0], v[..., 0], sample_weight=weight[None] if weighted else None).item()
    assert own == pytest.approx(measured, rel=2e-2)


def test_the_kde_penalty_is_finite_for_an_outlying_prediction():
    u, s = _table(n=256)
    penalty, v = _built(KDEPenalty, s)
    assert torch.isfinite(penalty(torch.where(u == u.max(), 1e6, u), v)).all()


def test_the_chi2_penalty_equals_the_dual_form_of_chi2_at_the_optimal_scale():
    """E_P[f] − E_Q[f + f²/4] with f = 2(c eʰ − 1): Ψ is its largest value over c (paper, equation of χ²)."""
    u, s = _table(n=60)
    penalty, v = _built(Chi2Penalty, s)
    joint, product, _, _ = penalty.log_ratios(u, v, None)

    def dual(c):
        f, g = 2 * (c * torch.exp(joint) - 1), 2 * (c * torch.exp(product) - 1)
        return (f.mean() - (g + g**2 / 4).mean()).item()

    scales = np.linspace(0.05, 5, 20000)
    assert penalty(u, v).item() == pytest.approx(max(dual(c) for c in scales[::20]), abs=1e-4)
    assert product.shape == (1, 120)


def test_the_mine_penalty_equals_the_bound_of_donsker_and_varadhan():
    u, s = _table(n=60)
    penalty, v = _built(MINEPenalty, s)
    z = (u - u.mean()) / u.std(correction=0)
    joint = penalty.network(torch.cat([z, v], dim=2))
    turned = [v[:, (torch.arange(60) - step) % 60] for step in (20, 40)]
    product = torch.cat([penalty.network(torch.cat([z, each], dim=2)) for each in turned], dim=1)
    expected = joint.mean() - product.exp().mean().log()
    assert penalty(u, v).item() == pytest.approx(expected.item(), abs=1e-7)


@pytest.mark.parametrize(("name", "cls"), [("gedi", GeDIPenalty), ("gdp", GDPPenalty)])
def test_published_penalties_equal_the_code_of_their_authors(name, cls):
    for seed, expected in enumerate(json.loads(VALUES.read_text())[name]):
        u, s = (torch.from_numpy(each) for each in sample(seed))
        penalty, v = _built(cls, s[None, :, None])
        # With a large unit, the constant that the penalty adds to the variance is negligible.
        assert penalty(1e4 * u[None, :, None], v).item() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_penalties_equal_values_computed_from_kernel_matrices(weighted):
    """HSIC and the expected MMD are computed from n × n matrices of Gaussian kernels."""
    u, s = _table(n=200)
    weight = RNG(1).uniform(0.1, 2, size=200) if weighted else np.ones(200)
    share, given = weight / weight.sum(), torch.from_numpy(weight)[None, :, None]
    y = u[0, :, 0].numpy()
    z = (y - share @ y) / np.sqrt(share @ (y - share @ y) ** 2)
    scores = GDPPenalty.encode(s, [torch.arange(200)], given)[0, :, 0].numpy()

    def kernel(x, width):
        return np.exp(-0.5 * ((x[:, None] - x) / width) ** 2)

    centre = np.eye(200) - share
    of_s = centre @ kernel(scores, 1) @ centre.T
    expected = (share * z) @ of_s @ (share * z) / np.sqrt(share @ of_s**2 @ share)
    v = HSICPenalty.encode(s, [torch.arange(200)], given)
    penalty, _ = _built(HSICPenalty, s)
    assert penalty(u, v, given if weighted else None).item() == pytest.approx(expected, rel=1e-6)

    lines, h = np.linspace(-3, 3, 64), (0.75 / (share @ share)) ** -0.2
    near = share * np.exp(-0.5 * ((lines[:, None] - scores) / h) ** 2)
    away = near / near.sum(axis=1, keepdims=True) - share
    squares = np.einsum("gi,ij,gj->g", away, kernel(z, 1), away)
    density = near.sum(axis=1) / near.sum()
    penalty, _ = _built(EIPMPenalty, s)
    v = torch.from_numpy(scores)[None, :, None]
    own = penalty(u, v, given if weighted else None).item()
    assert own == pytest.approx(density @ np.sqrt(squares), rel=1e-4)


def rows(n=400, rho=0.8):
    s, noise = torch.from_numpy(RNG(0).normal(size=(2, n)))
    return rho * s + math.sqrt(1 - rho**2) * noise, s


def test_the_pearson_loss_equals_the_pearson_measure():
    u, s = rows()
    assert fd.losses.pearson(u, -s).item() == pytest.approx(abs(fd.measure("pearson", u, s)), rel=1e-4)
    weight = torch.rand(400, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = abs(fd.measure("pearson", u, s, sample_weight=weight))
    assert fd.losses.pearson(u, s, sample_weight=weight).item() == pytest.approx(expected, rel=1e-3)


def test_losses_other_than_pearson_detect_u_shaped_dependence():
    _, s = rows()
    u = s**2
    assert fd.losses.hgr_spline(u, s).item() > 0.9
    assert fd.losses.chi2_kde(u, s).item() > 0.4
    assert fd.losses.pearson(u, s).item() < 0.3


def test_losses_accept_several_sensitive_columns_where_supported():
    u, s = rows()
    both = torch.stack([s, torch.from_numpy(np.random.default_rng(1).normal(size=400))], dim=1)
    for name in ("hgr_spline", "pearson"):
        assert getattr(fd.losses, name)(u, both).item() >= getattr(fd.losses, name)(u, s).item() - 1e-3
    with pytest.raises(OptionError, match="one sensitive column"):
        fd.losses.chi2_kde(u, both)


@pytest.mark.parametrize(
    ("u", "s", "weight", "words"),
    [
        (torch.zeros(3, 2), torch.zeros(3), None, "“u”"),
        (torch.zeros(3, dtype=torch.long), torch.zeros(3), None, "“u”"),
        (torch.zeros(3), torch.tensor([0.0, torch.nan, 1.0]), None, "“s”"),
        (torch.zeros(3), torch.arange(3.0), torch.tensor([1.0, -1.0, 1.0]), "sample_weight"),
    ],
)
def test_losses_refuse_unusable_rows(u, s, weight, words):
    with pytest.raises(OptionError, match=words):
        fd.losses.hgr_spline(u, s, sample_weight=weight)
