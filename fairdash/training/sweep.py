"""A sweep: methods × λ × splits of one data set, planned, trained as stacks and predicted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import OptionError, Problem
from fairdash.lookup import look_up
from fairdash.training.device import Device, resolve_device
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.preprocessing import feature_encoder
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import Split, random_splits

if TYPE_CHECKING:
    from fairdash.training.stack import Epoch, Member, StackData

STANDARD = "standard"
#: More models than this in one stack leave a CPU's cache; the rest wait for the next stack.
MEMBERS_PER_STACK = 80


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A plan: which models to train on a data set.

    Parameters
    ----------
    methods
        Ids in :data:`fairdash.training.methods.METHODS`. ``"standard"`` is trained once a split, the
        others once a split and λ.
    lams
        Weights λ ≥ 0 of the penalty, each different. They weigh Ψ against the mean squared error on
        the standardised target.
    objective
        Id in :data:`fairdash.training.objectives.OBJECTIVES`.
    n_splits
        Random 80/20 splits of the rows.
    random_state
        Seed of the splits, the initial weights and the mini-batches.
    settings
        Architecture and schedule.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.

    Raises
    ------
    OptionError
        With every option that can't be used.
    """

    methods: tuple[str, ...] = (STANDARD, "hgr_nn")
    lams: tuple[float, ...]
    objective: str = "demographic_parity"
    n_splits: int = 5
    random_state: int = 0
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    device: str = "auto"

    def __post_init__(self) -> None:
        look_up(OBJECTIVES, self.objective, option="objective")
        for method in self.methods:
            look_up(METHODS, method, option="method")
        problems = []
        if not self.methods or len(set(self.methods)) < len(self.methods):
            problems.append(
                Problem(
                    column="methods",
                    what="No method, or one named twice",
                    mend="Name each method once.",
                )
            )
        problems += _lam_problems(self.lams, needed=self.methods != (STANDARD,))
        if self.n_splits < 1:
            problems.append(
                Problem(column="n_splits", what="There is no split to train on", mend="Ask for 1 or more.")
            )
        if problems:
            raise OptionError(*problems)

    def members(self) -> tuple[Member, ...]:
        """Every model of the plan: methods in their order, then splits, then λ."""
        from fairdash.training.stack import Member

        seeds = [
            int(np.random.SeedSequence([self.random_state, split, 1]).generate_state(1)[0])
            for split in range(self.n_splits)
        ]
        return tuple(
            Member(method=method, lam=float(lam), split=split, seed=seeds[split])
            for method in self.methods
            for split in range(self.n_splits)
            for lam in ((0.0,) if method == STANDARD else self.lams)
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a run's description."""
        return {
            "methods": list(self.methods),
            "lams": list(self.lams),
            "objective": self.objective,
            "n_splits": self.n_splits,
            "random_state": self.random_state,
            "settings": self.settings.to_json(),
            "device": self.device,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Sweep:
        """The plan that :meth:`to_json` wrote."""
        return cls(
            **values
            | {
                "methods": tuple(values["methods"]),
                "lams": tuple(values["lams"]),
                "settings": TrainingSettings.from_json(values["settings"]),
            }
        )


def _lam_problems(lams: Sequence[float], *, needed: bool) -> list[Problem]:
    def problem(what: str, mend: str) -> Problem:
        return Problem(column="lams", what=what, mend=mend)

    problems = []
    if needed and not lams:
        problems.append(problem("The λ grid is empty", "Give at least one weight λ."))
    if any(not math.isfinite(lam) or lam < 0 for lam in lams):
        problems.append(problem("A weight λ is negative or not a number", "Use numbers from 0 up."))
    elif len(set(lams)) < len(lams):
        problems.append(problem("A weight λ stands twice in the grid", "Name each weight once."))
    return problems


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep has come.

    Parameters
    ----------
    phase
        ``"training"`` or ``"assessing"``.
    fraction
        Share of this phase that is done, 0 to 1.
    method
        Id of the method in training.
    curve
        At the end of an epoch one row a λ: columns ``method``, ``lam``, ``epoch``, ``mse`` (training
        batches, standardised target) and ``dependence`` (the penalty Ψ on training batches), means
        over the splits in training.
    """

    phase: str
    fraction: float
    method: str = ""
    curve: pd.DataFrame | None = None


@dataclass(frozen=True)
class TrainedSweep:
    """What a sweep has learned, as predictions for all rows of its data set.

    Parameters
    ----------
    sweep
        The plan.
    members
        One row a model, in the order of `predictions`: columns ``method``, ``lam``, ``split``,
        ``diverged``.
    splits
        Row numbers of each split.
    predictions
        (K, n) in the target's units, for the training and the test rows alike.
    device
        Where it was trained.
    seconds
        Wall time of the training.
    """

    sweep: Sweep
    members: pd.DataFrame
    splits: tuple[Split, ...]
    predictions: NDArray[np.float64]
    device: Device
    seconds: float


def train_sweep(
    dataset: Dataset, sweep: Sweep, *, progress: Callable[[SweepProgress], None] | None = None
) -> TrainedSweep:
    """Train every model of `sweep` on `dataset`.

    Preprocessing is fitted on the training rows of each split; the target and the sensitive columns
    are standardised by their training rows. No predictor sees a sensitive column.

    Parameters
    ----------
    progress
        Called after every step and every epoch. It may raise :class:`fairdash.errors.Cancelled`.
    """
    from fairdash.training.stack import train_stack

    started = time.monotonic()
    device = resolve_device(sweep.device)
    splits = random_splits(dataset.n_rows, n_splits=sweep.n_splits, random_state=sweep.random_state)
    encoded = [_encode(dataset, split) for split in splits]
    members = sweep.members()
    predictions = np.empty((len(members), dataset.n_rows))
    diverged = np.zeros(len(members), dtype=bool)
    done = 0
    for chunk in _chunks(members):
        stack = [members[k] for k in chunk]
        used = sorted({member.split for member in stack})
        local = [replace(member, split=used.index(member.split)) for member in stack]

        report = _Reporter(progress, stack, before=done, total=len(members))
        trained = train_stack(
            _stack_data([encoded[split] for split in used], splits=[splits[split] for split in used]),
            local,
            objective=sweep.objective,
            settings=sweep.settings,
            batch_seeds=[_batch_seed(sweep.random_state, split) for split in used],
            device=device.name,
            on_step=report.step,
            on_epoch=report.epoch,
        )
        standardised = trained.predict(_tensor([encoded[split].x for split in used]))
        for k, member, y_pred in zip(chunk, stack, standardised, strict=True):
            predictions[k] = encoded[member.split].target_scale.undo(y_pred)
        diverged[chunk] = trained.diverged
        done += len(stack)
    table = pd.DataFrame(
        {
            "method": [member.method for member in members],
            "lam": [member.lam for member in members],
            "split": [member.split for member in members],
            "diverged": diverged,
        }
    )
    return TrainedSweep(sweep, table, splits, predictions, device, time.monotonic() - started)


@dataclass(frozen=True)
class _Scale:
    """Mean and standard deviation of some training rows."""

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> _Scale:
        sd = rows.std(axis=0)
        return cls(rows.mean(axis=0), np.where(sd > 0, sd, 1.0))

    def apply(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return (rows - self.mean) / self.sd

    def undo(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return rows * self.sd + self.mean


@dataclass(frozen=True)
class _Encoded:
    """All rows of the data set as one split's training rows scale them."""

    x: NDArray[np.float64]  # (n, p)
    y: NDArray[np.float64]  # (n, 1)
    s: NDArray[np.float64]  # (n, d)
    target_scale: _Scale


def _encode(dataset: Dataset, split: Split) -> _Encoded:
    encoder = feature_encoder(dataset.features).fit(dataset.features.iloc[split.train])
    y = dataset.target.to_numpy(dtype=float)
    s = dataset.sensitive.to_numpy(dtype=float)
    target_scale = _Scale.of(y[split.train])
    return _Encoded(
        x=encoder.transform(dataset.features),
        y=target_scale.apply(y)[:, None],
        s=_Scale.of(s[split.train]).apply(s),
        target_scale=target_scale,
    )


def _stack_data(encoded: Sequence[_Encoded], *, splits: Sequence[Split]) -> StackData:
    from fairdash.training.stack import StackData

    pairs = list(zip(encoded, splits, strict=True))
    return StackData(
        x=_tensor([e.x[split.train] for e, split in pairs]),
        y=_tensor([e.y[split.train] for e, split in pairs]),
        s=_tensor([e.s[split.train] for e, split in pairs]),
    )


def _tensor(tables: Sequence[NDArray[np.float64]]) -> Any:
    """One float32 tensor (S, n, …) of S equal-sized tables."""
    import torch

    return torch.from_numpy(np.stack(tables).astype(np.float32))


def _chunks(members: Sequence[Member]) -> list[list[int]]:
    """Indices of the members of each stack: one method, at most MEMBERS_PER_STACK models."""
    chunks: list[list[int]] = []
    for k, member in enumerate(members):
        last = chunks[-1] if chunks else []
        if last and members[last[0]].method == member.method and len(last) < MEMBERS_PER_STACK:
            last.append(k)
        else:
            chunks.append([k])
    return chunks


def _batch_seed(random_state: int, split: int) -> int:
    return int(np.random.SeedSequence([random_state, split, 2]).generate_state(1)[0])


class _Reporter:
    """Tells the caller of a sweep how far the stack in training has come."""

    def __init__(
        self,
        progress: Callable[[SweepProgress], None] | None,
        stack: Sequence[Member],
        *,
        before: int,
        total: int,
    ) -> None:
        self.progress = progress
        self.stack = stack
        self.before = before
        self.total = total
        self.share = 0.0

    def step(self, share: float) -> None:
        self.share = share
        self._tell(None)

    def epoch(self, epoch: Epoch) -> None:
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
            fraction = (self.before + len(self.stack) * self.share) / self.total
            self.progress(SweepProgress("training", fraction, self.stack[0].method, curve))
