"""Penalties and constraints that make curves smooth and, if requested, monotone.

Curves are smoothed as P-splines (Eilers and Marx 1996): the squared second differences of a curve's values,
on the scale of η, are added to the objective. All second differences have the same weight, whatever the
distance between breakpoints. Breakpoints at quantiles have about the same number of rows, and therefore about
the same noise. Cross-validation selects the weight (:mod:`fairdash.tariff.smoothing`).

>>> curve = Factor(column="age", kind=BREAKPOINT, cells=(20.0, 40.0, 60.0), base=0, shares=(0.3, 0.4, 0.3))
>>> shape = Shape.of([curve], alpha=0.0, smooth=0.5, monotone={"age": 1})
>>> line, bent = np.array([0.1, 0.1, 0.0]), np.array([0.1, -0.1, 0.0])
>>> [round(float(shape.value_and_half_gradient(beta)[0]), 9) for beta in (line, shape.exact(bent))]
[0.0, 0.005]
>>> shape.exact(bent).tolist()
[0.1, 0.0, 0.0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from fairdash.errors import Checks, OptionError
from fairdash.tariff.terms import BAND, BREAKPOINT, FIXED, Factor, Interaction, Term, blocks_of, level_text
from fairdash.utils.text import few

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Weight of squared violations of monotonicity. It is so large that the remaining violations are negligible.
_VIOLATION_WEIGHT = 1e4
#: A step of a monotone factor below this size is set to 0, because rounding in exp() could reverse its sign.
MIN_STEP = 1e-9


class Shape:
    """Penalty β'Qβ + κ ‖min(Gβ, 0)‖² on coefficients, second differences and steps against the constraint.

    For the coefficients of a numeric column, Q is α I + γ S, where S gives the squared second differences;
    for other coefficients, Q is α I. The matrix G maps coefficients to the steps of monotone factors from one
    value to the next; steps in the allowed direction are positive.

    Parameters
    ----------
    quadratic
        Matrix Q, (P + 1, P + 1); the last coefficient is the intercept, which is not penalised.
    rises
        Matrix G, (m, P + 1).
    violation_weight
        Weight κ of steps against the constraint.
    factors
        For each monotone factor: the factor, the slice of its coefficients, its direction and the order of
        its values.
    """

    def __init__(
        self,
        quadratic: Array,
        rises: Array,
        violation_weight: float = _VIOLATION_WEIGHT,
        factors: Sequence[tuple[Factor, slice, int, Index]] = (),
    ) -> None:
        self.quadratic, self.rises, self.violation_weight, self.factors = (
            quadratic,
            rises,
            violation_weight,
            tuple(factors),
        )

    @classmethod
    def ridge(cls, width: int, alpha: float) -> Self:
        """Return the penalty α ‖β‖², without second differences and constraints, for P coefficients."""
        return cls(np.diag(np.append(np.full(width, alpha), 0.0)), np.empty((0, width + 1)))

    @classmethod
    def of(
        cls,
        terms: Sequence[Term],
        *,
        alpha: float,
        smooth: float | Mapping[str, float],
        monotone: Mapping[str, int | Sequence[str]],
    ) -> Self:
        """Return the penalty for `terms`; raise an OptionError if a column cannot be smooth or monotone."""
        smooth = smooth if isinstance(smooth, Mapping) else same_smoothness(terms, smooth)
        _require_curves(terms, smooth, monotone)
        squares, rises = [np.zeros((0, 0))], [np.zeros((0, 0))]
        factors: list[tuple[Factor, slice, int, Index]] = []
        for term, block in zip(terms, blocks_of(terms), strict=True):
            square, rise = np.zeros((term.width, term.width)), np.zeros((0, term.width))
            if isinstance(term, Factor) and term.kind != FIXED:
                # The matrix maps coefficients to values. The value of missing cells is left out.
                values = term.values(np.eye(term.width))[:, : term.n_places].T
                if is_curve(term):
                    differences = np.diff(values, 2, axis=0)
                    square = smooth.get(term.column, 0.0) * differences.T @ differences
                if term.column in monotone:
                    sign, order = _direction(term, monotone[term.column])
                    rise = sign * np.diff(values[order], axis=0)
                    factors.append((term, block, sign, order))
            squares.append(square)
            rises.append(rise)
        shape = cls.ridge(sum(term.width for term in terms), alpha)
        shape.quadratic[:-1, :-1] += block_diag(*squares)
        shape.rises = np.pad(block_diag(*rises), ((0, 0), (0, 1)))
        shape.factors = tuple(factors)
        return shape

    @property
    def is_ridge(self) -> bool:
        """Return True if the penalty is only α ‖β‖², as in scikit-learn."""
        ridge = Shape.ridge(len(self.quadratic) - 1, self.alpha)
        return not len(self.rises) and np.array_equal(self.quadratic, ridge.quadratic)

    @property
    def alpha(self) -> float:
        """Weight α, if the penalty is only α ‖β‖²."""
        return float(self.quadratic[0, 0])

    def times(self, numerator: float, denominator: float) -> Shape:
        """Return this penalty times the ratio of the arguments."""
        quadratic, violation_weight = (
            self.quadratic * numerator / denominator,
            self.violation_weight * numerator / denominator,
        )
        return Shape(quadratic, self.rises, violation_weight, self.factors)

    def value_and_half_gradient(self, beta: Array) -> tuple[Array, Array]:
        """Return β'Qβ + κ ‖min(Gβ, 0)‖², (...), at β (..., P + 1), and half the gradient, (..., P + 1)."""
        violations = np.minimum(beta @ self.rises.T, 0.0)
        penalty_gradient = beta @ self.quadratic + self.violation_weight * violations @ self.rises
        return (penalty_gradient * beta).sum(axis=-1), penalty_gradient

    def violation_hessian(self, beta: Array) -> Array:
        """Return κ G'G, (P + 1, P + 1), using only the rows of G with negative steps at β (P + 1,)."""
        violated = self.rises[self.rises @ beta < 0]
        return self.violation_weight * violated.T @ violated

    def exact(self, beta: Array) -> Array:
        """Return β (..., P + 1) with allowed steps: steps that are negative or below `MIN_STEP` become 0."""
        beta = beta.copy()
        rises = np.maximum(beta @ self.rises.T, 0.0)
        rises[rises < MIN_STEP] = 0.0
        for factor, block, sign, order in self.factors:
            steps, rises = np.split(rises, [factor.n_places - 1], axis=-1)
            if factor.kind == BREAKPOINT:
                values = steps
            else:
                values = np.insert(np.cumsum(steps, axis=-1), 0, 0.0, axis=-1)[..., np.argsort(order)]
                values = np.delete(values - values[..., [factor.base]], factor.base, axis=-1)
            beta[..., block.start : block.start + values.shape[-1]] = sign * values
        return beta


