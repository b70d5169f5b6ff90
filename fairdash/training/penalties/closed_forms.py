"""Closed-form penalties: linear correlation, χ² of smoothed batches, and correlations of smooth functions.

HGR is the largest correlation of f(U) and g(S) over all functions. In this module, f is a sum of Gaussian
bumps of the standardised U, and g is a sum of cubic splines of the ranks of S. For such sums, the best pair
is a singular vector, so no adversary has to be trained. The largest correlation depends on one pair of
functions. When the predictor lowers this correlation, the correlation of another pair becomes the largest and
the gradient jumps. The sum of squared correlations penalises all pairs at once. The limit of this sum for
increasingly many functions is χ² (Lancaster 1958).
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

#: Ridge on the correlation matrix of the sensitive features, so that collinear columns do not make it
#: singular.
_RIDGE_OF_COLUMNS = 1e-4


class PearsonPenalty(BasePenalty):
    """Penalty Ψ = |ρ(U, S)|, or the multiple correlation R = √(cᵀC⁻¹c) of U with several columns of S.

    On the batch, c contains the correlations of U with each column, and C contains the correlations among the
    columns. Ψ is between 0 and 1. Independent batches of b rows give about √(2 / (π b)), or √(d / b) for d
    columns.
    """

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), from 0 to 1."""
        share = shares(sample_weight)
        part = shares_of_rows(u, share)
        columns = standardise(v, share).transpose(1, 2)
        among = torch.bmm(columns * part.transpose(1, 2), columns.transpose(1, 2))
        identity = torch.eye(v.shape[2], dtype=v.dtype, device=v.device)
        c = torch.bmm(columns, part * standardise(u, share))
        among = torch.lerp(among, identity.expand_as(among), _RIDGE_OF_COLUMNS)
        # The function solve_ex skips the check for singular matrices, which would make the host wait; the
        # ridge prevents such matrices.
        weights, _ = torch.linalg.solve_ex(among, c.detach())
        square = torch.bmm(c.transpose(1, 2), weights)[:, 0, 0]
        # The value is R = cᵀα with fixed α = C⁻¹c / R. Since α is optimal, a change of α has no effect to
        # first order. Unlike the gradient of the root, this gradient is finite at 0.
        root = square.detach().clamp_min(0.0).sqrt()
        return torch.where(root > 0, square / torch.where(root > 0, root, 1.0), square)


#: Number of standard deviations at which values are clipped, so that an outlier does not enlarge the grid of
#: all models. Clipping U or S can only lower χ².
_LARGEST = 4.0
#: Number of bandwidths by which the grid extends beyond the values. The extended grid includes 99.7 % of the
#: mass of a kernel at the outermost value.
_BEYOND = 3.0
#: Exponent beyond which a kernel is replaced by 0. Smaller numbers are outside the normal range of float32,
#: where exp takes five times as long.
_FURTHEST = 30.0
#: Marginal mass below which a grid line contains only rounding errors.
_NO_MASS = 1e-12


