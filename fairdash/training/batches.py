"""Mini-batches for a stack: each split draws its own order of rows, and all its models share it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from fairdash.training.settings import batches_an_epoch

#: Steps that an epoch has at least, if smaller batches would have as many: where batches are large it then
#: goes through the rows more than once.
_STEPS = 8


@dataclass(frozen=True)
class Batch:
    """Some rows of every split, or, once they are handed out, of every model.

    Parameters
    ----------
    x
        (S, b, p), or (T, b, p) handed out: a table a split where every split has as many models, else
        a table a model.
    y
        (S or K, b, 1).
    s
        (S or K, b, q): what the penalty sees of the sensitive features.
    weight
        (S or K, b, 1), or None.
    masks
        For each hidden layer the (K, b, units) factors of dropout, or None.
    """

    x: Tensor
    y: Tensor
    s: Tensor
    weight: Tensor | None = None
    masks: list[Tensor] | None = None

    def take(self, rows_of: Callable[[Tensor], Tensor]) -> Batch:
        """The rows that `rows_of` takes from each part."""
        weight = None if self.weight is None else rows_of(self.weight)
        return Batch(rows_of(self.x), rows_of(self.y), rows_of(self.s), weight)


class Tables:
    """Rows of S splits, handed to the K models of a stack.

    Parameters
    ----------
    which_split
        Index of each model's split, K in all.
    n_splits
        S.
    device
        Where the rows are.
    """

    def __init__(self, which_split: Sequence[int], n_splits: int, *, device: str | torch.device) -> None:
        self.which_split = torch.tensor(which_split, device=device)
        # Models in the order of their splits, equally many: networks can share their split's table.
        each = len(which_split) // n_splits
        self.shared = list(which_split) == [j for j in range(n_splits) for _ in range(each)]

    def inputs(self, rows: Tensor) -> Tensor:
        """Inputs of the predictors from (S, b, p) rows: those rows, or a copy for each model."""
        return rows if self.shared else rows.index_select(0, self.which_split)

    def each(self, rows: Tensor) -> Tensor:
        """(K, b, …) from (S, b, …): every model's own rows."""
        return rows.index_select(0, self.which_split)

    def hand_out(self, batch: Batch) -> Batch:
        """Each model's own rows of a batch that has each split's."""
        return replace(batch.take(self.each), x=self.inputs(batch.x))


class Batches:
    """Draws the mini-batches of each epoch.

    Parameters
    ----------
    rows
        All rows of every split, (S, N, …).
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
    rows_a_step
        As the method has it.
    """

    def __init__(
        self,
        rows: Batch,
        *,
        train: Sequence[Tensor],
        batch_size: int,
        seeds: Sequence[int],
        tables: Tables,
        dropout: Tensor | None,
        hidden: Sequence[int],
        rows_a_step: int = 0,
    ) -> None:
        self.rows = rows
        self.train = train
        fewest = min(len(rows) for rows in train)
        self.batch_size = min(max(batch_size, rows_a_step), fewest)
        self.per_epoch = batches_an_epoch(fewest, batch_size)
        if rows_a_step > batch_size:
            self.per_epoch = min(self.per_epoch, max(batches_an_epoch(fewest, rows_a_step), _STEPS))
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        # Of their own, so that dropout somewhere in the stack leaves the others' batches as they are.
        self.dropout_generators = [torch.Generator().manual_seed(seed + 1) for seed in seeds]
        self.tables = tables
        self.dropout = dropout
        self.hidden = hidden

    @property
    def all_generators(self) -> list[torch.Generator]:
        """Of the order of the rows and of dropout: where they stand is all that changes here."""
        return [*self.generators, *self.dropout_generators]

    def epoch(self) -> Iterator[Batch]:
        """All mini-batches of the next epoch."""
        used = self.per_epoch * self.batch_size
        order = torch.stack(
            [
                rows[_orders(len(rows), used, generator).to(rows.device)]
                for rows, generator in zip(self.train, self.generators, strict=True)
            ]
        )
        # Row numbers in the splits' rows laid end to end.
        order = order + self.rows.x.shape[1] * torch.arange(len(order), device=order.device).unsqueeze(1)
        for rows in order.split(self.batch_size, dim=1):
            batch = self.rows.take(partial(_take, rows))
            yield replace(self.tables.hand_out(batch), masks=self._masks())

    def _masks(self) -> list[Tensor] | None:
        """Dropout's factors; the models of a split leave out by the same random numbers."""
        if self.dropout is None:
            return None
        keep = (1 - self.dropout)[:, None, None]
        masks = []
        for units in self.hidden:
            draws = [torch.rand(self.batch_size, units, generator=each) for each in self.dropout_generators]
            drawn = self.tables.each(torch.stack(draws).to(keep.device))
            masks.append((drawn < keep).to(keep.dtype) / keep)
        return masks


def _orders(n: int, used: int, generator: torch.Generator) -> Tensor:
    """The first `used` of n row numbers in a random order, and another, as often as it takes."""
    return torch.cat([torch.randperm(n, generator=generator) for _ in range(math.ceil(used / n))])[:used]


def _take(rows: Tensor, part: Tensor) -> Tensor:
    # index_select copies whole rows; indexing with two tensors took ten times as long.
    return part.flatten(0, 1).index_select(0, rows.flatten()).view(*rows.shape, -1)
