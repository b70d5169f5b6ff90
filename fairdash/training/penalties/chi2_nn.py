"""χ² divergence by a network as a penalty (paper, Algorithm 1; supplement, Algorithm “Fair χ² NN”)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fairdash.training.penalties.ratio import RatioPenalty, log_mean_exp


class Chi2Penalty(RatioPenalty):
    """Ψ = E_P[f] − E_Q[f + f²/4] of the batch, with f = 2(c eʰ − 1) and the scale c that is best for it.

    Then Ψ = E_P[eʰ]² / E_Q[e²ʰ] − 1. The adversary climbs the steadier bound of Donsker and Varadhan, of
    which the same ratio eʰ is the best: climbing Ψ itself, as published, is ruled by the largest ratio of
    the batch.
    """

    climbs_itself = False

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Ψ of shape (K,), above −1: 0 for independence, below 0 where the adversary lags behind."""
        h = self.log_ratios(u, v, sample_weight)
        # A batch of b rows can show no larger ratio than b: beyond, one pair would outweigh all others.
        rows = math.log(u.shape[1])
        cap = (log_mean_exp(h.product, h.product_share) + rows).unsqueeze(1)
        joint = log_mean_exp(torch.minimum(h.joint, cap), h.joint_share)
        square = log_mean_exp(2 * torch.minimum(h.product, cap), h.product_share)
        return torch.expm1(2 * joint - square)
