"""Scene 4: the duel of a predictor with its adversary."""

from __future__ import annotations

import pandas as pd

from fairdash.simulations.lesson.curve import signed
from fairdash.simulations.lesson.data import row_of, table

LAM = 4.0
STEPS = tuple(range(0, 401, 10))
#: Step at which the adversary stops learning, where it is frozen.
FROZEN_AT = 100


def states(frozen: bool) -> pd.DataFrame:
    """A row a step that is shown: ``mse`` (1 is what the average reaches), ``j`` as the adversary reads it,
    and ``fresh``, what a new estimator reads: HGR_spline by its default."""
    found = table("duel")
    return found[found["frozen"] == frozen].reset_index(drop=True)


def by_age(frozen: bool, step: int) -> pd.DataFrame:
    """Average ``price`` in €, and ``g`` in standard deviations, by ``age``."""
    found = table("duel_by_age")
    return found[(found["frozen"] == frozen) & (found["step"] == step)].reset_index(drop=True)


def average_price() -> float:
    """What everyone would pay if the price were the same for all; in €."""
    return float(by_age(False, max(STEPS))["price"].mean())


def sentence(frozen: bool, step: int) -> str:
    """Where the game stands, in Markdown."""
    row = row_of(states(frozen), "step", step)
    prices = by_age(frozen, step)["price"]
    told = (
        f"**After {step} steps the adversary reads {signed(row['j'])}, and a fresh estimator "
        f"{signed(row['fresh'])}; the error is {row['mse']:.2f} of the variance.** "
        f"Average prices by age differ by up to {prices.max() - prices.min():.0f} €."
    )
    if frozen and step > FROZEN_AT:
        return told + (
            f" The adversary has learned nothing since step {FROZEN_AT}: the predictor escapes from what it "
            "knows, and what it reads says little of what is there."
        )
    return told
