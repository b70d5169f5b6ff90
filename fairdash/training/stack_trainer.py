"""Trains the stacks of one data set: what they share, how many models one holds, the legs of its training.

To cut a stack for units of a few seconds would cost its speed: on Crime five stacks of a split each take two
thirds longer than one of five. A leg is some of the epochs, and hands on where all its models stand, so that
the weights are the very same however often the training is gone on with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import DeviceError
from fairdash.jobs.steps import Found, Unit
from fairdash.training.importance import Importance, PermutationPlan, permutation_importance
from fairdash.training.methods import METHODS
from fairdash.training.preprocessing import EncodedRows, encode_rows
from fairdash.training.progress import StackReporter
from fairdash.training.splits import Split
from fairdash.training.stack_memory import StackMemory
from fairdash.training.stacked_model import StackedModel
from fairdash.utils.registry import get_entry
from fairdash.utils.seeds import Stream, seed_of

if TYPE_CHECKING:
    from torch import Tensor

    from fairdash.training.stack import StackData
    from fairdash.training.stack_state import State

#: Memory that the networks and batches of one stack may take on a CPU: about what its cache holds. More
#: models at once are no slower to launch, but each pass over them then waits for the memory.
BYTES_PER_STACK_ON_CPU = 24 * 2**20
#: Share of a GPU's free memory that one stack may take.
SHARE_OF_GPU = 0.5
MOST_MODELS_PER_STACK = 2000
#: What a leg takes, about, on a slow core; and how many there are at most, each then a twentieth of a stack.
SECONDS_A_LEG, MOST_LEGS = 5.0, 20
#: Seconds that a slow core takes for a unit of :func:`work_of` and a training row.
_SECONDS_A_ROW = 1e-6
#: Those that a GPU takes for a mini-batch instead, however many models there are: it waits for the launches.
_SECONDS_A_BATCH = 1e-3


class StackTrainer:
    """What the stacks of one call share: the data set, encoded once a split and loss, and the device."""

    def __init__(
        self,
        dataset: Dataset,
        splits: Sequence[Split],
        *,
        objective: str,
        random_state: int,
        device: str,
        permutations: PermutationPlan | None,
    ) -> None:
        self.dataset = dataset
        self.splits = splits
        self.objective = objective
        self.batch_seeds = [seed_of(Stream.MINI_BATCHES, random_state, split) for split in range(len(splits))]
        self.device = device
        self.permutations = permutations
        self._encoded: dict[tuple[int, float, str | None], EncodedRows] = {}

    def encoded(self, model: StackedModel) -> EncodedRows:
        """The rows as the model's split, loss and architecture have them."""
        loss, embedding = model.settings.loss_function, model.settings.network.embedding
        key = (model.split, loss.power, embedding)
        if key not in self._encoded:
            train = self.splits[model.split].train
            self._encoded[key] = encode_rows(self.dataset, train, loss, embedding=embedding)
        return self._encoded[key]

    def train(
        self,
        stack: Sequence[StackedModel],
        report: StackReporter,
        *,
        state: State | None = None,
        until: int | None = None,
    ) -> Found:
        """Train one stack, or a leg of it; :class:`OutOfMemoryError` if the device can't hold it.

        Parameters
        ----------
        state, until
            As :func:`fairdash.training.stack.train_stack` has them.

        Returns
        -------
        The state to go on from. At the end of the training instead (K,) ``diverged`` and ``best_epoch``;
        (K, n) ``predictions`` for all rows, in the target's units; and, if it was asked for, the importance
        as ``features``, ``error`` and ``reliance``.
        """
        from fairdash.training.stack import train_stack

        used = sorted({model.split for model in stack})
        with _naming_lack_of_memory():
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
                scaled = trained.predict(x)
                return np.stack([scale.undo(each) for scale, each in zip(scales, scaled, strict=True)])

            found = {
                "diverged": trained.diverged,
                "best_epoch": trained.best_epoch,
                "predictions": predict(data.x),
            }
            if self.permutations is None:
                return found
            leaning = self._importance(self.permutations, stack, used, predict, data.x, report)
        return {**found, **vars(leaning), "features": list(leaning.features)}

    def _importance(
        self,
        permutations: PermutationPlan,
        stack: Sequence[StackedModel],
        used: Sequence[int],
        predict: Callable[[Tensor], NDArray[np.float64]],
        x: Tensor,
        report: StackReporter,
    ) -> Importance:
        """Permutation importance of a stack's models; `x` has the rows of the splits `used`."""
        import torch

        y = self.dataset.target.to_numpy(dtype=float)
        weight = np.ones(len(y)) if self.dataset.weight is None else self.dataset.weight.to_numpy()
        blocks = self.encoded(stack[0]).encoder.blocks
        own = [torch.from_numpy(permutations.rows[split]) for split in used]
        rows = np.stack([permutations.rows[model.split] for model in stack])
        train = [self.splits[model.split].train for model in stack]
        return permutation_importance(
            predict,
            torch.stack([table[numbers] for table, numbers in zip(x, own, strict=True)]).to(self.device),
            y[rows],
            weight=weight[rows],
            of_average=np.array(
                [_error_of_average(y, weight, rows=on, train=of) for on, of in zip(rows, train, strict=True)]
            ),
            blocks={name: blocks[name] for name in self.dataset.features.columns},
            shuffles=lambda feature: [permutations.shuffle(split, feature=feature) for split in used],
            # The share stays where it is; this is the place to be cancelled at.
            on_feature=lambda: report.step(1.0),
        )

    def models_per_stack(self, model: StackedModel) -> int:
        """How many models like this one: what the cache of a CPU holds, or a share of a GPU's memory."""
        import torch

        rows = self.encoded(model).x
        memory = StackMemory.of(
            model.method,
            model.settings,
            n_inputs=rows.shape[1],
            n_rows=len(rows),
            n_sensitive=self.dataset.sensitive.shape[1],
        )
        if self.device == "cuda":
            room = SHARE_OF_GPU * torch.cuda.mem_get_info()[0] - len(self.splits) * memory.rows
            most = room / max(memory.training, memory.predicting)
        else:
            most = BYTES_PER_STACK_ON_CPU / memory.training
        return int(np.clip(most, 1, MOST_MODELS_PER_STACK))

    def _data(self, stack: Sequence[StackedModel], used: Sequence[int]) -> StackData:
        """The rows of the splits `used`, as the stack's models have them."""
        import torch

        from fairdash.training.stack import StackData

        any_of = {model.split: model for model in stack}
        rows = [self.encoded(any_of[split]) for split in used]
        s = torch.tensor(self.dataset.sensitive.to_numpy(dtype=float))
        weight = self.dataset.weight
        if weight is not None:
            each = torch.from_numpy((weight / weight.mean()).to_numpy(dtype=np.float32))[:, None]
        return StackData(
            x=torch.from_numpy(np.stack([each.x for each in rows])),
            y=torch.from_numpy(np.stack([each.y for each in rows]).astype(np.float32)[:, :, None]),
            s=s.expand(len(used), *s.shape),
            train=tuple(torch.from_numpy(self.splits[split].train) for split in used),
            validation=tuple(torch.from_numpy(self.splits[split].validation) for split in used),
            weight=None if weight is None else each.expand(len(used), *each.shape),
        )


