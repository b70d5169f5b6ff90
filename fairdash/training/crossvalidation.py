"""Comparison of settings on held-out rows, by cross-validation or within the splits of a run.

No weight decay suits every table. A weight decay that suits a few hundred rows with a strong signal makes the
predictions of rare claims constant. Every run therefore first trains standard networks with several weight
decays. Each split uses the weight decay with the smallest loss on its validation rows, not on test rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY, independence_floor, measure_many
from fairdash.dependence.grouping import MIN_GROUPS
from fairdash.errors import OptionError
from fairdash.jobs.steps import Found, StepRunner, run_directly
from fairdash.training.device import Device, resolve_device
from fairdash.training.methods import STANDARD
from fairdash.training.models import TrainedModels, held_out_losses, train_models
from fairdash.training.progress import OnProgress
from fairdash.training.settings import OBJECTIVES, StackedModel, TrainingSettings
from fairdash.training.splits import (
    Split,
    corrected_standard_error,
    fold_rows,
    initial_seed,
    undefined_in_words,
    with_held_out,
)
from fairdash.training.stack_trainer import seconds_of
from fairdash.utils.classes import attributes_of
from fairdash.utils.registry import get_entry
from fairdash.utils.rounding import SINGLE, restore_ties, varies
from fairdash.utils.seeds import Stream, rng_of, seed_of

#: Share of a fold's training rows that is held out for early stopping, which does not use the scored rows.
STOPPING_SHARE = 0.2
#: Estimated share of training in the time of a search; the measurement of dependence takes the rest.
TRAINING_SHARE = 0.9
#: Minimum number of rows in a fold for measuring dependence within the fold.
MIN_FOLD_ROWS = 50
#: `N_PERMUTATIONS` is the number of permutations for an independence floor of a fast measure.
#: `N_PERMUTATIONS_IF_SLOW` is the number for a measure that takes seconds per value.
N_PERMUTATIONS, N_PERMUTATIONS_IF_SLOW = 100, 20


@dataclass(frozen=True)
class OutOfFold:
    """Out-of-fold predictions of candidates.

    Parameters
    ----------
    predictions
        Predictions (C, n) in the target's units. Each row is predicted by the model that was trained without
        the fold of this row. The predictions of a candidate that diverged are NaN.
    loss
        Mean loss on the rows of each fold, (C, F), divided by the loss of the training rows' mean. A perfect
        model has loss 0, and a constant model has loss 1. The loss is NaN if training diverged.
    diverged
        True if training or predictions of any fold gave values that are not finite, (C,).
    held_out
        For each of the F folds, the numbers of its rows.
    device
        Device used for training.
    notes
        Messages for the user.
    """

    predictions: NDArray[np.float64]
    loss: NDArray[np.float64]
    diverged: NDArray[np.bool_]
    held_out: tuple[NDArray[np.int64], ...]
    device: str
    notes: tuple[str, ...]


def cross_validate(
    dataset: Dataset,
    candidates: Sequence[StackedModel],
    *,
    objective: str,
    n_folds: int,
    random_state: int,
    device: str,
    for_refit: bool = False,
    progress: Callable[[float], None] | None = None,
    run_step: StepRunner = run_directly,
) -> OutOfFold:
    """For every candidate and fold, train a model without the fold, and predict the rows of the fold.

    All models start from the same initial weights, so that they differ only by settings and folds. All rows
    of a group are in the same fold. Candidates with the same method and ``settings.stack_key`` are trained
    together. The function raises the errors of :func:`fairdash.training.models.train_models`, and an
    OptionError if there are too few rows for the folds.

    Parameters
    ----------
    for_refit
        True to predict the performance of a model that is trained on all rows. The models of the folds are
        then trained for the same number of steps as that model. Otherwise, an epoch of a fold may have fewer
        batches. The effect of fewer steps depends on λ (benchmarks/find_lam.py).
    progress
        Function that is called with the completed share, 0 to 1, and may raise
        :class:`fairdash.errors.Cancelled`.
    run_step
        Function as in :func:`fairdash.training.models.train_models`.
    """
    held_out, splits = _folds(dataset, candidates, n_folds=n_folds, random_state=random_state)
    undefined = undefined_in_words(dataset.sensitive, held_out, text="held-out rows of {} folds")
    if for_refit:
        candidates = [_with_steps_of_refit(model, splits, n_rows=dataset.n_rows) for model in candidates]
    seed = initial_seed(random_state, 0)
    stacks: dict[tuple[object, ...], int] = {}
    for model in candidates:
        stacks.setdefault((model.method, model.settings.stack_key), len(stacks))
    # Models that can be trained together are adjacent; among them, models of the same fold are adjacent.
    order = sorted(
        itertools.product(range(len(candidates)), range(n_folds)),
        key=lambda cf: (stacks[candidates[cf[0]].method, candidates[cf[0]].settings.stack_key], cf[1], cf[0]),
    )
    models = train_models(
        dataset,
        splits,
        [replace(candidates[c], split=f, seed=seed) for c, f in order],
        objective=objective,
        random_state=random_state,
        device=resolve_device(device, seconds=n_folds * seconds_of(candidates, dataset.n_rows)),
        progress=None if progress is None else lambda progress_event: progress(progress_event.fraction),
        run_step=run_step,
    )
    predictions = np.empty((len(candidates), dataset.n_rows))
    loss = np.full((len(candidates), n_folds), np.nan)
    diverged = np.zeros(len(candidates), dtype=bool)
    for k, (c, f) in enumerate(order):
        rows = held_out[f]
        predictions[c, rows] = models.predictions[k, rows]
        diverged[c] |= models.members["diverged"].iloc[k] or not np.isfinite(predictions[c, rows]).all()
    predictions[diverged] = np.nan
    y = dataset.target.to_numpy(dtype=float)
    weight = dataset.row_weight
    for c, f in order:
        if not diverged[c]:
            loss[c, f] = candidates[c].settings.loss_function.relative(
                y, predictions[c], weight, rows=held_out[f], train=splits[f].train
            )
    return OutOfFold(predictions, loss, diverged, held_out, models.device, (*models.notes, *undefined))


def _with_steps_of_refit(candidate: StackedModel, splits: Sequence[Split], *, n_rows: int) -> StackedModel:
    """Return the candidate with more epochs: training on a fold then takes as many steps as on all rows."""
    # With early stopping, some rows are held out, so the model for all rows is trained on fewer rows.
    n_learned = n_rows if candidate.settings.patience is None else round(n_rows * (1 - STOPPING_SHARE))
    min_rows = min(len(split.train) for split in splits)
    return replace(candidate, settings=candidate.settings.with_steps_of(n_learned, on=min_rows))


def rows_of(dataset: Dataset, rows: NDArray[np.int64] | None) -> Dataset:
    """Return the data set with only the rows with numbers `rows`; None keeps all rows."""
    return dataset if rows is None else dataset.take(rows)


@dataclass(frozen=True)
class Dependence:
    """Dependence of K models' predictions or residuals on the sensitive column, with independence floors.

    All arrays have the shape (K,). With several sensitive columns, the values refer to the column with the
    largest excess over the independence floor. For signed measures, the values are absolute values. The
    values are NaN if every sensitive column is constant on the measured rows.
    """

    value: NDArray[np.float64]
    floor: NDArray[np.float64]
    floor_q95: NDArray[np.float64]

    @property
    def excess(self) -> NDArray[np.float64]:
        """Values minus independence floors, (K,); a difference may be below 0 by chance."""
        return self.value - self.floor


def permutations_of(measure: str) -> int:
    """Return the number of permutations for the independence floor of a measure on all rows."""
    is_quick = get_entry(REGISTRY, measure, option="measure").quick
    return N_PERMUTATIONS if is_quick else N_PERMUTATIONS_IF_SLOW


def dependence_of(
    dataset: Dataset,
    predictions: NDArray[np.float64],
    rows: NDArray[np.int64],
    *,
    objective: str,
    measure: str,
    random_state: int,
    n_permutations: int | None = None,
    run_step: StepRunner = run_directly,
    name: str = "",
) -> Dependence:
    """Measure dependence in K models' predictions (K, n), with independence floors, on the rows `rows`.

    The sensitive column with the largest excess counts; for several attributes, so do all columns together.
    NaN predictions give NaN. The floors use `n_permutations` permutations, or the number from
    :func:`permutations_of` if it is None. `run_step` stores the result as ``"dependence/<name>"``.
    """

    def measure_all() -> Found:
        audit = get_entry(OBJECTIVES, objective, option="objective").audit
        is_defined = ~np.isnan(predictions[:, rows]).any(axis=1)
        y = dataset.target.to_numpy(dtype=float)[rows]
        # Networks compute in single precision, so predictions for equal features differ by rounding.
        u = restore_ties(audit(predictions[is_defined][:, rows], y), eps=SINGLE, unit=float(y.std()))
        count = permutations_of(measure) if n_permutations is None else n_permutations
        results = np.full((3, len(predictions)), np.nan)
        if not is_defined.any():
            return dict(zip(("value", "floor", "floor_q95"), results, strict=True))
        columns, groups = [], None if dataset.groups is None else dataset.groups[rows]
        s = dataset.sensitive.to_numpy(dtype=float)[rows]
        views = [s[:, k] for k in np.flatnonzero(varies(s.T))]
        if len(attributes_of(dataset.sensitive)) > 1 and REGISTRY[measure].multivariate and views:
            # A combination of attributes may be linked with predictions that depend on none of them alone.
            views.append(np.column_stack(views))
        for view in views:
            v = np.broadcast_to(view, (*u.shape, *view.shape[1:]))
            options: dict[str, Any] = {"groups": groups, "random_state": random_state}
            value = np.abs(measure_many(measure, u, v, **options))
            floor = independence_floor(measure, u, v, n_permutations=count, **options)
            columns.append(np.stack([value, floor.mean, floor.q95]))
        if not columns:
            return dict(zip(("value", "floor", "floor_q95"), results, strict=True))
        figures = np.stack(columns)
        largest = (figures[:, 0] - figures[:, 1]).argmax(axis=0)
        results[:, is_defined] = figures[largest, :, np.arange(len(u))].T
        return dict(zip(("value", "floor", "floor_q95"), results, strict=True))

    return Dependence(**run_step(f"dependence/{name}", measure_all))


def dependence_out_of_fold(
    dataset: Dataset,
    out_of_fold: OutOfFold,
    *,
    objective: str,
    measure: str,
    random_state: int,
    run_step: StepRunner = run_directly,
) -> tuple[Dependence, NDArray[np.bool_]]:
    """Measure the dependence of candidates on pooled out-of-fold predictions, corrected for cancellation.

    Pooling the folds gives enough rows for a low independence floor. However, nearly constant models of
    different folds may depend on the sensitive column in different ways, which cancel when the folds are
    pooled. The excess over the independence floor is therefore also measured within each fold. If the mean
    excess within folds is larger than the pooled excess by more than two standard errors, it replaces the
    pooled excess. `run_step` stores each measurement.

    Returns
    -------
    Dependence
        Dependence of each candidate, with the independence floor of the pooled folds.
    (C,) array of bool
        True if the mean excess within folds replaced the pooled excess. It is always False if a fold has
        fewer than :data:`MIN_FOLD_ROWS` rows, or too few groups to permute.
    """
    measured = partial(
        dependence_of,
        dataset,
        out_of_fold.predictions,
        objective=objective,
        measure=measure,
        random_state=random_state,
        run_step=run_step,
    )
    pooled = measured(np.arange(dataset.n_rows), name="together")
    diluted = np.zeros(len(out_of_fold.predictions), dtype=bool)
    if not all(_are_enough_rows(dataset, rows) for rows in out_of_fold.held_out):
        return pooled, diluted
    # All folds together use as many permutations as one independence floor on all rows.
    count = math.ceil(permutations_of(measure) / len(out_of_fold.held_out))
    folds = enumerate(out_of_fold.held_out)
    by_fold = np.stack(
        [measured(rows, n_permutations=count, name=f"{f}").excess for f, rows in folds], axis=1
    )
    mean = mean_of_folds(by_fold)
    diluted = mean - 2 * standard_error(by_fold) > pooled.excess
    value = np.where(diluted, pooled.floor + mean, pooled.value)
    return replace(pooled, value=value), diluted


def _are_enough_rows(dataset: Dataset, rows: NDArray[np.int64]) -> bool:
    if dataset.group is not None and dataset.group.iloc[rows].nunique() < MIN_GROUPS:
        return False
    return len(rows) >= MIN_FOLD_ROWS


def mean_of_folds(by_fold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean (C,) of values (C, F) over F folds, without folds in which a value is undefined."""
    return pd.DataFrame(by_fold).mean(axis=1).to_numpy()


