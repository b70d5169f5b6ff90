"""Penalties of other authors: GeDI, generalised demographic parity, an expected MMD, and HSIC.

All use the normal scores of one sensitive column, where the authors use the column itself. U is standardised
in every batch, so the effect of λ does not depend on its units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairdash.dependence.hgr_nn import shares, standardise
from fairdash.training.penalties.base import BasePenalty, normal_scores, of_ranks, scores, shares_of_rows
from fairdash.training.settings import TrainingSettings

Array = NDArray[np.float64]

#: Highest power of S: the default of the authors' package maxcorr.
_DEGREE = 3
#: Directions of the powers with a smaller share of the largest variance get no coefficient, which would be
#: noise. A continuous S has none of them (0.02).
_LEAST = 1e-3
#: Lines of the grid along S, from −3 to 3 standard deviations. Its distances are shorter than any bandwidth.
_LINES, _REACH = 64, 3.0
#: Frequencies of a Gaussian kernel of width 1, and their weights: Gauss–Hermite's, of which half suffice.
_NODES = 24
#: Added to a squared distance before its root, so that the gradient at 0 is finite.
_TINY = 1e-12


def _frequencies() -> tuple[Array, Array]:
    """Frequencies ω (Q,) and weights: exp(−d² / 2) is the sum of weight · cos(ω d) for |d| up to about 8."""
    nodes, weights = np.polynomial.hermite.hermgauss(_NODES)
    above = nodes > 0
    return math.sqrt(2) * nodes[above], 2 * weights[above] / math.sqrt(math.pi)


def _powers(mass: Array) -> Array:
    """Return functions of S whose covariances with U are U's coefficients on the powers of S.

    Powers that are nearly determined by others, as for a binary S or one that is mostly 0, share the
    coefficient.
    """
    powers = scores(mass)[:, None] ** np.arange(1, _DEGREE + 1)
    powers -= mass @ powers
    found: Array = powers @ np.linalg.pinv(powers.T @ (mass[:, None] * powers), rcond=_LEAST, hermitian=True)
    return found


def _waves(mass: Array) -> Array:
    """Functions of S whose inner product is a Gaussian kernel, scaled so that its HSIC with itself is 1."""
    omega, weight = _frequencies()
    angle = scores(mass)[:, None] * omega
    waves = np.sqrt(weight) * np.stack([np.cos(angle), np.sin(angle)])
    functions = np.concatenate(list(waves), axis=1)
    functions -= mass @ functions
    size = np.linalg.norm(functions.T @ (mass[:, None] * functions))
    return functions / math.sqrt(size) if size > _TINY else functions


class GeDIPenalty(BasePenalty):
    """Penalty Ψ = ‖α‖₁, with α the least-squares coefficients of U on S, S² and S³.

    At least 0, without an upper end. It is the generalised disparate impact of Giuliani, Misino and Lombardi
    (2023), min ‖F(S) α − U‖² with all columns centred. A batch has its own covariances of U with the powers,
    but their covariances with each other are those of all training rows.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Encode S so that the mean product of U and each column is a coefficient."""
        return of_ranks(s, train, _powers, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        return _means(u, v, sample_weight).abs().sum(dim=1)


class HSICPenalty(BasePenalty):
    """Penalty Ψ = uᵀ H L H u / n², with L a Gaussian kernel of S and H = I − 11ᵀ / n, scaled to at most 1.

    As in Pérez-Suay et al. (2017), U has the linear kernel: Ψ detects whether means of U follow S, but not
    whether its spread does. It is divided by the HSIC of S with itself (Cortes et al. 2012), which leaves 0
    to 1.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Encode S by functions whose inner product is L."""
        return of_ranks(s, train, _waves, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        return _means(u, v, sample_weight).square().sum(dim=1)


def _means(u: Tensor, v: Tensor, sample_weight: Tensor | None) -> Tensor:
    """Means of the products of standardised U with each column of v, (K, q)."""
    share = shares(sample_weight)
    part = shares_of_rows(u, share)
    return torch.bmm(v.transpose(1, 2), part * standardise(u, share))[:, :, 0]


class GDPPenalty(BasePenalty):
    """Penalty Ψ = ∫ |m(s) − E U| p(s) ds, with m(s) = E[U | s] and p by Gaussian kernels.

    At least 0, without an upper bound; 0.8 for a Gaussian U that is determined by S. It is the generalised
    demographic parity of Jiang et al. (2022), by their kernel estimator and its bandwidth (3 n / 4)^(−1/5).
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return normal scores: the kernels have one bandwidth for all rows."""
        return normal_scores(s, train, weight)

    @staticmethod
    def floats_a_row(settings: TrainingSettings) -> float:  # noqa: ARG004 the grid is always the same
        """Approximate number of floats held at once for each row of a mini-batch and model."""
        return 1.5 * _LINES

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        share = shares(sample_weight)
        near, density = _along(v, share)
        return (density * torch.bmm(near, standardise(u, share))[:, :, 0].abs()).sum(dim=1)


class EIPMPenalty(GDPPenalty):
    """Penalty Ψ = ∫ MMD(P(U | s), P(U)) p(s) ds, with the same kernels along S, and one of width 1 for U.

    From 0 to 1.4. It is the expected integral probability metric of Kong, Kim and Kim (2025) with maximum
    mean discrepancy. Their FREM lowers it for a representation, and this penalty for the prediction itself.
    """

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        share = shares(sample_weight)
        near, density = _along(v, share)
        omega, weight = (torch.as_tensor(each).to(u) for each in _frequencies())
        angle = standardise(u, share) * omega
        waves = torch.cat([angle.cos(), angle.sin()], dim=2) * weight.sqrt().repeat(2)
        mean = waves.mean(dim=1, keepdim=True) if share is None else (share * waves).sum(dim=1, keepdim=True)
        distance = (torch.bmm(near, waves) - mean).square().sum(dim=2)
        return (density * ((distance + _TINY).sqrt() - math.sqrt(_TINY))).sum(dim=1)


def _along(v: Tensor, share: Tensor | None) -> tuple[Tensor, Tensor]:
    """Weight of each row at each line of the grid, (K, G, batch), and the density of the lines, (K, G).

    Both sum to 1, the weights over the batch. The bandwidth counts rows of unequal weight as fewer (Kish).
    """
    rows = v.transpose(1, 2)
    if share is None:
        count = torch.full_like(rows[:, :, :1], v.shape[1])
    else:
        count = 1 / (share * share).sum(dim=1, keepdim=True)
    bandwidth = (0.75 * count) ** (-1 / 5)
    lines = torch.linspace(-_REACH, _REACH, _LINES, dtype=v.dtype, device=v.device)[:, None]
    near = (lines - rows).div_(bandwidth).square_().mul_(-0.5)
    if share is not None:
        near += share.transpose(1, 2).log()
    return near.softmax(dim=2), near.logsumexp(dim=2).softmax(dim=1)
