"""Many models of one data set: any mixture of methods, λ, splits, seeds and settings, cut into stacks.

Sweeps, searches and references all train through here.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import Checks, DataError, OptionError
from fairdash.jobs.steps import Found, Unit, at_once, turns, within
from fairdash.training.device import Device
from fairdash.training.importance import Importance, PermutationPlan
from fairdash.training.methods import METHODS
from fairdash.training.progress import OnProgress, StackReporter
from fairdash.training.set_aside import SetAside
from fairdash.training.splits import Split
from fairdash.training.stack_trainer import StackTrainer, too_little_memory, train_in_legs, work_of
from fairdash.training.stacked_model import StackedModel
from fairdash.utils.registry import get_entry

_IN_HALVES = "The memory did not hold a whole stack of models at once; it was trained in halves."


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainedModels:
    """What many models have learned, as predictions for all rows of their data set.

    Parameters
    ----------
    members
        One row a model, in the order of `predictions`: columns ``method``, ``lam``, ``split``,
        ``diverged`` (training stopped being finite; the last finite weights predict), ``best_epoch``
        (whose weights were kept).
    predictions
        (K, n) in the target's units, aligned with the rows of the data set, whatever part they play.
    splits
        Row numbers of each split's parts.
    device
        Where they were trained.
    seconds
        Wall time of the training, without any assessment.
    notes
        Sentences that the user should read: a device that was not there, models that diverged.
    importance
        Which features each model leans on: columns ``method``, ``lam``, ``split``, ``feature``,
        ``importance`` and ``reliance``, as :class:`fairdash.training.importance.Importance` defines them.
        None unless it was asked for.
    tuning
        What was compared to find learning rate and weight decay, as :func:`fairdash.training.tuning.tune`
        gives it; None where the plan's own settings were taken.
    curves
        What was told of every epoch, as :class:`fairdash.training.progress.SweepProgress` has it; None in a
        result that was read from its files.
    set_aside
        Rows that took part in nothing, and predictions for them; None where none were set aside. In
        `predictions` they are NaN.
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


def train_models(
    dataset: Dataset,
    splits: Sequence[Split],
    models: Sequence[StackedModel],
    *,
    objective: str,
    random_state: int,
    device: Device,
    importance: bool = False,
    progress: OnProgress | None = None,
    unit: Unit = at_once,
) -> TrainedModels:
    """Train every model on the training rows of its split.

    Preprocessing is fitted on the training rows of each split. No predictor sees a sensitive column.

    Parameters
    ----------
    models
        What to train; ``model.split`` is an index into `splits`. Neighbours of one method and one
        ``settings.stack_key`` share stacks.
    random_state
        Seed of the mini-batches; initial weights have the models' own.
    importance
        Whether to find each model's permutation importance; every split needs test rows then.
    progress
        Called after every step and every epoch. It may raise :class:`fairdash.errors.Cancelled`.
    unit
        Asked for the cut into stacks and for every leg of each stack's training.

    Raises
    ------
    DataError
        A loss does not suit the target.
    OptionError
        A method takes one sensitive column only, or `patience` has no validation rows to look at.
    DeviceError
        The memory does not suffice even for half a stack.
    """
    started = time.monotonic()
    _check(dataset, splits, models)
    trainer = StackTrainer(
        dataset,
        splits,
        objective=objective,
        random_state=random_state,
        device=device.name,
        permutations=PermutationPlan.of(splits, random_state=random_state) if importance else None,
    )
    # How many models a device holds depends on what else is on it: that is found once.
    ends = unit("stacks", lambda: {"ends": [stack[-1] + 1 for stack in _stacks(models, trainer)]})["ends"]
    # From which model to which, and whether it may be cut in halves. What takes longest goes first, so that
    # two processes at the same models, one from either end, are done at about the same time.
    stacks = [(start, end, True) for start, end in itertools.pairwise([0, *ends])]
    stacks.sort(key=lambda stack: work_of(models[stack[0] : stack[1]]), reverse=True)
    waiting = [stacks[k] for k in turns(unit, len(stacks))]
    parts: dict[int, tuple[Found, list[pd.DataFrame]]] = {}
    done, halved = 0.0, False
    while waiting:
        start, end, is_whole = waiting.pop(0)
        stack = models[start:end]
        report = StackReporter(
            progress,
            method=stack[0].method,
            lams=[model.lam for model in stack],
            before=done,
            work=work_of(stack),
            total=work_of(models),
            device=device.name,
        )
        own = within(unit, f"{stack[0].method}/{start}-{end - 1}")
        found, of_stack = train_in_legs(trainer, stack, report, own)
        if found is not None:
            parts[start] = found, of_stack
            done += work_of(stack)
        elif is_whole and len(stack) > 1:
            halved, middle = True, start + len(stack) // 2
            waiting = [(start, middle, False), (middle, end, False), *waiting]
        else:
            raise too_little_memory()
    founds = [parts[start][0] for start in sorted(parts)]
    # In the order in which they were told.
    told = [of_stack for _, of_stack in parts.values()]
    members = pd.DataFrame(
        {
            "method": [model.method for model in models],
            "lam": [model.lam for model in models],
            "split": [model.split for model in models],
            "diverged": np.concatenate([found["diverged"] for found in founds]),
            "best_epoch": np.concatenate([found["best_epoch"] for found in founds]),
        }
    )
    return TrainedModels(
        members=members,
        predictions=np.concatenate([found["predictions"] for found in founds]),
        splits=tuple(splits),
        device=device.name,
        seconds=time.monotonic() - started,
        notes=tuple(filter(None, [device.note, _IN_HALVES if halved else ""])),
        importance=_importance_of_all(founds, members) if importance else None,
        curves=pd.concat(itertools.chain(*told), ignore_index=True),
    )


def _importance_of_all(parts: Sequence[Found], members: pd.DataFrame) -> pd.DataFrame:
    """One table in the models' order, from what was found of some of them each."""
    tables = []
    for found in parts:
        own, members = members.iloc[: len(found["error"])], members.iloc[len(found["error"]) :]
        tables.append(Importance(tuple(found["features"]), found["error"], found["reliance"]).frame(own))
    return pd.concat(tables, ignore_index=True)


def _stacks(models: Sequence[StackedModel], trainer: StackTrainer) -> list[list[int]]:
    """Indices of each stack's models: one method and architecture, whole splits where possible."""
    stacks: list[list[int]] = []
    for _, group in itertools.groupby(
        range(len(models)), key=lambda k: (models[k].method, models[k].settings.stack_key)
    ):
        stack: list[int] = []
        most = 0
        for _, of_split in itertools.groupby(group, key=lambda k: models[k].split):
            indices = list(of_split)
            most = most or trainer.models_per_stack(models[indices[0]])
            if stack and len(stack) + len(indices) > most:
                stacks.append(stack)
                stack = []
            stack += indices
            while len(stack) > most:
                stacks.append(stack[:most])
                stack = stack[most:]
        stacks.append(stack)
    return stacks


def _check(dataset: Dataset, splits: Sequence[Split], models: Sequence[StackedModel]) -> None:
    """Refuse what no stack could train."""
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
        "Stopping early needs validation rows to look at",
        "Set a share of the training rows aside for validation, or train every epoch.",
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
