"""Whether a model has learned anything: its gain over the average of the training rows, beside its noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdash.evaluation.summary import corrected_standard_error
from fairdash.training.losses import Loss
from fairdash.training.splits import Split

#: Chance of saying that a model of no use has learned something.
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class Gain:
    """How much less a model errs than the average of its training rows, on test rows.

    Parameters
    ----------
    error
        The model's loss on the test rows divided by the average's on the same rows, mean over the splits:
        1 is no gain, 0 is perfect.
    error_se
        Its standard error: Nadeau and Bengio's over several splits, and never below what the rows' own noise
        would leave if the splits shared no row.
    is_beyond_noise
        Whether the gain is larger than chance makes it in 5 % of samples.
    """

    error: float
    error_se: float
    is_beyond_noise: bool


def gain_over_mean(
    target: NDArray[np.float64],
    predictions: Mapping[int, NDArray[np.float64]],
    splits: Sequence[Split],
    *,
    loss: Loss,
    weight: NDArray[np.float64] | None = None,
) -> Gain:
    """The gain of one model a split over its training rows' mean, by the loss that it was trained for.

    Parameters
    ----------
    target : (n,) array
    predictions
        Split to the predictions (n,) of its model.
    splits
        All splits of the run.
    weight : (n,) array, optional
        Exposure: a row counts as often.

    Notes
    -----
    The test is one-sided and normal, on the differences of the two losses, which share the test rows' own
    hardness. The rows' noise bounds its standard error from below, because two or three splits can agree by
    chance.
    """
    from scipy.stats import norm

    mass = np.ones(len(target)) if weight is None else weight
    gains, errors = [], []
    for j, y_pred in predictions.items():
        rows, train = splits[j].test, splits[j].train
        mean = np.full(len(target), np.average(target[train], weights=mass[train]))
        of_model, of_mean = (loss.deviances(target[rows], guess[rows]) for guess in (y_pred, mean))
        base = np.average(of_mean, weights=mass[rows])
        if base == 0:  # a constant target: there is nothing to gain
            return Gain(error=1.0, error_se=0.0, is_beyond_noise=False)
        each = (of_mean - of_model) / base
        gains.append(np.average(each, weights=mass[rows]))
        share = mass[rows] / mass[rows].sum()
        errors.append(np.sqrt(np.sum((share * (each - gains[-1])) ** 2)))
    gain, error = float(np.mean(gains)), float(np.sqrt(np.mean(np.square(errors)) / len(gains)))
    if len(gains) > 1:
        first = splits[next(iter(predictions))]
        over_splits = corrected_standard_error(
            float(np.var(gains, ddof=1)),
            n_splits=len(gains),
            test_to_train=len(first.test) / len(first.train),
        )
        error = max(error, over_splits)
    limit = float(norm.ppf(1 - ALPHA))
    return Gain(error=1 - gain, error_se=error, is_beyond_noise=gain > max(limit * error, 1e-9))
