"""Training of many models of one data set, with any mix of methods, λ, splits, seeds and settings.

Models are trained in batches (“stacks”). One large stack is faster than several small stacks: on the Crime
data, five stacks with one split each take two thirds more time than one stack with five splits. The epochs of
a stack are divided into parts (“legs”), so that an interrupted training can resume. After each leg, the state
of all models is stored. Resuming from this state does not change the results.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import Checks, DataError, OptionError
from fairdash.jobs.steps import Found, StepRunner, independent, memoised, run_directly, within
from fairdash.training.device import Device, memory_error
from fairdash.training.importance import PermutationPlan, importance_of_all
from fairdash.training.methods import METHODS
from fairdash.training.progress import OnProgress, StackReporter
from fairdash.training.progress import SweepProgress as SweepProgress
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.single import Predictor
from fairdash.training.split_kinds import SetAside
from fairdash.training.splits import Split, require_varied_target
from fairdash.training.stack_trainer import StackTrainer, train_in_legs, work_of
from fairdash.utils.registry import get_entry

_NOTE_ON_HALVES = (
    "Memory was too small to train all models of a batch together, so it was divided into halves."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainedModels:
    """Many trained models of one data set, with their predictions for all rows.

    Parameters
    ----------
    members
        One row per model, in the order of `predictions`, with the columns ``method``, ``lam``, ``split``,
        ``diverged`` (whether values in training became infinite or NaN; the model then has the last finite
        weights) and ``best_epoch`` (the epoch whose weights the model has).
    predictions
        Predictions (K, n) in the target's units, for all rows of the data set.
    splits
        Row numbers of the training, validation and test rows of each split.
    device
        Device used for training.
    seconds
        Wall time of the training in seconds, without evaluation.
    notes
        Messages for the user, for example about an unavailable device or models that diverged.
    importance
        Importance of each feature for each model, with the columns ``method``, ``lam``, ``split``,
        ``feature``, ``importance`` and ``reliance``, as in
        :func:`fairdash.training.importance.permutation_importance`. None if the importance was not requested.
    tuning
        Comparison of weight decays, as returned by :func:`fairdash.training.crossvalidation.tune`, or None if
        the weight decay of the plan was used.
    curves
        Loss and penalty in every epoch, as in :class:`fairdash.training.progress.SweepProgress`, or None in a
        result that was read from files.
    set_aside
        Holdout rows and predictions for these rows, or None if no rows were set aside. In `predictions`,
        holdout rows are NaN.
    networks
        Trained networks in single precision, or empty if they were not requested.
    """

    members: pd.DataFrame
    predictions: NDArray[np.float64]
    splits: tuple[Split, ...]
    device: str
    seconds: float
    notes: tuple[str, ...] = ()
    importance: pd.DataFrame | None = None
    tuning: pd.DataFrame | None = None
    curves: pd.DataFrame | None = None
    set_aside: SetAside | None = None
    networks: tuple[Predictor, ...] = ()


def train_models(
    dataset: Dataset,
    splits: Sequence[Split],
    models: Sequence[StackedModel],
    *,
    objective: str,
    random_state: int,
    device: Device,
    importance: bool = False,
    networks: bool = False,
    progress: OnProgress | None = None,
    run_step: StepRunner = run_directly,
) -> TrainedModels:
    """Train many models, each on the training rows of its split.

    Features are encoded with means and scales of the training rows of each split. No prediction uses a
    sensitive column.

    Parameters
    ----------
    models
        Models to train; ``model.split`` is an index into `splits`. Adjacent models with the same method and
        ``settings.stack_key`` are trained together.
    random_state
        Seed of the mini-batches. Each entry of `models` contains the seed of its initial weights.
    importance
        True to compute the permutation importance of features for each model; every split then needs test
        rows.
    networks
        True to return the trained networks.
    progress
        Function that is called after every step and every epoch, and may raise
        :class:`fairdash.errors.Cancelled`.
    run_step
        Function that runs steps, or returns their stored results (:class:`fairdash.jobs.steps.StepRunner`).
        The division into stacks is one step, and every leg of a stack is another step.

    Raises
    ------
    DataError
        Raised if a loss does not suit the target, or if the target is constant in the training rows of a
        split.
    OptionError
        Raised if there are several sensitive columns and a method accepts only one, or if `patience` is set
        and a split has no validation rows.
    DeviceError
        Raised if memory is too small even for half of a stack.
    """
    start_time = time.monotonic()
    _check(dataset, splits, models)
    require_varied_target(dataset.target, splits)
    trainer = memoised(
        run_step,
        "trainer",
        lambda: StackTrainer(
            dataset,
            splits,
            objective=objective,
            random_state=random_state,
            device=device.name,
            permutations=PermutationPlan.of(splits, random_state=random_state) if importance else None,
            keeps_networks=networks,
        ),
    )
    # A device's free memory changes, so models are divided into batches (stacks) only once per job.
    stops = run_step("stacks", lambda: {"ends": [stack[-1] + 1 for stack in _stacks(models, trainer)]})[
        "ends"
    ]
    # The stacks with the most work start first, so that parallel processes finish at about the same time.
    stacks = sorted(
        itertools.pairwise([0, *stops]), key=lambda stack: work_of(models[stack[0] : stack[1]]), reverse=True
    )
    parts: dict[int, tuple[Found, list[pd.DataFrame]]] = {}
    # All stacks write their predictions into the same array; concatenation would need twice the memory.
    predictions = np.empty((len(models), dataset.n_rows))
    share_done, is_halved = 0.0, False

    def train_all(stacks: Sequence[tuple[int, int]], *, are_halves: bool = False) -> None:
        names = {f"{models[start].method}/{start}-{end - 1}": (start, end) for start, end in stacks}
        independent(
            run_step, {name: partial(train, name, *stack, are_halves) for name, stack in names.items()}
        )

    def train(name: str, start: int, end: int, is_half: bool) -> None:
        nonlocal share_done, is_halved
        stack = models[start:end]
        report = StackReporter(
            progress,
            method=stack[0].method,
            lams=[model.lam for model in stack],
            before=share_done,
            work=work_of(stack),
            total=work_of(models),
            device=device.name,
        )
        result, of_stack = train_in_legs(trainer, stack, report, within(run_step, name))
        if result is not None:
            predictions[start:end] = result["predictions"]
            parts[start] = {name: value for name, value in result.items() if name != "predictions"}, of_stack
            share_done += work_of(stack)
        elif is_half or len(stack) == 1:
            raise memory_error()
        else:
            is_halved, middle_index = True, start + len(stack) // 2
            train_all([(start, middle_index), (middle_index, end)], are_halves=True)

    train_all(stacks)
    results = [parts[start][0] for start in sorted(parts)]
    of_stacks = [result.get("note", "") for result in results]
    # Results are returned in the order of `models`.
    curves = [of_stack for _, of_stack in parts.values()]
    members = pd.DataFrame(
        {
            "method": [model.method for model in models],
            "lam": [model.lam for model in models],
            "split": [model.split for model in models],
            "diverged": np.concatenate([result["diverged"] for result in results]),
            "best_epoch": np.concatenate([result["best_epoch"] for result in results]),
        }
    )
    return TrainedModels(
        members=members,
        predictions=predictions,
        splits=tuple(splits),
        device=device.name,
        seconds=time.monotonic() - start_time,
        notes=tuple(
            filter(None, dict.fromkeys([device.note, _NOTE_ON_HALVES if is_halved else "", *of_stacks]))
        ),
        importance=importance_of_all(results, members) if importance else None,
        curves=pd.concat(itertools.chain(*curves), ignore_index=True),
        networks=tuple(
            trainer.network(models[start + k], parts[start][0], k)
            for start in (sorted(parts) if networks else ())
            for k in range(len(parts[start][0]["diverged"]))
        ),
    )


def _stacks(models: Sequence[StackedModel], trainer: StackTrainer) -> list[list[int]]:
    """Return the indices of each stack's models, which have the same method and ``settings.stack_key``."""
    stacks: list[list[int]] = []
    for _, group in itertools.groupby(
        range(len(models)), key=lambda k: (models[k].method, models[k].settings.stack_key)
    ):
        stack: list[int] = []
        max_models = 0
        for _, model_numbers in itertools.groupby(group, key=lambda k: models[k].split):
            indices = list(model_numbers)
            max_models = max_models or trainer.models_per_stack(models[indices[0]])
            if stack and len(stack) + len(indices) > max_models:
                stacks.append(stack)
                stack = []
            stack += indices
            while len(stack) > max_models:
                stacks.append(stack[:max_models])
                stack = stack[max_models:]
        stacks.append(stack)
    return stacks


