"""Penalty of the tariffs on averages along s, with a closed-form gradient and without torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdash.training.penalties.rank_functions import RIDGE, of_column, scaled_functions, side_by_side

Array = NDArray[np.float64]

#: Strength of the penalty, such that a λ of at most 1 leads from the GLM to averages that hardly follow s.
_STRENGTH = 10.0
#: Weights of links that averages do not reveal: a constant weight, a further weight at λ = 1, and the λ up to
#: which it grows. The weight grows with λ, because reducing such links costs accuracy while averages still
#: follow s. At the last of these λ, the premium is about flat.
_LINKS, _MORE_LINKS, _MAX_LAM = 0.1, 2.5, 30.0
#: Weight of the variance of a premium at λ = 1, whether or not the premium follows s. The weight grows with
#: λ, because it must not shrink a premium whose averages still follow s.
_SPREAD = 1 / 60
#: Minimum variance that serves as a unit, in the loss's units: the square of a hundredth of the mean premium.
_MIN_UNIT = 1e-4
#: Ridge as a share of each function's variance, so that linearly dependent columns do not make the covariance
#: singular.
_RIDGE = 1e-4
#: Number of Gaussian bumps of the standardised premium, end of their range in both directions, and their
#: standard deviation.
_BUMPS, _REACH = 12, 3.5
_WIDTH = 2 * _REACH / (_BUMPS - 1)


class AveragesPenalty:
    """Penalty (10 Var E[U | s] + (1 + 25 λ) R Var U + λ / 60 Var U) / v, with v the variance of GLM premiums.

    In this penalty Ψ, E[U | s] is the projection of U on cubic splines of the ranks of s. R is the sum of
    squared correlations in ``fairdash.training.penalties.closed_forms.CanonicalPenalty``, which detects links
    that averages do not reveal; λ in the factor of R is limited to 30. The last term of Ψ leads to the flat
    premium. For residuals, this term is omitted, because the residuals of a flat premium follow s like the
    target. If relativities are fixed, the last term uses the premium divided by the fixed relativities,
    because other factors should offset these only for their link with s.

    Parameters
    ----------
    s
        Sensitive features (n, d).
    weight
        Weights of the rows, (n,).
    rows
        Numbers of the rows, (m,), out of n, that the penalty uses.
    number
        Floating-point type, float64 or float32.
    premium
        Premiums of the GLM, (m,).
    ends_flat
        Whether a large λ leads to a flat premium.
    fixed
        Product of each row's fixed relativities, (m,); a large λ then leads to this product instead.
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
        fixed: Array | None = None,
    ) -> None:
        all_rows = np.arange(len(s))
        v = side_by_side([of_column(column, all_rows, weight, scaled_functions) for column in s.T])[rows]
        share = weight[rows] / weight[rows].sum()
        self._unit = max(float(share @ (premium - share @ premium) ** 2), _MIN_UNIT)
        self._spread = _SPREAD if ends_flat else 0.0
        functions = v - share @ v
        among = functions.T @ (share[:, None] * functions)
        among[np.diag_indices_from(among)] = np.diag(among) * (1 + _RIDGE) + 1e-9
        covariance = functions.T @ (share[:, None] * functions) + RIDGE * np.eye(v.shape[1])
        self._share, self._functions = share.astype(number), functions.astype(number)
        self._weighted = (share[:, None] * functions).astype(number)
        # Small matrices remain in float64 for any type of the rows, because they are nearly singular.
        self._among, self._own = np.linalg.inv(among), np.linalg.inv(covariance)
        # The fixed relativities are divided by their average, because a common factor belongs to the base.
        self._fixed = None if fixed is None else (fixed / (share @ fixed)).astype(number)
        self._centres = np.linspace(-_REACH, _REACH, _BUMPS).astype(number)[:, None]

    def value_and_slope(self, u: Array, lam: Array) -> tuple[Array, Array]:
        """Return Ψ (K,), at least 0, of U (K, m) at λ (K,), and the slope of Ψ (K, m)."""
        share, number = self._share, u.dtype
        centred = u - (u @ share)[:, None]
        c = (centred @ self._weighted).astype(np.float64)
        projected = c @ self._among
        follows = (c * projected).sum(axis=1)
        variance = ((centred * centred) @ share).astype(np.float64)
        of_variance = 2 * share * centred
        links, of_links = self._links(centred, variance)
        strength = _STRENGTH * (_LINKS + _MORE_LINKS * np.minimum(lam, _MAX_LAM))
        value = _STRENGTH * follows + strength * links * variance
        slope = (2 * _STRENGTH * projected).astype(number) @ self._weighted.T
        slope += (strength * variance).astype(number)[:, None] * of_links
        slope += (strength * links).astype(number)[:, None] * of_variance
        if self._spread:
            spread, of_spread = variance, of_variance
            if self._fixed is not None:
                fitted = u / self._fixed
                fitted -= (fitted @ share)[:, None]
                spread, of_spread = (fitted * fitted) @ share, 2 * share * fitted / self._fixed
            value = value + self._spread * lam * spread
            slope += (self._spread * lam).astype(number)[:, None] * of_spread
        return value / self._unit, slope / number.type(self._unit)

    def _links(self, centred: Array, variance: Array) -> tuple[Array, Array]:
        """Return R = tr A⁻¹CB⁻¹Cᵀ (K,) of the bumps of standardised premiums, and the slope of R (K, m).

        The differential is dR = 2 tr B⁻¹CᵀA⁻¹ dC − tr A⁻¹CB⁻¹CᵀA⁻¹ dA.
        """
        share = self._share
        scale = (1 / np.sqrt(variance + 1e-8)).astype(share.dtype)[:, None]
        z = centred * scale
        inside = np.clip(z, -_REACH, _REACH)
        distance = inside[:, None] - self._centres
        bumps = np.exp(distance * distance * (-0.5 / _WIDTH**2))
        around = bumps - (bumps @ share)[:, :, None]
        weighed = share * around
        a = (weighed @ around.transpose(0, 2, 1)).astype(np.float64)
        diagonal = np.einsum("kii->ki", a)
        diagonal += RIDGE * diagonal.mean(axis=1, keepdims=True) + 1e-6
        c = (weighed @ self._functions).astype(np.float64)
        ac = np.linalg.solve(a, c)
        acb = ac @ self._own
        of_a = acb @ ac.transpose(0, 2, 1)
        # The last term comes from the ridge, which is a share of the mean diagonal.
        diagonal = np.einsum("kii->ki", of_a)
        diagonal += RIDGE / _BUMPS * diagonal.sum(axis=1, keepdims=True)
        of_bumps = acb.astype(share.dtype) @ self._functions.T - of_a.astype(share.dtype) @ around
        # The derivative is φ′(z) = −(z − centre) / width² φ; beyond the outermost bumps, z is constant, so
        # its slope is 0.
        of_bumps *= bumps
        of_bumps *= distance
        of_z = share * of_bumps.sum(axis=1) * share.dtype.type(-2 / _WIDTH**2)
        of_z[np.abs(inside) >= _REACH] = 0.0
        along = (of_z * z).sum(axis=1, keepdims=True)
        slope = (of_z - share * (of_z.sum(axis=1, keepdims=True) + z * along)) * scale
        return (acb * c).sum(axis=(1, 2)), slope
