"""What K fair tariffs of one table minimise, as one torch computation over all of its rows.

The default penalty is how far the premium's averages follow s, in premium. A correlation does not care how
large a premium's differences are. Where claims are weak that pays for premiums that a few rows hold far apart
and the rest nearly alike: they look independent, and predict worse than one flat premium does. This penalty
counts the differences themselves, so that a flat premium has none. As λ grows, the averages go first, then
other links, and last what is left of the premium's spread: `python -m benchmarks.tariff_rivals` compares the
path with those of simpler ways.

They go down by L-BFGS for stacks: K smooth problems of one size at once, each with its own steps.

>>> goal = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64)
>>> def bowls(x, which):
...     away = x - goal[which]
...     return (away**2).sum(dim=1), 2 * away
>>> x, n_iter, converged = minimise(bowls, torch.zeros_like(goal))
>>> bool((x - goal).abs().max() < 1e-4), converged.tolist()
(True, [True, True])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairdash.dependence.hgr_nn import shares
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.penalties.closed_forms import CanonicalPenalty
from fairdash.training.settings import TrainingSettings
from fairdash.utils.seeds import Stream, rng_of

if TYPE_CHECKING:
    from fairdash.tariff.fit import FitOptions

Array = NDArray[np.float64]

#: Times this, a λ of at most 1 goes from the GLM to averages that hardly follow s.
_STRENGTH = 10.0
#: What the links beyond the averages count for: so much, and so much more at λ = 1. That part grows with λ,
#: as other links cost accuracy while averages still follow s; up to a λ where the premium is about flat.
_LINKS, _MORE_LINKS, _UP_TO = 0.1, 2.5, 30.0
#: What a premium's variance counts for at λ = 1, whether or not it follows s. It grows with λ, too, as it
#: must not shrink a premium whose averages still follow s.
_SPREAD = 1 / 60
#: Least variance that is a unit, in the loss's units: a hundredth of the mean premium, squared.
_LEAST_UNIT = 1e-4
#: How much of the functions' covariance is their variance alone, so that columns that follow from one another
#: don't make it singular.
_RIDGE = 1e-4
#: Pairs of steps and changes of slope that are remembered.
_MEMORY = 10
#: Share of the decrease that the slope promises which a step has to bring (Armijo).
_SUFFICIENT = 1e-4
#: Share of the slope that may be left along the way where a step ends (Wolfe).
_FLAT = 0.9
#: Trials of a step. A problem for which none brings enough counts as settled: rounding is all that is left.
_TRIALS = 20

#: What is minimised: value (M,) and slope (M, P) at x (M, P), for the problems `which` (M,).
Objective = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class AveragesPenalty(CanonicalPenalty):
    """Ψ = (10 Var E[U | s] + (1 + 25 λ) R Var U + λ / 60 Var U) / v, v the variance of the GLM's premium.

    E[U | s] is the projection of U on cubic splines of the ranks of s, and R what
    :class:`fairdash.training.penalties.closed_forms.CanonicalPenalty` finds, which sees links that averages
    don't show; λ counts as 30 there if it is larger. The last part leads to the flat premium; it is left out
    for residuals, as a flat premium's follow s as the target does. Where relativities are fixed, the last
    part counts the premium ÷ them: no other factor should undo them but for their link with s.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._unit, self._lams, self._spread = 1.0, torch.zeros(1), 0.0
        self._fixed: Tensor | None = None

    def start_at(
        self, premium: Tensor, sample_weight: Tensor, *, ends_flat: bool, fixed: Tensor | None = None
    ) -> None:
        """Take the variance of this premium (m, 1) as unit, and say whether a large λ leads to a flat one.

        With `fixed`, the product of each row's fixed relativities (m, 1), it leads to them.
        """
        share = sample_weight / sample_weight.sum()
        variance = (share * (premium - (share * premium).sum()) ** 2).sum()
        self._unit = max(float(variance), _LEAST_UNIT)
        self._spread = _SPREAD if ends_flat else 0.0
        # In units of their average: one number for everybody is the base's, and fixes nothing.
        self._fixed = None if fixed is None else fixed / (share * fixed).sum()

    def at(self, lams: Tensor) -> None:
        """Say which λ (K,) the next premiums have."""
        self._lams = lams

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Ψ of shape (K,), at least 0."""
        share = shares(sample_weight)
        part = torch.full_like(u, 1 / u.shape[1]) if share is None else share
        centred = u - (part * u).sum(dim=1, keepdim=True)
        functions = v - (part * v).sum(dim=1, keepdim=True)
        weighed = (part * functions).transpose(1, 2)
        among = torch.bmm(weighed, functions)
        among.diagonal(dim1=1, dim2=2).mul_(1 + _RIDGE).add_(1e-9)
        c = torch.bmm(weighed, centred)
        follows = (c * torch.linalg.solve(among, c)).sum(dim=(1, 2))
        variance = (part * centred**2).sum(dim=(1, 2))
        links = super().forward(u, v, sample_weight)
        spread = variance
        if self._fixed is not None and self._spread:
            fitted = u / self._fixed
            spread = (part * (fitted - (part * fitted).sum(dim=1, keepdim=True)) ** 2).sum(dim=(1, 2))
        lam = self._lams.to(u)
        links = _STRENGTH * (_LINKS + _MORE_LINKS * lam.clamp_max(_UP_TO)) * links
        return (_STRENGTH * follows + links * variance + self._spread * lam * spread) / self._unit


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
        number: torch.dtype | None = None,
    ) -> None:
        n = len(y)
        rows = torch.arange(n)
        if n > options.penalty_rows:
            drawn = rng_of(Stream.PENALTY_ROWS, random_state).choice(n, options.penalty_rows, replace=False)
            rows = torch.as_tensor(np.sort(drawn))
        self.number = number or (torch.float64 if n == len(rows) else torch.float32)
        self.loss, self.objective = options.loss, OBJECTIVES[options.objective]
        design, target, mass, beta = (torch.as_tensor(each) for each in (x, y, weight, start))
        self.lams, share = torch.as_tensor(lams), mass / mass.sum()
        mean = (share * target).sum()
        # Correlations and averages of the predictions themselves don't change by a factor.
        is_balanced = options.balance and self.objective.uses_target and self.loss.has_log_link
        self.mean = float(mean) if is_balanced else None
        constant = (mean.log() if self.loss.has_log_link else mean).expand_as(target)
        self.unit = (share * self.loss.unit_deviance(constant, target)).sum()
        # Of scikit-learn's objective, half the mean deviance plus half of α ‖β‖², twice.
        self.shrinkage = torch.full_like(beta, options.alpha) / self.unit
        self.shrinkage[-1] = 0.0
        fixed = torch.zeros_like(target) if offset is None else torch.as_tensor(offset)
        self._root = self._curvature(design @ beta + fixed, design, share)
        # A coordinate a row: products with a few models then run along the memory.
        z = torch.linalg.solve_triangular(self._root.T, design.T, upper=False)
        self.z = z.to(self.number).contiguous()
        self.start = (self._root @ beta).expand(len(self.lams), -1)
        self.y, self.share, self.fixed = (each.to(self.number) for each in (target, share, fixed))
        self.y_seen, self.weight_seen = self.y[rows, None], mass[rows, None].to(self.number)
        self.z_seen, self.fixed_seen = self.z[:, rows].contiguous(), self.fixed[rows]
        self._see(torch.as_tensor(s), mass, rows, options)
        if isinstance(self.penalty, AveragesPenalty):
            self.penalty.start_at(
                self.loss.prediction(design[rows] @ beta + fixed[rows])[:, None],
                mass[rows, None],
                ends_flat=not self.objective.uses_target,
                fixed=None if offset is None else self.fixed_seen.exp()[:, None],
            )

    def _see(self, s: Tensor, mass: Tensor, rows: Tensor, options: FitOptions) -> None:
        """Make the penalty, and encode what it sees of s."""
        penalty_class = options.penalty_class
        v = penalty_class.encode(s[None], [torch.arange(len(s))], mass[None, :, None])[0, rows]
        count = len(self.lams)
        self.v = v.to(self.number)
        self.penalty = penalty_class(
            seeds=[0] * count,
            s=v[None],
            which_split=torch.zeros(count, dtype=torch.long),
            settings=TrainingSettings(),
        ).to("cpu", self.number)

    def _curvature(self, eta: Tensor, x: Tensor, share: Tensor) -> Tensor:
        """Upper triangular R (P + 1, P + 1) with RᵀR the Fisher information at η (n,)."""
        mu = self.loss.prediction(eta)
        fisher = 2 * share * (mu ** (2 - self.loss.power) if self.loss.has_log_link else 1.0)
        square = (x.T * (fisher / self.unit)) @ x + torch.diag(2 * self.shrinkage)
        # Columns that follow from one another have no curvature of their own along some way.
        square.diagonal().add_(1e-6 * square.diagonal().mean())
        return torch.linalg.cholesky(square).T

    def coefficients(self, z: Tensor) -> Tensor:
        """β (K, P + 1) of coordinates (K, P + 1)."""
        return torch.linalg.solve_triangular(self._root, z.T, upper=True).T

    def value_and_slope(self, z: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        """What the tariffs `which` (M,) minimise, (M,), and its slope (M, P + 1) at coordinates z."""
        at = z.to(self.number)
        eta, seen = at @ self.z + self.fixed, at @ self.z_seen + self.fixed_seen
        if self.mean is not None:
            # What must be added for the premiums to add up; it falls by their average along each coordinate.
            part = torch.softmax(eta + self.share.log(), dim=1)
            lacks = math.log(self.mean) - torch.logsumexp(eta + self.share.log(), dim=1, keepdim=True)
            eta, seen = eta + lacks, seen + lacks
        error = self.loss.unit_deviance(eta, self.y) @ self.share / self.unit
        of_error = self.loss.slope(eta, self.y) * (self.share / self.unit)
        seen = seen[:, :, None].requires_grad_()
        u = self.objective.audit(self.loss.prediction(seen), self.y_seen)
        count = len(which)
        lam = self.lams[which]
        if isinstance(self.penalty, AveragesPenalty):
            self.penalty.at(lam)
        psi: Tensor = self.penalty(u, self.v.expand(count, -1, -1), self.weight_seen.expand(count, -1, -1))
        (of_seen,) = torch.autograd.grad((lam * psi).sum(), seen)
        slope = of_error @ self.z.T + of_seen[:, :, 0] @ self.z_seen.T
        if self.mean is not None:
            total = of_error.sum(dim=1, keepdim=True) + of_seen[:, :, 0].sum(dim=1, keepdim=True)
            slope = slope - total * (part @ self.z.T)
        slope = slope.to(z)
        beta = self.coefficients(z)
        shrunk = self.shrinkage * beta
        slope += torch.linalg.solve_triangular(self._root.T, 2 * shrunk.T, upper=False).T
        return (error.to(z) + (shrunk * beta).sum(dim=1) + lam * psi.to(z)).detach(), slope


def minimise(
    objective: Objective,
    start: Tensor,
    *,
    max_iter: int = 200,
    tol: float | Tensor = 1e-6,
    on_step: Callable[[float], None] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Descend from `start` (K, P) until the last five steps of a problem brought less than `tol` together.

    `tol` is a number, or one a problem, (K,).

    Settled problems are asked no more. The result does not depend on what else is in the stack, but for
    rounding.

    Parameters
    ----------
    on_step
        Called after every step with the share of `max_iter`; what it raises ends the descent.

    Returns
    -------
    x, n_iter, converged
        Where the descent has ended, (K, P); the steps taken, (K,); and booleans, (K,): False for a problem
        that had steps left to take, or is not finite at its start.

    Notes
    -----
    Nocedal and Wright (2006), Algorithms 7.4 and 7.5; a pair whose curvature is not positive is not
    remembered. Steps are searched for as is fit where the slope jumps, as that of a largest singular value
    does. Every value is finite that is accepted.
    """
    x = start.clone()
    every = torch.arange(len(x), device=x.device)
    value, slope = objective(x, every)
    settled = torch.zeros(len(x), dtype=torch.bool, device=x.device)
    settled |= ~torch.isfinite(value)
    failed = settled.clone()
    n_iter = torch.zeros_like(every)
    moves: list[Tensor] = []
    turns: list[Tensor] = []
    values = [value]
    # Problems without a memory go along the slope itself, whose length says little.
    blank = torch.ones_like(settled)
    for step in range(max_iter):
        open_ = torch.nonzero(~settled).squeeze(1)
        if not len(open_):
            break
        way = _direction(slope, moves, turns)
        length = torch.where(blank, 1 / slope.norm(dim=1).clamp_min(1.0), 1.0)
        new_x, new_value, new_slope, moved = _search(objective, x, value, slope, way, length, open_)
        moves = [*moves[1 - _MEMORY :], torch.where(moved[:, None], new_x - x, 0.0)]
        turns = [*turns[1 - _MEMORY :], torch.where(moved[:, None], new_slope - slope, 0.0)]
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
    return x, n_iter, settled & ~failed


