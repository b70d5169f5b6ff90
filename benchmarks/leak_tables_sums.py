"""Prices and targets that are sums of columns, and tariffs without leaks that look like sums.

Made by the author of the rule in :mod:`fairdash.tables.sums`. Thirty tables contain the components of the
price or of the target: ten kinds, three tables each. Forty have no leak: ten additive and multiplicative
tariffs, whose columns are rating factors, relativities, points and indicators, and ten kinds of other tables,
three each. Every table is simulated from a separate seed; `shift` gives other tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

#: Name, kind ("certain" or "honest"), the table, its roles and the leaking columns.
Case = tuple[str, str, pd.DataFrame, dict[str, str], set[str]]
Made = tuple[pd.DataFrame, dict[str, str], set[str]]

PRICE = {"target": "price", "sensitive": "age"}
AUDITED = {"target": "claims", "sensitive": "age", "price": "price"}


def policies(rng: np.random.Generator) -> pd.DataFrame:
    """Rating factors, amounts that are not components of the price, and claims."""
    n = int(rng.integers(800, 12_000))
    age = rng.integers(18, 86, n)
    return pd.DataFrame(
        {
            "age": age,
            "power": rng.integers(3, 16, n),
            "bonus": np.clip(50 + 3 * rng.poisson(6, n) - (age > 40) * 10, 50, 150),
            "density": np.exp(rng.normal(6, 1.5, n)).round(),
            "garage": rng.integers(0, 2, n),
            "region": rng.choice(list("ABCDEF"), n),
            "value": rng.gamma(4, 5000, n).round(-2),
            "contents": rng.gamma(3, 8000, n).round(-3),
            "last_claims": np.where(rng.random(n) < 0.1, rng.gamma(1, 900, n).round(2), 0.0),
            "claims": rng.poisson(0.1 + 0.1 * (age < 25)),
        }
    )


def premiums(rng: np.random.Generator, table: pd.DataFrame, count: int) -> pd.DataFrame:
    """Unrounded premiums of several coverages: some depend on age, and most are not bought by everybody."""
    n, age = len(table), table["age"].to_numpy()
    made = {}
    for k in range(count):
        level = 40 * rng.gamma(2, 1) + 5
        risk = np.exp(rng.normal(0, 0.3, n) + (0.02 * (45 - age) if k % 3 == 0 else 0.0))
        bought = rng.random(n) < (1.0 if k == 0 else rng.uniform(0.1, 0.9))
        made[f"p{k}"] = level * risk * bought
    return pd.DataFrame(made)


def with_parts(
    table: pd.DataFrame, parts: pd.DataFrame, price: pd.Series, roles: dict[str, str] = PRICE
) -> Made:
    return pd.concat([table, parts], axis=1).assign(price=price), roles, set(parts)


# Ten kinds of sums.


def plain(rng: np.random.Generator) -> Made:
    table = policies(rng)
    parts = premiums(rng, table, int(rng.integers(2, 13))).round(2)
    return with_parts(table, parts, parts.sum(axis=1).round(2))


def price_of_claims(rng: np.random.Generator) -> Made:
    """The price is not the target."""
    table = policies(rng)
    parts = premiums(rng, table, 10).round(2)
    return with_parts(table, parts, parts.sum(axis=1).round(2), AUDITED)


def rounded(rng: np.random.Generator) -> Made:
    """Components and total are rounded separately, to cents, tenths or whole euros."""
    table, places = policies(rng), int(rng.integers(0, 3))
    parts = premiums(rng, table, int(rng.integers(3, 13)))
    return with_parts(table, parts.round(places), parts.sum(axis=1).round(places))


def taxed(rng: np.random.Generator) -> Made:
    """Components without tax, and in half of the tables also with tax."""
    table, tax = policies(rng), float(rng.choice([1.06, 1.12, 1.19, 1.2, 0.95]))
    parts = premiums(rng, table, int(rng.integers(2, 11))).round(2)
    price = (tax * parts.sum(axis=1)).round(2)
    if rng.random() < 0.5:
        parts = parts.join((tax * parts).round(2).add_prefix("gross_"))
    return with_parts(table, parts, price)


def three_of_twelve(rng: np.random.Generator) -> Made:
    """Nine of the amounts belong to another contract."""
    table = policies(rng)
    parts = premiums(rng, table, 12).round(2)
    chosen = [f"p{k}" for k in rng.choice(12, 3, replace=False)]
    frame = pd.concat([table, parts], axis=1).assign(price=parts[chosen].sum(axis=1).round(2))
    return frame[frame["price"] > 0].reset_index(drop=True), PRICE, set(chosen)


def with_fee(rng: np.random.Generator) -> Made:
    table, fee = policies(rng), float(rng.choice([4.5, 10, 15, 24]))
    parts = premiums(rng, table, int(rng.integers(2, 9))).round(2)
    tax = float(rng.choice([1.0, 1.19]))
    return with_parts(table, parts, (tax * parts.sum(axis=1) + fee).round(2), AUDITED)


def subtotals(rng: np.random.Generator) -> Made:
    """The table contains subtotals and their components, all rounded separately."""
    table = policies(rng)
    parts = premiums(rng, table, 7)
    price = parts.sum(axis=1).round(2)
    parts["liability"], parts["hull"] = parts[["p0", "p1", "p2"]].sum(axis=1), parts[["p3", "p4"]].sum(axis=1)
    return with_parts(table, parts.round(2), price)


def not_bought(rng: np.random.Generator) -> Made:
    """A coverage that was not bought has an empty cell; flat coverages cost the same for everybody."""
    table = policies(rng)
    parts = premiums(rng, table, 5).round(2)
    parts["legal"], parts["assistance"] = ((rng.random(len(table)) < 0.4) * each for each in (29.0, 18.5))
    return with_parts(table, parts.where(parts > 0), parts.sum(axis=1).round(2))


def by_hand(rng: np.random.Generator) -> Made:
    """A minimum premium, and a few manually corrected prices."""
    table = policies(rng)
    parts = premiums(rng, table, 6).round(2)
    price = parts.sum(axis=1).clip(lower=60).round(2)
    price[rng.random(len(table)) < 0.004] += 50
    return with_parts(table, parts, price)


def less_a_discount(rng: np.random.Generator) -> Made:
    """A discount is subtracted, or the price is for a year and its components are for the term."""
    table = policies(rng)
    parts = premiums(rng, table, 4).round(2)
    if rng.random() < 0.5:
        parts["discount"] = (parts.sum(axis=1) * rng.choice([0, 0.1, 0.25], len(table))).round(2)
        return with_parts(table, parts, (parts.sum(axis=1) - 2 * parts["discount"]).round(2))
    years = rng.choice([0.25, 0.5, 0.75, 1.0], len(table))
    frame, roles, planted = with_parts(table, parts, (parts.sum(axis=1) / years).round(2))
    return frame.assign(years=years), roles | {"exposure": "years"}, planted


# Ten tariffs. Their columns determine the price, and none is an amount contained in it.


def _relativities(rng: np.random.Generator, table: pd.DataFrame, *, around: float) -> pd.DataFrame:
    """A relativity for each level of three factors."""
    found = {}
    for name, factor in (("age", table["age"] // 5), ("power", table["power"]), ("region", table["region"])):
        levels = factor.unique()
        found[f"r_{name}"] = factor.map(
            dict(zip(levels, (around + rng.uniform(-0.3, 0.5, len(levels))).round(3), strict=True))
        )
    return pd.DataFrame(found)


def multiplicative(rng: np.random.Generator) -> Made:
    table = policies(rng)
    r = _relativities(rng, table, around=1.0)
    return with_parts(table, r, (320 * r.prod(axis=1)).round(2))


def logarithms(rng: np.random.Generator) -> Made:
    """The logarithm of the price is a base plus logarithms of relativities."""
    table = policies(rng)
    r = np.log(_relativities(rng, table, around=1.0)).round(4)
    return with_parts(table, r, np.log(320) + r.sum(axis=1))


def shares_of_a_base(rng: np.random.Generator) -> Made:
    table = policies(rng)
    r = _relativities(rng, table, around=0.1)
    return with_parts(table, r, (250 * (1 + r.sum(axis=1))).round(2), AUDITED)


def index(rng: np.random.Generator) -> Made:
    """A price with a mean of about 1, and an additive loading for each level of three factors."""
    table = policies(rng)
    r = _relativities(rng, table, around=0.0)
    return with_parts(table, r, 1 + r.sum(axis=1))


def points(rng: np.random.Generator) -> Made:
    """The points of three factors are added up, and each point has the same price."""
    table = policies(rng)
    r = (10 * _relativities(rng, table, around=0.5)).round()
    return with_parts(table, r, 150 + 14.5 * r.sum(axis=1))


def factors(rng: np.random.Generator) -> Made:
    table = policies(rng)
    price = (
        400 - 3.5 * table["age"] + 12 * table["power"] + 60 * (table["region"] == "A") + 2 * table["bonus"]
    )
    return table.assign(price=price.round(2)), PRICE, set()


def alike_factors(rng: np.random.Generator) -> Made:
    """Two rating factors have the same coefficient."""
    table = policies(rng)
    return table.assign(price=(180 + 1.5 * table["power"] + 1.5 * table["bonus"]).round(2)), PRICE, set()


def indicators(rng: np.random.Generator) -> Made:
    """All options cost the same: the price is a multiple of the sum of columns of 0 and 1."""
    table = policies(rng)
    options = pd.DataFrame(rng.integers(0, 2, (len(table), 8)), columns=[f"option_{k}" for k in range(8)])
    return with_parts(table, options, 30.0 + options.sum(axis=1), AUDITED)


def sums_insured(rng: np.random.Generator) -> Made:
    """One rate for the sum of two sums insured, and a fee."""
    table = policies(rng)
    price = (0.0021 * (table["value"] + table["contents"]) + 12).round(2)
    return table.assign(price=price), PRICE, set()


def score(rng: np.random.Generator) -> Made:
    """A base depending on the power, and an amount for each unit of two factors."""
    table = policies(rng)
    base = table["power"].map(lambda power: 90 + power**2)
    return (
        table.assign(base=base, price=(base + 0.8 * table["bonus"] + 1.2 * table["age"]).round(2)),
        AUDITED,
        set(),
    )


# Ten kinds of other tables without leaks.


def noisy_sum(rng: np.random.Generator) -> Made:
    """Claims of the coming year depend on the premiums of the coverages."""
    table = policies(rng)
    parts = premiums(rng, table, 5).round(2)
    price = (parts.sum(axis=1) * np.exp(rng.normal(0, 0.02, len(table)))).round(2)
    return pd.concat([table, parts], axis=1).assign(price=price), PRICE, set()


def other_sum(rng: np.random.Generator) -> Made:
    """Some features add up to another feature."""
    table = policies(rng)
    rooms = rng.integers(1, 6, (len(table), 2))
    table = table.assign(bedrooms=rooms[:, 0], other_rooms=rooms[:, 1], rooms=rooms.sum(axis=1))
    price = 300 + 40 * table["rooms"] + 0.001 * table["value"] + rng.normal(0, 25, len(table))
    return table.assign(price=price.round(2)), PRICE, set()


def shares(rng: np.random.Generator) -> Made:
    """Shares of a population add up to 100."""
    table = policies(rng)
    share = 100 * rng.dirichlet([4, 2, 1, 1], len(table))
    table = table.assign(**{f"share_{k}": share[:, k].round(1) for k in range(4)})
    price = 200 + 1.2 * table["share_1"] + rng.normal(0, 10, len(table))
    return table.assign(price=price.round(2)), AUDITED, set()


def unequal(rng: np.random.Generator) -> Made:
    """A total with a different factor for each amount, exactly."""
    table = policies(rng)
    parts = premiums(rng, table, 4).round(2)
    price = (parts * rng.uniform(0.6, 1.4, 4)).sum(axis=1).round(2)
    return pd.concat([table, parts], axis=1).assign(price=price), PRICE, set()


def other_contract(rng: np.random.Generator) -> Made:
    """Amounts of another contract, and a price with few values."""
    table = policies(rng)
    parts = premiums(rng, table, 8).round(2)
    price = table["power"].map(lambda power: 120 + 9 * power) * (1 + 0.3 * (table["region"] < "C"))
    return pd.concat([table, parts], axis=1).assign(price=price.round(2)), AUDITED, set()


def glm(rng: np.random.Generator) -> Made:
    table = policies(rng)
    price = 210 * np.exp(0.01 * (45 - table["age"]) + 0.05 * table["power"] + 0.1 * table["garage"])
    return table.assign(price=price), PRICE, set()


def counts(rng: np.random.Generator) -> Made:
    """Claims of the coming year, and claim counts of the three previous years."""
    table = policies(rng)
    before = {f"claims_year_{k}": rng.poisson(0.2, len(table)) for k in (1, 2, 3)}
    table = table.assign(**before)
    claims = rng.poisson(0.05 + 0.3 * table["claims_year_1"])
    return table.assign(claims=claims), AUDITED | {"price": "value"}, set()


def one_hot(rng: np.random.Generator) -> Made:
    table = policies(rng)
    dummies = pd.get_dummies(table["region"], prefix="region").astype(int)
    price = 100 + dummies @ rng.uniform(20, 90, dummies.shape[1]).round(2) + 0.01 * table["density"]
    return pd.concat([table, dummies], axis=1).assign(price=price.round(2)), PRICE, set()


def small(rng: np.random.Generator) -> Made:
    """Few rows and many columns."""
    table = policies(rng).head(220)
    table = table.assign(**{f"x{k}": rng.normal(100, 20, 220).round(2) for k in range(40)})
    return table.assign(price=(table["x0"] + table["x1"] + rng.normal(0, 8, 220)).round(2)), PRICE, set()


def last_price(rng: np.random.Generator) -> Made:
    """Last year's price and its index, and a new price with factors of its own."""
    table = policies(rng)
    last = (150 + rng.gamma(4, 60, len(table))).round(2)
    table = table.assign(last_price=last, index_in_percent=rng.choice([2.0, 3.5, 5.0], len(table)))
    price = last * (1 + table["index_in_percent"] / 100) + 3 * (table["power"] - 9)
    return table.assign(price=price.round(2)), AUDITED, set()


