"""The pair of networks f and g whose standardised outputs correlate most (paper, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence

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
    first_layer_gain, first_bias_spread
        As in :class:`fairdash.nets.StackedMLP`: above the defaults, f and g start less smooth.
    """

    def __init__(
        self,
        *,
        hidden: Sequence[int],
        seeds: Sequence[int],
        n_sensitive: int = 1,
        first_layer_gain: float = 1.0,
        first_bias_spread: float = 0.0,
    ) -> None:
        super().__init__()
        start = {"first_layer_gain": first_layer_gain, "first_bias_spread": first_bias_spread}
        self.f = StackedMLP([1, *hidden, 1], seeds=seeds, **start)
        # g must not start as a copy of f: that would favour links close to the identity.
        self.g = StackedMLP([n_sensitive, *hidden, 1], seeds=[seed + 1_000_003 for seed in seeds], **start)

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        """J(θ_f, θ_g) of shape (K,), between −1 and 1, for u (K, batch, 1) and v (K, batch, d).

        J = (1/b) Σ f̂(u_i) ĝ(v_i), with f̂ and ĝ standardised over the batch (Algorithm 2). Gradients
        flow through the batch's means and variances, and into u.
        """
        return (standardise(self.f(standardise(u))) * standardise(self.g(standardise(v)))).mean(dim=(1, 2))


def standardise(x: Tensor, *, epsilon: float = 1e-8) -> Tensor:
    """(x − m) / √(σ² + ε) over dimension 1, the batch; σ² divides by the batch size (Algorithm 2)."""
    centred = x - x.mean(dim=1, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(dim=1, keepdim=True) + epsilon)
