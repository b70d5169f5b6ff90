"""A cap on what a premium may change: the income stays, the ends hold, and what can't be is said."""

from __future__ import annotations

import numpy as np
import pytest

import fairdash as fd
from fairdash.errors import DataError, OptionError


def portfolio(n=500, seed=0):
    """New premiums, those of today at the same income, and years."""
    rng = np.random.default_rng(seed)
    existing = rng.gamma(3, 100, size=n)
    premiums = existing * rng.lognormal(0, 0.4, size=n)
    years = rng.uniform(0.1, 1, size=n)
    return premiums * (years @ existing) / (years @ premiums), existing, years


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_change", [0.01, 0.3, 1.5])
@pytest.mark.parametrize("factor", [1.0, 1.009, 0.991])
def test_the_income_stays_and_every_premium_lies_within(max_change, factor, weighted):
    premiums, existing, years = portfolio()
    premiums = premiums * factor
    weight = years if weighted else np.ones_like(years)
    # Without weights the two have other incomes.
    existing = existing * (weight @ premiums) / (weight @ existing) / factor
    how = {"sample_weight": years} if weighted else {}
    found = fd.cap_premiums(premiums, existing, max_change=max_change, **how)
    assert weight @ found.premiums == pytest.approx(weight @ premiums, rel=1e-9)
    low, high = max(1 - max_change, 0) * existing, (1 + max_change) * existing
    assert ((found.premiums >= low) & (found.premiums <= high)).all()
    # What is not held is the premium times the level.
    free = (found.premiums > low) & (found.premiums < high)
    assert found.premiums[free] == pytest.approx(found.level * premiums[free], rel=1e-12)
    held = [
        weight @ out / weight.sum() for out in (found.level * premiums < low, found.level * premiums > high)
    ]
    assert [found.at_lower, found.at_upper] == pytest.approx(held)


def test_a_weight_is_a_number_of_rows():
    premiums, existing, _ = portfolio(60)
    times = np.random.default_rng(1).integers(0, 4, size=60)
    existing = existing * (times @ premiums) / (times @ existing)
    weighted = fd.cap_premiums(premiums, existing, max_change=0.1, sample_weight=times)
    repeated = fd.cap_premiums(premiums.repeat(times), existing.repeat(times), max_change=0.1)
    assert weighted.premiums.repeat(times) == pytest.approx(repeated.premiums, rel=1e-9)
    numbers = [(each.level, each.at_lower, each.at_upper) for each in (weighted, repeated)]
    assert numbers[0] == pytest.approx(numbers[1])


def test_in_closed_form_where_two_are_held():
    # The first is held at 80, the second at 120; the third has what is left of 300.
    found = fd.cap_premiums([50.0, 160.0, 90.0], [100.0, 100.0, 100.0], max_change=0.2)
    assert found.premiums == pytest.approx([80.0, 120.0, 100.0], rel=1e-12)
    assert found.level == pytest.approx(100 / 90, rel=1e-12)
    assert (found.at_lower, found.at_upper) == pytest.approx((1 / 3, 1 / 3))


def test_no_change_at_all_is_the_existing_price_where_its_income_is_the_same():
    premiums, existing, years = portfolio()
    found = fd.cap_premiums(premiums, existing, max_change=0, sample_weight=years)
    assert found.premiums == pytest.approx(existing, rel=1e-12)
    with pytest.raises(DataError, match=r"with changes of at most 0 % it is between 200 and 200 .* give 220"):
        fd.cap_premiums([110.0, 330.0], [100.0, 300.0], max_change=0)


@pytest.mark.parametrize("income", [89.0, 111.0])
def test_an_income_out_of_reach_is_refused_with_what_can_be_reached(income):
    with pytest.raises(DataError) as caught:
        fd.cap_premiums([income - 5, income + 5], [100.0, 100.0], max_change=0.1)
    assert str(caught.value) == (
        "No common factor keeps the income: with changes of at most 10 % it is between 90 and 110 per unit of weight, "
        f"and the new premiums give {income:g}. Raise max_change, or scale the existing or the new premiums to "
        "the same income first."
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"premiums": [1.0, 0.0]}, "“premiums”: there is no number above 0 in row 2"),
        ({"existing": [np.nan, -1.0]}, "“existing”: there is no number above 0 in rows 1, 2"),
        ({"premiums": [np.inf, 1.0]}, "“premiums”: there is no number above 0 in row 1"),
        ({"sample_weight": [0.0, 0.0]}, "“sample_weight”: these weights can't be used"),
        ({"sample_weight": [-1.0, 2.0]}, "“sample_weight”: these weights can't be used"),
        ({"existing": [1.0]}, "do not have one value per row"),
        ({"premiums": [], "existing": []}, "do not have one value per row"),
        *(({"max_change": each}, "max_change") for each in (-0.1, np.nan, "10 %", True)),
    ],
)
def test_what_is_no_premium_or_no_share_is_refused(given, says):
    with pytest.raises(OptionError if "max_change" in given else DataError, match=says):
        fd.cap_premiums(**({"premiums": [1.0, 2.0], "existing": [1.0, 2.0], "max_change": 0.1} | given))