def _direction(slope: Tensor, moves: list[Tensor], turns: list[Tensor]) -> Tensor:
    """Where to go, (K, P): minus the slope times what is known of the inverse curvature."""
    q = slope.clone()
    known = []
    for s, y in zip(reversed(moves), reversed(turns), strict=True):
        curvature = (s * y).sum(dim=1)
        sound = curvature > 1e-10 * s.norm(dim=1) * y.norm(dim=1)
        rho = torch.where(sound, 1 / torch.where(sound, curvature, 1.0), 0.0)
        a = rho * (s * q).sum(dim=1)
        q = q - a[:, None] * y
        known.append((s, y, rho, a))
    scale = torch.ones_like(slope[:, 0])
    fixed = torch.zeros_like(scale, dtype=torch.bool)
    for _, y, rho, _ in known:
        newest = (rho > 0) & ~fixed
        size = (y * y).sum(dim=1)
        scale = torch.where(newest, 1 / (torch.where(newest, rho, 1.0) * size.clamp_min(1e-300)), scale)
        fixed |= newest
    q = scale[:, None] * q
    for s, y, rho, a in reversed(known):
        b = rho * (y * q).sum(dim=1)
        q = q + (a - b)[:, None] * s
    return -q


def _search(
    objective: Objective,
    x: Tensor,
    value: Tensor,
    slope: Tensor,
    way: Tensor,
    length: Tensor,
    open_: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Find each open problem's step: x, value and slope there, and which have moved.

    A step that brings too little is shortened; one where it still goes down steeply is lengthened. Where
    trials run out, the last that brought enough is taken (Lewis and Overton 2013, Algorithm 2.6).
    """
    new_x, new_value, new_slope = x.clone(), value.clone(), slope.clone()
    moved = torch.zeros_like(value, dtype=torch.bool)
    low, high = torch.zeros_like(value), torch.full_like(value, torch.inf)
    downhill = (way * slope).sum(dim=1)
    trying = open_
    for _ in range(_TRIALS):
        tried = x[trying] + length[trying, None] * way[trying]
        found, found_slope = objective(tried, trying)
        enough = found <= value[trying] + _SUFFICIENT * length[trying] * downhill[trying]
        flat = (found_slope * way[trying]).sum(dim=1) >= _FLAT * downhill[trying]
        good = trying[enough]
        new_x[good], new_value[good], new_slope[good] = tried[enough], found[enough], found_slope[enough]
        moved[good] = True
        low[good] = length[good]
        short = trying[~enough]
        high[short] = length[short]
        trying = trying[~(enough & flat)]
        if not len(trying):
            break
        length[trying] = torch.where(
            high[trying].isinf(), 2 * length[trying], (low[trying] + high[trying]) / 2
        )
    return new_x, new_value, new_slope, moved
