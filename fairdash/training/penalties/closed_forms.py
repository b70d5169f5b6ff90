"""Closed-form penalties: linear correlation, χ² of a smoothed batch, and correlations of smooth functions.

HGR is the largest correlation of f(U) and g(S) over all functions f and g. In this module, f is a linear
combination of Gaussian kernels of the standardised U, and g is a linear combination of cubic splines of the
ranks of S. The pair with the largest correlation is then found by a singular value decomposition, so no
adversary has to be trained. The largest correlation depends on one pair of functions. When the predictor
reduces this correlation, another pair becomes the pair with the largest correlation, and the gradient jumps.
The sum of squared canonical correlations penalises all pairs at once. As the number of functions grows, this
sum tends to χ² (Lancaster 1958).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairdash.dependence.hgr_nn import shares, standardise
from fairdash.training.penalties.base import BasePenalty, normal_scores, of_ranks, shares_of_rows
from fairdash.training.penalties.rank_functions import RIDGE, scaled_functions, smooth_functions

#: Ridge on the correlation matrix of the sensitive features, which would be singular if columns are
#: collinear.
_RIDGE_OF_COLUMNS = 1e-4


class PearsonPenalty(BasePenalty):
    """Penalty Ψ = |ρ(U, S)| or, for several columns of S, the multiple correlation R = √(cᵀC⁻¹c).

    The vector c contains the correlations of U with the columns on a batch, and the matrix C contains the
    correlations between the columns. Ψ is between 0 and 1. On batches of b rows, Ψ is about √(2 / (π b)) if U
    and S are independent, or √(d / b) for d columns.
    """

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), from 0 to 1."""
        share = shares(sample_weight)
        row_share = shares_of_rows(u, share)
        columns = standardise(v, share).transpose(1, 2)
        correlations = torch.bmm(columns * row_share.transpose(1, 2), columns.transpose(1, 2))
        identity = torch.eye(v.shape[2], dtype=v.dtype, device=v.device)
        c = torch.bmm(columns, row_share * standardise(u, share))
        correlations = torch.lerp(correlations, identity.expand_as(correlations), _RIDGE_OF_COLUMNS)
        # solve_ex does not check for singular matrices, which the ridge prevents. The check would make the
        # host wait for the device.
        weights, _ = torch.linalg.solve_ex(correlations, c.detach())
        square = torch.bmm(c.transpose(1, 2), weights)[:, 0, 0]
        # R is computed as cᵀα with constant α = C⁻¹c / R. Because α is optimal, a change of α does not change
        # R to first order. At R = 0, this gradient is finite, unlike the gradient of the square root.
        root = square.detach().clamp_min(0.0).sqrt()
        return torch.where(root > 0, square / torch.where(root > 0, root, 1.0), square)


#: Values are clipped at this number of standard deviations, so that an outlier does not enlarge the grid of
#: all models. Clipping U or S can only reduce χ².
_MAX_VALUE = 4.0
#: Number of bandwidths by which the grid extends beyond the largest values; 99.7 % of the mass of a kernel is
#: within this distance of its centre.
_GRID_MARGIN = 3.0
#: Maximum of the squared distance in exp(−distance²). Larger distances would give numbers below the normal
#: range of float32, for which exp takes five times as long.
_MAX_EXPONENT = 30.0
#: A grid line with a smaller marginal mass contains only rounding errors.
_MIN_MASS = 1e-12


