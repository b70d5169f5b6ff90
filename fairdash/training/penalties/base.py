"""Shared parts of the penalties: encoding of sensitive features, and defaults without an adversary."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairdash.training.penalties.rank_functions import of_column, side_by_side
from fairdash.training.settings import TrainingSettings
from fairdash.utils.rounding import is_rounding, precision


class BasePenalty(nn.Module):
    """Interface between a penalty and the training loop, for K models at once; no adversary by default.

    A closed-form penalty only has to define ``forward(u, v, sample_weight)``, which returns Ψ of shape (K,),
    differentiable in u (K, batch, 1). v (K, batch, q) is encoded. sample_weight is (K, batch, 1), and a
    weight of 2 counts a row twice. :meth:`parameters` returns the adversary's parameters with the leading
    dimension K.

    Parameters
    ----------
    seeds
        One seed per model.
    s
        Encoded training rows of every split, (S, n, q).
    which_split
        Split of each model, (K,).
    settings
        Training settings of the models.
    """

    #: True if the adversary maximises Ψ itself, so that predictor and adversary share one gradient.
    climbs_itself = True

    def __init__(
        self,
        *,
        seeds: Sequence[int],  # noqa: ARG002 every penalty is built alike
        s: Tensor,  # noqa: ARG002
        which_split: Tensor,  # noqa: ARG002
        settings: TrainingSettings,  # noqa: ARG002
    ) -> None:
        super().__init__()

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Encode the sensitive features of each row for the penalty, independently of their units.

        The default scales every column to mean 0 and standard deviation 1 on the training rows. A constant
        column becomes 0.

        Parameters
        ----------
        s
            Sensitive features of all rows for each split, (S, N, d).
        train
            Row numbers of the training rows of each of the S splits; other rows have no influence.
        weight
            Row weights (S, N, 1), or None; a weight of 2 counts a row twice.

        Returns
        -------
        Tensor
            Encoded features, (S, N, q).
        """
        encoded = []
        for j, (rows, chosen) in enumerate(zip(s, train, strict=True)):
            learned = rows[chosen]
            mass = torch.ones_like(learned[:, :1]) if weight is None else weight[j, chosen].to(s)
            share = mass / mass.sum()
            mean = (share * learned).sum(dim=0)
            spread = (share * (learned - mean) ** 2).sum(dim=0).sqrt()
            # Rounding errors of a constant column must not be scaled to standard deviation 1.
            constant = is_rounding(learned.amin(dim=0), learned.amax(dim=0), eps=precision(s))
            encoded.append(torch.where(constant, 0.0, (rows - mean) / torch.where(constant, 1.0, spread)))
        return torch.stack(encoded)

    @staticmethod
    def floats_a_row(settings: TrainingSettings) -> float:  # noqa: ARG004 closed forms have no networks
        """Return the approximate number of values in memory per row of a mini-batch and model."""
        return 16.0

    def adversary_objective(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return the objective of the adversary, (K,): Ψ, or a bound that is more stable to maximise."""
        psi: Tensor = self(u, v, sample_weight)
        return psi

    def adversary_gradients(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> list[Tensor]:
        """Return the gradients of :meth:`adversary_objective`, one per parameter; none flows into u."""
        climbed = self.adversary_objective(u, v, sample_weight)
        return list(torch.autograd.grad(climbed.sum(), list(self.parameters())))


Array = NDArray[np.float64]


def of_ranks(
    s: Tensor,
    train: Sequence[Tensor],
    functions: Callable[[Array], Array],
    weight: Tensor | None = None,
) -> Tensor:
    """Return functions of the ranks of all columns, joined along the last axis; (S, N, d) -> (S, N, q).

    Other rows are interpolated linearly between training rows, or get the value at the end. Functions that
    are 0 in all rows of all splits are omitted, but at least one function is kept.

    Parameters
    ----------
    s
        Sensitive features of all rows for each split.
    train
        Row numbers of each split's training rows.
    functions
        Function that returns the (m, P) function values, given the masses of the m ordered distinct values.
    weight
        Row weights (S, N, 1), or None; a weight of 2 counts a row twice.
    """
    masses = torch.ones_like(s[..., 0]) if weight is None else weight[..., 0]
    encoded = [
        [of_column(column, chosen, mass[chosen], functions, eps=precision(s)) for column in rows.T]
        for rows, chosen, mass in zip(
            s.double().cpu().numpy(),
            [chosen.cpu().numpy() for chosen in train],
            masses.double().cpu().numpy(),
            strict=True,
        )
    ]
    by_column = [np.stack(each) for each in zip(*encoded, strict=True)]
    return torch.from_numpy(side_by_side(by_column)).to(s)


def normal_scores(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
    """Return normal quantiles of every column's mid-ranks, (S, N, d), invariant to increasing maps of s."""
    # A constant column has mid-rank ½, so its scores are 0.
    return of_ranks(s, train, lambda mass: scores(mass)[:, None], weight)


def scores(mass: Array) -> Array:
    """Return normal scores of distinct values with these masses, (m,)."""
    from scipy.special import ndtri

    found: Array = ndtri(np.cumsum(mass) - mass / 2)
    return found


def shares_of_rows(u: Tensor, share: Tensor | None) -> Tensor:
    """Return the share of each row in the batch of u (K, batch, 1); None gives equal shares."""
    return torch.full_like(u, 1 / u.shape[1]) if share is None else share
