"""Fitting of tariffs with many weights λ to one table: first the GLM (λ = 0), then the penalised models.

    minimise over β:  L(β) + (α ‖β‖² + Σ γ ‖D² v‖²) / c + λ Ψ(U, s)

Here, L is the mean deviance divided by c, the mean deviance of the constant model. The vector v contains the
values of a numeric column's curve, and the penalty on its second differences D²v makes the curve smooth.
Curves may be constrained to be monotone (:mod:`fairdash.tariff.shape`). Ψ is the fairness penalty, computed
on a fixed random sample of at most 20,000 rows. λ = 0 gives the GLM. If Ψ is also a penalty of the networks,
tariffs and networks minimise the same objective. The default penalty of tariffs contains a term proportional
to λ. For a large λ, it makes all premiums equal (:mod:`fairdash.tariff.stack`). Fixed relativities are an
offset: L and Ψ use premiums that include them, but fitting does not change them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.errors import OptionError
from fairdash.tariff.glm import fit_glm
from fairdash.tariff.shape import Shape, same_smoothness
from fairdash.tariff.smoothing import choose_smooth
from fairdash.tariff.terms import (
    CLAIMS_OF_BASE,
    Term,
    base_and_values,
    claims_of,
    design,
    extra_ridge,
    offset,
    premiums,
)
from fairdash.training.feature_encoder import TargetScale
from fairdash.training.losses import Loss
from fairdash.training.methods import METHODS, Method

if TYPE_CHECKING:
    from fairdash.training.penalties.base import BasePenalty

Array = NDArray[np.float64]

#: Id of the default penalty of tariffs.
AVERAGES = "averages"
#: Penalties for fitting a tariff: a map from ids to methods. The first penalty is for tariffs only, because
#: it needs the premiums of a fitted GLM. The other penalties are those of the networks without an adversary.
PENALTIES = MappingProxyType(
    {
        AVERAGES: Method(
            id=AVERAGES,
            title="Averages along the sensitive attribute",
            meaning="First reduces the dependence of average premiums on the sensitive attribute, then other "
            "dependence. A large λ makes all premiums equal, unless factors are fixed.",
            penalty="fairdash.tariff.averages:AveragesPenalty",
            source="fairdash",
        ),
        **{row.id: row for row in METHODS.values() if row.penalty is not None and not row.adversarial},
    }
)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Options of the fit of a tariff, apart from its terms.

    Parameters
    ----------
    loss
        Loss, which defines the error measure and the link function of the tariff.
    penalty
        Id in :data:`PENALTIES`.
    objective
        Id in :data:`fairdash.training.settings.OBJECTIVES`.
    alpha
        Weight of the squared coefficients, as in scikit-learn's ``TweedieRegressor``, if the target has mean
        1 (or variance 1 for squared error).
    smooth
        Weight γ ≥ 0 of the squared second differences of a curve's values, added to the penalty with weight
        α. One number is for all columns. In a map of columns to γ, columns not in the map have γ = 0.
        ``"auto"`` uses the weights that :func:`fairdash.tariff.smoothing.choose_smooth` selects.
    monotone
        Map of columns to constraints. For a numeric column, +1 means that its curve may only rise, and −1
        that it may only fall. For a category, the constraint is the order of levels in which values may only
        rise.
    credibility
        Number K of artificial claims, at the claim frequency of the base, that every value with few claims
        gets (:mod:`fairdash.tariff.terms`); 0 adds no claims.
    balance
        True if the premiums of the training rows must have the same sum as their targets.
    penalty_rows
        Maximum number of rows on which the penalty is computed; these rows are drawn once at random.
    max_iter
        Maximum number of steps of the optimiser.
    tol
        Tolerance: the optimiser stops when five steps together have reduced the objective by less than this
        value. The tolerance is multiplied by λ if λ is above 1 and a large λ does not lead to equal premiums,
        for example with fixed relativities. The term λ Ψ then grows in proportion to λ.
    """

    loss: Loss
    penalty: str = AVERAGES
    objective: str = "demographic_parity"
    alpha: float = 1e-5
    smooth: float | Mapping[str, float] | Literal["auto"] = 0.0
    monotone: Mapping[str, int | Sequence[str]] = field(default_factory=dict)
    credibility: float = CLAIMS_OF_BASE
    balance: bool = True
    penalty_rows: int = 20_000
    max_iter: int = 200
    tol: float = 1e-4

    @property
    def has_own_penalty(self) -> bool:
        """Return True if Ψ is the default penalty of tariffs."""
        return self.penalty == AVERAGES

    @property
    def penalty_class(self) -> type[BasePenalty]:
        """Return the class of Ψ if the networks use this penalty."""
        penalty = PENALTIES[self.penalty].penalty_class()
        assert penalty is not None
        return penalty


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """K fitted tariffs with the same terms, in the target's units.

    Parameters
    ----------
    multiplies
        True if premiums are products of relativities (log link) instead of sums of points.
    intercept
        Intercepts (K,).
    coefficients
        Coefficients (K, P).
    n_iter
        Number of optimiser steps that started from the GLM, (K,); 0 for λ = 0.
    converged
        True for each tariff whose optimiser has converged, (K,).
    glm_steps
        Number of steps of the GLM's fit, including a last step that may not have improved the fit.
    smooth
        Map of numeric columns to γ.
    glm
        Coefficients of the GLM in the units of the loss, (P + 1,); the last is the intercept.
    claims
        Number of training rows with a claim at each value of each term.
    """

    multiplies: bool
    intercept: Array
    coefficients: Array
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]
    glm_steps: int
    glm: Array
    smooth: Mapping[str, float] = field(default_factory=dict)
    claims: tuple[Array, ...] = ()

    def premiums(self, terms: Sequence[Term], table: pd.DataFrame) -> Array:
        """Return the premiums of K tariffs for every row of `table`, (K, n), in the target's units."""
        base, values = base_and_values(terms, intercept=self.intercept, coefficients=self.coefficients)
        return premiums(terms, table, base=base, values=values, multiplies=self.multiplies)


