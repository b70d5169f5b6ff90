"""Closed-form penalties: linear correlation, χ² of smoothed batches, correlations of smooth functions.

HGR is the largest correlation of f(U) and g(S) over all functions. Here f is a sum of Gaussian bumps on the
standardised U, and g one of cubic splines of the ranks of S. Over such sums the best pair is a singular
vector, so no adversary needs training. The largest correlation depends on one pair of functions: when the
predictor lowers it, another pair takes its place and the gradient jumps. The sum of squares lowers all pairs
at once; its limit for more and more functions is χ² (Lancaster 1958).
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

#: Share of the identity in the sensitive features' correlation matrix, so that collinear columns don't make
#: it singular.
_RIDGE_OF_COLUMNS = 1e-4


class PearsonPenalty(BasePenalty):
    """Penalty Ψ = |ρ(U, S)|, or the multiple correlation R = √(cᵀC⁻¹c) of U with several columns of S.

    c holds the correlations of U with each column, C those among the columns, all of the batch. Between 0
    and 1; independent batches of b rows give about √(2 / (π b)), or √(d / b) with d columns.
    """

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), from 0 to 1."""
        share = shares(sample_weight)
        part = shares_of_rows(u, share)
        columns = standardise(v, share).transpose(1, 2)
        among = torch.bmm(columns * part.transpose(1, 2), columns.transpose(1, 2))
        one = torch.eye(v.shape[2], dtype=v.dtype, device=v.device)
        c = torch.bmm(columns, part * standardise(u, share))
        among = torch.lerp(among, one.expand_as(among), _RIDGE_OF_COLUMNS)
        # No check synchronises with the host; the ridge prevents a singular matrix.
        weights, _ = torch.linalg.solve_ex(among, c.detach())
        square = torch.bmm(c.transpose(1, 2), weights)[:, 0, 0]
        # R = cᵀα with α = C⁻¹c / R held fixed: α is optimal, so its own change does not matter. Unlike the
        # root's, this gradient is finite at 0.
        root = square.detach().clamp_min(0.0).sqrt()
        return torch.where(root > 0, square / torch.where(root > 0, root, 1.0), square)


#: Standard deviations at which values are clipped: clipping U or S can only lower χ², and a single outlier
#: must not make the grid of all models long.
_LARGEST = 4.0
#: Extension of the grid beyond the values, in bandwidths: 99.7 % of an outermost kernel.
_BEYOND = 3.0
#: Exponent beyond which a kernel counts as 0: smaller numbers would leave float32's normal range, and exp
#: takes five times as long there.
_FURTHEST = 30.0
#: Marginal mass of a grid line under which it carries no information beyond rounding.
_NO_MASS = 1e-12


class KDEPenalty(BasePenalty):
    """Penalty Ψ = χ²_KDE(U, S) = Σ p(i, j)² / (p(i) p(j)) − 1 on a grid, for one sensitive column.

    At least 0, without an upper bound; independent batches of 256 rows give about 0.05. It equals
    :func:`fairdash.dependence.kde.chi2_kde` with its covering grid, with lines one bandwidth apart, except
    that the grid is the same for every batch. The published grid ends at 2.5 standard deviations and ignores
    values outside. The bandwidth shrinks with the effective number of rows, which does not change if all
    weights are 2.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return normal quantiles of the mid-ranks.

        The kernels have one bandwidth for all rows. On a standardised S with a heavy tail it would be wider
        than the bulk of the rows, and would not distinguish them.
        """
        return normal_scores(s, train, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), at least 0."""
        share = shares(sample_weight)
        # Silverman's rule in two dimensions, for Kish's effective number of rows.
        if share is None:
            bandwidth = torch.full_like(u[:, :1], u.shape[1] ** (-1 / 6))
        else:
            bandwidth = (share * share).sum(dim=1, keepdim=True) ** (1 / 6)
        f, g = (_kernels(standardise(x, share).transpose(1, 2), bandwidth) for x in (u, v))
        joint = torch.bmm(f, g.transpose(1, 2) if share is None else share * g.transpose(1, 2))
        joint = joint / joint.sum(dim=(1, 2), keepdim=True)
        rows, columns = joint.sum(dim=2, keepdim=True), joint.sum(dim=1, keepdim=True)
        # Based on the empty cells, so that a model whose U is NaN stays NaN.
        empty = (rows <= _NO_MASS) | (columns <= _NO_MASS)
        product = torch.where(empty, 1.0, rows * columns)
        # Σ p²/(p p) − 1 as a sum of squares, because the difference of two ones loses the digits.
        distance = torch.where(empty, 0.0, joint - product)
        return (distance * distance / product).sum(dim=(1, 2))


def _kernels(x: Tensor, bandwidth: Tensor) -> Tensor:
    """Kernel of every row at every line of the grid, (K, G, batch), for x (K, 1, batch)."""
    # Weighted rows have a smaller effective number and wider kernels: the grid for equal weights is fine
    # enough.
    lines = math.ceil(2 * _LARGEST * x.shape[2] ** (1 / 6) + 2 * _BEYOND) + 1
    # All lengths in units of √2 bandwidths.
    unit = 2**0.5 * bandwidth
    index = torch.arange(lines, dtype=x.dtype, device=x.device)[:, None] * 0.5**0.5
    line = index - (_LARGEST / unit + _BEYOND * 0.5**0.5)
    kernels: Tensor = _Kernels.apply(x.clamp(-_LARGEST, _LARGEST) / unit, line)
    return kernels


class _Kernels(torch.autograd.Function):
    """exp(−(line − x)²) as one node of autograd, in place, because new memory costs more than arithmetic."""

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


#: Added to the covariance of the bumps: with a constant U nothing else is left.
_TINY = 1e-6
#: Ψ² of a constant U is rounding, about 1e-10 in single precision. LAPACK can fail on such matrices.
_NO_LINK = 1e-8


@dataclass(frozen=True)
class Bumps:
    """Basis of Gaussian bumps on the standardised U, evenly spaced on ± `reach`."""

    count: int
    reach: float

    @property
    def width(self) -> float:
        """Standard deviation of a bump, equal to the distance between centres."""
        return 2 * self.reach / (self.count - 1)

    def distances(self, inside: Tensor) -> Tensor:
        """Return distances to every bump's centre, (K, count, batch), of values (K, 1, batch) in reach."""
        centres = torch.linspace(
            -self.reach, self.reach, self.count, dtype=inside.dtype, device=inside.device
        )
        return inside - centres[:, None]


