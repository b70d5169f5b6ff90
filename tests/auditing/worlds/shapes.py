"""Worlds of a price along the attribute: its shape, its spread, and how surely it can be seen."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.auditing.plan import QUESTIONS
from tests.auditing.worlds.drawing import (
    LOSS_RATIO,
    OTHER,
    Array,
    G,
    Rng,
    book,
    flat,
    line,
    of_age,
    portfolio,
    uniform,
)
from tests.auditing.worlds.truths import (
    Truth,
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
    no_answer,
    says,
    silent,
    verdict,
)

Truths = dict[int, tuple[Truth, ...]]

WITH_COST = {"outcome": "claims", "controls": ["zone"]}
#: One price, and no model of it.
ALONE: Truths = {10: no_answer(), 11: no_answer()}
#: Without factors nothing can be said of them.
NO_FEATURES = {"features": []}
NO_COST: Truths = {
    3: (says("name an outcome"),),
    4: no_answer(QUESTIONS[4].missing),
    5: no_answer(QUESTIONS[5].missing),
    8: no_answer("This question needs"),
    **ALONE,
}

#: Neither price nor cost follows the attribute: every gap is 0.
FLAT: Truths = {
    1: (
        verdict("independence", "below"),
        near(measure("direction"), 0, 0.004),
        between(gap(column="p_value"), 0.001, 1),
    ),
    2: (curve(of_age(flat)), curve(lambda age: 0.05 + 0 * age, "dearest_curve", 1.0)),
    3: (
        near(measure("gap_s10_s90"), 0, 0.004),
        near(measure("earned_s10_s90"), 0, 0.007),
        near(measure("left_s10_s90"), 0, 0.007),
    ),
    4: (
        verdict("conditional_independence", "below"),
        between(gap("conditional_independence", "p_value"), 0.001, 1),
    ),
    5: (
        verdict("sufficiency", "below"),
        never("equalized_residuals", "above"),
        near(measure("loss_ratio"), LOSS_RATIO, 0.002),
    ),
    6: (between(measure("share_of_variance"), 0, 0.03), silent("The price uses it")),
    7: (near(measure("paid_above_of_all"), 0, 0.0012),),
    8: (
        near(cell("premiums", "mean", premium="best_estimate"), 1, 0.005),
        between(measure("proxy_effect"), 0, 0.03),
        between(measure("cost_of_parity"), 0, 0.03),
    ),
    9: (says("there are enough rows"), silent("is missing")),
    **ALONE,
}

#: The price is a line from 1 − G/2 to 1 + G/2; neither cost nor a factor has to do with the attribute.
LINE: Truths = {
    1: (
        verdict("independence", "above"),
        near(gap(), 0.95 * G, 0.009),
        near(measure("direction"), 0.8 * G, 0.006),
        near(measure("typical_gap"), G / np.sqrt(12), 0.002),
    ),
    2: (curve(of_age(line())), between(lowest(), 20, 25), between(highest(), 75, 80)),
    3: (
        near(measure("gap_s10_s90"), 0.8 * G, 0.006),
        near(measure("earned_s10_s90"), 0, 0.008),
        near(measure("left_s10_s90"), 0.8 * G, 0.006),
    ),
    4: (verdict("conditional_independence", "above"), near(gap("conditional_independence"), 0.95 * G, 0.009)),
    5: (
        # At one price the older have less power, so that their cost varies by the factor's spread, under 3 %.
        verdict("sufficiency", "below"),
        verdict("equalized_residuals", "above"),
        near(gap("equalized_residuals"), 0.95 * G, 0.01),
        says("Low prices are too low and high prices too high"),
    ),
    6: (
        near(measure("share_of_variance"), (G**2 / 12) / (G**2 / 12 + OTHER), 0.01),
        between(measure("uses_itself", "ci_low"), 0.5, 1),
        # A price without proxy discrimination has the factor's effect and nothing else of the price.
        between(measure("proxy_discrimination"), 0.8, 1),
    ),
    # The older half pays G/4 too much a head, and no cost explains it.
    7: (
        near(measure("paid_above_per_head"), G / 4, 0.0035),
        near(measure("paid_above_of_all"), G / 8, 0.0013),
    ),
    8: FLAT[8],
    9: (says("there are enough rows"),),
    **ALONE,
}

_A = 1.2
_AT_DELTA = 0.05 / 0.95
_STEP = 0.5


def _u_shape(u: Array) -> Array:
    return 1 + _A * ((u - 0.5) ** 2 - 1 / 12)


def _top(u: Array) -> Array:
    return 1 + _STEP * (u > 0.97)


def _wide_when_old(n: int, rng: Rng) -> pd.DataFrame:
    u = uniform(n, rng)
    return portfolio(u, rng, 1.0, cv=0.02 + 0.2 * u)


def _lognormal(n: int, rng: Rng) -> pd.DataFrame:
    return portfolio(uniform(n, rng), rng, np.exp(rng.normal(size=n) - 0.5))


def _five_ages(n: int, rng: Rng) -> pd.DataFrame:
    level = np.floor(5 * uniform(n, rng))
    return portfolio((level + 0.5) / 5, rng, line()((level + 0.5) / 5))


#: Of the twelve steps of u above the 95th percentile, seven are above 0.97.
_TOP_MEAN = 1 + _STEP * 7 / 240

SHAPES = (
    World(
        name="no effect",
        about="price and cost follow power alone",
        make=book(flat, flat),
        rows=600,
        options=WITH_COST,
        truths=FLAT,
    ),
    World(
        name="linear gap",
        about="the price rises by 30 % with age, cost does not",
        make=book(line(), flat),
        rows=600,
        options=WITH_COST,
        truths=LINE,
    ),
    World(
        name="U-shape",
        about="the youngest and the oldest pay 27 % more; no correlation",
        make=book(_u_shape),
        rows=600,
        truths={
            1: (
                verdict("independence", "above"),
                # E[(u − ½)² | u < 0.05] = (0.5³ − 0.45³) / 0.15, against 0 in the middle.
                near(gap(), _A * (0.5**3 - 0.45**3) / 0.15, 0.005),
                near(measure("direction"), 0, 0.014),
                # Var((u − ½)²) = 1/80 − 1/144.
                near(measure("typical_gap"), _A * np.sqrt(1 / 80 - 1 / 144), 0.002),
            ),
            2: (curve(of_age(_u_shape)), between(lowest(), 45, 55)),
            6: (
                near(measure("share_of_variance"), _A**2 / 180 / (_A**2 / 180 + OTHER), 0.01),
                between(measure("uses_itself", "ci_low"), 0.5, 1),
            ),
            # A times twice the integral of x² − 1/12 from 1/√12 to ½.
            7: (near(measure("paid_above_of_all"), _A / (9 * np.sqrt(12)), 0.0009),),
            9: (silent("is missing"),),
        }
        | NO_COST,
    ),
    World(
        name="gap of exactly δ",
        about="the largest gap is 5 %, so that either verdict is wrong",
        make=book(line(_AT_DELTA)),
        rows=600,
        options=NO_FEATURES,
        truths={
            1: (
                verdict("independence", "undecided"),
                near(gap(), 0.05, 0.007),
                near(measure("direction"), 0.8 * _AT_DELTA, 0.004),
            ),
            2: (curve(of_age(line(_AT_DELTA))),),
            6: (
                near(measure("share_of_variance"), _AT_DELTA**2 / 12 / (_AT_DELTA**2 / 12 + OTHER), 0.03),
                says("no further informative columns"),
            ),
            7: (near(measure("paid_above_of_all"), _AT_DELTA / 8, 0.0011),),
            9: (says("there are enough rows"),),
        }
        | NO_COST,
    ),
    World(
        name="spread alone",
        about="the price's spread follows age, its mean does not",
        make=_wide_when_old,
        rows=600,
        options=NO_FEATURES,
        truths={
            1: (
                never("independence", "above"),
                near(measure("direction"), 0, 0.02),
                # The joint test is of a link of any kind.
                between(gap(column="p_any_link"), 0, 0.05),
                between(gap(column="p_value"), 0.001, 1),
            ),
            2: (curve(of_age(flat)),),
            6: (between(measure("share_of_variance"), 0, 0.03), says("no further informative columns")),
            7: (near(measure("paid_above_of_all"), 0, 0.0035),),
            9: (silent("is missing"),),
        }
        | NO_COST,
    ),
    World(
        name="surcharge on the top 3 %",
        about="the oldest 3 % pay 50 % more",
        make=book(_top),
        rows=800,
        truths={
            1: (
                verdict("independence", "above"),
                near(gap(), _STEP * 7 / 12 / _TOP_MEAN, 0.08),
                near(measure("direction"), 0, 0.005),
            ),
            2: (between(highest(), 77, 80),),
            6: (between(measure("uses_itself", "ci_low"), 0.3, 1),),
            7: (near(measure("paid_above_of_all"), _STEP * 7 / 240 / _TOP_MEAN, 0.004),),
            9: (silent("is missing"),),
        }
        | NO_COST,
    ),
    World(
        name="heavy tails",
        about="a lognormal price (σ = 1) without an effect",
        make=_lognormal,
        rows=600,
        options=NO_FEATURES,
        truths={
            1: (
                never("independence", "above"),
                never("independence", "below"),
                between(gap(column="p_value"), 0.001, 1),
            ),
            2: (curve(of_age(flat)),),
            6: (between(measure("share_of_variance"), 0, 0.03), says("no further informative columns")),
            7: (near(measure("paid_above_of_all"), 0, 0.03),),
            9: (says("rows would be needed"),),
        }
        | NO_COST,
    ),
    World(
        name="ties in the attribute",
        about="five ages, between which the price rises by 24 %",
        make=_five_ages,
        rows=400,
        truths={
            1: (verdict("independence", "above"), near(gap(), 0.8 * G, 0.005)),
            2: (curve(of_age(line())), near(lowest(), 26, 0), near(highest(), 74, 0)),
            6: (between(measure("uses_itself", "ci_low"), 0.5, 1),),
            # The two dearer of five levels pay 0.2 G and 0.4 G more.
            7: (near(measure("paid_above_of_all"), 0.6 * G / 5, 0.002),),
            9: (says("there are enough rows"),),
        }
        | NO_COST,
    ),
)
