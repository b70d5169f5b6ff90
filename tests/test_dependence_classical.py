"""Distance, kernel, neighbour, table and random-sine measures against others' code or the definition."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_selection import mutual_info_regression

from fairdash.dependence import REGISTRY, assess_dependence, exact, measure, measure_many
from fairdash.dependence.ranks import mid_ranks
from fairdash.errors import OptionError
from fairdash.simulations.estimates import coefficients, studied
from tests import referees


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def pair(rng):
    u = rng.normal(size=257)
    return u, np.round(u**2 + rng.normal(size=257), 1)


def test_distance_correlation_is_the_definition(pair, rng):
    def correlation(u, v):
        a, b = (centre(np.sqrt(np.square(x[:, None] - x).sum(axis=-1))) for x in (u, v))
        return np.sqrt((a * b).mean() / np.sqrt((a * a).mean() * (b * b).mean()))

    u, v = pair[0][:, None], pair[1][:, None]
    assert measure("distance_correlation", *pair) == pytest.approx(correlation(u, v), abs=1e-10)
    v = rng.normal(size=(257, 3))
    assert measure("distance_correlation", pair[0], v) == pytest.approx(
        correlation(u / u.std(), v / v.std(axis=0)), abs=1e-10
    )


@pytest.mark.parametrize("name", referees.pairs())
def test_distance_correlation_is_dcors(name):
    said = json.loads(referees.VALUES.read_text(encoding="utf-8"))["distance_correlation"]
    assert measure("distance_correlation", *referees.pairs()[name]) == pytest.approx(said[name], abs=1e-10)


def kernel(x, bandwidth):
    return np.exp(-0.5 * ((x[:, None] - x) / bandwidth) ** 2)


def centre(k):
    return k - k.mean(axis=0) - k.mean(axis=1, keepdims=True) + k.mean()


@pytest.mark.parametrize("ranks", [False, True])
def test_hsic_is_the_definition(rng, ranks):
    u, v = rng.normal(size=(2, 150))
    v = u**2 + v
    z = [mid_ranks(x) if ranks else (x - x.mean()) / x.std() for x in (u, v)]
    k, m = (centre(kernel(x, np.median(np.abs(x[:, None] - x)[np.triu_indices(150, 1)]))) for x in z)
    theirs = (k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum())
    assert measure("chsic" if ranks else "hsic", u, v) == pytest.approx(theirs, abs=1e-6)


def test_kcca_is_the_definition(rng):
    n = 120
    u, v = rng.normal(size=(2, n))
    v = u**2 + v
    k, m = (centre(kernel((x - x.mean()) / x.std(), 1.0)) for x in (u, v))
    shrunk = [x @ np.linalg.inv(x + n * 0.02 / 2 * np.eye(n)) for x in (k, m)]
    assert measure("kcca", u, v) == pytest.approx(np.linalg.norm(shrunk[0].T @ shrunk[1], 2), abs=1e-5)


def test_mutual_information_without_ties_is_scikit_learns(rng):
    u, v = rng.normal(size=(2, 400))
    v = u + v
    theirs = mutual_info_regression(u[:, None], v, n_neighbors=3, random_state=0)[0]
    assert measure("mi_ksg", u, v) == pytest.approx(theirs, abs=1e-6)


def test_mutual_information_of_gaussians_and_of_discrete_variables(rng):
    u = rng.normal(size=(10, 2000))
    v = 0.6 * u + 0.8 * rng.normal(size=u.shape)
    assert measure_many("mi_ksg", u, v).mean() == pytest.approx(exact.gaussian(0.6).mi, abs=0.01)
    coin = rng.integers(0, 2, 2000)
    assert measure("mi_ksg", coin, coin) == pytest.approx(np.log(2), abs=0.01)


def test_witsenhausen_is_exact(rng):
    # Of two binary variables it is the absolute correlation.
    u = rng.integers(0, 2, 300)
    v = np.where(rng.random(300) < 0.3, 1 - u, u)
    assert measure("hgr_witsenhausen", u, v) == pytest.approx(abs(np.corrcoef(u, v)[0, 1]))
    u = rng.integers(-2, 3, 300)
    assert measure("hgr_witsenhausen", u, u**2) == pytest.approx(1)


def test_rdc_is_seeded_and_its_median_steadies_it(rng):
    u, v = rng.normal(size=(2, 200))
    one = [measure("hgr_rdc", u, v, random_state=seed) for seed in range(20)]
    median = [measure("hgr_rdc", u, v, random_state=seed, repeats=9) for seed in range(20)]
    assert len(set(one)) > 1
    assert np.std(median) < np.std(one)
    with pytest.raises(OptionError, match="repeats"):
        measure("hgr_rdc", u, v, repeats=0)


def test_rdc_of_gaussians(rng):
    u = rng.normal(size=(5, 2000))
    v = 0.6 * u + 0.8 * rng.normal(size=u.shape)
    assert_allclose(measure_many("hgr_rdc", u, v, random_state=0).mean(), 0.6, atol=0.03)


def written_out(u, columns):
    def centred(x):
        d = np.abs(x[:, None] - x)
        c = d.mean(axis=0) + d.mean(axis=1, keepdims=True) - d - d.mean()
        return c / np.sqrt((c**2).mean())

    product = np.prod([centred(x) + 1 for x in columns.T], axis=0)
    k = product - product.mean(axis=0) - product.mean(axis=1, keepdims=True) + product.mean()
    return np.sqrt((centred(u) * k).mean() / np.sqrt((k**2).mean()))


def test_joint_distance_correlation_is_the_formula_in_whole_tables(rng):
    columns = rng.normal(size=(150, 3))
    u = np.exp(columns[:, 0] * columns[:, 1]) + rng.normal(size=150)
    assert measure("joint_distance_correlation", u, columns) == pytest.approx(
        written_out(u, columns), abs=1e-10
    )
    beside_a_constant = np.column_stack([columns[:, 0], np.ones(150)])
    one = measure("joint_distance_correlation", u, beside_a_constant)
    assert one == pytest.approx(measure("joint_distance_correlation", u, columns[:, 0]), abs=1e-10)


def test_joint_distance_correlation_sees_what_no_column_shows(rng):
    # Three coins, any two of them independent: mean(A·K) = mean(A²) = 1 and mean(H²) = 3.
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


def test_dependence_among_the_columns_alone_is_none(rng):
    s = np.repeat(rng.normal(size=(400, 1)), 2, axis=1)
    options = {"n_permutations": 39, "n_bootstrap": 0, "random_state": 0}
    assert assess_dependence("joint_distance_correlation", rng.normal(size=400), s, **options).p_value > 0.05


def test_pages_that_show_every_measure_leave_out_what_is_shown_on_request():
    asked_for = {id for id, one in REGISTRY.items() if one.on_request}
    assert asked_for == {"joint_distance_correlation"}
    assert not asked_for & {*studied(), *coefficients()}