_BUMPS = Bumps(10, 2.5)


class SplineHGRPenalty(BasePenalty):
    """Penalty Ψ: the first singular value of A^(−½) C B^(−½) on the batch.

    C is the covariance of the bumps of U with the splines of S; A and B are their own covariances, each with
    its ridge. Between 0 (no correlation between any of the functions) and 1, which it can't reach because of
    the ridge. Independent batches do not give 0 but a floor of 0.24 with 256 rows and one column.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return splines of each column's mid-ranks, uncorrelated with variance 1 on the training rows.

        The functions of several columns are placed side by side, with products of the three smoothest of
        every two columns, so that g is a sum of functions of one and of two columns. Functions that vanish
        because of ties are left out: a binary S has one.
        """
        return of_ranks(s, train, smooth_functions, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), from 0 to 1."""
        share = shares(sample_weight)
        psi: Tensor = _CanonicalCorrelation.apply(standardise(u, share), v, share)
        return psi


class Moments(NamedTuple):
    """Functions of both players on a batch, and their covariances, each with its ridge.

    (K, count, batch) for the bumps, so that every pass over these numbers runs along the batch; `part` is the
    rows' share, `mean` that of v, and a, b, c are A, B and C of :class:`SplineHGRPenalty`.
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
        """Compute the moments from standardised z (K, batch, 1) and v (K, batch, q)."""
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
        # On the training rows the functions of S have variance 1, the mean of their diagonal. A batch with
        # one value of S leaves only the ridge, and so Ψ = 0.
        b.diagonal(dim1=1, dim2=2).add_(RIDGE)
        return cls(inside, part, values, centred, v, mean, a, b, c)

    def slope(self, bumps: Bumps, of_bumps: Tensor) -> Tensor:
        """∂Ψ/∂z (K, batch, 1) from the derivative of Ψ by each bump's value, for a share of 1."""
        # φ′(z) = −(z − centre) / width² φ
        bend = bumps.distances(self.inside).mul_(self.values).mul_(of_bumps).sum(dim=1, keepdim=True)
        slope = -self.part / bumps.width**2 * bend
        # Beyond the outermost bumps U is held, and so has no slope.
        return torch.where(self.inside.abs() < bumps.reach, slope, 0.0).transpose(1, 2)


#: Squarings of a matrix, and the number of them after which it is rescaled, because 1e-38 is the limit of
#: single precision. Two eigenvalues that differ by less than 1e-4 count as one, whose vector is then a
#: mixture of theirs.
_SQUARINGS, _SQUARINGS_AT_ONCE = 15, 3


