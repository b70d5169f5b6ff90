"""The public verbs: what the pages, the command line and notebooks all call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.assessment import DEFAULT_MEASURES, assess_predictions
from fairdash.assessment.assess import N_PERMUTATIONS
from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.errors import OptionError, Problem
from fairdash.registry import get_entry
from fairdash.training.lam_search import LamSearch, search_lam
from fairdash.training.models import TrainedModels
from fairdash.training.search import GRIDS, SearchGrid, SearchResult, SettingsSearch, search_settings
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import Split, random_splits
from fairdash.training.sweep import Sweep, SweepProgress, train_sweep
from fairdash.training.target import Target

#: λ grid that spans the whole trade-off on the built-in data sets.
DEFAULT_LAMS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepResult(TrainedModels):
    """What a sweep has found: what was trained, and what it is worth.

    Parameters
    ----------
    frame
        Tidy: one row a model and part, columns as :func:`fairdash.assessment.assess_predictions` gives them.
    sweep
        The plan that was carried out.
    members, predictions, splits, device, seconds, notes, importance, tuning, curves
        As in :class:`fairdash.training.models.TrainedModels`.
    """

    frame: pd.DataFrame
    sweep: Sweep


def sweep(
    dataset: Dataset,
    *,
    methods: Sequence[str] = ("standard", "hgr_nn"),
    lams: Sequence[float] = DEFAULT_LAMS,
    objective: str = "demographic_parity",
    n_splits: int = 5,
    random_state: int = 0,
    validation_share: float = 0.0,
    settings: TrainingSettings | None = None,
    tune: bool | None = None,
    device: str = "auto",
    measures: Sequence[str] = DEFAULT_MEASURES,
    importance: bool = False,
    progress: Callable[[SweepProgress], None] | None = None,
) -> SweepResult:
    """Train methods over a grid of λ and random splits, and assess every model.

    Parameters
    ----------
    dataset
        With one sensitive column, or several for methods that take them.
    methods, lams, objective, n_splits, random_state, validation_share, settings, device
        As in :class:`fairdash.training.sweep.Sweep`.
    tune
        Whether learning rate and weight decay are found on validation rows first; by default where no
        `settings` are given.
    measures
        Ids in :data:`fairdash.dependence.REGISTRY`, a column each in the frame.
    importance
        Whether to find the permutation importance of every feature in every model.
    progress
        Called with a :class:`fairdash.training.sweep.SweepProgress`; it may raise
        :class:`fairdash.errors.Cancelled` to stop.

    Returns
    -------
    SweepResult

    Raises
    ------
    OptionError
        An option can't be used; all such options are named.

    Examples
    --------
    >>> import fairdash as fd
    >>> result = fd.sweep(fd.load_dataset("household", n=400), lams=[0.0, 1.0], n_splits=1)
    >>> result.frame[["method", "lam", "part"]].shape
    (6, 3)
    """
    plan = Sweep(
        methods=tuple(methods),
        lams=tuple(float(lam) for lam in lams),
        objective=objective,
        n_splits=n_splits,
        random_state=random_state,
        validation_share=validation_share,
        settings=TrainingSettings() if settings is None else settings,
        tune=settings is None if tune is None else tune,
        device=device,
    )
    return run_sweep(dataset, plan, measures=measures, importance=importance, progress=progress)


def run_sweep(
    dataset: Dataset,
    plan: Sweep,
    *,
    measures: Sequence[str] = DEFAULT_MEASURES,
    n_permutations: int = N_PERMUTATIONS,
    importance: bool = False,
    progress: Callable[[SweepProgress], None] | None = None,
) -> SweepResult:
    """Carry out a plan; see :func:`sweep`. Floors take `n_permutations` permutations, at most."""
    for name in measures:
        get_entry(REGISTRY, name, option="measure")
    trained = train_sweep(dataset, plan, importance=importance, progress=progress)
    frame = assess_predictions(
        dataset,
        trained.predictions,
        trained.members,
        trained.splits,
        objective=plan.objective,
        loss=plan.settings.loss_function,
        measures=measures,
        n_permutations=n_permutations,
        random_state=plan.random_state,
        progress=None if progress is None else lambda share: progress(SweepProgress("assessing", share)),
    )
    return SweepResult(frame=frame, sweep=plan, **vars(trained))


@dataclass(frozen=True)
class ReferenceResult:
    """What prices that are told s would reach; never to be mixed with models that do not see it.

    Parameters
    ----------
    frame
        As :func:`fairdash.assessment.assess_predictions` gives it; ``method`` is an id of
        :data:`fairdash.training.references.REFERENCES` and ``lam`` a strength from 0 to 1.
    predictions, members, splits
        As in :class:`SweepResult`; the splits are those of a sweep with the same seed.
    price
        (J,) what exact independence adds to the error at least, in units of ``mse``: estimated on each
        split's test rows against a model that is told s; see
        :func:`fairdash.training.references.trained.train_references`.
    """

    frame: pd.DataFrame
    predictions: NDArray[np.float64]
    members: pd.DataFrame
    splits: tuple[Split, ...]
    price: NDArray[np.float64]


def references(
    dataset: Dataset,
    *,
    n_splits: int = 5,
    random_state: int = 0,
    validation_share: float = 0.0,
    settings: TrainingSettings | None = None,
    strengths: Sequence[float] | None = None,
    device: str = "auto",
    measures: Sequence[str] = DEFAULT_MEASURES,
) -> ReferenceResult:
    """Demographic parity if the price may use s: the partial barycentre, and the discrimination-free premium.

    Parameters
    ----------
    dataset
        With one sensitive column.
    n_splits, random_state, validation_share, settings, device, measures
        As in :func:`sweep`; the references' base is that sweep's standard model, told s as well, and tuned
        for that.
    strengths
        How far the barycentre goes, each from 0 (the base) to 1 (independence of s).

    Returns
    -------
    ReferenceResult

    Raises
    ------
    OptionError
        Several sensitive columns, a strength out of range, or another option that can't be used.
    """
    from fairdash.training.references import DEFAULT_STRENGTHS
    from fairdash.training.references.trained import train_references

    settings = TrainingSettings() if settings is None else settings
    splits = random_splits(
        dataset.n_rows, n_splits=n_splits, random_state=random_state, validation_share=validation_share
    )
    members, predictions, price = train_references(
        dataset,
        splits,
        settings=settings,
        strengths=DEFAULT_STRENGTHS if strengths is None else strengths,
        random_state=random_state,
        device=device,
    )
    frame = assess_predictions(
        dataset,
        predictions,
        members,
        splits,
        objective="demographic_parity",
        loss=settings.loss_function,
        measures=measures,
        random_state=random_state,
    )
    return ReferenceResult(frame, predictions, members, splits, price)


def search(
    dataset: Dataset,
    *,
    method: str = "hgr_nn",
    objective: str = "demographic_parity",
    lam: float = 1.0,
    grid: str | SearchGrid = "default",
    n_folds: int = 5,
    rows: ArrayLike | None = None,
    settings: TrainingSettings | None = None,
    random_state: int = 0,
    device: str = "auto",
    progress: Callable[[float], None] | None = None,
) -> SearchResult:
    """Search good settings for a method by cross-validation: networks, dropout, learning rate, weight decay.

    Parameters
    ----------
    dataset
    method, objective, lam, n_folds, settings, random_state, device
        As in :class:`fairdash.training.search.SettingsSearch`.
    grid
        ``"default"`` (the paper's ranges), ``"small"`` (one architecture), or the values to try.
    rows
        Row numbers to search within, such as a split's training rows; nothing is learned from the others.
        None for all, which leaves no row for an untouched test.
    progress
        Called with the share done, 0 to 1; it may raise :class:`fairdash.errors.Cancelled` to stop.

    Returns
    -------
    SearchResult
        ``best`` goes into ``settings`` of :func:`sweep`. How candidates are scored is described in
        :func:`fairdash.training.search.search_settings`.

    Raises
    ------
    OptionError
        An option can't be used; all such options are named.

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
        settings=TrainingSettings() if settings is None else settings,
        device=device,
    )
    return search_settings(dataset, plan, rows=row_numbers(rows, dataset.n_rows), progress=progress)


