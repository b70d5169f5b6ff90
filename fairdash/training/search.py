"""Search for good settings of networks and of their training, by cross-validation."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.errors import Checks, OptionError
from fairdash.jobs.steps import StepRunner, run_directly
from fairdash.training.crossvalidation import (
    TRAINING_SHARE,
    Dependence,
    OutOfFold,
    cross_validate,
    dependence_of,
    mean_of_folds,
    rows_of,
    standard_error,
)
from fairdash.training.defaults import default_settings
from fairdash.training.methods import DEFAULT_METHOD, METHODS, STANDARD
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.split_kinds import with_groups
from fairdash.training.splits import row_numbers
from fairdash.training.sweep import SearchPlan
from fairdash.utils.options import option
from fairdash.utils.registry import get_entry


@dataclass(frozen=True, kw_only=True)
class SearchGrid:
    """Values of some settings to try; every combination of values is a candidate.

    The default values have the ranges of the paper: 3 to 5 hidden layers with 8 to 32 units, with and without
    dropout.

    Parameters
    ----------
    hidden
        Numbers of units in the hidden layers of the predictor, one tuple per network to try.
    dropout, lr, weight_decay
        Same meaning as in :class:`fairdash.training.settings.TrainingSettings`.

    Raises
    ------
    OptionError
        Raised if a list is empty or contains a value twice.

    Examples
    --------
    >>> grid = fd.SearchGrid(hidden=((8,), (8, 8)), dropout=(0.0,), lr=(1e-3, 1e-2), weight_decay=(0.0,))
    >>> [(each.hidden, each.lr) for each in grid.candidates(fd.TrainingSettings())]
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
        checks = Checks(OptionError)
        for setting in fields(self):
            values = getattr(self, setting.name)
            checks.require(
                values and len(set(values)) == len(values),
                setting.name,
                "There are no values to try, or a value is repeated",
                "Give every value once.",
            )
        checks.finish()

    def candidates(self, base: TrainingSettings) -> tuple[TrainingSettings, ...]:
        """Return one copy of `base` per combination of the values; an invalid value raises an OptionError."""
        names = [setting.name for setting in fields(self)]
        combinations = itertools.product(*(getattr(self, name) for name in names))
        return tuple(replace(base, **dict(zip(names, values, strict=True))) for values in combinations)


#: Grids by name: ``"default"``, and ``"small"`` with only one network.
GRIDS: Mapping[str, SearchGrid] = MappingProxyType(
    {"default": SearchGrid(), "small": SearchGrid(hidden=((32, 16, 8),))}
)


@dataclass(frozen=True, kw_only=True)
class SettingsSearch(SearchPlan):
    """Plan of a search for settings: the candidates, and how they are compared.

    Parameters
    ----------
    lam
        Weight λ of the penalty with which the candidates are trained; ``"standard"`` ignores it.
    grid
        Values of settings to try.
    method, n_folds, objective, random_state, settings, device
        As in :class:`fairdash.training.sweep.SearchPlan`. Every method may need different settings.

    Raises
    ------
    OptionError
        Raised if options are not valid; the error lists all of these options.
    """

    lam: float = option(
        *(1.0, "At the weight λ"),
        "The search ranks settings by loss + λ × excess dependence.",
        within="[0, inf)",
    )
    grid: SearchGrid = field(default_factory=SearchGrid)

    def _check(self, checks: Checks) -> None:
        super()._check(checks)
        checks.finish()
        self.grid.candidates(self.settings)


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """Result of a search for settings or for a weight λ.

    Parameters
    ----------
    best
        Settings with the smallest score, or None in a search for a weight.
    lam
        Selected weight λ, or None in a search for settings. The weight is 0 if the standard model already
        meets the target. If no weight meets the target, it is the weight that comes closest, up to noise.
    reached
        True if the selected weight meets the target on held-out rows; always True in a search for settings,
        which has no target.
    frame
        Table with one row per candidate, described in :func:`search_settings` and
        :func:`fairdash.training.lam_search.search_lam`.
    rule
        Explanation of the selection in words.
    measure
        Id of the measure of dependence that the search used.
    seconds
        Wall time of the search in seconds.
    device
        Device used for training.
    notes
        Messages for the user.

    Examples
    --------
    >>> dataset = fd.load_dataset("household", n=300)
    >>> options = {"method": "hgr_spline", "lams": [0.5, 2.0], "n_folds": 2, "device": "cpu"}
    >>> choice = fd.find_lam(dataset, target="hgr_kde<=1", **options)
    >>> choice.reached, choice.measure
    (True, 'hgr_kde')
    """

    best: TrainingSettings | None = None
    lam: float | None = None
    reached: bool = True
    frame: pd.DataFrame
    rule: str
    measure: str = ""
    seconds: float
    device: str
    notes: tuple[str, ...]


