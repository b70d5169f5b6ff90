"""What every plan of training says: sweeps, searches of settings and searches of a weight extend it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import Checks, OptionError
from fairdash.training.methods import DEFAULT_METHOD, METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.set_aside import draw_set_aside
from fairdash.training.settings import TrainingSettings
from fairdash.training.split_kinds import RANDOM, SPLITS, TIME, checked_kind
from fairdash.utils.registry import get_entry


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """What is trained for, how, where and from which seed.

    Parameters
    ----------
    objective
        Id in :data:`fairdash.training.objectives.OBJECTIVES`.
    random_state
        Seed of the splits or folds, the initial weights, the mini-batches and the permutations; see
        :mod:`fairdash.utils.seeds`.
    split
        Id in :data:`fairdash.training.split_kinds.SPLITS`: how test rows are chosen.
    confirmation_share
        Share of the rows to set aside first, 0 for none, below 1: they take part in nothing until a chosen
        point is confirmed on them; see :mod:`fairdash.training.set_aside`.
    settings
        Architecture and schedule, or what the settings to compare have in common.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.

    Raises
    ------
    OptionError
        With every option that can't be used.
    """

    objective: str = "demographic_parity"
    random_state: int = 0
    split: str = RANDOM
    confirmation_share: float = 0.0
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    device: str = "auto"

    def __post_init__(self) -> None:
        get_entry(OBJECTIVES, self.objective, option="objective")
        get_entry(SPLITS, self.split, option="split")
        checks = Checks(OptionError)
        checks.require(
            0 <= self.confirmation_share < 1,
            "confirmation_share",
            "The share of rows set aside is out of its range",
            "Choose a number from 0 to below 1, such as 0.2.",
        )
        self._check(checks)
        checks.finish()

    def _check(self, checks: Checks) -> None:
        """Note what is wrong with the options that a plan adds to these."""

    def set_aside(self, dataset: Dataset) -> NDArray[np.int64]:
        """Numbers of the rows set aside; errors as :func:`fairdash.training.set_aside.draw_set_aside`."""
        checked_kind(dataset, self.split)
        return draw_set_aside(dataset, self.confirmation_share, latest=self.split == TIME)


@dataclass(frozen=True, kw_only=True)
class SearchPlan(TrainingPlan):
    """What every search says: candidates of one method are compared by cross-validation.

    Parameters
    ----------
    method
        Id in :data:`fairdash.training.methods.METHODS`.
    n_folds
        Folds of the cross-validation, 2 or more.
    objective, random_state, split, settings, device
        As in :class:`TrainingPlan`.
    """

    method: str = DEFAULT_METHOD
    n_folds: int = 5

    def _check(self, checks: Checks) -> None:
        get_entry(METHODS, self.method, option="method")
        checks.require(
            self.n_folds >= 2,
            "n_folds",
            "Cross-validation needs several folds",
            "Choose 2 or more; 5 and 10 are usual.",
        )


def check_lams(checks: Checks, lams: Sequence[float], *, needed: bool) -> None:
    """Note why these weights can't be used as a grid; an empty one can if none is `needed`."""
    usable = all(math.isfinite(lam) and lam >= 0 for lam in lams)
    checks.require(lams or not needed, "lams", "The λ grid is empty", "Give at least one weight λ.")
    checks.require(usable, "lams", "A weight λ is negative or not a number", "Use numbers from 0 up.")
    checks.require(
        not usable or len(set(lams)) == len(lams),
        "lams",
        "A weight λ stands twice in the grid",
        "Name each weight once.",
    )
