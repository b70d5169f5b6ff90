"""Classical measures, KDE and FairQuant against others' code or the formula written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import torch
from numpy.testing import assert_allclose

from fairdash.dependence import fairquant, independence_floor, measure, quantile_groups
from fairdash.dependence.kde import chi2_kde, hgr_kde
from fairdash.dependence.ranks import mid_ranks
from fairdash.errors import OptionError


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_classical_measures_are_scipys(rng):
    u = np.round(rng.normal(size=200), 1)
    v = u**2 + rng.normal(size=200)
    assert measure("pearson", u, v) == pytest.approx(scipy.stats.pearsonr(u, v).statistic)
    assert measure("spearman", u, v) == pytest.approx(scipy.stats.spearmanr(u, v).statistic)
    assert measure("kendall", u, v) == pytest.approx(scipy.stats.kendalltau(u, v).statistic)


def test_mid_ranks_are_scipys(rng):
    x = np.round(rng.normal(size=(3, 101)), 1)
    assert_allclose(mid_ranks(x), (scipy.stats.rankdata(x, axis=-1) - 0.5) / 101)


@pytest.mark.parametrize("size", [1e-200, 1e-9, 1e9, 1e300])
def test_values_of_any_size(rng, size):
    u, v = rng.normal(size=(2, 100))
    v = u + v
    assert measure("pearson", u * size, v) == pytest.approx(measure("pearson", u, v))


def written_out(u, v, *, reach, count, sd, damping=0.0):
    """Mary et al. (2019) as published: the density at each of the G² points, from each of the n rows."""
    h = (len(u) * 4 / 4) ** (-1 / 6)
    z = [(x - x.mean()) / sd(x) for x in (u, v)]
    joint = np.zeros((count, count))
    for i, x in enumerate(np.linspace(-reach, reach, count)):
        for j, y in enumerate(np.linspace(-reach, reach, count)):
            joint[i, j] = (
                np.exp(-((x - z[0]) ** 2 + (y - z[1]) ** 2) / (2 * h**2)).mean() / np.sqrt(2 * np.pi) / h
            )
    joint = joint + damping
    joint /= joint.sum()
    q = joint / np.sqrt(joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True))
    return np.linalg.svd(q)[1][1], (q**2).sum() - 1


def test_published_grid_is_the_published_code(rng):
    u = rng.normal(size=150)
    v = np.cos(u) + 0.3 * rng.normal(size=150)
    count = int(min(50, 5 / 150 ** (-1 / 6)))
    hgr, _ = written_out(u, v, reach=2.5, count=count, sd=lambda x: x.std(ddof=1), damping=1e-10)
    _, chi2 = written_out(u, v, reach=2.5, count=count, sd=lambda x: x.std(ddof=1))
    assert measure("hgr_kde", u, v, grid="published") == pytest.approx(hgr, abs=1e-7)
    assert measure("chi2_kde", u, v, grid="published") == pytest.approx(chi2, abs=1e-7)


def test_covering_grid_integrates_well_enough(rng):
    u = rng.normal(size=150)
    v = np.cos(u) + 0.3 * rng.normal(size=150)
    hgr, chi2 = written_out(u, v, reach=7, count=120, sd=np.std)
    assert measure("hgr_kde", u, v) == pytest.approx(hgr, abs=3e-3)
    assert measure("chi2_kde", u, v) == pytest.approx(chi2, abs=2e-2)


def test_numpy_and_torch_agree_and_torch_has_a_gradient(rng):
    u = rng.normal(size=(2, 60))
    v = u**2 + rng.normal(size=(2, 60))
    for function in (hgr_kde, chi2_kde):
        a = torch.tensor(u, requires_grad=True)
        value = function(a, torch.tensor(v))
        assert_allclose(value.detach().numpy(), function(u, v), rtol=1e-9)
        assert torch.autograd.gradcheck(
            lambda x, function=function: function(x, torch.tensor(v)), (a,), atol=1e-4
        )


@pytest.mark.parametrize("value", [hgr_kde, chi2_kde])
def test_rows_far_out_that_hardly_count_take_no_memory_and_change_nothing(value, rng):
    u = rng.normal(size=400)
    v = u + rng.normal(size=400)
    u[50:] *= 1e6
    weight = np.where(np.arange(400) < 50, 1.0, 1e-30)
    found = value(u[None], v[None], sample_weight=weight[None])
    assert found == pytest.approx(value(u[None, :50], v[None, :50]), abs=1e-3)
    of_torch = value(*map(torch.from_numpy, (u, v)), sample_weight=torch.from_numpy(weight))
    assert of_torch.item() == pytest.approx(found[0])


def test_grid_must_be_known():
    with pytest.raises(OptionError, match="grid"):
        measure("hgr_kde", [1, 2, 3], [1, 3, 2], grid="fine")


def test_fairquant_is_the_formula(rng):
    u, s = rng.normal(size=(2, 1000))
    u = u + s
    parts = np.array_split(u[np.argsort(s)], 50)
    text = np.mean([abs(part.mean() - u.mean()) for part in parts])
    result = fairquant(u, s)
    assert result.n_quantiles == 50
    assert float(result) == pytest.approx(text)
    assert measure("fairquant", u, s) == pytest.approx(text)


def test_cumulative_fairquant_is_the_authors(rng):
    u, s = rng.normal(size=(2, 1000))
    u = u + s
    theirs = np.mean([abs(u[s <= np.quantile(s, q)].mean() - u.mean()) for q in np.arange(0.02, 1.01, 0.02)])
    assert fairquant(u, s, cumulative=True).value == pytest.approx(theirs)
    assert measure("fairquant_cumulative", u, s) == pytest.approx(theirs)


def test_quantile_groups():
    sizes = np.bincount(quantile_groups(np.arange(399.0), 50))
    assert len(sizes) == 50
    assert set(sizes) == {7, 8}
    ages = np.repeat([18.0, 19.0, 20.0, 60.0], [5, 50, 3, 1])
    groups = quantile_groups(ages, 50)
    assert groups.max() + 1 == 4
    assert all(len(set(groups[ages == age])) == 1 for age in set(ages))
    assert quantile_groups(np.arange(7.0), 50).tolist() == list(range(7))
    with pytest.raises(OptionError, match="n_quantiles"):
        quantile_groups(ages, 1)


def test_floor_of_independence_is_the_permutations(rng):
    u, v = rng.normal(size=(2, 3, 100))
    floor = independence_floor("pearson", u, v, n_permutations=4000, random_state=0)
    # |r| under independence: mean √(2/π)/√(n−1), 95 % point 1.96/√(n−1).
    assert_allclose(floor.mean, np.sqrt(2 / np.pi) / np.sqrt(99), rtol=0.05)
    assert_allclose(floor.q95, 1.96 / np.sqrt(99), rtol=0.06)
    again = independence_floor("pearson", u, v, n_permutations=4000, random_state=0)
    assert_allclose(again.q95, floor.q95, rtol=0)
