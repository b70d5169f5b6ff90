"""Estimate the time of each part of a run on one core, as weights for its progress bar."""

from __future__ import annotations

from fairdash.data.dataset import Dataset
from fairdash.evaluation.assess import (
    MOST_JUDGED_ROWS,
    MOST_ROWS,
    N_PERMUTATIONS,
    permutations_behind_floor,
)
from fairdash.evaluation.tradeoff_curve import points_of_plan
from fairdash.training.defaults import training_rows
from fairdash.training.methods import FAIR_TARIFF
from fairdash.training.models import seconds_of
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.splits import TEST_SHARE
from fairdash.training.sweep import Sweep

#: A core that is not slow takes so much of :func:`fairdash.training.models.seconds_of`.
_OF_A_SLOW_CORE = 0.5
#: Of the models' training, what finding settings and weights takes.
_TUNING, _PILOT = 0.1, 0.08
#: Seconds of benchmarks and tariffs for a row and split; of a measured row, of one that is permuted, and of
#: one that the verdict is of, for each model, all measures together.
_BESIDE, _MEASURED, _PERMUTED, _JUDGED = 6e-5, 6e-6, 1.5e-6, 1.5e-6
#: References take such a share of a run that has them.
_REFERENCES = 0.1


class WorkEstimate:
    """Estimated work of a plan on a data set's rows, part by part.

    Parameters
    ----------
    n_permutations
        Permutations behind a floor, at most.
    is_preview, references
        As in :func:`fairdash.evaluation.execute_sweep.execute_sweep`.
    """

    def __init__(
        self,
        dataset: Dataset,
        plan: Sweep,
        n_permutations: int = N_PERMUTATIONS,
        *,
        is_preview: bool = False,
        references: bool = False,
    ) -> None:
        n_rows, n_splits, has_weight = dataset.n_rows, plan.n_splits, dataset.weight is not None
        all_models, of_tariffs = plan.models(), FAIR_TARIFF in plan.methods
        models = len(all_models) // n_splits
        blends = sum(not each.is_trained for each in points_of_plan(plan)) * (len(plan.methods) - 1)
        beside = _BESIDE * n_rows * n_splits
        slow = seconds_of(all_models, training_rows(n_rows))
        own = beside if of_tariffs else slow * _OF_A_SLOW_CORE
        own *= 1 + (plan.confirmation_share > 0 and not is_preview) / n_splits
        test = max(TEST_SHARE * n_rows, 1)
        rows = min(test, MOST_ROWS)
        orders = permutations_behind_floor(round(rows), n_permutations, has_weight=has_weight)
        orders *= 1 + has_weight
        measured = rows * (_MEASURED * (3 * models + 2 * blends) + _PERMUTED * orders * models)
        judged = _JUDGED * min(test, MOST_JUDGED_ROWS) * (models + blends)
        self._seconds: dict[str, float] = {
            "pilot": _PILOT * own * plan.find_lams,
            "tuning": _TUNING * own * plan.tune,
            "training": own,
            "beside": beside * (not is_preview),
            "measuring": len(OBJECTIVES) * n_splits * (measured + judged),
        }
        if references:
            self._seconds["references"] = sum(self._seconds.values()) * _REFERENCES / (1 - _REFERENCES)

    @property
    def seconds(self) -> float:
        """Total time on one core of usual speed."""
        return sum(self._seconds.values())

    def done(self, part: str, share: float = 0.0) -> float:
        """Return the share of the total that is done, in [0, 1], when `share` of this part is done."""
        parts = list(self._seconds)
        before = sum(self._seconds[each] for each in parts[: parts.index(part)])
        return (before + share * self._seconds[part]) / self.seconds
