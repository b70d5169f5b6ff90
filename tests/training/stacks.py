"""Rows of a made-up table as a stack of networks takes them, and the weights of what was trained."""

import torch
from torch import Tensor

from fairdash.training.stack import StackData, TrainedStack


def stack_data(
    n: int = 128,
    *,
    n_splits: int = 2,
    columns: int = 1,
    held_out: int = 0,
    weighted: bool = False,
    positive: bool = False,
) -> StackData:
    """s shows in the first of three features, and y depends on all; two splits hold out other rows."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n_splits, n, 3, generator=generator)
    s = x[..., :columns] + 0.5 * torch.randn(n_splits, n, columns, generator=generator)
    y = x.sum(-1, keepdim=True) + 0.3 * torch.randn(n_splits, n, 1, generator=generator)
    y = y.mul(0.3).exp() if positive else y
    rows, kept = torch.arange(n), n - held_out
    return StackData(
        x=x,
        y=y / (y.mean() if positive else y.std()),
        s=s / s.std(),
        train=(rows[:kept], rows[held_out:])[:n_splits],
        validation=(rows[kept:], rows[:held_out])[:n_splits] if held_out else (),
        weight=torch.rand(n_splits, n, 1, generator=generator) + 0.1 if weighted else None,
    )


def weights(trained: TrainedStack) -> Tensor:
    """All weights of each network, one network a row."""
    return torch.cat([each.detach().flatten(1) for each in trained.predictor.parameters()], dim=1)
