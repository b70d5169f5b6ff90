"""Cost of monotone constraints on rating factors, as an increase of the deviance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tariff.fit import FitOptions, Fitted, fit_terms
from fairdash.tariff.smoothing import FOLDS, MIN_ROWS, drawn_rows
from fairdash.tariff.terms import Term

Array = NDArray[np.float64]

#: Names of the two sets of rows on which the cost is measured.
TRAINING, HELD_OUT = "training", "held out"


def monotone_cost(
    solution: Fitted,
    terms: Sequence[Term],
    table: pd.DataFrame,
    y: Array,
    *,
    options: FitOptions,
    s: Array | None,
    sample_weight: Array | None,
    **given: Any,
) -> pd.DataFrame:
    """Compare the deviances of the monotone and the unconstrained tariff at the last λ.

    Parameters
    ----------
    solution
        Fitted tariff with constraints; the other arguments are those with which it was fitted.

    Returns
    -------
    DataFrame
        One row ``training`` and, for at least 100 rows, one row ``held out``. For the second row, tariffs are
        fitted to four fifths of the rows and measured on the remaining fifth. The columns ``monotone`` and
        ``free`` contain the mean deviance with and without constraints, divided by the deviance of equal
        premiums. ``cost`` is ``monotone`` minus ``free``, and ``noise`` is the standard error of ``cost``. On
        training rows at λ = 0, the cost is at least 0. On held-out rows, or if λ is above 0, the cost may be
        negative. The constrained tariff may predict better than the tariff without constraints, or depend
        more on s.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    constrained = replace(options, smooth=solution.smooth)
    unconstrained = replace(constrained, monotone={})

    def premiums(rows: NDArray[np.int64], fit_options: FitOptions) -> Array:
        part = {"s": None if s is None else s[rows], "sample_weight": weight[rows]}
        fit = fit_terms(terms, table.iloc[rows], y[rows], options=fit_options, **part, **given)
        return fit.premiums(terms, table)[-1]

    def measure(predictions: Array, rows: NDArray[np.int64], train: NDArray[np.int64]) -> dict[str, float]:
        share = weight[rows] / weight[rows].sum()
        flat = np.full(len(rows), np.average(y[train], weights=weight[train]))
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = options.loss.deviances(y[rows], predictions[:, rows]) * share
            losses /= share @ options.loss.deviances(y[rows], flat)
        excess = losses[0] - losses[1]
        fit = {"monotone": losses[0].sum(), "free": losses[1].sum()}
        return fit | {"cost": excess.sum(), "noise": np.sqrt(len(rows)) * excess.std()}

    all_rows = np.arange(len(y))
    predictions = np.stack([solution.premiums(terms, table)[-1], premiums(all_rows, unconstrained)])
    costs = {TRAINING: measure(predictions, all_rows, all_rows)}
    if len(y) >= MIN_ROWS:
        rows = drawn_rows(len(y))
        held_out, train = rows[::FOLDS], np.delete(rows, np.s_[::FOLDS])
        predictions = np.stack([premiums(train, fit_options) for fit_options in (constrained, unconstrained)])
        costs[HELD_OUT] = measure(predictions, held_out, train)
    return pd.DataFrame.from_dict(costs, orient="index")


def cost_in_words(monotone: Mapping[str, int | Sequence[str]], cost: pd.DataFrame) -> str:
    """Describe the monotone factors and the cost of the constraints."""
    names = ", ".join(
        f"“{name}” may only {'fall' if order == -1 else 'rise'}"
        + ("" if isinstance(order, int) else f" from “{order[0]}” to “{order[-1]}”")
        for name, order in monotone.items()
    )
    rows = cost.index[-1]
    costs = cost.loc[rows]
    where = "held-out rows" if rows == HELD_OUT else "its training rows"
    return (
        f"Constraints: {names}. On {where}, the deviance is {costs['monotone']:.4f} times that of one flat "
        f"premium; without constraints it would be {costs['free']:.4f} times, so the constraints change it "
        f"by {costs['cost']:+.4f} ± {costs['noise']:.4f}."
    )
