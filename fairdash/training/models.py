"""Many models of one data set: any mixture of methods, λ, splits, seeds and settings, cut into stacks.

Sweeps, searches and references all train through here.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import DataError, DeviceError, OptionError, Problem
from fairdash.lookup import look_up
from fairdash.training.device import Device
from fairdash.training.importance import Draws, Importance, permutation_importance
from fairdash.training.methods import METHODS
from fairdash.training.preprocessing import EncodedRows, encode_rows
from fairdash.training.splits import Split

if TYPE_CHECKING:
    from torch import Tensor

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
    importance
        Which features they lean on; None unless it was asked for.
    """

    predictions: NDArray[np.float64]
    diverged: NDArray[np.bool_]
    best_epoch: NDArray[np.int64]
    seconds: float
    notes: tuple[str, ...] = ()
    importance: Importance | None = None


def train_models(
    dataset: Dataset,
    splits: Sequence[Split],
    members: Sequence[Member],
    *,
    objective: str,
    random_state: int,
    device: Device,
    importance: bool = False,
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
    importance
        Whether to find each model's permutation importance; every split needs test rows then.
    progress
        Called after every step and every epoch. It may raise :class:`fairdash.errors.Cancelled`.

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
    _check(dataset, splits, members)
    bench = _Bench(
        dataset,
        splits,
        objective=objective,
        random_state=random_state,
        device=device,
        draws=Draws.of(splits, random_state=random_state) if importance else None,
    )
    predictions = np.empty((len(members), dataset.n_rows))
    diverged = np.zeros(len(members), dtype=bool)
    best_epoch = np.zeros(len(members), dtype=np.int64)
    notes: list[str] = []
    found: list[tuple[list[int], Importance]] = []
    total, done = sum(_work(member) for member in members), 0.0
    for chunk in _chunks(members, bench):
        report = _Reporter(progress, [members[k] for k in chunk], before=done, total=total)
        for part in _train_chunk(bench, members, chunk, report):
            predictions[part.indices] = part.predictions
            diverged[part.indices] = part.trained.diverged
            best_epoch[part.indices] = part.trained.best_epoch
            found += [] if part.importance is None else [(part.indices, part.importance)]
            notes += [] if part.note is None or part.note in notes else [part.note]
        done += sum(_work(members[k]) for k in chunk)
    return TrainedModels(
        predictions,
        diverged,
        best_epoch,
        time.monotonic() - started,
        tuple(notes),
        _together(found, len(members)) if found else None,
    )


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
        draws: Draws | None,
    ) -> None:
        self.dataset = dataset
        self.splits = splits
        self.objective = objective
        self.batch_seeds = [
            int(np.random.SeedSequence([random_state, split, 2]).generate_state(1)[0])
            for split in range(len(splits))
        ]
        self.device = device.name
        self.draws = draws
        self._encoded: dict[tuple[int, float], EncodedRows] = {}

    def encoded(self, member: Member) -> EncodedRows:
        """The rows as the member's split and loss have them."""
        loss = member.settings.loss_function
        key = (member.split, loss.power)
        if key not in self._encoded:
            self._encoded[key] = encode_rows(self.dataset, self.splits[member.split].train, loss)
        return self._encoded[key]

    def train(
        self, stack: Sequence[Member], report: _Reporter
    ) -> tuple[TrainedStack, NDArray[np.float64], Importance | None]:
        """One stack, trained, its predictions (K, n) for all rows, in the target's units, and its importance.

        :class:`OutOfMemoryError` if the device can't hold it.
        """
        from fairdash.training.stack import train_stack

        used = sorted({member.split for member in stack})
        with _naming_lack_of_memory():
            data = self._data(stack, used)
            trained = train_stack(
                data,
                [replace(member, split=used.index(member.split)) for member in stack],
                objective=self.objective,
                batch_seeds=[self.batch_seeds[split] for split in used],
                device=self.device,
                on_step=report.step,
                on_epoch=report.epoch,
            )
            scales = [self.encoded(member).target_scale for member in stack]

            def predict(x: Tensor) -> NDArray[np.float64]:
                scaled = trained.predict(x)
                return np.stack([scale.undo(each) for scale, each in zip(scales, scaled, strict=True)])

            importance = None
            predictions = predict(data.x)
            if self.draws is not None:
                importance = self._importance(self.draws, stack, used, predict, data.x, report)
        return trained, predictions, importance

    def _importance(
        self,
        draws: Draws,
        stack: Sequence[Member],
        used: Sequence[int],
        predict: Callable[[Tensor], NDArray[np.float64]],
        x: Tensor,
        report: _Reporter,
    ) -> Importance:
        """Permutation importance of a stack's models; `x` has the rows of the splits `used`."""
        import torch

        y = self.dataset.target.to_numpy(dtype=float)
        weight = np.ones(len(y)) if self.dataset.weight is None else self.dataset.weight.to_numpy()
        blocks = self.encoded(stack[0]).encoder.blocks
        own = [torch.from_numpy(draws.rows[split]) for split in used]
        rows = np.stack([draws.rows[member.split] for member in stack])
        train = [self.splits[member.split].train for member in stack]
        return permutation_importance(
            predict,
            torch.stack([table[numbers] for table, numbers in zip(x, own, strict=True)]).to(self.device),
            y[rows],
            weight=weight[rows],
            variance=np.array([_variance(y[numbers], weight[numbers]) for numbers in train]),
            blocks={name: blocks[name] for name in self.dataset.features.columns},
            shuffles=lambda feature: [draws.shuffle(split, feature=feature) for split in used],
            # The share stays where it is; this is the place to be cancelled at.
            on_feature=lambda: report.step(1.0),
        )

    def models_per_stack(self, member: Member) -> int:
        """How many models like this one: what the cache of a CPU holds, or a share of a GPU's memory."""
        import torch

        available = BYTES_PER_STACK_ON_CPU
        if self.device == "cuda":
            available = int(SHARE_OF_GPU * torch.cuda.mem_get_info()[0])
        settings = member.settings
        widths = [self.encoded(member).x.shape[1], *settings.hidden, 1]
        weights = sum(a * b for a, b in itertools.pairwise(widths))
        adversary = sum(a * b for a, b in itertools.pairwise([1, *settings.adversary_hidden, 1]))
        # Weights have two moments and a gradient beside them; a hidden layer has its slope.
        floats = 4 * (weights + 2 * adversary) + 2 * settings.batch_size * (
            sum(settings.hidden) + 2 * sum(settings.adversary_hidden)
        )
        return int(np.clip(available // (4 * floats), 1, MOST_MODELS_PER_STACK))

    def _data(self, stack: Sequence[Member], used: Sequence[int]) -> StackData:
        """The rows of the splits `used`, as the stack's members have them."""
        import torch

        from fairdash.training.stack import StackData

        any_of = {member.split: member for member in stack}
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


@dataclass(frozen=True)
class _Part:
    """Some models of a chunk, trained."""

    indices: list[int]
    trained: TrainedStack
    predictions: NDArray[np.float64]
    importance: Importance | None
    note: str | None = None


def _train_chunk(
    bench: _Bench, members: Sequence[Member], chunk: list[int], report: _Reporter
) -> list[_Part]:
    """Train a chunk as one stack, or, if the memory does not hold it, as two."""

    def part(indices: list[int], note: str | None = None) -> _Part:
        return _Part(indices, *bench.train([members[k] for k in indices], report), note)

    try:
        return [part(chunk)]
    except OutOfMemoryError as error:
        if len(chunk) == 1:
            raise error.for_user() from error
    middle = len(chunk) // 2
    note = "The memory did not hold a whole stack of models at once; it was trained in halves."
    try:
        return [part(chunk[:middle], note), part(chunk[middle:], note)]
    except OutOfMemoryError as error:
        raise error.for_user() from error


def _together(found: Sequence[tuple[list[int], Importance]], n_models: int) -> Importance:
    """The importance of all models, from that of some `indices` each."""
    features = found[0][1].features
    error, reliance = np.empty((n_models, len(features))), np.empty((n_models, len(features)))
    for indices, part in found:
        error[indices], reliance[indices] = part.error, part.reliance
    return Importance(features, error, reliance)


def _variance(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    mean = np.average(values, weights=weight)
    return float(np.average((values - mean) ** 2, weights=weight))


class OutOfMemoryError(Exception):
    """The device can't hold a stack; told apart from other failures so that a smaller one is tried."""

    def for_user(self) -> DeviceError:
        """The same in words for whoever asked for the training."""
        return DeviceError(
            Problem(
                what="The memory does not suffice to train these models, even in smaller groups",
                mend="Choose smaller batches or networks, or another device.",
            )
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


def _chunks(members: Sequence[Member], bench: _Bench) -> list[list[int]]:
    """Indices of the members of each stack: one method and architecture, whole splits where possible."""
    chunks: list[list[int]] = []
    for _, group in itertools.groupby(
        range(len(members)), key=lambda k: (members[k].method, members[k].settings.stack_key)
    ):
        chunk: list[int] = []
        most = 0
        for _, of_split in itertools.groupby(group, key=lambda k: members[k].split):
            indices = list(of_split)
            most = most or bench.models_per_stack(members[indices[0]])
            if chunk and len(chunk) + len(indices) > most:
                chunks.append(chunk)
                chunk = []
            chunk += indices
            while len(chunk) > most:
                chunks.append(chunk[:most])
                chunk = chunk[most:]
        chunks.append(chunk)
    return chunks


def _check(dataset: Dataset, splits: Sequence[Split], members: Sequence[Member]) -> None:
    """Refuse what no stack could train."""
    problems, of_target = [], []
    y = dataset.target.to_numpy(dtype=float)
    for settings in {member.settings for member in members}:
        loss = settings.loss_function
        problem = loss.target_problem(y, column=dataset.roles.target)
        if problem is not None and problem not in of_target:
            of_target.append(problem)
        if settings.patience is not None and any(len(split.validation) == 0 for split in splits):
            problems.append(
                Problem(
                    column="patience",
                    what="Stopping early needs validation rows to look at",
                    mend="Set a share of the training rows aside for validation, or train every epoch.",
                )
            )
    for method in {member.method for member in members}:
        if dataset.sensitive.shape[1] > 1 and not look_up(METHODS, method, option="method").multivariate:
            problems.append(
                Problem(
                    column="method",
                    what=f"“{method}” takes one sensitive column only",
                    mend="Choose one sensitive column, or another method.",
                )
            )
    if of_target:
        raise DataError(*of_target)
    if problems:
        raise OptionError(*problems)


def _work(member: Member) -> float:
    """A model's share of the time, roughly: the adversary's steps are what takes it."""
    adversarial = look_up(METHODS, member.method, option="method").adversarial
    steps = member.settings.adversary_steps if adversarial else 0
    return member.settings.n_epochs * (1.0 + steps)


class _Reporter:
    """Tells the caller how far the stack in training has come."""

    def __init__(
        self,
        progress: Callable[[TrainingProgress], None] | None,
        stack: Sequence[Member],
        *,
        before: float,
        total: float,
    ) -> None:
        self.progress = progress
        self.stack = stack
        self.before = before
        self.work = sum(_work(member) for member in stack)
        self.total = total
        self.share = 0.0

    def step(self, share: float) -> None:
        self.share = share
        self._tell(None)

    def epoch(self, epoch: Epoch) -> None:
        if len(epoch.error) < len(self.stack):
            return  # half a stack, for lack of memory: its curves would be half the models'
        figures = pd.DataFrame(
            {
                "lam": [member.lam for member in self.stack],
                "mse": epoch.error,
                "dependence": epoch.dependence,
            }
        )
        curve = figures.groupby("lam", as_index=False).mean()
        curve.insert(0, "method", self.stack[0].method)
        curve.insert(2, "epoch", epoch.number)
        self._tell(curve)

    def _tell(self, curve: pd.DataFrame | None) -> None:
        if self.progress is not None:
            fraction = (self.before + self.work * self.share) / self.total
            self.progress(TrainingProgress(fraction, self.stack[0].method, curve))