class KDEPenalty(BasePenalty):
    """Penalty Ψ = χ²_KDE(U, S) = Σ p(i, j)² / (p(i) p(j)) − 1 on a grid, for one sensitive column.

    Ψ is at least 0 and has no upper bound. On batches of 256 rows, Ψ is about 0.05 if U and S are
    independent. The penalty is computed as in :func:`fairdash.dependence.kde.chi2_kde` with a grid that
    covers all values and whose lines are one bandwidth apart; here, all batches use the same grid. The
    published grid ends at 2.5 standard deviations and ignores larger values. The bandwidth decreases with the
    effective number of rows, which is the number of rows if the weights are equal.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return normal quantiles of the mid-ranks.

        All kernels have the same bandwidth. With standardised values of an S with a heavy tail, most rows
        would be within one bandwidth. Differences between these rows would then be lost.
        """
        return normal_scores(s, train, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        share = shares(sample_weight)
        # The bandwidth follows Silverman's rule in two dimensions, with Kish's effective number of rows.
        if share is None:
            bandwidth = torch.full_like(u[:, :1], u.shape[1] ** (-1 / 6))
        else:
            bandwidth = (share * share).sum(dim=1, keepdim=True) ** (1 / 6)
        f, g = (_kernels(standardise(x, share).transpose(1, 2), bandwidth) for x in (u, v))
        joint = torch.bmm(f, g.transpose(1, 2) if share is None else share * g.transpose(1, 2))
        joint = joint / joint.sum(dim=(1, 2), keepdim=True)
        rows, columns = joint.sum(dim=2, keepdim=True), joint.sum(dim=1, keepdim=True)
        # This comparison does not treat NaN as an empty line, so a model whose U is NaN gets Ψ = NaN.
        empty = (rows <= _MIN_MASS) | (columns <= _MIN_MASS)
        product = torch.where(empty, 1.0, rows * columns)
        # Ψ is computed as a sum of squares, because the subtraction of 1 from a number near 1 would lose
        # digits.
        distance = torch.where(empty, 0.0, joint - product)
        return (distance * distance / product).sum(dim=(1, 2))


def _kernels(x: Tensor, bandwidth: Tensor) -> Tensor:
    """Return the kernels (K, G, batch) of rows x (K, 1, batch) at G grid lines."""
    # With unequal weights, the effective number of rows is smaller and kernels are wider, so the grid for
    # equal weights is fine enough.
    lines = math.ceil(2 * _MAX_VALUE * x.shape[2] ** (1 / 6) + 2 * _GRID_MARGIN) + 1
    # The unit of all lengths is √2 bandwidths.
    unit = 2**0.5 * bandwidth
    index = torch.arange(lines, dtype=x.dtype, device=x.device)[:, None] * 0.5**0.5
    line = index - (_MAX_VALUE / unit + _GRID_MARGIN * 0.5**0.5)
    kernels: Tensor = _Kernels.apply(x.clamp(-_MAX_VALUE, _MAX_VALUE) / unit, line)
    return kernels


class _Kernels(torch.autograd.Function):
    """Autograd node for exp(−(line − x)²), computed in place, because allocation is slow."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, line: Tensor) -> Tensor:
        distance = line - x
        kernels = (distance * distance).clamp_(max=_MAX_EXPONENT).neg_().exp_()
        ctx.save_for_backward(distance, kernels)
        return kernels

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        distance, kernels = ctx.saved_tensors
        slope = (grad_outputs[0] * kernels).mul_(distance).sum(dim=1, keepdim=True)
        return slope.mul_(2), None


#: Constant that is added to the covariance of the kernels, which would be 0 for a constant U.
_VARIANCE_OFFSET = 1e-6
#: If the sum of squared correlations is below this threshold, Ψ is set to 0. For a constant U, the sum is a
#: rounding error of about 1e-10 in single precision, and LAPACK may fail.
_MIN_SQUARE = 1e-8


@dataclass(frozen=True)
class GaussianKernels:
    """Gaussian kernels of the standardised U, with equally spaced centres from −`reach` to `reach`."""

    count: int
    reach: float

    @property
    def width(self) -> float:
        """Return the standard deviation of the kernels: the distance between neighbouring centres."""
        return 2 * self.reach / (self.count - 1)

    def distances(self, clipped: Tensor) -> Tensor:
        """Return the differences (K, count, batch) between values (K, 1, batch) and all centres."""
        centres = torch.linspace(
            -self.reach, self.reach, self.count, dtype=clipped.dtype, device=clipped.device
        )
        return clipped - centres[:, None]


_KERNELS_OF_U = GaussianKernels(10, 2.5)


class SplineHGRPenalty(BasePenalty):
    """Penalty Ψ: the largest singular value of A^(−½) C B^(−½) on a batch, for smooth functions of U and S.

    The matrix C contains the covariances of kernels of U with splines of S. The matrices A and B are the
    covariance matrices of the kernels and of the splines, each with a ridge. Ψ is 0 if no functions are
    correlated, and stays below 1 because of the ridges. On batches of 256 rows and for one column, Ψ is about
    0.24 if U and S are independent.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return splines of each column's mid-ranks: uncorrelated, with variance 1, on the training rows.

        For several columns, products of the three smoothest functions of every two columns are added, so that
        g is a sum of functions of one column and of functions of two columns. Functions that are 0 because of
        ties are omitted, so that a binary S has only one function.
        """
        return of_ranks(s, train, smooth_functions, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), from 0 to 1."""
        share = shares(sample_weight)
        psi: Tensor = _CanonicalCorrelation.apply(standardise(u, share), v, share)
        return psi


class Moments(NamedTuple):
    """Functions of U and of S on a batch, and their covariance matrices.

    `values` are kernels of U (K, count, batch), contiguous along the batch for fast sums, and `centred` are
    kernels minus their means. `row_share` contains the weights of the rows, `mean` is the mean of v, and a, b
    and c are the matrices A, B and C of :class:`SplineHGRPenalty`.
    """

    inside: Tensor
    row_share: Tensor
    values: Tensor
    centred: Tensor
    v: Tensor
    mean: Tensor
    a: Tensor
    b: Tensor
    c: Tensor

    @classmethod
    def of(cls, basis: GaussianKernels, z: Tensor, v: Tensor, share: Tensor | None) -> Moments:
        """Compute the moments from standardised z (K, batch, 1) and functions v (K, batch, q)."""
        clipped = z.transpose(1, 2).clamp(-basis.reach, basis.reach)
        if share is None:
            row_share = torch.full_like(z[:1], 1 / z.shape[1]).transpose(1, 2)
        else:
            row_share = share.transpose(1, 2)
        values = torch.exp(basis.distances(clipped).square_().mul_(-0.5 / basis.width**2))
        centred = values - (row_share * values).sum(dim=2, keepdim=True)
        weighted = row_share * centred
        a = torch.bmm(weighted, centred.transpose(1, 2))
        ridge = RIDGE * a.diagonal(dim1=1, dim2=2).mean(dim=1) + _VARIANCE_OFFSET
        a.diagonal(dim1=1, dim2=2).add_(ridge[:, None])
        c = torch.bmm(weighted, v)
        mean = torch.bmm(row_share.expand(len(v), -1, -1), v)
        b = torch.bmm((row_share.transpose(1, 2) * v).transpose(1, 2), v) - mean.transpose(1, 2) * mean
        # On the training rows, functions of S have variance 1, so the mean of the diagonal is 1. If S is
        # constant in a batch, only the ridge remains, and Ψ is 0.
        b.diagonal(dim1=1, dim2=2).add_(RIDGE)
        return cls(clipped, row_share, values, centred, v, mean, a, b, c)

    def slope(self, basis: GaussianKernels, gradient_of_kernels: Tensor) -> Tensor:
        """Return ∂Ψ/∂z (K, batch, 1) from `gradient_of_kernels`: ∂Ψ/∂φ divided by the rows' weights."""
        # The derivative of a kernel is φ′(z) = −(z − centre) / width² φ.
        weighted = (
            basis.distances(self.inside).mul_(self.values).mul_(gradient_of_kernels).sum(dim=1, keepdim=True)
        )
        slope = -self.row_share / basis.width**2 * weighted
        # Values of U beyond the outermost centres are clipped, so their derivative is 0.
        return torch.where(self.inside.abs() < basis.reach, slope, 0.0).transpose(1, 2)


#: A matrix is squared `_SQUARINGS` times. It is rescaled after every `_SQUARINGS_AT_ONCE` squarings, because
#: numbers below 1e-38 are 0 in single precision. If the two largest eigenvalues differ by less than 1e-4 of
#: their size, the result is a mixture of their vectors.
_SQUARINGS, _SQUARINGS_AT_ONCE = 15, 3


def leading_pair(square: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest eigenvalue (K,) of positive semidefinite matrices (K, P, P) and its eigenvector.

    The vectors have the shape (K, P, 1). On a GPU, an eigensolver would wait for the CPU, so the vector is a
    column of the 2¹⁵th power of the matrix; for a zero matrix, eigenvalue and vector are then 0.
    """
    if square.is_cpu:
        values, vectors = torch.linalg.eigh(square)
        return values[:, -1], vectors[:, :, -1:]
    tiny, power = torch.finfo(square.dtype).tiny, square
    for squaring in range(_SQUARINGS):
        if squaring % _SQUARINGS_AT_ONCE == 0:
            trace = power.diagonal(dim1=1, dim2=2).sum(dim=1).clamp_min(tiny)
            power = power / trace[:, None, None]
        power = torch.bmm(power, power)
    # The longest column is used, because other columns may consist of rounding errors.
    length = power.square().sum(dim=1)
    column = length.argmax(dim=1)[:, None, None].expand(-1, len(square[0]), 1)
    vector = power.gather(2, column)
    vector = vector / vector.square().sum(dim=1, keepdim=True).sqrt().clamp_min(tiny)
    return torch.bmm(vector.transpose(1, 2), torch.bmm(square, vector))[:, 0, 0], vector


class _CanonicalCorrelation(torch.autograd.Function):
    """Autograd node for Ψ, with an explicit gradient; autograd through svdvals would take 50 % longer.

    Let α and β be the weights of the pair with the largest correlation, with αᵀAα = βᵀBβ = 1 and Ψ = αᵀCβ.
    Because α and β are optimal, their changes do not change Ψ to first order (envelope theorem), so that dΨ =
    αᵀ dC β − ½ Ψ αᵀ dA α. The matrix B is constant, because it does not depend on U.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, v: Tensor, share: Tensor | None) -> Tensor:
        moments = Moments.of(_KERNELS_OF_U, z, v, share)
        # cholesky_ex raises no errors, so a model whose U is not finite does not stop the other models.
        lower, _ = torch.linalg.cholesky_ex(moments.a)
        solved_half = torch.linalg.solve_triangular(lower, moments.c, upper=False)
        lower_b, _ = torch.linalg.cholesky_ex(moments.b)
        m = torch.linalg.solve_triangular(lower_b, solved_half.transpose(1, 2), upper=False)  # (K, q, count)
        square = torch.bmm(m.transpose(1, 2), m)
        finite = torch.isfinite(square).all(dim=2).all(dim=1)
        correlated = finite & (square.diagonal(dim1=1, dim2=2).sum(dim=1) > _MIN_SQUARE)
        value, vector = leading_pair(torch.where(correlated[:, None, None], square, 0.0))
        psi = torch.where(finite, value.clamp_min(0.0).sqrt(), torch.nan)

        alpha = torch.linalg.solve_triangular(lower.transpose(1, 2), vector, upper=True)
        beta = torch.linalg.solve_triangular(lower_b.transpose(1, 2), torch.bmm(m, vector), upper=True)
        beta = torch.where(correlated[:, None, None], beta / psi.clamp_min(1e-12)[:, None, None], 0.0)
        ctx.save_for_backward(*moments, psi, alpha, beta)
        return psi

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        *moments, psi, alpha, beta = ctx.saved_tensors
        m = Moments(*moments)
        psi = psi[:, None, None]
        f = torch.bmm(alpha.transpose(1, 2), m.centred)
        g = torch.bmm(m.v - m.mean, beta).transpose(1, 2)
        # The derivative is ∂Ψ/∂φ_i = w_i (α (g_i − Ψ f_i) − Ψ ridge |α|² φ̃_i / P), where the last term comes
        # from the ridge, which is proportional to the mean of the diagonal.
        shrink = psi * (RIDGE / _KERNELS_OF_U.count) * (alpha * alpha).sum(dim=1, keepdim=True)
        gradient_of_kernels = torch.baddbmm(-shrink * m.centred, alpha, g - psi * f)
        return grad_outputs[0][:, None, None] * m.slope(_KERNELS_OF_U, gradient_of_kernels), None, None


#: These kernels cover a wider range of U than those of SplineHGRPenalty, because estimators on new rows also
#: use the tails of U.
_WIDE_KERNELS = GaussianKernels(12, 3.5)


class CanonicalPenalty(SplineHGRPenalty):
    """Penalty Ψ = tr A⁻¹ C B⁻¹ Cᵀ on a batch, from 0 to below the number of functions of S.

    The matrices A, B and C are as in :class:`SplineHGRPenalty`. The functions of S, in order of increasing
    roughness, are scaled so that the ridge gives the j-th function the weight 1 / (1 + 0.3 j²), because
    correlations with rough functions are mostly noise.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Encode S as in SplineHGRPenalty, but with scaled functions."""
        return of_ranks(s, train, scaled_functions, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,)."""
        share = shares(sample_weight)
        psi: Tensor = _SquaredCorrelations.apply(standardise(u, share), v, share)
        return psi


def solve_by(lower: Tensor, right: Tensor) -> Tensor:
    """Return A⁻¹ times `right`, (K, P, q), from the lower Cholesky factors (K, P, P) of A.

    torch.cholesky_solve for several matrices cannot be captured in a CUDA graph; this function can.
    """
    solved_half = torch.linalg.solve_triangular(lower, right, upper=False)
    return torch.linalg.solve_triangular(lower.transpose(1, 2), solved_half, upper=True)


class _SquaredCorrelations(torch.autograd.Function):
    """Autograd node for Ψ, with dΨ = 2 tr B⁻¹CᵀA⁻¹ dC − tr A⁻¹CB⁻¹CᵀA⁻¹ dA; B does not depend on U."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, v: Tensor, share: Tensor | None) -> Tensor:
        m = Moments.of(_WIDE_KERNELS, z, v, share)
        # cholesky_ex raises no errors, so a model whose U is not finite does not stop the other models.
        ac = solve_by(torch.linalg.cholesky_ex(m.a)[0], m.c)  # A⁻¹C, (K, count, q)
        acb = solve_by(torch.linalg.cholesky_ex(m.b)[0], ac.transpose(1, 2)).transpose(1, 2)
        ctx.save_for_backward(*m, ac, acb)
        return (acb * m.c).sum(dim=(1, 2))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        *moments, ac, acb = ctx.saved_tensors
        m = Moments(*moments)
        of_a = torch.bmm(acb, ac.transpose(1, 2))  # A⁻¹CB⁻¹CᵀA⁻¹
        # The derivative is ∂Ψ/∂φ_i = 2 w_i (A⁻¹CB⁻¹ g_i − of_a φ̃_i − ridge tr(of_a) φ̃_i / P), where the
        # last term comes from the ridge, which is proportional to the mean of the diagonal.
        shrink = (RIDGE / _WIDE_KERNELS.count) * of_a.diagonal(dim1=1, dim2=2).sum(dim=1)
        of_a.diagonal(dim1=1, dim2=2).add_(shrink[:, None])
        gradient_of_kernels = torch.bmm(acb, (m.v - m.mean).transpose(1, 2)) - torch.bmm(of_a, m.centred)
        return 2 * grad_outputs[0][:, None, None] * m.slope(_WIDE_KERNELS, gradient_of_kernels), None, None
