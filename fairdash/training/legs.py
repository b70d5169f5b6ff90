"""The training of a stack in legs of a few seconds, each a unit: who is killed loses one leg.

To cut the stack itself would cost its speed: on Crime five stacks of a split each take two thirds longer than
one of five. A leg is some of the epochs, and hands on where all its models stand, so that the weights are the
very same however often the training is gone on with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import pandas as pd

from fairdash.registry import get_entry
from fairdash.training.methods import METHODS
from fairdash.training.progress import StackReporter
from fairdash.training.stack_trainer import OutOfMemoryError, StackTrainer
from fairdash.training.stacked_model import StackedModel
from fairdash.units import Found, Unit

#: What a leg takes, about, on a slow core; and how many there are at most, each then a twentieth of a stack.
SECONDS, MOST_LEGS = 5.0, 20
#: Seconds that a slow core takes for a unit of :func:`work_of` and a training row.
_SECONDS_A_ROW = 1e-6
#: Those that a GPU takes for a mini-batch instead, however many models there are: it waits for the launches.
_SECONDS_A_BATCH = 1e-3


def train_in_legs(
    trainer: StackTrainer, stack: Sequence[StackedModel], report: StackReporter, unit: Unit
) -> tuple[Found | None, list[pd.DataFrame]]:
    """What :meth:`StackTrainer.train` finds of a stack, None if the device can't hold it; and its curves."""
    n_epochs, legs = stack[0].settings.n_epochs, _legs(trainer, stack)
    found: Found | None = None
    curves: list[pd.DataFrame] = []
    for leg in range(1, legs + 1):
        until = round(n_epochs * leg / legs)
        found = unit(str(until), partial(_leg, trainer, stack, report, found, until))
        if not found["fits"]:
            return None, []
        is_over = "predictions" in found
        report.leg(found["curves"], share=1.0 if is_over else until / n_epochs)
        curves.append(found["curves"])
        if is_over:
            break
    return found, curves


def work_of(models: Sequence[StackedModel]) -> float:
    """The models' share of the time, roughly: the adversary's steps are what takes it."""
    total = 0.0
    for model in models:
        method = get_entry(METHODS, model.method, option="method")
        closed_form = 0.0 if method.penalty is None else 0.5
        steps = model.settings.adversary_steps if method.adversarial else closed_form
        total += model.settings.n_epochs * (1.0 + steps)
    return total


def _legs(trainer: StackTrainer, stack: Sequence[StackedModel]) -> int:
    """How many legs: by plan and data alone, never by a clock, so that they are the same when it goes on."""
    settings, rows = stack[0].settings, min(len(trainer.splits[model.split].train) for model in stack)
    seconds = work_of(stack) * rows * _SECONDS_A_ROW
    if trainer.device != "cpu":
        seconds = work_of(stack[:1]) * rows / settings.batch_size * _SECONDS_A_BATCH
    return max(1, min(MOST_LEGS, settings.n_epochs, math.ceil(seconds / SECONDS)))


def _leg(
    trainer: StackTrainer,
    stack: Sequence[StackedModel],
    report: StackReporter,
    before: Found | None,
    until: int,
) -> Found:
    """One leg, from where the one before it has ended."""
    report.begin()
    try:
        found = trainer.train(stack, report, state=before, until=until)
    except OutOfMemoryError:
        # Found, too: who goes on with this must not try the same stack again.
        return {"fits": False}
    return {**found, "curves": pd.concat(report.curves, ignore_index=True), "fits": True}
