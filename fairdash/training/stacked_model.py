"""What one model is, before it is trained in a stack or tried by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

from fairdash.training.settings import TrainingSettings


@dataclass(frozen=True)
class StackedModel:
    """One model to train in a stack.

    Parameters
    ----------
    method
        Id in :data:`fairdash.training.methods.METHODS`; the same for all models of a stack.
    lam
        Weight λ ≥ 0 of the penalty.
    settings
        How it is trained; the models of a stack share its ``stack_key``.
    split
        Which split's training rows it sees: index into the first dimension of the data. Cross-validation
        gives its candidates every fold.
    seed
        Seed of its initial weights.
    """

    method: str
    lam: float
    settings: TrainingSettings
    split: int = 0
    seed: int = 0
