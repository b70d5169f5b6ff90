"""Progress of a training, and a class that reports this progress to the caller."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class SweepProgress:
    """Progress of a training or of a whole run.

    Parameters
    ----------
    phase
        ``"tuning"`` or ``"training"``, or a description of the current step of a whole run.
    fraction
        Completed share of the phase or of the whole run, 0 to 1.
    method
        Id of the method that is being trained.
    curve
        Loss and penalty, with one row per λ and epoch, in reports after one or more epochs; otherwise None.
        The columns are ``method``, ``lam``, ``epoch``, ``mse`` (loss on training batches; the constant model
        has loss 1) and ``dependence`` (penalty Ψ on training batches). The values are means over the models
        with this λ that are trained together; other models with the same λ get separate rows.
    device
        Torch's name of the device used for training.
    """

    phase: str
    fraction: float
    method: str = ""
    curve: pd.DataFrame | None = None
    device: str = ""


#: Minimum time, in seconds, between two reports with a curve.
SECONDS_BETWEEN_CURVES = 0.2

#: Function of the caller that receives the progress and may raise :class:`fairdash.errors.Cancelled`.
OnProgress = Callable[[SweepProgress], None]


class StackReporter:
    """Class that reports the progress of models that are trained together (a stack) to the caller.

    Parameters
    ----------
    on_progress
        Function of the caller that receives the progress, or None.
    method
        Id of the method of the models.
    lams
        Weights λ of the models, (K,).
    before, work, total
        Work completed before these models, work for these models, and total work.
    device
        Device used for training.
    """

    def __init__(
        self,
        on_progress: OnProgress | None,
        *,
        method: str,
        lams: Sequence[float],
        before: float,
        work: float,
        total: float,
        device: str,
    ) -> None:
        self.on_progress = on_progress
        self.method = method
        self.lams, index_of_lam = np.unique(lams, return_inverse=True)
        self._members = [np.flatnonzero(index_of_lam == k).tolist() for k in range(len(self.lams))]
        self._unreported: list[tuple[int, NDArray[np.float64], NDArray[np.float64]]] = []
        self._reported_at = time.monotonic()
        self.before = before
        self.work = work
        self.total = total
        self.device = device
        self.share = 0.0
        self.curves: list[pd.DataFrame] = []

    def begin(self) -> None:
        """Delete the curves of the previous part (leg) of the training, and report the completed share."""
        self.curves, self._unreported = [], []
        self._report(None)

    def leg(self, curves: pd.DataFrame, *, share: float) -> None:
        """Report the curves of a finished leg, unless they were reported during training."""
        if not self.curves:
            self.share = share
            self._report(curves)
        self.curves = []

    def end(self) -> pd.DataFrame:
        """Finish a leg, and return its curves."""
        self._emit()
        return pd.concat(self.curves, ignore_index=True)

    def step(self, share: float) -> None:
        """Report the completed share of the models' training steps."""
        self.share = share
        self._report(None)

    def epoch(self, number: int, error: NDArray[np.float64], dependence: NDArray[np.float64]) -> None:
        """Report the losses and penalties after an epoch; several short epochs are reported together."""
        self._unreported.append((number, error, dependence))
        if time.monotonic() - self._reported_at > SECONDS_BETWEEN_CURVES:
            self._emit()

    def _emit(self) -> None:
        # Epochs are reported together, because creating a table takes longer than a step of a small network.
        if not self._unreported:
            return
        epochs, n_lams = self._unreported, len(self.lams)
        curve = pd.DataFrame(
            {
                "method": pd.array([self.method] * (n_lams * len(epochs)), dtype="str"),
                "lam": np.tile(self.lams, len(epochs)),
                "epoch": np.repeat([number for number, _, _ in epochs], n_lams),
                "mse": [mean for _, error, _ in epochs for mean in self._means(error)],
                "dependence": [mean for _, _, psi in epochs for mean in self._means(psi)],
            }
        )
        self._unreported, self._reported_at = [], time.monotonic()
        self.curves.append(curve)
        self._report(curve)

    def _means(self, values: NDArray[np.float64]) -> list[float]:
        """Return, for each λ, the mean of the values (K,) of its models."""
        numbers = values.tolist()
        return [_mean([numbers[k] for k in members]) for members in self._members]

    def _report(self, curve: pd.DataFrame | None) -> None:
        if self.on_progress is not None:
            fraction = (self.before + self.work * self.share) / self.total
            self.on_progress(SweepProgress("training", fraction, self.method, curve, self.device))


def _mean(values: Sequence[float]) -> float:
    """Return the mean of the values that are not NaN, or NaN if all values are NaN."""
    numbers = [value for value in values if not math.isnan(value)]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan
