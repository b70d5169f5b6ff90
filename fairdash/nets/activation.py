"""Hyperbolic tangent, by the quicker of two routes to the same number."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class _TanhBySigmoid(torch.autograd.Function):
    """tanh(x) = 2 σ(2x) − 1, within 2e-7 of torch.tanh in float32.

    On CPUs torch's sigmoid is vectorised and its tanh much less so: five to seven times the time an
    element, and tanh was over a third of a training step (benchmarks/stack_vs_loop.py).
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.sigmoid(x * 2).mul_(2).sub_(1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(grad_outputs[0], y)


def tanh(x: Tensor) -> Tensor:
    """Elementwise hyperbolic tangent, differentiable once."""
    if x.device.type == "cpu" and x.dtype == torch.float32:
        return _TanhBySigmoid.apply(x)
    return torch.tanh(x)
