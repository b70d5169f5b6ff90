"""How far a training has come, and who is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from fairdash.training.stack import Epoch


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep has come.

    Parameters
    ----------
    phase
        ``"tuning"``, ``"training"`` or ``"assessing"``.
    fraction
        Share of this phase that is done, 0 to 1.
    method
        Id of the method in training.
    curve
        At the end of an epoch one row a λ: columns ``method``, ``lam``, ``epoch``, ``mse`` (loss on
        training batches, 1 is the constant model's) and ``dependence`` (the penalty Ψ on training
        batches), means over the other models in training. None in between.
    device
        torch's name of the device in use.
    """

    phase: str
    fraction: float
    method: str = ""
    curve: pd.DataFrame | None = None
    device: str = ""


#: Hears of a training's progress; it may raise :class:`fairdash.errors.Cancelled`.
OnProgress = Callable[[SweepProgress], None]


class StackReporter:
    """Tells the caller how far the stack in training has come.

    Parameters
    ----------
    on_progress
        The caller.
    method
        Id of the stack's method.
    lams
        (K,) weights λ of its models.
    before, work, total
        Work done before this stack, that of this stack, and all there is.
    device
        Where it is trained.
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
        self.lams = lams
        self.before = before
        self.work = work
        self.total = total
        self.device = device
        self.share = 0.0

    def step(self, share: float) -> None:
        """Tell that this share of the stack's steps is done."""
        self.share = share
        self._report(None)

    def epoch(self, epoch: Epoch) -> None:
        """Tell where the stack stands after an epoch."""
        if len(epoch.error) < len(self.lams):
            return  # half a stack, for lack of memory: its curves would be half the models'
        figures = pd.DataFrame({"lam": self.lams, "mse": epoch.error, "dependence": epoch.dependence})
        curve = figures.groupby("lam", as_index=False).mean()
        curve.insert(0, "method", self.method)
        curve.insert(2, "epoch", epoch.number)
        self._report(curve)

    def _report(self, curve: pd.DataFrame | None) -> None:
        if self.on_progress is not None:
            fraction = (self.before + self.work * self.share) / self.total
            self.on_progress(SweepProgress("training", fraction, self.method, curve, self.device))