def leading_pair(square: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest eigenvalue, (K,), and its vector, (K, P, 1), of symmetric matrices (K, P, P) ≥ 0.

    For a matrix of zeros both are 0 on a GPU. On a GPU the eigensolver would wait for the CPU, so the vector
    is a column of the matrix's 2¹⁵th power instead.
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
    # The longest column, because the others may be rounding errors.
    length = power.square().sum(dim=1)
    column = length.argmax(dim=1)[:, None, None].expand(-1, len(square[0]), 1)
    vector = power.gather(2, column)
    vector = vector / vector.square().sum(dim=1, keepdim=True).sqrt().clamp_min(tiny)
    return torch.bmm(vector.transpose(1, 2), torch.bmm(square, vector))[:, 0, 0], vector


class _CanonicalCorrelation(torch.autograd.Function):
    """It is one node of autograd with a handwritten gradient, because autograd through svdvals takes 50 %
    longer.

    With α and β the weights of the best pair, αᵀAα = βᵀBβ = 1 and Ψ = αᵀCβ, and because they are optimal,
    their own change has no effect: dΨ = αᵀ dC β − ½ Ψ αᵀ dA α (the envelope theorem). B is constant, because
    S is.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, v: Tensor, share: Tensor | None) -> Tensor:
        moments = Moments.of(_BUMPS, z, v, share)
        # The two factors don't raise: a model whose U is not finite must not stop the others.
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
        own = Moments(*moments)
        psi = psi[:, None, None]
        f = torch.bmm(alpha.transpose(1, 2), own.centred)
        g = torch.bmm(own.v - own.mean, beta).transpose(1, 2)
        # ∂Ψ/∂φ_i = w_i (α (g_i − Ψ f_i) − Ψ ridge |α|² φ̃_i / P), the last from the ridge's mean diagonal.
        shrink = psi * (RIDGE / _BUMPS.count) * (alpha * alpha).sum(dim=1, keepdim=True)
        of_bumps = torch.baddbmm(-shrink * own.centred, alpha, g - psi * f)
        return grad_outputs[0][:, None, None] * own.slope(_BUMPS, of_bumps), None, None


#: Further out than HGR_spline's, because an estimator on new rows also uses the tails of U.
_WIDE_BUMPS = Bumps(12, 3.5)


class CanonicalPenalty(SplineHGRPenalty):
    """Penalty Ψ = tr A⁻¹ C B⁻¹ Cᵀ of the batch, at least 0 and below the number of functions of S.

    A, B and C are those of :class:`SplineHGRPenalty`. The functions of S are scaled so that the ridge leaves
    1 / (1 + 0.3 j²) of the j-th, from smooth to rough, because correlations of rough functions are mostly
    noise.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Encode as HGR_spline does, with each function divided by its smoothness order, and scaled."""
        return of_ranks(s, train, scaled_functions, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,)."""
        share = shares(sample_weight)
        psi: Tensor = _SquaredCorrelations.apply(standardise(u, share), v, share)
        return psi


def solve_by(lower: Tensor, right: Tensor) -> Tensor:
    """Return A⁻¹ times `right`, (K, P, q), from the lower Cholesky factors of A.

    A CUDA graph can contain this, but not torch.cholesky_solve of several matrices.
    """
    half = torch.linalg.solve_triangular(lower, right, upper=False)
    return torch.linalg.solve_triangular(lower.transpose(1, 2), half, upper=True)


class _SquaredCorrelations(torch.autograd.Function):
    """It is one node of autograd: dΨ = 2 tr B⁻¹CᵀA⁻¹ dC − tr A⁻¹CB⁻¹CᵀA⁻¹ dA. B is constant, because S is."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, v: Tensor, share: Tensor | None) -> Tensor:
        own = Moments.of(_WIDE_BUMPS, z, v, share)
        # The factors don't raise: a model whose U is not finite must not stop the others.
        ac = solve_by(torch.linalg.cholesky_ex(own.a)[0], own.c)  # A⁻¹C, (K, bumps, q)
        acb = solve_by(torch.linalg.cholesky_ex(own.b)[0], ac.transpose(1, 2)).transpose(1, 2)
        ctx.save_for_backward(*own, ac, acb)
        return (acb * own.c).sum(dim=(1, 2))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        *moments, ac, acb = ctx.saved_tensors
        own = Moments(*moments)
        of_a = torch.bmm(acb, ac.transpose(1, 2))  # A⁻¹CB⁻¹CᵀA⁻¹
        # ∂Ψ/∂φ_i = 2 w_i (A⁻¹CB⁻¹ g_i − of_a φ̃_i − ridge tr(of_a) φ̃_i / P), the last from the mean diagonal.
        shrink = (RIDGE / _WIDE_BUMPS.count) * of_a.diagonal(dim1=1, dim2=2).sum(dim=1)
        of_a.diagonal(dim1=1, dim2=2).add_(shrink[:, None])
        of_bumps = torch.bmm(acb, (own.v - own.mean).transpose(1, 2)) - torch.bmm(of_a, own.centred)
        return 2 * grad_outputs[0][:, None, None] * own.slope(_WIDE_BUMPS, of_bumps), None, None
