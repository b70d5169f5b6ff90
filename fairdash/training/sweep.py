"""A sweep: methods × λ × splits of one data set, planned, trained as stacks and predicted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import OptionError, Problem
from fairdash.lookup import look_up
from fairdash.training.device import Device, resolve_device
from fairdash.training.methods import METHODS
from fairdash.training.models import TrainingProgress, train_models
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import Split, random_splits

if TYPE_CHECKING:
    from fairdash.training.stack import Member

STANDARD = "standard"


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
    validation_share
        Share of the rows that are not test rows to set aside for choices: 0 for none, below 1.
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
    validation_share: float = 0.0
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
        problems += lam_problems(self.lams, needed=self.methods != (STANDARD,))
        if self.n_splits < 1:
            problems.append(
                Problem(column="n_splits", what="There is no split to train on", mend="Ask for 1 or more.")
            )
        if not 0 <= self.validation_share < 1:
            problems.append(
                Problem(
                    column="validation_share",
                    what="The share of validation rows is out of its range",
                    mend="Choose a number from 0 to below 1, such as 0.2.",
                )
            )
        if problems:
            raise OptionError(*problems)

    def members(self) -> tuple[Member, ...]:
        """Every model of the plan: methods in their order, then splits, then λ."""
        from fairdash.training.stack import Member

        return tuple(
            Member(method, float(lam), split, initial_seed(self.random_state, split), self.settings)
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
            "validation_share": self.validation_share,
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


def lam_problems(lams: Sequence[float], *, needed: bool) -> list[Problem]:
    """Why these weights can't be used as a grid; an empty one can if none is `needed`."""

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
        As in :class:`fairdash.training.models.TrainingProgress`.
    device
        torch's name of the device in use.
    """

    phase: str
    fraction: float
    method: str = ""
    curve: pd.DataFrame | None = None
    device: str = ""


@dataclass(frozen=True)
class TrainedSweep:
    """What a sweep has learned, as predictions for all rows of its data set.

    Parameters
    ----------
    sweep
        The plan.
    members
        One row a model, in the order of `predictions`: columns ``method``, ``lam``, ``split``,
        ``diverged``, ``best_epoch``.
    splits
        Row numbers of each split.
    predictions
        (K, n) in the target's units, for the rows of every part alike.
    device
        Where it was trained.
    seconds
        Wall time of the training.
    notes
        Sentences that the user should read.
    importance
        Which features each model leans on, a row a model and feature, as
        :meth:`fairdash.training.importance.Importance.frame` gives it; None unless it was asked for.
    """

    sweep: Sweep
    members: pd.DataFrame
    splits: tuple[Split, ...]
    predictions: NDArray[np.float64]
    device: Device
    seconds: float
    notes: tuple[str, ...] = ()
    importance: pd.DataFrame | None = None


def train_sweep(
    dataset: Dataset,
    sweep: Sweep,
    *,
    importance: bool = False,
    progress: Callable[[SweepProgress], None] | None = None,
) -> TrainedSweep:
    """Train every model of `sweep` on `dataset`; errors as :func:`fairdash.training.models.train_models`.

    Parameters
    ----------
    importance
        Whether to find the permutation importance of every feature in every model.
    progress
        Called after every step and every epoch. It may raise :class:`fairdash.errors.Cancelled`.
    """
    device = resolve_device(sweep.device)
    splits = random_splits(
        dataset.n_rows,
        n_splits=sweep.n_splits,
        random_state=sweep.random_state,
        validation_share=sweep.validation_share,
    )
    members = sweep.members()

    def tell(training: TrainingProgress) -> None:
        if progress is not None:
            progress(
                SweepProgress("training", training.fraction, training.method, training.curve, device.name)
            )

    trained = train_models(
        dataset,
        splits,
        members,
        objective=sweep.objective,
        random_state=sweep.random_state,
        device=device,
        importance=importance,
        progress=tell,
    )
    table = pd.DataFrame(
        {
            "method": [member.method for member in members],
            "lam": [member.lam for member in members],
            "split": [member.split for member in members],
            "diverged": trained.diverged,
            "best_epoch": trained.best_epoch,
        }
    )
    return TrainedSweep(
        sweep,
        table,
        splits,
        trained.predictions,
        device,
        trained.seconds,
        trained.notes,
        None if trained.importance is None else trained.importance.frame(table),
    )


def initial_seed(random_state: int, split: int) -> int:
    """Seed of the initial weights of all models of a split, so that its λ differ in nothing but λ."""
    return int(np.random.SeedSequence([random_state, split, 1]).generate_state(1)[0])
