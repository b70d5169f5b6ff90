"""What a plan of a sweep comes to: train, assess by both objectives, walk between the weights, references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash._version import versions
from fairdash.data.dataset import Dataset
from fairdash.data.sample import draw_rows
from fairdash.dependence import REGISTRY
from fairdash.evaluation.assess import DEFAULT_MEASURES, N_PERMUTATIONS, assess_predictions
from fairdash.evaluation.learning import Gain, gain_over_mean
from fairdash.evaluation.result import SweepResult
from fairdash.evaluation.tradeoff_curve import assess_curve
from fairdash.jobs.steps import Unit, at_once, within
from fairdash.tariff.fit import FitOptions
from fairdash.tariff.many import FittedTariffs, fit_tariffs
from fairdash.training.baselines import train_baselines
from fairdash.training.device import TITLES
from fairdash.training.methods import METHODS
from fairdash.training.models import TrainedModels
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.references.trained import train_references
from fairdash.training.splits import Split
from fairdash.training.sweep import STANDARD, Sweep, SweepProgress, train_sweep

#: Permutations behind a floor of a preview, and of one that sees a sample of a table that took its time to
#: read: as few as still reach 5 %.
PREVIEW_PERMUTATIONS, SAMPLE_PERMUTATIONS = 39, 19
#: References train five more models a split: left out beyond so many rows.
MOST_ROWS_FOR_REFERENCES = 30_000
#: Shares of a run's time, for the estimate of the time left.
TRAINING_SHARE, REFERENCES_SHARE = 0.65, 0.1
#: Of the training's share, what finding its settings takes.
TUNING_SHARE = 0.15

#: Hears what is being done and the share of the work that is done.
Progress = Callable[[str, float], None]


def execute_sweep(
    dataset: Dataset,
    plan: Sweep,
    *,
    measures: Sequence[str] = DEFAULT_MEASURES,
    importance: bool = True,
    references: bool = True,
    is_preview: bool = False,
    share: float = 1.0,
    progress: Progress = lambda *_: None,
    on_curve: Callable[[pd.DataFrame], None] = lambda _: None,
    unit: Unit = at_once,
) -> SweepResult:
    """Carry out a plan.

    Parameters
    ----------
    measures
        Ids in :data:`fairdash.dependence.REGISTRY`.
    importance
        Whether to find the permutation importance of every feature in every model.
    references
        Whether prices that are told s are trained, where the table is one for them.
    is_preview
        Rougher floors, none for benchmarks, no importance, references, tariffs or models to confirm by: what
        seconds allow.
    share
        The share of the rows to see, drawn at random: above 0, 1 for all of them.
    progress
        May raise :class:`fairdash.errors.Cancelled`.
    on_curve
        Hears of every epoch of the training, see :class:`fairdash.training.sweep.SweepProgress`.
    unit
        Asked for every part of the work, a few seconds each on a small table; a run that goes on with what
        is known of them equals one that was never ended.
    """
    rows, n_rows = None, dataset.n_rows
    if share < 1:
        # Rows that are set aside to confirm by are shown by nothing before, a sample included.
        open_rows = np.setdiff1d(np.arange(n_rows), plan.set_aside(dataset))
        drawn = draw_rows(dataset.take(open_rows), round(share * n_rows), random_state=plan.random_state)
        rows, plan = open_rows[drawn], replace(plan, confirmation_share=0.0)
        dataset = dataset.take(rows)
    n_permutations = N_PERMUTATIONS
    if is_preview:
        n_permutations = PREVIEW_PERMUTATIONS if rows is None else SAMPLE_PERMUTATIONS
    with_references = references and not is_preview and _has_references(dataset)
    assessed = _assessed(plan, measures)
    tuned = TUNING_SHARE if plan.tune else 0.0

    def on_training(at: SweepProgress) -> None:
        if at.curve is not None:
            on_curve(at.curve)
        if at.phase == "tuning":
            progress("finding weight decay on validation rows", TRAINING_SHARE * tuned * at.fraction)
        else:
            doing = f"training {METHODS[at.method].title} on {TITLES[at.device]}"
            progress(doing, TRAINING_SHARE * (tuned + (1 - tuned) * at.fraction))

    def on_measuring(first: int, step: int, share: float) -> None:
        # Frames and paths, of two objectives each.
        left = 1 - TRAINING_SHARE - (REFERENCES_SHARE if with_references else 0.0)
        progress("measuring", TRAINING_SHARE + left * (first + step + share) / 4)

    trained = train_sweep(
        dataset,
        plan,
        importance=importance and not is_preview,
        confirms=not is_preview,
        brief=is_preview,
        progress=on_training,
        unit=unit,
    )
    splits = trained.splits
    frames, paths, baselines = {}, {}, {}
    guesses = _standing_by(dataset, plan, splits, is_preview=is_preview, progress=progress, unit=unit)
    # Models that were trained for one objective are judged by both.
    for step, objective in enumerate(_objectives(plan)):
        frames[objective], paths[objective] = _judged(
            dataset, assessed, trained, objective, n_permutations, partial(on_measuring, 2 * step), unit
        )
        benchmarks, predictions = guesses
        baselines[objective] = assess_predictions(
            dataset,
            predictions,
            benchmarks,
            splits,
            objective=objective,
            n_permutations=0 if is_preview else n_permutations,
            parts=("test",),
            **assessed,
        )
    told_s, price = None, None
    if with_references:

        def on_references() -> None:
            progress("training references that use the sensitive attribute", 1 - REFERENCES_SHARE)

        told_s, price = _references(dataset, plan, assessed, splits, on_references, unit)
    roles = dataset.roles
    named = (roles.target, *roles.sensitive)
    return SweepResult(
        sweep=plan,
        frames=frames,
        paths=paths,
        target=dataset.target.to_numpy(dtype=float),
        sensitive=dataset.sensitive,
        weight=None if dataset.weight is None else dataset.weight.to_numpy(dtype=float),
        target_name=roles.target,
        units={column: dataset.units[column] for column in named if column in dataset.units},
        names={column: dataset.names[column] for column in named if column in dataset.names},
        references=told_s,
        price=price,
        versions=versions(),
        baselines=baselines,
        gain=_gain(dataset, plan, trained),
        evaluations={id: way for id in measures if (way := REGISTRY[id].recorded)},
        rows=rows,
        drawn_from=None if rows is None else n_rows,
        **vars(trained),
    )


def lend_a_hand(dataset: Dataset, plan: Sweep, *, unit: Unit) -> None:
    """Ask for the units of a whole run in another order: what another process at the run comes to last.

    Parameters
    ----------
    dataset, plan
        As :func:`execute_sweep` has them; nothing of a preview.
    unit
        It comes ``from_the_end`` (:func:`fairdash.jobs.steps.turns`), and waits for what another has begun.
    """
    splits, assessed = plan.splits(dataset), _assessed(plan, DEFAULT_MEASURES)
    _standing_by(dataset, plan, splits, is_preview=False, progress=lambda *_: None, unit=unit)
    if _has_references(dataset):
        _references(dataset, plan, assessed, splits, lambda: None, unit)
    trained = train_sweep(dataset, plan, importance=True, unit=unit)
    for objective in reversed(_objectives(plan)):
        _judged(dataset, assessed, trained, objective, N_PERMUTATIONS, lambda *_: None, unit)


def _objectives(plan: Sweep) -> list[str]:
    """What models are judged by, their own objective first."""
    return sorted(OBJECTIVES, key=lambda each: each != plan.objective)


def _assessed(plan: Sweep, measures: Sequence[str]) -> dict[str, Any]:
    """Options of every assessment of a plan."""
    return {
        "loss": plan.settings.loss_function,
        "measures": measures,
        "random_state": plan.random_state,
    }


def _standing_by(
    dataset: Dataset,
    plan: Sweep,
    splits: Sequence[Split],
    *,
    is_preview: bool,
    progress: Progress,
    unit: Unit,
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Members and predictions of what stands beside the models: baselines, and tariffs if they are wanted."""
    loss = plan.settings.loss_function
    members, predictions = train_baselines(
        dataset, splits, loss=loss, random_state=plan.random_state, with_trees=not is_preview, unit=unit
    )
    if is_preview or not plan.tariff:
        return members, predictions
    tariffs = tariffs_of_plan(
        dataset,
        plan,
        splits,
        lams=tuple(dict.fromkeys((0.0, *plan.lams))),
        on_step=lambda _: progress("fitting tariffs", TRAINING_SHARE),
        unit=within(unit, "tariffs"),
    )
    return (
        pd.concat([members, tariffs.members[list(members.columns)]], ignore_index=True),
        np.concatenate([predictions, tariffs.predictions]),
    )


