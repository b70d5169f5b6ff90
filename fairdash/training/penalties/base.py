"""Shared code of the penalties: encoding of sensitive features, and defaults without an adversary."""

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
    """Interface between a penalty and the training loop, for K models at once; by default without adversary.

    A closed-form penalty only has to define ``forward(u, v, sample_weight)``, which returns Ψ of shape (K,),
    differentiable in u (K, batch, 1). The argument v (K, batch, q) contains encoded features. The argument
    sample_weight is (K, batch, 1), and a row of weight 2 counts as two rows. :meth:`parameters` returns the
    parameters of the adversary with the leading dimension K.

    Parameters
    ----------
    seeds
        One seed per model.
    s
        Encoded sensitive features of the training rows of every split, (S, n, q).
    which_split
        Index of the split of each model, (K,).
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
        """Encode the sensitive features of each row for the penalty, such that their units have no effect.

        By default, every column is scaled to mean 0 and standard deviation 1 on the training rows. A constant
        column becomes zeros.

        Parameters
        ----------
        s
            Sensitive features of all rows for each split, (S, N, d).
        train
            Row numbers of the training rows of each of the S splits; other rows have no influence on the
            encoding.
        weight
            Row weights (S, N, 1), or None for equal weights; a row of weight 2 counts as two rows.

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
        """Return the gradients of :meth:`adversary_objective`, one per parameter, with no gradient into u."""
        objective = self.adversary_objective(u, v, sample_weight)
        return list(torch.autograd.grad(objective.sum(), list(self.parameters())))


Array = NDArray[np.float64]


def of_ranks(
    s: Tensor,
    train: Sequence[Tensor],
    functions: Callable[[Array], Array],
    weight: Tensor | None = None,
) -> Tensor:
    """Return functions of the ranks of all columns, joined along the last axis; (S, N, d) -> (S, N, q).

    Values between training rows are interpolated linearly, and values beyond them get the function's end
    value. Functions that are 0 in all rows of all splits are omitted, except that at least one function
    remains.

    Parameters
    ----------
    s
        Sensitive features of all rows for each split.
    train
        Row numbers of the training rows of each split.
    functions
        Function that returns the values (m, P) of the functions, given the masses of the m ordered distinct
        values.
    weight
        Row weights (S, N, 1), or None for equal weights; a row of weight 2 counts as two rows.
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
    """Return normal quantiles of each column's mid-ranks, (S, N, d); increasing maps of s have no effect."""
    # A constant column has mid-rank ½, so that its normal scores are 0.
    return of_ranks(s, train, lambda mass: scores(mass)[:, None], weight)


def scores(mass: Array) -> Array:
    """Return normal scores (m,) of distinct values with the given masses (m,)."""
    from scipy.special import ndtri

    normal_scores: Array = ndtri(np.cumsum(mass) - mass / 2)
    return normal_scores


def shares_of_rows(u: Tensor, share: Tensor | None) -> Tensor:
    """Return the share of each row in the batch of u (K, batch, 1), or None for equal weights."""
    return torch.full_like(u, 1 / u.shape[1]) if share is None else share