def _check(dataset: Dataset, splits: Sequence[Split], models: Sequence[StackedModel]) -> None:
    """Raise an error if a loss or method does not suit the data, or if validation rows are missing."""
    checks, of_target = Checks(OptionError), Checks(DataError)
    y = dataset.target.to_numpy(dtype=float)
    for loss in {model.settings.loss_function for model in models}:
        problem = loss.target_problem(y, column=dataset.roles.target)
        of_target.problems += [problem] if problem else []
        problem = None if dataset.prediction is None else loss.prediction_problem(dataset.prediction)
        of_target.problems += [problem] if problem else []
    checks.require(
        all(model.settings.patience is None for model in models)
        or all(len(split.validation) for split in splits),
        "patience",
        "Early stopping needs validation rows",
        "Set aside a share of the training rows for validation, or train without early stopping.",
    )
    for method in {model.method for model in models}:
        checks.require(
            dataset.sensitive.shape[1] == 1 or get_entry(METHODS, method, option="method").multivariate,
            "method",
            f"“{method}” takes one sensitive column only",
            "Choose one sensitive column, or another method.",
        )
    of_target.finish()
    checks.finish()


def held_out_losses(
    dataset: Dataset, splits: Sequence[Split], predictions: NDArray[np.float64], settings: TrainingSettings
) -> NDArray[np.float64]:
    """Return losses (K,) of predictions (K, n) on validation rows, relative to those of a constant model."""
    loss = settings.loss_function
    y = dataset.target.to_numpy(dtype=float)
    weight = dataset.row_weight
    losses = []
    for split, y_pred in zip(splits, predictions, strict=True):
        rows = split.validation
        if not np.isfinite(y_pred[rows]).all() or (loss.has_log_link and y_pred[rows].min() <= 0):
            losses.append(np.inf)  # The deviance is undefined.
        else:
            losses.append(loss.relative(y, y_pred, weight, rows=rows, train=split.train))
    return np.array(losses)


def with_standard(
    fair_models: TrainedModels, standard: TrainedModels, is_standard: Sequence[bool]
) -> TrainedModels:
    """Combine fair and standard models in the order of a plan; `is_standard` marks the standard models."""
    order = np.argsort(np.argsort(~np.array(is_standard), kind="stable"))
    members = pd.concat([standard.members, fair_models.members], ignore_index=True)
    return replace(
        fair_models,
        members=members.iloc[order].reset_index(drop=True),
        predictions=np.concatenate([standard.predictions, fair_models.predictions])[order],
    )
