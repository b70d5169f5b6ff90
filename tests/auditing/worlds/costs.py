"""Worlds with a cost: what of a gap it explains, and who is undercharged at a given price."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.auditing.worlds.drawing import (
    CV,
    LOSS_RATIO,
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
from tests.auditing.worlds.shapes import FLAT, LINE, NO_COST, WITH_COST, Truths
from tests.auditing.worlds.truths import World, between, cell, curve, gap, measure, near, never, says, verdict

#: Cost follows the attribute as the price does.
EARNED: Truths = LINE | {
    3: (
        near(measure("gap_s10_s90"), 0.8 * G, 0.006),
        near(measure("earned_s10_s90"), 0.8 * G, 0.009),
        near(measure("left_s10_s90"), 0, 0.007),
    ),
    5: (
        verdict("sufficiency", "below"),
        never("equalized_residuals", "above"),
        # The residual's mean is 0 at every age, but its spread is not: the p-value is of means.
        between(gap("equalized_residuals", "p_value"), 0.01, 1),
        near(measure("loss_ratio"), LOSS_RATIO, 0.002),
    ),
    6: LINE[6][:2],
    7: (
        near(measure("paid_above_mean_per_head"), G / 4, 0.0035),
        near(measure("paid_above_of_all"), 0, 0.0012),
    ),
    8: (
        near(cell("premiums", "mean", premium="best_estimate"), 1, 0.005),
        near(cell("premiums", "gap", premium="best_estimate"), 0.95 * G, 0.02),
        # No factor tells of the attribute: what is learned without it has no gap.
        between(cell("premiums", "gap", premium="unaware"), 0, 0.05),
        between(cell("premiums", "gap", premium="corrective"), 0, 0.05),
        between(measure("proxy_effect"), 0, 0.03),
        # A line becomes flat: E|G (u − ½)| = G/4.
        near(measure("cost_of_parity"), G / 4, 0.005),
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


COSTS = (
    World(
        name="earned in full",
        about="price and cost rise by 30 % with age",
        make=book(line(), line()),
        rows=600,
        options=WITH_COST,
        truths=EARNED,
    ),
    World(
        name="half earned",
        about="the price rises by 30 % with age, cost by 15 %",
        make=book(line(), line(G / 2)),
        rows=600,
        options=WITH_COST,
        truths=LINE
        | {
            3: (
                near(measure("gap_s10_s90"), 0.8 * G, 0.006),
                near(measure("earned_s10_s90"), 0.4 * G, 0.008),
                near(measure("left_s10_s90"), 0.4 * G, 0.008),
            ),
            5: (
                verdict("sufficiency", "below"),
                verdict("equalized_residuals", "above"),
                near(gap("equalized_residuals"), 0.95 * G / 2, 0.012),
            ),
            6: LINE[6][:2],
            # The older half pays G/8 a head more than it costs.
            7: (
                near(measure("paid_above_mean_per_head"), G / 4, 0.0035),
                near(measure("paid_above_per_head"), G / 8, 0.003),
            ),
            8: (
                near(cell("premiums", "mean", premium="best_estimate"), 1, 0.005),
                near(cell("premiums", "gap", premium="best_estimate"), 0.95 * G / 2, 0.02),
                between(measure("proxy_effect"), 0, 0.03),
                near(measure("cost_of_parity"), G / 8, 0.005),
            ),
        },
    ),
    World(
        name="undercharged",
        about="cost rises by 40 % with age, the price does not",
        make=book(flat, line(0.4)),
        rows=600,
        options=WITH_COST,
        truths=FLAT
        | {
            3: (
                near(measure("gap_s10_s90"), 0, 0.005),
                near(measure("earned_s10_s90"), 0.32, 0.008),
                near(measure("left_s10_s90"), -0.32, 0.008),
            ),
            5: (
                verdict("sufficiency", "above"),
                verdict("equalized_residuals", "above"),
                # Halves of the ages at one price are 0.1 off, and what they differ within does not count.
                near(gap("sufficiency"), 0.1, 0.004),
                near(gap("equalized_residuals"), 0.38, 0.01),
                curve(of_age(lambda u: 0.4 * (u - 0.5)), "residual_curve"),
                says("clearest undercharge"),
            ),
            # The younger half pays 0.1 a head more than it costs.
            7: (
                near(measure("paid_above_mean_per_head"), 0, 0.002),
                near(measure("paid_above_per_head"), 0.1, 0.004),
            ),
            8: (
                near(cell("premiums", "mean", premium="best_estimate"), 1, 0.005),
                near(cell("premiums", "gap", premium="best_estimate"), 0.38, 0.03),
                between(cell("premiums", "gap", premium="aware"), 0, 0.05),
                near(measure("cost_of_parity"), 0.1, 0.005),
            ),
        },
    ),
    World(
        name="loading alone",
        about="the price is 1.3 times the expected cost, which rises with age",
        make=_loaded,
        rows=600,
        options={"outcome": "claims", "expected_cost": "expected"},
        truths=EARNED
        | {
            3: (near(measure("gap_s10_s90"), 0.8 * G, 0.006), between(measure("left_s10_s90"), -1e-6, 1e-6)),
            4: NO_COST[4],
            5: (
                never("sufficiency", "above"),
                never("equalized_residuals", "above"),
                between(gap("sufficiency", "p_value"), 0.001, 1),
                between(gap("equalized_residuals", "p_value"), 0.001, 1),
                near(measure("loss_ratio"), 1 / 1.3, 0.03),
                says("Autocalibration: at no price"),
            ),
            7: (
                near(measure("paid_above_mean_per_head"), G / 4, 0.0035),
                between(measure("paid_above_of_all"), -1e-6, 1e-6),
            ),
        },
    ),
    World(
        name="few claims",
        about="one claim in a hundred policies, which nothing predicts",
        make=_few_claims,
        rows=1_000,
        options={"outcome": "claims"},
        truths=FLAT
        | {
            # A tenth of the rows has one claim, whose number scatters by one.
            3: (near(measure("left_s10_s90"), 0, 1.0),),
            4: NO_COST[4],
            5: (
                never("sufficiency", "above"),
                never("sufficiency", "below"),
                never("equalized_residuals", "above"),
                never("equalized_residuals", "below"),
                between(gap("equalized_residuals", "p_value"), 0.001, 1),
                between(measure("loss_ratio"), 0.69, 0.71),
            ),
            7: (near(measure("paid_above_of_all"), 0, 0.15),),
            # What can't be learned gives no figures.
            8: (says("explain no detectable part"), between(measure("explained", "ci_low"), -9, 0)),
        },
    ),
)