def tariffs_of_plan(
    dataset: Dataset,
    plan: Sweep,
    splits: Sequence[Split],
    *,
    lams: Sequence[float],
    on_step: Callable[[float], None] | None = None,
    unit: Unit = at_once,
) -> FittedTariffs:
    """The tariffs of a plan at these weights, as they stand on the front of its run."""
    loss = plan.settings.loss_function
    return fit_tariffs(
        dataset,
        splits,
        lams=lams,
        options=FitOptions(loss=loss, objective=plan.objective, balance=plan.settings.balance),
        random_state=plan.random_state,
        shrink=True,
        on_step=on_step,
        unit=unit,
    )


def _judged(
    dataset: Dataset,
    assessed: dict[str, Any],
    trained: TrainedModels,
    objective: str,
    n_permutations: int,
    progress: Callable[[int, float], None],
    unit: Unit,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Frame and path by one objective; `progress` hears 0 or 1 for them and the share of it."""
    models: dict[str, Any] = {"members": trained.members, "splits": trained.splits, "objective": objective}
    frame = assess_predictions(
        dataset,
        trained.predictions,
        n_permutations=n_permutations,
        progress=partial(progress, 0),
        unit=within(unit, f"assess/{objective}/front"),
        **models,
        **assessed,
    )
    path = assess_curve(
        dataset,
        trained.predictions,
        frame,
        progress=partial(progress, 1),
        unit=within(unit, f"assess/{objective}/path"),
        **models,
        **assessed,
    )
    return frame, path


def _references(
    dataset: Dataset,
    plan: Sweep,
    assessed: dict[str, Any],
    splits: Sequence[Split],
    on_step: Callable[[], None],
    unit: Unit,
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """The references' frame, and the price of independence."""
    told_s, prices, price = train_references(
        dataset,
        splits,
        settings=plan.settings,
        random_state=plan.random_state,
        device=plan.device,
        on_step=on_step,
        unit=within(unit, "references"),
    )
    frame = assess_predictions(
        dataset,
        prices,
        told_s,
        splits,
        objective="demographic_parity",
        parts=("test",),
        progress=lambda _: on_step(),
        unit=within(unit, "assess/references"),
        **assessed,
    )
    return frame, price


def _gain(dataset: Dataset, plan: Sweep, trained: TrainedModels) -> Gain | None:
    """What the standard models that did not diverge gain over the average; None if there are none."""
    members = trained.members
    own = np.flatnonzero((members["method"] == STANDARD) & ~members["diverged"])
    if not len(own):
        return None
    return gain_over_mean(
        dataset.target.to_numpy(dtype=float),
        {int(members["split"].iloc[k]): trained.predictions[k] for k in own},
        trained.splits,
        loss=plan.settings.loss_function,
        weight=None if dataset.weight is None else dataset.weight.to_numpy(dtype=float),
    )


def _has_references(dataset: Dataset) -> bool:
    return dataset.sensitive.shape[1] == 1 and dataset.n_rows <= MOST_ROWS_FOR_REFERENCES
