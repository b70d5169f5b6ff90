"""Rows of a simulated table in the form that networks trained together take, and their trained weights."""

import torch
from torch import Tensor

from fairdash.training.stack import StackData, TrainedStack


def stack_data(n=128, *, n_splits=2, columns=1, held_out=0, weighted=False, positive=False) -> StackData:
    """s is visible in the first of three features, and y depends on all; two splits have different test rows."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n_splits, n, 3, generator=generator)
    s = x[..., :columns] + 0.5 * torch.randn(n_splits, n, columns, generator=generator)
    y = x.sum(-1, keepdim=True) + 0.3 * torch.randn(n_splits, n, 1, generator=generator)
    y = y.mul(0.3).exp() if positive else y
    rows, kept = torch.arange(n), n - held_out
    y, s = y / (y.mean() if positive else y.std()), s / s.std()
    train, validation = (rows[:kept], rows[held_out:]), (rows[kept:], rows[:held_out]) if held_out else ()
    weight = torch.rand(n_splits, n, 1, generator=generator) + 0.1 if weighted else None
    parts = {"train": train[:n_splits], "validation": validation[:n_splits]}
    return StackData(x=x, y=y, s=s, weight=weight, **parts)


def weights(trained: TrainedStack) -> Tensor:
    """All weights of each network, one network per row."""
    return torch.cat([each.detach().flatten(1) for each in trained.predictor.parameters()], dim=1)
