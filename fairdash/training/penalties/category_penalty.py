"""Functions of the ranks of the sensitive features, learned on the training rows of each split."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]


def of_ranks(
    s: Tensor,
    train: Sequence[Tensor],
    functions: Callable[[Array], Array],
    weight: Tensor | None = None,
) -> Tensor:
    """Functions of the ranks of every column, side by side; (S, N, d) -> (S, N, q).

    A row that isn't among the training rows lies on the straight line between its neighbours there, or
    at the end of them. Functions that are 0 at every row of every split are left out, except one.

    Parameters
    ----------
    s
        Sensitive features of all rows, as each split has them.
    train
        Row numbers of each split's training rows.
    functions
        From the masses of the m distinct values, in ascending order, to the (m, P) values of the functions.
    weight
        (S, N, 1) weights of the rows, or None: a weight of 2 counts a row twice.
    """
    masses = torch.ones_like(s[..., 0]) if weight is None else weight[..., 0]
    encoded = np.stack(
        [
            np.concatenate([_of_column(column, chosen, mass[chosen], functions) for column in rows.T], axis=1)
            for rows, chosen, mass in zip(
                s.double().cpu().numpy(),
                [chosen.cpu().numpy() for chosen in train],
                masses.double().cpu().numpy(),
                strict=True,
            )
        ]
    )
    used = np.flatnonzero((encoded != 0).any(axis=(0, 1)))
    return torch.from_numpy(encoded[:, :, used if len(used) else [0]]).to(s)


def normal_scores(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
    """Normal quantiles of the mid-ranks of every column, (S, N, d): the same for any increasing map of s."""
    from scipy.special import ndtri

    # A constant column has the mid-rank ½, and so scores 0 everywhere.
    return of_ranks(s, train, lambda mass: ndtri(np.cumsum(mass) - mass / 2)[:, None], weight)


def _of_column(
    column: Array, train: NDArray[np.int64], mass: Array, functions: Callable[[Array], Array]
) -> Array:
    values, which = np.unique(column[train], return_inverse=True)
    table = functions(np.bincount(which, weights=mass) / mass.sum())
    return np.stack([np.interp(column, values, function) for function in table.T], axis=1)