def standard_error(by_fold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard error of :func:`mean_of_folds`, corrected for overlapping training rows."""
    folds = pd.DataFrame(by_fold)
    error: NDArray[np.float64] = corrected_standard_error(
        folds.var(axis=1, ddof=1).to_numpy(),
        n_splits=folds.count(axis=1).clip(lower=1).to_numpy(),
        test_to_train=1 / (by_fold.shape[1] - 1),
    )
    return error


def _folds(
    dataset: Dataset, candidates: Sequence[StackedModel], *, n_folds: int, random_state: int
) -> tuple[tuple[NDArray[np.int64], ...], tuple[Split, ...]]:
    """Return the rows of each fold on which models are scored, and the split of each fold."""
    n_rows = dataset.n_rows
    # Each fold needs at least two rows for scoring and some rows for training and early stopping.
    if n_rows < max(2 * n_folds, 20):
        raise OptionError.of(
            "There are too few rows for this number of folds",
            f"Choose fewer folds, or give more than {n_rows} rows.",
            column="n_folds",
        )
    parts = fold_rows(np.arange(n_rows), n_folds=n_folds, random_state=random_state, groups=dataset.groups)
    held_out = tuple(part.validation for part in parts)
    if all(candidate.settings.patience is None for candidate in candidates):
        return held_out, parts
    splits = []
    for f, part in enumerate(parts):
        # If the scored rows were used for early stopping, their loss would be optimistic.
        if dataset.group is None:
            order = rng_of(Stream.FOLD_STOPPING_ROWS, random_state, f).permutation(part.train)
            stopping_rows, train = np.split(order, [round(STOPPING_SHARE * len(order))])
        else:
            inner = fold_rows(
                part.train,
                n_folds=round(1 / STOPPING_SHARE),
                random_state=seed_of(Stream.FOLD_STOPPING_ROWS, random_state, f),
                groups=dataset.groups,
            )[0]
            stopping_rows, train = inner.validation, inner.train
        splits.append(Split(train=np.sort(train), test=part.validation, validation=np.sort(stopping_rows)))
    return held_out, tuple(splits)


#: Candidate weight decays, from almost none to the best decay for 1,000 rows and 100 columns.
WEIGHT_DECAYS = (1e-3, 3e-3, 6e-3, 1e-2, 3e-2, 6e-2)
#: Learning rate of all candidates. At 2e-3, a run has too few epochs to learn the weak signals in claims.
LEARNING_RATE = 4e-3


def tune(
    dataset: Dataset,
    splits: Sequence[Split],
    settings: TrainingSettings,
    *,
    random_state: int,
    device: Device,
    networks: bool = False,
    progress: OnProgress | None = None,
    run_step: StepRunner = run_directly,
) -> tuple[pd.DataFrame, TrainedModels]:
    """Compare the candidate weight decays on the validation rows of each split.

    Parameters
    ----------
    splits
        Splits of the run. If a split has no validation rows, a fifth of its training rows (whole groups, if
        the data set has groups) is held out for the comparison.
    settings
        Settings of all candidates, apart from learning rate and weight decay.
    random_state
        Random seed for the initial weights and the mini-batches.
    networks
        True to return the networks of the selected models, too.
    progress
        Function that is called after every step and may raise :class:`fairdash.errors.Cancelled`.
    run_step
        Function as in :func:`fairdash.training.models.train_models`.

    Returns
    -------
    DataFrame and TrainedModels
        The frame has one row per split and candidate, with the columns ``split``, ``lr``, ``weight_decay``,
        ``loss`` on held-out rows (1 for the mean of the training rows, infinite if training diverged) and
        ``chosen`` (True for the smallest loss of a split). The models are the selected standard models, one
        per split. If the splits have validation rows, training with the selected settings gives exactly these
        models again. The smallest loss is optimistic, so models are evaluated on test rows, which the
        comparison does not use.
    """
    parts = [with_held_out(split, random_state=random_state, groups=dataset.groups) for split in splits]
    candidates = [replace(settings, lr=LEARNING_RATE, weight_decay=decay) for decay in WEIGHT_DECAYS]
    models = [
        StackedModel(STANDARD, 0.0, candidate, j, initial_seed(random_state, j))
        for j in range(len(parts))
        for candidate in candidates
    ]
    trained = train_models(
        dataset,
        parts,
        models,
        objective="demographic_parity",
        random_state=random_state,
        device=device,
        networks=networks,
        progress=progress,
        run_step=run_step,
    )
    losses = held_out_losses(dataset, [parts[model.split] for model in models], trained.predictions, settings)
    frame = pd.DataFrame(
        {
            "split": [model.split for model in models],
            "lr": [model.settings.lr for model in models],
            "weight_decay": [model.settings.weight_decay for model in models],
            "loss": np.where(trained.members["diverged"], np.inf, losses),
        }
    )
    frame["chosen"] = frame.index.isin(frame.groupby("split")["loss"].idxmin())
    chosen = frame["chosen"].to_numpy()
    members = trained.members[chosen].reset_index(drop=True)
    return frame, replace(
        trained,
        members=members,
        predictions=trained.predictions[chosen],
        curves=None,
        networks=tuple(itertools.compress(trained.networks, chosen)),
    )


def settings_of_splits(tuning: pd.DataFrame, settings: TrainingSettings) -> tuple[TrainingSettings, ...]:
    """Return the selected settings of each split, from the frame of :func:`tune`."""
    chosen = tuning[tuning["chosen"]].sort_values("split")
    return tuple(
        replace(settings, lr=float(lr), weight_decay=float(decay))
        for lr, decay in chosen[["lr", "weight_decay"]].to_numpy()
    )


def tuned_settings(tuning: pd.DataFrame, settings: TrainingSettings) -> TrainingSettings:
    """Return the candidate settings with the smallest mean loss over the splits, for a model of all rows."""
    means = tuning.groupby(["lr", "weight_decay"], as_index=False)["loss"].mean()
    lr, decay, _ = means.loc[means["loss"].idxmin()]
    return replace(settings, lr=float(lr), weight_decay=float(decay))
