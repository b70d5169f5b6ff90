r"""Discrimination-free premium of the actuarial literature: a model of x and s, averaged over the marginal
distribution of s.

.. math:: h(x) = \int f(x, s) \, dP(s)

It removes only the *direct* use of s. Features that follow s keep their own effect, so premiums can differ
between groups. Demographic parity is neither aimed at nor reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence.classical import mid_ranks
from fairdash.training.references.barycentre import Array, fault, fit_barycentre, one_column, weights
from fairdash.training.splits import Split, folds
from fairdash.utils.classes import class_columns, holds_text, one_column_each

#: f(x, s): a table of n rows and their s (n,) in, predictions (n,) out.
SensitivePredictor = Callable[[Any, Array], ArrayLike]

MAX_NODES = 50


def sensitive_nodes(
    s: ArrayLike, *, sample_weight: ArrayLike | None = None, max_nodes: int = MAX_NODES
) -> tuple[Array, Array]:
    r"""Represent the law of s by at most `max_nodes` weighted values.

    All distinct values where there are no more than that: the average over s is then exact. Otherwise
    groups of neighbouring ranks, of equal share up to ties, each at its mean. An average of f over these
    nodes is exact where f is linear in s, and off by at most
    :math:`\tfrac12 \max|\partial^2 f / \partial s^2|` times the variance of s within the groups, which
    falls with the square of their number. A jump of f in s, such as a tree's, costs at most twice its height
    over `max_nodes`.

    Parameters
    ----------
    s : (n,) array
        The sensitive attribute of the population, one column.
    sample_weight : (n,) array, optional
        Non-negative; a weight of 2 counts as two copies of the row.
    max_nodes
        At least 1.

    Returns
    -------
    values : (m,) array
        In the units of s, increasing.
    shares : (m,) array
        Share of the rows that each stands for; they sum to 1.

    Raises
    ------
    OptionError
        Several columns, missing cells, unusable weights, or no nodes.
    """
    sensitive = one_column(s, "s")
    weight = weights(sample_weight, len(sensitive))
    if max_nodes < 1:
        raise fault("max_nodes", "There is no node to average over", "Ask for at least 1.")
    counted = weight > 0
    sensitive, weight = sensitive[counted], weight[counted]
    distinct, group = np.unique(sensitive, return_inverse=True)
    if len(distinct) > max_nodes:
        slots = np.floor(mid_ranks(sensitive, weight) * max_nodes)
        group = np.unique(slots, return_inverse=True)[1]
    shares: Array = np.bincount(group, weight).astype(float)
    return np.bincount(group, weight * sensitive) / shares, shares


def discrimination_free(predict: SensitivePredictor, features: Any, nodes: tuple[Array, Array]) -> Array:
    r"""Return the discrimination-free premium h(x) = Σⱼ wⱼ f(x, sⱼ) of each row.

    It does not look at the row's own s, and removes the direct use of s only (see the module). Its mean
    differs from that of f where x and s are dependent: an insurer rebalances it.

    Parameters
    ----------
    predict
        f, fitted: ``predict(features, s)`` gives (n,) predictions for s of shape (n,).
    features
        n rows of x, in whatever form `predict` takes.
    nodes
        The law of s in the rows that f was fitted to: ``sensitive_nodes(s)``.

    Returns
    -------
    (n,) array
        In the units of f.

    Raises
    ------
    OptionError
        `predict` gives something other than one finite number a row.

    References
    ----------
    M. Lindholm, R. Richman, A. Tsanakas, M. V. Wüthrich (2022), "Discrimination-free insurance pricing",
    ASTIN Bulletin 52(1), 55–89.
    """
    n_rows = len(features)
    premium = np.zeros(n_rows)
    for value, share in zip(*nodes, strict=True):
        part = one_column(predict(features, np.full(n_rows, value)), "predict")
        if len(part) != n_rows:
            raise fault(
                "predict", "It does not return one prediction per row", "Return an array of shape (n,)."
            )
        premium += share * part
    return premium


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
    """Return each split's partial barycentre, calibrated on out-of-fold predictions of its training rows.

    Parameters
    ----------
    dataset
        With one sensitive attribute: numbers, or classes.
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
        Several sensitive attributes, arrays of the wrong shape, or folds without rows.
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
        fitted = fit_barycentre(
            out_of_fold,
            s[rows],
            sample_weight=weight,
            bandwidth=bandwidth,
            classes=dataset.sensitive.shape[1] > 1,
        )
        curves[j] = fitted.predict(whole[j], s, strengths)
    return curves


def discrimination_free_predictions(
    dataset: Dataset,
    splits: Sequence[Split],
    *,
    predictors: Sequence[SensitivePredictor],
    max_nodes: int = MAX_NODES,
) -> NDArray[np.float64]:
    """Return each split's discrimination-free premium, which only removes the direct use of s.

    Parameters
    ----------
    dataset
        With one sensitive attribute: numbers, or classes.
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
        Several sensitive attributes, or not one predictor a split.
    """
    s = one_sensitive(dataset)
    if len(predictors) != len(splits):
        raise fault(
            "predictors",
            "The number of models differs from the number of splits",
            "Give as many models as splits.",
        )
    weight = dataset.row_weight
    premiums = []
    for split, predict in zip(splits, predictors, strict=True):
        nodes = sensitive_nodes(s[split.train], sample_weight=weight[split.train], max_nodes=max_nodes)
        premiums.append(discrimination_free(predict, dataset.features, nodes))
    return np.stack(premiums)


def one_sensitive(dataset: Dataset) -> Array:
    """Return the only sensitive attribute, (n,), classes as codes; OptionError if there are several."""
    attributes = one_column_each(dataset.sensitive)
    if attributes.shape[1] != 1:
        raise fault("sensitive", "A reference takes exactly one sensitive attribute", "Choose one of them.")
    s = attributes.iloc[:, 0]
    return class_columns(s, as_codes=True) if holds_text(s) else s.to_numpy(dtype=float)


def _stacked(values: ArrayLike, shape: tuple[int, int], name: str) -> NDArray[np.float64]:
    table = np.asarray(values, dtype=float)
    if table.shape != shape:
        raise fault(name, f"The predictions don't have the shape {shape}", "Give one row per model.")
    return table