class KDEPenalty(BasePenalty):
    """Penalty Ψ = χ²_KDE(U, S) = Σ p(i, j)² / (p(i) p(j)) − 1 on a grid, for one sensitive column.

    Ψ is at least 0, with no upper bound. Independent batches of 256 rows give a Ψ of about 0.05. The penalty
    is computed as in :func:`fairdash.dependence.kde.chi2_kde` with its covering grid, whose lines are one
    bandwidth apart, except that all batches share one grid. The published grid ends at 2.5 standard
    deviations and ignores values beyond its ends. The bandwidth decreases with the effective number of rows,
    which is the number of rows if the weights are equal.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return normal quantiles of the mid-ranks.

        All kernels have the same bandwidth. For a standardised S with a heavy tail, the bandwidth would be
        wider than the bulk of the rows and could not resolve their differences.
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
        # Testing for empty cells instead of nonempty cells keeps the NaN of a model whose U is NaN.
        empty = (rows <= _NO_MASS) | (columns <= _NO_MASS)
        product = torch.where(empty, 1.0, rows * columns)
        # Σ p²/(p p) − 1 is computed as a sum of squares, because subtracting 1 from about 1 would lose
        # digits.
        distance = torch.where(empty, 0.0, joint - product)
        return (distance * distance / product).sum(dim=(1, 2))


def _kernels(x: Tensor, bandwidth: Tensor) -> Tensor:
    """Return the kernel of every row at every grid line, (K, G, batch), for x (K, 1, batch)."""
    # Unequal weights give a smaller effective number of rows and wider kernels, so the grid for equal weights
    # is fine enough.
    lines = math.ceil(2 * _LARGEST * x.shape[2] ** (1 / 6) + 2 * _BEYOND) + 1
    # All lengths are in units of √2 bandwidths.
    unit = 2**0.5 * bandwidth
    index = torch.arange(lines, dtype=x.dtype, device=x.device)[:, None] * 0.5**0.5
    line = index - (_LARGEST / unit + _BEYOND * 0.5**0.5)
    kernels: Tensor = _Kernels.apply(x.clamp(-_LARGEST, _LARGEST) / unit, line)
    return kernels


class _Kernels(torch.autograd.Function):
    """Autograd node exp(−(line − x)²), computed in place, because allocation costs more than arithmetic."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, line: Tensor) -> Tensor:
        distance = line - x
        kernels = (distance * distance).clamp_(max=_FURTHEST).neg_().exp_()
        ctx.save_for_backward(distance, kernels)
        return kernels

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        distance, kernels = ctx.saved_tensors
        slope = (grad_outputs[0] * kernels).mul_(distance).sum(dim=1, keepdim=True)
        return slope.mul_(2), None


#: Constant added to the covariance of the bumps, which would be 0 for a constant U.
_TINY = 1e-6
#: Threshold of Ψ² below which a batch counts as having no link. For a constant U, Ψ² is a rounding error of
#: about 1e-10 in single precision, and LAPACK may fail.
_NO_LINK = 1e-8


@dataclass(frozen=True)
class Bumps:
    """Basis of Gaussian bumps on the standardised U, with centres evenly spaced over ± `reach`."""

    count: int
    reach: float

    @property
    def width(self) -> float:
        """Return the standard deviation of a bump, which equals the distance between neighbouring centres."""
        return 2 * self.reach / (self.count - 1)

    def distances(self, inside: Tensor) -> Tensor:
        """Return distances of values (K, 1, batch) within ± `reach` from all centres, (K, count, batch)."""
        centres = torch.linspace(
            -self.reach, self.reach, self.count, dtype=inside.dtype, device=inside.device
        )
        return inside - centres[:, None]


_BUMPS = Bumps(10, 2.5)


