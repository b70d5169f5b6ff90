"""Minimax training of K predictors and their adversaries: mini-batches, steps and early stopping.

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
from fairdash.training.settings import Objective, batches_per_epoch

#: Minimum number of steps per epoch for methods with large mini-batches. It does not apply if the batch size
#: of the settings gives fewer steps. To reach this number, an epoch may use the rows several times.
_MIN_STEPS_PER_EPOCH = 8


@dataclass(frozen=True)
class Batch:
    """Mini-batch with the rows of each split or, after :meth:`Tables.distribute`, of each model.

    Parameters
    ----------
    x
        Inputs (S, b, p), or (T, b, p) after distribution, where T is the number of splits if all splits have
        the same number of models, and otherwise the number of models.
    y
        Target (S or K, b, 1).
    s
        Sensitive features, encoded for the penalty, (S or K, b, q).
    weight
        Row weights (S or K, b, 1), or None for equal weights.
    masks
        Factors of dropout (K, b, units) for each hidden layer, or None without dropout.
    """

    x: Tensor
    y: Tensor
    s: Tensor
    weight: Tensor | None = None
    masks: list[Tensor] | None = None

    def take(self, rows_of: Callable[[Tensor], Tensor]) -> Batch:
        """Return a batch with the rows that `rows_of` selects from x, y, s and weight."""
        weight = None if self.weight is None else rows_of(self.weight)
        return Batch(rows_of(self.x), rows_of(self.y), rows_of(self.s), weight)


class Tables:
    """Assignment of the rows of S splits to K models that are trained together.

    Parameters
    ----------
    which_split
        Index of the split of each of the K models.
    n_splits
        Number S of splits.
    device
        Device on which the rows are stored.
    """

    def __init__(self, which_split: Sequence[int], n_splits: int, *, device: str | torch.device) -> None:
        self.which_split = torch.tensor(which_split, device=device)
        # If the models are sorted by split and every split has the same number of models, the models of a
        # split use the same copy of its rows.
        n_models = len(which_split) // n_splits
        self.shared = list(which_split) == [j for j in range(n_splits) for _ in range(n_models)]

    def inputs(self, rows: Tensor) -> Tensor:
        """Return the inputs (T, b, p) of the predictors from the rows of the splits (S, b, p)."""
        return rows if self.shared else rows.index_select(0, self.which_split)

    def each(self, rows: Tensor) -> Tensor:
        """Return the rows of each model, (K, b, …), from the rows of each split, (S, b, …)."""
        return rows.index_select(0, self.which_split)

    def distribute(self, batch: Batch) -> Batch:
        """Return a batch with the rows of each model, from a batch with the rows of each split."""
        return replace(batch.take(self.each), x=self.inputs(batch.x))


class Batches:
    """Mini-batches of an epoch: the host draws row numbers, and the device that stores the rows selects them.

    All values that change from step to step are stored on the device, so that :meth:`take` can be recorded:
    row numbers of the epoch, number of the step and random numbers for dropout.

    Parameters
    ----------
    rows
        All rows of every split, (S, N, …).
    train
        Numbers of the training rows of each split, stored on the host.
    seeds
        One seed per split.
    tables
        Assignment of splits to models.
    dropout
        Share of units that dropout sets to 0, (K,), or None without dropout.
    hidden
        Numbers of units in the hidden layers.
    rows_a_step
        Minimum number of rows in a mini-batch that the method requires.
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
        min_rows = min(len(rows) for rows in train)
        self.batch_size = min(max(batch_size, rows_a_step), min_rows)
        self.per_epoch = batches_per_epoch(min_rows, batch_size)
        if rows_a_step > batch_size:
            self.per_epoch = min(
                self.per_epoch, max(batches_per_epoch(min_rows, rows_a_step), _MIN_STEPS_PER_EPOCH)
            )
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        # Dropout has separate generators, so that it does not change the mini-batches.
        self.dropout_generators = [torch.Generator().manual_seed(seed + 1) for seed in seeds]
        self.tables = tables
        self.dropout = dropout
        device, count = rows.x.device, len(train)
        self._order = torch.zeros(self.per_epoch, count * self.batch_size, dtype=torch.long, device=device)
        self._next = torch.zeros(1, dtype=torch.long, device=device)
        units = () if dropout is None else hidden
        self._draws = [torch.zeros(count, self.batch_size, width, device=device) for width in units]

    @property
    def all_generators(self) -> list[torch.Generator]:
        """Return the random generators of row order and dropout, whose states change during training."""
        return [*self.generators, *self.dropout_generators]

    def epoch(self) -> Iterator[None]:
        """Draw the row order of an epoch, and yield once per mini-batch, which :meth:`take` then returns."""
        n_used = self.per_epoch * self.batch_size
        # Row numbers refer to the rows of all splits, concatenated.
        order = torch.stack(
            [
                rows[_orders(len(rows), n_used, generator)] + self.rows.x.shape[1] * j
                for j, (rows, generator) in enumerate(zip(self.train, self.generators, strict=True))
            ]
        )
        self._order.copy_(order.view(len(order), self.per_epoch, -1).transpose(0, 1).flatten(1))
        self._next.zero_()
        for _ in range(self.per_epoch):
            for buffer in self._draws:
                # All models of a split use the same random numbers for dropout.
                draws = [torch.rand(buffer.shape[1:], generator=source) for source in self.dropout_generators]
                buffer.copy_(torch.stack(draws))
            yield

    def take(self) -> Batch:
        """Return the current mini-batch, and advance to the next one."""
        order = self._order.index_select(0, self._next)[0]
        self._next.add_(1)
        batch = self.tables.distribute(self.rows.take(partial(_take, order)))
        return replace(batch, masks=self._masks())

    def _masks(self) -> list[Tensor] | None:
        """Return the factors of dropout for each hidden layer, or None without dropout."""
        if self.dropout is None:
            return None
        keep = (1 - self.dropout)[:, None, None]
        return [(self.tables.each(draws) < keep).to(keep.dtype) / keep for draws in self._draws]


