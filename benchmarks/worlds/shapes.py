"""Worlds of a price along the attribute, and of a cost that explains its gap or shows an undercharge."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.worlds.drawing import (
    CV,
    LOSS_RATIO,
    OTHER,
    Array,
    G,
    Rng,
    book,
    flat,
    line,
    noise,
    of_age,
    portfolio,
    uniform,
)
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
    no_answer,
    says,
    silent,
    verdict,
)
from fairdash.auditing.plan import QUESTIONS

WITH_COST = {"outcome": "claims", "controls": ["zone"]}
#: The world has one price and no model.
ALONE = {10: no_answer(), 11: no_answer()}
#: Without factors, questions on factors have no answer.
NO_FEATURES = {"features": []}
NO_COST = {
    3: (says("name an outcome"),),
    4: no_answer(QUESTIONS[4].missing),
    5: no_answer(QUESTIONS[5].missing),
    8: no_answer("This question needs"),
    9: (silent("is missing"),),
    **ALONE,
}

#: Neither price nor cost depends on the attribute: every gap is 0.
FLAT = {
    1: (
        verdict("independence", "below"),
        near("direction", 0, 0.004),
        between(gap(column="p_value"), 0.001, 1),
    ),
    2: (curve(of_age(flat)), curve(lambda age: 0.05 + 0 * age, "dearest_curve", 1.0)),
    3: (near("gap_s10_s90", 0, 0.004), near("earned_s10_s90", 0, 0.007), near("left_s10_s90", 0, 0.007)),
    4: (
        verdict("conditional_independence", "below"),
        between(gap("conditional_independence", "p_value"), 0.001, 1),
    ),
    5: (
        verdict("sufficiency", "below"),
        never("equalized_residuals", "above"),
        near("loss_ratio", LOSS_RATIO, 0.002),
    ),
    6: (between("share_of_variance", 0, 0.03), silent("The price uses it")),
    7: (near("paid_above_of_all", 0, 0.0012),),
    8: (
        near(cell("premiums", "mean", premium="best_estimate"), 1, 0.005),
        between("proxy_effect", 0, 0.03),
        between("cost_of_parity", 0, 0.03),
    ),
    9: (says("there are enough rows"), silent("is missing")),
    **ALONE,
}

#: The price is a line from 1 − G/2 to 1 + G/2; neither cost nor a factor depends on the attribute.
LINE = {
    1: (
        verdict("independence", "above"),
        near(gap(), 0.95 * G, 0.009),
        near("direction", 0.8 * G, 0.006),
        near("typical_gap", G / np.sqrt(12), 0.002),
    ),
    2: (curve(of_age(line())), between(lowest(), 20, 25), between(highest(), 75, 80)),
    3: (
        near("gap_s10_s90", 0.8 * G, 0.006),
        near("earned_s10_s90", 0, 0.008),
        near("left_s10_s90", 0.8 * G, 0.006),
    ),
    4: (verdict("conditional_independence", "above"), near(gap("conditional_independence"), 0.95 * G, 0.009)),
    5: (
        # At equal prices, older people have less power, so their cost differs by the spread of the factor,
        # under 3 %.
        verdict("sufficiency", "below"),
        verdict("equalized_residuals", "above"),
        near(gap("equalized_residuals"), 0.95 * G, 0.01),
        says("Low prices are too low and high prices too high"),
    ),
    6: (
        near("share_of_variance", (G**2 / 12) / (G**2 / 12 + OTHER), 0.01),
        between("uses_itself ci_low", 0.5, 1),
        # A price without proxy discrimination keeps only the factor's effect.
        between("proxy_discrimination", 0.8, 1),
    ),
    # The older half pays G/4 too much per head, and no cost explains it.
    7: (near("paid_above_per_head", G / 4, 0.0035), near("paid_above_of_all", G / 8, 0.0013)),
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

#: Cost depends on the attribute in the same way as the price.
EARNED = LINE | {
    3: (
        near("gap_s10_s90", 0.8 * G, 0.006),
        near("earned_s10_s90", 0.8 * G, 0.009),
        near("left_s10_s90", 0, 0.007),
    ),
    5: (
        verdict("sufficiency", "below"),
        never("equalized_residuals", "above"),
        # The mean of the residual is 0 at every age, but its spread differs: the p-value concerns means.
        between(gap("equalized_residuals", "p_value"), 0.01, 1),
        near("loss_ratio", LOSS_RATIO, 0.002),
    ),
    6: LINE[6][:2],
    7: (near("paid_above_mean_per_head", G / 4, 0.0035), near("paid_above_of_all", 0, 0.0012)),
    8: (
        near(cell("premiums", "mean", premium="best_estimate"), 1, 0.005),
        near(cell("premiums", "gap", premium="best_estimate"), 0.95 * G, 0.02),
        # No factor is related to the attribute, so a premium learned without it has no gap.
        between(cell("premiums", "gap", premium="unaware"), 0, 0.05),
        between(cell("premiums", "gap", premium="corrective"), 0, 0.05),
        between("proxy_effect", 0, 0.03),
        # A linear price becomes flat: E|G (u − ½)| = G/4.
        near("cost_of_parity", G / 4, 0.005),
    ),
}


def _loaded(n: int, rng: Rng) -> pd.DataFrame:
    u = uniform(n, rng)
    frame = portfolio(u, rng, line()(u), cv=CV)
    expected = frame["price"] / 1.3
    return frame.assign(expected=expected, claims=expected * noise(rng, n, 1.0))


def _few_claims(n: int, rng: Rng) -> pd.DataFrame:
    frame = portfolio(uniform(n, rng), rng, 1.0, cv=0.0001)
    return frame.assign(claims=np.where(rng.permutation(n) < n // 100, 7_000.0, 0.0))


SHAPES = (
    World("no effect", "price and cost follow power alone", book(flat, flat), 600, WITH_COST).where(FLAT),
    World(
        "linear gap", "the price rises by 30 % with age, cost does not", book(line(), flat), 600, WITH_COST
    ).where(LINE),
    World("U-shape", "the youngest and the oldest pay 27 % more; no correlation", book(_u_shape), 600).where(
        NO_COST,
        q1=(
            verdict("independence", "above"),
            # E[(u − ½)² | u < 0.05] = (0.5³ − 0.45³) / 0.15, compared with 0 in the middle.
            near(gap(), _A * (0.5**3 - 0.45**3) / 0.15, 0.005),
            near("direction", 0, 0.014),
            # Var((u − ½)²) = 1/80 − 1/144.
            near("typical_gap", _A * np.sqrt(1 / 80 - 1 / 144), 0.002),
        ),
        q2=(curve(of_age(_u_shape)), between(lowest(), 45, 55)),
        q6=(
            near("share_of_variance", _A**2 / 180 / (_A**2 / 180 + OTHER), 0.01),
            between("uses_itself ci_low", 0.5, 1),
        ),
        # A times twice the integral of x² − 1/12 from 1/√12 to ½.
        q7=(near("paid_above_of_all", _A / (9 * np.sqrt(12)), 0.0009),),
    ),
    World(
        "gap of exactly δ",
        "the largest gap is 5 %, so that either verdict is wrong",
        book(line(_AT_DELTA)),
        600,
        NO_FEATURES,
    ).where(
        NO_COST,
        q1=(
            verdict("independence", "undecided"),
            near(gap(), 0.05, 0.007),
            near("direction", 0.8 * _AT_DELTA, 0.004),
        ),
        q2=(curve(of_age(line(_AT_DELTA))),),
        q6=(
            near("share_of_variance", _AT_DELTA**2 / 12 / (_AT_DELTA**2 / 12 + OTHER), 0.03),
            says("no further informative columns"),
        ),
        q7=(near("paid_above_of_all", _AT_DELTA / 8, 0.0011),),
        q9=(says("there are enough rows"),),
    ),
    World(
        "spread alone", "the price's spread follows age, its mean does not", _wide_when_old, 600, NO_FEATURES
    ).where(
        NO_COST,
        q1=(
            never("independence", "above"),
            near("direction", 0, 0.02),
            # The joint test detects any kind of link.
            between(gap(column="p_any_link"), 0, 0.05),
            between(gap(column="p_value"), 0.001, 1),
        ),
        q2=(curve(of_age(flat)),),
        q6=(between("share_of_variance", 0, 0.03), says("no further informative columns")),
        q7=(near("paid_above_of_all", 0, 0.0035),),
    ),
    World("surcharge on the top 3 %", "the oldest 3 % pay 50 % more", book(_top), 800).where(
        NO_COST,
        q1=(
            verdict("independence", "above"),
            near(gap(), _STEP * 7 / 12 / _TOP_MEAN, 0.08),
            near("direction", 0, 0.005),
        ),
        q2=(between(highest(), 77, 80),),
        q6=(between("uses_itself ci_low", 0.3, 1),),
        q7=(near("paid_above_of_all", _STEP * 7 / 240 / _TOP_MEAN, 0.004),),
    ),
    World("heavy tails", "a lognormal price (σ = 1) without an effect", _lognormal, 600, NO_FEATURES).where(
        NO_COST,
        q1=(
            never("independence", "above"),
            never("independence", "below"),
            between(gap(column="p_value"), 0.001, 1),
        ),
        q2=(curve(of_age(flat)),),
        q6=(between("share_of_variance", 0, 0.03), says("no further informative columns")),
        q7=(near("paid_above_of_all", 0, 0.03),),
        q9=(says("rows would be needed"),),
    ),
    World("ties in the attribute", "five ages, between which the price rises by 24 %", _five_ages, 400).where(
        NO_COST,
        q1=(verdict("independence", "above"), near(gap(), 0.8 * G, 0.005)),
        q2=(curve(of_age(line())), near(lowest(), 26, 0), near(highest(), 74, 0)),
        q6=(between("uses_itself ci_low", 0.5, 1),),
        # The two most expensive of five levels pay 0.2 G and 0.4 G more.
        q7=(near("paid_above_of_all", 0.6 * G / 5, 0.002),),
        q9=(says("there are enough rows"),),
    ),
    World(
        "earned in full", "price and cost rise by 30 % with age", book(line(), line()), 600, WITH_COST
    ).where(EARNED),
    World(
        "half earned",
        "the price rises by 30 % with age, cost by 15 %",
        book(line(), line(G / 2)),
        600,
        WITH_COST,
    ).where(
        LINE,
        q3=(
            near("gap_s10_s90", 0.8 * G, 0.006),
            near("earned_s10_s90", 0.4 * G, 0.008),
            near("left_s10_s90", 0.4 * G, 0.008),
        ),
        q5=(
            verdict("sufficiency", "below"),
            verdict("equalized_residuals", "above"),
            near(gap("equalized_residuals"), 0.95 * G / 2, 0.012),
        ),
        q6=LINE[6][:2],
        # The older half pays G/8 more per head than its cost.
        q7=(near("paid_above_mean_per_head", G / 4, 0.0035), near("paid_above_per_head", G / 8, 0.003)),
        q8=(
            near(cell("premiums", "mean", premium="best_estimate"), 1, 0.005),
            near(cell("premiums", "gap", premium="best_estimate"), 0.95 * G / 2, 0.02),
            between("proxy_effect", 0, 0.03),
            near("cost_of_parity", G / 8, 0.005),
        ),
    ),
    World(
        "undercharged",
        "cost rises by 40 % with age, the price does not",
        book(flat, line(0.4)),
        600,
        WITH_COST,
    ).where(
        FLAT,
        q3=(
            near("gap_s10_s90", 0, 0.005),
            near("earned_s10_s90", 0.32, 0.008),
            near("left_s10_s90", -0.32, 0.008),
        ),
        q5=(
            verdict("sufficiency", "above"),
            verdict("equalized_residuals", "above"),
            # At equal prices, the two halves of the ages differ by 0.1 in cost; differences within a half do
            # not count.
            near(gap("sufficiency"), 0.1, 0.004),
            near(gap("equalized_residuals"), 0.38, 0.01),
            curve(of_age(lambda u: 0.4 * (u - 0.5)), "residual_curve"),
            says("clearest undercharge"),
        ),
        # The younger half pays 0.1 more per head than its cost.
        q7=(near("paid_above_mean_per_head", 0, 0.002), near("paid_above_per_head", 0.1, 0.004)),
        q8=(
            near(cell("premiums", "mean", premium="best_estimate"), 1, 0.005),
            near(cell("premiums", "gap", premium="best_estimate"), 0.38, 0.03),
            between(cell("premiums", "gap", premium="aware"), 0, 0.05),
            near("cost_of_parity", 0.1, 0.005),
        ),
    ),
    World(
        "loading alone",
        "the price is 1.3 times the expected cost, which rises with age",
        _loaded,
        600,
        {"outcome": "claims", "expected_cost": "expected"},
    ).where(
        EARNED,
        q3=(near("gap_s10_s90", 0.8 * G, 0.006), between("left_s10_s90", -1e-6, 1e-6)),
        q4=NO_COST[4],
        q5=(
            never("sufficiency", "above"),
            never("equalized_residuals", "above"),
            between(gap("sufficiency", "p_value"), 0.001, 1),
            between(gap("equalized_residuals", "p_value"), 0.001, 1),
            near("loss_ratio", 1 / 1.3, 0.03),
            says("Autocalibration: at no price"),
        ),
        q7=(near("paid_above_mean_per_head", G / 4, 0.0035), between("paid_above_of_all", -1e-6, 1e-6)),
    ),
    World(
        "few claims",
        "one claim in a hundred policies, which nothing predicts",
        _few_claims,
        1_000,
        {"outcome": "claims"},
    ).where(
        FLAT,
        # A tenth of the rows has one claim on average, and a standard deviation of one.
        q3=(near("left_s10_s90", 0, 1.0),),
        q4=NO_COST[4],
        q5=(
            never("sufficiency", "above"),
            never("sufficiency", "below"),
            never("equalized_residuals", "above"),
            never("equalized_residuals", "below"),
            between(gap("equalized_residuals", "p_value"), 0.001, 1),
            between("loss_ratio", 0.69, 0.71),
        ),
        q7=(near("paid_above_of_all", 0, 0.15),),
        # Premiums that can't be learned have no results.
        q8=(says("explain no detectable part"), between("explained ci_low", -9, 0)),
    ),
)
