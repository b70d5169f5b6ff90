"""Objective of K fair tariffs for one table, computed together over all rows.

The default penalty measures, in units of premium, how much average premiums follow s. A correlation ignores
the size of the differences. If the signal in the claims is weak, a correlation favours premiums that vary
greatly in a few rows and hardly in the others. Such premiums look independent, but predict worse than one
flat premium.
The default penalty measures the differences themselves and is 0 for a flat premium. As λ grows, this penalty
first lowers differences of averages, then other links, and finally the remaining spread of the premium;
`python -m benchmarks.tariff_rivals` compares its path with simpler methods. The optimiser is L-BFGS for
stacks: K smooth problems of one size at once, each with steps of its own.

>>> goal = np.array([[1.0, 2.0], [3.0, -1.0]])
>>> def bowls(x, which):
...     away = x - goal[which]
...     return (away**2).sum(axis=1), 2 * away
>>> x, n_iter, converged = minimise(bowls, np.zeros_like(goal))
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

#: Number of pairs of steps and changes of the gradient in the L-BFGS memory.
_MEMORY = 10
#: Share of the predicted decrease that a step must reach (Armijo's condition).
_MIN_DECREASE = 1e-4
#: Share of the slope that may remain at the end of a step (Wolfe's condition).
_MAX_SLOPE_LEFT = 0.9
#: Maximum number of trials per step. If no trial decreases the objective enough, the problem has converged up
#: to rounding.
_TRIALS = 20
#: Maximum λ of the quadratic start, which replaces larger λ, because a nearly flat premium is a bad starting
#: point.
_MAX_START_LAM = 3.0
#: Maximum number of rounds of the active-set method.
_ROUNDS = 20

#: Objective function, which returns values (M,) and gradients (M, P) at x (M, P), for the problems `which`
#: (M,).
Objective = Callable[[Array, NDArray[np.int64]], tuple[Array, Array]]


class TariffStack:
    """Objective L + (α ‖β‖² and other penalties on curves) / c + λ Ψ of K tariffs, in suitable coordinates.

    In the coordinates z = Rβ, where RᵀR is the Fisher information of the GLM's deviance in units of the
    constant model's, the deviance is nearly round. These coordinates remove the scales of the table, such as
    distant breakpoints and rare levels.

    Parameters
    ----------
    x
        Design matrix (n, P + 1), whose last column is ones.
    y, weight
        Target and weights (n,), in the loss's units.
    s
        Sensitive features (n, d).
    lams
        Weights λ above 0, (K,).
    start
        Coefficients of the GLM, (P + 1,).
    options
        Options of the fit. If the tariff is balanced, its objective uses premiums that add up to their
        target. With a log link, balancing scales premiums and changes the dependence of residuals on s.
    offset
        Contribution of fixed relativities to η, (n,), or None if there are none.
    shape
        Shape of the curves, or None for α ‖β‖² only.
    random_state
        Seed of the sample of rows in the penalty.
    number
        Floating-point type for rows; coordinates and sums over rows are float64. None selects float32 if the
        penalty uses a sample of the rows, because memory access then dominates the time and float32 is
        precise enough for a sample.
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
            drawn = rng_of(Stream.PENALTY_ROWS, random_state).choice(n, options.penalty_rows, replace=False)
            rows = np.sort(drawn)
        self.number = number or (np.float64 if n == len(rows) else np.float32)
        self.loss, self.objective, self.lams = options.loss, OBJECTIVES[options.objective], lams
        share = weight / weight.sum()
        mean = share @ y
        # A factor does not change correlations and averages of the predictions themselves.
        is_balanced = options.balance and self.objective.uses_target and self.loss.has_log_link
        self.mean = float(mean) if is_balanced else None
        constant = np.full_like(y, math.log(mean) if self.loss.has_log_link else mean)
        self.unit = float(share @ self.loss.unit_deviance(constant, y))
        # The objective is twice scikit-learn's, which is half the mean deviance plus half of α ‖β‖².
        self.shape = (shape or Shape.ridge(len(start) - 1, options.alpha)).times(1.0, self.unit)
        fixed = np.zeros_like(y) if offset is None else offset
        eta = x @ start + fixed
        self._root = self._curvature(eta, x, share)
        # With one coordinate per row of memory, products with a few models run along the memory.
        if self.number is np.float64:
            self.z = np.ascontiguousarray(solve_triangular(self._root.T, x.T, lower=True))
        else:
            inverse = solve_triangular(self._root.T, np.eye(len(start)), lower=True)
            self.z = inverse.astype(self.number) @ x.astype(self.number).T
        self.start = np.repeat((self._root @ start)[None], len(lams), axis=0)
        #: The product maps coordinates to the steps of monotone factors, (m, P + 1).
        self.rises = solve_triangular(self._root.T, self.shape.rises.T, lower=True).T
        self.y, self.share, self.fixed = (array.astype(self.number) for array in (y, share, fixed))
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

    @property
    def has_many_rows(self) -> bool:
        """Return whether the penalty uses so few of the rows that a start on these rows saves time."""
        return self.z.shape[1] > 2 * self.z_seen.shape[1]

    def _curvature(self, eta: Array, x: Array, share: Array) -> Array:
        """Return the upper triangular R (P + 1, P + 1) with RᵀR the Fisher information at η (n,)."""
        mu = self.loss.prediction(eta)
        fisher = 2 * share * (mu ** (2 - self.loss.power) if self.loss.has_log_link else 1.0)
        square = gram(x, fisher / self.unit) + 2 * self.shape.quadratic
        # If columns are collinear, the Hessian is singular in some direction.
        square[np.diag_indices_from(square)] += 1e-6 * square.diagonal().mean()
        return np.asarray(np.linalg.cholesky(square).T, dtype=np.float64)

    def coefficients(self, z: Array) -> Array:
        """Return the coefficients β (K, P + 1) at coordinates (K, P + 1)."""
        beta: Array = solve_triangular(self._root, z.T, check_finite=False).T
        return beta

    def value_and_slope(self, z: Array, which: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return the objective (M,) of the tariffs `which` (M,), and its slope (M, P + 1), at coordinates z.

        If a step is so long that numbers are not finite, a shorter step is tried.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._value_and_slope(z, which)

    def quadratic_start(self, z: Array, which: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return value and slope with the parabola |z − z of the GLM|² instead of the GLM's objective.

        The parabola reflects all rows, but is computed only on the rows in the penalty, which gives a
        starting point for the descent.
        """
        difference = z - self.start[which]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            seen = z.astype(self.number) @ self.z_seen + self.fixed_seen
            psi, slope = self._penalty_at(seen, np.minimum(self.lams[which], _MAX_START_LAM))
        slope = (slope @ self.z_seen.T).astype(np.float64)
        return (difference**2).sum(axis=1) / 2 + psi, difference + slope

    def _penalty_at(self, seen: Array, lam: Array) -> tuple[Array, Array]:
        """Return λ Ψ (M,) at η (M, m) of the rows in the penalty, and its slope by η, for λ (M,)."""
        premium = self.loss.prediction(seen)
        psi, slope = self.penalty.value_and_slope(self.objective.audit(premium, self.y_seen), lam)
        slope = lam.astype(self.number)[:, None] * slope
        return lam * psi.astype(np.float64), slope * premium if self.loss.has_log_link else slope

    def _value_and_slope(self, z: Array, which: NDArray[np.int64]) -> tuple[Array, Array]:
        at, lacks = z.astype(self.number), np.zeros((len(z), 1), dtype=self.number)
        if self.mean is not None:
            # The correction makes the premiums add up; its gradient is minus their average along each
            # coordinate.
            logs = at @ self.z + self.fixed + np.log(self.share)
            part = softmax(logs, axis=1)
            lacks = self.number(math.log(self.mean)) - logsumexp(logs, axis=1, keepdims=True)
        error, slope, total = self._deviance(at, lacks)
        seen = at @ self.z_seen + self.fixed_seen + lacks
        psi, of_seen = self._penalty_at(seen, self.lams[which])
        slope += of_seen @ self.z_seen.T
        if self.mean is not None:
            total = total + of_seen.sum(axis=1, keepdims=True)
            slope -= total * (part @ self.z.T)
        beta = self.coefficients(z)
        pull = beta @ self.shape.quadratic
        slope += solve_triangular(self._root.T, 2 * pull.T, lower=True, check_finite=False).T
        return error + (pull * beta).sum(axis=1) + psi, slope

    def _deviance(self, at: Array, lacks: Array) -> tuple[Array, Array, Array]:
        """Return L (M,) with `lacks` (M, 1) added to η, and its gradients, (M, P + 1) and by `lacks` (M, 1).

        The deviance is computed in blocks of rows that fit in the processor's cache.
        """
        error, slope, total = np.zeros(len(at)), np.zeros(at.shape), np.zeros((len(at), 1))
        for start in range(0, len(self.y), BLOCK):
            rows = slice(start, start + BLOCK)
            z, y, share = self.z[:, rows], self.y[rows], self.share[rows] / self.number(self.unit)
            eta = at @ z + self.fixed[rows] + lacks
            error += self.loss.unit_deviance(eta, y) @ share
            of_error = self.loss.slope(eta, y) * share
            slope += of_error @ z.T
            total += of_error.sum(axis=1, keepdims=True)
        return error, slope, total


def minimise(
    objective: Objective,
    start: Array,
    *,
    max_iter: int = 200,
    tol: float | Array = 1e-6,
    on_step: Callable[[float], None] | None = None,
) -> tuple[Array, NDArray[np.int64], NDArray[np.bool_]]:
    """Descend from `start` (K, P) until the last five steps of a problem gained less than `tol` in total.

    The tolerance `tol` is a number, or an array with one tolerance per problem, (K,).

    Converged problems are not evaluated again. Up to rounding, the result of a problem does not depend on the
    rest of the stack.

    Parameters
    ----------
    on_step
        Function that is called after every step with the completed share of `max_iter` steps; an exception
        stops the descent.

    Returns
    -------
    x, n_iter, converged
        End of the descent, (K, P); number of steps, (K,); and whether each problem converged, (K,), which is
        False if its start is not finite.

    Notes
    -----
    The descent follows Nocedal and Wright (2006), Algorithms 7.4 and 7.5; pairs without positive curvature
    are not stored. The line search suits slopes with jumps, such as the slope of a largest singular value.
    Every accepted value is finite.
    """
    x = start.copy()
    problems = np.arange(len(x))
    value, slope = objective(x, problems)
    settled = ~np.isfinite(value)
    failed = settled.copy()
    n_iter = np.zeros_like(problems)
    moves: list[Array] = []
    changes: list[Array] = []
    values = [value]
    # Problems without a memory follow the gradient, whose length does not indicate the length of the step.
    blank = np.ones_like(settled)
    for step in range(max_iter):
        open_ = np.flatnonzero(~settled)
        if not len(open_):
            break
        way = _direction(slope, moves, changes)
        length = np.where(blank, 1 / np.maximum(np.linalg.norm(slope, axis=1), 1.0), 1.0)
        new_x, new_value, new_slope, moved = _search(objective, x, value, slope, way, length, open_)
        moves = [*moves[1 - _MEMORY :], np.where(moved[:, None], new_x - x, 0.0)]
        changes = [*changes[1 - _MEMORY :], np.where(moved[:, None], new_slope - slope, 0.0)]
        x, value, slope = new_x, new_value, new_slope
        n_iter += moved
        values.append(value)
        settled |= ~moved & blank
        # If the gradient jumps, the history of steps may mislead, so L-BFGS starts again without it.
        blank = ~moved
        for remembered in (*moves, *changes):
            remembered[blank] = 0.0
        if step >= 4:
            settled |= values[-6] - value < tol
        if on_step is not None:
            on_step((step + 1) / max_iter)
    return x, n_iter, settled & ~failed


def minimise_monotone(
    stack: TariffStack,
    *,
    max_iter: int,
    tol: float | Array,
    on_step: Callable[[float], None] | None = None,
) -> tuple[Array, NDArray[np.int64], NDArray[np.bool_]]:
    """Minimise as :func:`minimise` does, with steps (:class:`fairdash.tariff.shape.Shape`) of at least 0.

    The method is an active set (Nocedal and Wright 2006, Section 16.5): steps fixed at 0 leave a smaller
    problem without bounds. After this problem has converged, steps below 0 are also fixed, and steps that the
    slope pushes up are released, until nothing changes. Later rounds release no steps. Newly fixed steps
    begin at the nearest feasible point, which pools neighbours by their weight in these coordinates.
    """
    x, rises = stack.start.copy(), stack.rises
    held = x @ rises.T < MIN_STEP
    n_iter, converged = np.zeros(len(x), dtype=np.int64), np.ones(len(x), dtype=bool)
    open_ = np.arange(len(x))
    for round_ in range(_ROUNDS):
        bases = [np.linalg.qr(rises[held[k]].T)[0] for k in open_]

        def free(z: Array, which: NDArray[np.int64], bases: list[Array] = bases) -> Array:
            return np.stack([each - bases[k] @ (each @ bases[k]) for each, k in zip(z, which, strict=True)])

        def objective(
            z: Array, which: NDArray[np.int64], own: NDArray[np.int64] = open_, free: Any = free
        ) -> tuple[Array, Array]:
            value, slope = stack.value_and_slope(z, own[which])
            return value, free(slope, which)

        begin = free(x[open_], np.arange(len(open_)))
        tol_of = np.broadcast_to(tol, len(x))[open_]
        report = None if round_ else on_step
        x[open_], steps, settled = minimise(objective, begin, max_iter=max_iter, tol=tol_of, on_step=report)
        n_iter[open_] += steps
        converged[open_] = settled
        slope = stack.value_and_slope(x[open_], open_)[1]
        before = held.copy()
        for each, k in zip(slope, open_, strict=True):
            if round_ < _ROUNDS // 2:
                held[k, held[k]] = np.linalg.lstsq(rises[held[k]].T, each)[0] > 0
            held[k] |= rises @ x[k] < -MIN_STEP
        open_ = open_[(held != before)[open_].any(axis=1)]
        if not len(open_):
            break
    return x, n_iter, converged


def _direction(slope: Array, moves: list[Array], changes: list[Array]) -> Array:
    """Return the direction of the step, (K, P): minus the gradient times the approximate inverse Hessian."""
    q = slope.copy()
    known = []
    for s, y in zip(reversed(moves), reversed(changes), strict=True):
        curvature = (s * y).sum(axis=1)
        sound = curvature > 1e-10 * np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
        rho = np.where(sound, 1 / np.where(sound, curvature, 1.0), 0.0)
        a = rho * (s * q).sum(axis=1)
        q = q - a[:, None] * y
        known.append((s, y, rho, a))
    scale = np.ones_like(slope[:, 0])
    fixed = np.zeros_like(scale, dtype=bool)
    for _, y, rho, _ in known:
        newest = (rho > 0) & ~fixed
        size = (y * y).sum(axis=1)
        scale = np.where(newest, 1 / (np.where(newest, rho, 1.0) * np.maximum(size, 1e-300)), scale)
        fixed |= newest
    q = scale[:, None] * q
    for s, y, rho, a in reversed(known):
        b = rho * (y * q).sum(axis=1)
        q = q + (a - b)[:, None] * s
    return -q


def _search(
    objective: Objective,
    x: Array,
    value: Array,
    slope: Array,
    way: Array,
    length: Array,
    open_: NDArray[np.int64],
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Find the step of each open problem, and return its x, value and slope, and which problems moved.

    A step with too little progress is shortened, and a step that still descends steeply is lengthened. If the
    trials are used up, the last step with enough progress is used (Lewis and Overton 2013, Algorithm 2.6).
    """
    new_x, new_value, new_slope = x.copy(), value.copy(), slope.copy()
    moved = np.zeros_like(value, dtype=bool)
    low, high = np.zeros_like(value), np.full_like(value, np.inf)
    downhill = (way * slope).sum(axis=1)
    searching = open_
    for _ in range(_TRIALS):
        x_new = x[searching] + length[searching, None] * way[searching]
        new, slope_there = objective(x_new, searching)
        enough = new <= value[searching] + _MIN_DECREASE * length[searching] * downhill[searching]
        flat = (slope_there * way[searching]).sum(axis=1) >= _MAX_SLOPE_LEFT * downhill[searching]
        good = searching[enough]
        new_x[good], new_value[good], new_slope[good] = x_new[enough], new[enough], slope_there[enough]
        moved[good] = True
        low[good] = length[good]
        short = searching[~enough]
        high[short] = length[short]
        searching = searching[~(enough & flat)]
        if not len(searching):
            break
        length[searching] = np.where(
            np.isinf(high[searching]), 2 * length[searching], (low[searching] + high[searching]) / 2
        )
    return new_x, new_value, new_slope, moved
