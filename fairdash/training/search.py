"""Search of good settings: a grid of networks and schedules, compared by cross-validation."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.errors import OptionError, Problem
from fairdash.lookup import look_up
from fairdash.training.crossvalidation import (
    TRAINING_SHARE,
    Candidate,
    Dependence,
    OutOfFold,
    cross_validate,
    dependence_of,
    fold_problems,
    rows_of,
    standard_error,
)
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import STANDARD


@dataclass(frozen=True, kw_only=True)
class SearchGrid:
    """Values to try for some of the settings; every combination is a candidate.

    The default has the paper's ranges: 3 to 5 hidden layers of 8 to 32 units, with and without dropout.

    Parameters
    ----------
    hidden
        Units of the predictor's hidden layers. Each architecture is a stack of its own; the values below
        share it.
    dropout, lr, weight_decay
        As in :class:`fairdash.training.settings.TrainingSettings`.

    Raises
    ------
    OptionError
        A list is empty or names a value twice.

    Examples
    --------
    >>> grid = SearchGrid(hidden=((8,), (8, 8)), dropout=(0.0,), lr=(1e-3, 1e-2), weight_decay=(0.0,))
    >>> [(each.hidden, each.lr) for each in grid.candidates(TrainingSettings())]
    [((8,), 0.001), ((8,), 0.01), ((8, 8), 0.001), ((8, 8), 0.01)]
    """

    hidden: tuple[tuple[int, ...], ...] = (
        (32, 16, 8),
        (8, 8, 8),
        (32, 32, 32),
        (32, 32, 16, 8),
        (32, 32, 16, 16, 8),
    )
    dropout: tuple[float, ...] = (0.0, 0.1)
    lr: tuple[float, ...] = (2e-3, 5e-3)
    weight_decay: tuple[float, ...] = (1e-2, 3e-2, 1e-1)

    def __post_init__(self) -> None:
        problems = [
            Problem(
                column=each.name,
                what="The values to try are none, or one stands twice",
                mend="Name each value once.",
            )
            for each in fields(self)
            if not (values := getattr(self, each.name)) or len(set(values)) < len(values)
        ]
        if problems:
            raise OptionError(*problems)

    def candidates(self, base: TrainingSettings) -> tuple[TrainingSettings, ...]:
        """Every combination, in all else like `base`; OptionError for a value that can't be used."""
        names = [each.name for each in fields(self)]
        combinations = itertools.product(*(getattr(self, name) for name in names))
        return tuple(replace(base, **dict(zip(names, values, strict=True))) for values in combinations)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists, for a search's description."""
        values = {each.name: list(getattr(self, each.name)) for each in fields(self)}
        return values | {"hidden": [list(widths) for widths in self.hidden]}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> SearchGrid:
        """The grid that :meth:`to_json` wrote."""
        plain = {name: tuple(each) for name, each in values.items()}
        return cls(**plain | {"hidden": tuple(tuple(widths) for widths in values["hidden"])})


#: Grids by name: ``"default"``, and ``"small"`` of one architecture.
GRIDS: Mapping[str, SearchGrid] = MappingProxyType(
    {
        "default": SearchGrid(),
        "small": SearchGrid(
            hidden=((32, 16, 8),), dropout=(0.0, 0.1), lr=(2e-3, 5e-3), weight_decay=(1e-2, 3e-2, 1e-1)
        ),
    }
)


@dataclass(frozen=True, kw_only=True)
class SettingsSearch:
    """A plan: which settings to compare, and how.

    Parameters
    ----------
    method
        Id in :data:`fairdash.training.methods.METHODS`; each has good settings of its own.
    objective
        Id in :data:`fairdash.training.objectives.OBJECTIVES`.
    lam
        Weight λ of the penalty at which the settings are compared; of no matter to ``"standard"``.
    grid
        The values to try.
    n_folds
        Folds of the cross-validation, 2 or more.
    random_state
        Seed of the folds, the initial weights, the mini-batches and the permutations.
    settings
        What the candidates have in common.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.

    Raises
    ------
    OptionError
        With every option that can't be used.
    """

    method: str = "hgr_nn"
    objective: str = "demographic_parity"
    lam: float = 1.0
    grid: SearchGrid = field(default_factory=SearchGrid)
    n_folds: int = 5
    random_state: int = 0
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    device: str = "auto"

    def __post_init__(self) -> None:
        look_up(METHODS, self.method, option="method")
        look_up(OBJECTIVES, self.objective, option="objective")
        problems = fold_problems(self.n_folds)
        if not math.isfinite(self.lam) or self.lam < 0:
            problems.append(
                Problem(column="lam", what="The weight λ is negative or not a number", mend="Use 0 or more.")
            )
        if problems:
            raise OptionError(*problems)
        self.grid.candidates(self.settings)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a run's description."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return values | {"grid": self.grid.to_json(), "settings": self.settings.to_json()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> SettingsSearch:
        """The plan that :meth:`to_json` wrote."""
        return cls(
            **values
            | {
                "grid": SearchGrid.from_json(values["grid"]),
                "settings": TrainingSettings.from_json(values["settings"]),
            }
        )


