"""How long the parts of a run take a core, about: the shares of the work that its progress is counted by."""

from __future__ import annotations

from collections.abc import Mapping

from fairdash.data.dataset import Dataset
from fairdash.evaluation.assess import (
    FEWEST_PERMUTATIONS,
    MOST_JUDGED_ROWS,
    MOST_ROWS,
    MOST_WEIGHTED_PERMUTATIONS,
    N_PERMUTATIONS,
    ROWS_PERMUTED,
)
from fairdash.evaluation.tradeoff_curve import curve_points
from fairdash.training.defaults import training_rows
from fairdash.training.methods import FAIR_TARIFF
from fairdash.training.models import seconds_of
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.splits import TEST_SHARE
from fairdash.training.sweep import STANDARD, Sweep

#: A core that is not slow takes so much of :func:`fairdash.training.models.seconds_of`.
_OF_A_SLOW_CORE = 0.5
#: Of the models' training, what finding settings and weights takes.
_TUNING, _PILOT = 0.1, 0.08
#: Seconds of benchmarks and tariffs for a row and split; of a measured row, of one that is permuted, and of
#: one that the verdict is of, for each model, all measures together.
_BESIDE, _MEASURED, _PERMUTED, _JUDGED = 6e-5, 6e-6, 1.5e-6, 1.5e-6
#: References take such a share of a run that has them.
_REFERENCES = 0.1


class Work:
    """What a run has to do, part by part.

    Parameters
    ----------
    dataset
        The rows that it sees.
    plan
        Its plan.
    n_permutations
        Behind a floor, at most.
    is_preview, with_references
        As in :func:`fairdash.evaluation.execute_sweep.execute_sweep`.
    """

    def __init__(
        self,
        dataset: Dataset,
        plan: Sweep,
        *,
        n_permutations: int = N_PERMUTATIONS,
        is_preview: bool = False,
        with_references: bool = False,
    ) -> None:
        n, splits, models = dataset.n_rows, plan.n_splits, plan.models()
        training = seconds_of(models, training_rows(n)) * _OF_A_SLOW_CORE
        if FAIR_TARIFF in plan.methods:
            training = _BESIDE * n * splits
        if plan.confirmation_share and not is_preview:
            training *= 1 + 1 / splits
        test = TEST_SHARE * n
        rows = min(test, MOST_ROWS)
        orders = min(n_permutations, max(FEWEST_PERMUTATIONS, ROWS_PERMUTED / max(rows, 1)))
        if dataset.weight is not None:
            orders = 2 * min(orders, MOST_WEIGHTED_PERMUTATIONS)
        stops = sum(not point.is_trained for point in curve_points(plan.lams)) * (len(plan.methods) - 1)
        here = len(models) / splits
        measured = rows * (_MEASURED * (3 * here + 2 * stops) + _PERMUTED * orders * here)
        judged = _JUDGED * min(test, MOST_JUDGED_ROWS) * (here + stops)
        self._seconds: Mapping[str, float] = {
            "pilot": _PILOT * training if plan.find_lams and plan.methods != (STANDARD,) else 0.0,
            "tuning": _TUNING * training if plan.tune else 0.0,
            "training": training,
            "beside": 0.0 if is_preview else _BESIDE * n * splits,
            "measuring": len(OBJECTIVES) * splits * (measured + judged),
        }
        if with_references:
            self._seconds["references"] = sum(self._seconds.values()) * _REFERENCES / (1 - _REFERENCES)

    @property
    def seconds(self) -> float:
        """All of it, on one core that is not slow."""
        return sum(self._seconds.values())

    def done(self, part: str, share: float = 0.0) -> float:
        """The share of the whole that is done, in [0, 1], when so much of this part is."""
        parts = list(self._seconds)
        before = sum(self._seconds[each] for each in parts[: parts.index(part)])
        return (before + share * self._seconds[part]) / self.seconds
