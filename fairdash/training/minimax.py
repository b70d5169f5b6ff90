"""Minimax training of K pairs of predictor and adversary at once: batches, steps and best epoch.

minimise over φ:  L(h_φ(X), Y) + λ Ψ(U, V),   where the adversary maximises Ψ

(paper, generic optimisation problem; supplement, Algorithm “Fair HGR NN”).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from fairdash.nets import StackedAdam, StackedMLP
from fairdash.training.losses import Loss
from fairdash.training.penalties.base import BasePenalty
from fairdash.training.settings import ROWS_TO_CATCH_UP, Objective, batches_an_epoch

#: Steps of an epoch, at least, if smaller batches would give as many: with large batches an epoch then goes
#: through the rows more than once.
_STEPS = 8


@dataclass(frozen=True)
class Batch:
    """Rows of every split or, once distributed, of every model.

    Parameters
    ----------
    x
        (S, b, p), or (T, b, p) once distributed: one table per split if every split has equally many models,
        otherwise one per model.
    y
        (S or K, b, 1).
    s
        (S or K, b, q): encoded sensitive features for the penalty.
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
        """Return the rows that `rows_of` selects from each part."""
        weight = None if self.weight is None else rows_of(self.weight)
        return Batch(rows_of(self.x), rows_of(self.y), rows_of(self.s), weight)


class Tables:
    """Rows of S splits, distributed to the K models of a stack.

    Parameters
    ----------
    which_split
        Index of each model's split, K in total.
    n_splits
        S.
    device
        Device of the rows.
    """

    def __init__(self, which_split: Sequence[int], n_splits: int, *, device: str | torch.device) -> None:
        self.which_split = torch.tensor(which_split, device=device)
        # Models in the order of their splits, equally many: networks can share their split's table.
        each = len(which_split) // n_splits
        self.shared = list(which_split) == [j for j in range(n_splits) for _ in range(each)]

    def inputs(self, rows: Tensor) -> Tensor:
        """Return the predictors' inputs from (S, b, p) rows: the rows themselves, or one copy per model."""
        return rows if self.shared else rows.index_select(0, self.which_split)

    def each(self, rows: Tensor) -> Tensor:
        """Return every model's own rows: (K, b, …) from (S, b, …)."""
        return rows.index_select(0, self.which_split)

    def hand_out(self, batch: Batch) -> Batch:
        """Return each model's own rows from a batch with every split's rows."""
        return replace(batch.take(self.each), x=self.inputs(batch.x))


