"""Worlds with special tables: classes, policies, exposure, missing cells, few values, two prices, a model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import norm

from benchmarks.worlds.drawing import (
    LOSS_RATIO,
    OTHER,
    Array,
    G,
    Rng,
    flat,
    line,
    mixed,
    noise,
    of_age,
    portfolio,
    uniform,
)
from benchmarks.worlds.shapes import ALONE, EARNED, FLAT, LINE, NO_COST, NO_FEATURES
from benchmarks.worlds.truths import World, between, cell, curve, gap, near, never, notes, part, says, verdict

_DEAR = 0.15


def _regions(n: int, rng: Rng) -> pd.DataFrame:
    region = rng.choice(["north", "east", "south", "west", "centre"], n, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    mean = 1 + _DEAR * (region == "west")
    return portfolio(uniform(n, rng), rng, mean, mean).drop(columns="age").assign(region=region)


def _rare(n: int, rng: Rng) -> pd.DataFrame:
    is_rare = rng.permutation(n) < n // 50
    frame = portfolio(uniform(n, rng), rng, 1 + 0.2 * is_rare)
    return frame.drop(columns="age").assign(fuel=np.where(is_rare, "gas", "petrol"))


def _policies(n: int, rng: Rng) -> pd.DataFrame:
    """Ten rows per policy, with the same age and about the same price."""
    policy = np.repeat(np.arange(n // 10), 10)
    u, own = uniform(n // 10, rng), noise(rng, n // 10, 0.05)
    return portfolio(u[policy], rng, own[policy]).assign(policy=policy)


def _with_exposure(n: int, rng: Rng) -> pd.DataFrame:
    """Premiums are totals over years, of which young people have few."""
    u = uniform(n, rng)
    frame = portfolio(u, rng, 1.0)
    years = (0.2 + 0.8 * u) * rng.uniform(0.5, 1, n)
    return frame.assign(years=years, price=frame["price"] * years)


def _days(n: int, rng: Rng) -> pd.DataFrame:
    """Prices are per year, claims cover some days."""
    frame = portfolio(u := uniform(n, rng), rng, line()(u), line()(u))
    days = rng.integers(100, 366, n)
    return frame.assign(days=days, claims=frame["claims"] * days / 365)


def _no_age(n: int, rng: Rng) -> pd.DataFrame:
    """Every tenth row has no age, and a price that is a fifth higher."""
    u = uniform(n, rng)
    is_gone = np.arange(n) % 10 == 0
    frame = portfolio(u, rng, np.where(is_gone, 1.2, line()(u)))
    return frame.assign(age=frame["age"].where(~is_gone))


def _noisy_age(n: int, rng: Rng) -> pd.DataFrame:
    """A normal s of which 30 % of the variance is measurement error; the price is linear in the truth."""
    z = rng.normal(size=n)
    frame = portfolio(uniform(n, rng), rng, 1 + 0.1 * z)
    return frame.assign(age=45 + 10 * (z + np.sqrt(3 / 7) * rng.normal(size=n)))


def _mended(n: int, rng: Rng) -> pd.DataFrame:
    u = uniform(n, rng)
    frame = portfolio(u, rng, line()(u))
    return frame.assign(new=frame["price"] / line()(u))


def _modelled(n: int, rng: Rng) -> pd.DataFrame:
    u = uniform(n, rng)
    return portfolio(u, rng, 1.0).drop(columns="price").assign(mileage=240 * mixed(u, rng))


def _model(rows: pd.DataFrame) -> Array:
    return 100 * (1 + G / 60 * (rows["age"] - 50) + G / 240 * (rows["mileage"] - 120)).to_numpy()


def _tariff(first: int, second: int, *, ages: int, exposure: bool) -> Callable[[int, Rng], pd.DataFrame]:
    """A tariff of two factors: the price of a policy is its expected claims, which do not depend on age."""

    def make(n: int, rng: Rng) -> pd.DataFrame:
        a, b = rng.integers(first, size=n), rng.integers(second, size=n)
        rate = 0.4 * line(1.8)((a + 0.5) / first) * line(1.4)((b + 0.5) / second)
        years = rng.uniform(0.5, 1, n) if exposure else np.ones(n)
        age = 20 + 60 * np.floor(ages * uniform(n, rng)) / ages
        frame = pd.DataFrame({"age": age, "a": a, "b": b, "price": 100 * rate})
        frame["claims"] = 100.0 * rng.poisson(rate * years)
        return frame.assign(years=years) if exposure else frame

    return make


def _of_tariff(values: tuple[int, int], *, ages: int, exposure: bool) -> World:
    """A tariff of two factors with given numbers of levels, whose price is the expected cost of its cell."""
    more = {"exposure": "years", "totals": ["claims"]} if exposure else {}
    return World(
        f"tariff of {values[0] * values[1]:,} prices",
        f"a price of two factors, {ages} ages{', rates by exposure' if exposure else ''}; cost is the price",
        _tariff(*values, ages=ages, exposure=exposure),
        1_200,
        {"outcome": "claims", **more},
    ).where(
        FLAT,
        q1=(
            never("independence", "above"),
            between(gap(column="p_value"), 0.001, 1),
            near("direction", 0, 0.05),
        ),
        q2=(curve(of_age(flat), unit=40.0),),
        q3=(near("left_s10_s90", 0, 0.3), near("left", 0, 0.3)),
        q4=NO_COST[4],
        q5=(
            never("sufficiency", "above"),
            never("equalized_residuals", "above"),
            between(gap("equalized_residuals", "p_value"), 0.001, 1),
            near("loss_ratio", 1, 0.05),
        ),
        q7=(near("paid_above_of_all", 0, 0.04),),
        q8=(
            near(cell("premiums", "mean", premium="best_estimate"), 1, 0.02),
            between("proxy_effect", 0, 0.1),
        ),
        q9=(says("rows would be needed"),),
    )


TABLES = (
    World(
        "classes",
        "of five regions one pays and costs 15 % more",
        _regions,
        600,
        {"sensitive": "region", "outcome": "claims"},
    ).where(
        ALONE,
        q1=(
            verdict("independence", "above"),
            near(gap(), _DEAR / (1 + 0.15 * _DEAR), 0.005),
            says("the smallest share of prices at or below the median"),
        ),
        q2=(says("highest at west"),),
        q3=(near("gap", _DEAR / (1 + 0.15 * _DEAR), 0.005), near("left", 0, 0.009)),
        q4=NO_COST[4],
        q5=(
            verdict("sufficiency", "below"),
            verdict("equalized_residuals", "below"),
            near("loss_ratio", LOSS_RATIO, 0.0013),
        ),
        q6=(between("uses_itself ci_low", 0.3, 1),),
        # 15 % of the policies pay 0.15 · 0.85 above the mean.
        q7=(
            near("paid_above_mean_per_head", _DEAR * 0.85 / (1 + 0.15 * _DEAR), 0.005),
            near("paid_above_of_all", 0, 0.0013),
        ),
        q8=(
            near(cell("premiums", "mean", premium="best_estimate"), 1, 0.005),
            near(cell("premiums", "gap", premium="best_estimate"), _DEAR / (1 + 0.15 * _DEAR), 0.01),
            between(cell("premiums", "gap", premium="unaware"), 0, 0.05),
            between("proxy_effect", 0, 0.03),
        ),
        q9=(says("The classes of “region” have no order"),),
    ),
    World(
        "rare class",
        "two cars in a hundred run on gas and pay 20 % more",
        _rare,
        1_200,
        {"sensitive": "fuel"},
    ).where(
        part(NO_COST, 4, 5, 8, 10, 11),
        q1=(verdict("independence", "above"), near(gap(), 0.2 / 1.004, 0.006)),
        q2=(says("highest at gas"),),
        # With 24 rows, no gap can be shown on half of them.
        q3=(says("too few rows"),),
        # The class contributes the variance 0.02 · 0.98 · 0.2².
        q6=(
            near("share_of_variance", 0.02 * 0.98 * 0.04 / (0.02 * 0.98 * 0.04 + OTHER), 0.1),
            between("uses_itself ci_low", 0.1, 1),
        ),
        q7=(near("paid_above_of_all", 0.02 * 0.98 * 0.2 / 1.004, 0.00013),),
        q9=(says("have no order"),),
    ),
    World(
        "panel",
        "ten rows a policy, of one age and price; no effect",
        _policies,
        1_500,
        {"groups": "policy", **NO_FEATURES},
    ).where(
        NO_COST,
        q1=(
            never("independence", "above"),
            between(gap(column="p_value"), 0.001, 1),
            near("direction", 0, 0.013),
        ),
        q2=(curve(of_age(flat)),),
        q6=(between("share_of_variance", 0, 0.03), says("no further informative columns")),
        q7=(near("paid_above_of_all", 0, 0.003),),
        # 150 policies rule out the same gaps as 150 rows.
        q9=(says("policies"),),
    ),
    World(
        "exposure follows the attribute",
        "premiums are totals of years, of which the young have fewer; no effect a year",
        _with_exposure,
        600,
        {"exposure": "years", "totals": ["price"]},
    ).where(NO_COST, part(FLAT, 1, 2, 6, 7, 9)),
    World(
        "exposure in days",
        "earned in full; prices are of a year, claims of some days",
        _days,
        600,
        {"exposure": "days", "outcome": "claims", "totals": ["claims"]},
    ).where(
        EARNED,
        q4=NO_COST[4],
        q5=(
            *EARNED[5][:3],
            # Claims of a day compared with the price of a year.
            near("loss_ratio", LOSS_RATIO / 365, 0.002 / 365),
            notes("units seem to differ.*[Dd]ays"),
        ),
    ),
    World(
        "missing attribute",
        "every tenth row has no age and a price a fifth higher",
        _no_age,
        600,
        NO_FEATURES,
    ).where(
        NO_COST,
        part(LINE, 1, 2, 7),
        q6=(LINE[6][0], says("no further informative columns")),
        q9=(near("price_without_sensitive", 0.2, 0.005), says(r"missing in \d+ rows")),
    ),
    World(
        "attribute with error",
        "30 % of the attribute's variance is error; the price follows the true one",
        _noisy_age,
        800,
        {"reliability": 0.7, **NO_FEATURES},
    ).where(
        NO_COST,
        # The means of the tails are ± 2.063 standard deviations, and those of the observed attribute √0.7 of
        # that.
        q1=(verdict("independence", "above"), near("direction", 0.2 * norm.ppf(0.9) * np.sqrt(0.7), 0.01)),
        q2=(curve(lambda s: 1 + 0.07 * (s - 45) / 10),),
        q6=(near("share_of_variance", 0.007 / (0.01 + OTHER), 0.03), says("no further informative columns")),
        q7=(near("paid_above_of_all", 0.1 * np.sqrt(0.7) * norm.pdf(0), 0.0011),),
        q9=(
            near(cell("reliability", "value", reliability=0.7), 0.2 * norm.ppf(0.9), 0.016),
            near(cell("reliability", "value", reliability=1.0), 0.2 * norm.ppf(0.9) * np.sqrt(0.7), 0.01),
        ),
    ),
    World(
        "a second price that mends",
        "the price rises by 30 % with age, the second one does not",
        _mended,
        600,
        {"candidate": "new"},
    ).where(
        NO_COST,
        part(LINE, 1, 2, 7, 9),
        q6=LINE[6][:2],
        q10=(
            near(cell("two_prices", "candidate", measure="direction"), 0, 0.004),
            near(cell("two_prices", "difference", measure="direction"), -0.8 * G, 0.006),
            between(cell("two_prices", "ci_high", measure="independence"), -1, -0.2),
        ),
    ),
    World(
        "a model of the price",
        "a model that rises by 30 % with age and by 30 % with mileage, which is related to age",
        _modelled,
        600,
        {"price": "model", "model": _model, "model_columns": ["age", "mileage"]},
    ).where(
        NO_COST,
        q1=(verdict("independence", "above"), near("direction", 0.8 * 1.7 * G, 0.013)),
        q2=(curve(of_age(line(1.7 * G))),),
        q6=(between("uses_itself ci_low", 0.1, 1),),
        q7=(near("paid_above_of_all", 1.7 * G / 8, 0.0022),),
        # The means of the outer tenths differ by 0.9 in u, and by 0.7 of that in mileage.
        q11=(
            near(cell("flips", "mean_change", column="age"), 0.9 * G, 0.005),
            near(cell("flips", "mean_change", column="mileage"), 0.7 * 0.9 * G, 0.03),
            between(cell("flips", "beyond", column="age"), 1, 1),
        ),
    ),
    _of_tariff((5, 2), ages=12, exposure=False),
    _of_tariff((5, 5), ages=12, exposure=True),
    _of_tariff((10, 10), ages=240, exposure=False),
    _of_tariff((25, 40), ages=12, exposure=True),
)
