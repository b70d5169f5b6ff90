"""fd.losses: the penalties as terms of anybody's torch loop."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
import torch

import fairdash as fd
from fairdash.errors import OptionError
from tests.tiers import few

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


def test_u_shapes_are_seen_by_all_but_the_linear_term():
    _, s = rows()
    u = s**2
    assert fd.losses.hgr_spline(u, s).item() > 0.9
    assert fd.losses.chi2_kde(u, s).item() > 0.4
    assert fd.losses.pearson(u, s).item() < 0.3


@pytest.mark.parametrize("name", few(TERMS, "hgr_spline"))
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
        (torch.zeros(3), torch.tensor([0.0, torch.nan, 1.0]), None, "“s”"),
        (torch.zeros(3), torch.arange(3.0), torch.tensor([1.0, -1.0, 1.0]), "sample_weight"),
    ],
)
def test_unusable_rows_are_refused(u, s, weight, words):
    with pytest.raises(OptionError, match=words):
        fd.losses.hgr_spline(u, s, sample_weight=weight)


def test_the_modules_example_holds():
    found = doctest.testmod(fd.losses)
    assert found.attempted > 3
    assert found.failed == 0
