"""The references of a data set, with the engine's standard networks as their base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.training.device import resolve_device
from fairdash.training.models import train_models
from fairdash.training.references.discrimination_free import SensitivePredictor
from fairdash.training.references.predictions import (
    DEFAULT_STRENGTHS,
    barycentre_predictions,
    discrimination_free_predictions,
)
from fairdash.training.regressor import FairRegressor
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import Split
from fairdash.training.sweep import STANDARD, initial_seed


@dataclass(frozen=True)
class TrainedReferences:
    """What the references predict, for demographic parity; every one of them is told s.

    Parameters
    ----------
    members
        One row a row of `predictions`: ``method`` (an id of
        :data:`fairdash.training.references.REFERENCES`), ``lam`` (the barycentre's strength from 0 to 1; 1
        for the discrimination-free premium, which has none), ``split``, ``diverged``.
    predictions
        (K, n) in the target's units, for all rows.
    price
        (J,) what exact independence adds to the mean squared error at least, divided by the variance of
        the target's training rows: an estimate of :func:`~fairdash.training.references.price_of_independence`
        from each split's test rows.
    """

    members: pd.DataFrame
    predictions: NDArray[np.float64]
    price: NDArray[np.float64]


def train_references(
    dataset: Dataset,
    splits: Sequence[Split],
    *,
    settings: TrainingSettings | None = None,
    strengths: Sequence[float] = DEFAULT_STRENGTHS,
    random_state: int = 0,
    device: str = "auto",
) -> TrainedReferences:
    """Train the references on the training rows of each split.

    Their base is the standard network: for the barycentre the one that `fairdash.sweep` trains on these
    splits with this seed, for the discrimination-free premium one that sees s beside the features.

    Raises
    ------
    OptionError
        Several sensitive columns, or a loss that does not suit the target.
    """
    settings = TrainingSettings() if settings is None else settings

    def train(data: Dataset, parts: Sequence[Split]) -> NDArray[np.float64]:
        from fairdash.training.stack import Member

        each = len(parts) // len(splits)  # the folds of a split start as the split's own model does
        members = [
            Member(STANDARD, 0.0, k, initial_seed(random_state, k // each), settings)
            for k in range(len(parts))
        ]
        return train_models(
            data,
            parts,
            members,
            objective="demographic_parity",
            random_state=random_state,
            device=resolve_device(device),
        ).predictions

    base = train(dataset, splits)
    curves = barycentre_predictions(
        dataset, splits, base=base, train=train, strengths=(*strengths, 1.0), random_state=random_state
    )
    curves, full = curves[:, :-1], curves[:, -1]
    predictors = [_model_of_x_and_s(dataset, split, settings, random_state, device) for split in splits]
    premium = discrimination_free_predictions(dataset, splits, predictors=predictors)
    members = [
        {"method": "barycentre", "lam": float(strength), "split": j, "diverged": False}
        for j in range(len(splits))
        for strength in strengths
    ] + [
        {"method": "discrimination_free", "lam": 1.0, "split": j, "diverged": False}
        for j in range(len(splits))
    ]
    y = dataset.target.to_numpy(dtype=float)
    price = [
        np.mean((full[j, split.test] - base[j, split.test]) ** 2) / y[split.train].var()
        for j, split in enumerate(splits)
    ]
    return TrainedReferences(
        pd.DataFrame(members),
        np.concatenate([curves.reshape(-1, dataset.n_rows), premium]),
        np.array(price),
    )


def _model_of_x_and_s(
    dataset: Dataset, split: Split, settings: TrainingSettings, random_state: int, device: str
) -> SensitivePredictor:
    """The standard network of the features and s, fitted to the split's training rows."""
    (column,) = dataset.sensitive.columns
    own = f"{column} (sensitive)"
    while own in dataset.features:
        own += "′"
    options = {field.name: getattr(settings, field.name) for field in fields(settings)}
    model = FairRegressor(method=STANDARD, random_state=random_state, device=device, **options)
    rows = split.train
    weight = None if dataset.weight is None else dataset.weight.iloc[rows]
    seen = dataset.features.assign(**{own: dataset.sensitive[column]}).iloc[rows]
    model.fit(seen, dataset.target.iloc[rows], sample_weight=weight)

    def predict(features: pd.DataFrame, s: NDArray[np.float64]) -> NDArray[np.float64]:
        predictions: NDArray[np.float64] = model.predict(features.assign(**{own: s}))
        return predictions

    return predict