def search_settings(
    dataset: Dataset,
    plan: SettingsSearch,
    *,
    rows: NDArray[np.int64] | None = None,
    progress: Callable[[float], None] | None = None,
    run_step: StepRunner = run_directly,
) -> SearchResult:
    """Compare the candidates of `plan` by cross-validation on the rows with numbers `rows`.

    The score of a candidate is **loss + λ · excess dependence**; a smaller score is better. The score
    corresponds to the training objective, but is computed on held-out rows. It uses a measure that training
    does not minimise (``selection_measure`` of the method). A network therefore gets no better score for
    dependence that its penalty fails to detect. The loss is divided by the loss of a constant model. The
    excess is the dependence minus the independence floor on the same rows, or 0 if the difference is
    negative, so that noise is not rewarded. For ``"standard"``, the score is the loss. Candidates that
    diverge in a fold are never selected.

    The frame has one row per candidate, from best to worst, with these columns: ``hidden`` (such as
    "32-16-8"), ``dropout``, ``lr``, ``weight_decay``; ``loss`` (a perfect model has 0, a constant model 1),
    ``dependence``, ``floor`` (mean dependence if the sensitive column is permuted), ``excess`` (dependence
    minus floor) and ``score``, as means over the held-out rows of the folds; the standard errors ``loss_se``,
    ``excess_se`` and ``score_se`` of these means; ``behind`` and ``behind_se``, the difference from the best
    score and the standard error of this difference; and ``diverged``. The smallest of many scores is
    optimistic, so evaluate the best settings on rows that the search did not use.

    Parameters
    ----------
    dataset
        Data set. With several sensitive columns, the column with the largest excess is used.
    rows
        Numbers of the rows to use, or None for all rows; other rows have no influence on the result.
    progress
        Function that is called with the completed share, 0 to 1, and may raise
        :class:`fairdash.errors.Cancelled`.
    run_step
        Function that runs steps, or returns their stored results (:class:`fairdash.jobs.steps.StepRunner`).
        The steps are the parts of the training, and the measurement of dependence in each fold.

    Raises
    ------
    OptionError
        Raised as in :func:`fairdash.training.models.train_models`, or if there are too few rows for the
        folds, or if all candidates diverged.
    """
    start_time = time.monotonic()
    subset = rows_of(dataset, rows)
    candidates = plan.grid.candidates(plan.settings)
    lam = 0.0 if plan.method == STANDARD else float(plan.lam)
    out_of_fold = cross_validate(
        subset,
        [StackedModel(plan.method, lam, settings) for settings in candidates],
        objective=plan.objective,
        n_folds=plan.n_folds,
        random_state=plan.random_state,
        device=plan.device,
        progress=None if progress is None else lambda share: progress(TRAINING_SHARE * share),
        run_step=run_step,
    )
    if out_of_fold.diverged.all():
        raise OptionError.of("Every candidate diverged", "Try smaller learning rates.", column="lr")
    measure, by_fold = METHODS[plan.method].selection_measure, []
    for fold, held_out in enumerate(out_of_fold.held_out):
        dependence = dependence_of(
            subset,
            out_of_fold.predictions,
            held_out,
            objective=plan.objective,
            measure=measure,
            random_state=plan.random_state,
            run_step=run_step,
            name=str(fold),
        )
        by_fold.append(dependence)
        if progress is not None:
            progress(TRAINING_SHARE + (1 - TRAINING_SHARE) * (fold + 1) / plan.n_folds)
    frame = _frame(candidates, out_of_fold, by_fold, lam)
    penalty_text = "" if plan.method == STANDARD else f" + {lam:g} × excess of {REGISTRY[measure].symbol}"
    return SearchResult(
        best=candidates[frame.index[0]],
        frame=frame.reset_index(drop=True),
        rule=f"the smallest mean of loss{penalty_text} over the held-out rows of {plan.n_folds} folds "
        f"({subset.n_rows:,} rows)",
        measure=measure,
        seconds=time.monotonic() - start_time,
        device=out_of_fold.device,
        notes=out_of_fold.notes,
    )


