"""The public verbs: what the pages, the command line and notebooks all call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.assessment import DEFAULT_MEASURES, assess_predictions
from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.lookup import look_up
from fairdash.training.losses import find_loss
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import Split
from fairdash.training.sweep import Sweep, SweepProgress, TrainedSweep, train_sweep

#: λ grid that spans the whole trade-off on the built-in data sets.
DEFAULT_LAMS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)


@dataclass(frozen=True)
class SweepResult:
    """What a sweep has found.

    Parameters
    ----------
    frame
        Tidy: one row a model and part, columns as :func:`fairdash.assessment.assess_predictions` gives them.
    predictions
        (K, n) in the target's units, aligned with the rows of the data set; row k belongs to `members` row k.
    members
        Columns ``method``, ``lam``, ``split``, ``diverged``, ``best_epoch``.
    splits
        Row numbers of each split's parts.
    sweep
        The plan that was carried out.
    device
        Where it was trained.
    seconds
        Wall time of the training, without the assessment.
    notes
        Sentences that the user should read: a device that was not there, models that diverged.
    """

    frame: pd.DataFrame
    predictions: NDArray[np.float64]
    members: pd.DataFrame
    splits: tuple[Split, ...]
    sweep: Sweep
    device: str
    seconds: float
    notes: tuple[str, ...]


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
    device: str = "auto",
    measures: Sequence[str] = DEFAULT_MEASURES,
    progress: Callable[[SweepProgress], None] | None = None,
) -> SweepResult:
    """Train methods over a grid of λ and random splits, and assess every model.

    Parameters
    ----------
    dataset
        With one sensitive column, or several for methods that take them.
    methods, lams, objective, n_splits, random_state, validation_share, settings, device
        As in :class:`fairdash.training.sweep.Sweep`.
    measures
        Ids in :data:`fairdash.dependence.REGISTRY`, a column each in the frame.
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
        device=device,
    )
    return run_sweep(dataset, plan, measures=measures, progress=progress)


def run_sweep(
    dataset: Dataset,
    plan: Sweep,
    *,
    measures: Sequence[str] = DEFAULT_MEASURES,
    progress: Callable[[SweepProgress], None] | None = None,
) -> SweepResult:
    """Carry out a plan; see :func:`sweep`."""
    for name in measures:
        look_up(REGISTRY, name, option="measure")
    trained = train_sweep(dataset, plan, progress=progress)
    frame = assess_predictions(
        dataset,
        trained.predictions,
        trained.members,
        trained.splits,
        objective=plan.objective,
        loss=find_loss(plan.settings.loss, tweedie_power=plan.settings.tweedie_power),
        measures=measures,
        random_state=plan.random_state,
        progress=None if progress is None else lambda share: progress(SweepProgress("assessing", share)),
    )
    return SweepResult(
        frame=frame,
        predictions=trained.predictions,
        members=trained.members,
        splits=trained.splits,
        sweep=plan,
        device=trained.device.name,
        seconds=trained.seconds,
        notes=_notes(trained),
    )


def _notes(trained: TrainedSweep) -> tuple[str, ...]:
    notes = [*([trained.device.note] if trained.device.note else []), *trained.notes]
    diverged = int(trained.members["diverged"].sum())
    if diverged:
        notes.append(
            f"{diverged} of {len(trained.members)} models diverged; they keep their last finite weights "
            "and are left out of the means."
        )
    return tuple(notes)
