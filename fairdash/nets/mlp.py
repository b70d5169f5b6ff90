"""Stacked multilayer perceptrons: K networks of one shape, evaluated as one.

>>> import torch
>>> net = StackedMLP([5, 8, 1], seeds=[0, 0, 1])
>>> net(torch.zeros(3, 16, 5)).shape
torch.Size([3, 16, 1])
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


class StackedMLP(nn.Module):
    """K multilayer perceptrons with tanh between the layers and a linear output.

    Parameters
    ----------
    widths
        Number of units of each layer, inputs first, outputs last: ``[p, 32, 16, 1]``.
    seeds
        One seed a network, K in all. Networks with equal seeds start from equal weights,
        whatever stack they are in.
    first_layer_gain
        Factor on the first layer's initial weights: above 1, the network starts with steeper
        functions of its inputs.
    first_bias_spread
        The first layer's biases are drawn uniformly from ± this number, 0 leaves them at zero.

    Notes
    -----
    Initial weights are Xavier uniform (Glorot and Bengio 2010), as in the paper; biases zero.
    Layer l maps (K, batch, widths[l]) to (K, batch, widths[l+1]): x ← tanh(x W_l + b_l).
    """

    def __init__(
        self,
        widths: Sequence[int],
        *,
        seeds: Sequence[int],
        first_layer_gain: float = 1.0,
        first_bias_spread: float = 0.0,
    ) -> None:
        super().__init__()
        self.widths = tuple(widths)
        members = [_initial_layers(self.widths, seed, first_layer_gain, first_bias_spread) for seed in seeds]
        self.weights = nn.ParameterList(
            torch.stack([member[layer][0] for member in members]) for layer in range(len(widths) - 1)
        )
        self.biases = nn.ParameterList(
            torch.stack([member[layer][1] for member in members]) for layer in range(len(widths) - 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of shape (K, batch, widths[-1]) for inputs of shape (K, batch, widths[0])."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = _TanhLayer.apply(x, weight, bias)
        return torch.baddbmm(self.biases[-1], x, self.weights[-1])


class _TanhLayer(torch.autograd.Function):
    """tanh(x W + b) for a stack, as 2 σ(2 (x W + b)) − 1: within 3e-7 of it in float32.

    torch's sigmoid is vectorised on CPUs and its tanh much less so: tanh alone was over a third of a
    training step. One function a layer, worked in place, saves another eighth
    (benchmarks/stack_vs_loop.py).
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        y = torch.baddbmm(bias, x, weight, beta=2, alpha=2).sigmoid_().mul_(2).sub_(1)
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        x, weight, y = ctx.saved_tensors
        slope = torch.ops.aten.tanh_backward(grad_outputs[0], y)
        to_x = torch.bmm(slope, weight.transpose(1, 2)) if ctx.needs_input_grad[0] else None
        return to_x, torch.bmm(x.transpose(1, 2), slope), slope.sum(dim=1, keepdim=True)


def _initial_layers(
    widths: Sequence[int], seed: int, first_layer_gain: float, first_bias_spread: float
) -> list[tuple[Tensor, Tensor]]:
    """Weights (in, out) and biases (1, out) of one network, drawn on the CPU so that devices agree."""
    generator = torch.Generator().manual_seed(seed)
    layers = []
    for layer, (n_in, n_out) in enumerate(itertools.pairwise(widths)):
        bound = (6.0 / (n_in + n_out)) ** 0.5
        weight = (torch.rand(n_in, n_out, generator=generator) * 2 - 1) * bound
        bias = torch.zeros(1, n_out)
        if layer == 0:
            weight = weight * first_layer_gain
            if first_bias_spread:
                bias = (torch.rand(1, n_out, generator=generator) * 2 - 1) * first_bias_spread
        layers.append((weight, bias))
    return layers
