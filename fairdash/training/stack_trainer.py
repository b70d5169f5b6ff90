"""Training of models in batches (“stacks”), divided into resumable parts (“legs”) of a few seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.jobs.steps import Found, StepRunner
from fairdash.training.device import OutOfMemoryError, StackMemory, convert_memory_errors
from fairdash.training.feature_encoder import EncodedRows, encode_rows
from fairdash.training.importance import PermutationPlan, importance_of_stack
from fairdash.training.methods import FAIR_TARIFF, METHODS
from fairdash.training.progress import StackReporter
from fairdash.training.settings import StackedModel
from fairdash.training.single import Predictor
from fairdash.training.splits import Split
from fairdash.utils.registry import get_entry
from fairdash.utils.seeds import Stream, seed_of

if TYPE_CHECKING:
    from torch import Tensor

    from fairdash.training.stack import StackData, State

#: `SECONDS_PER_LEG` is the approximate time of a leg, in seconds on a slow core.
#: `MAX_LEGS` is the maximum number of legs per stack.
SECONDS_PER_LEG, MAX_LEGS = 5.0, 20
#: Estimated time, in seconds on a slow core, per training row and unit of :func:`work_of`.
_SECONDS_PER_ROW = 1e-6
#: Estimated time, in seconds, of a step on a GPU, for any number of models.
_SECONDS_PER_BATCH = 3e-4
#: Key of an encoding: index of the split, variance power of the loss, and embedding of the architecture.
_Key: TypeAlias = "tuple[int, float, str | None]"


class StackTrainer:
    """Trainer of the stacks of one call; it caches encoded rows for each split, loss and embedding."""

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
        """Return the rows, encoded for the split, the loss and the architecture of a model."""
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
        """Train models together, to the end or for some epochs.

        Parameters
        ----------
        state, until
            As in :func:`fairdash.training.stack.train_stack`.

        Returns
        -------
        If the training has not ended, the state from which to resume it. Otherwise, a map with the keys
        ``note`` (a message for the user or empty), ``diverged`` (K,), ``best_epoch`` (K,) and ``predictions``
        (K, n), for all rows, in the target's units. If requested, the map also contains the importance
        (``features``, ``error`` and ``reliance``) and the networks in the form that :meth:`network` reads. If
        memory is too small, an OutOfMemoryError is raised.
        """
        from fairdash.training.stack import train_stack

        used_splits = sorted({model.split for model in stack})
        with convert_memory_errors():
            data = self._data(stack, used_splits)
            models = train_stack(
                data,
                [replace(model, split=used_splits.index(model.split)) for model in stack],
                objective=self.objective,
                batch_seeds=[self.batch_seeds[split] for split in used_splits],
                device=self.device,
                on_step=report.step,
                on_epoch=report.epoch,
                state=state,
                until=until,
            )
            if models.state is not None:
                return models.state
            scales = [self.encoded(model).target_scale for model in stack]

            def predict(x: Tensor) -> NDArray[np.float64]:
                predictions = models.predict(x)
                for scale, prediction in zip(scales, predictions, strict=True):
                    prediction[:] = scale.undo(prediction)
                return predictions

            result = {
                "note": models.note,
                "diverged": models.diverged,
                "best_epoch": models.best_epoch,
                "predictions": predict(data.x),
            }
            if self.keeps_networks:
                layers = zip(models.predictor.weights, models.predictor.biases, strict=True)
                for layer, parts in enumerate(layers):
                    result[f"layer_{layer}"] = np.concatenate([part.detach().cpu() for part in parts], axis=2)
                result |= {"factor": models.factor, "shift": models.shift}
            if self.permutations is None:
                return result
            importance = importance_of_stack(
                self.permutations,
                self.dataset,
                self.splits,
                [model.split for model in stack],
                predict,
                data.x,
                device=self.device,
                blocks=self.encoded(stack[0]).encoder.blocks,
                # This call reports the share 1 again, so that the caller can cancel the training.
                on_feature=lambda: report.step(1.0),
            )
        return {**result, **importance}

    def network(self, model: StackedModel, result: Found, k: int) -> Predictor:
        """Return the k-th network from the result of :meth:`train`."""
        encoded, settings = self.encoded(model), model.settings
        layers = [result[f"layer_{layer}"][k] for layer in range(len(settings.hidden) + 1)]
        return Predictor(
            encoder=encoded.encoder,
            weights=tuple(layer[:, :-1] for layer in layers),
            biases=tuple(layer[:, -1] for layer in layers),
            has_log_link=settings.loss_function.has_log_link,
            activation=settings.network.activation,
            factor=encoded.target_scale.unit * float(result["factor"][k]),
            shift=float(encoded.target_scale.undo(result["shift"][k])),
        )

    def models_per_stack(self, model: StackedModel) -> int:
        """Return how many models of the size of `model` can be trained together on the device."""
        rows = self.encoded(model).x
        memory = StackMemory.of(
            model.method,
            model.settings,
            n_inputs=rows.shape[1],
            n_rows=len(rows),
            n_sensitive=self.dataset.sensitive.shape[1],
        )
        return memory.models_that_fit(self.device, n_splits=len(self.splits))

    def _data(self, stack: Sequence[StackedModel], used_splits: Sequence[int]) -> StackData:
        """Return the rows, encoded for each of the splits `used_splits`; the last result is cached."""
        import torch

        from fairdash.training.stack import StackData

        model_by_split = {model.split: model for model in stack}
        key = tuple(_key_of(model_by_split[split]) for split in used_splits)
        if key in self._stacked:
            return self._stacked[key]
        self._stacked.clear()
        rows = [self.encoded(model_by_split[split]) for split in used_splits]
        s = torch.tensor(self.dataset.sensitive.to_numpy(dtype=float))
        weight = self.dataset.weight
        if weight is not None:
            row_weight = torch.from_numpy((weight / weight.mean()).to_numpy(dtype=np.float32))[:, None]
        self._stacked[key] = StackData(
            x=torch.from_numpy(np.stack([split.x for split in rows])),
            y=torch.from_numpy(np.stack([split.y for split in rows]).astype(np.float32)[:, :, None]),
            s=s.expand(len(used_splits), *s.shape),
            train=tuple(torch.from_numpy(self.splits[split].train) for split in used_splits),
            validation=tuple(torch.from_numpy(self.splits[split].validation) for split in used_splits),
            weight=None if weight is None else row_weight.expand(len(used_splits), *row_weight.shape),
        )
        return self._stacked[key]


def _key_of(model: StackedModel) -> _Key:
    return model.split, model.settings.loss_function.power, model.settings.network.embedding


def train_in_legs(
    trainer: StackTrainer, stack: Sequence[StackedModel], report: StackReporter, run_step: StepRunner
) -> tuple[Found | None, list[pd.DataFrame]]:
    """Return the result of :meth:`StackTrainer.train` (None if memory is too small), and the curves."""
    n_epochs, legs = stack[0].settings.n_epochs, _n_legs(trainer, stack)
    result: Found | None = None
    curves: list[pd.DataFrame] = []
    for leg in range(1, legs + 1):
        last_epoch = round(n_epochs * leg / legs)
        result = run_step(str(last_epoch), partial(_train_leg, trainer, stack, report, result, last_epoch))
        if not result["fits"]:
            return None, []
        is_over = "predictions" in result
        report.leg(result["curves"], share=1.0 if is_over else last_epoch / n_epochs)
        curves.append(result["curves"])
        if is_over:
            break
    return result, curves


def work_of(models: Sequence[StackedModel]) -> float:
    """Return the approximate training time of models in relative units; adversary steps take most of it."""
    total = 0.0
    for model in models:
        if model.method == FAIR_TARIFF:
            continue  # Training all tariffs takes less time than training one network.
        method = get_entry(METHODS, model.method, option="method")
        closed_form = 0.0 if method.penalty is None else 0.5
        settings = model.settings
        share = min(1.0, settings.rows_to_catch_up / settings.batch_size)
        # The mean number of adversary steps is that of the middle epoch.
        middle = settings.adversary_steps_in((settings.n_epochs + 1) // 2)
        steps = 1 + (middle - 1) * share if method.adversarial else closed_form
        # For methods with large mini-batches, an epoch may use the rows of a small table several times.
        passes = 4.0 if method.rows_a_step > model.settings.batch_size else 1.0
        total += model.settings.n_epochs * (1.0 + steps) * passes
    return total


def seconds_of(models: Sequence[StackedModel], n_rows: int) -> float:
    """Estimate the training time of models on `n_rows` training rows, in seconds on a slow core."""
    return work_of(models) * n_rows * _SECONDS_PER_ROW


def _n_legs(trainer: StackTrainer, stack: Sequence[StackedModel]) -> int:
    """Return the number of legs, which depends only on plan, data and device, not on the current job."""
    settings, rows = stack[0].settings, min(len(trainer.splits[model.split].train) for model in stack)
    seconds = seconds_of(stack, rows)
    if trainer.device != "cpu":
        seconds = work_of(stack[:1]) * rows / settings.batch_size * _SECONDS_PER_BATCH
    return max(1, min(MAX_LEGS, settings.n_epochs, math.ceil(seconds / SECONDS_PER_LEG)))


def _train_leg(
    trainer: StackTrainer,
    stack: Sequence[StackedModel],
    report: StackReporter,
    seconds_before: Found | None,
    last_epoch: int,
) -> Found:
    """Train one leg, from the end of the previous leg to the epoch `last_epoch`."""
    report.begin()
    try:
        result = trainer.train(stack, report, state=seconds_before, until=last_epoch)
    except OutOfMemoryError:
        # The step stores that memory is too small, so that a resumed run does not try to train the same stack
        # again.
        return {"fits": False}
    return {**result, "curves": report.end(), "fits": True}
