"""What a sweep has found: what was trained, what it is worth, and the rows behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.evaluation.confirmation import Confirmation
from fairdash.evaluation.learning import Gain
from fairdash.training.models import TrainedModels
from fairdash.training.sweep import Sweep


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepResult(TrainedModels):
    """What a sweep has found: what was trained, what it is worth, and the rows behind it.

    Parameters
    ----------
    sweep
        The plan that was carried out.
    frames
        Objective to the figures of every trained model, one row a model and part, columns as
        :func:`fairdash.evaluation.assess_predictions` gives them: models that were trained for one objective
        are assessed by both.
    paths
        Objective to the figures of every stop, as :func:`fairdash.evaluation.assess_curve` gives them.
    target
        (n,) the target of the rows that were predicted.
    sensitive
        Its sensitive columns, n rows.
    weight
        (n,) the rows' exposure, or None.
    target_name
        The target's column.
    units
        Column to its unit, for those that have one.
    references
        Test figures of prices that use s, as :class:`fairdash.api.ReferenceResult`; None if there are none.
    price
        (J,) what exact independence costs each split at least, in units of ``mse``; None likewise, and in
        runs of before their references were told s.
    baselines
        Objective to the test figures of :data:`fairdash.training.baselines.BASELINES`; empty
        in a run of before there were any.
    gain
        What the standard model gains over its training rows' average; None in a run of before it was kept.
    versions
        Package to its version when the run was carried out; empty in a run of before they were kept.
    names
        Target or sensitive column to its name for people, for those that have one.
    evaluations
        Measure to how its values are estimated, :attr:`fairdash.dependence.entry.Measure.recorded`; empty in
        a run of before it was written down.
    rows
        (n,) which rows of the data set these are, counted from 0, where a first look saw only some of them,
        drawn at random; None where they are all.
    drawn_from
        How many rows the data set has; None likewise.
    opened
        What :func:`fairdash.confirm` has shown of the rows set aside so far: it adds to this list.
    members, predictions, splits, device, seconds, notes, importance, tuning, curves, set_aside
        As in :class:`fairdash.training.models.TrainedModels`.
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
    rows: NDArray[np.int64] | None = None
    drawn_from: int | None = None
    opened: list[Confirmation] = field(default_factory=list)

    @property
    def objective(self) -> str:
        """Id of the objective that was trained for."""
        return self.sweep.objective

    @property
    def frame(self) -> pd.DataFrame:
        """Figures of every trained model by the objective that it was trained for."""
        return self.frames[self.objective]

    @property
    def test_to_train(self) -> float:
        """Test rows of a split divided by its training rows."""
        return len(self.splits[0].test) / len(self.splits[0].train)
