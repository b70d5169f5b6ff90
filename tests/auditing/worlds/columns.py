"""Worlds of the table's other columns: factors that explain a gap, hide it or carry it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.auditing.worlds.drawing import (
    CV,
    OTHER,
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
from tests.auditing.worlds.shapes import LINE, NO_COST, Truths
from tests.auditing.worlds.truths import (
    World,
    between,
    cell,
    curve,
    gap,
    highest,
    lowest,
    measure,
    near,
    never,
    says,
    silent,
    verdict,
)

#: Mileage is the place u of the age in 70 % of the rows: a line of G in mileage is one of 0.7 G in age.
SHARE = 0.7
_BY_MILEAGE = SHARE * G
#: What mileage leaves of a line's variance at one age.
_LEFT = G**2 / 12 * (1 - SHARE**2)

#: The factors explain all that the price has of the attribute.
NONE_AMONG_EQUALS: Truths = {
    4: (
        verdict("conditional_independence", "below"),
        between(gap("conditional_independence", "p_value"), 0.001, 1),
    )
}
#: The price is a line in mileage and has nothing else of age.
PROXY: Truths = {
    1: (
        verdict("independence", "above"),
        near(gap(), 0.95 * _BY_MILEAGE, 0.015),
        near(measure("direction"), 0.8 * _BY_MILEAGE, 0.01),
    ),
    2: (curve(of_age(line(_BY_MILEAGE))),),
    6: (
        near(measure("share_of_variance"), _BY_MILEAGE**2 / 12 / (G**2 / 12 + OTHER), 0.04),
        between(measure("uses_itself", "ci_low"), -1, 0.005),
        near(cell("drivers", "share", feature="mileage"), _BY_MILEAGE**2 / 12 / (G**2 / 12 + OTHER), 0.05),
    ),
    # The older half pays 0.7 G / 4 more a head.
    7: (near(measure("paid_above_per_head"), _BY_MILEAGE / 4, 0.003),),
    9: (silent("is missing"),),
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
    """Half of the price is a premium that follows age, the other half is one that does not."""
    u = uniform(n, rng)
    frame = portfolio(u, rng, 1.0)
    frame["liability"] = 50 * line(2 * G)(u) * noise(rng, n, CV)
    frame["damage"] = 50 * noise(rng, n, 0.1)
    return frame.assign(price=frame["liability"] + frame["damage"])


COLUMNS = (
    World(
        name="proxy alone",
        about="the price follows mileage, which is related to age",
        make=_mileage("mileage"),
        rows=800,
        truths=PROXY | NO_COST,
    ),
    World(
        name="age itself",
        about="the price uses age itself; mileage is related to it",
        make=_mileage("age"),
        rows=600,
        truths={number: LINE[number] for number in (1, 2, 7, 9)}
        | {
            6: (
                LINE[6][0],
                # Mileage leaves half of what age explains.
                between(measure("uses_itself", "ci_low"), 0.3, 1),
                says("from these columns: “age”"),
            )
        }
        | NO_COST,
    ),
    World(
        name="vanishing given a factor",
        about="among rows of one mileage the price does not follow age",
        make=_mileage("mileage"),
        rows=800,
        options={"controls": ["mileage"]},
        truths=PROXY | NO_COST | NONE_AMONG_EQUALS,
    ),
    World(
        name="one allowed factor",
        about="the bonus, of five levels, explains all that the price has of age",
        make=_bonus,
        rows=800,
        options={"controls": ["bonus"]},
        truths={
            1: (verdict("independence", "above"), near(gap(), SHARE * 0.8 * G, 0.01)),
            2: (between(lowest(), 20, 32), between(highest(), 68, 80)),
            # Four fifths of a line's variance less what five levels lose of it.
            6: (between(measure("uses_itself", "ci_low"), -1, 0.005), says("from these columns: “bonus”")),
            # The two upper of five levels pay 0.2 G and 0.4 G more, the two lower less.
            7: (near(measure("paid_above_of_all"), SHARE * 0.6 * G / 5, 0.0013),),
            9: (silent("is missing"),),
        }
        | NO_COST
        | NONE_AMONG_EQUALS,
    ),
    World(
        name="only within a factor",
        about="the price rises with age on one side and falls on the other",
        make=_opposite,
        rows=600,
        options={"controls": ["side"]},
        truths={
            1: (
                never("independence", "above"),
                near(measure("direction"), 0, 0.02),
                between(gap(column="p_any_link"), 0, 0.05),
            ),
            2: (curve(of_age(flat)),),
            6: (between(measure("share_of_variance"), 0, 0.05),),
            7: (near(measure("paid_above_of_all"), 0, 0.002),),
            9: (silent("is missing"),),
        }
        | NO_COST
        | {
            4: (
                never("conditional_independence", "above"),
                between(gap("conditional_independence", "p_any_link"), 0, 0.01),
            )
        },
    ),
    World(
        name="parts of the price",
        about="two premiums add up to the price, and one of them follows age",
        make=_parts,
        rows=600,
        truths={
            1: (
                verdict("independence", "above"),
                near(gap(), 0.95 * G, 0.01),
                near(measure("direction"), 0.8 * G, 0.008),
            ),
            2: (curve(of_age(line())),),
            # With its parts among the factors a price uses nothing; they are no factors.
            6: (between(measure("uses_itself", "ci_low"), 0.3, 1),),
            7: (near(measure("paid_above_of_all"), G / 8, 0.0015),),
            9: (silent("is missing"),),
        }
        | NO_COST,
    ),
)
