"""Rating by a table of relativities and nothing else, whoever made it or changed a number in it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.errors import DataError, OptionError, Problem
from fairdash.tariff.fixed import lacking_relativity
from fairdash.tariff.reading import Rated, read_terms
from fairdash.tariff.terms import Curve, Interaction, numbers_of
from fairdash.training.regressor_tables import clean_features, require_unique

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class _Unknown:
    """Rows that a factor has no relativity for."""

    column: str
    rows: NDArray[np.int64]


def rate(table: pd.DataFrame, X: Any, *, unknown: Literal["error", "base"] = "error") -> Array:
    """Premiums (n,) of the rows of X by a table of relativities.

    Parameters
    ----------
    table
        As :meth:`fairdash.tariff.model.FairTariff.relativities` gives it, or
        :func:`fairdash.tariff.files.read_tariff`. Rows may stand in any order.
    X : DataFrame, shape (n, p)
        With the table's factors among its columns; an array's columns are called 0, 1, ….
    unknown
        What happens to a row with a level that the table has not, or with a missing cell where it has none:
        ``"error"``, or ``"base"``, which gives it the relativity 1 (0 points) of that factor.

    Raises
    ------
    DataError
        The table can't rate, X lacks a factor or holds text for numbers, or something is unknown.

    Examples
    --------
    >>> table = pd.DataFrame({"factor": [None, "zone", "zone"], "kind": ["base", "level", "level"],
    ...                       "level": [None, "A", "B"], "relativity": [100.0, 1.0, 1.2]})
    >>> rate(table, pd.DataFrame({"zone": ["B", "A"]})).round(6).tolist()
    [120.0, 100.0]
    """
    if unknown not in ("error", "base"):
        raise OptionError.of("This is not known", "Choose “error” or “base”.", column="unknown")
    rated = read_terms(table)
    features = named_features(X, rated.columns, numbers=rated.numbers)
    eta, lacking = _linear_predictor(rated, features)
    if lacking and unknown == "error":
        hint = 'Correct the cells, add the level to the table, or rate with unknown="base".'
        what = "The tariff has no relativity"
        raise DataError(
            *(lacking_relativity(each.column, each.rows, what=what, hint=hint) for each in lacking)
        )
    return np.exp(eta) if rated.multiplies else eta


def named_features(X: Any, columns: Sequence[str], *, numbers: Sequence[str]) -> pd.DataFrame:
    """These columns of X, named by text and clean; DataError if one is not there or not of its kind."""
    features = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    require_unique(features)
    features = features.set_axis([str(name) for name in features.columns], axis=1)
    lacking = [name for name in columns if name not in features.columns]
    if lacking:
        raise DataError(
            *(
                Problem(
                    column=name,
                    what="The tariff has this factor, and X lacks the column",
                    hint="Add it to X under the same name.",
                )
                for name in lacking
            )
        )
    wanted: Sequence[Hashable] = list(columns)
    return clean_features(features[wanted], numbers=numbers)


def _linear_predictor(rated: Rated, features: pd.DataFrame) -> tuple[Array, list[_Unknown]]:
    """η (n,), and which rows some factor has no value for."""
    eta, lacking = np.full(len(features), rated.base), []
    for term, values in zip(rated.terms, rated.values, strict=True):
        if isinstance(term, Curve):
            cells = numbers_of(features[term.column])
            own = np.interp(cells, term.points, values[: term.n_places])
            own = np.where(np.isnan(cells), values[-1] if term.has_missing else 0.0, own)
        else:
            places = (
                term.places(features) if isinstance(term, Interaction) else term.place_or_missing(features)
            )
            # The last one is for −1: no place.
            own = np.append(values, 0.0)[places]
        if not isinstance(term, Interaction):
            rows = np.flatnonzero(term.unknown(features))
            lacking += [_Unknown(column=term.column, rows=rows)] if len(rows) else []
        eta = eta + own
    return eta, lacking
