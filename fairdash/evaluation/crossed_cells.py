"""Cells that combine several sensitive attributes, and products of ranks that represent their interaction.

A crossing combines attributes, such as age and sex. Each cell of a crossing is one combination of the classes
or bands of its attributes. Numbers are divided into bands of about equal exposure, and classes are used
unchanged. The bands of an attribute depend only on the attribute and not on the price, and the order of the
attributes does not change the cells. All numeric attributes of a crossing have the same number of bands. This
number of bands aims at no more than 25 cells, and at no fewer than 40 rows or policies per cell on average.
Combinations of classes may have up to 50 cells.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import REGISTRY
from fairdash.dependence.joint import products
from fairdash.evaluation.insurance import N_BANDS, bands_of
from fairdash.tables.columns import as_classes
from fairdash.utils.classes import MIN_ROWS, OTHERS, Classes, attributes_of, one_column_each, rare_classes
from fairdash.utils.text import CROSS, counted

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: `_MAX_IN_BANDS`: maximum number of cells if bands of numbers are combined. `_AIM`: intended mean number of
#: rows or policies per cell.
_MAX_IN_BANDS, _AIM = 25, 2 * MIN_ROWS
#: Maximum number of cells if only classes are combined. It is larger, because classes cannot be made wider,
#: unlike bands of numbers.
MAX_CELLS = 50
#: Numbers of significant digits to try for the names of bands. The first one with which all names differ is
#: used.
_DIGITS = (4, 6, 9, 17)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells:
    """Number of each row's cell, and the classes and bands that each cell combines.

    Attributes
    ----------
    codes : (n,) array
        Index in `names` of each row's cell, or NaN if an attribute of the row is missing.
    names
        Names of the cells in order.
    places : frame, one row per cell
        Columns of each cell: ``sensitive`` (the first attribute), ``band`` (its band), ``middle`` (the middle
        of this band), ``other`` (the other attributes) and ``group`` (their groups). For merged cells, band
        and group are “all others”.
    note
        Sentence about merged cells; empty if no cells are merged.
    """

    codes: Array
    names: tuple[str, ...]
    places: pd.DataFrame
    note: str


def _bands(values: pd.Series, weight: Array, count: int) -> Classes:
    """Return ordered bands of numbers; the name of a band states its lowest and highest number."""
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    codes, not_missing = np.full(len(values), -1, dtype=np.intp), ~np.isnan(numbers + weight)
    codes[not_missing] = bands_of(numbers[not_missing], weight[not_missing], count)
    bands = [numbers[codes == k] for k in range(int(codes.max()) + 1)]
    for digits in _DIGITS:
        band_limits = [(f"{band.min():,.{digits}g}", f"{band.max():,.{digits}g}") for band in bands]
        names = [" to ".join(dict.fromkeys(band)) for band in band_limits]
        if len(set(names)) == len(names):
            break
    return Classes(codes, tuple(names), {})


def cells_of(
    frame: pd.DataFrame, names: Sequence[str], *, weight: Array | None = None, units: Index | None = None
) -> Cells:
    """Return the cells that combine the attributes `names`.

    Cells with fewer than 20 rows or policies are merged into one cell. If more than 50 cells remain, the
    smallest cells are also merged.

    Parameters
    ----------
    weight, units : (n,) arrays
        Exposure and policy of each row. Bands have about equal exposure. By default, all rows count equally.
    """
    n = len(frame)
    weight = np.ones(n) if weight is None else weight
    classes = {name: converted for name in names if (converted := as_classes(frame[name])) is not None}
    # A numeric attribute with two values, such as 0 and 1, has one band per value.
    binary_columns = {name: 2 for name in names if name not in classes and frame[name].nunique() == 2}
    binary_columns |= {name: len(each.names) for name, each in classes.items()}
    n_units = n if units is None else len(np.unique(units))
    n_free = min(_MAX_IN_BANDS, n_units // _AIM) / prod(binary_columns.values())
    share = 1 / max(len(names) - len(binary_columns), 1)
    count = int(np.clip(n_free**share + 1e-9, 2, N_BANDS))
    groups = [classes.get(name) or _bands(frame[name], weight, count) for name in names]
    shape = tuple(len(group.names) for group in groups)
    not_missing = np.all([group.codes >= 0 for group in groups], axis=0)
    # The groups of the first attribute vary fastest in the order of the cells.
    code = np.ravel_multi_index([group.codes[not_missing] for group in groups], shape, order="F")
    used_codes, code = np.unique(code, return_inverse=True)
    counts = np.bincount(code, minlength=len(used_codes))
    if units is not None:
        policies = pd.DataFrame({"cell": code, "unit": units[not_missing]}).drop_duplicates()["cell"]
        counts = np.bincount(policies, minlength=len(used_codes))
    min_rows = MIN_ROWS
    if len(used_codes) > MAX_CELLS:
        min_rows = max(min_rows, int(np.sort(counts)[-MAX_CELLS]) + 1)
    is_small = np.isin(np.arange(len(used_codes)), list(rare_classes(counts, min_rows)))
    if is_small.sum() < 2:
        is_small[:] = False
    new_code = np.where(is_small, (~is_small).sum(), np.cumsum(~is_small) - 1)
    codes = np.full(n, np.nan)
    codes[not_missing] = new_code[code]
    of_each = np.array(np.unravel_index(used_codes[~is_small], shape, order="F"))
    labels_by_attribute = [
        [group.names[k] for k in codes] for group, codes in zip(groups, of_each, strict=True)
    ]
    labels = [" · ".join(names) for names in zip(*labels_by_attribute, strict=True)]
    first = None if names[0] in classes else frame[names[0]].to_numpy(dtype=float, na_value=np.nan)
    table_of_cells = pd.DataFrame(
        {
            "sensitive": names[0],
            "other": CROSS.join(names[1:]),
            "group": [" · ".join(names) for names in zip(*labels_by_attribute[1:], strict=True)],
            "band": labels_by_attribute[0],
            "middle": [
                float(k) if first is None else float(np.sort(first[groups[0].codes == k]).mean())
                for k in of_each[0]
            ],
        }
    )
    note = ""
    if is_small.any():
        labels.append(OTHERS)
        merged_cells = pd.DataFrame(
            {**table_of_cells.iloc[0], "group": OTHERS, "band": OTHERS, "middle": np.nan}, index=[0]
        )
        table_of_cells = pd.concat([table_of_cells, merged_cells], ignore_index=True)
        note = (
            f"“{CROSS.join(names)}”: the {counted(int(is_small.sum()), 'smallest cell')}, with "
            f"{counted(int(is_small[code].sum()), 'row')} of {len(code):,}, are merged into “{OTHERS}”. A "
            f"cell has at least {MIN_ROWS} rows or policies, and there are at most {MAX_CELLS} cells."
        )
    return Cells(codes=codes, names=tuple(labels), places=table_of_cells, note=note)


#: Name of all sensitive columns together, on pages and in commands. In tables, this name is replaced by an
#: empty column name.
TOGETHER = "all together"
#: Maximum number of attributes whose pairs are combined. More attributes would have too many pairs.
_MAX_ATTRIBUTES = 3


def products_of(sensitive: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Map names such as “age × sex” to products of centred ranks, for each pair of up to three attributes.

    If u is independent of each attribute alone, dependence on such a product is due to the combination. If
    both attributes are numeric or have two classes, there is one column with this name; more classes give
    several columns.

    >>> made = pd.DataFrame({"age": np.arange(4), "sex": [0, 1, 0, 1]})
    >>> products_of(made)["age × sex"]["age × sex"].tolist()
    [0.09375, -0.03125, -0.03125, 0.09375]
    """
    found, attributes = {}, attributes_of(sensitive)
    if len(attributes) > _MAX_ATTRIBUTES:
        return {}
    for (a, first), (b, other) in itertools.combinations(attributes.items(), 2):
        columns = sensitive[[*first, *other]].to_numpy(dtype=float)[None]
        # Columns of different attributes are never classes of one attribute, even if no row has both.
        places = [range(len(first)), range(len(first), columns.shape[2])]
        values, name = products(columns, places)[0], f"{a}{CROSS}{b}"
        names = [name] if values.shape[1] == 1 else [f"{name}: {k}" for k in range(values.shape[1])]
        # A sensitive column may have the name of a crossing, and the column's results keep this name.
        if name not in sensitive:
            found[name] = pd.DataFrame(values, columns=names, index=sensitive.index)
    return found


