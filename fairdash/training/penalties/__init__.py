"""Dependence penalties Ψ(U, V): the parts that make one training loop into many methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, Self

from torch import Tensor, dtype, nn

from fairdash.training.settings import TrainingSettings


class Penalty(Protocol):
    """What the training loop asks of a penalty, for K models at once.

    A penalty is built with the keywords ``seeds`` (one a model), ``s`` (the encoded training rows of
    every split, (S, n, q)), ``which_split`` (each model's split, (K,)) and ``settings``
    (:class:`fairdash.training.settings.TrainingSettings`). :mod:`fairdash.training.penalties.base` has
    what most of them share.
    """

    def __init__(
        self, *, seeds: Sequence[int], s: Tensor, which_split: Tensor, settings: TrainingSettings
    ) -> None: ...

    #: Whether what the adversary climbs is Ψ itself: one gradient then serves both players.
    climbs_itself: bool

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """What the penalty needs to know of each row's sensitive features.

        Parameters
        ----------
        s
            Sensitive features of all rows, as each split has them, (S, N, d).
        train
            Row numbers of each split's training rows, S in all: nothing is learned from other rows.
        weight
            (S, N, 1) weights of the rows, or None: a weight of 2 counts a row twice.

        Returns
        -------
        Tensor
            (S, N, q), the same whatever the units of s.
        """
        ...

    def __call__(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Ψ of shape (K,), differentiable in u (K, batch, 1).

        v (K, batch, q) is encoded; sample_weight is (K, batch, 1), and a weight of 2 counts a row twice.
        """
        ...

    def adversary_objective(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """What the adversary climbs, (K,): Ψ itself, or a bound that is steadier to climb."""
        ...

    @staticmethod
    def floats_a_row(settings: TrainingSettings) -> float:
        """Numbers that live at once for each row of a mini-batch and model, about."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]:
        """The adversary's parameters, with the leading dimension K; none if Ψ is a closed form."""
        ...

    def to(self, device: str, dtype: dtype) -> Self:
        """The same penalty with its parameters on `device`, and of the type of the rows."""
        ...
