"""Pilot training, which selects weights λ whose models range from standard to independent predictions.

The weight λ has no natural scale: λ = 0.25 removes all dependence from a model of rare claims, whereas λ = 5
does not remove it from a model of household incomes. The pilot training therefore selects the weights of a
plan so that the models' dependence on validation rows is evenly spaced. It does not use test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.errors import OptionError
from fairdash.training.crossvalidation import dependence_of
from fairdash.training.device import resolve_device
from fairdash.training.methods import PATHS
from fairdash.training.models import train_models
from fairdash.training.settings import StackedModel, TrainingSettings, budget_of
from fairdash.training.splits import Split, initial_seed, sample_at_most, with_held_out
from fairdash.training.stack_trainer import seconds_of
from fairdash.utils.classes import attributes_of
from fairdash.utils.seeds import Stream, rng_of

#: Weights λ of the models in a pilot training, from 0.003 to 30.
PILOT_LAMS = tuple(float(f"{lam:.2g}") for lam in np.geomspace(3e-3, 30, 16))
#: `MAX_TRAINING_ROWS` is the maximum number of training rows of a pilot training.
#: `MAX_MEASURED_ROWS` is the maximum number of rows on which a pilot training measures dependence.
MAX_TRAINING_ROWS, MAX_MEASURED_ROWS = 60_000, 20_000
N_PERMUTATIONS = 39

Array = NDArray[np.float64]


def find_lams(
    dataset: Dataset,
    split: Split,
    settings: TrainingSettings,
    *,
    method: str,
    count: int,
    objective: str,
    random_state: int,
    device: str,
    progress: Callable[[float], None] | None = None,
) -> Array | None:
    """Find weights λ for which the dependence of predictions falls in even steps to the independence floor.

    Parameters
    ----------
    split
        Split on whose training rows the models of the pilot training are trained. The dependence of these
        models is measured on the validation rows or, if there are none, on a fifth of the training rows. If
        there are many rows, a random sample is used.
    method, settings
        Method and settings of the models, which are trained at each of :data:`PILOT_LAMS`. The numbers of
        epochs and rows per batch in `settings` are replaced by numbers that suit the pilot training.
    count
        Number of weights to find.
    progress
        Function that is called with the completed share, 0 to 1, and may raise
        :class:`fairdash.errors.Cancelled`.

    Returns
    -------
    (count,) array, or None
        Weights, as from :func:`evenly_spread_lams`, or None if the standard predictions have no detectable
        dependence on the sensitive attributes.
    """
    dataset, split = rows_of_pilot(dataset, split, random_state)
    settings, seed = _settings_of(settings, len(split.train)), initial_seed(random_state, 0)
    lams = np.array([0.0, *PILOT_LAMS])
    models = train_models(
        dataset,
        (split,),
        [StackedModel(method, float(lam), settings, 0, seed) for lam in lams],
        objective=objective,
        random_state=random_state,
        device=resolve_device(device),
        progress=None if progress is None else lambda progress_event: progress(progress_event.fraction),
    )
    models.predictions[models.members["diverged"].to_numpy()] = np.nan
    options: dict[str, Any] = {"count": count, "objective": objective, "random_state": random_state}
    return lams_by_dependence(dataset, models.predictions, split.validation, lams, method=method, **options)


def seconds_of_pilot(settings: TrainingSettings, n_train: int, *, method: str) -> float:
    """Estimate the time of a pilot training with `n_train` rows, in seconds on a slow core."""
    n_train = min(n_train, MAX_TRAINING_ROWS)
    model = StackedModel(method, 0.0, _settings_of(settings, n_train), 0, 0)
    return (1 + len(PILOT_LAMS)) * seconds_of([model], n_train)


def _settings_of(settings: TrainingSettings, n_train: int) -> TrainingSettings:
    schedule: dict[str, Any] = budget_of(n_train) | {"weight_decay": settings.weight_decay}
    return replace(settings, patience=None, **schedule)


def lams_by_dependence(
    dataset: Dataset,
    predictions: Array,
    rows: NDArray[np.int64],
    lams: Array,
    *,
    method: str,
    count: int,
    objective: str,
    random_state: int,
) -> Array | None:
    """Return the result of :func:`find_lams` from predictions (L, n) for weights `lams` (L,) that start at 0.

    Predictions of a model that diverged are NaN. Dependence is measured on the rows with numbers `rows`, with
    the selection measure of the method or, for several attributes, with a measure of all columns together.
    """
    measure, has_several = PATHS[method].selection_measure, len(attributes_of(dataset.sensitive)) > 1
    if has_several and not REGISTRY[measure].multivariate:
        measure = "hgr_spline"  # detects a dependence on the combination of attributes
    measured = dependence_of(
        dataset,
        predictions,
        rows,
        objective=objective,
        measure=measure,
        random_state=random_state,
        n_permutations=N_PERMUTATIONS,
    )
    is_defined = ~np.isnan(measured.value)
    if not is_defined[0] or measured.value[0] <= measured.floor_q95[0]:
        return None
    floor = float(np.median(measured.floor[is_defined]))
    return evenly_spread_lams(lams[is_defined], measured.value[is_defined], floor, count=count)


def is_auto(lams: Sequence[float] | str) -> bool:
    """Return whether `lams` is “auto”; any other text raises an OptionError."""
    if isinstance(lams, str) and lams != "auto":
        raise OptionError.of(f"“{lams}” is not a list of weights", "Give numbers, or “auto”.", column="lams")
    return isinstance(lams, str)


def evenly_spread_lams(lams: Array, dependence: Array, floor: float, *, count: int) -> Array:
    """Return weights λ for evenly spaced levels of dependence, from the standard model to the noise floor.

    Parameters
    ----------
    lams : (L,) array
        Weights λ of the trained models, in ascending order, starting at 0.
    dependence : (L,) array
        Dependence of the models' predictions. An increase of dependence with λ is treated as noise.
    floor
        Noise floor: the mean of the measure under independence.
    count
        Number of weights to return.

    Returns
    -------
    (count,) array
        Distinct weights in ascending order, rounded to two digits. At the last weight, dependence equals the
        noise floor or, if no model reaches the noise floor, the smallest dependence of the models.

    Examples
    --------
    >>> evenly_spread_lams(np.array([0, 0.01, 0.1, 1.0]), np.array([0.8, 0.8, 0.4, 0.0]), 0.1, count=4)
    array([0.015, 0.065, 0.21 , 0.56 ])
    """
    running_min = np.minimum.accumulate(dependence)
    levels = running_min[0] + (max(floor, running_min[-1]) - running_min[0]) * np.arange(1, count + 1) / count
    # A weight is left out if a smaller weight gives the same or less dependence. A decrease below 1e-12 is
    # attributed to rounding.
    first = np.concatenate([[True], np.diff(running_min) < -1e-12])
    # Dependence is assumed to start falling at a third of the first weight.
    log_lam = np.log10(np.concatenate([[lams[1] / 3], lams[1:]]))
    lams_between = 10 ** np.interp(-levels, -running_min[first], log_lam[first])
    rounded: list[float] = sorted({float(f"{lam:.2g}") for lam in lams_between})
    while len(rounded) < count:
        rounded = _with_added_lam(rounded)
    return np.array(rounded)


def _with_added_lam(lams: Sequence[float]) -> list[float]:
    """Return the weights with one weight added in the widest gap or, if there is no gap, at the end."""
    steps = np.diff(np.log10(lams))
    if not len(steps) or steps.max() < np.log10(1.3):
        return [*lams, float(f"{2 * lams[-1]:.2g}")]
    step_index = int(steps.argmax())
    return sorted([*lams, float(f"{(lams[step_index] * lams[step_index + 1]) ** 0.5:.2g}")])


def rows_of_pilot(
    dataset: Dataset, split: Split, random_state: int, *, most: int = MAX_TRAINING_ROWS
) -> tuple[Dataset, Split]:
    """Return a data set and a split for a pilot training with at most `most` training rows."""
    split = with_held_out(split, random_state=random_state, groups=dataset.groups)
    rng = rng_of(Stream.PILOT_ROWS, random_state)
    train, validation = (
        sample_at_most(rows, limit, rng)
        for rows, limit in ((split.train, most), (split.validation, MAX_MEASURED_ROWS))
    )
    sampled = dataset.take(np.concatenate([train, validation]))
    row_index, n_train = np.arange(sampled.n_rows), len(train)
    return sampled, Split(row_index[:n_train], row_index[:0], row_index[n_train:])
