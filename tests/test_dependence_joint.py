"""Joint distance correlation against the truth."""

from __future__ import annotations

import numpy as np
import pytest

from fairdash.dependence import REGISTRY, assess_dependence, measure
from fairdash.simulations.estimates import coefficients, studied


@pytest.fixture
def rng():
    return np.random.default_rng(0)


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