def _frame(
    candidates: tuple[TrainingSettings, ...], out_of_fold: OutOfFold, by_fold: list[Dependence], lam: float
) -> pd.DataFrame:
    """Return one row per candidate, from best to worst; the index is the position among `candidates`."""
    excess = np.stack([fold.excess for fold in by_fold], axis=1)
    mean = mean_of_folds(excess)
    score = out_of_fold.loss.mean(axis=1) + lam * mean.clip(min=0)
    best = int(np.nanargmin(score))
    scores = out_of_fold.loss + lam * excess
    frame = pd.DataFrame(
        {
            "hidden": ["-".join(map(str, settings.hidden)) for settings in candidates],
            "dropout": [settings.dropout for settings in candidates],
            "lr": [settings.lr for settings in candidates],
            "weight_decay": [settings.weight_decay for settings in candidates],
            "loss": out_of_fold.loss.mean(axis=1),
            "loss_se": standard_error(out_of_fold.loss),
            "dependence": mean_of_folds(np.stack([fold.value for fold in by_fold], axis=1)),
            "floor": mean_of_folds(np.stack([fold.floor for fold in by_fold], axis=1)),
            "excess": mean,
            "excess_se": standard_error(excess),
            "score": score,
            "score_se": standard_error(scores),
            "behind": score - score[best],
            "behind_se": standard_error(scores - scores[best]),
            "diverged": out_of_fold.diverged,
        }
    )
    return frame.sort_values(["diverged", "score"], kind="stable")


def search(
    dataset: Dataset,
    *,
    method: str = DEFAULT_METHOD,
    objective: str = "demographic_parity",
    lam: float = 1.0,
    grid: str | SearchGrid = "default",
    n_folds: int = 5,
    rows: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    settings: TrainingSettings | None = None,
    random_state: int = 0,
    device: str = "auto",
    progress: Callable[[float], None] | None = None,
) -> SearchResult:
    """Find the best network, dropout, learning rate and weight decay of a method by cross-validation.

    Parameters
    ----------
    dataset
    method, objective, lam, n_folds, settings, random_state, device
        Same meaning as in :class:`fairdash.training.search.SettingsSearch`.
    grid
        ``"default"`` (the ranges of the paper), ``"small"`` (only one network), or a :class:`SearchGrid`.
    rows
        Numbers of the rows to use, such as the training rows of a split. None means all rows; no rows then
        remain for an independent test.
    groups
        Group of each row, as in :func:`sweep`; all rows of a group are in the same fold.
    progress
        Function that receives the completed share, from 0 to 1, and that may raise
        :class:`fairdash.errors.Cancelled` to stop the search.

    Returns
    -------
    SearchResult
        Result of the search. You can pass its ``best`` to :func:`sweep` as ``settings``.
        :func:`fairdash.training.search.search_settings` explains the score of a candidate.

    Raises
    ------
    OptionError
        Raised if options are not valid; the error lists all of these options.

    Examples
    --------
    >>> import fairdash as fd
    >>> grid = fd.SearchGrid(hidden=((8, 8, 8),), dropout=(0.0,), lr=(1e-6, 1e-2), weight_decay=(0.0,))
    >>> data = fd.load_dataset("household", n=300)
    >>> fd.search(data, method="hgr_spline", grid=grid, n_folds=2, device="cpu").best.lr
    0.01
    """
    plan = SettingsSearch(
        method=method,
        objective=objective,
        lam=lam,
        grid=grid if isinstance(grid, SearchGrid) else get_entry(GRIDS, grid, option="grid"),
        n_folds=n_folds,
        random_state=random_state,
        settings=default_settings(dataset) if settings is None else settings,
        device=device,
    )
    dataset = with_groups(dataset, groups)
    return search_settings(dataset, plan, rows=row_numbers(rows, dataset.n_rows), progress=progress)
