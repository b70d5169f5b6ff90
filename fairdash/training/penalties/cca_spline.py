"""The sum of squared canonical correlations of smooth functions, in closed form.

The largest of them, :mod:`fairdash.training.penalties.hgr_spline`, is all that one pair of functions shows:
while the predictor lowers it another pair takes its place, and its gradient jumps. The sum lowers all pairs
at once; with ever more functions it would become χ² (Lancaster 1958).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairdash.dependence.hgr_network import shares, standardise
from fairdash.training.penalties.category_penalty import of_ranks
from fairdash.training.penalties.hgr_spline import RIDGE, Bumps, Moments, SplineHGRPenalty, smooth_functions

#: Further out than HGR_spline's: an estimator on new rows sees what the tails of U still tell.
_BUMPS = Bumps(12, 3.5)
#: What a correlation with the j-th function of S counts for is 1 / (1 + this times j²).
_ROUGHNESS = 0.3


class CanonicalPenalty(SplineHGRPenalty):
    """Ψ = tr A⁻¹ C B⁻¹ Cᵀ of the batch, at least 0 and below the number of functions of S.

    A, B and C are those of :class:`fairdash.training.penalties.hgr_spline.SplineHGRPenalty`. The functions of
    S are scaled so that the ridge leaves 1 / (1 + .3 j²) of the j-th, from smooth to rough: what the rough
    ones show is mostly chance.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """As HGR_spline's, each function divided by its place from smooth to rough, and scaled."""
        return of_ranks(s, train, _scaled, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Ψ of shape (K,)."""
        share = shares(sample_weight)
        psi: Tensor = _SquaredCorrelations.apply(standardise(u, share), v, share)
        return psi


def _scaled(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    functions = smooth_functions(mass)
    return functions / (np.sqrt(_ROUGHNESS / RIDGE) * np.arange(1, functions.shape[1] + 1))


class _SquaredCorrelations(torch.autograd.Function):
    """One node of autograd: dΨ = 2 tr B⁻¹CᵀA⁻¹ dC − tr A⁻¹CB⁻¹CᵀA⁻¹ dA. B stays as it is, because S does."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, v: Tensor, share: Tensor | None) -> Tensor:
        own = Moments.of(_BUMPS, z, v, share)
        # The factors don't raise: a model whose U is not finite must not stop the others.
        ac = torch.cholesky_solve(own.c, torch.linalg.cholesky_ex(own.a)[0])  # A⁻¹C, (K, bumps, q)
        acb = torch.cholesky_solve(ac.transpose(1, 2), torch.linalg.cholesky_ex(own.b)[0]).transpose(1, 2)
        ctx.save_for_backward(*own, ac, acb)
        return (acb * own.c).sum(dim=(1, 2))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        *moments, ac, acb = ctx.saved_tensors
        own = Moments(*moments)
        of_a = torch.bmm(acb, ac.transpose(1, 2))  # A⁻¹CB⁻¹CᵀA⁻¹
        # ∂Ψ/∂φ_i = 2 w_i (A⁻¹CB⁻¹ g_i − of_a φ̃_i − ridge tr(of_a) φ̃_i / P), the last from the mean diagonal.
        shrink = (RIDGE / _BUMPS.count) * of_a.diagonal(dim1=1, dim2=2).sum(dim=1)
        of_a.diagonal(dim1=1, dim2=2).add_(shrink[:, None])
        of_bumps = torch.bmm(acb, (own.v - own.mean).transpose(1, 2)) - torch.bmm(of_a, own.centred)
        return 2 * grad_outputs[0][:, None, None] * own.slope(_BUMPS, of_bumps), None, None