class SplineHGRPenalty(BasePenalty):
    """Penalty Ψ: the first singular value of A^(−½) C B^(−½) on the batch, for smooth functions of U and S.

    The matrix C is the covariance of the bumps of U with the splines of S. The matrices A and B are the
    covariances of the bumps and of the splines, each with a ridge. Ψ is 0 if no functions are correlated, and
    stays below 1 because of the ridges. Independent batches have a floor of 0.24 with 256 rows and one
    column.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return splines of each column's mid-ranks, uncorrelated and with variance 1 on the training rows.

        With several columns, the functions of all columns are joined with products of the three smoothest
        functions of each pair of columns, so that g is a sum of functions of one and of two columns.
        Functions that vanish because of ties are omitted, so that a binary S has one function.
        """
        return of_ranks(s, train, smooth_functions, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), from 0 to 1."""
        share = shares(sample_weight)
        psi: Tensor = _CanonicalCorrelation.apply(standardise(u, share), v, share)
        return psi


class Moments(NamedTuple):
    """Functions of U and of S on a batch, and their covariance matrices, each with a ridge.

    Bumps have the shape (K, count, batch), so that all passes run along the batch. The attribute `part` is
    the share of each row, `mean` is the mean of v, and a, b and c are the matrices A, B and C of
    :class:`SplineHGRPenalty`.
    """

    inside: Tensor
    part: Tensor
    values: Tensor
    centred: Tensor
    v: Tensor
    mean: Tensor
    a: Tensor
    b: Tensor
    c: Tensor

    @classmethod
    def of(cls, bumps: Bumps, z: Tensor, v: Tensor, share: Tensor | None) -> Moments:
        """Compute the moments from standardised z (K, batch, 1) and functions v (K, batch, q)."""
        inside = z.transpose(1, 2).clamp(-bumps.reach, bumps.reach)
        if share is None:
            part = torch.full_like(z[:1], 1 / z.shape[1]).transpose(1, 2)
        else:
            part = share.transpose(1, 2)
        values = torch.exp(bumps.distances(inside).square_().mul_(-0.5 / bumps.width**2))
        centred = values - (part * values).sum(dim=2, keepdim=True)
        weighed = part * centred
        a = torch.bmm(weighed, centred.transpose(1, 2))
        ridge = RIDGE * a.diagonal(dim1=1, dim2=2).mean(dim=1) + _TINY
        a.diagonal(dim1=1, dim2=2).add_(ridge[:, None])
        c = torch.bmm(weighed, v)
        mean = torch.bmm(part.expand(len(v), -1, -1), v)
        b = torch.bmm((part.transpose(1, 2) * v).transpose(1, 2), v) - mean.transpose(1, 2) * mean
        # On the training rows, the functions of S have variance 1, so the mean diagonal is 1. In a batch with
        # constant S, only the ridge remains, so that Ψ = 0.
        b.diagonal(dim1=1, dim2=2).add_(RIDGE)
        return cls(inside, part, values, centred, v, mean, a, b, c)

    def slope(self, bumps: Bumps, of_bumps: Tensor) -> Tensor:
        """Return ∂Ψ/∂z (K, batch, 1), given the derivatives of Ψ by the bumps' values, for a share of 1."""
        # The derivative of a bump is φ′(z) = −(z − centre) / width² φ.
        weighted = bumps.distances(self.inside).mul_(self.values).mul_(of_bumps).sum(dim=1, keepdim=True)
        slope = -self.part / bumps.width**2 * weighted
        # Values of U beyond the outermost bumps are clipped, so their derivative is 0.
        return torch.where(self.inside.abs() < bumps.reach, slope, 0.0).transpose(1, 2)


#: Number of times a matrix is squared, and number of squarings after which it is rescaled, because single
#: precision ends at 1e-38. Two eigenvalues that differ by less than 1e-4 count as one, with a mixture of
#: their vectors.
_SQUARINGS, _SQUARINGS_AT_ONCE = 15, 3


