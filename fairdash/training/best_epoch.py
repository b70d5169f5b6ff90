"""Stopping early: the epoch at which each model of a stack did best on rows it was not trained on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from fairdash.training.batches import Batch
    from fairdash.training.minimax import MinimaxTrainer


class BestEpoch:
    """The weights of each model's best epoch on the validation rows, found with some patience."""

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
        """Look at the validation rows, and keep the weights of the models that have become better.

        A model whose patience has run out is closed, so that its result does not depend on how long the
        others go on.
        """
        score = self.trainer.score(self.validation)
        open_ = (self.epoch == 0) | (epoch - self.epoch <= self.patience)
        better = open_ & self.trainer.alive & (score < self.score)
        self.score.copy_(torch.where(better, score, self.score))
        self.epoch.copy_(torch.where(better, epoch, self.epoch))
        self.weights.copy_(torch.where(better[:, None], self.trainer.descent.weights, self.weights))

    def is_over_after(self, epoch: int) -> bool:
        """Whether no model is left to wait for."""
        return bool(((epoch - self.epoch >= self.patience) | ~self.trainer.alive).all())

    def restore(self) -> Tensor:
        """Put the best weights back; the epoch of each, (K,)."""
        found = self.epoch > 0
        weights = self.trainer.descent.weights
        weights.copy_(torch.where(found[:, None], self.weights, weights))
        return self.epoch
