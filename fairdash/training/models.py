"""Many models of one data set: any mixture of methods, λ, splits, seeds and settings, cut into stacks.

Sweeps, searches and references all train through here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import DeviceError, OptionError, Problem
from fairdash.lookup import look_up
from fairdash.training.device import Device
from fairdash.training.losses import find_loss
from fairdash.training.methods import METHODS
from fairdash.training.preprocessing import EncodedRows, encode_rows
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import Split

if TYPE_CHECKING:
    from fairdash.training.stack import Epoch, Member, StackData, TrainedStack

#: Memory that the networks and batches of one stack may take on a CPU: about what its cache holds. More
#: models at once are no slower to launch, but each pass over them then waits for the memory.
BYTES_PER_STACK_ON_CPU = 24 * 2**20
#: Share of a GPU's free memory that one stack may take.
SHARE_OF_GPU = 0.5
MOST_MODELS_PER_STACK = 2000


@dataclass(frozen=True)
class TrainingProgress:
    """How far the training of many models has come.

    Parameters
    ----------
    fraction
        Share that is done, 0 to 1.
    method
        Id of the method in training.
    curve
        At the end of an epoch one row a λ: columns ``method``, ``lam``, ``epoch``, ``mse`` (loss on
        training batches, 1 is the constant model's) and ``dependence`` (the penalty Ψ on training
        batches), means over the other models in training. None in between.
    """

    fraction: float
    method: str
    curve: pd.DataFrame | None = None


@dataclass(frozen=True)
class TrainedModels:
    """What many models predict.

    Parameters
    ----------
    predictions
        (K, n) in the target's units, for all rows of the data set, whatever part they play.
    diverged
        (K,) True where training stopped being finite; the last finite weights predict.
    best_epoch
        (K,) epoch whose weights were kept.
    seconds
        Wall time.
    notes
        Sentences that the user should read.
    """

    predictions: NDArray[np.float64]
    diverged: NDArray[np.bool_]
    best_epoch: NDArray[np.int64]
    seconds: float
    notes: tuple[str, ...] = ()


def train_models(
    dataset: Dataset,
    splits: Sequence[Split],
    members: Sequence[Member],
    *,
    objective: str,
    random_state: int,
    device: Device,
    progress: Callable[[TrainingProgress], None] | None = None,
) -> TrainedModels:
    """Train every member on the training rows of its split.

    Preprocessing is fitted on the training rows of each split. No predictor sees a sensitive column.

    Parameters
    ----------
    members
        What to train; ``member.split`` is an index into `splits`. Neighbours of one method and one
        ``settings.stack_key`` share stacks.
    random_state
        Seed of the mini-batches; initial weights have the members' own.
    progress
        Called after every step and every epoch. It may raise :class:`fairdash.errors.Cancelled`.

    Raises
    ------
    OptionError
        A loss does not suit the target, a method takes one sensitive column only, or `patience` has no
        validation rows to look at.
    DeviceError
        The memory does not suffice even for half a stack.
    """
    started = time.monotonic()
    _check(dataset, splits, members)
    bench = _Bench(dataset, splits, objective=objective, random_state=random_state, device=device)
    predictions = np.empty((len(members), dataset.n_rows))
    diverged = np.zeros(len(members), dtype=bool)
    best_epoch = np.zeros(len(members), dtype=np.int64)
    notes: list[str] = []
    total, done = sum(_work(member) for member in members), 0.0
    for chunk in _chunks(members, bench):
        report = _Reporter(progress, [members[k] for k in chunk], before=done / total, total=total)
        for part, trained in _train_chunk(bench, members, chunk, report, notes):
            for k, y_pred in zip(part, bench.predict(trained), strict=True):
                predictions[k] = bench.encoded(members[k]).target_scale.undo(y_pred)
            diverged[part], best_epoch[part] = trained.diverged, trained.best_epoch
        done += sum(_work(members[k]) for k in chunk)
    return TrainedModels(predictions, diverged, best_epoch, time.monotonic() - started, tuple(notes))


class _Bench:
    """What the stacks of one call share: the data set, encoded once a split and loss, and the device."""

    def __init__(
        self,
        dataset: Dataset,
        splits: Sequence[Split],
        *,
        objective: str,
        random_state: int,
        device: Device,
    ) -> None:
        self.dataset = dataset
        self.splits = splits
        self.objective = objective
        self.batch_seeds = [
            int(np.random.SeedSequence([random_state, split, 2]).generate_state(1)[0])
            for split in range(len(splits))
        ]
        self.device = device.name
        self._encoded: dict[tuple[int, float], EncodedRows] = {}

    def encoded(self, member: Member) -> EncodedRows:
        """The rows as the member's split and loss have them."""
        loss = find_loss(member.settings.loss, tweedie_power=member.settings.tweedie_power)
        key = (member.split, loss.power)
        if key not in self._encoded:
            self._encoded[key] = encode_rows(self.dataset, self.splits[member.split].train, loss)
        return self._encoded[key]

    def train(self, stack: Sequence[Member], report: _Reporter) -> TrainedStack:
        """Train one stack; :class:`OutOfMemory` if the device can't hold it."""
        from fairdash.training.stack import train_stack

        used = self._splits_of(stack)
        with _naming_lack_of_memory():
            return train_stack(
                self._data(stack),
                [replace(member, split=used.index(member.split)) for member in stack],
                objective=self.objective,
                batch_seeds=[self.batch_seeds[split] for split in used],
                device=self.device,
                on_step=report.step,
                on_epoch=report.epoch,
            )

    def predict(self, stack: Sequence[Member], trained: TrainedStack) -> NDArray[np.float64]:
        """Predictions (K, n) for all rows, in the target's units."""
        with _naming_lack_of_memory():
            scaled = trained.predict(self._data(stack).x)
        return np.stack(
            [
                self.encoded(member).target_scale.undo(y_pred)
                for member, y_pred in zip(stack, scaled, strict=True)
            ]
        )

    def models_per_stack(self, settings: TrainingSettings, n_features: int) -> int:
        """As many as the cache of a CPU holds, or a share of a GPU's memory."""
        import torch

        available = BYTES_PER_STACK_ON_CPU
        if self.device == "cuda":
            available = int(SHARE_OF_GPU * torch.cuda.mem_get_info()[0])
        widths = [n_features, *settings.hidden, 1]
        weights = sum(a * b for a, b in itertools.pairwise(widths))
        adversary = sum(a * b for a, b in itertools.pairwise([1, *settings.adversary_hidden, 1]))
        # Weights have two moments and a gradient beside them; a hidden layer has its slope.
        floats = 4 * (weights + 2 * adversary) + 2 * settings.batch_size * (
            sum(settings.hidden) + 2 * sum(settings.adversary_hidden)
        )
        return int(np.clip(available // (4 * floats), 1, MOST_MODELS_PER_STACK))

    def _splits_of(self, stack: Sequence[Member]) -> list[int]:
        return sorted({member.split for member in stack})

    def _data(self, stack: Sequence[Member]) -> StackData:
        import torch

        from fairdash.training.stack import StackData

        used = self._splits_of(stack)
        any_of = {member.split: member for member in stack}
        rows = [self.encoded(any_of[split]) for split in used]
        # The penalties standardise s themselves, from the training rows; halfway there it fits float32.
        s = self.dataset.sensitive.to_numpy(dtype=float)
        s = ((s - s.mean(axis=0)) / s.std(axis=0)).astype(np.float32)
        weight = self.dataset.weight
        if weight is not None:
            each = torch.from_numpy((weight / weight.mean()).to_numpy(dtype=np.float32))[:, None]
        return StackData(
            x=torch.from_numpy(np.stack([each.x for each in rows])),
            y=torch.from_numpy(np.stack([each.y for each in rows]).astype(np.float32)[:, :, None]),
            s=torch.from_numpy(s).expand(len(used), *s.shape),
            train=tuple(torch.from_numpy(self.splits[split].train) for split in used),
            validation=tuple(torch.from_numpy(self.splits[split].validation) for split in used),
            weight=None if weight is None else each.expand(len(used), *each.shape),
        )
