"""Generalised demographic parity, distance covariance and joint distance correlation against the truth."""

from __future__ import annotations

import numpy as np
import pytest

from fairdash.dependence import REGISTRY, assess_dependence, independence_floor, measure
from fairdash.dependence.ranks import mid_ranks
from fairdash.errors import OptionError
from fairdash.studies.stack import coefficients, studied


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8])
def test_gdp_of_gaussians(rng, rho):
    # m(s) = ρs, so E|m(s) − m| = ρ√(2/π).
    s, noise = rng.normal(size=(2, 20_000))
    u = 50 + 7 * (rho * s + np.sqrt(1 - rho**2) * noise)
    assert measure("gdp", u, s) == pytest.approx(rho * np.sqrt(2 / np.pi), abs=0.02)
    assert measure("gdp", u, np.exp(3 * s)) == measure("gdp", u, s)


def test_gdp_is_the_kernel_average_written_out(rng):
    s = rng.normal(size=300)
    u = np.cos(2 * s) + 0.5 * rng.normal(size=300)
    ranks, z = mid_ranks(s), (u - u.mean()) / u.std()
    kernel = np.exp(-0.5 * ((ranks[:, None] - ranks) / 0.05) ** 2)
    written_out = np.abs(kernel @ z / kernel.sum(axis=1)).mean()
    assert measure("gdp", u, s, bandwidth=0.05) == pytest.approx(written_out, abs=2e-3)
    with pytest.raises(OptionError, match="bandwidth"):
        measure("gdp", u, s, bandwidth=0.0)


def test_gdp_reads_1_of_a_coin_and_a_spread_as_noise(rng):
    s = rng.permutation(np.repeat([0.0, 1.0], 500))
    assert measure("gdp", s, s) == pytest.approx(1, abs=1e-6)
    s = rng.normal(size=2000)
    u = (1 + np.abs(s)) * rng.normal(size=2000)
    floor = independence_floor("gdp", [u], [s], n_permutations=40, random_state=0)
    assert measure("gdp", u, s) < 2 * floor.q95[0]


def test_gdp_counts_rows_by_their_weight(rng):
    s = rng.normal(size=400)
    u = s + rng.normal(size=400)
    copies = rng.integers(1, 4, 400)
    doubled = measure("gdp", np.repeat(u, copies), np.repeat(s, copies), bandwidth=0.1)
    assert measure("gdp", u, s, sample_weight=copies, bandwidth=0.1) == pytest.approx(doubled, abs=1e-9)


def test_distance_covariance_of_a_coin_and_of_a_line(rng):
    coin = np.repeat([0.0, 1.0], 300)
    assert measure("distance_covariance", coin, coin) == pytest.approx(1)
    x = rng.normal(size=20_000)
    # The distance standard deviation of a normal variable: √(4((1 − √3)/π + 1/3)).
    exact = np.sqrt(4 * ((1 - np.sqrt(3)) / np.pi + 1 / 3))
    assert measure("distance_covariance", x, 3 - 2 * x) == pytest.approx(exact, abs=0.01)


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
    assert asked_for == {"gdp", "distance_covariance", "joint_distance_correlation"}
    assert not asked_for & {*studied(), *coefficients()}
