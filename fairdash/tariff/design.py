"""A table as the matrix that a tariff's coefficients are multiplied by, and the way back to values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tariff.terms import Fixed, Interaction, Term

Array = NDArray[np.float64]

#: Rows that are predicted at once: bounds the memory of the matrix.
_ROWS_AT_ONCE = 50_000


def design(terms: Sequence[Term], table: pd.DataFrame) -> Array:
    """The matrix (n, P) of a table: a block a term, without an intercept."""
    blocks = _blocks(terms)
    matrix = np.empty((len(table), blocks[-1].stop if blocks else 0))
    for term, block in zip(terms, blocks, strict=True):
        matrix[:, block] = term.matrix(table)
    return matrix


def offset(terms: Sequence[Term], table: pd.DataFrame) -> Array | None:
    """What fixed relativities add to η, (n,), whatever is fitted; None where no factor is fixed."""
    parts = [term.offset(table) for term in terms if isinstance(term, Fixed)]
    return np.sum(parts, axis=0) if parts else None


def linear_predictor(
    terms: Sequence[Term], table: pd.DataFrame, *, intercept: Array, coefficients: Array
) -> Array:
    """η of K tariffs for every row, (K, n), from intercepts (K,) and coefficients (K, P)."""
    parts = [
        design(terms, table.iloc[start : start + _ROWS_AT_ONCE]) @ coefficients.T
        for start in range(0, max(len(table), 1), _ROWS_AT_ONCE)
    ]
    eta = np.concatenate(parts).T + intercept[:, None]
    fixed = offset(terms, table)
    return eta if fixed is None else eta + fixed


def base_and_values(
    terms: Sequence[Term], *, intercept: Array, coefficients: Array, to_average: bool = False
) -> tuple[Array, list[Array]]:
    """What tariffs add up from: the base (K,), and the values (K, n_values) of each term relative to it.

    Parameters
    ----------
    intercept, coefficients
        (K,) and (K, P).
    to_average
        Whether values are relative to their average over the training rows, rather than to one of them;
        those of interactions are not. Fixed values are relative to nothing: they stay as they were given.
    """
    base, values = intercept.copy(), []
    for term, own in zip(terms, _parts(terms, coefficients), strict=True):
        of_term = term.values(own)
        if not isinstance(term, (Interaction, Fixed)):
            zero = of_term @ np.array(term.shares) if to_average else of_term[:, term.base]
            base, of_term = base + zero, of_term - zero[:, None]
        values.append(of_term)
    return base, values


def _parts(terms: Sequence[Term], coefficients: Array) -> Iterator[Array]:
    return (coefficients[:, block] for block in _blocks(terms))


def _blocks(terms: Sequence[Term]) -> list[slice]:
    return [slice(*edge) for edge in pairwise(accumulate((term.width for term in terms), initial=0))]