def is_curve(term: Term) -> TypeGuard[Factor]:
    """Return True if the term is a numeric factor, whose values form a curve."""
    return isinstance(term, Factor) and term.kind in (BREAKPOINT, BAND)


def _direction(term: Factor, directions: int | Sequence[str]) -> tuple[int, Index]:
    """Return the direction, +1 or −1, of a monotone factor, and the order of its values (n_places,)."""
    if isinstance(directions, int):
        return directions, np.arange(term.n_places)
    rank = {level_text(level): k for k, level in enumerate(directions)}
    return 1, np.argsort([rank[level] for level in term.cells]).astype(np.int64)


def same_smoothness(terms: Sequence[Term], smooth: float) -> dict[str, float]:
    """Return a map from the column of every curve to the same γ."""
    return {term.column: smooth for term in terms if is_curve(term)}


def _require_curves(
    terms: Sequence[Term], smooth: Mapping[str, float], monotone: Mapping[str, int | Sequence[str]]
) -> None:
    """Raise an OptionError if columns cannot be smooth or monotone; it lists them, with remedies."""
    checks = Checks(OptionError)
    factors = {term.column: term for term in terms if isinstance(term, Factor)}
    for name in smooth:
        fits = name in factors and is_curve(factors[name])
        checks.require(fits, "smooth", f"“{name}” is not a numeric feature", "Leave it out.")
    paired = {part.column for term in terms if isinstance(term, Interaction) for part in term.parts}
    for name, direction in monotone.items():
        leave = "Leave the column out of monotone"
        if name not in factors:
            text, hint = f"There is no feature called “{name}”", "Name columns of X that are not sensitive."
        elif factors[name].kind == FIXED:
            text, hint = f"The relativities of “{name}” are fixed", f"{leave}, or out of fixed."
        elif name in paired:
            text = f"“{name}” is in an interaction, whose relativities could violate the constraint"
            hint = f"{leave}, or out of interactions."
        elif is_curve(factors[name]):
            text, hint = f"“{name}” has no valid direction", "Give +1 if it may only rise, −1 if only fall."
            fits = not isinstance(direction, (bool, Sequence)) and direction in (1, -1)
            checks.require(fits, "monotone", text, hint)
            continue
        else:
            text, hint = _order_problem(factors[name], direction)
            checks.require(not text, "monotone", text, hint)
            continue
        checks.require(False, "monotone", text, hint)
    checks.finish()


def _order_problem(factor: Factor, directions: object) -> tuple[str, str]:
    """Return the problem with the order of a category's levels ("" if there is none), and the remedy."""
    name = factor.column
    hint = f"List its levels, starting with the lowest relativity: {few(factor.cells)}."
    if isinstance(directions, str) or not isinstance(directions, Sequence):
        return f"“{name}” is a category, whose levels have no order", hint
    levels = [level_text(level) for level in directions]
    if len(set(levels)) < len(levels):
        return f"A level of “{name}” appears twice", "Keep one; 3, 3.0 and “3” are the same level."
    absent = [level for level in factor.cells if level not in levels]
    return f"The order of “{name}” lacks {few(absent)}" if absent else "", hint
