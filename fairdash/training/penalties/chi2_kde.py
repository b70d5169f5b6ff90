"""χ² divergence of the kernel-smoothed batch as a penalty (Mary et al. 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from fairdash.dependence.hgr_network import shares, standardise
from fairdash.training.penalties.base import BasePenalty
from fairdash.training.penalties.category_penalty import normal_scores

#: Standard deviations beyond which a value counts as that many: what a map of U or of S loses can only
#: lower χ², and a single outlier must not make the grid of all models long.
_LARGEST = 4.0
#: How far the grid reaches beyond them, in bandwidths: 99.7 % of an outermost kernel.
_BEYOND = 3.0
#: Exponent beyond which a kernel is as good as 0: smaller numbers would leave float32's normal range, and
#: exp takes five times as long there.
_FURTHEST = 30.0
#: Marginal mass of a grid line under which it carries no information beyond rounding.
_NO_MASS = 1e-12


class KDEPenalty(BasePenalty):
    """Ψ = χ²_KDE(U, S) = Σ p(i, j)² / (p(i) p(j)) − 1 on a grid, for one sensitive column.

    At least 0, without an upper end; independent batches of 256 rows give about .05. As
    :func:`fairdash.dependence.kde.chi2_kde` with its covering grid, one bandwidth between its lines, except
    that the grid is the same for every batch: the published one ends at 2.5 standard deviations and does not
    see what lies outside. The bandwidth shrinks with the effective number of rows, which equal weights of 2
    leave as it is.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Normal quantiles of the mid-ranks.

        The kernels have one bandwidth for all rows. On a standardised S with a heavy tail it would be wider
        than the bulk of the rows, and would not see them differ.
        """
        return normal_scores(s, train, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Ψ of shape (K,), at least 0."""
        share = shares(sample_weight)
        # Silverman's rule in two dimensions, for Kish's effective number of rows.
        if share is None:
            bandwidth = torch.full_like(u[:, :1], u.shape[1] ** (-1 / 6))
        else:
            bandwidth = (share * share).sum(dim=1, keepdim=True) ** (1 / 6)
        f, g = (_kernels(standardise(x, share).transpose(1, 2), bandwidth) for x in (u, v))
        joint = torch.bmm(f, g.transpose(1, 2) if share is None else share * g.transpose(1, 2))
        joint = joint / joint.sum(dim=(1, 2), keepdim=True)
        rows, columns = joint.sum(dim=2, keepdim=True), joint.sum(dim=1, keepdim=True)
        # Said of what is empty: a model whose U is not a number stays not a number.
        empty = (rows <= _NO_MASS) | (columns <= _NO_MASS)
        product = torch.where(empty, 1.0, rows * columns)
        # Σ p²/(p p) − 1 as a sum of squares, because the difference of two ones loses the digits.
        distance = torch.where(empty, 0.0, joint - product)
        return (distance * distance / product).sum(dim=(1, 2))


def _kernels(x: Tensor, bandwidth: Tensor) -> Tensor:
    """Kernel of every row at every line of the grid, (K, G, batch), for x (K, 1, batch)."""
    # Weighted rows count for fewer and have wider kernels: the lines of equal weights suffice for them.
    lines = math.ceil(2 * _LARGEST * x.shape[2] ** (1 / 6) + 2 * _BEYOND) + 1
    # All lengths in units of √2 bandwidths.
    unit = 2**0.5 * bandwidth
    index = torch.arange(lines, dtype=x.dtype, device=x.device)[:, None] * 0.5**0.5
    line = index - (_LARGEST / unit + _BEYOND * 0.5**0.5)
    kernels: Tensor = _Kernels.apply(x.clamp(-_LARGEST, _LARGEST) / unit, line)
    return kernels


class _Kernels(torch.autograd.Function):
    """exp(−(line − x)²) as one node of autograd, in place: fresh memory costs more than the arithmetic."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, line: Tensor) -> Tensor:
        distance = line - x
        kernels = (distance * distance).clamp_(max=_FURTHEST).neg_().exp_()
        ctx.save_for_backward(distance, kernels)
        return kernels

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        distance, kernels = ctx.saved_tensors
        slope = (grad_outputs[0] * kernels).mul_(distance).sum(dim=1, keepdim=True)
        return slope.mul_(2), None
