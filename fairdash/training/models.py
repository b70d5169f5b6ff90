"""Train many models of one data set in stacks, with any mix of methods, λ, splits, seeds and settings.

One large stack is faster than several small ones: on Crime, five stacks of one split each take two thirds
longer than one stack of five. A stack is therefore trained in legs. A leg covers some of the epochs and
passes on the state of all its models, so resuming does not change the weights.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import Checks, DataError, OptionError
from fairdash.jobs.steps import Found, Unit, at_once, independent, reused, within
from fairdash.training.device import (
    Device,
    OutOfMemoryError,
    StackMemory,
    naming_lack_of_memory,
    too_little_memory,
)
from fairdash.training.feature_encoder import EncodedRows, encode_rows
from fairdash.training.importance import PermutationPlan, importance_of_all, importance_of_stack
from fairdash.training.methods import FAIR_TARIFF, METHODS
from fairdash.training.progress import OnProgress, StackReporter
from fairdash.training.settings import ROWS_TO_CATCH_UP, StackedModel
from fairdash.training.single import Predictor
from fairdash.training.split_kinds import SetAside
from fairdash.training.splits import Split, require_varied_target
from fairdash.utils.registry import get_entry
from fairdash.utils.seeds import Stream, seed_of

if TYPE_CHECKING:
    from torch import Tensor

    from fairdash.training.stack import StackData, State

#: Seconds of a training step, about, on a slow core; and the number of steps, at most, each of which is then
#: a twentieth of a stack.
SECONDS_A_LEG, MAX_LEGS = 5.0, 20
#: Seconds that a slow core takes for a unit of :func:`work_of` and a training row.
_SECONDS_A_ROW = 1e-6
#: Seconds that a GPU takes for a mini-batch, for any number of models.
_SECONDS_A_BATCH = 3e-4
_IN_HALVES = "Memory was too small for a whole stack of models, so it was trained in halves."


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainedModels:
    """Predictions of many models for all rows of their data set.

    Parameters
    ----------
    members
        One row per model, in the order of `predictions`: columns ``method``, ``lam``, ``split``, ``diverged``
        (training became non-finite; predictions use the last finite weights), ``best_epoch`` (the epoch whose
        weights were kept).
    predictions
        Predictions (K, n) in the target's units, for all rows of the data set in their order.
    splits
        Row numbers of the training, validation and test rows of each split.
    device
        Device used for training.
    seconds
        Wall time of the training, without evaluation.
    notes
        Messages for the user, such as an unavailable device or models that diverged.
    importance
        Importance of each feature for each model: columns ``method``, ``lam``, ``split``, ``feature``,
        ``importance`` and ``reliance``, as in :func:`fairdash.training.importance.permutation_importance`.
        None unless requested.
    tuning
        Learning rates and weight decays compared, as returned by
        :func:`fairdash.training.crossvalidation.tune`; None if the plan's values were used.
    curves
        Values reported for every epoch, as in :class:`fairdash.training.progress.SweepProgress`; None in a
        result read from files.
    set_aside
        Holdout rows, and predictions for them; None if no rows were set aside. In `predictions` they are NaN.
    networks
        The models themselves, in single precision; empty unless requested.
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
    networks
        Whether to return the models themselves.
    progress
        Called after every step and every epoch. It may raise :class:`fairdash.errors.Cancelled`.
    unit
        Asked for the cut into stacks and for every leg of each stack's training.

    Raises
    ------
    DataError
        A loss does not suit the target, or the target has one value in the training rows of a split.
    OptionError
        A method takes one sensitive column only, or `patience` has no validation rows to look at.
    DeviceError
        The memory does not suffice even for half a stack.
    """
    started = time.monotonic()
    _check(dataset, splits, models)
    require_varied_target(dataset.target, splits)
    trainer = reused(
        unit,
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
    # The number of models that a device holds depends on its other work, so it is determined once.
    ends = unit("stacks", lambda: {"ends": [stack[-1] + 1 for stack in _stacks(models, trainer)]})["ends"]
    # The longest stacks go first, so that processes that share them end at about the same time.
    stacks = sorted(
        itertools.pairwise([0, *ends]), key=lambda stack: work_of(models[stack[0] : stack[1]]), reverse=True
    )
    parts: dict[int, tuple[Found, list[pd.DataFrame]]] = {}
    # Filled stack by stack, because joining at the end would need twice the memory.
    predictions = np.empty((len(models), dataset.n_rows))
    done, halved = 0.0, False

    def train_all(stacks: Sequence[tuple[int, int]], *, are_halves: bool = False) -> None:
        names = {f"{models[start].method}/{start}-{end - 1}": (start, end) for start, end in stacks}
        independent(unit, {name: partial(train, name, *stack, are_halves) for name, stack in names.items()})

    def train(name: str, start: int, end: int, is_half: bool) -> None:
        nonlocal done, halved
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
        found, of_stack = train_in_legs(trainer, stack, report, within(unit, name))
        if found is not None:
            predictions[start:end] = found["predictions"]
            parts[start] = {name: each for name, each in found.items() if name != "predictions"}, of_stack
            done += work_of(stack)
        elif is_half or len(stack) == 1:
            raise too_little_memory()
        else:
            halved, middle = True, start + len(stack) // 2
            train_all([(start, middle), (middle, end)], are_halves=True)

    train_all(stacks)
    founds = [parts[start][0] for start in sorted(parts)]
    of_stacks = [found.get("note", "") for found in founds]
    # In the order of the request.
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
        predictions=predictions,
        splits=tuple(splits),
        device=device.name,
        seconds=time.monotonic() - started,
        notes=tuple(filter(None, dict.fromkeys([device.note, _IN_HALVES if halved else "", *of_stacks]))),
        importance=importance_of_all(founds, members) if importance else None,
        curves=pd.concat(itertools.chain(*told), ignore_index=True),
        networks=tuple(
            trainer.network(models[start + k], parts[start][0], k)
            for start in (sorted(parts) if networks else ())
            for k in range(len(parts[start][0]["diverged"]))
        ),
    )


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
        "Early stopping needs validation rows",
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


class StackTrainer:
    """Shared context of the stacks of one call: the data set, encoded once a split and loss, and the
    device."""

    def __init__(
        self,
        dataset: Dataset,
        splits: Sequence[Split],
        *,
        objective: str,
        random_state: int,
        device: str,
        permutations: PermutationPlan | None,
        keeps_networks: bool,
    ) -> None:
        self.dataset = dataset
        self.splits = splits
        self.objective = objective
        self.batch_seeds = [seed_of(Stream.MINI_BATCHES, random_state, split) for split in range(len(splits))]
        self.device = device
        self.permutations = permutations
        self.keeps_networks = keeps_networks
        self._encoded: dict[_Key, EncodedRows] = {}
        self._stacked: dict[tuple[_Key, ...], StackData] = {}

    def encoded(self, model: StackedModel) -> EncodedRows:
        """Return the encoded rows for the model's split, loss and architecture."""
        key, settings = _key_of(model), model.settings
        if key not in self._encoded:
            self._encoded[key] = encode_rows(
                self.dataset,
                self.splits[model.split].train,
                settings.loss_function,
                embedding=settings.network.embedding,
            )
        return self._encoded[key]

    def train(
        self,
        stack: Sequence[StackedModel],
        report: StackReporter,
        *,
        state: State | None = None,
        until: int | None = None,
    ) -> Found:
        """Train one stack, or a leg of it; raise :class:`OutOfMemoryError` if it does not fit the device.

        Parameters
        ----------
        state, until
            As :func:`fairdash.training.stack.train_stack` has them.

        Returns
        -------
        The state to go on from. At the end of the training instead a ``note`` for the user, or an empty one;
        (K,) ``diverged`` and ``best_epoch``; (K, n) ``predictions`` for all rows, in the target's units; and,
        if they were asked for, the importance as ``features``, ``error`` and ``reliance``, and the networks
        as :meth:`network` reads them.
        """
        from fairdash.training.stack import train_stack

        used = sorted({model.split for model in stack})
        with naming_lack_of_memory():
            data = self._data(stack, used)
            trained = train_stack(
                data,
                [replace(model, split=used.index(model.split)) for model in stack],
                objective=self.objective,
                batch_seeds=[self.batch_seeds[split] for split in used],
                device=self.device,
                on_step=report.step,
                on_epoch=report.epoch,
                state=state,
                until=until,
            )
            if trained.state is not None:
                return trained.state
            scales = [self.encoded(model).target_scale for model in stack]

            def predict(x: Tensor) -> NDArray[np.float64]:
                predictions = trained.predict(x)
                for scale, each in zip(scales, predictions, strict=True):
                    each[:] = scale.undo(each)
                return predictions

            found = {
                "note": trained.note,
                "diverged": trained.diverged,
                "best_epoch": trained.best_epoch,
                "predictions": predict(data.x),
            }
            if self.keeps_networks:
                layers = zip(trained.predictor.weights, trained.predictor.biases, strict=True)
                for layer, parts in enumerate(layers):
                    found[f"layer_{layer}"] = np.concatenate([part.detach().cpu() for part in parts], axis=2)
                found |= {"factor": trained.factor, "shift": trained.shift}
            if self.permutations is None:
                return found
            leaning = importance_of_stack(
                self.permutations,
                self.dataset,
                self.splits,
                [model.split for model in stack],
                predict,
                data.x,
                device=self.device,
                blocks=self.encoded(stack[0]).encoder.blocks,
                # The share of work is unchanged; this call only allows a cancellation.
                on_feature=lambda: report.step(1.0),
            )
        return {**found, **leaning}

    def network(self, model: StackedModel, found: Found, k: int) -> Predictor:
        """Return the model that is the k-th of a stack with this result of :meth:`train`."""
        encoded, settings = self.encoded(model), model.settings
        layers = [found[f"layer_{layer}"][k] for layer in range(len(settings.hidden) + 1)]
        return Predictor(
            encoder=encoded.encoder,
            weights=tuple(layer[:, :-1] for layer in layers),
            biases=tuple(layer[:, -1] for layer in layers),
            has_log_link=settings.loss_function.has_log_link,
            activation=settings.network.activation,
            factor=encoded.target_scale.unit * float(found["factor"][k]),
            shift=float(encoded.target_scale.undo(found["shift"][k])),
        )

    def models_per_stack(self, model: StackedModel) -> int:
        """Return how many of these models fit in a stack, by a CPU's cache or a GPU's memory."""
        rows = self.encoded(model).x
        memory = StackMemory.of(
            model.method,
            model.settings,
            n_inputs=rows.shape[1],
            n_rows=len(rows),
            n_sensitive=self.dataset.sensitive.shape[1],
        )
        return memory.models_that_fit(self.device, n_splits=len(self.splits))

    def _data(self, stack: Sequence[StackedModel], used: Sequence[int]) -> StackData:
        """Return the rows of the splits `used`, as the stack's models have them; the last ones are kept."""
        import torch

        from fairdash.training.stack import StackData

        any_of = {model.split: model for model in stack}
        key = tuple(_key_of(any_of[split]) for split in used)
        if key in self._stacked:
            return self._stacked[key]
        self._stacked.clear()
        rows = [self.encoded(any_of[split]) for split in used]
        s = torch.tensor(self.dataset.sensitive.to_numpy(dtype=float))
        weight = self.dataset.weight
        if weight is not None:
            each = torch.from_numpy((weight / weight.mean()).to_numpy(dtype=np.float32))[:, None]
        self._stacked[key] = StackData(
            x=torch.from_numpy(np.stack([each.x for each in rows])),
            y=torch.from_numpy(np.stack([each.y for each in rows]).astype(np.float32)[:, :, None]),
            s=s.expand(len(used), *s.shape),
            train=tuple(torch.from_numpy(self.splits[split].train) for split in used),
            validation=tuple(torch.from_numpy(self.splits[split].validation) for split in used),
            weight=None if weight is None else each.expand(len(used), *each.shape),
        )
        return self._stacked[key]