class Batches:
    """Mini-batches of each epoch, drawn on the host and taken on the rows' device.

    All values that change from step to step are in buffers on the device, so that :meth:`take` can be
    captured: the epoch's row numbers, the number of the step, and dropout's draws.

    Parameters
    ----------
    rows
        All rows of every split, (S, N, …).
    train
        Indices of the training rows of each split, on the host.
    seeds
        One seed per split.
    tables
        Split of each model.
    dropout
        (K,) share of omitted units, or None without dropout.
    hidden
        Units of the hidden layers.
    rows_a_step
        As in the method.
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
        # Random numbers of their own, so that dropout elsewhere in the stack does not change the others'
        # batches.
        self.dropout_generators = [torch.Generator().manual_seed(seed + 1) for seed in seeds]
        self.tables = tables
        self.dropout = dropout
        device, count = rows.x.device, len(train)
        self._order = torch.zeros(self.per_epoch, count * self.batch_size, dtype=torch.long, device=device)
        self._next = torch.zeros(1, dtype=torch.long, device=device)
        units = () if dropout is None else hidden
        self._draws = [torch.zeros(count, self.batch_size, each, device=device) for each in units]

    @property
    def all_generators(self) -> list[torch.Generator]:
        """Random generators of row order and dropout; nothing else changes here."""
        return [*self.generators, *self.dropout_generators]

    def epoch(self) -> Iterator[None]:
        """Draw the next epoch, and make each of its mini-batches current in turn."""
        used = self.per_epoch * self.batch_size
        # Row numbers in the splits' rows laid end to end.
        order = torch.stack(
            [
                rows[_orders(len(rows), used, generator)] + self.rows.x.shape[1] * j
                for j, (rows, generator) in enumerate(zip(self.train, self.generators, strict=True))
            ]
        )
        self._order.copy_(order.view(len(order), self.per_epoch, -1).transpose(0, 1).flatten(1))
        self._next.zero_()
        for _ in range(self.per_epoch):
            for buffer in self._draws:
                # The models of a split share the random numbers of dropout.
                draws = [torch.rand(buffer.shape[1:], generator=each) for each in self.dropout_generators]
                buffer.copy_(torch.stack(draws))
            yield

    def take(self) -> Batch:
        """Return the current mini-batch, and advance to the next."""
        order = self._order.index_select(0, self._next)[0]
        self._next.add_(1)
        batch = self.tables.hand_out(self.rows.take(partial(_take, order)))
        return replace(batch, masks=self._masks())

    def _masks(self) -> list[Tensor] | None:
        """Dropout's factors on each hidden layer's units."""
        if self.dropout is None:
            return None
        keep = (1 - self.dropout)[:, None, None]
        return [(self.tables.each(draws) < keep).to(keep.dtype) / keep for draws in self._draws]


def _orders(n: int, used: int, generator: torch.Generator) -> Tensor:
    """Return the first `used` of n row numbers in random order, then further random orders as needed."""
    return torch.cat([torch.randperm(n, generator=generator) for _ in range(math.ceil(used / n))])[:used]


def _take(order: Tensor, part: Tensor) -> Tensor:
    # index_select copies whole rows; indexing with two tensors took ten times as long.
    return part.flatten(0, 1).index_select(0, order).view(len(part), -1, part.shape[2])


class MinimaxTrainer:
    """Trainer of the predictors and their adversaries, with the optimisers of both.

    Parameters
    ----------
    predictor, penalty
        K networks, and K penalties or None.
    lam
        (K,) weights λ.
    objective, loss
        Objective, which defines independence, and loss, which defines accuracy.
    scale
        (K,) loss of the constant model, by which losses are divided.
    lr, weight_decay, adversary_lr
        (K,) settings of the optimisers.
    adversary_steps
        Steps of the adversary for each of the predictor.
    """

    def __init__(
        self,
        *,
        predictor: StackedMLP,
        penalty: BasePenalty | None,
        lam: Tensor,
        objective: Objective,
        loss: Loss,
        scale: Tensor,
        lr: Tensor,
        weight_decay: Tensor,
        adversary_lr: Tensor,
        adversary_steps: int,
    ) -> None:
        self.predictor = predictor
        self.penalty = penalty
        self.lam = lam
        self.objective = objective
        self.loss = loss
        self.scale = scale
        self.adversary_steps = adversary_steps
        # A model that diverges on either side stops on both: one mask serves both optimisers.
        self.alive = torch.ones(len(lam), dtype=torch.bool, device=lam.device)
        self.descent = StackedAdam(predictor.parameters(), lr=lr, weight_decay=weight_decay, alive=self.alive)
        adversary = [] if penalty is None else list(penalty.parameters())
        self.ascent = (
            StackedAdam(adversary, lr=adversary_lr, maximize=True, alive=self.alive) if adversary else None
        )

    def step(self, batch: Batch, *, fair: bool) -> Tensor:
        """Update predictors and adversaries on one batch; return (loss, Ψ), (2, K).

        `fair` is False in the warm-up, in which the penalty has no effect.
        """
        eta = self.predictor(batch.x, batch.masks)
        error = self._error(eta, batch)
        if self.penalty is None or not fair:
            self.descent.step(torch.autograd.grad(error.sum(), self.descent.parameters))
            return torch.stack([error.detach(), torch.full_like(error, torch.nan)])
        u = self.objective.audit(self.loss.prediction(eta), batch.y)
        psi, push = self._play_adversary(u.detach(), batch)
        # ∂/∂φ of L(h(X), Y) + λ Ψ(U, V): the penalty's part enters through u. One sum, since gradients of
        # outputs that come with a slope load torch's symbolic shapes and sympy: a second in a new process.
        total = error.sum() + (u * push).sum()
        self.descent.step(torch.autograd.grad(total, self.descent.parameters))
        return torch.stack([error.detach(), psi])

    @torch.no_grad()
    def score(self, batch: Batch) -> Tensor:
        """Return L + λ max(Ψ, 0) of each model on rows outside training, (K,); smaller is better."""
        eta = self.predictor(batch.x)
        error = self._error(eta, batch)
        if self.penalty is None:
            return error
        u = self.objective.audit(self.loss.prediction(eta), batch.y)
        psi = self.penalty(u, batch.s, batch.weight).clamp(min=0)
        return error + torch.where(self.lam > 0, self.lam * psi, 0.0)

    def _error(self, eta: Tensor, batch: Batch) -> Tensor:
        deviance = self.loss.unit_deviance(eta, batch.y)
        if batch.weight is None:
            mean = deviance.mean(dim=(1, 2))
        else:
            mean = (deviance * batch.weight).sum(dim=(1, 2)) / batch.weight.sum(dim=(1, 2))
        return mean / self.scale

    def _play_adversary(self, u: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the adversaries' steps on fixed u; Ψ (K,) before the last of them, and λ ∂Ψ/∂u.

        As in the supplement's algorithms, both players use the last Ψ. With several steps, the adversary
        first catches up with the predictor, on a part of the batch at each step.
        """
        penalty = self.penalty
        assert penalty is not None
        given = (batch.s, batch.weight)
        if self.ascent is not None:
            pieces = max(u.shape[1] // ROWS_TO_CATCH_UP, 1)
            for step in range(self.adversary_steps - 1):
                rows = slice(step % pieces, None, pieces)
                weight = None if batch.weight is None else batch.weight[:, rows]
                self.ascent.step(penalty.adversary_gradients(u[:, rows], batch.s[:, rows], weight))
        u.requires_grad_()
        psi = penalty(u, *given)
        if self.ascent is None:
            (slope,) = torch.autograd.grad(psi.sum(), u)
        elif penalty.climbs_itself:
            slope, *gradients = torch.autograd.grad(psi.sum(), [u, *self.ascent.parameters])
            self.ascent.step(gradients)
        else:
            (slope,) = torch.autograd.grad(psi.sum(), u)
            self.ascent.step(penalty.adversary_gradients(u.detach(), *given))
        # Below zero the adversary is behind the predictor; a further decrease would only build up the
        # opposite dependence, so no gradient is applied. λ = 0 remains exactly the standard model.
        pushed = (self.lam > 0) & (psi.detach() > 0)
        push = torch.where(pushed[:, None, None], self.lam[:, None, None] * slope, 0.0)
        return psi.detach(), push


class BestEpoch:
    """Weights of each model's best epoch on the validation rows, with patience."""

    def __init__(self, trainer: MinimaxTrainer, validation: Batch, *, patience: int) -> None:
        self.trainer = trainer
        self.validation = validation
        self.patience = patience
        count = len(trainer.lam)
        self.score = torch.full((count,), math.inf, device=trainer.lam.device)
        self.epoch = torch.zeros(count, dtype=torch.long, device=trainer.lam.device)
        self.weights = trainer.descent.weights.clone()

    @property
    def remembered(self) -> tuple[Tensor, Tensor, Tensor]:
        """Score, epoch and weights of each model's best epoch so far: the tensors themselves."""
        return self.score, self.epoch, self.weights

    def look(self, epoch: int) -> None:
        """Evaluate the validation rows, and store the weights of models that have improved.

        A model without patience left is closed, so its result does not depend on the duration of the others.
        """
        score = self.trainer.score(self.validation)
        open_ = (self.epoch == 0) | (epoch - self.epoch <= self.patience)
        better = open_ & self.trainer.alive & (score < self.score)
        self.score.copy_(torch.where(better, score, self.score))
        self.epoch.copy_(torch.where(better, epoch, self.epoch))
        self.weights.copy_(torch.where(better[:, None], self.trainer.descent.weights, self.weights))

    def is_over_after(self, epoch: int) -> bool:
        """Return whether every model has run out of patience."""
        return bool(((epoch - self.epoch >= self.patience) | ~self.trainer.alive).all())

    def restore(self) -> Tensor:
        """Restore the best weights, and return the epoch of each, (K,)."""
        found = self.epoch > 0
        weights = self.trainer.descent.weights
        weights.copy_(torch.where(found[:, None], self.weights, weights))
        return self.epoch
