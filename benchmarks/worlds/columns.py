"""Worlds with additional columns that explain a gap, hide it, cause it or mislead."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.worlds.drawing import (
    CV,
    LOSS_RATIO,
    OTHER,
    G,
    Rng,
    book,
    flat,
    line,
    mixed,
    noise,
    of_age,
    portfolio,
    uniform,
)
from benchmarks.worlds.shapes import EARNED, LINE, NO_COST
from benchmarks.worlds.truths import (
    World,
    between,
    cell,
    curve,
    gap,
    highest,
    lowest,
    near,
    never,
    part,
    says,
    verdict,
)

#: Mileage equals the rank u of age in 70 % of the rows, so a slope of G in mileage is one of 0.7 G in age.
SHARE = 0.7
_BY_MILEAGE = SHARE * G

#: The factors explain the whole dependence of the price on the attribute.
NONE_AMONG_EQUALS = {
    4: (
        verdict("conditional_independence", "below"),
        between(gap("conditional_independence", "p_value"), 0.001, 1),
    )
}
#: The price is linear in mileage and has no other dependence on age.
PROXY = {
    1: (
        verdict("independence", "above"),
        near(gap(), 0.95 * _BY_MILEAGE, 0.015),
        near("direction", 0.8 * _BY_MILEAGE, 0.01),
    ),
    2: (curve(of_age(line(_BY_MILEAGE))),),
    6: (
        near("share_of_variance", _BY_MILEAGE**2 / 12 / (G**2 / 12 + OTHER), 0.04),
        between("uses_itself ci_low", -1, 0.005),
        near(cell("drivers", "share", feature="mileage"), _BY_MILEAGE**2 / 12 / (G**2 / 12 + OTHER), 0.05),
    ),
    # The older half pays 0.7 G / 4 more per head.
    7: (near("paid_above_per_head", _BY_MILEAGE / 4, 0.003),),
}


def _mileage(price: str):
    def make(n: int, rng: Rng) -> pd.DataFrame:
        u = uniform(n, rng)
        mileage = mixed(u, rng, SHARE)
        by = {"mileage": line()(mileage), "age": line()(u)}[price]
        return portfolio(u, rng, by).assign(mileage=240 * mileage)

    return make


def _bonus(n: int, rng: Rng) -> pd.DataFrame:
    u = uniform(n, rng)
    level = np.floor(5 * mixed(u, rng, SHARE))
    return portfolio(u, rng, line()((level + 0.5) / 5)).assign(
        bonus=np.array(list("abcde"))[level.astype(int)]
    )


def _opposite(n: int, rng: Rng) -> pd.DataFrame:
    u, side = uniform(n, rng), rng.choice([-1, 1], n)
    return portfolio(u, rng, 1 + side * G * (u - 0.5)).assign(side=np.where(side > 0, "a", "b"))


def _parts(n: int, rng: Rng) -> pd.DataFrame:
    """Half of the price is a premium that depends on age, and half is a premium that doesn't."""
    u = uniform(n, rng)
    frame = portfolio(u, rng, 1.0)
    frame["liability"] = 50 * line(2 * G)(u) * noise(rng, n, CV)
    frame["damage"] = 50 * noise(rng, n, 0.1)
    return frame.assign(price=frame["liability"] + frame["damage"])


_PLACES = 20


def _crossed(n: int, rng: Rng) -> pd.DataFrame:
    """Men pay more from 50 on, and women below, so that neither age nor sex alone has a gap."""
    u, sex = uniform(n, rng), rng.choice(["f", "m"], n)
    dear = (u > 0.5) == (sex == "m")
    return portfolio(u, rng, 1 + G * (dear - 0.5)).assign(sex=sex)


def _by_place(n: int, rng: Rng) -> pd.DataFrame:
    """People of one place have about the same age, and the price depends on the place."""
    place = rng.integers(_PLACES, size=n)
    u = np.clip((place + rng.uniform(-1, 2, n)) / _PLACES, 0.002, 0.998)
    frame = portfolio(np.floor(240 * u) / 240, rng, line()((place + 0.5) / _PLACES))
    code = np.random.default_rng(0).permutation(_PLACES)
    return frame.assign(postcode=[f"P{10 + code[each]}" for each in place])


def _blank(n: int, rng: Rng) -> pd.DataFrame:
    """Policies without a claim have an empty cell; price and cost rise with age."""
    frame = book(line(), lambda u: 2 * line()(u))(n, rng)
    return frame.assign(claims=frame["claims"].where(rng.random(n) < 0.5))


def _with_birth_year(n: int, rng: Rng) -> pd.DataFrame:
    frame = book(line())(n, rng)
    return frame.assign(born=np.floor(2026 - frame["age"]).astype(int))


def _one_country(n: int, rng: Rng) -> pd.DataFrame:
    return book(line())(n, rng).assign(country="CH")