#: Key of an encoding: split, the loss's power and the architecture's embedding.
_Key: TypeAlias = "tuple[int, float, str | None]"


def _key_of(model: StackedModel) -> _Key:
    return model.split, model.settings.loss_function.power, model.settings.network.embedding


def train_in_legs(
    trainer: StackTrainer, stack: Sequence[StackedModel], report: StackReporter, unit: Unit
) -> tuple[Found | None, list[pd.DataFrame]]:
    """Result of :meth:`StackTrainer.train` for a stack, None if the device can't hold it; and its curves."""
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
    """Return the models' approximate share of the time, which the adversary's steps dominate."""
    total = 0.0
    for model in models:
        if model.method == FAIR_TARIFF:
            continue  # all of them take less than one network
        method = get_entry(METHODS, model.method, option="method")
        closed_form = 0.0 if method.penalty is None else 0.5
        seen = min(1.0, ROWS_TO_CATCH_UP / model.settings.batch_size)
        steps = 1 + (model.settings.adversary_steps - 1) * seen if method.adversarial else closed_form
        # With large batches an epoch goes through the rows of a small table several times.
        passes = 4.0 if method.rows_a_step > model.settings.batch_size else 1.0
        total += model.settings.n_epochs * (1.0 + steps) * passes
    return total


def seconds_of(models: Sequence[StackedModel], n_rows: int) -> float:
    """Estimate the training time on a slow core, for the given rows."""
    return work_of(models) * n_rows * _SECONDS_A_ROW


def _legs(trainer: StackTrainer, stack: Sequence[StackedModel]) -> int:
    """Number of steps: by plan and data alone, never by a clock, so that a resumed job has the same."""
    settings, rows = stack[0].settings, min(len(trainer.splits[model.split].train) for model in stack)
    seconds = seconds_of(stack, rows)
    if trainer.device != "cpu":
        seconds = work_of(stack[:1]) * rows / settings.batch_size * _SECONDS_A_BATCH
    return max(1, min(MAX_LEGS, settings.n_epochs, math.ceil(seconds / SECONDS_A_LEG)))


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
        # This is stored as well, so that a resumed run does not try the same stack again.
        return {"fits": False}
    return {**found, "curves": report.end(), "fits": True}
