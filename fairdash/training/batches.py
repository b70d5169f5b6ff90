"""Mini-batches for a stack: each split draws its own order of rows, and all its members share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """One mini-batch of b rows a split.

    Parameters
    ----------
    x
        (T, b, p): a table a split where every split has as many members, else a table a member.
    y
        (K, b, 1).
    s
        (K, b, q): what the penalty sees of the sensitive features.
    weight
        (K, b, 1), or None.
    masks
        For each hidden layer the (K, b, units) factors of dropout, or None.
    """

    x: Tensor
    y: Tensor
    s: Tensor
    weight: Tensor | None = None
    masks: list[Tensor] | None = None


class Tables:
    """Rows of S splits, handed to the K members of a stack.

    Parameters
    ----------
    which_split
        (K,) index of each member's split.
    n_splits
        S.
    """

    def __init__(self, which_split: Tensor, n_splits: int) -> None:
        self.which_split = which_split
        # Members in the order of their splits, equally many: networks can share their split's table.
        each = len(which_split) // n_splits
        in_order = torch.arange(n_splits, device=which_split.device).repeat_interleave(each)
        self.shared = torch.equal(which_split, in_order)

    def inputs(self, rows: Tensor) -> Tensor:
        """Inputs of the predictors from (S, b, p) rows: those rows, or a copy for each member."""
        return rows if self.shared else rows.index_select(0, self.which_split)

    def each(self, rows: Tensor) -> Tensor:
        """(K, b, …) from (S, b, …): every member's own rows."""
        return rows.index_select(0, self.which_split)


class Batches:
    """Draws the mini-batches of each epoch.

    Parameters
    ----------
    x, y, s, weight
        (S, N, …) rows of every split; weight may be None.
    train
        Indices of the training rows of each split.
    seeds
        One a split.
    tables
        Who gets which split.
    dropout
        (K,) share of units left out, or None for no dropout at all.
    hidden
        Units of the hidden layers.
    """

    def __init__(
        self,
        parts: tuple[Tensor, Tensor, Tensor, Tensor | None],
        *,
        train: Sequence[Tensor],
        batch_size: int,
        seeds: Sequence[int],
        tables: Tables,
        dropout: Tensor | None,
        hidden: Sequence[int],
    ) -> None:
        self.parts = parts
        self.train = train
        fewest = min(len(rows) for rows in train)
        self.batch_size = min(batch_size, fewest)
        # A last, smaller batch would have noisier means and variances: its rows wait for the next shuffle.
        self.per_epoch = fewest // self.batch_size
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.tables = tables
        self.dropout = dropout
        self.hidden = hidden

    def epoch(self) -> Iterator[Batch]:
        """All mini-batches of the next epoch."""
        x = self.parts[0]
        used = self.per_epoch * self.batch_size
        order = torch.stack(
            [
                rows[torch.randperm(len(rows), generator=generator)[:used].to(rows.device)]
                for rows, generator in zip(self.train, self.generators, strict=True)
            ]
        )
        # Row numbers in the splits' rows laid end to end.
        order = order + x.shape[1] * torch.arange(len(order), device=order.device).unsqueeze(1)
        for rows in order.split(self.batch_size, dim=1):
            x, y, s, weight = (None if part is None else _take(part, rows) for part in self.parts)
            assert x is not None and y is not None and s is not None
            yield Batch(
                x=self.tables.inputs(x),
                y=self.tables.each(y),
                s=self.tables.each(s),
                weight=None if weight is None else self.tables.each(weight),
                masks=self._masks(),
            )

    def _masks(self) -> list[Tensor] | None:
        """Dropout's factors; the members of a split leave out by the same random numbers."""
        if self.dropout is None:
            return None
        keep = (1 - self.dropout)[:, None, None]
        masks = []
        for units in self.hidden:
            draws = [torch.rand(self.batch_size, units, generator=each) for each in self.generators]
            drawn = self.tables.each(torch.stack(draws).to(keep.device))
            masks.append((drawn < keep).to(keep.dtype) / keep)
        return masks


def _take(part: Tensor, rows: Tensor) -> Tensor:
    # index_select copies whole rows; indexing with two tensors took ten times as long.
    return part.flatten(0, 1).index_select(0, rows.flatten()).view(*rows.shape, -1)