def find_lam(
    dataset: Dataset,
    *,
    target: str | Target,
    method: str = "hgr_nn",
    objective: str = "demographic_parity",
    lams: Sequence[float] = DEFAULT_LAMS,
    n_folds: int = 10,
    refine: int = 0,
    rows: ArrayLike | None = None,
    settings: TrainingSettings | None = None,
    random_state: int = 0,
    device: str = "auto",
    progress: Callable[[float], None] | None = None,
) -> SearchResult:
    """Find the weight λ that meets a target, by cross-validation.

    Parameters
    ----------
    dataset
    target
        ``"hgr_kde<=0.05"``: a measure is at most a number; ``"hgr_kde<=floor+0.02"``: at most that much
        above what independent data read; ``"error<=+10%"``: the error is at most 10 % above the standard
        model's.
    method, objective, lams, n_folds, refine, settings, random_state, device
        As in :class:`fairdash.training.lam_search.LamSearch`.
    rows
        Row numbers to search within, such as a split's training rows; nothing is learned from the others.
        None for all, which leaves no row for an untouched test.
    progress
        Called with the share done, 0 to 1; it may raise :class:`fairdash.errors.Cancelled` to stop.

    Returns
    -------
    SearchResult
        How the weight is chosen is described in :func:`fairdash.training.lam_search.search_lam`.

    Raises
    ------
    OptionError
        An option can't be used; all such options are named.

    Examples
    --------
    >>> import fairdash as fd
    >>> data = fd.load_dataset("household", n=300)
    >>> options = {"method": "hgr_spline", "lams": [0.5, 2.0], "n_folds": 2, "device": "cpu"}
    >>> choice = fd.find_lam(data, target="hgr_kde<=1", **options)
    >>> choice.lam, choice.reached
    (0.0, True)
    """
    plan = LamSearch(
        target=target if isinstance(target, Target) else Target.parse(target),
        lams=tuple(float(lam) for lam in lams),
        method=method,
        objective=objective,
        n_folds=n_folds,
        refine=refine,
        random_state=random_state,
        settings=TrainingSettings() if settings is None else settings,
        device=device,
    )
    return search_lam(dataset, plan, rows=row_numbers(rows, dataset.n_rows), progress=progress)


def row_numbers(rows: ArrayLike | None, n_rows: int) -> NDArray[np.int64] | None:
    """Row numbers as an array, each once and in order; OptionError for any that is not there."""
    if rows is None:
        return None
    numbers = np.asarray(rows)
    whole = numbers.ndim == 1 and np.issubdtype(numbers.dtype, np.integer)
    if not whole or len(numbers) == 0 or numbers.min() < 0 or numbers.max() >= n_rows:
        raise OptionError(
            Problem(
                column="rows",
                what="Not a list of row numbers of this data set",
                hint=f"Give whole numbers from 0 to {n_rows - 1}.",
            )
        )
    return np.unique(numbers).astype(np.int64)
