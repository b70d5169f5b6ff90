"""Result of a sweep: trained models, their assessment, and predictions for every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.evaluation.confirmation import Confirmation
from fairdash.evaluation.figures import summarise_splits, wide
from fairdash.training.losses import Loss
from fairdash.training.models import TrainedModels
from fairdash.training.splits import Split
from fairdash.training.splits import corrected_standard_error as corrected_standard_error
from fairdash.training.sweep import STANDARD, Sweep

#: Significance level of the test for a smaller error than that of the average.
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Reduction of the error by a model, compared with predicting the training average, on test rows.

    Parameters
    ----------
    error
        Loss of the model divided by the loss of the training average on the same test rows, averaged over the
        splits: 1 means no gain, and 0 is perfect.
    error_se
        Standard error of `error` by Nadeau and Bengio over several splits. The standard error is not smaller
        than the one due to the noise of the rows alone.
    is_beyond_noise
        True if the gain is significant at the 5 % level.
    """

    error: float
    error_se: float
    is_beyond_noise: bool


def gain_over_mean(
    target: NDArray[np.float64],
    price: Mapping[int, NDArray[np.float64]],
    splits: Sequence[Split],
    *,
    loss: Loss,
    weight: NDArray[np.float64] | None = None,
) -> Gain:
    """Return the reduction of the loss by the models of all splits, compared with predicting the average.

    Parameters
    ----------
    target : (n,) array
    price
        Predictions (n,) of the model of each split, by the number of the split.
    splits
        All splits of the run.
    weight : (n,) array, optional
        Exposure, which weights the rows.

    Notes
    -----
    The test is a one-sided normal test of the differences between the two losses on the same rows. Two or
    three splits may agree by chance. The standard error is therefore at least the one that follows from the
    noise of the rows.
    """
    from scipy.stats import norm

    mass = np.ones(len(target)) if weight is None else weight
    gains, errors = [], []
    for j, y_pred in price.items():
        rows, train = splits[j].test, splits[j].train
        mean = np.full(len(target), np.average(target[train], weights=mass[train]))
        of_model, of_mean = (loss.deviances(target[rows], price[rows]) for price in (y_pred, mean))
        base = np.average(of_mean, weights=mass[rows])
        if base == 0:  # If the target is constant, the average predicts perfectly, so no gain is possible.
            return Gain(error=1.0, error_se=0.0, is_beyond_noise=False)
        difference = (of_mean - of_model) / base
        gains.append(np.average(difference, weights=mass[rows]))
        share = mass[rows] / mass[rows].sum()
        errors.append(np.sqrt(np.sum((share * (difference - gains[-1])) ** 2)))
    gain, error = float(np.mean(gains)), float(np.sqrt(np.mean(np.square(errors)) / len(gains)))
    if len(gains) > 1:
        first = splits[next(iter(price))]
        over_splits = corrected_standard_error(
            float(np.var(gains, ddof=1)),
            n_splits=len(gains),
            test_to_train=len(first.test) / len(first.train),
        )
        error = max(error, over_splits)
    limit = float(norm.ppf(1 - ALPHA))
    return Gain(error=1 - gain, error_se=error, is_beyond_noise=gain > max(limit * error, 1e-9))


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepResult(TrainedModels):
    """Result of a sweep: trained models, their assessment, and predictions for every row.

    Parameters
    ----------
    sweep
        Executed plan.
    frames
        Tables, by objective, with one row per trained model, part, measure and sensitive column, as returned
        by :func:`fairdash.evaluation.assess_predictions`. Models trained for one objective are assessed under
        both objectives.
    paths
        Tables, by objective, of all points on the trade-off curve, as returned by
        :func:`fairdash.evaluation.assess_curve`.
    target
        Target of the predicted rows, (n,).
    sensitive
        Sensitive columns of the predicted rows.
    weight
        Exposure of the predicted rows, (n,), or None for equal weights.
    target_name
        Name of the target column.
    units
        Units of columns by name, where known.
    references
        Test results of prices that use s (see :class:`fairdash.api.ReferenceResult`), or None if these prices
        were not computed.
    price
        Minimum increase of the error that exact independence requires, by split, (J,), in units of ``mse``,
        or None without references.
    baselines
        Tables, by objective, of test results of :data:`fairdash.training.baselines.BASELINES`, and of test
        and validation results of tariffs.
    gain
        Gain of the standard model over the training average.
    versions
        Versions of the packages at the time of the run, by package.
    names
        Display names that the user has given to the target and to sensitive columns.
    evaluations
        Methods of estimation by measure, as in :attr:`fairdash.dependence.measure.Measure.recorded`.
    groups
        Group of each predicted row, 0 … G-1, (n,), or None if there are no groups.
    rows
        Positions of the predicted rows in the data set, (n,), counted from 0, if a preview used a random
        sample, or None if all rows were used.
    drawn_from
        Number of rows of the data set from which the sample was drawn, or None if all rows were used.
    fingerprint
        Fingerprint of all rows of the data set, which shows that the result belongs to it.
    opened
        Results so far of :func:`fairdash.confirm` on the holdout rows; each call adds a result to this list.
    members, predictions, splits, device, seconds, notes, importance, tuning, curves, set_aside
        Same meaning as in :class:`fairdash.training.models.TrainedModels`.

    Examples
    --------
    >>> dataset = fd.load_dataset("household", n=300)
    >>> result = fd.sweep(dataset, methods=["standard"], lams=[1.0], n_splits=1, tariff=False)
    >>> list(result.frames)
    ['demographic_parity', 'equalized_residuals']
    """

    sweep: Sweep
    frames: Mapping[str, pd.DataFrame]
    paths: Mapping[str, pd.DataFrame]
    target: NDArray[np.float64]
    sensitive: pd.DataFrame
    weight: NDArray[np.float64] | None
    target_name: str
    units: Mapping[str, str]
    references: pd.DataFrame | None
    price: NDArray[np.float64] | None
    versions: Mapping[str, str] = field(default_factory=dict)
    baselines: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    gain: Gain | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    evaluations: Mapping[str, str] = field(default_factory=dict)
    groups: NDArray[np.intp] | None = None
    rows: NDArray[np.int64] | None = None
    drawn_from: int | None = None
    fingerprint: str = ""
    opened: list[Confirmation] = field(default_factory=list)

    @property
    def objective(self) -> str:
        """Return the id of the objective of the training."""
        return self.sweep.objective

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Return the results of all models under the training objective, one row per model and part."""
        return wide(self.frames[self.objective])

    def _repr_html_(self) -> str:
        """Return HTML for a notebook with test results of the models, averaged over the splits."""
        means = summarise_splits(self.frames[self.objective], test_to_train=self.test_to_train)
        test = wide(means[means["part"] == "test"]).dropna(axis=1, how="all")
        html: str = test.to_html(index=False, float_format="{:.4g}".format)
        return html

    @property
    def test_to_train(self) -> float:
        """Return the number of test rows divided by the number of training rows of a split."""
        return len(self.splits[0].test) / len(self.splits[0].train)


@dataclass(frozen=True)
class ReferenceResult:
    """Results of prices that use s; the results of models, which do not use s, are stored separately.

    Parameters
    ----------
    figures
        Result of :func:`fairdash.evaluation.assess_predictions`, in which ``method`` is an id of
        :data:`fairdash.training.references.REFERENCES` and ``lam`` is a strength from 0 to 1.
    predictions, members, splits
        Same meaning as in :class:`fairdash.SweepResult`; the splits are those of a sweep with the same seed.
    price
        Minimum increase of the error that exact independence requires, (J,), in units of ``mse``, estimated
        on the test rows of each split by comparison with a model that uses s; see
        :func:`fairdash.training.references.trained.train_references`.
    """

    figures: pd.DataFrame
    predictions: NDArray[np.float64]
    members: pd.DataFrame
    splits: tuple[Split, ...]
    price: NDArray[np.float64]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Return the results, one row per price and part."""
        return wide(self.figures)


def gain_of_standard(dataset: Dataset, models: TrainedModels, loss: Loss) -> Gain | None:
    """Return the gain of the standard models, without diverged models; None if all of them diverged."""
    members = models.members
    standard = np.flatnonzero((members["method"] == STANDARD) & ~members["diverged"])
    if not len(standard):
        return None
    return gain_over_mean(
        dataset.target.to_numpy(dtype=float),
        {int(members["split"].iloc[k]): models.predictions[k] for k in standard},
        models.splits,
        loss=loss,
        weight=None if dataset.weight is None else dataset.weight.to_numpy(dtype=float),
    )
