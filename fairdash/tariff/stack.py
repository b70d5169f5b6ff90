"""Objective functions of K fair tariffs for one table, and an optimiser that minimises them together.

The default penalty measures, in units of premium, how much average premiums depend on s. A correlation would
ignore how large the differences between premiums are. If the signal in the claims is weak, a penalty on a
correlation favours premiums that differ greatly in a few rows and hardly differ in all others. These premiums
have a low correlation with s, but predict worse than one premium for all customers. The default penalty is 0
if all premiums are equal. As λ grows, this penalty first reduces differences between averages, then other
dependence on s, and finally the remaining variance of the premium. `python -m benchmarks.tariff_rivals`
compares the resulting tariffs with tariffs of simpler methods. The optimiser, L-BFGS, minimises K smooth
functions with the same number of variables at once, each with its own step length.

>>> goal = np.array([[1.0, 2.0], [3.0, -1.0]])
>>> def parabolas(x, which):
...     difference = x - goal[which]
...     return (difference**2).sum(axis=1), 2 * difference
>>> x, n_iter, converged = minimise(parabolas, np.zeros_like(goal))
>>> bool(np.abs(x - goal).max() < 1e-4), converged.tolist()
(True, [True, True])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import logsumexp, softmax

from fairdash.tariff.averages import AveragesPenalty
from fairdash.tariff.glm import BLOCK, gram
from fairdash.tariff.shape import MIN_STEP, Shape
from fairdash.training.settings import OBJECTIVES
from fairdash.utils.seeds import Stream, rng_of

if TYPE_CHECKING:
    from fairdash.tariff.fit import FitOptions
    from fairdash.tariff.network_penalty import NetworkPenalty

Array = NDArray[np.float64]

#: L-BFGS stores this number of previous steps, and the changes of the gradient that they caused.
_MEMORY = 10
#: Minimum decrease of the objective in a step, as a share of the predicted decrease (Armijo's condition).
_MIN_DECREASE = 1e-4
#: Maximum slope at the end of a step, as a share of the slope at its start (Wolfe's condition).
_MAX_SLOPE_LEFT = 0.9
#: Maximum number of step lengths to try. If none of them decreases the objective enough, the problem has
#: converged up to rounding.
_TRIALS = 20
#: A starting point is computed with at most this λ. A larger λ would give an almost constant premium, which
#: is a poor starting point.
_MAX_START_LAM = 3.0
#: Maximum number of rounds of the active-set method for monotone factors.
_ROUNDS = 20

#: Function that computes values (M,) and gradients (M, P) from points x (M, P) and the numbers of M problems.
Objective = Callable[[Array, NDArray[np.int64]], tuple[Array, Array]]


class TariffStack:
    """Objective L + (α ‖β‖² + penalties on curves) / c + λ Ψ of K tariffs, in rescaled coordinates.

    The coordinates are z = Rβ, where RᵀR is the expected Hessian of the objective without Ψ, at the GLM. In
    these coordinates, the level sets of the objective near the GLM are almost spheres. The optimiser
    therefore needs few steps, even for tables with distant breakpoints or rare levels.

    Parameters
    ----------
    x
        Design matrix (n, P + 1), whose last column is ones.
    y, weight
        Target, in the units of the loss, and weights, (n,).
    s
        Sensitive features (n, d).
    lams
        Weights λ above 0, (K,).
    start
        Coefficients of the GLM, (P + 1,).
    options
        Options of the fit. If residuals are penalised and the tariff is balanced, the objective uses balanced
        premiums. With a log link, balancing multiplies premiums by a factor, which changes the dependence of
        residuals on s.
    offset
        Logarithm of each row's product of fixed relativities, (n,), or None if no relativity is fixed.
    shape
        Penalties and constraints on curves, or None for the penalty α ‖β‖² only.
    random_state
        Seed of the sample of rows on which Ψ is computed.
    number
        Floating-point type of arrays with one entry per row; coordinates and sums over rows are float64. None
        means float32 if Ψ is computed on a sample of the rows, and float64 otherwise. With a sample, memory
        access takes most of the time, and float32 is precise enough.
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
        shape: Shape | None = None,
        random_state: int = 0,
        number: type[Any] | None = None,
    ) -> None:
        n = len(y)
        rows = np.arange(n)
        if n > options.penalty_rows:
            sampled_rows = rng_of(Stream.PENALTY_ROWS, random_state).choice(
                n, options.penalty_rows, replace=False
            )
            rows = np.sort(sampled_rows)
        self.number = number or (np.float64 if n == len(rows) else np.float32)
        self.loss, self.objective, self.lams = options.loss, OBJECTIVES[options.objective], lams
        share = weight / weight.sum()
        mean = share @ y
        # Premiums are balanced only for residuals with a log link. In other cases, balancing does not change
        # the dependence of the assessed variable on s.
        is_balanced = options.balance and self.objective.uses_target and self.loss.has_log_link
        self.mean = float(mean) if is_balanced else None
        constant = np.full_like(y, math.log(mean) if self.loss.has_log_link else mean)
        self.unit = float(share @ self.loss.unit_deviance(constant, y))
        # This objective is twice scikit-learn's objective, which is half the mean deviance plus half of α
        # ‖β‖².
        self.shape = (shape or Shape.ridge(len(start) - 1, options.alpha)).times(1.0, self.unit)
        offsets = np.zeros_like(y) if offset is None else offset
        eta = x @ start + offsets
        self._root = self._curvature(eta, x, share)
        # Each coordinate is contiguous in memory, which speeds up products with the coordinates of a few
        # models.
        if self.number is np.float64:
            self.z = np.ascontiguousarray(solve_triangular(self._root.T, x.T, lower=True))
        else:
            inverse = solve_triangular(self._root.T, np.eye(len(start)), lower=True)
            self.z = inverse.astype(self.number) @ x.astype(self.number).T
        self.start = np.repeat((self._root @ start)[None], len(lams), axis=0)
        #: Matrix (m, P + 1) that maps coordinates to the steps of monotone factors.
        self.rises = solve_triangular(self._root.T, self.shape.rises.T, lower=True).T
        self.y, self.share, self.fixed = (array.astype(self.number) for array in (y, share, offsets))
        self.penalty_y, self.penalty_fixed = self.y[rows], self.fixed[rows]
        self.penalty_z = np.ascontiguousarray(self.z[:, rows])
        self.penalty: AveragesPenalty | NetworkPenalty
        if options.has_own_penalty:
            self.penalty = AveragesPenalty(
                s, weight, rows, self.number,
                premium=self.loss.prediction(eta[rows]),
                ends_flat=not self.objective.uses_target,
                fixed_scale=None if offset is None else np.exp(offset[rows]),
            )  # fmt: skip
        else:
            from fairdash.tariff.network_penalty import NetworkPenalty

            self.penalty = NetworkPenalty(options.penalty_class, s, weight, rows, self.number)

    @property
    def has_many_rows(self) -> bool:
        """Return True if Ψ uses less than half of the rows, so that :meth:`quadratic_start` saves time."""
        return self.z.shape[1] > 2 * self.penalty_z.shape[1]

    def _curvature(self, eta: Array, x: Array, share: Array) -> Array:
        """Return the upper triangular R (P + 1, P + 1); RᵀR is the expected Hessian, without Ψ, at η."""
        mu = self.loss.prediction(eta)
        fisher = 2 * share * (mu ** (2 - self.loss.power) if self.loss.has_log_link else 1.0)
        square = gram(x, fisher / self.unit) + 2 * self.shape.quadratic
        # A small ridge is added, because the Hessian is singular if columns are collinear.
        square[np.diag_indices_from(square)] += 1e-6 * square.diagonal().mean()
        return np.asarray(np.linalg.cholesky(square).T, dtype=np.float64)

    def coefficients(self, z: Array) -> Array:
        """Return the coefficients β (K, P + 1) that correspond to coordinates z (K, P + 1)."""
        beta: Array = solve_triangular(self._root, z.T, check_finite=False).T
        return beta

    def value_and_slope(self, z: Array, which: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return objectives (M,) and gradients (M, P + 1) of the tariffs with numbers `which` (M,), at z.

        A value that is not finite causes no warning, because the optimiser then tries a shorter step.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._value_and_slope(z, which)

    def quadratic_start(self, z: Array, which: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return value and gradient of λ Ψ plus a quadratic approximation of the GLM's objective.

        The approximation is ‖z − z₀‖² / 2, where z₀ belongs to the GLM. This approximation accounts for all
        rows, but value and gradient are computed from the rows of Ψ only. The minimum is the starting point
        for the optimiser.
        """
        difference = z - self.start[which]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            penalty_eta = z.astype(self.number) @ self.penalty_z + self.penalty_fixed
            psi, slope = self._penalty_at(penalty_eta, np.minimum(self.lams[which], _MAX_START_LAM))
        slope = (slope @ self.penalty_z.T).astype(np.float64)
        return (difference**2).sum(axis=1) / 2 + psi, difference + slope

    def _penalty_at(self, penalty_eta: Array, lam: Array) -> tuple[Array, Array]:
        """Return λ Ψ (M,) for λ (M,) and η (M, m) of the rows that Ψ uses, and the gradient in η."""
        premium = self.loss.prediction(penalty_eta)
        psi, slope = self.penalty.value_and_slope(self.objective.audit(premium, self.penalty_y), lam)
        slope = lam.astype(self.number)[:, None] * slope
        return lam * psi.astype(np.float64), slope * premium if self.loss.has_log_link else slope

    def _value_and_slope(self, z: Array, which: NDArray[np.int64]) -> tuple[Array, Array]:
        eta, correction = z.astype(self.number), np.zeros((len(z), 1), dtype=self.number)
        if self.mean is not None:
            # The correction is added to η, so that the premiums are balanced. Its gradient is minus the
            # average of each coordinate, weighted by premiums.
            logs = eta @ self.z + self.fixed + np.log(self.share)
            premium_shares = softmax(logs, axis=1)
            correction = self.number(math.log(self.mean)) - logsumexp(logs, axis=1, keepdims=True)
        error, slope, total = self._deviance(eta, correction)
        penalty_eta = eta @ self.penalty_z + self.penalty_fixed + correction
        psi, gradient_of_psi = self._penalty_at(penalty_eta, self.lams[which])
        slope += gradient_of_psi @ self.penalty_z.T
        if self.mean is not None:
            total = total + gradient_of_psi.sum(axis=1, keepdims=True)
            slope -= total * (premium_shares @ self.z.T)
        beta = self.coefficients(z)
        half_gradient = beta @ self.shape.quadratic
        slope += solve_triangular(self._root.T, 2 * half_gradient.T, lower=True, check_finite=False).T
        return error + (half_gradient * beta).sum(axis=1) + psi, slope

    def _deviance(self, at: Array, correction: Array) -> tuple[Array, Array, Array]:
        """Return L (M,) at η + correction (M, 1), and derivatives in z (M, P + 1) and correction (M, 1).

        The deviance is computed in blocks of rows that fit in the processor's cache.
        """
        error, slope, total = np.zeros(len(at)), np.zeros(at.shape), np.zeros((len(at), 1))
        for start in range(0, len(self.y), BLOCK):
            rows = slice(start, start + BLOCK)
            z, y, share = self.z[:, rows], self.y[rows], self.share[rows] / self.number(self.unit)
            eta = at @ z + self.fixed[rows] + correction
            error += self.loss.unit_deviance(eta, y) @ share
            gradient_of_error = self.loss.slope(eta, y) * share
            slope += gradient_of_error @ z.T
            total += gradient_of_error.sum(axis=1, keepdims=True)
        return error, slope, total


def minimise(
    objective: Objective,
    start: Array,
    *,
    max_iter: int = 200,
    tol: float | Array = 1e-6,
    on_step: Callable[[float], None] | None = None,
) -> tuple[Array, NDArray[np.int64], NDArray[np.bool_]]:
    """Minimise K functions from `start` (K, P) with L-BFGS.

    A problem stops when its last five steps together have decreased its function by less than `tol`: one
    number, or one tolerance per problem, (K,).

    Converged problems are not evaluated again. Up to rounding, the result of a problem does not depend on the
    other problems.

    Parameters
    ----------
    on_step
        Function that is called after every step with the number of steps divided by `max_iter`; an exception
        in it stops the optimiser.

    Returns
    -------
    x, n_iter, converged
        Final points, (K, P); numbers of steps, (K,); and True for each problem that has converged, (K,). If a
        function is not finite at the start, its problem has not converged.

    Notes
    -----
    The method follows Nocedal and Wright (2006), Algorithms 7.4 and 7.5; pairs without positive curvature are
    not used. The line search also suits functions whose gradient jumps, such as a largest singular value.
    Every accepted value is finite.
    """
    x = start.copy()
    problems = np.arange(len(x))
    value, slope = objective(x, problems)
    stopped = ~np.isfinite(value)
    failed = stopped.copy()
    n_iter = np.zeros_like(problems)
    steps: list[Array] = []
    changes: list[Array] = []
    values = [value]
    # Without stored steps, L-BFGS uses the gradient, whose length is unrelated to a suitable step length.
    has_no_memory = np.ones_like(stopped)
    for step in range(max_iter):
        open_ = np.flatnonzero(~stopped)
        if not len(open_):
            break
        direction = _direction(slope, steps, changes)
        length = np.where(has_no_memory, 1 / np.maximum(np.linalg.norm(slope, axis=1), 1.0), 1.0)
        new_x, new_value, new_slope, moved = _search(objective, x, value, slope, direction, length, open_)
        steps = [*steps[1 - _MEMORY :], np.where(moved[:, None], new_x - x, 0.0)]
        changes = [*changes[1 - _MEMORY :], np.where(moved[:, None], new_slope - slope, 0.0)]
        x, value, slope = new_x, new_value, new_slope
        n_iter += moved
        values.append(value)
        stopped |= ~moved & has_no_memory
        # If the gradient has jumped, the direction from stored steps may be wrong, so L-BFGS starts again
        # without them.
        has_no_memory = ~moved
        for remembered in (*steps, *changes):
            remembered[has_no_memory] = 0.0
        if step >= 4:
            stopped |= values[-6] - value < tol
        if on_step is not None:
            on_step((step + 1) / max_iter)
    return x, n_iter, stopped & ~failed


def minimise_monotone(
    stack: TariffStack, *, max_iter: int, tol: float | Array, on_step: Callable[[float], None] | None = None
) -> tuple[Array, NDArray[np.int64], NDArray[np.bool_]]:
    """Minimise the objective of `stack`, with steps of monotone factors constrained to be at least 0.

    The steps are those of :class:`fairdash.tariff.shape.Shape`. The method is an active-set method (Nocedal
    and Wright 2006, Section 16.5). In each round, some steps are fixed at 0, and :func:`minimise` solves the
    remaining unconstrained problem, which is smaller. Then, steps below 0 are also fixed at 0, and a fixed
    step is released if increasing it would lower the objective. The second half of the rounds releases no
    steps. The rounds end when the set of fixed steps no longer changes. Each round starts from the nearest
    point at which all fixed steps are 0.
    """
    x, rises = stack.start.copy(), stack.rises
    active = x @ rises.T < MIN_STEP
    n_iter, converged = np.zeros(len(x), dtype=np.int64), np.ones(len(x), dtype=bool)
    open_ = np.arange(len(x))
    for round_ in range(_ROUNDS):
        bases = [np.linalg.qr(rises[active[k]].T)[0] for k in open_]

        def project(z: Array, which: NDArray[np.int64], bases: list[Array] = bases) -> Array:
            return np.stack([row - bases[k] @ (row @ bases[k]) for row, k in zip(z, which, strict=True)])

        def objective(
            z: Array, which: NDArray[np.int64], own: NDArray[np.int64] = open_, project: Any = project
        ) -> tuple[Array, Array]:
            value, slope = stack.value_and_slope(z, own[which])
            return value, project(slope, which)

        start_values = project(x[open_], np.arange(len(open_)))
        tol_of = np.broadcast_to(tol, len(x))[open_]
        report = None if round_ else on_step
        x[open_], steps, is_converged = minimise(
            objective, start_values, max_iter=max_iter, tol=tol_of, on_step=report
        )
        n_iter[open_] += steps
        converged[open_] = is_converged
        slope = stack.value_and_slope(x[open_], open_)[1]
        active_before = active.copy()
        for row, k in zip(slope, open_, strict=True):
            if round_ < _ROUNDS // 2:
                active[k, active[k]] = np.linalg.lstsq(rises[active[k]].T, row)[0] > 0
            active[k] |= rises @ x[k] < -MIN_STEP
        open_ = open_[(active != active_before)[open_].any(axis=1)]
        if not len(open_):
            break
    return x, n_iter, converged


def _direction(slope: Array, steps: list[Array], changes: list[Array]) -> Array:
    """Return the directions of the next steps, (K, P): minus approximate inverse Hessian times gradient."""
    q = slope.copy()
    directions = []
    for s, y in zip(reversed(steps), reversed(changes), strict=True):
        curvature = (s * y).sum(axis=1)
        sound = curvature > 1e-10 * np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
        rho = np.where(sound, 1 / np.where(sound, curvature, 1.0), 0.0)
        a = rho * (s * q).sum(axis=1)
        q = q - a[:, None] * y
        directions.append((s, y, rho, a))
    scale = np.ones_like(slope[:, 0])
    is_fixed = np.zeros_like(scale, dtype=bool)
    for _, y, rho, _ in directions:
        newest = (rho > 0) & ~is_fixed
        size = (y * y).sum(axis=1)
        scale = np.where(newest, 1 / (np.where(newest, rho, 1.0) * np.maximum(size, 1e-300)), scale)
        is_fixed |= newest
    q = scale[:, None] * q
    for s, y, rho, a in reversed(directions):
        b = rho * (y * q).sum(axis=1)
        q = q + (a - b)[:, None] * s
    return -q


def _search(
    objective: Objective,
    x: Array,
    value: Array,
    slope: Array,
    direction: Array,
    length: Array,
    open_: NDArray[np.int64],
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Find a step length for each unsolved problem; return x, values, gradients, and True for moved problems.

    A step is shortened if it decreases the function too little, and lengthened if the function still falls
    steeply at its end. After the maximum number of trials, the last step with a sufficient decrease is used
    (Lewis and Overton 2013, Algorithm 2.6).
    """
    new_x, new_value, new_slope = x.copy(), value.copy(), slope.copy()
    is_flipped = np.zeros_like(value, dtype=bool)
    low, high = np.zeros_like(value), np.full_like(value, np.inf)
    downhill = (direction * slope).sum(axis=1)
    searching = open_
    for _ in range(_TRIALS):
        x_new = x[searching] + length[searching, None] * direction[searching]
        new, slope_there = objective(x_new, searching)
        enough = new <= value[searching] + _MIN_DECREASE * length[searching] * downhill[searching]
        flat = (slope_there * direction[searching]).sum(axis=1) >= _MAX_SLOPE_LEFT * downhill[searching]
        good = searching[enough]
        new_x[good], new_value[good], new_slope[good] = x_new[enough], new[enough], slope_there[enough]
        is_flipped[good] = True
        low[good] = length[good]
        too_short = searching[~enough]
        high[too_short] = length[too_short]
        searching = searching[~(enough & flat)]
        if not len(searching):
            break
        length[searching] = np.where(
            np.isinf(high[searching]), 2 * length[searching], (low[searching] + high[searching]) / 2
        )
    return new_x, new_value, new_slope, is_flipped
