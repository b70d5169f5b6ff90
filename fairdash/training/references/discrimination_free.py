r"""Discrimination-free premium: a model of x and s, averaged over the marginal distribution of s.

.. math:: h(x) = \int f(x, s) \, dP(s)

The premium removes only the *direct* use of s. Features that depend on s still affect the premium, so
premiums can differ between groups. The aim of this premium is not demographic parity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence.classical import mid_ranks
from fairdash.training.references.barycentre import Array, fit_barycentre, one_column, option_error, weights
from fairdash.training.splits import Split, fold_rows
from fairdash.utils.classes import class_columns, holds_text, one_column_each

#: Function f(x, s) that returns predictions (n,) from a table x with n rows and from s (n,).
SensitivePredictor = Callable[[Any, Array], ArrayLike]

MAX_NODES = 50


def sensitive_nodes(
    s: ArrayLike, *, sample_weight: ArrayLike | None = None, max_nodes: int = MAX_NODES
) -> tuple[Array, Array]:
    r"""Represent the distribution of s by at most `max_nodes` weighted values (nodes).

    If there are at most `max_nodes` distinct values, these values are the nodes, and averages over s are
    exact. Otherwise, the rows, sorted by s, are divided into groups with equal shares of the rows (up to
    ties), and the nodes are the means of s in the groups. The average of f over these nodes is exact if f is
    linear in s. In general, the error is at most :math:`\tfrac12 \max|\partial^2 f / \partial s^2|` times the
    variance of s within groups, which decreases with the square of the number of groups. A jump of f in s, as
    in a tree, adds an error. This error is at most twice the height of the jump, divided by `max_nodes`.

    Parameters
    ----------
    s : (n,) array
        Values of the sensitive attribute in the population, in one column.
    sample_weight : (n,) array, optional
        Non-negative weights; a row of weight 2 counts as two rows.
    max_nodes
        Maximum number of values, at least 1.

    Returns
    -------
    values : (m,) array
        Nodes in the units of s, in ascending order.
    shares : (m,) array
        Share of the rows that each node represents; the sum of the shares is 1.

    Raises
    ------
    OptionError
        Raised if there are several columns or missing cells, or if weights or `max_nodes` are not valid.
    """
    sensitive = one_column(s, "s")
    weight = weights(sample_weight, len(sensitive))
    if max_nodes < 1:
        raise option_error("max_nodes", "The number of nodes is below 1", "Give at least 1.")
    has_weight = weight > 0
    sensitive, weight = sensitive[has_weight], weight[has_weight]
    distinct, group = np.unique(sensitive, return_inverse=True)
    if len(distinct) > max_nodes:
        node_index = np.floor(mid_ranks(sensitive, weight) * max_nodes)
        group = np.unique(node_index, return_inverse=True)[1]
    shares: Array = np.bincount(group, weight).astype(float)
    return np.bincount(group, weight * sensitive) / shares, shares


def discrimination_free(predict: SensitivePredictor, features: Any, nodes: tuple[Array, Array]) -> Array:
    r"""Return the discrimination-free premium h(x) = Σⱼ wⱼ f(x, sⱼ) of each row.

    The premium of a row does not use the row's own s. It removes only the direct use of s (see the module).
    If x and s are dependent, the mean of the premium differs from the mean of f, so an insurer has to adjust
    the premium.

    Parameters
    ----------
    predict
        Fitted model f, such that ``predict(features, s)`` returns predictions (n,) for s (n,).
    features
        Table x with n rows that `predict` accepts.
    nodes
        Distribution of s in the rows to which f was fitted, from ``sensitive_nodes(s)``.

    Returns
    -------
    (n,) array
        Premiums in the units of f.

    Raises
    ------
    OptionError
        Raised if `predict` does not return one finite number per row.

    References
    ----------
    Lindholm, Richman, Tsanakas and Wüthrich (2022), "Discrimination-free insurance pricing", ASTIN Bulletin
    52(1), 55–89.
    """
    n_rows = len(features)
    premium = np.zeros(n_rows)
    for value, share in zip(*nodes, strict=True):
        part = one_column(predict(features, np.full(n_rows, value)), "predict")
        if len(part) != n_rows:
            raise option_error(
                "predict", "The function does not return one number per row", "Return an array (n,)."
            )
        premium += share * part
    return premium


#: Function that trains the base model on the training rows of each split, and returns predictions for all
#: rows, (number of splits, n).
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
    """Return repaired predictions per split and strength, with barycentres of out-of-fold predictions.

    Parameters
    ----------
    dataset
        Data set with one sensitive attribute, which contains numbers or classes.
    splits
        J splits of the data set.
    base : (J, n) array
        Predictions for all rows by the base model, which has no penalty and is fitted to the training rows of
        each split.
    train
        Function that fits the base model to other training rows. It is called once, with the `n_folds` folds
        of every split (J × n_folds), so that all models can be trained together.
    strengths
        T strengths, from 0 (the base model) to 1 (demographic parity).
    n_folds
        Number of folds of the training rows; each fold is predicted by a model that is fitted to the other
        folds.
    random_state
        Seed of the folds.
    bandwidth
        As in :func:`fairdash.training.references.fit_barycentre`.

    Returns
    -------
    (J, T, n) array
        Repaired predictions in the units of the target. Repaired predictions for the training rows of a split
        are in-sample.

    Raises
    ------
    OptionError
        Raised if there are several sensitive attributes, if an array has the wrong shape, or if a fold would
        have no rows.
    """
    s = one_sensitive(dataset)
    premiums = _stacked(base, (len(splits), dataset.n_rows), "base")
    parts = [
        part
        for split in splits
        for part in fold_rows(split.train, n_folds=n_folds, random_state=random_state, groups=dataset.groups)
    ]
    held_out = _stacked(train(dataset, parts), (len(parts), dataset.n_rows), "train")
    curves = np.empty((len(splits), len(strengths), dataset.n_rows))
    for j in range(len(splits)):
        fold_numbers = range(j * n_folds, (j + 1) * n_folds)
        rows = np.concatenate([parts[k].validation for k in fold_numbers])
        out_of_fold = np.concatenate([held_out[k, parts[k].validation] for k in fold_numbers])
        weight = None if dataset.weight is None else dataset.weight.to_numpy()[rows]
        barycentre = fit_barycentre(
            out_of_fold,
            s[rows],
            sample_weight=weight,
            bandwidth=bandwidth,
            classes=dataset.sensitive.shape[1] > 1,
        )
        curves[j] = barycentre.predict(premiums[j], s, strengths)
    return curves


def discrimination_free_predictions(
    dataset: Dataset,
    splits: Sequence[Split],
    *,
    predictors: Sequence[SensitivePredictor],
    max_nodes: int = MAX_NODES,
) -> NDArray[np.float64]:
    """Return the discrimination-free premium of each split.

    Parameters
    ----------
    dataset
        Data set with one sensitive attribute, which contains numbers or classes.
    splits
        J splits of the data set.
    predictors
        J models ``f(features, s) -> (n,)``, one per split, each fitted to the training rows of its split. The
        argument `features` is a frame like ``dataset.features``, and `s` has the units of the data set.
    max_nodes
        Maximum number of nodes for the distribution of s in the training rows, as in
        :func:`fairdash.training.references.sensitive_nodes`.

    Returns
    -------
    (J, n) array
        Premiums in the target's units.

    Raises
    ------
    OptionError
        Raised if there are several sensitive attributes, or if the number of predictors differs from the
        number of splits.
    """
    s = one_sensitive(dataset)
    if len(predictors) != len(splits):
        raise option_error(
            "predictors",
            "The number of models differs from the number of splits",
            "Give one model per split.",
        )
    weight = dataset.row_weight
    premiums = []
    for split, predict in zip(splits, predictors, strict=True):
        nodes = sensitive_nodes(s[split.train], sample_weight=weight[split.train], max_nodes=max_nodes)
        premiums.append(discrimination_free(predict, dataset.features, nodes))
    return np.stack(premiums)


def one_sensitive(dataset: Dataset) -> Array:
    """Return the sensitive attribute (n,), with codes for classes; several attributes raise an error."""
    attributes = one_column_each(dataset.sensitive)
    if attributes.shape[1] != 1:
        raise option_error(
            "sensitive", "A reference needs exactly one sensitive attribute", "Choose one attribute."
        )
    s = attributes.iloc[:, 0]
    return class_columns(s, as_codes=True) if holds_text(s) else s.to_numpy(dtype=float)


def _stacked(values: ArrayLike, shape: tuple[int, int], name: str) -> NDArray[np.float64]:
    table = np.asarray(values, dtype=float)
    if table.shape != shape:
        raise option_error(name, f"The predictions don't have the shape {shape}", "Give one row per model.")
    return table
