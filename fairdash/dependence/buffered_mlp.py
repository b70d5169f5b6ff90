"""Stacked perceptrons with a hand-written gradient in buffers that are used again: the loop that
measuring is made of.

A measure trains thousands of tiny networks for hundreds of steps, and autograd's fresh tensors cost more
than the arithmetic. Rows lie last, (M, units, rows), so that every elementwise operation runs along them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fairdash.nets import StackedMLP


class BufferedMLP:
    """M perceptrons with tanh between the layers and one linear output.

    Parameters
    ----------
    start
        The networks to begin as; their weights are copied.

    Attributes
    ----------
    parameters : list of nn.Parameter
        Weights (M, out, in) and biases (M, out, 1) of the layers in turn; changed from outside by an
        optimiser.
    """

    def __init__(self, start: StackedMLP) -> None:
        self.parameters: list[nn.Parameter] = []
        for weight, bias in zip(start.weights, start.biases, strict=True):
            for part in (weight, bias):
                self.parameters.append(nn.Parameter(part.detach().clone(), requires_grad=False))
        self._kept: list[Tensor] = []
        self._buffers: dict[tuple[str, int], Tensor] = {}

    @property
    def layers(self) -> Sequence[tuple[Tensor, Tensor]]:
        """Weights and biases, layer by layer."""
        return list(zip(self.parameters[::2], self.parameters[1::2], strict=True))

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (M, 1, n) for inputs (M, d, n), in fresh memory."""
        last = len(self.layers) - 1
        for layer, (weight, bias) in enumerate(self.layers):
            x = torch.baddbmm(bias, weight, x)
            if layer < last:
                # tanh(z) = 2σ(2z) − 1; see fairdash.nets.mlp.
                x = torch.sigmoid(x.mul_(2)).mul_(2).sub_(1)
        return x

    def forward(self, x: Tensor) -> Tensor:
        """As a call, but into the buffers, where :meth:`gradients` finds what it needs.

        With tanh(z) = 2σ(2z) − 1 the buffers hold σ(2z); twos and ones go into the small matrices of the
        next layer: 2(W tanh + b) = 4Wσ + 2(b − W1). Each spared pass over the rows counts.
        """
        self._kept = [x]
        last = len(self.layers) - 1
        for layer, (weight, bias) in enumerate(self.layers):
            scale = 2.0 if layer < last else 1.0
            bias = scale * (bias - weight.sum(dim=2, keepdim=True) if layer else bias)
            z = self._buffer("output", layer, (*weight.shape[:2], x.shape[2]), x)
            torch.baddbmm(bias, weight, x, alpha=2 * scale if layer else scale, out=z)
            if layer < last:
                self._kept.append(torch.sigmoid(z, out=z))
            x = z
        return x

    def gradients(self, slope: Tensor) -> list[Tensor]:
        """Gradients of the parameters, from the objective's slope in each output of the last forward."""
        result: list[Tensor] = []
        for layer in range(len(self.layers) - 1, -1, -1):
            h, weight = self._kept[layer], self.layers[layer][0]
            along, total = torch.bmm(slope, h.transpose(1, 2)), slope.sum(dim=2, keepdim=True)
            result = [2 * along - total if layer else along, total, *result]
            if layer:
                # tanh′(z) = 1 − tanh²(z) = 4(σ − σ²).
                back = self._buffer("slope", layer, h.shape, h)
                # One output needs no sum over outputs: a product is quicker than a matrix product.
                product = torch.mul if slope.shape[1] == 1 else torch.bmm
                product(4 * weight.transpose(1, 2), slope, out=back)
                bend = torch.addcmul(h, h, h, value=-1, out=self._buffer("bend", layer, h.shape, h))
                slope = back.mul_(bend)
        return result

    def _buffer(self, name: str, layer: int, shape: Sequence[int], like: Tensor) -> Tensor:
        have = self._buffers.get((name, layer))
        if have is None or have.shape != torch.Size(shape):
            have = self._buffers[name, layer] = torch.empty(*shape, dtype=like.dtype)
        return have
