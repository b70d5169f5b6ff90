"""The one training loop: K predictors and their adversaries as one stacked computation.

>>> import torch
>>> data = StackData(x=torch.randn(2, 64, 3), y=torch.randn(2, 64, 1), s=torch.randn(2, 64, 1))
>>> members = (Member("hgr_nn", 0.0, 0, 1), Member("hgr_nn", 1.0, 0, 1), Member("hgr_nn", 1.0, 1, 2))
>>> settings = TrainingSettings(n_epochs=2, warm_up_epochs=1)
>>> trained = train_stack(
...     data, members, objective="demographic_parity", settings=settings, batch_seeds=[1, 2]
... )
>>> trained.predict(data.x).shape
(3, 64)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairdash.lookup import look_up
from fairdash.nets import StackedAdam, StackedMLP
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES, Objective
from fairdash.training.penalties import Penalty
from fairdash.training.settings import TrainingSettings

ROWS_AT_ONCE = 4096  # when predicting: bounds the memory of K hidden layers


@dataclass(frozen=True)
class Member:
    """One model of a stack.

    Parameters
    ----------
    method
        Id in :data:`fairdash.training.methods.METHODS`; the same for all members of a stack.
    lam
        Weight λ ≥ 0 of the penalty.
    split
        Which split's training rows it sees: index into the first dimension of the data.
    seed
        Seed of its initial weights.
    """

    method: str
    lam: float
    split: int
    seed: int


@dataclass(frozen=True)
class StackData:
    """Encoded training rows of S splits: x (S, n, p), y (S, n, 1), s (S, n, d); y and s standardised."""

    x: Tensor
    y: Tensor
    s: Tensor

    def to(self, device: str) -> StackData:
        return StackData(x=self.x.to(device), y=self.y.to(device), s=self.s.to(device))


@dataclass(frozen=True)
class Epoch:
    """Where the training of a stack stands after an epoch.

    Parameters
    ----------
    number
        This epoch, from 1.
    error
        Mean squared error over the epoch's batches, (K,), on the standardised target.
    dependence
        Mean penalty Ψ over the epoch's batches, (K,); NaN in the warm-up and without a penalty.
    """

    number: int
    error: NDArray[np.float64]
    dependence: NDArray[np.float64]


@dataclass(frozen=True)
class TrainedStack:
    """K trained predictors.

    Parameters
    ----------
    members
        What each of them is.
    predictor
        Their networks.
    diverged
        (K,); True for a model whose loss stopped being finite: it keeps its last finite weights.
    """

    members: tuple[Member, ...]
    predictor: StackedMLP
    diverged: NDArray[np.bool_]

    @torch.no_grad()
    def predict(self, x: Tensor) -> NDArray[np.float64]:
        """Predictions (K, n) on the standardised scale for encoded rows x (S, n, p), a table a split."""
        device = self.predictor.biases[0].device
        which = torch.tensor([member.split for member in self.members])
        parts = [self.predictor(part[which].to(device)).squeeze(-1) for part in x.split(ROWS_AT_ONCE, dim=1)]
        return torch.cat(parts, dim=1).double().cpu().numpy()


def train_stack(
    data: StackData,
    members: Sequence[Member],
    *,
    objective: str,
    settings: TrainingSettings,
    batch_seeds: Sequence[int],
    device: str = "cpu",
    on_step: Callable[[float], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> TrainedStack:
    """Train all `members` together.

    The members of a split see the same mini-batches in the same order, and members with the same seed
    start from the same weights, whatever else is in the stack.

    Parameters
    ----------
    data
        Training rows of every split, encoded and standardised.
    members
        The models; one method for all.
    objective
        Id in :data:`fairdash.training.objectives.OBJECTIVES`.
    batch_seeds
        One seed a split, for the order of its mini-batches.
    on_step
        Called after each step of the predictors with the share of all steps done. What it raises (say
        :class:`fairdash.errors.Cancelled`) ends the training.
    on_epoch
        Called after each epoch.
    """
    (method,) = {member.method for member in members}
    seeds = [member.seed for member in members]
    data = data.to(device)
    predictor = StackedMLP([data.x.shape[2], *settings.hidden, 1], seeds=seeds).to(device)
    which_split = torch.tensor([member.split for member in members], device=device)
    penalty = None
    penalty_class = look_up(METHODS, method, option="method").penalty_class()
    if penalty_class is not None:
        every = torch.arange(data.s.shape[1])
        data = replace(data, s=penalty_class.encode(data.s, [every] * len(data.s)))
        penalty = penalty_class(seeds=seeds, s=data.s, which_split=which_split, settings=settings)
    players = _Players(
        predictor=predictor,
        penalty=None if penalty is None else penalty.to(device),
        lam=torch.tensor([member.lam for member in members], device=device),
        objective=look_up(OBJECTIVES, objective, option="objective"),
        settings=settings,
    )
    batches = _Batches(data, which_split, batch_size=settings.batch_size, seeds=batch_seeds)
    n_steps = settings.n_epochs * batches.per_epoch
    step = 0
    for epoch in range(settings.n_epochs):
        fair = epoch >= settings.warm_up_epochs
        totals = torch.zeros(2, len(members), device=device)
        for x, y, s in batches.epoch():
            lr_factor = 0.5 * (1 + math.cos(math.pi * step / n_steps))
            totals += players.step(x, y, s, lr_factor=lr_factor, fair=fair)
            step += 1
            if on_step is not None:
                on_step(step / n_steps)
        if on_epoch is not None:
            error, dependence = (totals / batches.per_epoch).double().cpu().numpy()
            on_epoch(Epoch(epoch + 1, error, dependence))
    return TrainedStack(tuple(members), predictor, ~players.alive.cpu().numpy())


class _Batches:
    """Mini-batches (K, b, …): each split draws its own order of rows, its members share it."""

    def __init__(
        self, data: StackData, which_split: Tensor, *, batch_size: int, seeds: Sequence[int]
    ) -> None:
        n_rows = data.x.shape[1]
        self.data = data
        self.which_split = which_split
        self.batch_size = min(batch_size, n_rows)
        # A last, smaller batch would have noisier means and variances: its rows wait for the next shuffle.
        self.per_epoch = n_rows // self.batch_size
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def epoch(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        n_splits, n_rows = self.data.x.shape[:2]
        order = torch.stack([torch.randperm(n_rows, generator=generator) for generator in self.generators])
        # Row numbers in the splits' rows laid end to end.
        order = (order + n_rows * torch.arange(n_splits).unsqueeze(1)).to(self.data.x.device)
        for batch in range(self.per_epoch):
            rows = order[:, batch * self.batch_size : (batch + 1) * self.batch_size]
            yield self._of(self.data.x, rows), self._of(self.data.y, rows), self._of(self.data.s, rows)

    def _of(self, part: Tensor, rows: Tensor) -> Tensor:
        # index_select copies whole rows; indexing with two tensors took ten times as long.
        batch = part.flatten(0, 1).index_select(0, rows.flatten()).view(*rows.shape, -1)
        return batch.index_select(0, self.which_split)


class _Players:
    """The predictors and their adversaries, and one step of the game between them."""

    def __init__(
        self,
        *,
        predictor: StackedMLP,
        penalty: Penalty | None,
        lam: Tensor,
        objective: Objective,
        settings: TrainingSettings,
    ) -> None:
        self.predictor = predictor
        self.penalty = penalty
        self.lam = lam
        self.objective = objective
        self.adversary_steps = settings.adversary_steps
        # A model that diverges on either side stops on both: one mask serves both optimisers.
        self.alive = torch.ones(len(lam), dtype=torch.bool, device=lam.device)
        self.descent = StackedAdam(
            predictor.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, alive=self.alive
        )
        adversary = [] if penalty is None else list(penalty.parameters())
        self.ascent = (
            StackedAdam(adversary, lr=settings.adversary_lr, maximize=True, alive=self.alive)
            if adversary
            else None
        )

    def step(self, x: Tensor, y: Tensor, s: Tensor, *, lr_factor: float, fair: bool) -> Tensor:
        """One step of the predictors on a batch, with the adversaries' steps; (error, Ψ), (2, K)."""
        y_pred = self.predictor(x)
        error = ((y_pred - y) ** 2).mean(dim=(1, 2))
        if self.penalty is None or not fair:
            self.descent.step(torch.autograd.grad(error.sum(), self.descent.parameters), lr_factor)
            return torch.stack([error.detach(), torch.full_like(error, torch.nan)])
        u = self.objective.audit(y_pred, y)
        psi, push = self._play_adversary(u.detach(), s)
        # ∂/∂φ of L(h(X), Y) + λ Ψ(U, V): the penalty's part enters through u.
        gradients = torch.autograd.grad(
            [error.sum(), u], self.descent.parameters, [torch.ones_like(error.sum()), push]
        )
        self.descent.step(gradients, lr_factor)
        return torch.stack([error.detach(), psi])

    def _play_adversary(self, u: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """The adversaries' steps on fixed u; Ψ (K,) before the last of them, and λ ∂Ψ/∂u.

        As in the supplement's algorithms the last Ψ serves both players; with several steps the
        adversary first catches up with the predictor.
        """
        penalty = self.penalty
        assert penalty is not None
        if self.ascent is not None:
            for _ in range(self.adversary_steps - 1):
                psi = penalty(u, s)
                self.ascent.step(torch.autograd.grad(psi.sum(), self.ascent.parameters))
        u.requires_grad_()
        psi = penalty(u, s)
        adversary = [] if self.ascent is None else self.ascent.parameters
        slope, *gradients = torch.autograd.grad(psi.sum(), [u, *adversary])
        if self.ascent is not None:
            self.ascent.step(gradients)
        # Below zero the adversary lags behind; going further down would only build up the opposite
        # dependence, so nothing is pushed there. λ = 0 stays exactly the standard model.
        pushed = (self.lam > 0) & (psi.detach() > 0)
        push = torch.where(pushed[:, None, None], self.lam[:, None, None] * slope, 0.0)
        return psi.detach(), push
