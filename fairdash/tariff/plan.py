"""Fit the tariffs of a plan, and repair the prices of boosted trees, for every split of the plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.jobs.steps import Found, StepRunner, independent, run_directly, within
from fairdash.tables.columns import clean_features
from fairdash.tariff import FAIR_TARIFF
from fairdash.tariff.fit import FitOptions
from fairdash.tariff.path import find_lams, fit_tariffs
from fairdash.training.baselines import MAX_TREES
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.losses import Loss
from fairdash.training.models import TrainedModels
from fairdash.training.references import DEFAULT_STRENGTHS, REPAIR, REPAIR_PROJECTED
from fairdash.training.split_kinds import SetAside, check_groups
from fairdash.training.splits import Split
from fairdash.training.sweep import STANDARD, Sweep
from fairdash.utils.classes import one_column_each
from fairdash.utils.trees import boosted_trees

Array = NDArray[np.float64]


def lams_of_tariffs(dataset: Dataset, plan: Sweep, split: Split) -> Array:
    """Return the weights λ that :func:`find_lams` finds or, if it finds none, the weights of the plan."""
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
    run_step: StepRunner = run_directly,
) -> TrainedModels:
    """Fit the tariffs of a plan at the weights `lams`, to add them to the plan's Pareto front."""
    return fit_tariffs(
        dataset,
        splits,
        lams=lams,
        options=_options_of(plan),
        random_state=plan.random_state,
        shrink=True,
        on_step=on_step,
        run_step=run_step,
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
    run_step: StepRunner = run_directly,
) -> TrainedModels:
    """Fit the models of a plan whose Pareto front consists of tariffs; the GLM (λ = 0) is the standard model.

    The argument `splits` contains the splits of the plan. The arguments `confirms` and `run_step` have the
    same meaning as in :func:`fairdash.training.sweep.train_sweep`.
    """

    def fitted(splits: Sequence[Split], run_step: StepRunner) -> TrainedModels:
        lams = (0.0, *plan.lams)
        path = tariffs_of_plan(dataset, plan, splits, lams=lams, on_step=on_step, run_step=run_step)
        is_glm = np.arange(len(path.members)) % len(lams) == 0
        order = np.argsort(~is_glm, kind="stable")
        if plan.methods[0] != STANDARD:
            order = np.argsort(is_glm, kind="stable")
        members = path.members.assign(method=np.where(is_glm, STANDARD, FAIR_TARIFF))
        n_unfinished = int((~members.pop("converged")).sum())
        notes = (
            f"{n_unfinished} of {len(members)} tariffs did not converge within the maximum number of steps.",
        )
        members = members.iloc[order].reset_index(drop=True)
        predictions = path.predictions[order]
        return replace(path, members=members, predictions=predictions, notes=notes if n_unfinished else ())

    check_groups(dataset)
    models, set_aside, holdout = fitted(splits, run_step), plan.set_aside(dataset), None
    if len(set_aside):
        if confirms:
            open_rows = Split(np.setdiff1d(np.arange(dataset.n_rows), set_aside), set_aside[:0])
            fit_of_rest = fitted((open_rows,), within(run_step, "set-aside"))
            members, premiums = fit_of_rest.members, fit_of_rest.predictions
            holdout = SetAside.of(dataset, set_aside, members=members, predictions=premiums)
        models.predictions[:, set_aside] = np.nan
    return replace(models, set_aside=holdout)


#: `N_FOLDS`: number of folds; the price is the mean prediction of one model per fold. `LEARNING_RATE`:
#: learning rate of the trees.
N_FOLDS, LEARNING_RATE = 5, 0.2


def repaired_prices(
    dataset: Dataset,
    splits: Sequence[Split],
    *,
    loss: Loss,
    strengths: Sequence[float] = DEFAULT_STRENGTHS,
    random_state: int = 0,
    on_step: Callable[[float], None] = lambda _: None,
    run_step: StepRunner = run_directly,
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Fit trees to each split's training rows, and repair their predictions for every sensitive attribute.

    Parameters
    ----------
    strengths
        Strengths of the repair, from 0 (the price of the trees) to 1 (the repaired price).
    on_step
        Function that is called before and after each split with the completed share of all splits, 0 to 1. If
        it raises an exception, the fits stop.
    run_step
        Function that runs the step ``"repair/<split>"`` for each split, or returns its stored result.

    Returns
    -------
    members, predictions
        The frame `members` has the columns ``method`` (:data:`~fairdash.training.references.REPAIR`, whose
        prices are computed from s, or :data:`~fairdash.training.references.REPAIR_PROJECTED`, whose prices
        are not), ``lam`` (the strength), ``split`` and ``diverged`` (False). Each row of `predictions` (K, n)
        contains the prices for the same row of `members`, in the target's units.
    """

    s = one_column_each(dataset.sensitive)
    s.columns = pd.RangeIndex(s.shape[1])

    def of_split(split: Split, number: int) -> Found:
        from fairdash.tariff.postprocessor import FairPostprocessor

        on_step(number / len(splits))
        train, seed = split.train, random_state + number
        features = clean_features(dataset.features)
        x = FeatureEncoder.fit(features, rows=train).transform(features)
        trees = boosted_trees(
            loss=loss.of_trees,
            learning_rate=LEARNING_RATE,
            max_iter=MAX_TREES,
            early_stopping=True,
            random_state=seed,
        )
        repair = FairPostprocessor(trees, n_folds=N_FOLDS, random_state=seed).fit(
            x[train],
            dataset.target.to_numpy(dtype=float)[train],
            sensitive_features=s.iloc[train],
            sample_weight=None if dataset.weight is None else dataset.weight.to_numpy(dtype=float)[train],
            groups=None if dataset.groups is None else np.asarray(dataset.groups)[train],
        )
        price = repair.predict(x, alpha=0.0)
        t = np.asarray(strengths, dtype=float)[:, None]
        by_method = {
            REPAIR: repair.predict(x, sensitive_features=s, alpha=1.0),
            REPAIR_PROJECTED: repair.predict(x, alpha=1.0),
        }
        on_step((number + 1) / len(splits))
        return {method: (1 - t) * price + t * repaired for method, repaired in by_method.items()}

    run_step = within(run_step, "repair")
    by_split = independent(
        run_step,
        {str(j): partial(run_step, str(j), partial(of_split, split, j)) for j, split in enumerate(splits)},
    )
    members, predictions = [], []
    for j, prices in enumerate(by_split):
        for method in (REPAIR, REPAIR_PROJECTED):
            predictions.append(prices[method])
            members += [{"method": method, "lam": float(t), "split": j, "diverged": False} for t in strengths]
    return pd.DataFrame(members), np.concatenate(predictions)
