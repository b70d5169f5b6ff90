"""Dependence penalties Ψ(U, V): the parts that make one training loop into many methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from torch import Tensor, nn


class Penalty(Protocol):
    """What the training loop asks of a penalty, for K models at once.

    A penalty is built with the keywords ``seeds`` (one a member), ``n_sensitive`` (columns of V) and
    ``settings`` (:class:`fairdash.training.settings.TrainingSettings`).
    """

    def __call__(self, u: Tensor, v: Tensor) -> Tensor:
        """Ψ of shape (K,), differentiable in u (K, batch, 1); v is (K, batch, n_sensitive)."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]:
        """The adversary's parameters, which climb Ψ while the predictor descends; none if closed form."""
        ...

    def to(self, device: str) -> Penalty:
        """The same penalty with its parameters on `device`."""
        ...
