"""fd.losses: the penalties as terms of anybody's torch loop."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
import torch

import fairdash as fd
from fairdash.errors import OptionError

TERMS = ("hgr_spline", "cca_spline", "chi2_kde", "pearson")


def rows(n=400, rho=0.8, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    u = rho * s + np.sqrt(1 - rho**2) * rng.normal(size=n)
    return torch.from_numpy(u), torch.from_numpy(s)


def test_pearson_is_the_measure():
    u, s = rows()
    assert fd.losses.pearson(u, -s).item() == pytest.approx(abs(fd.measure("pearson", u, s)), rel=1e-4)
    weight = torch.rand(400, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = abs(fd.measure("pearson", u, s, sample_weight=weight))
    assert fd.losses.pearson(u, s, sample_weight=weight).item() == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", TERMS)
def test_terms_rise_with_dependence_and_know_no_units(name):
    term = getattr(fd.losses, name)
    values = [term(*rows(rho=rho)).item() for rho in (0.0, 0.5, 0.9)]
    assert values == sorted(values)
    assert 0 <= values[0] < values[2] - 0.2
    u, s = rows()
    assert term(5 + 3 * u, 100 - 7 * s).item() == pytest.approx(term(u, s).item(), rel=1e-4)
    assert term(u[:, None], s[:, None]).item() == term(u, s).item()


def test_u_shapes_are_seen_by_all_but_the_linear_term():
    _, s = rows()
    u = s**2
    assert fd.losses.hgr_spline(u, s).item() > 0.9
    assert fd.losses.chi2_kde(u, s).item() > 0.4
    assert fd.losses.pearson(u, s).item() < 0.3


def test_equal_weights_change_nothing_and_light_rows_hardly_count():
    u, s = rows()
    v, w = rows(rho=0.0, seed=1)
    for name in TERMS:
        term = getattr(fd.losses, name)
        assert term(u, s, sample_weight=torch.full((400,), 2.0)).item() == pytest.approx(
            term(u, s).item(), rel=1e-3
        )
        weight = torch.cat([torch.ones(400), torch.full((400,), 1e-6)])
        both = term(torch.cat([u, v]), torch.cat([s, w]), sample_weight=weight)
        assert both.item() == pytest.approx(term(u, s).item(), rel=0.05)


@pytest.mark.parametrize("name", ["hgr_spline", "cca_spline", "pearson"])
def test_a_weight_of_two_counts_a_row_twice(name):
    term = getattr(fd.losses, name)
    u, s = rows(60)
    weight = torch.arange(60) % 3 + 1
    twice = term(u.repeat_interleave(weight), s.repeat_interleave(weight)).item()
    assert term(u, s, sample_weight=weight.double()).item() == pytest.approx(twice, rel=0.05)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TERMS)
def test_gradients_are_those_of_finite_differences(name, weighted):
    term = getattr(fd.losses, name)
    u, s = rows(40, rho=0.6)
    weight = torch.linspace(0.5, 2, 40, dtype=torch.float64) if weighted else None
    u.requires_grad_()
    assert torch.autograd.gradcheck(lambda u: term(u, s, sample_weight=weight), u, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("name", TERMS)
def test_a_loop_of_ones_own_becomes_fair(name):
    u, s = rows(256, rho=0.0)
    x = torch.stack([s, u], dim=1).float()
    y = (s + u).float()
    weights = {}
    for lam in (0.0, 3.0):
        beta = torch.tensor([0.5, 0.5], requires_grad=True)
        optimiser = torch.optim.Adam([beta], lr=0.02)
        for _ in range(150):
            optimiser.zero_grad()
            prediction = x @ beta
            loss = ((prediction - y) ** 2).mean() / y.var() + lam * getattr(fd.losses, name)(prediction, s)
            loss.backward()
            optimiser.step()
        weights[lam] = beta.detach()
    assert weights[0.0] == pytest.approx(torch.tensor([1.0, 1.0]), abs=0.05)
    assert abs(weights[3.0][0]) < 0.3
    assert weights[3.0][1] > 0.5


def test_several_columns_where_the_term_takes_them():
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
        (torch.zeros(3), torch.zeros(4), None, "“s”"),
        (torch.zeros(3), torch.tensor([0.0, torch.nan, 1.0]), None, "“s”"),
        (torch.zeros(3), torch.arange(3.0), torch.tensor([1.0, -1.0, 1.0]), "sample_weight"),
        (torch.zeros(3), torch.arange(3.0), torch.zeros(3), "sample_weight"),
    ],
)
def test_unusable_rows_are_refused(u, s, weight, words):
    with pytest.raises(OptionError, match=words):
        fd.losses.hgr_spline(u, s, sample_weight=weight)


def test_the_modules_example_holds():
    found = doctest.testmod(fd.losses)
    assert found.attempted > 3
    assert found.failed == 0
