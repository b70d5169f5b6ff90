"""Worlds that mislead: a crossing, a place that tells the age, blank cells, and factors that tell nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.auditing.worlds.costs import EARNED
from tests.auditing.worlds.drawing import LOSS_RATIO, G, Rng, book, flat, line, of_age, portfolio, uniform
from tests.auditing.worlds.shapes import LINE, NO_COST
from tests.auditing.worlds.truths import (
    World,
    between,
    cell,
    curve,
    highest,
    lowest,
    measure,
    near,
    never,
    says,
    silent,
    verdict,
)

_PLACES = 20


def _crossed(n: int, rng: Rng) -> pd.DataFrame:
    """Men pay more from 50 on, and women below, so that neither age nor sex alone has a gap."""
    u, sex = uniform(n, rng), rng.choice(["f", "m"], n)
    dear = (u > 0.5) == (sex == "m")
    return portfolio(u, rng, 1 + G * (dear - 0.5)).assign(sex=sex)


def _by_place(n: int, rng: Rng) -> pd.DataFrame:
    """People of one place have about one age, and the price is of the place."""
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


TRAPS = (
    World(
        name="a pair of attributes",
        about="older men and younger women pay 30 % more; neither age nor sex alone has a gap",
        make=_crossed,
        rows=800,
        options={"sensitive": ["age", "sex"]},
        truths={
            1: (
                never("independence", "above"),
                verdict("independence", "below", "undecided", along="sex"),
                verdict("independence", "above", along="age × sex"),
                # The highest of twenty means is a little too high, the lowest too low.
                between(
                    cell("by_sensitive", "value", sensitive="age × sex", criterion="independence"), 0.28, 0.34
                ),
                near(measure("direction"), 0, 0.018),
            ),
            2: (curve(of_age(flat)), says("cells of “age × sex”")),
            # With sex beside it, age tells all.
            6: (between(measure("share_of_variance"), 0, 0.05), between(measure("uses_itself"), 0.5, 1.5)),
            7: (near(measure("paid_above_of_all"), 0, 0.005),),
            9: (silent("is missing"),),
        }
        | NO_COST,
    ),
    World(
        name="age by place",
        about="a price of twenty postcodes, each with people of about one age",
        make=_by_place,
        rows=1_000,
        truths={
            1: (verdict("independence", "above"), near(measure("direction"), 0.24, 0.006)),
            2: (between(lowest(), 20, 24), between(highest(), 76, 80)),
            6: (
                near(measure("share_of_variance"), 0.873, 0.03),
                between(measure("uses_itself", "ci_high"), -1, 0.005),
                between(cell("drivers", "share", feature="postcode"), 0.75, 1),
                says("“postcode” depends most"),
            ),
            7: (near(measure("paid_above_of_all"), 0.0373, 0.0015),),
            9: (silent("is missing"),),
        }
        | NO_COST,
    ),
    World(
        name="blank claims",
        about="price and cost rise by 30 % with age, and half of the claims are empty cells",
        make=_blank,
        rows=600,
        options={"outcome": "claims"},
        truths=EARNED
        | {
            3: (
                *(near(measure(f"{name}_s10_s90"), 0.8 * G, 0.012) for name in ("gap", "earned")),
                near(measure("left_s10_s90"), 0, 0.012),
                says("A blank may mean no claim"),
            ),
            4: NO_COST[4],
            5: (
                *EARNED[5][:3],
                near(measure("loss_ratio"), 2 * LOSS_RATIO, 0.006),
                says("A blank may mean no claim"),
            ),
            7: (
                near(measure("paid_above_mean_per_head"), G / 4, 0.005),
                near(measure("paid_above_of_all"), 0, 0.002),
                says("A blank may mean no claim"),
            ),
            # Half of the rows are left to learn from.
            8: (
                near(cell("premiums", "mean", premium="best_estimate"), 1, 0.007),
                near(cell("premiums", "gap", premium="best_estimate"), 0.95 * G, 0.025),
                between(measure("proxy_effect"), 0, 0.04),
                near(measure("cost_of_parity"), G / 4, 0.006),
            ),
        },
    ),
    World(
        name="a factor that is the attribute",
        about="the price rises by 30 % with age, and the year of birth is called a factor",
        make=_with_birth_year,
        rows=600,
        options={"controls": ["born"]},
        truths={number: LINE[number] for number in (1, 2, 7, 9)}
        | {
            6: (
                LINE[6][0],
                between(measure("uses_itself", "ci_high"), -1, 0.005),
                says("“born” depends most"),
            )
        }
        | NO_COST
        | {4: (verdict("conditional_independence", "undecided"), says("There is nothing to compare"))},
    ),
    World(
        name="a factor of one value",
        about="the price rises by 30 % with age, and the factor is the same in all rows",
        make=_one_country,
        rows=600,
        options={"controls": ["country"]},
        truths={number: LINE[number] for number in (1, 2, 7, 9)}
        | {6: LINE[6][:2]}
        | NO_COST
        | {4: (*LINE[4], says("has the same value in all rows"))},
    ),
)