Maker = Callable[[np.random.Generator], Made]
SUMS: tuple[Maker, ...] = (
    *(plain, price_of_claims, rounded, taxed, three_of_twelve),
    *(with_fee, subtotals, not_bought, by_hand, less_a_discount),
)
TARIFFS: tuple[Maker, ...] = (
    *(multiplicative, logarithms, shares_of_a_base, index, points),
    *(factors, alike_factors, indicators, sums_insured, score),
)
OTHERS: tuple[Maker, ...] = (
    *(noisy_sum, other_sum, shares, unequal, other_contract),
    *(glm, counts, one_hot, small, last_price),
)


def make(maker: Maker, number: int = 0, shift: int = 0) -> Case:
    """Make a table, with its name, kind, roles and planted columns."""
    place = (*SUMS, *TARIFFS, *OTHERS).index(maker)
    frame, roles, planted = maker(np.random.default_rng([83, shift, place, number]))
    name, is_sum = f"{maker.__name__}_{number}", maker in SUMS
    return name, "certain" if is_sum else "honest", frame, dict(roles), planted if is_sum else set()


def tables(shift: int = 0) -> Iterator[Case]:
    """Thirty tables with sums, ten tariffs and thirty other tables without leaks."""
    for maker in (*SUMS, *TARIFFS, *OTHERS):
        for number in range(1 if maker in TARIFFS else 3):
            yield make(maker, number, shift)
