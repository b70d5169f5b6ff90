"""The game between predictors and adversaries: one step of it, for K pairs at once.

minimise over φ:  L(h_φ(X), Y) + λ Ψ(U, V),   where the adversary maximises Ψ

(paper, generic optimisation problem; supplement, Algorithm “Fair HGR NN”).
"""

from __future__ import annotations

import torch
from torch import Tensor

from fairdash.nets import StackedAdam, StackedMLP
from fairdash.training.batches import Batch
from fairdash.training.losses import Loss
from fairdash.training.objectives import Objective
from fairdash.training.penalties import Penalty


class MinimaxTrainer:
    """The predictors, their adversaries, and the optimisers of both.

    Parameters
    ----------
    predictor, penalty
        K networks, and K penalties or None.
    lam
        (K,) weights λ.
    objective, loss
        What must be independent, and what accurate means.
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
        penalty: Penalty | None,
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

    def step(self, batch: Batch, *, lr_factor: float, fair: bool) -> Tensor:
        """One step of the predictors on a batch, with the adversaries' steps; (loss, Ψ), (2, K).

        `fair` is False in the warm-up: the penalty has no say.
        """
        eta = self.predictor(batch.x, batch.masks)
        error = self._error(eta, batch)
        if self.penalty is None or not fair:
            self.descent.step(torch.autograd.grad(error.sum(), self.descent.parameters), lr_factor)
            return torch.stack([error.detach(), torch.full_like(error, torch.nan)])
        u = self.objective.audit(self.loss.prediction(eta), batch.y)
        psi, push = self._play_adversary(u.detach(), batch)
        # ∂/∂φ of L(h(X), Y) + λ Ψ(U, V): the penalty's part enters through u.
        gradients = torch.autograd.grad(
            [error.sum(), u], self.descent.parameters, [torch.ones_like(error.sum()), push]
        )
        self.descent.step(gradients, lr_factor)
        return torch.stack([error.detach(), psi])

    @torch.no_grad()
    def score(self, batch: Batch) -> Tensor:
        """L + λ max(Ψ, 0) of each model on rows that were not trained on, (K,); smaller is better."""
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
        """The adversaries' steps on fixed u; Ψ (K,) before the last of them, and λ ∂Ψ/∂u.

        As in the supplement's algorithms the last Ψ serves both players; with several steps the
        adversary first catches up with the predictor.
        """
        penalty = self.penalty
        assert penalty is not None
        given = (batch.s, batch.weight)
        if self.ascent is not None:
            for _ in range(self.adversary_steps - 1):
                climbed = penalty.adversary_objective(u, *given)
                self.ascent.step(torch.autograd.grad(climbed.sum(), self.ascent.parameters))
        u.requires_grad_()
        psi = penalty(u, *given)
        if self.ascent is None:
            (slope,) = torch.autograd.grad(psi.sum(), u)
        elif penalty.climbs_itself:
            slope, *gradients = torch.autograd.grad(psi.sum(), [u, *self.ascent.parameters])
            self.ascent.step(gradients)
        else:
            (slope,) = torch.autograd.grad(psi.sum(), u)
            climbed = penalty.adversary_objective(u.detach(), *given)
            self.ascent.step(torch.autograd.grad(climbed.sum(), self.ascent.parameters))
        # Below zero the adversary lags behind; going further down would only build up the opposite
        # dependence, so nothing is pushed there. λ = 0 stays exactly the standard model.
        pushed = (self.lam > 0) & (psi.detach() > 0)
        push = torch.where(pushed[:, None, None], self.lam[:, None, None] * slope, 0.0)
        return psi.detach(), push
