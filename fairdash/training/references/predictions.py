"""References for every row of a data set and every split, from whatever trains the models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.data.dataset import Dataset
from fairdash.training.references.barycentre import fit_barycentre
from fairdash.training.references.checks import Array, fault
from fairdash.training.references.discrimination_free import (
    MAX_NODES,
    SensitivePredictor,
    discrimination_free,
    sensitive_nodes,
)
from fairdash.training.splits import Split, folds

#: Trains the unfair model on each split's training rows; (number of splits, n) predictions of all rows.
TrainOnSplits = Callable[[Dataset, Sequence[Split]], NDArray[np.float64]]

DEFAULT_STRENGTHS = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)


def barycentre_predictions(
    dataset: Dataset,
    splits: Sequence[Split],
    *,
    base: ArrayLike,
    train: TrainOnSplits,
    strengths: Sequence[float] = DEFAULT_STRENGTHS,
    n_folds: int = 5,
    random_state: int = 0,
    bandwidth: float | None = None,
) -> NDArray[np.float64]:
    """The partial barycentre of each split, calibrated on out-of-fold predictions of its training rows.

    Parameters
    ----------
    dataset
        With one sensitive column.
    splits
        J splits.
    base : (J, n) array
        Predictions of all rows by the model without regard to fairness, one model a split, fitted to the
        split's training rows.
    train
        Fits that same model to other training rows. It is called once, with the `n_folds` parts of every
        split (J × n_folds), so that a stacked engine can train them together.
    strengths
        T numbers from 0 (the base model) to 1 (demographic parity).
    n_folds
        Parts of the training rows; each is predicted by a model of the others.
    random_state
        Seed of the parts.
    bandwidth
        As in :func:`fairdash.training.references.fit_barycentre`.

    Returns
    -------
    (J, T, n) array
        In the target's units. A split's own training rows have been fitted to.

    Raises
    ------
    OptionError
        Several sensitive columns, arrays of the wrong shape, or folds without rows.
    """
    s = one_sensitive(dataset)
    whole = _stacked(base, (len(splits), dataset.n_rows), "base")
    parts = [
        part
        for split in splits
        for part in folds(split.train, n_folds=n_folds, random_state=random_state, groups=dataset.groups)
    ]
    held_out = _stacked(train(dataset, parts), (len(parts), dataset.n_rows), "train")
    curves = np.empty((len(splits), len(strengths), dataset.n_rows))
    for j in range(len(splits)):
        mine = range(j * n_folds, (j + 1) * n_folds)
        rows = np.concatenate([parts[k].validation for k in mine])
        out_of_fold = np.concatenate([held_out[k, parts[k].validation] for k in mine])
        weight = None if dataset.weight is None else dataset.weight.to_numpy()[rows]
        fitted = fit_barycentre(out_of_fold, s[rows], sample_weight=weight, bandwidth=bandwidth)
        curves[j] = fitted.predict(whole[j], s, strengths)
    return curves


def discrimination_free_predictions(
    dataset: Dataset,
    splits: Sequence[Split],
    *,
    predictors: Sequence[SensitivePredictor],
    max_nodes: int = MAX_NODES,
) -> NDArray[np.float64]:
    """The discrimination-free premium of each split; it removes the direct use of s and no more.

    Parameters
    ----------
    dataset
        With one sensitive column.
    splits
        J splits.
    predictors
        J models ``f(features, s) -> (n,)`` of the features (a frame like ``dataset.features``) and s (in
        its units), each fitted to its split's training rows.
    max_nodes
        As in :func:`fairdash.training.references.sensitive_nodes`; s is averaged as in the training rows.

    Returns
    -------
    (J, n) array
        In the target's units.

    Raises
    ------
    OptionError
        Several sensitive columns, or not one predictor a split.
    """
    s = one_sensitive(dataset)
    if len(predictors) != len(splits):
        raise fault("predictors", "There is not one model a split", "Give as many models as splits.")
    weight = np.ones(dataset.n_rows) if dataset.weight is None else dataset.weight.to_numpy()
    premiums = []
    for split, predict in zip(splits, predictors, strict=True):
        nodes = sensitive_nodes(s[split.train], sample_weight=weight[split.train], max_nodes=max_nodes)
        premiums.append(discrimination_free(predict, dataset.features, nodes))
    return np.stack(premiums)


def one_sensitive(dataset: Dataset) -> Array:
    """The only sensitive column, (n,); OptionError where there are several."""
    if dataset.sensitive.shape[1] != 1:
        raise fault("sensitive", "A reference takes exactly one sensitive column", "Choose one of them.")
    return dataset.sensitive.iloc[:, 0].to_numpy(dtype=float)


def _stacked(values: ArrayLike, shape: tuple[int, int], name: str) -> NDArray[np.float64]:
    table = np.asarray(values, dtype=float)
    if table.shape != shape:
        raise fault(name, f"The predictions don't have the shape {shape}", "Give a row a model.")
    return table
