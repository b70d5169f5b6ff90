"""Fitting of tariffs with several weights λ to several splits, to compare them with the networks of a run.

For each split, the terms of the tariffs are selected on the training rows, and tariffs at all λ are fitted
together, starting from the GLM. The splits are fitted one after another to save memory. The result of each
split can be stored, so that an interrupted run resumes with the next split.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import Checks, DataError, OptionError
from fairdash.jobs.steps import Found, StepRunner, independent, run_directly, within
from fairdash.tables.columns import clean_features
from fairdash.tariff import FAIR_TARIFF
from fairdash.tariff.choosing import TermOptions, choose_terms, require_fixed
from fairdash.tariff.fit import PENALTIES, FitOptions, fit_stack, fit_terms
from fairdash.tariff.shape import Shape
from fairdash.tariff.smoothing import AUTO
from fairdash.tariff.terms import design, offset
from fairdash.training.baselines import ALPHAS
from fairdash.training.defaults import PREVIEW_TARIFF_LAMS
from fairdash.training.models import TrainedModels
from fairdash.training.pilot import is_auto, lams_by_dependence, rows_of_pilot
from fairdash.training.splits import Split, sample_at_most, with_held_out
from fairdash.utils.registry import get_entry
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]

#: Maximum number of training rows for the selection of α. A larger table does not need strong shrinkage.
MAX_ROWS = 30_000
#: Weights λ of the trial fits that find the range of λ, from 0.001 to 10. With a larger λ, the premium is
#: flat.
PILOT_LAMS = tuple(float(f"{lam:.2g}") for lam in np.geomspace(1e-3, 10, 13))
#: Maximum number of rows for the trial fits that find the range of λ.
MAX_PILOT_ROWS = 20_000
#: Maximum number of training rows of a split to which tariffs are fitted. About a hundred coefficients gain
#: little from more rows, and the design matrix of more rows needs much memory.
MAX_FITTED_ROWS = 1_000_000


def fit_tariffs(
    dataset: Dataset,
    splits: Sequence[Split],
    *,
    lams: Sequence[float] | str = "auto",
    options: FitOptions,
    terms: TermOptions | None = None,
    random_state: int = 0,
    shrink: bool = False,
    on_step: Callable[[float], None] | None = None,
    run_step: StepRunner = run_directly,
) -> TrainedModels:
    """Fit a tariff for every λ to the training rows of every split; premiums are computed without s.

    Parameters
    ----------
    lams
        Weights λ ≥ 0 of the penalty; λ = 0 gives the GLM. ``"auto"`` uses 0 and eight weights that
        :func:`find_lams` finds on the first split. If there is no dependence to reduce, ``"auto"`` uses
        :data:`~fairdash.training.defaults.PREVIEW_TARIFF_LAMS`.
    terms
        Options that define the factors, or None for the defaults. Fixed factors need a relativity for every
        row of the data set.
    random_state
        Seed of three random samples: the rows on which the penalty is computed, held-out rows, and training
        rows if a split has more than MAX_FITTED_ROWS.
    shrink
        Whether :func:`choose_alpha` selects `alpha` for each split, on its validation rows or, without
        validation rows, on a fifth of its training rows. Otherwise, `alpha` comes from `options`.
    on_step
        Function that is called repeatedly with the completed share of all fits, 0 to 1. If it raises an
        exception, the fits stop.
    run_step
        Function that runs the step ``"tariffs/<split>"`` for each split, or returns its stored result.

    Returns
    -------
    TrainedModels
        Tariffs in the order of the splits and, within a split, of λ, all with the method :data:`FAIR_TARIFF`.
        In `members`, ``converged`` states whether a tariff has converged, ``best_epoch`` is the number of
        optimiser steps, and ``diverged`` is False, because every step is finite. In `predictions`, levels
        that do not appear in the training rows of a split are treated as the base.

    Raises
    ------
    OptionError
        Raised if an option cannot be used.
    DataError
        Raised if the loss does not suit the target, or if a column cannot be a factor.
    """
    start_time = time.monotonic()
    if is_auto(lams):
        result = find_lams(dataset, splits[0], options, count=8, random_state=random_state)
        lams = (0.0, *(PREVIEW_TARIFF_LAMS if result is None else result.tolist()))
    lams = [float(lam) for lam in lams]
    _check(dataset, lams, options)
    terms = terms or TermOptions()
    features = clean_features(dataset.features)
    features = features.set_axis([str(name) for name in features.columns], axis=1)
    y = dataset.target.to_numpy(dtype=float)
    s = dataset.sensitive.to_numpy(dtype=float)
    weight = None if dataset.weight is None else dataset.weight.to_numpy(dtype=float)
    run_step = within(run_step, "tariffs")
    steps: dict[str, Callable[[], Found]] = {}
    for j, split in enumerate(splits):

        def step(share: float, share_done: int = j) -> None:
            if on_step is not None:
                on_step((share_done + share) / len(splits))

        def of_split(split: Split = split, on_step: Callable[[float], None] = step) -> Found:
            train, split_options = split.train, options
            on_step(0.0)
            if shrink:
                inner = with_held_out(split, random_state=random_state, groups=dataset.groups)
                shared: dict[str, Any] = {"options": options, "terms": terms, "random_state": random_state}
                split_options = replace(options, alpha=choose_alpha(features, y, weight, inner, **shared))
            train = sample_at_most(train, MAX_FITTED_ROWS, rng_of(Stream.SHRINKAGE_ROWS, random_state))
            train_weight = None if weight is None else weight[train]
            table = features.iloc[train]
            chosen = choose_terms(table, train_weight, terms)
            require_fixed(chosen, features)
            solution = fit_terms(
                chosen,
                table,
                y[train],
                s=s[train],
                sample_weight=train_weight,
                lams=lams,
                options=split_options,
                random_state=random_state,
                on_step=on_step,
            )
            counts = {"n_iter": solution.n_iter, "converged": solution.converged}
            return {"predictions": solution.premiums(chosen, features), **counts}

        def fitted_to(
            j: int = j, fit_split: Callable[[], Found] = of_split, step: Callable[[float], None] = step
        ) -> Found:
            result = run_step(str(j), fit_split)
            step(1.0)
            return result

        steps[str(j)] = fitted_to
    results = independent(run_step, steps)
    members = [
        pd.DataFrame(
            {
                "method": FAIR_TARIFF,
                "lam": [float(lam) for lam in lams],
                "split": j,
                "diverged": False,
                "best_epoch": result["n_iter"],
                "converged": result["converged"],
            }
        )
        for j, result in enumerate(results)
    ]
    return TrainedModels(
        members=pd.concat(members, ignore_index=True),
        predictions=np.concatenate([result["predictions"] for result in results]),
        splits=tuple(splits),
        device="cpu",
        seconds=time.monotonic() - start_time,
    )


def _check(dataset: Dataset, lams: Sequence[float], options: FitOptions) -> None:
    """Raise an error if the penalty, the weights λ or the target are not valid."""
    penalty = get_entry(PENALTIES, options.penalty, option="penalty")
    checks = Checks(OptionError)
    usable = lams and all(np.isfinite(lam) and lam >= 0 for lam in lams)
    checks.require(usable, "lams", "The weights λ are not valid", "Give numbers of at least 0.")
    fits = penalty.multivariate or dataset.sensitive.shape[1] == 1
    text, hint = (
        f"“{penalty.id}” takes one sensitive column only",
        "Choose one sensitive column, or another penalty.",
    )
    checks.require(fits, "penalty", text, hint)
    checks.finish()
    problem = options.loss.target_problem(dataset.target.to_numpy(dtype=float), column=dataset.roles.target)
    if problem is not None:
        raise DataError(problem)


def choose_alpha(
    features: pd.DataFrame,
    y: Array,
    weight: Array | None,
    split: Split,
    *,
    options: FitOptions,
    terms: TermOptions,
    random_state: int,
) -> float:
    """Select the weight α of the squared coefficients from ``ALPHAS`` by the GLM's deviance on held-out rows.

    Sixteen breakpoints per column are too many for 1,000 policies of which one in twelve has a claim. Without
    shrinkage, the curves fit noise, which the fairness penalty then has to remove as well.

    Parameters
    ----------
    features
        Cleaned features of all rows.
    y, weight
        Target and weights of all rows, (n,).
    split
        Split with validation rows. The GLMs are fitted to the training rows, and their deviances are compared
        on the validation rows.
    options
        Options of the fit, of which `alpha` is selected here. If `smooth` is ``"auto"``, the GLMs use a
        smoothness of 0. The smoothness is selected later, when the tariff is fitted with the selected α.
    random_state
        Seed of the sample of training rows if there are more than MAX_ROWS.
    """
    train, held_out = split.train, split.validation
    train = sample_at_most(train, MAX_ROWS, rng_of(Stream.SHRINKAGE_ROWS, random_state))
    train_weight = None if weight is None else weight[train]
    chosen = choose_terms(features.iloc[train], train_weight, terms)
    # Each table is converted to a design matrix only once, for all values of α.
    training, validation = ((design(chosen, table), offset(chosen, table))
                  for table in (features.iloc[train], features.iloc[held_out]))  # fmt: skip
    smooth = 0.0 if options.smooth == AUTO else options.smooth
    start, deviances = None, []
    for alpha in ALPHAS:
        shape = Shape.of(chosen, alpha=alpha, smooth=smooth, monotone=options.monotone)
        shared: dict[str, Any] = {"offset": training[1], "shape": shape, "options": options, "start": start}
        solution = fit_stack(
            training[0],
            y[train],
            s=None,
            sample_weight=train_weight,
            lams=[0.0],
            random_state=random_state,
            **shared,
        )
        start = solution.glm
        eta = solution.intercept + validation[0] @ solution.coefficients[0]
        if validation[1] is not None:
            eta = eta + validation[1]
        y_pred = np.exp(eta) if solution.multiplies else eta
        held_out_weight = None if weight is None else weight[held_out]
        deviances.append(options.loss.mean_deviance(y[held_out], y_pred, held_out_weight))
    return ALPHAS[int(np.argmin(deviances))]


def find_lams(
    dataset: Dataset, split: Split, options: FitOptions, *, count: int, random_state: int
) -> Array | None:
    """Find the weights λ at which dependence falls in equal steps from the GLM's to the independence floor.

    Parameters
    ----------
    split
        Split. Tariffs are fitted to training rows, and dependence is measured on validation rows. Without
        validation rows, a fifth of the training rows is used for the measurement. Large sets of rows are
        sampled.
    options
        Options of the fit.
    count
        Number of weights to find.

    Returns
    -------
    (count,) array, or None
        Weights as in :func:`fairdash.training.pilot.find_lams`.
    """
    dataset, split = rows_of_pilot(dataset, split, random_state, most=MAX_PILOT_ROWS)
    lams = (0.0, *PILOT_LAMS)
    tariff_path = fit_tariffs(
        dataset, (split,), lams=lams, options=options, random_state=random_state, shrink=True
    )
    return lams_by_dependence(
        dataset,
        tariff_path.predictions,
        split.validation,
        np.array(lams),
        method=FAIR_TARIFF,
        count=count,
        objective=options.objective,
        random_state=random_state,
    )