def leading_pair(square: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest eigenvalue, (K,), and its vector, (K, P, 1), of symmetric matrices (K, P, P) ≥ 0.

    On a GPU, an eigensolver would wait for the CPU, so the function returns a column of the 2¹⁵th power of
    the matrix as the vector. For a zero matrix, the eigenvalue and the vector are then 0.
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
    """Autograd node with a handwritten gradient; autograd through svdvals would take 50 % longer.

    Let α and β be the weights of the best pair, with αᵀAα = βᵀBβ = 1 and Ψ = αᵀCβ. Since α and β are optimal,
    a change of them has no effect to first order: dΨ = αᵀ dC β − ½ Ψ αᵀ dA α (the envelope theorem). The
    matrix B is constant, because S is.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, v: Tensor, share: Tensor | None) -> Tensor:
        moments = Moments.of(_BUMPS, z, v, share)
        # The function cholesky_ex raises no errors, so that a model whose U is not finite does not stop the
        # others.
        lower, _ = torch.linalg.cholesky_ex(moments.a)
        half = torch.linalg.solve_triangular(lower, moments.c, upper=False)
        lower_b, _ = torch.linalg.cholesky_ex(moments.b)
        m = torch.linalg.solve_triangular(lower_b, half.transpose(1, 2), upper=False)  # (K, q, bumps)
        square = torch.bmm(m.transpose(1, 2), m)
        sound = torch.isfinite(square).all(dim=2).all(dim=1)
        linked = sound & (square.diagonal(dim1=1, dim2=2).sum(dim=1) > _NO_LINK)
        value, vector = leading_pair(torch.where(linked[:, None, None], square, 0.0))
        psi = torch.where(sound, value.clamp_min(0.0).sqrt(), torch.nan)

        alpha = torch.linalg.solve_triangular(lower.transpose(1, 2), vector, upper=True)
        beta = torch.linalg.solve_triangular(lower_b.transpose(1, 2), torch.bmm(m, vector), upper=True)
        beta = torch.where(linked[:, None, None], beta / psi.clamp_min(1e-12)[:, None, None], 0.0)
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
        # from the ridge's mean diagonal.
        shrink = psi * (RIDGE / _BUMPS.count) * (alpha * alpha).sum(dim=1, keepdim=True)
        of_bumps = torch.baddbmm(-shrink * m.centred, alpha, g - psi * f)
        return grad_outputs[0][:, None, None] * m.slope(_BUMPS, of_bumps), None, None


#: Range of U that is wider than in HGR_spline, because an estimator on new rows also uses the tails of U.
_WIDE_BUMPS = Bumps(12, 3.5)


class CanonicalPenalty(SplineHGRPenalty):
    """Penalty Ψ = tr A⁻¹ C B⁻¹ Cᵀ of the batch, at least 0 and below the number of functions of S.

    The matrices A, B and C are as in :class:`SplineHGRPenalty`. The functions of S are scaled so that the
    ridge multiplies the contribution of the j-th function, from smooth to rough, by 1 / (1 + 0.3 j²), because
    rough functions contain mostly noise.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Encode S as HGR_spline does, with functions scaled by their roughness."""
        return of_ranks(s, train, scaled_functions, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,)."""
        share = shares(sample_weight)
        psi: Tensor = _SquaredCorrelations.apply(standardise(u, share), v, share)
        return psi


def solve_by(lower: Tensor, right: Tensor) -> Tensor:
    """Return A⁻¹ times `right`, (K, P, q), given the lower Cholesky factors of the matrices A.

    Unlike torch.cholesky_solve for several matrices, this function can be captured in a CUDA graph.
    """
    half = torch.linalg.solve_triangular(lower, right, upper=False)
    return torch.linalg.solve_triangular(lower.transpose(1, 2), half, upper=True)


class _SquaredCorrelations(torch.autograd.Function):
    """Autograd node with dΨ = 2 tr B⁻¹CᵀA⁻¹ dC − tr A⁻¹CB⁻¹CᵀA⁻¹ dA, where B is constant, because S is."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, v: Tensor, share: Tensor | None) -> Tensor:
        m = Moments.of(_WIDE_BUMPS, z, v, share)
        # The function cholesky_ex raises no errors, so that a model whose U is not finite does not stop the
        # others.
        ac = solve_by(torch.linalg.cholesky_ex(m.a)[0], m.c)  # A⁻¹C, (K, bumps, q)
        acb = solve_by(torch.linalg.cholesky_ex(m.b)[0], ac.transpose(1, 2)).transpose(1, 2)
        ctx.save_for_backward(*m, ac, acb)
        return (acb * m.c).sum(dim=(1, 2))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        *moments, ac, acb = ctx.saved_tensors
        m = Moments(*moments)
        of_a = torch.bmm(acb, ac.transpose(1, 2))  # A⁻¹CB⁻¹CᵀA⁻¹
        # The derivative is ∂Ψ/∂φ_i = 2 w_i (A⁻¹CB⁻¹ g_i − of_a φ̃_i − ridge tr(of_a) φ̃_i / P), where the
        # last term comes from the mean diagonal.
        shrink = (RIDGE / _WIDE_BUMPS.count) * of_a.diagonal(dim1=1, dim2=2).sum(dim=1)
        of_a.diagonal(dim1=1, dim2=2).add_(shrink[:, None])
        of_bumps = torch.bmm(acb, (m.v - m.mean).transpose(1, 2)) - torch.bmm(of_a, m.centred)
        return 2 * grad_outputs[0][:, None, None] * m.slope(_WIDE_BUMPS, of_bumps), None, None
