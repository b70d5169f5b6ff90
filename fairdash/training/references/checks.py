"""What every reference asks of the arrays it is given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.errors import OptionError, Problem

Array = NDArray[np.float64]


def one_column(values: ArrayLike, name: str) -> Array:
    """`values` as (n,) finite float64; (n, 1) is taken for (n,).

    Raises
    ------
    OptionError
        Several columns, no rows, or cells that are missing, infinite or no numbers.
    """
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise fault(name, "Not every value is a number", "Give numbers only.") from None
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise fault(name, "A reference takes one column, and this is not one", "Give an array of shape (n,).")
    if not len(column):
        raise fault(name, "There are no rows", "Give at least one row.")
    bad = int((~np.isfinite(column)).sum())
    if bad:
        raise fault(name, "Values are missing or infinite", "Leave those rows out or fill them first.", bad)
    return column


def pair(y_pred: ArrayLike, s: ArrayLike) -> tuple[Array, Array]:
    """Predictions and sensitive attribute of the same rows, both (n,)."""
    y, sensitive = one_column(y_pred, "y_pred"), one_column(s, "s")
    if len(y) != len(sensitive):
        raise fault("s", "y_pred and s don't have the same rows", "Give one value of s a prediction.")
    return y, sensitive


def weights(sample_weight: ArrayLike | None, n_rows: int) -> Array:
    """Non-negative weights (n,) that sum to 1; equal ones where none are given."""
    if sample_weight is None:
        return np.full(n_rows, 1 / n_rows)
    weight = one_column(sample_weight, "sample_weight")
    if len(weight) != n_rows:
        raise fault("sample_weight", "There are not as many weights as rows", "Give one weight a row.")
    negative = int((weight < 0).sum())
    if negative:
        raise fault("sample_weight", "A weight is negative", "Weights must be at least 0.", negative)
    if not weight.sum() > 0:
        raise fault("sample_weight", "All weights are zero", "At least one row must count.")
    return weight / weight.sum()


def fault(name: str, what: str, hint: str, count: int | None = None) -> OptionError:
    """The error that names one option."""
    return OptionError(Problem(what=what, hint=hint, column=name, count=count))
