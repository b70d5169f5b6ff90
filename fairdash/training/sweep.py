"""A sweep: methods × λ × splits of one data set, planned, trained as stacks and predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairdash.data.dataset import Dataset
from fairdash.errors import Checks
from fairdash.registry import get_entry
from fairdash.training.device import resolve_device
from fairdash.training.methods import METHODS
from fairdash.training.methods import STANDARD as STANDARD
from fairdash.training.models import TrainedModels, train_models
from fairdash.training.plan import TrainingPlan, check_lams
from fairdash.training.progress import OnProgress
from fairdash.training.progress import SweepProgress as SweepProgress
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import Split, random_splits
from fairdash.training.splits import initial_seed as initial_seed
from fairdash.training.stacked_model import StackedModel
from fairdash.training.tuning import settings_of_splits, tune
from fairdash.units import Unit, at_once, within


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
        Random 80/20 splits of the rows.
    validation_share
        Share of the rows that are not test rows to set aside for choices: 0 for none, below 1.
    tune
        Whether learning rate and weight decay are found on each split's validation rows before its models
        are trained, as :func:`fairdash.training.tuning.tune` does, instead of those in `settings`.
    objective, random_state, settings, device
        As in :class:`fairdash.training.plan.TrainingPlan`.

    Raises
    ------
    OptionError
        With every option that can't be used.
    """

    methods: tuple[str, ...] = (STANDARD, "hgr_nn")
    lams: tuple[float, ...]
    n_splits: int = 5
    validation_share: float = 0.0
    tune: bool = False

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

    def splits(self, n_rows: int) -> tuple[Split, ...]:
        """The random splits of so many rows."""
        return random_splits(
            n_rows,
            n_splits=self.n_splits,
            random_state=self.random_state,
            validation_share=self.validation_share,
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
    progress: OnProgress | None = None,
    unit: Unit = at_once,
) -> TrainedModels:
    """Train every model of `sweep` on `dataset`; errors as :func:`fairdash.training.models.train_models`.

    Parameters
    ----------
    importance
        Whether to find the permutation importance of every feature in every model.
    progress
        Called after every step and every epoch. It may raise :class:`fairdash.errors.Cancelled`.
    unit
        Asked for what there is under ``"tuning/"`` and ``"train/"``.
    """
    device = resolve_device(sweep.device)
    splits = sweep.splits(dataset.n_rows)
    tuning, settings = None, None
    if sweep.tune:
        tuning = tune(
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
    trained = train_models(
        dataset,
        splits,
        sweep.models(settings),
        objective=sweep.objective,
        random_state=sweep.random_state,
        device=device,
        importance=importance,
        progress=progress,
        unit=within(unit, "train"),
    )
    diverged = int(trained.members["diverged"].sum())
    notes = trained.notes
    if diverged:
        notes += (
            f"{diverged} of {len(trained.members)} models diverged; they keep their last finite weights "
            "and are left out of the means.",
        )
    return replace(trained, tuning=tuning, notes=notes)