@dataclass(frozen=True)
class SearchResult:
    """What a search has found.

    Parameters
    ----------
    best
        The settings with the smallest score.
    frame
        One row a candidate, the best first: ``hidden`` (as "32-16-8"), ``dropout``, ``lr``,
        ``weight_decay``; ``loss`` (0 is perfect, 1 is what a constant reaches), ``dependence`` and its
        ``floor`` (the same with the sensitive column permuted), ``excess`` (dependence minus floor) and
        ``score``, each a mean over the folds' held-out rows; ``loss_se``, ``excess_se`` and ``score_se``,
        their standard errors over the folds; ``behind``, the score minus the best one's, and
        ``behind_se``, the standard error of that difference on the same folds; ``diverged``. The smallest
        of many scores flatters: the best settings' own figures are better taken from rows that took no
        part.
    rule
        How the best was chosen, in words.
    seconds
        Wall time.
    device
        Where it was trained.
    notes
        Sentences that the user should read.
    """

    best: TrainingSettings
    frame: pd.DataFrame
    rule: str
    seconds: float
    device: str
    notes: tuple[str, ...]


def search_settings(
    dataset: Dataset,
    plan: SettingsSearch,
    *,
    rows: NDArray[np.int64] | None = None,
    progress: Callable[[float], None] | None = None,
) -> SearchResult:
    """Compare the candidates of `plan` by cross-validation within `rows`.

    The score of a candidate is what its training promises, on rows it has not seen and by a judge it was
    not trained against: **loss + λ · excess dependence**, the smallest wins. The loss is in units of a
    constant model's. The judge is HGR_KDE (HGR_RDC for the method whose penalty is a kernel density too),
    so that a network that fools its own penalty gains nothing by it, and its excess over the independence
    floor of the same rows is what is counted, 0 at least, so that noise is not paid for. λ is the price
    that the user has put on a unit of dependence (the judge's, whatever unit the method's own penalty has);
    settings that buy accuracy with dependence at a worse rate than it lose. For ``"standard"`` the score is
    the loss alone. Candidates that diverge in a fold never win.

    Parameters
    ----------
    dataset
        Several sensitive columns are judged by the one with the largest excess.
    rows
        Row numbers to search within; nothing is learned from the others. None for all.
    progress
        Called with the share done, 0 to 1; it may raise :class:`fairdash.errors.Cancelled`.

    Raises
    ------
    OptionError
        As :func:`fairdash.training.models.train_models`; too few rows for the folds; or every candidate
        diverged.
    """
    started = time.monotonic()
    within = rows_of(dataset, rows)
    candidates = plan.grid.candidates(plan.settings)
    lam = 0.0 if plan.method == STANDARD else float(plan.lam)
    found = cross_validate(
        within,
        [Candidate(plan.method, lam, settings) for settings in candidates],
        objective=plan.objective,
        n_folds=plan.n_folds,
        random_state=plan.random_state,
        device=plan.device,
        progress=None if progress is None else lambda share: progress(TRAINING_SHARE * share),
    )
    if found.diverged.all():
        raise OptionError(
            Problem(column="lr", what="Every candidate diverged", mend="Try smaller learning rates.")
        )
    judged = []
    for fold, held_out in enumerate(found.held_out):
        judged.append(
            dependence_of(
                within,
                found.predictions,
                held_out,
                objective=plan.objective,
                measure=METHODS[plan.method].judge,
                random_state=plan.random_state,
            )
        )
        if progress is not None:
            progress(TRAINING_SHARE + (1 - TRAINING_SHARE) * (fold + 1) / plan.n_folds)
    frame = _frame(candidates, found, judged, lam)
    symbol = REGISTRY[METHODS[plan.method].judge].symbol
    judge = "" if plan.method == STANDARD else f" + {lam:g} × excess of {symbol}"
    return SearchResult(
        best=candidates[frame.index[0]],
        frame=frame.reset_index(drop=True),
        rule=f"the smallest mean of loss{judge} over the held-out rows of {plan.n_folds} folds "
        f"({within.n_rows:,} rows)",
        seconds=time.monotonic() - started,
        device=found.device,
        notes=found.notes,
    )


def _frame(
    candidates: tuple[TrainingSettings, ...], found: OutOfFold, judged: list[Dependence], lam: float
) -> pd.DataFrame:
    """One row a candidate, the best first; the index is the place in the grid."""
    excess = np.stack([each.excess for each in judged], axis=1)
    score = found.loss.mean(axis=1) + lam * excess.mean(axis=1).clip(min=0)
    best = int(np.nanargmin(score))
    by_fold = found.loss + lam * excess
    frame = pd.DataFrame(
        {
            "hidden": ["-".join(map(str, settings.hidden)) for settings in candidates],
            "dropout": [settings.dropout for settings in candidates],
            "lr": [settings.lr for settings in candidates],
            "weight_decay": [settings.weight_decay for settings in candidates],
            "loss": found.loss.mean(axis=1),
            "loss_se": standard_error(found.loss),
            "dependence": np.mean([each.value for each in judged], axis=0),
            "floor": np.mean([each.floor for each in judged], axis=0),
            "excess": excess.mean(axis=1),
            "excess_se": standard_error(excess),
            "score": score,
            "score_se": standard_error(by_fold),
            "behind": score - score[best],
            "behind_se": standard_error(by_fold - by_fold[best]),
            "diverged": found.diverged,
        }
    )
    return frame.sort_values(["diverged", "score"], kind="stable")
