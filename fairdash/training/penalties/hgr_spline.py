"""Spline HGR as a penalty: the first canonical correlation of smooth functions, in closed form.

HGR is the largest correlation of f(U) and g(S) over all functions. Here f is a sum of Gaussian bumps on the
standardised U, and g one of cubic splines of the ranks of S. Over such sums the best pair is a
singular vector, so that no adversary has to be trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairdash.dependence.hgr_network import shares, standardise
from fairdash.dependence.spline_basis import axis_of, orthonormal, splines
from fairdash.training.penalties.base import BasePenalty
from fairdash.training.penalties.category_penalty import of_ranks

#: Functions of each column of S: as many as cubic splines with 6 intervals have, less the constant.
_SPLINES = 8
#: Added to either covariance, as a share of its mean diagonal. It keeps the few rows of a batch from
#: finding a correlation by chance.
RIDGE = 0.1
#: Added to the covariance of the bumps: with a constant U nothing else is left.
_TINY = 1e-6


@dataclass(frozen=True)
class Bumps:
    """Functions of the standardised U: as many Gaussian bumps, evenly spaced on ± `reach`."""

    count: int
    reach: float

    @property
    def width(self) -> float:
        """Their standard deviation: the distance between their centres."""
        return 2 * self.reach / (self.count - 1)

    def distances(self, inside: Tensor) -> Tensor:
        """To every bump's centre, (K, count, batch) for values (K, 1, batch) within the reach."""
        centres = torch.linspace(
            -self.reach, self.reach, self.count, dtype=inside.dtype, device=inside.device
        )
        return inside - centres[:, None]


_BUMPS = Bumps(10, 2.5)


class SplineHGRPenalty(BasePenalty):
    """Ψ = the first singular value of A^(−½) C B^(−½), of the batch.

    C is the covariance of the bumps of U with the splines of S; A and B are their own covariances, each
    with its ridge. Between 0 (no correlation between any of the functions) and 1, which the ridge keeps
    it below. Independent batches do not give 0 but a floor, of .24 with 256 rows and one column.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Splines of the mid-ranks of each column, uncorrelated with variance 1 on the training rows.

        Of several columns the functions stand side by side, so that g is a sum of one of each. Functions
        that ties leave nothing to are left out: a binary S has one.
        """
        return of_ranks(s, train, smooth_functions, weight)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Ψ of shape (K,), from 0 to 1."""
        share = shares(sample_weight)
        psi: Tensor = _CanonicalCorrelation.apply(standardise(u, share), v, share)
        return psi


def smooth_functions(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """The smoothest functions of the ranks, from the masses of the distinct values; (m,) to (m, q)."""
    return orthonormal(splines(axis_of(mass))[:, :_SPLINES], mass)


class Moments(NamedTuple):
    """Both players' functions on a batch and their covariances, each with its ridge.

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
        """From standardised z (K, batch, 1) and v (K, batch, q)."""
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
        # On the training rows the functions of S have variance 1: that is their mean diagonal. A batch
        # that happens to hold one value of S leaves the ridge alone, and with it Ψ = 0.
        b.diagonal(dim1=1, dim2=2).add_(RIDGE)
        return cls(inside, part, values, centred, v, mean, a, b, c)

    def slope(self, bumps: Bumps, of_bumps: Tensor) -> Tensor:
        """∂Ψ/∂z (K, batch, 1) from what Ψ changes by with each bump's value, for a share of 1."""
        # φ′(z) = −(z − centre) / width² φ
        bend = bumps.distances(self.inside).mul_(self.values).mul_(of_bumps).sum(dim=1, keepdim=True)
        slope = -self.part / bumps.width**2 * bend
        # Beyond the outermost bumps U is held, and so has no slope.
        return torch.where(self.inside.abs() < bumps.reach, slope, 0.0).transpose(1, 2)


class _CanonicalCorrelation(torch.autograd.Function):
    """One node of autograd, its gradient worked by hand: autograd through svdvals takes half as long again.

    With α and β the weights of the best pair, αᵀAα = βᵀBβ = 1 and Ψ = αᵀCβ, and because they are the best,
    their own change does not matter: dΨ = αᵀ dC β − ½ Ψ αᵀ dA α (the envelope theorem). B stays as it is,
    because S does.
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
        values, vectors = torch.linalg.eigh(torch.where(sound[:, None, None], square, 0.0))
        psi = torch.where(sound, values[:, -1].clamp_min(0.0).sqrt(), torch.nan)

        alpha = torch.linalg.solve_triangular(lower.transpose(1, 2), vectors[:, :, -1:], upper=True)
        beta = torch.linalg.solve_triangular(
            lower_b.transpose(1, 2), torch.bmm(m, vectors[:, :, -1:]), upper=True
        )
        beta = beta / psi.clamp_min(1e-12)[:, None, None]
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
