"""Estimated time of each step of a run on one core, by which the progress bar weights the steps."""

from __future__ import annotations

import time

import numpy as np

from fairdash.data.dataset import Dataset
from fairdash.evaluation.assess import MAX_JUDGED_ROWS, MAX_ROWS, N_PERMUTATIONS, permutations_behind_floor
from fairdash.evaluation.tradeoff_curve import curve_points
from fairdash.training.defaults import training_rows
from fairdash.training.methods import FAIR_TARIFF
from fairdash.training.pilot import seconds_of_pilot
from fairdash.training.settings import OBJECTIVES
from fairdash.training.splits import TEST_SHARE
from fairdash.training.stack_trainer import seconds_of
from fairdash.training.sweep import STANDARD, Sweep, trains_for_holdout

#: Time on a normal core, divided by the time that :func:`fairdash.training.stack_trainer.seconds_of` returns.
_SLOW_CORE_SHARE = 0.5
#: Time for tuning the settings, as a share of the training time of the models.
_TUNING = 0.05
#: Seconds per row and split for baselines and tariffs.
_BASELINE_SECONDS = 4e-5
#: Seconds per model and row for the values of all measures, for one permutation, and for the verdict.
_VALUE_SECONDS, _PERMUTATION_SECONDS, _VERDICT_SECONDS = 3.5e-6, 1.2e-6, 0.9e-6
#: Task of :func:`slowness`: its number of rows, and the seconds that it takes on a normal core.
_ROWS_OF_A_LAYER, _SECONDS_OF_A_LAYER = 512, 0.01
#: Time for the reference prices, as a share of the total time of a run.
_REFERENCES = 0.2


class Work:
    """Estimated work of each step of a run.

    Parameters
    ----------
    n_rows, n_splits
        Number of rows used, and number of splits.
    training
        Seconds for training the networks on a slow core (:func:`fairdash.training.stack_trainer.seconds_of`),
        or None if the run fits tariffs instead.
    models, blends
        Number of models and number of assessed blends, per split.
    orders
        Number of permutations for a noise floor, counted twice if there are weights, because there are then
        two null distributions.
    pilot
        Seconds for the trial trainings (pilot) on a slow core.
    is_tuned, confirms, is_preview, with_references
        Whether the run tunes settings, trains models for a confirmation, is only a preview, and computes
        references.
    """

    def __init__(
        self,
        n_rows: int,
        n_splits: int,
        *,
        training: float | None,
        models: int,
        blends: int,
        orders: int,
        pilot: float,
        is_tuned: bool,
        confirms: bool,
        is_preview: bool,
        with_references: bool,
    ) -> None:
        baseline_seconds = _BASELINE_SECONDS * n_rows * n_splits
        seconds = baseline_seconds if training is None else training * _SLOW_CORE_SHARE
        seconds *= 1 + confirms / n_splits
        test = TEST_SHARE * n_rows
        rows = min(test, MAX_ROWS)
        per_row = _VALUE_SECONDS * (3 * models + 2 * blends) + _PERMUTATION_SECONDS * orders * models
        measured = rows * per_row
        assess_seconds = _VERDICT_SECONDS * min(test, MAX_JUDGED_ROWS) * (models + blends)
        self._seconds: dict[str, float] = {
            "pilot": pilot * _SLOW_CORE_SHARE,
            "tuning": _TUNING * seconds * is_tuned,
            "training": seconds,
            "beside": baseline_seconds * (not is_preview),
            "measuring": len(OBJECTIVES) * n_splits * (measured + assess_seconds),
        }
        if with_references:
            self._seconds["references"] = sum(self._seconds.values()) * _REFERENCES / (1 - _REFERENCES)

    @property
    def seconds(self) -> float:
        """Return the total seconds on one core of normal speed."""
        return sum(self._seconds.values())

    def done(self, part: str, share: float = 0.0) -> float:
        """Return the completed share of the total work, in [0, 1], if `share` of a step is completed."""
        parts = list(self._seconds)
        seconds_before = sum(self._seconds[step] for step in parts[: parts.index(part)])
        return (seconds_before + share * self._seconds[part]) / self.seconds


def slowness() -> float:
    """Return the time that this core needs for a task, divided by the time that a normal core needs.

    The function uses the shortest of several trials, because other processes may slow down single trials. The
    trials allocate no memory, because allocation takes longer in some threads.
    """
    rng = np.random.default_rng(0)
    rows, weights, layer = (
        rng.standard_normal((n, 64), dtype=np.float32) for n in (_ROWS_OF_A_LAYER, 64, _ROWS_OF_A_LAYER)
    )

    def seconds() -> float:
        start_time = time.perf_counter()
        for _ in range(100):
            np.matmul(rows, weights, out=layer)
            np.tanh(layer, out=layer)
            np.exp(layer, out=layer)
        return time.perf_counter() - start_time

    return min(seconds() for _ in range(5)) / _SECONDS_OF_A_LAYER


def work_of_plan(
    dataset: Dataset,
    plan: Sweep,
    n_permutations: int = N_PERMUTATIONS,
    *,
    is_preview: bool = False,
    references: bool = False,
) -> Work:
    """Estimate the work of a plan on a data set; the arguments are the same as in :func:`execute_sweep`."""
    models, n = plan.models(), dataset.n_rows
    test, has_weight = max(min(round(TEST_SHARE * n), MAX_ROWS), 1), dataset.weight is not None
    orders = permutations_behind_floor(test, n_permutations, has_weight=has_weight)
    of_tariffs, method = FAIR_TARIFF in plan.methods, piloted_method(plan)
    return Work(
        n,
        plan.n_splits,
        training=None if of_tariffs else seconds_of(models, training_rows(n)),
        models=len(models) // plan.n_splits,
        blends=sum(point.share > 0 for point in curve_points(STANDARD, plan.lams)) * (len(plan.methods) - 1),
        orders=orders * (1 + has_weight),
        pilot=0.0 if method is None else seconds_of_pilot(plan.settings, training_rows(n), method=method),
        is_tuned=plan.tune,
        confirms=trains_for_holdout(plan, n) and not is_preview,
        is_preview=is_preview,
        with_references=references,
    )


def piloted_method(plan: Sweep) -> str | None:
    """Return the method for trial trainings (the first fair method), or None if the plan requests none."""
    return next((method for method in plan.methods if method != STANDARD), None) if plan.find_lams else None
