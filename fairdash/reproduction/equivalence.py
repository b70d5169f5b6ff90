"""Whether the paper's value could have been a mean of five of our splits.

The paper's figures are means of five random splits of the same table, so that what differs by chance is the
draw of splits. Where a result of ours has enough of them, five at a time say how far such a mean strays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdash.reproduction.cells import AS_PAPER, Count
from fairdash.reproduction.paper import FAIRNESS, row_of
from fairdash.reproduction.results import StudyResult

Array = NDArray[np.float64]

#: Splits behind one figure of the paper.
PAPER_SPLITS = 5
#: With fewer splits of ours their spread is too uncertain to draw from.
LEAST_SPLITS = 20
#: Share of the means that count as ordinary, in the middle.
CENTRAL = 0.9
_DRAWS = 20_000
#: The paper prints three digits: its value may be anything that rounds to them.
_HALF_A_DIGIT = 0.0005


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """How many of the paper's values are ordinary among means of five of our splits.

    Parameters
    ----------
    n_splits
        How many splits our result has.
    equivalent
        Fairness values that are; None where :attr:`n_splits` is below :data:`LEAST_SPLITS`.
    total
        Of how many.
    """

    n_splits: int
    equivalent: int | None
    total: int

    @property
    def words(self) -> str:
        """The finding, or what it would take, as a sentence."""
        meaning = (
            f"the paper's value lies in the central {CENTRAL:.0%} of the means of five splits drawn from ours"
        )
        if self.equivalent is None:
            return (
                f"How many are equivalent ({meaning}) can't be said from {self.n_splits} splits: that takes "
                f"at least {LEAST_SPLITS}."
            )
        return f"Equivalent ({meaning}; {self.n_splits} splits): {self.equivalent} of {self.total}."


def central_range(values: Array, *, random_state: int = 0) -> tuple[float, float] | None:
    """The central 90 % of means of five, drawn with replacement from the values of our splits.

    Parameters
    ----------
    values : (n_splits,) array
        One figure, a value a split.

    Returns
    -------
    tuple of float or None
        None with fewer than :data:`LEAST_SPLITS` values.
    """
    if len(values) < LEAST_SPLITS:
        return None
    rng = np.random.default_rng(random_state)
    means = rng.choice(values, (_DRAWS, PAPER_SPLITS)).mean(axis=1)
    low, high = np.quantile(means, [(1 - CENTRAL) / 2, (1 + CENTRAL) / 2])
    return float(low), float(high)


def equivalence(result: StudyResult, dataset: str, found: Count) -> Equivalence:
    """The fairness values of a count, held to the paper's Fair HGR NN by equivalence instead of by size."""
    splits = result.tables["splits"]
    n_splits = int(splits["split"].nunique())
    equivalent = 0
    for objective, method in found.chosen.items():
        own = splits[(splits["method"] == method) & (splits["objective"] == objective)]
        paper = row_of(dataset, "hgr_nn", objective)
        for id in FAIRNESS:
            reach = central_range(own[f"{id}_{AS_PAPER}"].to_numpy(dtype=float))
            if reach is None:
                return Equivalence(n_splits=n_splits, equivalent=None, total=found.total)
            low, high = reach
            equivalent += low - _HALF_A_DIGIT <= paper[id] <= high + _HALF_A_DIGIT
    return Equivalence(n_splits=n_splits, equivalent=equivalent, total=found.total)
