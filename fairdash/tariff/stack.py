"""What K fair tariffs of one table minimise, as one torch computation over all of its rows."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fairdash.tariff.averages import AveragesPenalty
from fairdash.training.losses import Loss
from fairdash.training.objectives import Objective
from fairdash.training.penalties.base import BasePenalty
from fairdash.training.settings import TrainingSettings


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
    lams
        (K,) above 0.
    v
        (m, q) encoded sensitive features of the penalty's rows.
    rows
        (m,) numbers of those rows.
    start
        (P + 1,) the GLM's coefficients.
    alpha
        Weight of the squared coefficients, without the intercept's.
    offset
        (n,) what fixed relativities add to η, or None.
    penalty_class
        Ψ.
    balanced
        Whether the tariff is judged with premiums that add up to their target, as it will be: with a log link
        that scales premiums, and so changes how residuals depend on s.
    number
        What rows are computed in, whatever they come in; coordinates and sums of rows are in float64.
    """

    def __init__(
        self,
        *,
        x: Tensor,
        y: Tensor,
        weight: Tensor,
        lams: Tensor,
        v: Tensor,
        rows: Tensor,
        start: Tensor,
        loss: Loss,
        alpha: float,
        objective: Objective,
        penalty_class: type[BasePenalty],
        offset: Tensor | None = None,
        balanced: bool = False,
        number: torch.dtype = torch.float64,
    ) -> None:
        self.share = weight / weight.sum()
        self.loss, self.objective = loss, objective
        self.lams, self.number = lams, number
        mean = (self.share * y).sum()
        self.mean = float(mean) if balanced and loss.has_log_link else None
        constant = (mean.log() if loss.has_log_link else mean).expand_as(y)
        self.unit = (self.share * loss.unit_deviance(constant, y)).sum()
        # Of scikit-learn's objective, half the mean deviance plus half of α ‖β‖², twice.
        self.shrinkage = torch.full_like(start, alpha) / self.unit
        self.shrinkage[-1] = 0.0
        fixed = torch.zeros_like(y) if offset is None else offset
        self._root = self._curvature(x @ start + fixed, x)
        # A coordinate a row: products with a few models then run along the memory.
        self.z = torch.linalg.solve_triangular(self._root.T, x.T, upper=False).to(number).contiguous()
        self.start = (self._root @ start).expand(len(lams), -1)
        self.y, self.share, self.v = y.to(number), self.share.to(number), v.to(number)
        self.y_seen, self.weight_seen = self.y[rows, None], weight[rows, None].to(number)
        self.z_seen = self.z[:, rows].contiguous()
        self.fixed, self.fixed_seen = fixed.to(number), fixed[rows].to(number)
        which = torch.zeros(len(lams), dtype=torch.long)
        self.penalty = penalty_class(
            seeds=[0] * len(lams), s=v[None], which_split=which, settings=TrainingSettings()
        ).to("cpu", number)
        if isinstance(self.penalty, AveragesPenalty):
            premium = loss.prediction(x[rows] @ start + fixed[rows])[:, None]
            self.penalty.start_at(
                premium,
                weight[rows, None],
                ends_flat=not objective.uses_target,
                fixed=None if offset is None else self.fixed_seen.exp()[:, None],
            )

    def _curvature(self, eta: Tensor, x: Tensor) -> Tensor:
        """Upper triangular R (P + 1, P + 1) with RᵀR the Fisher information at η (n,)."""
        mu = self.loss.prediction(eta)
        fisher = 2 * self.share * (mu ** (2 - self.loss.power) if self.loss.has_log_link else 1.0)
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
