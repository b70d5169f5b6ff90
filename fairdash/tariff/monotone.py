"""Cost of monotone constraints on rating factors."""

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

#: Names of the rows on which a cost is measured.
TRAINING, HELD_OUT = "training", "held out"


def monotone_cost(
    fitted: Fitted,
    terms: Sequence[Term],
    table: pd.DataFrame,
    y: Array,
    *,
    options: FitOptions,
    s: Array | None,
    sample_weight: Array | None,
    **given: Any,
) -> pd.DataFrame:
    """Compare the deviance of a monotone tariff, at the last λ, with the unconstrained tariff's deviance.

    Parameters
    ----------
    fitted
        Fitted tariff; the other arguments are the arguments of its fit.

    Returns
    -------
    DataFrame
        One row for ``training`` and, from 100 rows on, one row for ``held out``, which is a fifth of the
        rows, predicted by tariffs fitted to the other rows. The columns ``monotone`` and ``free`` are mean
        deviances divided by the deviance of one flat premium, ``cost`` is their difference, and ``noise`` is
        the standard error of the cost over the rows. On training rows, a cost at λ = 0 is at least 0.
        Elsewhere, the cost may be negative, because a constraint can predict better, or follow s more.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    constrained = replace(options, smooth=fitted.smooth)
    free = replace(constrained, monotone={})

    def premiums(rows: NDArray[np.int64], chosen: FitOptions) -> Array:
        part = {"s": None if s is None else s[rows], "sample_weight": weight[rows]}
        fit = fit_terms(terms, table.iloc[rows], y[rows], options=chosen, **part, **given)
        return fit.premiums(terms, table)[-1]

    def compared(both: Array, rows: NDArray[np.int64], train: NDArray[np.int64]) -> dict[str, float]:
        share = weight[rows] / weight[rows].sum()
        flat = np.full(len(rows), np.average(y[train], weights=weight[train]))
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = options.loss.deviances(y[rows], both[:, rows]) * share
            losses /= share @ options.loss.deviances(y[rows], flat)
        excess = losses[0] - losses[1]
        fit = {"monotone": losses[0].sum(), "free": losses[1].sum()}
        return fit | {"cost": excess.sum(), "noise": np.sqrt(len(rows)) * excess.std()}

    all_rows = np.arange(len(y))
    both = np.stack([fitted.premiums(terms, table)[-1], premiums(all_rows, free)])
    costs = {TRAINING: compared(both, all_rows, all_rows)}
    if len(y) >= MIN_ROWS:
        rows = drawn_rows(len(y))
        held_out, train = rows[::FOLDS], np.delete(rows, np.s_[::FOLDS])
        both = np.stack([premiums(train, chosen) for chosen in (constrained, free)])
        costs[HELD_OUT] = compared(both, held_out, train)
    return pd.DataFrame.from_dict(costs, orient="index")


def cost_in_words(monotone: Mapping[str, int | Sequence[str]], cost: pd.DataFrame) -> str:
    """Describe monotone factors and their cost."""
    names = ", ".join(
        f"“{name}” may only {'fall' if order == -1 else 'rise'}"
        + ("" if isinstance(order, int) else f" from “{order[0]}” to “{order[-1]}”")
        for name, order in monotone.items()
    )
    rows = cost.index[-1]
    costs = cost.loc[rows]
    where = "held-out rows" if rows == HELD_OUT else "its training rows"
    return (
        f"Constraints: {names}. On {where} the deviance is {costs['monotone']:.4f} times that of one flat "
        f"premium. Without constraints it is {costs['free']:.4f}, a difference of {costs['cost']:+.4f} ± "
        f"{costs['noise']:.4f}."
    )
