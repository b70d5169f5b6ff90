"""L-BFGS for stacks: K smooth problems of one size minimised at once, each with its own steps.

>>> goal = np.array([[1.0, 2.0], [3.0, -1.0]])
>>> def bowls(x, which):
...     away = x - goal[which]
...     return (away**2).sum(axis=1), 2 * away
>>> found = minimise(bowls, np.zeros_like(goal))
>>> bool(np.abs(found.x - goal).max() < 1e-4), found.converged.tolist()
(True, [True, True])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Pairs of steps and changes of slope that are remembered.
_MEMORY = 10
#: Share of the decrease that the slope promises which a step has to bring (Armijo).
_SUFFICIENT = 1e-4
#: Share of the slope that may be left along the way where a step ends (Wolfe).
_FLAT = 0.9
#: Trials of a step. A problem for which none brings enough counts as settled: rounding is all that is left.
_TRIALS = 20


#: What is minimised: value (M,) and slope (M, P) at x (M, P), for the problems `which` (M,).
Objective = Callable[[Array, NDArray[np.int64]], tuple[Array, Array]]


@dataclass(frozen=True, kw_only=True)
class Minimum:
    """Where the descent has ended.

    Parameters
    ----------
    x
        (K, P).
    n_iter
        (K,) steps taken.
    converged
        (K,); False for a problem that had steps left to take, or is not finite at its start.
    """

    x: Array
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]


def minimise(
    objective: Objective,
    start: Array,
    *,
    max_iter: int = 200,
    tol: float | Array = 1e-6,
    on_step: Callable[[float], None] | None = None,
) -> Minimum:
    """Descend from `start` (K, P) until the last five steps of a problem brought less than `tol` together.

    `tol` is a number, or one a problem, (K,).

    Settled problems are asked no more. The result does not depend on what else is in the stack, but for
    rounding.

    Parameters
    ----------
    on_step
        Called after every step with the share of `max_iter`; what it raises ends the descent.

    Notes
    -----
    Nocedal and Wright (2006), Algorithms 7.4 and 7.5; a pair whose curvature is not positive is not
    remembered. Steps are searched for as is fit where the slope jumps, as that of a largest singular value
    does. Every value is finite that is accepted.
    """
    x = start.copy()
    every = np.arange(len(x))
    value, slope = objective(x, every)
    settled = ~np.isfinite(value)
    failed = settled.copy()
    n_iter = np.zeros_like(every)
    moves: list[Array] = []
    turns: list[Array] = []
    values = [value]
    # Problems without a memory go along the slope itself, whose length says little.
    blank = np.ones_like(settled)
    for step in range(max_iter):
        open_ = np.flatnonzero(~settled)
        if not len(open_):
            break
        way = _direction(slope, moves, turns)
        length = np.where(blank, 1 / np.maximum(np.linalg.norm(slope, axis=1), 1.0), 1.0)
        new_x, new_value, new_slope, moved = _search(objective, x, value, slope, way, length, open_)
        moves = [*moves[1 - _MEMORY :], np.where(moved[:, None], new_x - x, 0.0)]
        turns = [*turns[1 - _MEMORY :], np.where(moved[:, None], new_slope - slope, 0.0)]
        x, value, slope = new_x, new_value, new_slope
        n_iter += moved
        values.append(value)
        settled |= ~moved & blank
        # What is remembered may lead nowhere where the slope jumps: such a problem begins anew.
        blank = ~moved
        for remembered in (*moves, *turns):
            remembered[blank] = 0.0
        if step >= 4:
            settled |= values[-6] - value < tol
        if on_step is not None:
            on_step((step + 1) / max_iter)
    return Minimum(x=x, n_iter=n_iter, converged=settled & ~failed)


def _direction(slope: Array, moves: list[Array], turns: list[Array]) -> Array:
    """Where to go, (K, P): minus the slope times what is known of the inverse curvature."""
    q = slope.copy()
    known = []
    for s, y in zip(reversed(moves), reversed(turns), strict=True):
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
    """Find each open problem's step: x, value and slope there, and which have moved.

    A step that brings too little is shortened; one where it still goes down steeply is lengthened. Where
    trials run out, the last that brought enough is taken (Lewis and Overton 2013, Algorithm 2.6).
    """
    new_x, new_value, new_slope = x.copy(), value.copy(), slope.copy()
    moved = np.zeros_like(value, dtype=bool)
    low, high = np.zeros_like(value), np.full_like(value, np.inf)
    downhill = (way * slope).sum(axis=1)
    trying = open_
    for _ in range(_TRIALS):
        tried = x[trying] + length[trying, None] * way[trying]
        found, found_slope = objective(tried, trying)
        enough = found <= value[trying] + _SUFFICIENT * length[trying] * downhill[trying]
        flat = (found_slope * way[trying]).sum(axis=1) >= _FLAT * downhill[trying]
        good = trying[enough]
        new_x[good], new_value[good], new_slope[good] = tried[enough], found[enough], found_slope[enough]
        moved[good] = True
        low[good] = length[good]
        short = trying[~enough]
        high[short] = length[short]
        trying = trying[~(enough & flat)]
        if not len(trying):
            break
        length[trying] = np.where(
            np.isinf(high[trying]), 2 * length[trying], (low[trying] + high[trying]) / 2
        )
    return new_x, new_value, new_slope, moved
