"""Result of a sweep: trained models, their figures beside floors, and predictions for every row."""

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

#: Probability of saying that a useless model has learned something.
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Gain of a model over the training average, on test rows.

    Parameters
    ----------
    error
        The model's loss on the test rows divided by the average's on the same rows, mean over the splits:
        1 is no gain, 0 is perfect.
    error_se
        Its standard error: that of Nadeau and Bengio over several splits, and at least the standard error
        from the noise of the rows if the splits shared no row.
    is_beyond_noise
        Whether the gain exceeds the value that chance exceeds in 5 % of samples.
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
    """Return the gain of each split's model over the training average, by the training loss.

    Parameters
    ----------
    target : (n,) array
    predictions
        Split to the predictions (n,) of its model.
    splits
        All splits of the run.
    weight : (n,) array, optional
        Exposure, the weight of a row.

    Notes
    -----
    The test is a one-sided normal test of the differences between two losses on the same test rows. The
    noise of the rows bounds its standard error from below, because two or three splits can agree by chance.
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


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepResult(TrainedModels):
    """Result of a sweep: trained models, their figures, and predictions for every row.

    Parameters
    ----------
    sweep
        Executed plan.
    frames
        Map of objectives to the figures of every trained model, one row per model, part, measure and
        sensitive column, as returned by :func:`fairdash.evaluation.assess_predictions`. Models trained for
        one objective are assessed under both.
    paths
        Map of objectives to the figures of every point on the curve, likewise, as returned by
        :func:`fairdash.evaluation.assess_curve`.
    target
        Target of the predicted rows, (n,).
    sensitive
        Sensitive columns of these rows.
    weight
        Exposure of these rows, (n,), or None.
    target_name
        Name of the target column.
    units
        Map of columns to units, where known.
    references
        Test figures of prices that use s, as in :class:`fairdash.api.ReferenceResult`; None if not computed.
    price
        Least cost of exact independence in each split, (J,), in units of ``mse``; None without references.
    baselines
        Map of objectives to the test figures of :data:`fairdash.training.baselines.BASELINES`, and to test
        and validation figures of tariffs.
    gain
        Gain of the standard model over the training average.
    versions
        Map of packages to their versions at the time of the run.
    names
        Map of target or sensitive columns to display names, where given.
    evaluations
        Map of measures to their methods of estimation, :attr:`fairdash.dependence.measure.Measure.recorded`.
    groups
        Group of each of these rows, 0 … G-1, (n,); None without groups.
    rows
        Positions of these rows in the data set, (n,), counted from 0, if a preview used a random sample;
        None if all rows were used.
    drawn_from
        Number of rows of the data set; None if all rows were used.
    fingerprint
        Fingerprint of the data set, all rows, which ties the result to it.
    opened
        Results of :func:`fairdash.confirm` on the holdout rows so far; each call adds to this list.
    members, predictions, splits, device, seconds, notes, importance, tuning, curves, set_aside
        As in :class:`fairdash.training.models.TrainedModels`.

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
        """Id of the objective of training."""
        return self.sweep.objective

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Figures of every trained model under the objective of training: one row per model and part."""
        return wide(self.frames[self.objective])

    def _repr_html_(self) -> str:
        """Show the models' test figures, averaged over the splits, in a notebook."""
        means = summarise_splits(self.frames[self.objective], test_to_train=self.test_to_train)
        test = wide(means[means["part"] == "test"]).dropna(axis=1, how="all")
        shown: str = test.to_html(index=False, float_format="{:.4g}".format)
        return shown

    @property
    def test_to_train(self) -> float:
        """Number of test rows divided by the number of training rows of a split."""
        return len(self.splits[0].test) / len(self.splits[0].train)


@dataclass(frozen=True)
class ReferenceResult:
    """Figures of prices that use s, separate from models that do not.

    Parameters
    ----------
    figures
        As returned by :func:`fairdash.evaluation.assess_predictions`; ``method`` is an id of
        :data:`fairdash.training.references.REFERENCES` and ``lam`` a strength from 0 to 1.
    predictions, members, splits
        As in :class:`fairdash.SweepResult`; the splits are those of a sweep with the same seed.
    price
        (J,) smallest increase of the error under exact independence, in units of ``mse``, estimated on each
        split's test rows against a model that uses s; see
        :func:`fairdash.training.references.trained.train_references`.
    """

    figures: pd.DataFrame
    predictions: NDArray[np.float64]
    members: pd.DataFrame
    splits: tuple[Split, ...]
    price: NDArray[np.float64]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The figures, one row per price and part."""
        return wide(self.figures)


def gain_of_standard(dataset: Dataset, plan: Sweep, trained: TrainedModels) -> Gain | None:
    """Gain of the standard models that did not diverge over the average; None without any."""
    members = trained.members
    own = np.flatnonzero((members["method"] == STANDARD) & ~members["diverged"])
    if not len(own):
        return None
    return gain_over_mean(
        dataset.target.to_numpy(dtype=float),
        {int(members["split"].iloc[k]): trained.predictions[k] for k in own},
        trained.splits,
        loss=plan.settings.loss_function,
        weight=None if dataset.weight is None else dataset.weight.to_numpy(dtype=float),
    )
