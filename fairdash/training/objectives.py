"""Fairness objectives: predictions, or residuals, must not depend on the sensitive features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from fairdash.utils.registry import by_id

Array = TypeVar("Array")  # numpy array or torch tensor


@dataclass(frozen=True, kw_only=True)
class Objective:
    """Fairness objective: the variable U that should be independent of the sensitive features V = S.

    Parameters
    ----------
    id
        Name in the API: ``"demographic_parity"``.
    title
        Name for people: "Demographic parity".
    audited
        Name of U on charts: "prediction".
    meaning
        One plain sentence.
    uses_target
        Whether U is the residual ŷ − y rather than the prediction ŷ.
    """

    id: str
    title: str
    audited: str
    meaning: str
    uses_target: bool

    def audit(self, y_pred: Array, y: Array) -> Array:
        """Return U: ŷ, or ŷ − y (paper, generic optimisation problem); shapes as given, broadcast."""
        return y_pred - y if self.uses_target else y_pred  # type: ignore[operator]


OBJECTIVES: Mapping[str, Objective] = by_id(
    Objective(
        id="demographic_parity",
        title="Demographic parity",
        audited="prediction",
        meaning="Predictions do not depend on the sensitive attribute.",
        uses_target=False,
    ),
    Objective(
        id="equalized_residuals",
        title="Equalized residuals",
        audited="residual",
        meaning="Errors (prediction minus truth) do not depend on the sensitive attribute.",
        uses_target=True,
    ),
)