def fit_terms(
    terms: Sequence[Term], table: pd.DataFrame, y: Array, *, options: FitOptions, **fit_options: Any
) -> Fitted:
    """Fit one tariff for each λ with :func:`fit_stack`, using smoothness, constraints and credibility."""
    x, offsets, smooth = design(terms, table), offset(terms, table), options.smooth
    shape = Shape.of(terms, alpha=options.alpha, smooth=0.0, monotone=options.monotone)
    if isinstance(smooth, str):
        weights = {"sample_weight": fit_options["sample_weight"], "offset": offsets}
        smooth = choose_smooth(terms, x, y, loss=options.loss, alpha=options.alpha, **weights)
    smooth = smooth if isinstance(smooth, Mapping) else same_smoothness(terms, smooth)
    if any(smooth.values()):
        shape = Shape.of(terms, alpha=options.alpha, smooth=smooth, monotone=options.monotone)
    claims = claims_of(terms, table, y)
    ridge = extra_ridge(terms, claims, options.credibility, total=int((y != 0).sum()))
    shape.quadratic[:-1, :-1] += np.diag(ridge)
    solution = fit_stack(x, y, offset=offsets, shape=shape, options=options, **fit_options)
    return replace(solution, smooth=smooth, claims=claims)


def fit_stack(
    x: Array,
    y: Array,
    *,
    s: Array | None,
    sample_weight: Array | None,
    lams: Sequence[float],
    options: FitOptions,
    random_state: int,
    offset: Array | None = None,
    shape: Shape | None = None,
    start: Array | None = None,
    on_step: Callable[[float], None] | None = None,
) -> Fitted:
    """Fit one tariff per λ to the same training rows.

    Parameters
    ----------
    x
        Design matrix (n, P), as returned by :func:`fairdash.tariff.terms.design`.
    y
        Target (n,), in any unit.
    s
        Sensitive features (n, d), which are required if a λ is above 0.
    sample_weight
        Weights above 0, (n,), or None for equal weights.
    lams
        The K weights λ ≥ 0.
    random_state
        Seed of the sample of rows on which the penalty is computed.
    offset
        Logarithm of each row's product of fixed relativities, (n,) (:func:`fairdash.tariff.terms.offset`), or
        None if no relativity is fixed. An offset requires a log link.
    shape
        Penalties and constraints on curves, or None for only the penalty α ‖β‖².
    start
        Coefficients from which the GLM's fit starts, in the units of the loss, (P + 1,), or None for the
        default.
    on_step
        Function as in :func:`fairdash.tariff.stack.minimise`.
    """
    loss = options.loss
    if offset is not None and not loss.has_log_link:
        raise OptionError.of(
            "Fixed relativities need a multiplicative tariff, but this loss gives an additive tariff",
            "Choose a loss with a log link, such as “poisson”, or fix no relativities.",
            column="fixed",
        )
    weight = np.ones(len(y)) if sample_weight is None else sample_weight / sample_weight.mean()
    scale = TargetScale.of(y, loss, weight)
    target = scale.apply(y)
    shape = shape or Shape.ridge(x.shape[1], options.alpha)
    glm, glm_steps = fit_glm(x, target, weight, loss=loss, shape=shape, offset=offset, start=start)
    glm = shape.exact(glm)
    beta = np.repeat(glm[None], len(lams), axis=0)
    n_iter, converged = np.zeros(len(lams), dtype=np.int64), np.ones(len(lams), dtype=bool)
    fair = np.flatnonzero(np.array(lams) > 0)
    if len(fair):
        from fairdash.tariff.stack import TariffStack, minimise, minimise_monotone

        assert s is not None
        stack = TariffStack(
            np.column_stack([x, np.ones(len(x))]),
            target,
            s=s,
            weight=weight,
            lams=np.array(lams, dtype=float)[fair],
            start=glm,
            options=options,
            offset=offset,
            shape=shape,
            random_state=random_state,
        )
        ends_flat = options.penalty == AVERAGES and offset is None
        tol = options.tol * (1.0 if ends_flat else np.maximum(stack.lams, 1.0))
        settings: dict[str, Any] = {"max_iter": options.max_iter, "tol": tol, "on_step": on_step}
        if len(shape.rises):
            x_found, *progress = minimise_monotone(stack, **settings)
        else:
            values = stack.start
            if stack.has_many_rows:
                values, *_ = minimise(stack.quadratic_start, values, **settings | {"on_step": None})
            x_found, *progress = minimise(stack.value_and_slope, values, **settings)
        beta[fair] = stack.coefficients(x_found)
        n_iter[fair], converged[fair] = progress
    beta = shape.exact(beta)
    # The coefficients are converted from the units of the loss to the units of the target.
    intercept, coefficients = beta[:, -1], beta[:, :-1]
    if loss.has_log_link:
        intercept = intercept + np.log(scale.unit)
    else:
        intercept, coefficients = intercept * scale.unit + scale.shift, coefficients * scale.unit
    if options.balance:
        eta = x @ coefficients.T + intercept + (0.0 if offset is None else offset[:, None])
        mean = np.average(y, weights=weight)
        if loss.has_log_link:
            intercept = intercept + np.log(mean / np.average(np.exp(eta), axis=0, weights=weight))
        else:
            intercept = intercept + mean - np.average(eta, axis=0, weights=weight)
    return Fitted(
        multiplies=loss.has_log_link,
        intercept=intercept,
        coefficients=coefficients,
        n_iter=n_iter,
        converged=converged,
        glm_steps=glm_steps,
        glm=glm,
    )
