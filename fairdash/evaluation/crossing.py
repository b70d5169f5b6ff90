"""Crossings of two sensitive attributes: products that show what the combination adds, and cells."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import REGISTRY
from fairdash.dependence.joint import with_products
from fairdash.evaluation import crossed_cells
from fairdash.utils.classes import Classes, attributes_of, one_column_each
from fairdash.utils.text import CROSS

#: Name of all sensitive columns together on pages and in commands; tables leave the column empty.
TOGETHER = "all together"
#: Attributes, at most, whose crossings are formed; more would give too many.
_MAX_ATTRIBUTES = 3


def products_of(sensitive: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return products of the centred ranks of every two of up to three attributes, by “age × sex”.

    What follows such a product follows the combination. Of numbers and two classes it is one column of that
    name; more classes have several.

    >>> made = pd.DataFrame({"age": np.arange(4), "sex": [0, 1, 0, 1]})
    >>> products_of(made)["age × sex"]["age × sex"].tolist()
    [0.09375, -0.03125, -0.03125, 0.09375]
    """
    found, attributes = {}, attributes_of(sensitive)
    if len(attributes) > _MAX_ATTRIBUTES:
        return {}
    for (a, one), (b, other) in itertools.combinations(attributes.items(), 2):
        columns = sensitive[[*one, *other]].to_numpy(dtype=float)[None]
        values, name = with_products(columns, alone=True)[0], f"{a}{CROSS}{b}"
        names = [name] if values.shape[1] == 1 else [f"{name}: {k}" for k in range(values.shape[1])]
        found[name] = pd.DataFrame(values, columns=names, index=sensitive.index)
    return found


def crossings_of(sensitive: pd.DataFrame) -> dict[str, Classes]:
    """Return the cells of every two of up to three attributes; empty for one attribute, or more.

    Bands and small cells are those of an audit (:mod:`fairdash.evaluation.crossed_cells`).

    >>> made = pd.DataFrame({"age": np.arange(400) % 50, "sex": np.arange(400) % 2})
    >>> crossings_of(made)["age × sex"].names[:2]
    ('0 to 9 · 0', '10 to 19 · 0')
    """
    each = one_column_each(sensitive)
    return {name: _cells(each, pair) for name, pair in _pairs(each).items()}


def _pairs(each: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Name of every crossing of these attributes to its two; empty for one attribute, or too many."""
    if len(each.columns) > _MAX_ATTRIBUTES:
        return {}
    return {CROSS.join(pair): pair for pair in itertools.combinations(map(str, each), 2)}


def _cells(each: pd.DataFrame, pair: tuple[str, str]) -> Classes:
    own = crossed_cells.cells_of(each, pair)
    return Classes(np.nan_to_num(own.codes, nan=-1).astype(np.intp), own.names, {})


def views_of(sensitive: pd.DataFrame, table: pd.DataFrame) -> dict[str, str]:
    """Map sensitive columns, crossings and all together to the column of a table of dependence on them."""
    there = set(table["column"])
    pairs = itertools.combinations(attributes_of(sensitive), 2)
    crossings = [name for a, b in pairs if (name := f"{a}{CROSS}{b}") in there]
    columns = {str(each): str(each) for each in (*sensitive.columns, *crossings)}
    has_all = table.loc[table["column"] == "", "measure"].isin([*REGISTRY]).any()
    return columns | ({TOGETHER: ""} if crossings and has_all else {})


def cells_of(sensitive: pd.DataFrame, view: str) -> Classes | None:
    """Return the cells of a crossing, for all together of the first; None for a sensitive column."""
    if view in sensitive:
        return None
    each = one_column_each(sensitive)
    pairs = _pairs(each)
    return _cells(each, pairs[view if view in pairs else next(iter(pairs))])


def values_of(sensitive: pd.DataFrame, view: str) -> NDArray[np.float64]:
    """Return a sensitive column, or the number of each row's cell, (n,)."""
    found = cells_of(sensitive, view)
    return sensitive[view].to_numpy(dtype=float) if found is None else found.codes.astype(float)
