"""The linear correlation as a penalty: the simplest one, blind to every link that has no slope."""

from __future__ import annotations

import torch
from torch import Tensor

from fairdash.dependence.hgr_network import shares, standardise
from fairdash.training.penalties.base import BasePenalty

#: How much of the sensitive features' correlation matrix gives way to the identity, so that columns that
#: follow from one another don't make it singular.
_RIDGE = 1e-4


class PearsonPenalty(BasePenalty):
    """Ψ = |ρ(U, S)|, or the multiple correlation R = √(cᵀC⁻¹c) of U with several columns of S.

    c holds the correlations of U with each column, C those among the columns, all of the batch. Between 0
    and 1; independent batches of b rows give about √(2 / (π b)), or √(d / b) with d columns.
    """

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Ψ of shape (K,), from 0 to 1."""
        share = shares(sample_weight)
        part = torch.full_like(u, 1 / u.shape[1]) if share is None else share
        columns = standardise(v, share).transpose(1, 2)
        among = torch.bmm(columns * part.transpose(1, 2), columns.transpose(1, 2))
        one = torch.eye(v.shape[2], dtype=v.dtype, device=v.device)
        c = torch.bmm(columns, part * standardise(u, share))
        weights = torch.linalg.solve(torch.lerp(among, one.expand_as(among), _RIDGE), c.detach())
        square = torch.bmm(c.transpose(1, 2), weights)[:, 0, 0]
        # R = cᵀα with α = C⁻¹c / R held: as α is the best there is, its own change does not matter. Unlike
        # the root's, this gradient is finite at 0.
        root = square.detach().clamp_min(0.0).sqrt()
        return torch.where(root > 0, square / torch.where(root > 0, root, 1.0), square)
