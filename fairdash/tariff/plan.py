"""Tariffs of a plan: at its weights λ, or at weights that a pilot spreads evenly over their dependence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.jobs.steps import Unit, at_once, within
from fairdash.tariff import FAIR_TARIFF
from fairdash.tariff.fit import FitOptions
from fairdash.tariff.path import find_lams, fit_tariffs
from fairdash.training.models import TrainedModels
from fairdash.training.split_kinds import SetAside, check_groups
from fairdash.training.splits import Split
from fairdash.training.sweep import STANDARD, Sweep

Array = NDArray[np.float64]


def lams_of_tariffs(dataset: Dataset, plan: Sweep, split: Split) -> Array:
    """Return the plan's number of weights, spread over its tariffs' dependence, or else its own weights."""
    count, seed = len(plan.lams), plan.random_state
    lams = find_lams(dataset, split, _options_of(plan), count=count, random_state=seed)
    return np.array(plan.lams if lams is None else lams)


def tariffs_of_plan(
    dataset: Dataset,
    plan: Sweep,
    splits: Sequence[Split],
    *,
    lams: Sequence[float],
    on_step: Callable[[float], None] | None = None,
    unit: Unit = at_once,
) -> TrainedModels:
    """Fit the tariffs of a plan at these weights, for the front of its run."""
    return fit_tariffs(
        dataset,
        splits,
        lams=lams,
        options=_options_of(plan),
        random_state=plan.random_state,
        shrink=True,
        on_step=on_step,
        unit=unit,
    )


def _options_of(plan: Sweep) -> FitOptions:
    settings = plan.settings
    return FitOptions(loss=settings.loss_function, objective=plan.objective, balance=settings.balance)


def fit_path(
    dataset: Dataset,
    plan: Sweep,
    splits: Sequence[Split],
    *,
    confirms: bool = True,
    on_step: Callable[[float], None] | None = None,
    unit: Unit = at_once,
) -> TrainedModels:
    """Fit the models of a plan for a front of tariffs, with the GLM, λ = 0, as the standard model.

    `splits` are the plan's; `confirms` and `unit` as :func:`fairdash.training.sweep.train_sweep` has them.
    """

    def fitted(splits: Sequence[Split], unit: Unit) -> TrainedModels:
        lams = (0.0, *plan.lams)
        found = tariffs_of_plan(dataset, plan, splits, lams=lams, on_step=on_step, unit=unit)
        is_glm = np.arange(len(found.members)) % len(lams) == 0
        order = np.argsort(~is_glm, kind="stable")
        if plan.methods[0] != STANDARD:
            order = np.argsort(is_glm, kind="stable")
        members = found.members.assign(method=np.where(is_glm, STANDARD, FAIR_TARIFF))
        going = int((~members.pop("converged")).sum())
        notes = (f"{going} of {len(members)} tariffs had not converged after their last step.",)
        members = members.iloc[order].reset_index(drop=True)
        predictions = found.predictions[order]
        return replace(found, members=members, predictions=predictions, notes=notes if going else ())

    check_groups(dataset)
    trained, aside, kept = fitted(splits, unit), plan.set_aside(dataset), None
    if len(aside):
        if confirms:
            rest = Split(np.setdiff1d(np.arange(dataset.n_rows), aside), aside[:0])
            made = fitted((rest,), within(unit, "set-aside"))
            found, premiums = made.members, made.predictions
            kept = SetAside.of(dataset, aside, members=found, predictions=premiums)
        trained.predictions[:, aside] = np.nan
    return replace(trained, set_aside=kept)