def _error_of_average(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    rows: NDArray[np.int64],
    train: NDArray[np.int64],
) -> float:
    """Mean squared error on some rows of the training rows' average."""
    mean = np.average(y[train], weights=weight[train])
    return float(np.average((y[rows] - mean) ** 2, weights=weight[rows]))


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
        # With large batches an epoch goes through the rows of a small table several times.
        passes = 4.0 if method.rows_a_step > model.settings.batch_size else 1.0
        total += model.settings.n_epochs * (1.0 + steps) * passes
    return total


def seconds_of(models: Sequence[StackedModel], n_rows: int) -> float:
    """What their training takes a slow core, roughly, on so many rows each."""
    return work_of(models) * n_rows * _SECONDS_A_ROW


def _legs(trainer: StackTrainer, stack: Sequence[StackedModel]) -> int:
    """How many legs: by plan and data alone, never by a clock, so that they are the same when it goes on."""
    settings, rows = stack[0].settings, min(len(trainer.splits[model.split].train) for model in stack)
    seconds = seconds_of(stack, rows)
    if trainer.device != "cpu":
        seconds = work_of(stack[:1]) * rows / settings.batch_size * _SECONDS_A_BATCH
    return max(1, min(MOST_LEGS, settings.n_epochs, math.ceil(seconds / SECONDS_A_LEG)))


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
    return {**found, "curves": report.end(), "fits": True}


class OutOfMemoryError(Exception):
    """The device can't hold a stack; told apart from other failures so that a smaller one is tried."""


def too_little_memory() -> DeviceError:
    """The same in words for whoever asked for the training, where no smaller one is to be tried."""
    return DeviceError.of(
        "The memory does not suffice to train these models, even in smaller groups",
        "Choose smaller batches or networks, or another device.",
    )


@contextmanager
def _naming_lack_of_memory() -> Iterator[None]:
    """Turn what torch raises for lack of memory, another type on each device, into OutOfMemoryError."""
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemoryError from error
    except RuntimeError as error:
        # The CPU's allocator has no type of its own.
        if "can't allocate memory" not in str(error):
            raise
        raise OutOfMemoryError from error
