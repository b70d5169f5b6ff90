"""Penalty on the dependence of average premiums on s, with a closed-form gradient and without torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdash.training.penalties.rank_functions import RIDGE, of_column, scaled_functions, side_by_side

Array = NDArray[np.float64]

#: Factor of the penalty, chosen so that average premiums hardly depend on s if λ is 1.
_STRENGTH = 10.0
#: Constant, slope in λ, and largest λ of the weight of dependence that averages do not show. The weight grows
#: with λ, because a reduction of this dependence costs accuracy as long as averages depend on s. At the
#: maximum λ, the premium is almost flat.
_LINK_WEIGHT, _LINK_SLOPE, _MAX_LAM = 0.1, 2.5, 30.0
#: Weight at λ = 1 of the premium's variance, including variance that is unrelated to s. The weight is
#: proportional to λ, so that a small λ reduces the dependence of averages on s but hardly the variance.
_VARIANCE_WEIGHT = 1 / 60
#: Minimum of the variance by which the penalty is divided: the square of 1 % of the mean premium, in the
#: loss's units.
_MIN_UNIT = 1e-4
#: Ridge, divided by the variance of each function, that keeps the covariance matrix of linearly dependent
#: columns invertible.
_RIDGE = 1e-4
#: Number of Gaussian kernels of the standardised premium, largest distance of a kernel's centre from 0, and
#: standard deviation of the kernels.
_N_KERNELS, _MAX_CENTRE = 12, 3.5
_WIDTH = 2 * _MAX_CENTRE / (_N_KERNELS - 1)


class AveragesPenalty:
    """Penalty (10 Var E[U | s] + (1 + 25 λ) R Var U + λ / 60 Var U) / v; v is the variance of GLM premiums.

    In this penalty Ψ, E[U | s] is the projection of U on cubic splines of the ranks of s. R is the sum of
    squared correlations in ``fairdash.training.penalties.closed_forms.CanonicalPenalty``, which detects
    dependence that averages do not show; in the factor 1 + 25 λ of R, λ is at most 30. For a large λ, the
    last term of Ψ makes all premiums equal (flat). If U is the residual, the last term is omitted, because
    the residuals of a flat premium depend on s as much as the target does. If relativities are fixed, the
    last term uses the premium divided by the fixed relativities: the other factors should offset the
    dependence of fixed relativities on s, but not differences between fixed relativities that are unrelated
    to s.

    Parameters
    ----------
    s
        Sensitive features (n, d).
    weight
        Weights of the rows, (n,).
    rows
        Indices, (m,), of the rows that the penalty uses.
    number
        Floating-point type, float64 or float32.
    premium
        Premiums of the GLM, (m,).
    ends_flat
        Whether a large λ leads to a flat premium.
    fixed_scale
        Product of each row's fixed relativities, (m,), or None if no relativity is fixed. With fixed
        relativities, a large λ leads to premiums proportional to this product.
    """

    def __init__(
        self,
        s: Array,
        weight: Array,
        rows: NDArray[np.int64],
        number: type[Any],
        *,
        premium: Array,
        ends_flat: bool,
        fixed_scale: Array | None = None,
    ) -> None:
        all_rows = np.arange(len(s))
        v = side_by_side([of_column(column, all_rows, weight, scaled_functions) for column in s.T])[rows]
        share = weight[rows] / weight[rows].sum()
        self._unit = max(float(share @ (premium - share @ premium) ** 2), _MIN_UNIT)
        self._variance_weight = _VARIANCE_WEIGHT if ends_flat else 0.0
        functions = v - share @ v
        moments = functions.T @ (share[:, None] * functions)
        moments[np.diag_indices_from(moments)] = np.diag(moments) * (1 + _RIDGE) + 1e-9
        covariance = functions.T @ (share[:, None] * functions) + RIDGE * np.eye(v.shape[1])
        self._share, self._functions = share.astype(number), functions.astype(number)
        self._weighted = (share[:, None] * functions).astype(number)
        # These small matrices are nearly singular, so they remain in float64 even if the rows are float32.
        self._inverse_moments, self._inverse_covariance = np.linalg.inv(moments), np.linalg.inv(covariance)
        # The fixed relativities are divided by their average, because the base contains their common factor.
        self._fixed = None if fixed_scale is None else (fixed_scale / (share @ fixed_scale)).astype(number)
        self._centres = np.linspace(-_MAX_CENTRE, _MAX_CENTRE, _N_KERNELS).astype(number)[:, None]

    def value_and_slope(self, u: Array, lam: Array) -> tuple[Array, Array]:
        """Return Ψ ≥ 0, (K,), of U (K, m) at λ (K,), and the gradient of Ψ with respect to U, (K, m)."""
        share, number = self._share, u.dtype
        centred = u - (u @ share)[:, None]
        c = (centred @ self._weighted).astype(np.float64)
        projected = c @ self._inverse_moments
        explained = (c * projected).sum(axis=1)
        variance = ((centred * centred) @ share).astype(np.float64)
        gradient_of_variance = 2 * share * centred
        links, gradient_of_links = self._links(centred, variance)
        strength = _STRENGTH * (_LINK_WEIGHT + _LINK_SLOPE * np.minimum(lam, _MAX_LAM))
        value = _STRENGTH * explained + strength * links * variance
        slope = (2 * _STRENGTH * projected).astype(number) @ self._weighted.T
        slope += (strength * variance).astype(number)[:, None] * gradient_of_links
        slope += (strength * links).astype(number)[:, None] * gradient_of_variance
        if self._variance_weight:
            spread, gradient_of_spread = variance, gradient_of_variance
            if self._fixed is not None:
                ratio = u / self._fixed
                ratio -= (ratio @ share)[:, None]
                spread, gradient_of_spread = (ratio * ratio) @ share, 2 * share * ratio / self._fixed
            value = value + self._variance_weight * lam * spread
            slope += (self._variance_weight * lam).astype(number)[:, None] * gradient_of_spread
        return value / self._unit, slope / number.type(self._unit)

    def _links(self, centred: Array, variance: Array) -> tuple[Array, Array]:
        """Return R = tr A⁻¹CB⁻¹Cᵀ (K,) of kernels of standardised premiums, and the gradient of R (K, m).

        The differential is dR = 2 tr B⁻¹CᵀA⁻¹ dC − tr A⁻¹CB⁻¹CᵀA⁻¹ dA.
        """
        share = self._share
        scale = (1 / np.sqrt(variance + 1e-8)).astype(share.dtype)[:, None]
        z = centred * scale
        clipped = np.clip(z, -_MAX_CENTRE, _MAX_CENTRE)
        distance = clipped[:, None] - self._centres
        kernels = np.exp(distance * distance * (-0.5 / _WIDTH**2))
        centred_kernels = kernels - (kernels @ share)[:, :, None]
        weighted_kernels = share * centred_kernels
        a = (weighted_kernels @ centred_kernels.transpose(0, 2, 1)).astype(np.float64)
        diagonal = np.einsum("kii->ki", a)
        diagonal += RIDGE * diagonal.mean(axis=1, keepdims=True) + 1e-6
        c = (weighted_kernels @ self._functions).astype(np.float64)
        ac = np.linalg.solve(a, c)
        acb = ac @ self._inverse_covariance
        gradient_of_a = acb @ ac.transpose(0, 2, 1)
        # The last term comes from the ridge, which is proportional to the mean of the diagonal.
        diagonal = np.einsum("kii->ki", gradient_of_a)
        diagonal += RIDGE / _N_KERNELS * diagonal.sum(axis=1, keepdims=True)
        gradient_of_kernels = (
            acb.astype(share.dtype) @ self._functions.T - gradient_of_a.astype(share.dtype) @ centred_kernels
        )
        # The derivative is φ′(z) = −(z − centre) / width² φ. Beyond the outermost kernels, z is clipped, so
        # the derivative is 0.
        gradient_of_kernels *= kernels
        gradient_of_kernels *= distance
        gradient_of_z = share * gradient_of_kernels.sum(axis=1) * share.dtype.type(-2 / _WIDTH**2)
        gradient_of_z[np.abs(clipped) >= _MAX_CENTRE] = 0.0
        along_z = (gradient_of_z * z).sum(axis=1, keepdims=True)
        slope = (gradient_of_z - share * (gradient_of_z.sum(axis=1, keepdims=True) + z * along_z)) * scale
        return (acb * c).sum(axis=(1, 2)), slope