def _orders(n: int, size: int, generator: torch.Generator) -> Tensor:
    """Return the first `size` numbers of a random order of n rows; if `size` > n, orders are joined."""
    return torch.cat([torch.randperm(n, generator=generator) for _ in range(math.ceil(size / n))])[:size]


def _take(order: Tensor, part: Tensor) -> Tensor:
    # index_select copies whole rows, which is ten times as fast as indexing with two tensors.
    return part.flatten(0, 1).index_select(0, order).view(len(part), -1, part.shape[2])


class MinimaxTrainer:
    """Trainer of K predictors and their adversaries, each with an optimiser.

    Parameters
    ----------
    predictor, penalty
        K networks, and their K penalties, or None if there is no penalty.
    lam
        Weights λ of the models, (K,).
    objective, loss
        Objective, which defines U, and loss, which measures the error.
    scale
        Losses of the constant models, (K,); every model's loss is divided by that number.
    lr, weight_decay, adversary_lr
        Learning rates and weight decays of the optimisers, (K,).
    adversary_steps
        Number of adversary steps per predictor step, which may change between epochs.
    rows_to_catch_up
        Approximate number of rows that each of these steps except the last one uses.
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
        rows_to_catch_up: int,
    ) -> None:
        self.predictor = predictor
        self.penalty = penalty
        self.lam = lam
        self.objective = objective
        self.loss = loss
        self.scale = scale
        self.adversary_steps = adversary_steps
        self.rows_to_catch_up = rows_to_catch_up
        # If a predictor or its adversary diverges, the training of both stops. Both optimisers therefore use
        # the same mask.
        self.alive = torch.ones(len(lam), dtype=torch.bool, device=lam.device)
        self.descent = StackedAdam(predictor.parameters(), lr=lr, weight_decay=weight_decay, alive=self.alive)
        adversary = [] if penalty is None else list(penalty.parameters())
        self.ascent = (
            StackedAdam(adversary, lr=adversary_lr, maximize=True, alive=self.alive) if adversary else None
        )

    def step(self, batch: Batch, *, fair: bool) -> Tensor:
        """Update predictors and adversaries on one mini-batch, and return losses and penalties Ψ, (2, K).

        The argument `fair` is False during warm-up epochs, in which the penalty is not used.
        """
        eta = self.predictor(batch.x, batch.masks)
        error = self._error(eta, batch)
        if self.penalty is None or not fair:
            self.descent.step(torch.autograd.grad(error.sum(), self.descent.parameters))
            return torch.stack([error.detach(), torch.full_like(error, torch.nan)])
        u = self.objective.audit(self.loss.prediction(eta), batch.y)
        psi, gradient_of_u = self._step_adversaries(u.detach(), batch)
        # This gives the gradient of L(h(X), Y) + λ Ψ(U, V) with respect to φ, because Ψ depends on φ only
        # through u. Passing gradient_of_u to torch as output gradients would import sympy, which takes a
        # second in a new process.
        total = error.sum() + (u * gradient_of_u).sum()
        self.descent.step(torch.autograd.grad(total, self.descent.parameters))
        return torch.stack([error.detach(), psi])

    @torch.no_grad()
    def score(self, batch: Batch) -> Tensor:
        """Return the score L + λ max(Ψ, 0) of each model on held-out rows, (K,); a lower score is better."""
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

    def _step_adversaries(self, u: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Update the adversaries for fixed u; return Ψ (K,) before the adversaries' last step, and λ ∂Ψ/∂u.

        As in the algorithms of the supplement, the predictor and the last step of the adversary use the same
        Ψ. If the adversary makes several steps, the earlier steps use different parts of the batch.
        """
        penalty = self.penalty
        assert penalty is not None
        inputs = (batch.s, batch.weight)
        if self.ascent is not None:
            pieces = max(u.shape[1] // self.rows_to_catch_up, 1)
            for step in range(self.adversary_steps - 1):
                rows = slice(step % pieces, None, pieces)
                weight = None if batch.weight is None else batch.weight[:, rows]
                self.ascent.step(penalty.adversary_gradients(u[:, rows], batch.s[:, rows], weight))
        u.requires_grad_()
        psi = penalty(u, *inputs)
        if self.ascent is None:
            (slope,) = torch.autograd.grad(psi.sum(), u)
        elif penalty.maximises_psi:
            slope, *gradients = torch.autograd.grad(psi.sum(), [u, *self.ascent.parameters])
            self.ascent.step(gradients)
        else:
            (slope,) = torch.autograd.grad(psi.sum(), u)
            self.ascent.step(penalty.adversary_gradients(u.detach(), *inputs))
        # If Ψ is below 0, the adversary is not yet adapted to the predictor. A further decrease of Ψ would
        # only create dependence in the opposite direction, so the gradient of Ψ is not used. A model with λ =
        # 0 is exactly the standard model.
        is_penalised = (self.lam > 0) & (psi.detach() > 0)
        gradient_of_u = torch.where(is_penalised[:, None, None], self.lam[:, None, None] * slope, 0.0)
        return psi.detach(), gradient_of_u


class BestEpoch:
    """Early stopping, which restores the weights of each model's best epoch on the validation rows."""

    def __init__(self, trainer: MinimaxTrainer, validation: Batch, *, patience: int) -> None:
        self.trainer = trainer
        self.validation = validation
        self.patience = patience
        count = len(trainer.lam)
        self.score = torch.full((count,), math.inf, device=trainer.lam.device)
        self.epoch = torch.zeros(count, dtype=torch.long, device=trainer.lam.device)
        self.weights = trainer.descent.weights.clone()

    @property
    def best_tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the score, the number and the weights of the best epoch so far, for each model."""
        return self.score, self.epoch, self.weights

    def update(self, epoch: int) -> None:
        """Score the models on the validation rows, and store the weights of models with a better score.

        After `patience` epochs without a better score, the stored weights of a model no longer change. They
        therefore do not depend on how long other models are trained.
        """
        score = self.trainer.score(self.validation)
        open_ = (self.epoch == 0) | (epoch - self.epoch <= self.patience)
        is_better = open_ & self.trainer.alive & (score < self.score)
        self.score.copy_(torch.where(is_better, score, self.score))
        self.epoch.copy_(torch.where(is_better, epoch, self.epoch))
        self.weights.copy_(torch.where(is_better[:, None], self.trainer.descent.weights, self.weights))

    def all_stopped(self, epoch: int) -> bool:
        """Return whether every model has diverged or had no better score for `patience` epochs."""
        return bool(((epoch - self.epoch >= self.patience) | ~self.trainer.alive).all())

    def restore(self) -> Tensor:
        """Restore the weights of the best epochs, and return the best epoch of each model, (K,)."""
        has_best = self.epoch > 0
        weights = self.trainer.descent.weights
        weights.copy_(torch.where(has_best[:, None], self.weights, weights))
        return self.epoch
