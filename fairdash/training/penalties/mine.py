"""Mutual information by MINE as a penalty (Belghazi et al. 2018; the paper's baseline “Fair MINE NN”)."""

from __future__ import annotations

from torch import Tensor

from fairdash.training.penalties.ratio import RatioPenalty


class MINEPenalty(RatioPenalty):
    """Ψ = E_P[h] − ln E_Q[eʰ] of the batch, in nats: the bound that the adversary climbs."""

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Ψ of shape (K,): 0 for independence, below 0 where the adversary lags behind; no upper end."""
        return self.adversary_objective(u, v, sample_weight)
