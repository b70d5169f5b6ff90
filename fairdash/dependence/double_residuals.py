"""What given columns C leave of u and of functions ψ of s, each taken off by regressions that did not see the
row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.classical import standardised
from fairdash.dependence.conditional_means import (
    N_FOLDS,
    Given,
    as_given,
    draw_folds,
    ridge_out_of_fold,
    smooth_functions,
    spline_functions,
    trees_out_of_fold,
)
from fairdash.dependence.grouping import as_groups, group_rows
from fairdash.dependence.measuring import as_stack, as_weights
from fairdash.errors import OptionError
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Smooth functions ψ of each sensitive column, besides indicators of its ends.
_SMOOTH = 4
#: Share of the rows at either end of s that has an indicator of its own: smooth functions miss a step there.
_END = 0.05
#: A function of s of whose variance C leaves less than this share is told by C: nothing is left to compare.
_LEFT_OF_S = 1e-3
#: Rows that trees are fitted on, at most.
TREE_ROWS = 20_000
_FEWEST_ROWS = 50


@dataclass(frozen=True, eq=False)
class DoubleResiduals:
    """What C leaves of u and of functions of s, each taken off on rows that did not fit.

    Attributes
    ----------
    u : (n,) array
        u − E[u|C], in the units of u.
    psi : (n, J) array
        ψ(s) − E[ψ(s)|C]; the functions have variance 1, the smooth ones of each column of s first.
    smooth : (J,) array of bool
        Which of them are smooth: the others are indicators of the ends of s.
    left_of_u, left_of_psi : float, (J,) array
        Share of the variance that is left.
    weight : (n,) array
        With mean 1.
    rows : (n,) array of int
        Which rows of the data these are.
    regressions
        How E[·|C] was fitted, in words.
    """

    u: Array
    psi: Array
    smooth: NDArray[np.bool_]
    left_of_u: float
    left_of_psi: Array
    weight: Array
    rows: Index
    regressions: str


def double_residuals(
    u: ArrayLike,
    s: ArrayLike,
    *,
    given: ArrayLike | pd.Series | pd.DataFrame | Given,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    regression: Literal["splines", "trees"] = "splines",
    random_state: int | None = 0,
) -> DoubleResiduals:
    """What C leaves of u and of functions of s; see :func:`assess_conditional_dependence`.

    The conditional mean of u along s among equals is to be fitted on these (Robinson 1988, Econometrica 56).

    Raises
    ------
    OptionError
        As :func:`assess_conditional_dependence`.
    """
    a, b = as_stack(u, s, single=True)
    n = a.shape[1]
    b = b[0][:, None] if b.ndim == 2 else b[0]
    weight = as_weights(sample_weight, a.shape)
    table = given if isinstance(given, Given) else as_given(given, n)
    codes = as_groups(groups, n)
    rows = np.arange(n) if weight is None else np.flatnonzero(weight[0] > 0)
    words = ""
    if regression == "trees" and len(rows) > TREE_ROWS:
        rng = rng_of(Stream.CONDITIONAL_ROWS, random_state)
        if codes is None:
            rows = np.sort(rng.choice(rows, TREE_ROWS, replace=False))
        else:
            rows = rows[group_rows(np.unique(codes[rows], return_inverse=True)[1], rng, at_most=TREE_ROWS)]
        words = f" on {len(rows):,} rows drawn at random"
    if len(rows) < _FEWEST_ROWS:
        raise OptionError.of(
            "Too few rows for regressions on the given columns",
            f"At least {_FEWEST_ROWS} must count.",
            column="given",
            count=len(rows),
        )
    own = np.ones(len(rows)) if weight is None else weight[0][rows] / weight[0][rows].mean()
    table = table.of(rows)
    psi, smooth = _functions_of_s(b[rows])
    targets = np.column_stack([standardised(a[0][rows], own), psi])
    folds = draw_folds(len(rows), None if codes is None else as_groups(codes[rows], len(rows)), random_state)
    if regression == "trees":
        fitted = trees_out_of_fold(table, targets, own, folds, random_state)
        how = "boosted trees"
    else:
        functions, penalty, how = spline_functions(table)
        fitted = ridge_out_of_fold(functions, penalty, targets, own, folds)
    left = targets - fitted
    spread = np.average(targets**2, axis=0, weights=own) - np.average(targets, axis=0, weights=own) ** 2
    share = np.average(left**2, axis=0, weights=own) / np.where(spread > 0, spread, 1.0)
    kept = (share[1:] > _LEFT_OF_S) & (spread[1:] > 0)
    if not (kept & smooth).any():
        raise OptionError.of(
            "The given columns tell the sensitive one: rows that are alike in them do not differ in it",
            "Give fewer columns.",
            column="given",
        )
    scale = np.sqrt(np.average((a[0][rows] - np.average(a[0][rows], weights=own)) ** 2, weights=own))
    return DoubleResiduals(
        u=left[:, 0] * scale,
        psi=left[:, 1:][:, kept],
        smooth=smooth[kept],
        left_of_u=float(share[0]),
        left_of_psi=share[1:][kept],
        weight=own,
        rows=rows,
        regressions=f"{how}{words}, {N_FOLDS} folds",
    )


def _functions_of_s(s: Array) -> tuple[Array, NDArray[np.bool_]]:
    """ψ of every column, products of the first ones of two columns, indicators of the ends; (n, J), (J,)."""
    smooth = [smooth_functions(column, _SMOOTH) for column in s.T if column.min() < column.max()]
    if not smooth:
        raise OptionError.of("The sensitive column is constant", "Choose another.", column="s")
    # A third column's product with both is left to the products with functions of C, if it is given.
    crossed = [
        (smooth[i][:, :2, None] * smooth[j][:, None, :2]).reshape(len(s), -1)
        for i in range(len(smooth))
        for j in range(i)
    ]
    ends = []
    for column in s.T:
        order = np.sort(column)
        reach = int(len(column) * _END)
        ends += [column <= order[reach], column >= order[-1 - reach]]
    steps = standardised(np.array(ends, dtype=np.float64)).T
    # Of few distinct values the smooth functions tell the ends already.
    steps = steps[:, steps.any(axis=0) & np.repeat([len(np.unique(x)) > 2 * _SMOOTH for x in s.T], 2)]
    functions = np.concatenate([*smooth, *crossed, steps], axis=1)
    return functions, np.arange(functions.shape[1]) < functions.shape[1] - steps.shape[1]
