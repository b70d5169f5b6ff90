"""What a run does with a plan: train, judge by both objectives, walk between the weights, references."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd

from fairdash import api
from fairdash._version import versions
from fairdash.assessment import assess_path, assess_predictions
from fairdash.data.dataset import Dataset
from fairdash.runs.result import RunResult
from fairdash.training.device import TITLES
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.sweep import Sweep, SweepProgress

#: What every model is judged by.
MEASURES = ("hgr_kde", "hgr_spline", "hgr_rdc", "chi2_kde", "fairquant", "fairquant_cumulative")
#: Permutations behind a floor of a first look, and of a whole run.
PERMUTATIONS = {True: 30, False: 100}
#: References train five more models a split: left out beyond so many rows.
MOST_ROWS_FOR_REFERENCES = 30_000
#: Shares of a run's time, for the estimate of the time left.
TRAINING_SHARE, REFERENCES_SHARE = 0.65, 0.1

#: Hears what is being done and the share of the work that is done.
Tell = Callable[[str, float], None]


def find_out(
    dataset: Dataset,
    plan: Sweep,
    *,
    is_first_look: bool = False,
    tell: Tell = lambda *_: None,
    on_curve: Callable[[pd.DataFrame], None] = lambda _: None,
) -> RunResult:
    """Carry out a plan.

    Parameters
    ----------
    is_first_look
        Rougher floors, no importance and no references: what a few seconds allow.
    tell
        May raise :class:`fairdash.errors.Cancelled`.
    on_curve
        Hears of every epoch of the training, see :class:`fairdash.training.sweep.SweepProgress`.
    """
    n_permutations = PERMUTATIONS[is_first_look]

    def hear(progress: SweepProgress) -> None:
        if progress.curve is not None:
            on_curve(progress.curve)
        if progress.phase == "training":
            doing = f"training {METHODS[progress.method].title} on {TITLES[progress.device]}"
            tell(doing, TRAINING_SHARE * progress.fraction)
        else:
            measured(0, progress.fraction)

    with_references = not is_first_look and _has_references(dataset)
    assessing_share = 1 - TRAINING_SHARE - (REFERENCES_SHARE if with_references else 0.0)

    def measured(step: int, share: float) -> None:
        # Frames and paths, of two objectives each.
        tell("measuring", TRAINING_SHARE + assessing_share * (step + share) / 4)

    swept = api.run_sweep(
        dataset,
        plan,
        measures=MEASURES,
        n_permutations=n_permutations,
        importance=not is_first_look,
        progress=hear,
    )
    loss, seed = plan.settings.loss_function, plan.random_state
    (other,) = OBJECTIVES.keys() - {plan.objective}
    frames = {
        plan.objective: swept.frame,
        other: assess_predictions(
            dataset,
            swept.predictions,
            swept.members,
            swept.splits,
            objective=other,
            loss=loss,
            measures=MEASURES,
            n_permutations=n_permutations,
            random_state=seed,
            progress=partial(measured, 1),
        ),
    }
    paths = {
        objective: assess_path(
            dataset,
            swept.predictions,
            frame,
            swept.members,
            swept.splits,
            objective=objective,
            loss=loss,
            measures=MEASURES,
            random_state=seed,
            progress=partial(measured, step),
        )
        for step, (objective, frame) in enumerate(frames.items(), start=2)
    }
    reference = None
    if with_references:
        tell("training references that use the sensitive attribute", 1 - REFERENCES_SHARE)
        reference = api.references(
            dataset,
            n_splits=plan.n_splits,
            random_state=plan.random_state,
            validation_share=plan.validation_share,
            settings=plan.settings,
            device=plan.device,
            measures=MEASURES,
        )
    roles = dataset.roles
    named = (roles.target, *roles.sensitive)
    return RunResult(
        objective=plan.objective,
        frames=frames,
        paths=paths,
        members=swept.members,
        predictions=swept.predictions,
        splits=swept.splits,
        target=dataset.target.to_numpy(dtype=float),
        sensitive=dataset.sensitive,
        weight=None if dataset.weight is None else dataset.weight.to_numpy(dtype=float),
        target_name=roles.target,
        units={column: dataset.units[column] for column in named if column in dataset.units},
        references=None if reference is None else reference.frame[reference.frame["part"] == "test"],
        price=None if reference is None else reference.price,
        importance=swept.importance,
        device=swept.device,
        seconds=swept.seconds,
        notes=swept.notes,
        versions=versions(),
    )


def _has_references(dataset: Dataset) -> bool:
    return dataset.sensitive.shape[1] == 1 and dataset.n_rows <= MOST_ROWS_FOR_REFERENCES