def crossings_of(sensitive: pd.DataFrame) -> dict[str, Classes]:
    """Return the cells of each pair of two or three attributes; one attribute or more than three have none.

    The bands and merged cells are the same as in an audit (:mod:`fairdash.evaluation.crossed_cells`).

    >>> made = pd.DataFrame({"age": np.arange(400) % 50, "sex": np.arange(400) % 2})
    >>> crossings_of(made)["age × sex"].names[:2]
    ('0 to 9 · 0', '10 to 19 · 0')
    """
    columns = one_column_each(sensitive)
    return {name: _cells(columns, pair) for name, pair in _pairs(columns).items()}


def _pairs(columns: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Map each pair's name to its two attributes; with one attribute or too many, the map is empty."""
    if len(columns.columns) > _MAX_ATTRIBUTES:
        return {}
    return {CROSS.join(pair): pair for pair in itertools.combinations(map(str, columns), 2)}


def _cells(columns: pd.DataFrame, crossed: tuple[str, ...]) -> Classes:
    cells = cells_of(columns, crossed)
    return Classes(np.nan_to_num(cells.codes, nan=-1).astype(np.intp), cells.names, {})


def views_of(sensitive: pd.DataFrame, table: pd.DataFrame) -> dict[str, str]:
    """Map each choice (one column, a pair, all columns) to the column name in a table of dependence."""
    columns_present = set(table["column"])
    pairs = itertools.combinations(attributes_of(sensitive), 2)
    crossings = [name for a, b in pairs if (name := f"{a}{CROSS}{b}") in columns_present]
    columns = {str(column): str(column) for column in (*sensitive.columns, *crossings)}
    has_all = table.loc[table["column"] == "", "measure"].isin([*REGISTRY]).any()
    # A sensitive column may have the name of all columns together, and the column's results keep this name.
    return columns | ({TOGETHER: ""} if crossings and has_all and TOGETHER not in columns else {})


def cells_in_view(sensitive: pd.DataFrame, view: str) -> Classes | None:
    """Return the cells of a crossing, or of all attributes together, or None for one column."""
    if view in sensitive:
        return None
    columns = one_column_each(sensitive)
    return _cells(columns, _pairs(columns).get(view) or tuple(map(str, columns)))


def crossing_name(names: Sequence[str]) -> str:
    """Return the name of a combination of attributes.

    >>> crossing_name(["age", "sex"])
    'age × sex'
    """
    return CROSS.join(names)
