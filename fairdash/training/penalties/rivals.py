"""Published penalties for comparison: GeDI, generalised demographic parity, an expected MMD, and HSIC.

All penalties use the normal scores of one sensitive column, whereas the authors use the column itself. U is
standardised in every batch, so that the effect of λ does not depend on the units of U.
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

#: Highest power of S, which is the default of the authors' package maxcorr.
_DEGREE = 3
#: Minimum variance of a direction of the powers, relative to the largest variance. Directions with a smaller
#: variance get no coefficient, because it would be noise. A continuous S has no such directions (its minimum
#: is 0.02).
_LEAST = 1e-3
#: Number of grid lines along S, and their range in standard deviations. The distance between the lines is
#: smaller than any bandwidth.
_LINES, _REACH = 64, 3.0
#: Number of Gauss–Hermite nodes for the frequencies of a Gaussian kernel of width 1; half of the nodes would
#: suffice.
_NODES = 24
#: Constant added to a squared distance before the root, so that the gradient at 0 is finite.
_TINY = 1e-12


def _frequencies() -> tuple[Array, Array]:
    """Return frequencies ω (Q,) and weights w with exp(−d² / 2) = Σ w cos(ω d) for |d| up to about 8."""
    nodes, weights = np.polynomial.hermite.hermgauss(_NODES)
    above = nodes > 0
    return math.sqrt(2) * nodes[above], 2 * weights[above] / math.sqrt(math.pi)


def _powers(mass: Array) -> Array:
    """Return functions of S whose covariances with U are the coefficients of U on the powers of S.

    Nearly collinear powers, such as those of a binary or mostly zero S, share a coefficient.
    """
    powers = scores(mass)[:, None] ** np.arange(1, _DEGREE + 1)
    powers -= mass @ powers
    basis: Array = powers @ np.linalg.pinv(powers.T @ (mass[:, None] * powers), rcond=_LEAST, hermitian=True)
    return basis


def _fourier_features(mass: Array) -> Array:
    """Return functions of S whose inner product is a Gaussian kernel, scaled to an HSIC of 1 with itself."""
    omega, weight = _frequencies()
    angle = scores(mass)[:, None] * omega
    waves = np.sqrt(weight) * np.stack([np.cos(angle), np.sin(angle)])
    functions = np.concatenate(list(waves), axis=1)
    functions -= mass @ functions
    size = np.linalg.norm(functions.T @ (mass[:, None] * functions))
    return functions / math.sqrt(size) if size > _TINY else functions


class GeDIPenalty(BasePenalty):
    """Penalty Ψ = ‖α‖₁, where α are the least-squares coefficients of U on S, S² and S³.

    Ψ is at least 0, with no upper bound. The penalty is the generalised disparate impact of Giuliani, Misino
    and Lombardi (2023), min ‖F(S) α − U‖² with centred columns. The covariances of U with the powers are
    computed on the batch, but the covariances among the powers are computed on all training rows.
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

    As in the paper of Pérez-Suay and others (2017), U has the linear kernel. Ψ therefore detects a dependence
    of the mean of U on S, but not of its spread. The HSIC of U and S is divided by the HSIC of S with itself
    (Cortes et al., 2012), so that Ψ is between 0 and 1.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Encode S as functions whose inner product is L."""
        return of_ranks(s, train, _fourier_features, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        return _means(u, v, sample_weight).square().sum(dim=1)


def _means(u: Tensor, v: Tensor, sample_weight: Tensor | None) -> Tensor:
    """Return the mean products (K, q) of the standardised U with each column of v."""
    share = shares(sample_weight)
    part = shares_of_rows(u, share)
    return torch.bmm(v.transpose(1, 2), part * standardise(u, share))[:, :, 0]


class GDPPenalty(BasePenalty):
    """Penalty Ψ = ∫ |m(s) − E U| p(s) ds, where m(s) = E[U | s] and the density p use Gaussian kernels.

    Ψ is at least 0, with no upper bound. For a Gaussian U that is a linear function of S, Ψ is 0.8. The
    penalty is the generalised demographic parity of Jiang and others (2022), with their kernel estimator and
    its bandwidth (3 n / 4)^(−1/5).
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return normal scores, because the kernels have one bandwidth for all rows."""
        return normal_scores(s, train, weight)

    @staticmethod
    def floats_a_row(settings: TrainingSettings) -> float:  # noqa: ARG004 the grid is always the same
        """Return the approximate number of values in memory per row of a mini-batch and model."""
        return 1.5 * _LINES

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        share = shares(sample_weight)
        weights, density = _along(v, share)
        return (density * torch.bmm(weights, standardise(u, share))[:, :, 0].abs()).sum(dim=1)


class EIPMPenalty(GDPPenalty):
    """Penalty Ψ = ∫ MMD(P(U | s), P(U)) p(s) ds, with the same kernels along S and one of width 1 for U.

    Ψ is between 0 and 1.4. The penalty is the expected integral probability metric of Kong, Kim and Kim
    (2025) with maximum mean discrepancy. Their method FREM reduces the metric for a representation, whereas
    this penalty reduces it for the prediction.
    """

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        share = shares(sample_weight)
        weights, density = _along(v, share)
        omega, weight = (torch.as_tensor(array).to(u) for array in _frequencies())
        angle = standardise(u, share) * omega
        waves = torch.cat([angle.cos(), angle.sin()], dim=2) * weight.sqrt().repeat(2)
        mean = waves.mean(dim=1, keepdim=True) if share is None else (share * waves).sum(dim=1, keepdim=True)
        distance = (torch.bmm(weights, waves) - mean).square().sum(dim=2)
        return (density * ((distance + _TINY).sqrt() - math.sqrt(_TINY))).sum(dim=1)


def _along(v: Tensor, share: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the weight of each row at each grid line, (K, G, batch), and the density of the lines, (K, G).

    The weights sum to 1 over the batch, and the densities sum to 1 over the lines. The bandwidth uses Kish's
    effective number of rows.
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
