"""What K fair tariffs of one table minimise, as one computation over all of its rows.

The default penalty is how far the premium's averages follow s, in premium. A correlation does not care how
large a premium's differences are. Where claims are weak that pays for premiums that a few rows hold far apart
and the rest nearly alike: they look independent, and predict worse than one flat premium does. This penalty
counts the differences themselves, so that a flat premium has none. As λ grows, the averages go first, then
other links, and last what is left of the premium's spread: `python -m benchmarks.tariff_rivals` compares the
path with those of simpler ways.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import logsumexp, softmax

from fairdash.tariff.averages import AveragesPenalty
from fairdash.training.objectives import OBJECTIVES
from fairdash.utils.seeds import Stream, rng_of

if TYPE_CHECKING:
    from fairdash.tariff.fit import FitOptions
    from fairdash.tariff.network_penalty import NetworkPenalty

Array = NDArray[np.float64]


class TariffStack:
    """L + α ‖β‖² / c + λ Ψ of K tariffs, in coordinates in which the deviance is about round.

    These coordinates z = Rβ, with RᵀR the Fisher information of the GLM's deviance in units of the
    constant's, spare the descent the table's own scales: breakpoints far apart and rare levels.

    Parameters
    ----------
    x
        (n, P + 1) design, a column of ones last.
    y, weight
        (n,), in the loss's units.
    s
        (n, d) sensitive features.
    lams
        (K,) above 0.
    start
        (P + 1,) the GLM's coefficients.
    options
        How they are fitted. A tariff to be balanced is judged with premiums that add up to their target: with
        a log link that scales premiums, and so changes how residuals depend on s.
    offset
        (n,) what fixed relativities add to η, or None.
    random_state
        Seed of the rows that the penalty sees.
    number
        What rows are computed in; coordinates and sums of rows are in float64. None for float32 where the
        penalty sees some rows only: memory takes the time there, and a sample of the rows is not exact to
        float32's last digits.
    """

    def __init__(
        self,
        x: Array,
        y: Array,
        *,
        s: Array,
        weight: Array,
        lams: Array,
        start: Array,
        options: FitOptions,
        offset: Array | None = None,
        random_state: int = 0,
        number: type[Any] | None = None,
    ) -> None:
        n = len(y)
        rows = np.arange(n)
        if n > options.penalty_rows:
            drawn = rng_of(Stream.PENALTY_ROWS, random_state).choice(n, options.penalty_rows, replace=False)
            rows = np.sort(drawn)
        self.number = number or (np.float64 if n == len(rows) else np.float32)
        self.loss, self.objective, self.lams = options.loss, OBJECTIVES[options.objective], lams
        share = weight / weight.sum()
        mean = share @ y
        # Correlations and averages of the predictions themselves don't change by a factor.
        is_balanced = options.balance and self.objective.uses_target and self.loss.has_log_link
        self.mean = float(mean) if is_balanced else None
        constant = np.full_like(y, math.log(mean) if self.loss.has_log_link else mean)
        self.unit = float(share @ self.loss.unit_deviance(constant, y))
        # Of scikit-learn's objective, half the mean deviance plus half of α ‖β‖², twice.
        self.shrinkage = np.full_like(start, options.alpha / self.unit)
        self.shrinkage[-1] = 0.0
        fixed = np.zeros_like(y) if offset is None else offset
        eta = x @ start + fixed
        self._root = self._curvature(eta, x, share)
        # A coordinate a row: products with a few models then run along the memory.
        self.z = np.ascontiguousarray(solve_triangular(self._root.T, x.T, lower=True), dtype=self.number)
        self.start = np.repeat((self._root @ start)[None], len(lams), axis=0)
        self.y, self.share, self.fixed = (each.astype(self.number) for each in (y, share, fixed))
        self.y_seen, self.fixed_seen = self.y[rows], self.fixed[rows]
        self.z_seen = np.ascontiguousarray(self.z[:, rows])
        self.penalty: AveragesPenalty | NetworkPenalty
        if options.has_own_penalty:
            self.penalty = AveragesPenalty(
                s, weight, rows, self.number,
                premium=self.loss.prediction(eta[rows]),
                ends_flat=not self.objective.uses_target,
                fixed=None if offset is None else np.exp(offset[rows]),
            )  # fmt: skip
        else:
            from fairdash.tariff.network_penalty import NetworkPenalty

            self.penalty = NetworkPenalty(options.penalty_class, s, weight, rows, self.number)

    def _curvature(self, eta: Array, x: Array, share: Array) -> Array:
        """Upper triangular R (P + 1, P + 1) with RᵀR the Fisher information at η (n,)."""
        mu = self.loss.prediction(eta)
        fisher = 2 * share * (mu ** (2 - self.loss.power) if self.loss.has_log_link else 1.0)
        square = (x.T * (fisher / self.unit)) @ x + np.diag(2 * self.shrinkage)
        # Columns that follow from one another have no curvature of their own along some way.
        square[np.diag_indices_from(square)] += 1e-6 * square.diagonal().mean()
        root: Array = np.linalg.cholesky(square).T
        return root

    def coefficients(self, z: Array) -> Array:
        """β (K, P + 1) of coordinates (K, P + 1)."""
        found: Array = solve_triangular(self._root, z.T, check_finite=False).T
        return found

    def value_and_slope(self, z: Array, which: NDArray[np.int64]) -> tuple[Array, Array]:
        """What the tariffs `which` (M,) minimise, (M,), and its slope (M, P + 1) at coordinates z.

        A step too far leads to numbers that are not finite: it is then tried shorter.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._value_and_slope(z, which)

    def _value_and_slope(self, z: Array, which: NDArray[np.int64]) -> tuple[Array, Array]:
        at = z.astype(self.number)
        eta, seen = at @ self.z + self.fixed, at @ self.z_seen + self.fixed_seen
        if self.mean is not None:
            # What must be added for the premiums to add up; it falls by their average along each coordinate.
            logs = eta + np.log(self.share)
            part = softmax(logs, axis=1)
            lacks = self.number(math.log(self.mean)) - logsumexp(logs, axis=1, keepdims=True)
            eta, seen = eta + lacks, seen + lacks
        error = self.loss.unit_deviance(eta, self.y) @ self.share / self.number(self.unit)
        of_error = self.loss.slope(eta, self.y) * (self.share / self.number(self.unit))
        lam, premium = self.lams[which], self.loss.prediction(seen)
        psi, of_seen = self.penalty.value_and_slope(self.objective.audit(premium, self.y_seen), lam)
        of_seen = lam.astype(self.number)[:, None] * of_seen
        if self.loss.has_log_link:
            of_seen = of_seen * premium
        slope = of_error @ self.z.T + of_seen @ self.z_seen.T
        if self.mean is not None:
            total = of_error.sum(axis=1, keepdims=True) + of_seen.sum(axis=1, keepdims=True)
            slope = slope - total * (part @ self.z.T)
        slope = slope.astype(np.float64)
        beta = self.coefficients(z)
        shrunk = self.shrinkage * beta
        slope += solve_triangular(self._root.T, 2 * shrunk.T, lower=True, check_finite=False).T
        return error.astype(np.float64) + (shrunk * beta).sum(axis=1) + lam * psi.astype(np.float64), slope
