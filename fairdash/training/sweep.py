"""A sweep: methods × λ × splits of one data set, planned, trained as stacks and predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import Checks
from fairdash.jobs.steps import Unit, at_once, is_from_the_end, within
from fairdash.training.device import Device, resolve_device
from fairdash.training.methods import DEFAULT_METHOD, METHODS
from fairdash.training.methods import STANDARD as STANDARD
from fairdash.training.models import TrainedModels, train_models
from fairdash.training.plan import TrainingPlan, check_lams
from fairdash.training.progress import OnProgress
from fairdash.training.progress import SweepProgress as SweepProgress
from fairdash.training.set_aside import SetAside
from fairdash.training.settings import TrainingSettings
from fairdash.training.split_kinds import check_groups, draw_splits
from fairdash.training.splits import Split, with_held_out
from fairdash.training.splits import initial_seed as initial_seed
from fairdash.training.stacked_model import StackedModel
from fairdash.training.tuning import settings_of_splits, tuned_models, tuned_settings
from fairdash.utils.registry import get_entry


@dataclass(frozen=True, kw_only=True)
class Sweep(TrainingPlan):
    """A plan: which models to train on a data set.

    Parameters
    ----------
    methods
        Ids in :data:`fairdash.training.methods.METHODS`. ``"standard"`` is trained once a split, the
        others once a split and λ.
    lams
        Weights λ ≥ 0 of the penalty, each different. They weigh Ψ against the mean squared error on
        the standardised target.
    n_splits
        Splits of the rows, a fifth of them for testing.
    validation_share
        Share of the rows that are not test rows to set aside for choices: 0 for none, below 1.
    tune
        Whether learning rate and weight decay are found on each split's validation rows before its models
        are trained, as :func:`fairdash.training.tuning.tune` does, instead of those in `settings`.
    tariff
        Whether a run fits tariffs (:mod:`fairdash.tariff`) at λ = 0 and at these weights, too; they are not
        among the sweep's own models.
    objective, random_state, split, confirmation_share, settings, device
        As in :class:`fairdash.training.plan.TrainingPlan`.

    Raises
    ------
    OptionError
        With every option that can't be used.
    """

    methods: tuple[str, ...] = (STANDARD, DEFAULT_METHOD)
    lams: tuple[float, ...]
    n_splits: int = 5
    validation_share: float = 0.0
    tune: bool = False
    tariff: bool = False

    def _check(self, checks: Checks) -> None:
        for method in self.methods:
            get_entry(METHODS, method, option="method")
        checks.require(
            self.methods and len(set(self.methods)) == len(self.methods),
            "methods",
            "No method, or one named twice",
            "Name each method once.",
        )
        check_lams(checks, self.lams, needed=self.methods != (STANDARD,))
        checks.require(self.n_splits >= 1, "n_splits", "There is no split to train on", "Ask for 1 or more.")
        checks.require(
            0 <= self.validation_share < 1,
            "validation_share",
            "The share of validation rows is out of its range",
            "Choose a number from 0 to below 1, such as 0.2.",
        )

    def splits(self, dataset: Dataset) -> tuple[Split, ...]:
        """The splits of a data set; errors as :func:`fairdash.training.split_kinds.draw_splits`."""
        return draw_splits(
            dataset,
            self.split,
            n_splits=self.n_splits,
            random_state=self.random_state,
            validation_share=self.validation_share,
            set_aside=self.set_aside(dataset),
        )

    def models(self, settings: Sequence[TrainingSettings] | None = None) -> tuple[StackedModel, ...]:
        """Every model of the plan: methods in their order, then splits, then λ.

        `settings` are each split's own; None for the plan's in all of them.
        """
        return tuple(
            StackedModel(method, float(lam), own, split, initial_seed(self.random_state, split))
            for method in self.methods
            for split, own in enumerate(settings or [self.settings] * self.n_splits)
            for lam in ((0.0,) if method == STANDARD else self.lams)
        )


def train_sweep(
    dataset: Dataset,
    sweep: Sweep,
    *,
    importance: bool = False,
    confirms: bool = True,
    brief: bool = False,
    progress: OnProgress | None = None,
    unit: Unit = at_once,
) -> TrainedModels:
    """Train every model of `sweep` on `dataset`; errors as :func:`fairdash.training.models.train_models`.

    Parameters
    ----------
    importance
        Whether to find the permutation importance of every feature in every model.
    confirms
        Whether the models are trained, too, that predict the rows set aside, where there are any: one a
        method and λ, on all the other rows. Without them these rows are left alone all the same.
    brief
        Whether standard models that were trained to find their settings need not be trained again, where
        they would be the same; nothing is told of their epochs then, and nothing of their importance.
    progress
        Called after every step and every epoch. It may raise :class:`fairdash.errors.Cancelled`.
    unit
        Asked for what there is under ``"tuning/"``, ``"train/"`` and ``"set-aside/"``.
    """
    device = resolve_device(sweep.device)
    check_groups(dataset)
    splits = sweep.splits(dataset)
    tuning, settings, standard = None, None, None
    if sweep.tune:
        tuning, standard = tuned_models(
            dataset,
            splits,
            sweep.settings,
            random_state=sweep.random_state,
            device=device,
            progress=None
            if progress is None
            else lambda at: progress(replace(at, phase="tuning", curve=None)),
            unit=within(unit, "tuning"),
        )
        settings = settings_of_splits(tuning, sweep.settings)
    aside = sweep.set_aside(dataset)
    # Models of all other rows are about as much work as those of a split.
    share = sweep.n_splits / (sweep.n_splits + 1) if confirms and len(aside) else 1.0
    is_known = standard is not None and brief and all(len(split.validation) for split in splits)
    models = sweep.models(settings)
    rest = [model for model in models if not (is_known and model.method == STANDARD)] or models

    def train() -> TrainedModels:
        return train_models(
            dataset,
            splits,
            rest,
            objective=sweep.objective,
            random_state=sweep.random_state,
            device=device,
            importance=importance,
            progress=None
            if progress is None
            else lambda at: progress(replace(at, fraction=share * at.fraction)),
            unit=within(unit, "train"),
        )

    def predict_set_aside() -> SetAside:
        return _predict_set_aside(
            dataset,
            sweep if tuning is None else replace(sweep, settings=tuned_settings(tuning, sweep.settings)),
            aside,
            device,
            None
            if progress is None
            else lambda at: progress(replace(at, fraction=share + (1 - share) * at.fraction, curve=None)),
            within(unit, "set-aside"),
        )

    kept = None
    if confirms and len(aside) and is_from_the_end(unit):
        # Neither needs the other: two processes at the run are then at one each.
        kept = predict_set_aside()
    trained = train()
    if standard is not None and len(rest) < len(models):
        trained = _with_standard(trained, standard, [model.method == STANDARD for model in models])
    diverged = int(trained.members["diverged"].sum())
    notes = trained.notes
    if diverged:
        notes += (
            f"{diverged} of {len(trained.members)} models diverged; they keep their last finite weights "
            "and are left out of the means.",
        )
    trained = replace(trained, tuning=tuning, notes=notes)
    if not len(aside):
        return trained
    if confirms and kept is None:
        kept = predict_set_aside()
    # Of models that were chosen by, these rows have no predictions: nothing can come to show them.
    trained.predictions[:, aside] = np.nan
    return replace(trained, set_aside=kept)


def _with_standard(
    trained: TrainedModels, standard: TrainedModels, is_standard: Sequence[bool]
) -> TrainedModels:
    """The models in a plan's order, `is_standard` for those that were known."""
    order = np.argsort(np.argsort(~np.array(is_standard), kind="stable"))
    members = pd.concat([standard.members, trained.members], ignore_index=True)
    return replace(
        trained,
        members=members.iloc[order].reset_index(drop=True),
        predictions=np.concatenate([standard.predictions, trained.predictions])[order],
    )


def _predict_set_aside(
    dataset: Dataset,
    sweep: Sweep,
    rows: NDArray[np.int64],
    device: Device,
    progress: OnProgress | None,
    unit: Unit,
) -> SetAside:
    """Train each method and λ on all other rows, and predict these."""
    none = rows[:0]
    split = Split(np.setdiff1d(np.arange(dataset.n_rows), rows), none)
    if sweep.settings.patience is not None:
        split = with_held_out(split, random_state=sweep.random_state, groups=dataset.groups)
    trained = train_models(
        dataset,
        (split,),
        replace(sweep, n_splits=1).models(),
        objective=sweep.objective,
        random_state=sweep.random_state,
        device=device,
        progress=progress,
        unit=unit,
    )
    return SetAside.of(dataset, rows, members=trained.members, predictions=trained.predictions)
