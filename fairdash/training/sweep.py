"""Plan of a run over methods, weights λ and splits of one data set, and training of its models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import Checks, OptionError
from fairdash.jobs.steps import StepRunner, independent, memoised, run_directly, within
from fairdash.training.crossvalidation import settings_of_splits, tune, tuned_settings
from fairdash.training.defaults import (
    LAMS,
    MANY_ROWS,
    N_SPLITS,
    N_SPLITS_OF_MANY_ROWS,
    PREVIEW_LAMS,
    PREVIEW_TARIFF_LAMS,
    VALIDATION_SHARE,
    default_methods,
    default_n_splits,
    default_settings,
    other_defaults,
    training_rows,
)
from fairdash.training.device import Device, resolve_device
from fairdash.training.methods import DEFAULT_METHOD, FAIR_TARIFF, METHODS, PATHS
from fairdash.training.methods import STANDARD as STANDARD
from fairdash.training.models import TrainedModels, train_models, with_standard
from fairdash.training.pilot import is_auto
from fairdash.training.progress import OnProgress
from fairdash.training.progress import SweepProgress as SweepProgress
from fairdash.training.settings import OBJECTIVES, StackedModel, TrainingSettings, budget_of, check_lams
from fairdash.training.split_kinds import (
    RANDOM,
    SPLITS,
    TIME,
    SetAside,
    check_groups,
    checked_kind,
    default_kind,
    default_share,
    draw_set_aside,
    draw_splits,
)
from fairdash.training.splits import Split, with_held_out
from fairdash.training.splits import initial_seed as initial_seed
from fairdash.training.stack_trainer import seconds_of
from fairdash.utils.options import check_ranges, option
from fairdash.utils.registry import get_entry


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """Options that all plans share: objective, splits, settings, device and seed.

    Parameters
    ----------
    objective
        Id in :data:`fairdash.training.settings.OBJECTIVES`.
    random_state
        Seed of splits, folds, initial weights, mini-batches and permutations (:mod:`fairdash.utils.seeds`).
    split
        Id in :data:`fairdash.training.split_kinds.SPLITS`, which determines how test rows are drawn.
    confirmation_share
        Share of the rows, from 0 to below 1, that are set aside as holdout rows before splits are drawn.
        Holdout rows are used only once, to confirm a selected model (:mod:`fairdash.training.split_kinds`).
    settings
        Training settings of the models or, in a search, settings that all candidates share.
    device
        Device for training: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``. ``"auto"`` uses a GPU if the
        training is so long that a GPU is faster.

    Raises
    ------
    OptionError
        Raised if options are not valid; the error lists all of these options.
    """

    objective: str = "demographic_parity"
    random_state: int = option(0, "Seed", "", within="[0, inf)")
    split: str = RANDOM
    confirmation_share: float = option(
        *(0.0, "Share of the rows set aside to confirm the choice"),
        "These rows stay unused until you open them once, to check the model that you have chosen. By "
        "default, a fifth of the rows of a table with at least 5,000 rows is set aside, at most 10,000 rows.",
        within="[0, 1)",
        step=0.05,
    )
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    device: str = "auto"

    def __post_init__(self) -> None:
        get_entry(OBJECTIVES, self.objective, option="objective")
        get_entry(SPLITS, self.split, option="split")
        checks = Checks(OptionError)
        check_ranges(type(self), vars(self), checks)
        self._check(checks)
        checks.finish()

    def _check(self, checks: Checks) -> None:
        """Check the options that a subclass adds."""

    def set_aside(self, dataset: Dataset) -> NDArray[np.int64]:
        """Draw the holdout rows with :func:`fairdash.training.split_kinds.draw_set_aside`."""
        checked_kind(dataset, self.split)
        return draw_set_aside(dataset, self.confirmation_share, latest=self.split == TIME)


@dataclass(frozen=True, kw_only=True)
class SearchPlan(TrainingPlan):
    """Options that all searches share; a search compares candidates of one method by cross-validation.

    Parameters
    ----------
    method
        Id in :data:`fairdash.training.methods.METHODS`.
    n_folds
        Number of folds of the cross-validation, at least 2.
    objective, random_state, split, settings, device
        As in :class:`TrainingPlan`.
    """

    method: str = DEFAULT_METHOD
    n_folds: int = option(
        5, "Folds", "Number of folds of the cross-validation.", within="[2, inf)", word="folds"
    )

    def _check(self, checks: Checks) -> None:  # noqa: ARG002 - as the other plans have it
        get_entry(METHODS, self.method, option="method")


@dataclass(frozen=True, kw_only=True)
class Sweep(TrainingPlan):
    """Plan of a run: the models to train on a data set.

    Parameters
    ----------
    methods
        Ids in :data:`fairdash.training.methods.METHODS`. For ``"standard"``, one model is trained per split;
        for other methods, one model is trained per split and λ. The methods ``("standard", "fair_tariff")``
        give tariffs instead of networks, with the GLM as the standard model.
    lams
        Distinct weights λ ≥ 0 of the penalty Ψ in L + λ Ψ, where the loss L is 1 for the constant model.
    n_splits
        Number of splits. In each split, a fifth of the rows are test rows.
    validation_share
        Share of the rows outside the test set that become validation rows, from 0 to below 1.
    tune
        True if :func:`fairdash.training.crossvalidation.tune` first selects the weight decay on the
        validation rows of each split. Its values of weight decay and learning rate then replace those in
        `settings`.
    find_lams
        True to replace `lams` by the same number of weights found by
        :func:`fairdash.training.pilot.find_lams`.
    tariff
        True if a run also fits tariffs (:mod:`fairdash.tariff`), at λ = 0 and at as many weights λ as `lams`
        has. :meth:`models` does not list these tariffs.
    objective, random_state, split, confirmation_share, settings, device
        As in :class:`fairdash.training.sweep.TrainingPlan`.

    Raises
    ------
    OptionError
        Raised if options are not valid; the error lists all of these options.
    """

    methods: tuple[str, ...] = (STANDARD, DEFAULT_METHOD)
    lams: tuple[float, ...]
    n_splits: int = option(
        N_SPLITS,
        "",
        "With more splits, results are more precise, but training takes longer.",
        within="[1, inf)",
    )
    validation_share: float = option(
        *(0.0, "Share of the training rows used for validation"),
        "Validation rows are used to choose a model and to stop training early. Without validation rows, "
        "test rows would have to be used for this choice.",
        within="[0, 1)",
        step=0.05,
    )
    tune: bool = False
    find_lams: bool = False
    tariff: bool = False

    def _check(self, checks: Checks) -> None:
        for method in self.methods:
            get_entry(PATHS, method, option="method")
        is_valid_choice = FAIR_TARIFF not in self.methods or set(self.methods) == {STANDARD, FAIR_TARIFF}
        hint = "Combine “fair_tariff” only with “standard”, or train networks with the option tariff=True."
        checks.require(
            is_valid_choice, "methods", "“fair_tariff” can't be combined with methods for networks", hint
        )
        checks.require(
            self.methods and len(set(self.methods)) == len(self.methods),
            "methods",
            "There is no method, or a method is repeated",
            "Give every method once.",
        )
        check_lams(checks, self.lams, needed=self.methods != (STANDARD,))

    def splits(self, dataset: Dataset) -> tuple[Split, ...]:
        """Draw the splits of a data set with :func:`fairdash.training.split_kinds.draw_splits`."""
        return draw_splits(
            dataset,
            self.split,
            n_splits=self.n_splits,
            random_state=self.random_state,
            validation_share=self.validation_share,
            set_aside=self.set_aside(dataset),
        )

    def device_for(self, n_rows: int) -> Device:
        """Return the device for a table with `n_rows` rows; ``"auto"`` uses a GPU only for long trainings."""
        return resolve_device(self.device, seconds=seconds_of(self.models(), training_rows(n_rows)))

    def other_defaults(self, then: Mapping[str, Any]) -> str:
        """Describe options of this plan that were defaults (`then`) but no longer are, or return ""."""
        return other_defaults({**vars(self), **vars(self.settings)}, then)

    def models(self, settings: Sequence[TrainingSettings] | None = None) -> tuple[StackedModel, ...]:
        """List all models of the plan, ordered by method, split and λ.

        The argument `settings` contains the settings of each split, or is None if all splits use those of the
        plan.
        """
        return tuple(
            StackedModel(method, float(lam), settings_of_split, split, initial_seed(self.random_state, split))
            for method in self.methods
            for split, settings_of_split in enumerate(settings or [self.settings] * self.n_splits)
            for lam in ((0.0,) if method == STANDARD else self.lams)
        )


def default_plan(
    dataset: Dataset,
    *,
    objective: str = "demographic_parity",
    methods: Sequence[str] | None = None,
    lams: Sequence[float] | str = "auto",
    n_splits: int | None = None,
    random_state: int = 0,
    validation_share: float = VALIDATION_SHARE,
    split: str | None = None,
    confirmation: float | None = None,
    settings: TrainingSettings | None = None,
    tune: bool | None = None,
    tariff: bool | None = None,
    device: str = "auto",
) -> Sweep:
    """Return the plan of a run; for an option that is None, the plan has a value that suits the data."""
    training = default_settings(dataset) if settings is None else settings
    chosen_methods = default_methods(dataset) if methods is None else tuple(methods)
    find_lams = is_auto(lams)
    return Sweep(
        methods=chosen_methods,
        lams=LAMS if find_lams else tuple(float(lam) for lam in lams),
        find_lams=find_lams and chosen_methods != (STANDARD,),
        objective=objective,
        n_splits=default_n_splits(dataset.n_rows) if n_splits is None else n_splits,
        random_state=random_state,
        validation_share=validation_share,
        split=default_kind(dataset) if split is None else split,
        confirmation_share=default_share(dataset.n_rows) if confirmation is None else confirmation,
        settings=training,
        # For large tables, the default weight decay is below all candidates of a tuning and at least as good.
        tune=settings is None and dataset.n_rows < MANY_ROWS if tune is None else tune,
        # Tariffs are a default only for losses with a log link, because these losses suit prices and claims.
        tariff=training.loss_function.has_log_link if tariff is None else tariff,
        device=device,
    )


def preview_of(plan: Sweep, *, n_rows: int | None = None) -> Sweep:
    """Return the plan of a preview, which has one split and only the first fair method of `plan`.

    If the plan has tariffs, the preview fits tariffs instead of networks. Tariffs are fitted to all rows in
    seconds, and weak dependence may be detectable only with all rows. If the preview uses a sample of the
    rows, `n_rows` is the size of the sample. The training schedule is adapted to this size.
    """
    if plan.tariff:
        plan = replace(plan, methods=(STANDARD, FAIR_TARIFF), n_splits=1, tariff=False, tune=False)
        return replace(plan, lams=PREVIEW_TARIFF_LAMS, find_lams=False) if plan.find_lams else plan
    settings = plan.settings
    if n_rows is not None:
        schedule: dict[str, Any] = budget_of(training_rows(n_rows))
        settings = replace(settings, **schedule)
    return replace(
        plan,
        methods=plan.methods[:2],
        lams=PREVIEW_LAMS if plan.find_lams else plan.lams,
        find_lams=False,
        n_splits=1,
        tariff=False,
        settings=settings,
    )


def quicker_plan(plan: Sweep) -> Sweep | None:
    """Return a plan with only the first fair method and few splits, or None if this saves no time."""
    fair = next((method for method in plan.methods if method != STANDARD), None)
    if fair is None:
        return None
    n_splits = min(plan.n_splits, N_SPLITS_OF_MANY_ROWS)
    quick_plan = replace(plan, methods=(STANDARD, fair), n_splits=n_splits)
    return quick_plan if (len(quick_plan.methods), n_splits) < (len(plan.methods), plan.n_splits) else None


def train_sweep(
    dataset: Dataset,
    sweep: Sweep,
    *,
    importance: bool = False,
    confirms: bool = True,
    brief: bool = False,
    progress: OnProgress | None = None,
    run_step: StepRunner = run_directly,
) -> TrainedModels:
    """Train all models of a plan on a data set, with :func:`fairdash.training.models.train_models`.

    Parameters
    ----------
    importance
        True to compute the permutation importance of features for every model.
    confirms
        True to predict the holdout rows, if there are any, with one model per method and λ. This model is
        trained on all other rows or, for large tables, is the model of the first split. If False, holdout
        rows are not used at all.
    brief
        True to use the standard models from the comparison of weight decays if training would give exactly
        the same models. These models have no training curves and no importance.
    progress
        Function that is called after every step and every epoch, and may raise
        :class:`fairdash.errors.Cancelled`.
    run_step
        Function that runs steps, or returns their stored results (:class:`fairdash.jobs.steps.StepRunner`).
        The steps are ``"tuning/…"``, ``"train/…"`` and ``"set-aside/…"``.
    """
    report: OnProgress = (lambda _: None) if progress is None else progress
    device = sweep.device_for(dataset.n_rows)
    check_groups(dataset)
    splits = memoised(run_step, "splits", lambda: sweep.splits(dataset))
    tuning, settings, standard = None, None, None
    if sweep.tune:
        tuning, standard = tune(
            dataset,
            splits,
            sweep.settings,
            random_state=sweep.random_state,
            device=device,
            progress=lambda event: report(replace(event, phase="tuning", curve=None)),
            run_step=within(run_step, "tuning"),
        )
        settings = settings_of_splits(tuning, sweep.settings)
    holdout_rows = memoised(run_step, "set aside", lambda: sweep.set_aside(dataset))
    trains_more = confirms and trains_for_holdout(sweep, dataset.n_rows)
    # Training the models for the holdout rows takes about the same time as training one split.
    share = sweep.n_splits / (sweep.n_splits + 1) if trains_more else 1.0
    is_known = standard is not None and brief and all(len(split.validation) for split in splits)
    models = sweep.models(settings)
    to_train = [model for model in models if not (is_known and model.method == STANDARD)] or models

    def train() -> TrainedModels:
        return train_models(
            dataset,
            splits,
            to_train,
            objective=sweep.objective,
            random_state=sweep.random_state,
            device=device,
            importance=importance,
            progress=lambda event: report(replace(event, fraction=share * event.fraction)),
            run_step=within(run_step, "train"),
        )

    def predict_set_aside() -> SetAside:
        return _predict_set_aside(
            dataset,
            sweep if tuning is None else replace(sweep, settings=tuned_settings(tuning, sweep.settings)),
            holdout_rows,
            device,
            lambda event: report(replace(event, fraction=share + (1 - share) * event.fraction, curve=None)),
            within(run_step, "set-aside"),
        )

    # The training for the splits and the training for the holdout rows may run at the same time.
    tasks: dict[str, Callable[[], Any]] = {"train": train}
    if trains_more:
        tasks["set-aside"] = predict_set_aside
    trained, *other_results = independent(run_step, tasks)
    holdout = other_results[0] if other_results else None
    if standard is not None and len(to_train) < len(models):
        trained = with_standard(trained, standard, [model.method == STANDARD for model in models])
    diverged = int(trained.members["diverged"].sum())
    notes = trained.notes
    if diverged:
        notes += (
            f"{diverged} of {len(trained.members)} models diverged. These models have their last finite "
            "weights, and means do not include them.",
        )
    trained = replace(trained, tuning=tuning, notes=notes)
    if not len(holdout_rows):
        return trained
    if confirms and holdout is None:
        first = np.flatnonzero(trained.members["split"] == 0)
        members = trained.members.iloc[first]
        holdout = SetAside.of(dataset, holdout_rows, members=members, predictions=trained.predictions[first])
    # Results for holdout rows must stay hidden, so the splits' models lose their predictions for these rows.
    trained.predictions[:, holdout_rows] = np.nan
    return replace(trained, set_aside=holdout)


def trains_for_holdout(sweep: Sweep, n_rows: int) -> bool:
    """Return whether additional models are trained on all rows but the holdout rows, to predict these.

    For large tables, the models of the first split predict the holdout rows; they have not used these rows,
    and hardly differ from additional models. Splits by time always need additional models, because the first
    split does not use the most recent rows for training.
    """
    return sweep.confirmation_share > 0 and (n_rows < MANY_ROWS or sweep.split == TIME)


def _predict_set_aside(
    dataset: Dataset,
    sweep: Sweep,
    rows: NDArray[np.int64],
    device: Device,
    progress: OnProgress,
    run_step: StepRunner,
) -> SetAside:
    """Train one model per method and λ on all other rows, and predict the holdout rows."""
    split = Split(np.setdiff1d(np.arange(dataset.n_rows), rows), rows[:0])
    if sweep.settings.patience is not None:
        split = with_held_out(split, random_state=sweep.random_state, groups=dataset.groups)
    models = train_models(
        dataset,
        (split,),
        replace(sweep, n_splits=1).models(),
        objective=sweep.objective,
        random_state=sweep.random_state,
        device=device,
        progress=progress,
        run_step=run_step,
    )
    return SetAside.of(dataset, rows, members=models.members, predictions=models.predictions)