COLUMNS = (
    World(
        "proxy alone", "the price follows mileage, which is related to age", _mileage("mileage"), 800
    ).where(PROXY, NO_COST),
    World("age itself", "the price uses age itself; mileage is related to it", _mileage("age"), 600).where(
        NO_COST,
        part(LINE, 1, 2, 7, 9),
        q6=(
            LINE[6][0],
            # Mileage leaves half of what age explains.
            between("uses_itself ci_low", 0.3, 1),
            says("from these columns: “age”"),
        ),
    ),
    World(
        "vanishing given a factor",
        "among rows of one mileage the price does not follow age",
        _mileage("mileage"),
        800,
        {"controls": ["mileage"]},
    ).where(PROXY, NO_COST, NONE_AMONG_EQUALS),
    World(
        "one allowed factor",
        "the bonus, of five levels, explains all that the price has of age",
        _bonus,
        800,
        {"controls": ["bonus"]},
    ).where(
        NO_COST,
        NONE_AMONG_EQUALS,
        q1=(verdict("independence", "above"), near(gap(), SHARE * 0.8 * G, 0.01)),
        q2=(between(lowest(), 20, 32), between(highest(), 68, 80)),
        # Four fifths of a line's variance, less what its five levels lose.
        q6=(between("uses_itself ci_low", -1, 0.005), says("from these columns: “bonus”")),
        # The two upper of five levels pay 0.2 G and 0.4 G more, and the two lower ones less.
        q7=(near("paid_above_of_all", SHARE * 0.6 * G / 5, 0.0013),),
    ),
    World(
        "only within a factor",
        "the price rises with age on one side and falls on the other",
        _opposite,
        600,
        {"controls": ["side"]},
    ).where(
        NO_COST,
        q1=(
            never("independence", "above"),
            near("direction", 0, 0.02),
            between(gap(column="p_any_link"), 0, 0.05),
        ),
        q2=(curve(of_age(flat)),),
        q6=(between("share_of_variance", 0, 0.05),),
        q7=(near("paid_above_of_all", 0, 0.002),),
        q4=(
            never("conditional_independence", "above"),
            between(gap("conditional_independence", "p_any_link"), 0, 0.01),
        ),
    ),
    World(
        "parts of the price", "two premiums add up to the price, and one of them follows age", _parts, 600
    ).where(
        NO_COST,
        q1=(verdict("independence", "above"), near(gap(), 0.95 * G, 0.01), near("direction", 0.8 * G, 0.008)),
        q2=(curve(of_age(line())),),
        # With its components as factors, a price would not use age itself; components are no factors.
        q6=(between("uses_itself ci_low", 0.3, 1),),
        q7=(near("paid_above_of_all", G / 8, 0.0015),),
    ),
    World(
        "a pair of attributes",
        "older men and younger women pay 30 % more; neither age nor sex alone has a gap",
        _crossed,
        800,
        {"sensitive": ["age", "sex"]},
    ).where(
        NO_COST,
        q1=(
            never("independence", "above"),
            verdict("independence", "below", "undecided", along="sex"),
            verdict("independence", "above", along="age × sex"),
            # The highest of twenty means is a little too high, the lowest too low.
            between(
                cell("by_sensitive", "value", sensitive="age × sex", criterion="independence"), 0.28, 0.34
            ),
            near("direction", 0, 0.018),
        ),
        q2=(curve(of_age(flat)), says("cells of “age × sex”")),
        # Together with sex, age determines the price.
        q6=(between("share_of_variance", 0, 0.05), between("uses_itself", 0.5, 1.5)),
        q7=(near("paid_above_of_all", 0, 0.005),),
    ),
    World(
        "age by place", "a price of twenty postcodes, each with people of about one age", _by_place, 1_000
    ).where(
        NO_COST,
        q1=(verdict("independence", "above"), near("direction", 0.24, 0.006)),
        q2=(between(lowest(), 20, 24), between(highest(), 76, 80)),
        q6=(
            near("share_of_variance", 0.873, 0.03),
            between("uses_itself ci_high", -1, 0.005),
            between(cell("drivers", "share", feature="postcode"), 0.75, 1),
            says("“postcode” depends most"),
        ),
        q7=(near("paid_above_of_all", 0.0373, 0.0015),),
    ),
    World(
        "blank claims",
        "price and cost rise by 30 % with age, and half of the claims are empty cells",
        _blank,
        600,
        {"outcome": "claims"},
    ).where(
        EARNED,
        q3=(
            *(near(f"{name}_s10_s90", 0.8 * G, 0.012) for name in ("gap", "earned")),
            near("left_s10_s90", 0, 0.012),
            says("An empty cell may mean no claim"),
        ),
        q4=NO_COST[4],
        q5=(
            *EARNED[5][:3],
            near("loss_ratio", 2 * LOSS_RATIO, 0.006),
            says("An empty cell may mean no claim"),
        ),
        q7=(
            near("paid_above_mean_per_head", G / 4, 0.005),
            near("paid_above_of_all", 0, 0.002),
            says("An empty cell may mean no claim"),
        ),
        # Only half of the rows are available for training.
        q8=(
            near(cell("premiums", "mean", premium="best_estimate"), 1, 0.007),
            near(cell("premiums", "gap", premium="best_estimate"), 0.95 * G, 0.025),
            between("proxy_effect", 0, 0.04),
            near("cost_of_parity", G / 4, 0.006),
        ),
    ),
    World(
        "a factor that is the attribute",
        "the price rises by 30 % with age, and the year of birth is called a factor",
        _with_birth_year,
        600,
        {"controls": ["born"]},
    ).where(
        NO_COST,
        part(LINE, 1, 2, 7, 9),
        q6=(LINE[6][0], between("uses_itself ci_high", -1, 0.005), says("“born” depends most")),
        q4=(verdict("conditional_independence", "undecided"), says("There is nothing to compare")),
    ),
    World(
        "a factor of one value",
        "the price rises by 30 % with age, and the factor is the same in all rows",
        _one_country,
        600,
        {"controls": ["country"]},
    ).where(
        NO_COST, part(LINE, 1, 2, 7, 9), q6=LINE[6][:2], q4=(*LINE[4], says("has the same value in all rows"))
    ),
)
