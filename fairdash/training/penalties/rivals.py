"""Published penalties, for comparison: GeDI, generalised demographic parity, expected MMD, and HSIC.

All penalties in this module use the normal scores of one sensitive column. The authors use the column without
a transformation. U is standardised in every batch, so that the effect of λ does not depend on the units of U.
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

#: Highest power of S; the authors' package maxcorr has the same default.
_DEGREE = 3
#: Minimum variance of a principal component of the powers of S, divided by the largest variance. Components
#: with a smaller variance get no coefficient, because such a coefficient would be noise. For a continuous S,
#: the smallest ratio is 0.02, so all components are used.
_MIN_VARIANCE_RATIO = 1e-3
#: The grid for S has `_LINES` lines from −`_REACH` to `_REACH` standard deviations. The distance between
#: lines is smaller than any bandwidth.
_LINES, _REACH = 64, 3.0
#: Number of Gauss–Hermite nodes for the frequencies of a Gaussian kernel of width 1; half of this number
#: would be enough.
_NODES = 24
#: Constant that is added to a squared distance before the square root, so that the gradient at 0 is finite.
_MIN_VARIANCE = 1e-12


def _frequencies() -> tuple[Array, Array]:
    """Return frequencies ω (Q,) and weights w (Q,) such that exp(−d² / 2) = Σ w cos(ω d) for |d| up to 8."""
    nodes, weights = np.polynomial.hermite.hermgauss(_NODES)
    above = nodes > 0
    return math.sqrt(2) * nodes[above], 2 * weights[above] / math.sqrt(math.pi)


def _powers(mass: Array) -> Array:
    """Return functions of S whose covariances with U are the regression coefficients of U on powers of S.

    Nearly collinear powers, such as the powers of a binary S, get a common coefficient.
    """
    powers = scores(mass)[:, None] ** np.arange(1, _DEGREE + 1)
    powers -= mass @ powers
    basis: Array = powers @ np.linalg.pinv(
        powers.T @ (mass[:, None] * powers), rcond=_MIN_VARIANCE_RATIO, hermitian=True
    )
    return basis


def _fourier_features(mass: Array) -> Array:
    """Return functions of S whose inner products are a Gaussian kernel, scaled so that HSIC(S, S) is 1."""
    omega, weight = _frequencies()
    angle = scores(mass)[:, None] * omega
    waves = np.sqrt(weight) * np.stack([np.cos(angle), np.sin(angle)])
    functions = np.concatenate(list(waves), axis=1)
    functions -= mass @ functions
    size = np.linalg.norm(functions.T @ (mass[:, None] * functions))
    return functions / math.sqrt(size) if size > _MIN_VARIANCE else functions


class GeDIPenalty(BasePenalty):
    """Penalty Ψ = ‖α‖₁, where α contains the least-squares coefficients of U on S, S² and S³.

    Ψ is at least 0 and has no upper bound. The penalty is the generalised disparate impact of Giuliani,
    Misino and Lombardi (2023), where α minimises ‖F(S) α − U‖² with centred columns. The covariances of U
    with the powers of S are computed on the batch; the covariance matrix of the powers is computed on all
    training rows.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Encode S as columns whose mean product with U is a regression coefficient."""
        return of_ranks(s, train, _powers, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        return _means(u, v, sample_weight).abs().sum(dim=1)


class HSICPenalty(BasePenalty):
    """Penalty Ψ = uᵀ H L H u / n², where L is a scaled Gaussian kernel of S and H = I − 11ᵀ / n.

    As in the paper of Pérez-Suay and others (2017), U has a linear kernel. Ψ therefore detects that the mean
    of U depends on S, but not that the variance of U depends on S. The HSIC of U and S is divided by HSIC(S,
    S) (Cortes et al., 2012), so that Ψ is between 0 and 1.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Encode S as functions whose inner products are L."""
        return of_ranks(s, train, _fourier_features, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        return _means(u, v, sample_weight).square().sum(dim=1)


def _means(u: Tensor, v: Tensor, sample_weight: Tensor | None) -> Tensor:
    """Return the mean products (K, q) of standardised U and each column of v."""
    share = shares(sample_weight)
    part = shares_of_rows(u, share)
    return torch.bmm(v.transpose(1, 2), part * standardise(u, share))[:, :, 0]


class GDPPenalty(BasePenalty):
    """Penalty Ψ = ∫ |m(s) − E U| p(s) ds, with kernel estimates of m(s) = E[U | s] and of the density p.

    Ψ is at least 0 and has no upper bound. For a Gaussian U that is a linear function of S, Ψ is 0.8. The
    penalty is the generalised demographic parity of Jiang and others (2022), with their Gaussian kernel
    estimator and its bandwidth (3 n / 4)^(−1/5).
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return normal scores, because all kernels have the same bandwidth."""
        return normal_scores(s, train, weight)

    @staticmethod
    def values_per_row(settings: TrainingSettings) -> float:  # noqa: ARG004 the grid is always the same
        """Return the approximate number of values in memory per row of a mini-batch and model."""
        return 1.5 * _LINES

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        share = shares(sample_weight)
        weights, density = _kernel_means_along(v, share)
        return (density * torch.bmm(weights, standardise(u, share))[:, :, 0].abs()).sum(dim=1)


class EIPMPenalty(GDPPenalty):
    """Penalty Ψ = ∫ MMD(P(U | s), P(U)) p(s) ds, with the kernel of GDP for S and a second kernel for U.

    Ψ is between 0 and 1.4. The kernel for U is Gaussian with width 1. The penalty is the expected integral
    probability metric of Kong, Kim and Kim (2025) with maximum mean discrepancy. The authors' method FREM
    reduces this metric for a representation, whereas the penalty reduces it for the prediction.
    """

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        share = shares(sample_weight)
        weights, density = _kernel_means_along(v, share)
        omega, weight = (torch.as_tensor(array).to(u) for array in _frequencies())
        angle = standardise(u, share) * omega
        waves = torch.cat([angle.cos(), angle.sin()], dim=2) * weight.sqrt().repeat(2)
        mean = waves.mean(dim=1, keepdim=True) if share is None else (share * waves).sum(dim=1, keepdim=True)
        distance = (torch.bmm(weights, waves) - mean).square().sum(dim=2)
        return (density * ((distance + _MIN_VARIANCE).sqrt() - math.sqrt(_MIN_VARIANCE))).sum(dim=1)


def _kernel_means_along(v: Tensor, share: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the weight of each row at each grid line, (K, G, batch), and the density at each line, (K, G).

    The sum of the weights over the batch is 1, and the sum of the densities over the lines is 1. The
    bandwidth depends on Kish's effective number of rows.
    """
    rows = v.transpose(1, 2)
    if share is None:
        count = torch.full_like(rows[:, :, :1], v.shape[1])
    else:
        count = 1 / (share * share).sum(dim=1, keepdim=True)
    bandwidth = (0.75 * count) ** (-1 / 5)
    lines = torch.linspace(-_REACH, _REACH, _LINES, dtype=v.dtype, device=v.device)[:, None]
    log_kernel = (lines - rows).div_(bandwidth).square_().mul_(-0.5)
    if share is not None:
        log_kernel += share.transpose(1, 2).log()
    return log_kernel.softmax(dim=2), log_kernel.logsumexp(dim=2).softmax(dim=1)
