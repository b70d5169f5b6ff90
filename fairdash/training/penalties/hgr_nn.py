"""Neural HGR as a penalty (supplement, Algorithm “Fair HGR NN”)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from fairdash.dependence.hgr_network import HGRNetwork
from fairdash.training.penalties.base import BasePenalty
from fairdash.training.settings import TrainingSettings


class HGRPenalty(BasePenalty):
    """Ψ = J(θ_f, θ_g): the batch correlation of the adversary's standardised f(U) and g(S)."""

    def __init__(
        self, *, seeds: Sequence[int], s: Tensor, which_split: Tensor, settings: TrainingSettings
    ) -> None:
        super().__init__(seeds=seeds, s=s, which_split=which_split, settings=settings)
        self.networks = HGRNetwork(hidden=settings.adversary_hidden, seeds=seeds, n_sensitive=s.shape[2])

    @staticmethod
    def floats_a_row(settings: TrainingSettings) -> float:
        """Two networks' units, with their slopes."""
        return 3.5 * sum(settings.adversary_hidden)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """J of shape (K,), between −1 and 1: below 0 the adversary lags behind."""
        j: Tensor = self.networks(u, v, sample_weight)
        return j
