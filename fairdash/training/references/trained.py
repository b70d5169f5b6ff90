"""Training of reference prices for a data set, from standard networks with s as an additional feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.jobs.steps import Branch, Found, StepRunner, gather, independent, run_directly, within
from fairdash.training.crossvalidation import settings_of_splits, tune
from fairdash.training.device import resolve_device
from fairdash.training.losses import LOSSES
from fairdash.training.methods import STANDARD
from fairdash.training.models import TrainedModels, train_models
from fairdash.training.references.discrimination_free import (
    DEFAULT_STRENGTHS,
    SensitivePredictor,
    barycentre_predictions,
    discrimination_free_predictions,
    one_sensitive,
)
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.single import Predictor
from fairdash.training.splits import Split, initial_seed
from fairdash.utils.classes import attributes_of

#: Completed share of the work at the start of each part.
_START_SHARES = {"base": 0.2, "folds": 0.4, "premium": 0.9}


def train_references(
    dataset: Dataset,
    splits: Sequence[Split],
    *,
    settings: TrainingSettings | None = None,
    strengths: Sequence[float] = DEFAULT_STRENGTHS,
    random_state: int = 0,
    device: str = "auto",
    on_step: Callable[[float], None] = lambda _: None,
    run_step: StepRunner = run_directly,
) -> tuple[pd.DataFrame, NDArray[np.float64], NDArray[np.float64]]:
    """Train the reference prices on the training rows of each split.

    The base model is the standard network with s as an additional feature. The barycentre is the most
    accurate prediction that is independent of s only if it starts from E[y | x, s], not from E[y | x],
    because effects of features may depend on s (Chzhen et al., 2020). The weight decay of the base model is
    selected separately (:func:`fairdash.training.crossvalidation.tune`). The discrimination-free premium is
    the average over s of the base model's predictions. If the loss has a log link, the smallest prediction of
    the base model is a lower bound of the barycentre, so that prices remain positive.

    Parameters
    ----------
    on_step
        Function that is called several times per second with the completed share, 0 to 1; an exception in it
        stops the training.
    run_step
        Function that runs steps, or returns their stored results (:class:`fairdash.jobs.steps.StepRunner`).
        The steps are ``"tuning/…"``, ``"base/…"``, ``"folds/…"`` and ``"premium/…"``.
    dataset, splits, settings, strengths, random_state, device
        As in :func:`fairdash.api.references`.

    Returns
    -------
    members
        One row per row of `predictions`, with the columns ``method`` (an id of
        :data:`fairdash.training.references.REFERENCES`), ``lam`` (the strength of the barycentre from 0 to 1;
        1 for the discrimination-free premium, which has no strength), ``split`` and ``diverged``.
    predictions
        Predictions (K, n) for all rows, in the target's units.
    price
        For each of the J splits, an estimate of the minimum increase of the error due to independence, in
        units of ``mse``: the error of the barycentre with strength 1 minus the error of the base model f(x,
        s), on the test rows. If f is E[y | x, s], the expectation of this difference is
        :func:`~fairdash.training.references.price_of_independence`. Noise biases an estimate of that squared
        distance upwards, but not this difference of errors.

    Raises
    ------
    OptionError
        Raised if there are several sensitive attributes, or if the loss does not suit the target.
    """
    settings = TrainingSettings() if settings is None else settings
    with_s = _with_s_as_feature(dataset)

    resolved = resolve_device(device)
    tuning, tuned = tune(
        with_s,
        splits,
        settings,
        random_state=random_state,
        device=resolved,
        networks=True,
        progress=lambda progress_event: on_step(_START_SHARES["base"] * progress_event.fraction),
        run_step=within(run_step, "tuning"),
    )
    chosen = settings_of_splits(tuning, settings)

    def train(parts: Sequence[Split], name: str) -> TrainedModels:
        begins, end_share = _START_SHARES[name], _START_SHARES["folds" if name == "base" else "premium"]
        per_split = len(parts) // len(splits)  # The folds of a split use its settings.
        models = [
            StackedModel(STANDARD, 0.0, chosen[k // per_split], k, initial_seed(random_state, k // per_split))
            for k in range(len(parts))
        ]
        return train_models(
            with_s,
            parts,
            models,
            objective="demographic_parity",
            random_state=random_state,
            device=resolved,
            networks=name == "base",
            progress=lambda progress_event: on_step(begins + (end_share - begins) * progress_event.fraction),
            run_step=within(run_step, name),
        )

    def of_base() -> TrainedModels:
        # If all splits have validation rows, models that were trained to select the weight decay are used
        # here, because they were trained on the same rows.
        return tuned if all(len(split.validation) for split in splits) else train(splits, "base")

    def of_folds() -> NDArray[np.float64]:
        curves = barycentre_predictions(
            with_s,
            splits,
            base=base.result().predictions,
            train=lambda _, parts: train(parts, "folds").predictions,
            strengths=(*strengths, 1.0),
            random_state=random_state,
        )
        if settings.loss_function.has_log_link:
            curves = np.maximum(curves, base.result().predictions.min(axis=1)[:, None, None])
        return curves

    def premium_of(j: int) -> Found:
        on_step(_START_SHARES["premium"] + (1 - _START_SHARES["premium"]) * j / len(splits))
        predictor = _prediction_given_s(base.result().networks[j], with_s)
        return {"premium": discrimination_free_predictions(dataset, [splits[j]], predictors=[predictor])}

    def premiums() -> list[NDArray[np.float64]]:
        steps = within(run_step, "premium")
        tasks = {str(j): partial(steps, str(j), partial(premium_of, j)) for j in range(len(splits))}
        return [result["premium"] for result in independent(steps, tasks)]

    base = Branch(run_step, of_base, "base")
    of_curves, of_premiums = Branch(run_step, of_folds, "folds"), Branch(run_step, premiums, "premium")
    curves, premium = gather(of_curves, of_premiums)
    curves, full = curves[:, :-1], curves[:, -1]
    members = [
        {"method": "barycentre", "lam": float(strength), "split": j, "diverged": False}
        for j in range(len(splits))
        for strength in strengths
    ] + [
        {"method": "discrimination_free", "lam": 1.0, "split": j, "diverged": False}
        for j in range(len(splits))
    ]
    price = [
        _error(dataset, split, full[j]) - _error(dataset, split, base.result().predictions[j])
        for j, split in enumerate(splits)
    ]
    predictions = np.concatenate([curves.reshape(-1, dataset.n_rows), *premium])
    return pd.DataFrame(members), predictions, np.array(price)


def _error(dataset: Dataset, split: Split, y_pred: NDArray[np.float64]) -> float:
    """Return ``mse`` on the test rows of a split, as in :func:`fairdash.evaluation.assess_predictions`."""
    y = dataset.target.to_numpy(dtype=float)
    weight = dataset.row_weight

    return LOSSES["squared_error"].relative(y, y_pred, weight, rows=split.test, train=split.train)


def _with_s_as_feature(dataset: Dataset) -> Dataset:
    """Return the data set with s as its last feature, with a name that no other column has."""
    name = f"{next(iter(attributes_of(dataset.sensitive)))} (sensitive)"
    while name in dataset.table():
        name += "′"
    feature = _as_feature(one_sensitive(dataset), dataset)
    return replace(dataset, features=dataset.features.assign(**{name: feature}))


def _as_feature(s: NDArray[np.float64], dataset: Dataset) -> NDArray[Any]:
    """Return s as a feature, in which class codes become text."""
    if dataset.sensitive.shape[1] == 1:
        return s
    return np.array([f"class {code:.0f}" for code in s], dtype=object)


def _prediction_given_s(network: Predictor, with_s: Dataset) -> SensitivePredictor:
    """Return a function of s that predicts the rows of `with_s` with a network whose last feature is s."""
    name, encoder = with_s.features.columns[-1], network.encoder
    # The function is called for the same rows with many values of s. All other features are therefore encoded
    # only once.
    x, block = encoder.transform(with_s.features).astype(np.float32), encoder.blocks[name]

    def predict(_: pd.DataFrame, s: NDArray[np.float64]) -> NDArray[np.float64]:
        values, which = np.unique(s, return_inverse=True)
        first = with_s.features.iloc[:1]
        repeated = first.loc[first.index.repeat(len(values))].assign(**{name: _as_feature(values, with_s)})
        x[:, block] = encoder.transform(repeated)[which, block]
        return network.predict_encoded(x)

    return predict
