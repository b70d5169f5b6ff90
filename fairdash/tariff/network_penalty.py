"""Penalties of the networks, made available to tariffs: torch computes them for NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from fairdash.training.settings import TrainingSettings

if TYPE_CHECKING:
    from fairdash.training.penalties.base import BasePenalty

Array = NDArray[np.float64]


class NetworkPenalty:
    """Penalty Ψ of a method for networks, computed on m rows for a tariff.

    Parameters
    ----------
    kind
        Class of the penalty.
    s
        Sensitive features (n, d).
    weight
        Weights of the rows, (n,).
    rows
        Indices, (m,), of the rows that the penalty uses.
    number
        Floating-point type, float64 or float32.
    """

    def __init__(
        self, kind: type[BasePenalty], s: Array, weight: Array, rows: NDArray[np.int64], number: type[Any]
    ) -> None:
        all_rows, sample = torch.arange(len(s)), torch.from_numpy(rows)
        v = kind.encode(torch.from_numpy(s)[None], [all_rows], torch.from_numpy(weight)[None, :, None])[
            0, sample
        ]
        dtype = torch.from_numpy(np.empty(0, number)).dtype
        self._v, self._weight = v.to(dtype), torch.from_numpy(weight[rows, None].astype(number))
        self._penalty = kind(
            seeds=[0], s=v[None], which_split=torch.zeros(1, dtype=torch.long), settings=TrainingSettings()
        ).to("cpu", dtype)

    def value_and_slope(self, u: Array, _: Array) -> tuple[Array, Array]:
        """Return Ψ (K,) and its gradient with respect to U (K, m); neither depends on λ."""
        u_tensor = torch.from_numpy(u)[:, :, None].requires_grad_()
        psi = self._penalty(u_tensor, self._v.expand(len(u), -1, -1), self._weight.expand(len(u), -1, -1))
        (slope,) = torch.autograd.grad(psi.sum(), u_tensor)
        return psi.detach().numpy(), slope[:, :, 0].numpy()
