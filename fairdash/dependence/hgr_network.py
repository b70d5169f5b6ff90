"""The pair of networks f and g whose standardised outputs correlate most (paper, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from fairdash.nets import StackedMLP


class HGRNetwork(nn.Module):
    """K pairs of networks (f, g); their objective J is a lower bound of HGR(U, V).

    Parameters
    ----------
    hidden
        Units of the hidden layers of f and of g.
    seeds
        One seed a member of the stack.
    n_sensitive
        Number of columns of V.
    """

    def __init__(self, *, hidden: Sequence[int], seeds: Sequence[int], n_sensitive: int = 1) -> None:
        super().__init__()
        self.f = StackedMLP([1, *hidden, 1], seeds=seeds)
        # g must not start as a copy of f: that would favour links close to the identity.
        self.g = StackedMLP([n_sensitive, *hidden, 1], seeds=[seed + 1_000_003 for seed in seeds])

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """J(θ_f, θ_g) of shape (K,), between −1 and 1, for u (K, batch, 1) and v (K, batch, d).

        J = (1/b) Σ f̂(u_i) ĝ(v_i), with f̂ and ĝ standardised over the batch (Algorithm 2); the mean is a
        weighted one under sample_weight (K, batch, 1). Gradients flow through the batch's means and
        variances, and into u.
        """
        share = shares(sample_weight)
        f = standardise(self.f(standardise(u, share)), share)
        g = standardise(self.g(standardise(v, share)), share)
        return (f * g).mean(dim=(1, 2)) if share is None else (share * f * g).sum(dim=(1, 2))


def shares(sample_weight: Tensor | None) -> Tensor | None:
    """Weights (K, batch, 1) scaled to sum to 1 over the batch; None stands for equal ones."""
    return None if sample_weight is None else sample_weight / sample_weight.sum(dim=1, keepdim=True)


def standardise(x: Tensor, share: Tensor | None = None) -> Tensor:
    """(x − m) / √(σ² + ε) over dimension 1, the batch; σ² divides by the batch size (Algorithm 2).

    Under shares (K, batch, 1), which sum to 1, m and σ² are weighted means.
    """
    standardised: Tensor = _Standardise.apply(x, share)
    return standardised


class _Standardise(torch.autograd.Function):
    """One node of autograd: the gradient through mean and variance in four operations instead of twenty."""

    EPSILON = 1e-8

    @staticmethod
    def forward(ctx: Any, x: Tensor, share: Tensor | None) -> Tensor:
        centred = x - _mean(x, share)
        scale = torch.rsqrt(_mean(centred * centred, share) + _Standardise.EPSILON)
        y = centred.mul_(scale)
        ctx.save_for_backward(y, scale, share)
        return y

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        y, scale, share = ctx.saved_tensors
        (slope,) = grad_outputs
        # ∂/∂x_i = (s_i − w_i Σs − w_i ŷ_i Σ s ŷ) / √(σ² + ε), with equal shares w = 1/b if there are none.
        if share is None:
            along = (slope * y).mean(dim=1, keepdim=True)
            return (slope - slope.mean(dim=1, keepdim=True) - y * along) * scale, None
        along = (slope * y).sum(dim=1, keepdim=True)
        return (slope - share * (slope.sum(dim=1, keepdim=True) + y * along)) * scale, None


def _mean(x: Tensor, share: Tensor | None) -> Tensor:
    return x.mean(dim=1, keepdim=True) if share is None else (share * x).sum(dim=1, keepdim=True)
