"""Base class of penalties, and encodings of sensitive features."""

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
    """Interface between a penalty and the training loop, for K models at once.

    A penalty without an adversary only has to define ``forward(u, v, sample_weight)``. This method returns Ψ
    (K,), which must be differentiable in u (K, batch, 1). The argument v (K, batch, q) contains encoded
    sensitive features. The argument sample_weight has the shape (K, batch, 1); a row of weight 2 counts as
    two rows. :meth:`parameters` returns the parameters of an adversary, with the leading dimension K.

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

    #: True if the adversary maximises Ψ, so that one backward pass gives the gradients of predictor and
    #: adversary.
    maximises_psi = True

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
        """Encode the sensitive features of each row, such that Ψ does not depend on the features' units.

        By default, every column is scaled to mean 0 and standard deviation 1 on the training rows, and a
        constant column becomes 0.

        Parameters
        ----------
        s
            Sensitive features of all rows for each split, (S, N, d).
        train
            Numbers of the training rows of each of the S splits; other rows have no influence on the
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
            # A column that is constant up to rounding must not be scaled to standard deviation 1.
            constant = is_rounding(learned.amin(dim=0), learned.amax(dim=0), eps=precision(s))
            encoded.append(torch.where(constant, 0.0, (rows - mean) / torch.where(constant, 1.0, spread)))
        return torch.stack(encoded)

    @staticmethod
    def values_per_row(settings: TrainingSettings) -> float:  # noqa: ARG004 closed forms have no networks
        """Return the approximate number of values in memory per row of a mini-batch and model."""
        return 16.0

    def adversary_objective(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return the objective of the adversary, (K,): Ψ, or a bound whose maximisation is more stable."""
        psi: Tensor = self(u, v, sample_weight)
        return psi

    def adversary_gradients(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> list[Tensor]:
        """Return the gradients of :meth:`adversary_objective` with respect to the adversary's parameters."""
        objective = self.adversary_objective(u, v, sample_weight)
        return list(torch.autograd.grad(objective.sum(), list(self.parameters())))


Array = NDArray[np.float64]


def of_ranks(
    s: Tensor, train: Sequence[Tensor], functions: Callable[[Array], Array], weight: Tensor | None = None
) -> Tensor:
    """Return functions of the ranks of all columns of s (S, N, d), joined along the last axis: (S, N, q).

    Between the values of s in the training rows, functions are interpolated linearly; below and above these
    values, functions are constant. Functions that are 0 in all rows of all splits are omitted, but at least
    one function remains.

    Parameters
    ----------
    s
        Sensitive features of all rows for each split.
    train
        Numbers of the training rows of each split.
    functions
        Function that returns the values (m, P) of P functions at m distinct sorted values, from the shares of
        rows with these values.
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
    by_column = [np.stack(arrays) for arrays in zip(*encoded, strict=True)]
    return torch.from_numpy(side_by_side(by_column)).to(s)


def normal_scores(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
    """Return the normal quantiles (S, N, d) of the mid-ranks of each column of s."""
    # The mid-ranks of a constant column are ½, so its normal scores are 0.
    return of_ranks(s, train, lambda mass: scores(mass)[:, None], weight)


def scores(mass: Array) -> Array:
    """Return normal scores (m,) of m distinct sorted values, from the share (m,) of rows with each value."""
    from scipy.special import ndtri

    normal_scores: Array = ndtri(np.cumsum(mass) - mass / 2)
    return normal_scores


def shares_of_rows(u: Tensor, share: Tensor | None) -> Tensor:
    """Return `share`, the row weights of a batch u (K, batch, 1), or equal weights if `share` is None."""
    return torch.full_like(u, 1 / u.shape[1]) if share is None else share
