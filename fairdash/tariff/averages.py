"""Penalty on the dependence of average premiums on s, with a closed-form gradient and without torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdash.training.penalties.rank_functions import RIDGE, of_column, scaled_functions, side_by_side

Array = NDArray[np.float64]

#: At λ = 1, this factor makes average premiums almost independent of s.
_STRENGTH = 10.0
#: `_LINK_WEIGHT` + `_LINK_SLOPE` · λ: weight of dependence that group averages do not show. It grows with λ,
#: because reducing this dependence costs accuracy while averages still depend on s. `_MAX_LAM`: λ above which
#: the weight stays constant; the premium is then almost flat.
_LINK_WEIGHT, _LINK_SLOPE, _MAX_LAM = 0.1, 2.5, 30.0
#: Weight of the variance of the premium at λ = 1, including variance that is unrelated to s. The weight is
#: proportional to λ. A small λ therefore reduces the dependence of averages on s, but hardly the variance.
_VARIANCE_WEIGHT = 1 / 60
#: Smallest variance by which the penalty is divided: (1 % of the mean premium)², in the units of the loss.
_MIN_UNIT = 1e-4
#: Ridge as a share of each function's variance. It keeps the covariance matrix invertible if columns are
#: linearly dependent.
_RIDGE = 1e-4
#: `_N_KERNELS`: number of Gaussian kernels of the standardised premium. `_MAX_CENTRE`: largest distance of a
#: kernel's centre from 0. `_WIDTH`: standard deviation of the kernels.
_N_KERNELS, _MAX_CENTRE = 12, 3.5
_WIDTH = 2 * _MAX_CENTRE / (_N_KERNELS - 1)


class AveragesPenalty:
    """Penalty (10 Var E[U | s] + (1 + 25 λ) R Var U + λ / 60 Var U) / v; v is the variance of GLM premiums.

    In this penalty Ψ, E[U | s] is the projection of U on cubic splines of the ranks of s. R is the sum of
    squared correlations in ``fairdash.training.penalties.closed_forms.CanonicalPenalty``, which detects
    dependence that averages do not show. In the factor 1 + 25 λ, a λ above 30 counts as 30. For a large λ,
    the last term of Ψ makes all premiums equal (flat). If U is the residual, the last term is omitted: the
    residuals of equal premiums depend on s as much as the target does. If relativities are fixed, the last
    term uses the premium divided by the fixed relativities. The other factors should offset only the part of
    the fixed relativities that depends on s, and no other differences.

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
        True if a large λ makes all premiums equal.
    fixed_scale
        Product of each row's fixed relativities, (m,), or None if no relativity is fixed. With fixed
        relativities, a large λ makes premiums proportional to this product.
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
        # The base contains the common factor of the fixed relativities, so they are divided by their average.
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
        # The last term is the derivative of the ridge, which is proportional to the mean of the diagonal.
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
