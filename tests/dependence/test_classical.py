"""Classical, distance, kernel, neighbour, table, random-sine and KDE measures compared with other code."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.feature_selection import mutual_info_regression

from fairdash.dependence import (
    REGISTRY,
    assess_dependence,
    exact,
    fairquant,
    joint,
    learned_functions,
    measure,
    measure_many,
    quantile_groups,
)
from fairdash.dependence.classical import mid_ranks
from fairdash.dependence.kde import chi2_kde, hgr_kde
from fairdash.errors import OptionError
from fairdash.lab.estimates import coefficients, continuous_measures
from tests import referees


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("name", referees.pairs())
def test_distance_correlation_equals_that_of_the_dcor_package(name):
    said = json.loads(referees.VALUES.read_text(encoding="utf-8"))["distance_correlation"]
    assert measure("distance_correlation", *referees.pairs()[name]) == pytest.approx(said[name], abs=1e-10)


def kernel(x, bandwidth):
    return np.exp(-0.5 * ((x[:, None] - x) / bandwidth) ** 2)


def centre(k):
    return k - k.mean(axis=0) - k.mean(axis=1, keepdims=True) + k.mean()


@pytest.mark.parametrize("ranks", [False, True])
def test_hsic_equals_its_definition(rng, ranks):
    u, v = rng.normal(size=(2, 150))
    v = u**2 + v
    z = [mid_ranks(x) if ranks else (x - x.mean()) / x.std() for x in (u, v)]
    k, m = (centre(kernel(x, np.median(np.abs(x[:, None] - x)[np.triu_indices(150, 1)]))) for x in z)
    theirs = (k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum())
    assert measure("chsic" if ranks else "hsic", u, v) == pytest.approx(theirs, abs=1e-6)


def test_kcca_equals_its_definition(rng):
    n = 120
    u, v = rng.normal(size=(2, n))
    v = u**2 + v
    k, m = (centre(kernel((x - x.mean()) / x.std(), 1.0)) for x in (u, v))
    shrunk = [x @ np.linalg.inv(x + n * 0.02 / 2 * np.eye(n)) for x in (k, m)]
    assert measure("kcca", u, v) == pytest.approx(np.linalg.norm(shrunk[0].T @ shrunk[1], 2), abs=1e-5)


def test_mutual_information_without_ties_equals_that_of_scikit_learn(rng):
    u, v = rng.normal(size=(2, 400))
    theirs = mutual_info_regression(u[:, None], u + v, n_neighbors=3, random_state=0)[0]
    assert measure("mi_ksg", u, u + v) == pytest.approx(theirs, abs=1e-6)


def test_measures_of_gaussians_and_discrete_variables_are_close_to_their_exact_values(rng):
    u, noise = rng.normal(size=(2, 10, 2000))
    v = 0.6 * u + 0.8 * noise
    assert measure_many("mi_ksg", u, v).mean() == pytest.approx(exact.gaussian(0.6).mi, abs=0.01)
    assert measure_many("hgr_rdc", u[:5], v[:5], random_state=0).mean() == pytest.approx(0.6, abs=0.03)
    coin = rng.integers(0, 2, 2000)
    assert measure("mi_ksg", coin, coin) == pytest.approx(np.log(2), abs=0.01)
    # For two binary variables, Witsenhausen's measure is the absolute correlation.
    flipped = np.where(rng.random(2000) < 0.3, 1 - coin, coin)
    correlation = abs(np.corrcoef(coin, flipped)[0, 1])
    assert measure("hgr_witsenhausen", coin, flipped) == pytest.approx(correlation)
    five = rng.integers(-2, 3, 300)
    assert measure("hgr_witsenhausen", five, five**2) == pytest.approx(1)


def test_rdc_is_reproducible_by_seed_and_varies_less_as_a_median_of_repeats(rng):
    u, v = rng.normal(size=(2, 200))
    one, median = (
        [measure("hgr_rdc", u, v, random_state=seed, repeats=repeats) for seed in range(20)]
        for repeats in (1, 9)
    )
    assert one[0] == measure("hgr_rdc", u, v, random_state=0)
    assert len(set(one)) > 1
    assert np.std(median) < np.std(one)
    with pytest.raises(OptionError, match="repeats"):
        measure("hgr_rdc", u, v, repeats=0)


def written_out(u, columns):
    first, *others = (-centre(np.abs(x[:, None] - x)) for x in (u, *columns.T))
    scaled = [x / np.sqrt((x**2).mean()) for x in (first, *others)]
    k = centre(np.prod([x + 1 for x in scaled[1:]], axis=0))
    return np.sqrt((scaled[0] * k).mean() / np.sqrt((k**2).mean()))


def test_joint_distance_correlation_equals_the_formula_with_full_distance_matrices(rng):
    columns = rng.normal(size=(150, 3))
    u = np.exp(columns[:, 0] * columns[:, 1]) + rng.normal(size=150)
    by_hand = pytest.approx(written_out(u, columns), abs=1e-10)
    assert measure("joint_distance_correlation", u, columns) == by_hand
    beside_a_constant = np.column_stack([columns[:, 0], np.ones(150)])
    alone = measure("joint_distance_correlation", u, columns[:, 0])
    assert measure("joint_distance_correlation", u, beside_a_constant) == pytest.approx(alone, abs=1e-10)


def test_joint_distance_correlation_detects_dependence_that_no_single_column_shows(rng):
    # Three coins, pairwise independent: mean(A·K) = mean(A²) = 1 and mean(H²) = 3.
    coins = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)]).repeat(50, axis=0)
    u = coins.prod(axis=1)
    assert measure("joint_distance_correlation", u, coins) == pytest.approx(3**-0.25)
    assert all(measure("distance_correlation", u, coin) < 1e-6 for coin in coins.T)
    s = rng.normal(size=(150, 2))
    u = s.prod(axis=1) + 0.5 * rng.normal(size=150)
    options = {"n_permutations": 39, "n_bootstrap": 0, "random_state": 0}
    found = assess_dependence("joint_distance_correlation", u, s, **options)
    assert found.p_value == pytest.approx(1 / 40)
    assert found.value > measure("distance_correlation", u, s)
    # Dependence among the columns of one side does not count.
    twice = np.repeat(rng.normal(size=(400, 1)), 2, axis=1)
    u = rng.normal(size=400)
    assert assess_dependence("joint_distance_correlation", u, twice, **options).p_value > 0.05


@pytest.mark.parametrize("k", range(20))
@pytest.mark.every_case
def test_joint_distance_covariances_equal_those_of_the_published_code_and_of_dcor(k):
    u, attributes = referees.samples()[k]
    joint, vector, dcors = json.loads(referees.VALUES.read_text(encoding="utf-8"))["joint"][k]
    s = np.column_stack(attributes)
    assert measure("jdcov", u, s, form="published") == pytest.approx(joint, rel=1e-10, abs=1e-10)
    assert measure("ccdcov", u, s, form="published") == pytest.approx(vector, rel=1e-10, abs=1e-10)
    assert vector == pytest.approx(dcors, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("id", ["jdcov", "ccdcov"])
def test_joint_distance_covariances_ignore_units_and_dependence_among_attributes(rng, id, monkeypatch):
    age, sex = rng.normal(size=300), rng.random(300) < 0.5
    region = np.eye(3)[rng.integers(0, 3, 300)]
    s = np.column_stack([age, sex, region])
    u = age * (2 * sex - 1) + 0.3 * rng.normal(size=300)
    found = assess_dependence(id, u, s, n_permutations=39, n_bootstrap=20, random_state=0)
    assert found.p_value == pytest.approx(1 / 40)
    assert 0 < found.ci_low < found.value < found.ci_high
    assert found.floor < 0.3 * found.value
    assert measure(id, 7 * u - 1, s * [0.1, 1, 1, 1, 1]) == pytest.approx(found.value, rel=1e-9)
    monkeypatch.setattr(joint, "_PIECE", 1_000)
    assert measure(id, u, s) == pytest.approx(found.value, rel=1e-9)
    # Dependence among the attributes does not count: the value is 0 on average.
    twice = np.repeat(age[:, None], 2, axis=1)
    draws = [measure(id, rng.normal(size=300), twice) for _ in range(40)]
    assert abs(np.mean(draws)) < 3 * np.std(draws) / 40**0.5
    with pytest.raises(OptionError, match="form"):
        measure(id, u, s, form="own")


def test_spline_hgr_of_several_columns_detects_dependence_that_no_single_column_shows(rng):
    """u = ±age + noise: sex sets the sign, and the noise has half the spread of age: HGR is 1 / √1.25."""
    age, sex = rng.normal(size=1_500), rng.random(1_500) < 0.5
    u, s = age * (2 * sex - 1) + 0.5 * rng.normal(size=1_500), np.column_stack([age, sex])
    assert measure("hgr_spline", u, s) == pytest.approx(1.25**-0.5, abs=0.03)
    assert learned_functions("hgr_spline", u, s).g @ (age * (2 * sex - 1)) / 1_500 > 0
    # Classes of the same attribute have no products; of many classes, eight are used.
    region = np.eye(5)[rng.integers(0, 5, 1_500)]
    shapes = [joint.with_products(x[None]).shape[2] for x in (region, s, np.column_stack([s, region]))]
    assert shapes == [5, 3, 7 + 8]


def test_pages_omit_measures_that_the_registry_shows_only_on_request():
    asked_for = {id for id, one in REGISTRY.items() if one.on_request}
    assert asked_for == {"joint_distance_correlation", "jdcov", "ccdcov"}
    assert not asked_for & {*continuous_measures(), *coefficients()}


def test_classical_measures_equal_those_of_scipy(rng):
    u = np.round(rng.normal(size=200), 1)
    v = u**2 + rng.normal(size=200)
    theirs = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    for id, function in theirs.items():
        assert measure(id, u, v) == pytest.approx(function(u, v).statistic)
    x = np.round(rng.normal(size=(3, 101)), 1)
    assert_allclose(mid_ranks(x), (stats.rankdata(x, axis=-1) - 0.5) / 101)


@pytest.mark.parametrize("size", [1e-200, 1e-9, 1e9, 1e300])
def test_pearson_does_not_depend_on_the_magnitude_of_values(rng, size):
    u, v = rng.normal(size=(2, 100))
    assert measure("pearson", u * size, u + v) == pytest.approx(measure("pearson", u, u + v))


def smoothed_by_hand(u, v, *, reach, count, sd, damping=0.0):
    """Mary et al. (2019) as published: the density at each of the G² grid points, computed from all n rows."""
    h = (len(u) * 4 / 4) ** (-1 / 6)
    axis = np.linspace(-reach, reach, count)
    near = [np.exp(-((axis[:, None] - (x - x.mean()) / sd(x)) ** 2) / (2 * h**2)) for x in (u, v)]
    joint = near[0] @ near[1].T / len(u) / np.sqrt(2 * np.pi) / h + damping
    joint /= joint.sum()
    q = joint / np.sqrt(joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True))
    return np.linalg.svd(q)[1][1], (q**2).sum() - 1


def test_kde_measures_on_the_published_grid_equal_the_values_of_the_published_code(rng):
    u = rng.normal(size=150)
    v = np.cos(u) + 0.3 * rng.normal(size=150)
    count = int(min(50, 5 / 150 ** (-1 / 6)))
    hgr, _ = smoothed_by_hand(u, v, reach=2.5, count=count, sd=lambda x: x.std(ddof=1), damping=1e-10)
    _, chi2 = smoothed_by_hand(u, v, reach=2.5, count=count, sd=lambda x: x.std(ddof=1))
    assert measure("hgr_kde", u, v, grid="published") == pytest.approx(hgr, abs=1e-7)
    assert measure("chi2_kde", u, v, grid="published") == pytest.approx(chi2, abs=1e-7)


def test_the_default_grid_of_kde_measures_is_close_to_a_fine_integration(rng):
    u = rng.normal(size=150)
    v = np.cos(u) + 0.3 * rng.normal(size=150)
    hgr, chi2 = smoothed_by_hand(u, v, reach=7, count=120, sd=np.std)
    assert measure("hgr_kde", u, v) == pytest.approx(hgr, abs=3e-3)
    assert measure("chi2_kde", u, v) == pytest.approx(chi2, abs=2e-2)
    with pytest.raises(OptionError, match="grid"):
        measure("hgr_kde", u, v, grid="fine")


@pytest.mark.parametrize("value", [hgr_kde, chi2_kde])
def test_distant_rows_of_negligible_weight_do_not_change_kde_measures(value, rng):
    u = rng.normal(size=400)
    v = u + rng.normal(size=400)
    u[50:] *= 1e6
    weight = np.where(np.arange(400) < 50, 1.0, 1e-30)
    found = value(u[None], v[None], sample_weight=weight[None])
    assert found == pytest.approx(value(u[None, :50], v[None, :50]), abs=1e-3)
    of_torch = value(*map(torch.from_numpy, (u, v)), sample_weight=torch.from_numpy(weight))
    assert of_torch.item() == pytest.approx(found[0])


def test_fairquant_equals_its_formula_and_cumulative_fairquant_equals_the_code_of_its_authors(rng):
    u, s = rng.normal(size=(2, 1000))
    u = u + s
    parts = np.array_split(u[np.argsort(s)], 50)
    text = np.mean([abs(part.mean() - u.mean()) for part in parts])
    result = fairquant(u, s)
    assert (result.n_quantiles, float(result)) == (50, pytest.approx(text))
    assert measure("fairquant", u, s) == pytest.approx(text)
    theirs = np.mean([abs(u[s <= np.quantile(s, q)].mean() - u.mean()) for q in np.arange(0.02, 1.01, 0.02)])
    assert fairquant(u, s, cumulative=True).value == pytest.approx(theirs)
    assert measure("fairquant_cumulative", u, s) == pytest.approx(theirs)


def test_quantile_groups_are_of_equal_size_and_keep_ties_together():
    sizes = np.bincount(quantile_groups(np.arange(399.0), 50))
    assert (len(sizes), set(sizes)) == (50, {7, 8})
    ages = np.repeat([18.0, 19.0, 20.0, 60.0], [5, 50, 3, 1])
    assert pd.crosstab(ages, quantile_groups(ages, 50)).gt(0).to_numpy().tolist() == np.eye(4).tolist()
    assert quantile_groups(np.arange(7.0), 50).tolist() == list(range(7))
    with pytest.raises(OptionError, match="n_quantiles"):
        quantile_groups(ages, 1)


@pytest.mark.parametrize("n", [2, 7, 40, 331])
def test_distance_correlation_equals_that_from_all_pairwise_distances_for_any_number_of_rows(n):
    rng = np.random.default_rng(n)
    u, v = np.round(rng.normal(size=(2, n)), 1) + np.arange(n)[::-1] * [[0.01], [0.0]]
    a, b = (centre(np.abs(x[:, None] - x)) for x in (u, v))
    squared = (a * b).mean() / np.sqrt((a * a).mean() * (b * b).mean())
    assert measure("distance_correlation", u, v) == pytest.approx(np.sqrt(squared), abs=1e-10)
