"""Question 2 for two sensitive attributes at once: prices in the cells of their cross-classification."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.curve import basis_of, fit_curve
from fairdash.auditing.data import AuditData
from fairdash.auditing.gaps import LEVEL, largest_gap, within
from fairdash.auditing.table import AuditTable
from fairdash.data.columns import as_classes
from fairdash.evaluation.insurance import N_BANDS, bands_of
from fairdash.utils.classes import MOST_CLASSES, OTHERS, classes_of

#: Bands of a second attribute that is a number, a curve each.
_CURVES = 3
_COLUMNS = ["other", "group", "band", "middle", "rows", "value", "low", "high"]


class _Groups(NamedTuple):
    """Classes of a column, or bands of its numbers, in order: codes (n,), −1 if missing; names; middles."""

    codes: NDArray[np.intp]
    names: tuple[str, ...]
    middles: tuple[float, ...]

    @classmethod
    def of(cls, values: pd.Series, weight: pd.Series, count: int) -> _Groups:
        classes = as_classes(values)
        if classes is not None:
            return cls(classes.codes, classes.names, tuple(map(float, range(len(classes.names)))))
        known = (values.notna() & weight.notna()).to_numpy()
        numbers, codes = (
            values.to_numpy(dtype=float, na_value=np.nan),
            np.full(len(values), -1, dtype=np.intp),
        )
        codes[known] = bands_of(numbers[known], weight.to_numpy(dtype=float, na_value=np.nan)[known], count)
        bands = [numbers[codes == k] for k in range(int(codes.max()) + 1)]
        names = tuple(f"{each.min():,.4g} to {each.max():,.4g}" for each in bands)
        return cls(codes, names, tuple(float(each.mean()) for each in bands))


def over_the_crossing(data: AuditData) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the price in every cell of two crossed attributes, and sentences on the largest gap.

    Cells of fewer than 20 rows are one. ``low`` and ``high`` hold all cells of a crossing at once in 95 % of
    samples, and so does the gap's interval all pairs of cells.
    """
    frames, said = [pd.DataFrame(columns=_COLUMNS)], []
    for other in data.also:
        frame, sentences = _crossed(data, other)
        frames.append(frame)
        said.extend(sentences)
    return pd.concat([each for each in frames if len(each)] or frames, ignore_index=True), tuple(said)


def _crossed(data: AuditData, other: str) -> tuple[pd.DataFrame, list[str]]:
    columns, frame = data.table.columns, data.frame
    name = f"{columns.sensitive} × {other}"
    weight = pd.Series(1.0, index=frame.index) if columns.exposure is None else frame[columns.exposure]
    second = _Groups.of(frame[other], weight, _CURVES)
    first = _Groups.of(frame[columns.sensitive], weight, min(N_BANDS, MOST_CLASSES // len(second.names)))
    if (count := len(first.names) * len(second.names)) > MOST_CLASSES:
        return pd.DataFrame(), [f"“{name}” is not asked: its {count} cells are more than {MOST_CLASSES}."]
    labels = {f"{a} · {b}": (i, j) for j, b in enumerate(second.names) for i, a in enumerate(first.names)}
    is_known = (first.codes >= 0) & (second.codes >= 0)
    codes = np.where(is_known, second.codes * len(first.names) + first.codes, -1)
    cells = classes_of(pd.Series(pd.Categorical.from_codes(codes, pd.Index(list(labels)), ordered=True)))
    values = np.where(cells.codes < 0, np.nan, cells.codes.astype(float))
    own = replace(columns, sensitive=name, also=(), features=(), probabilities=(), known_class=None)
    table = replace(
        AuditTable.of(frame.assign(**{name: values}), own, random_state=data.seed), classes=cells.names
    )
    basis = basis_of(table)
    if len(basis.at) < 2:
        return pd.DataFrame(), []
    gap, band = largest_gap(fit_curve(table.price, table, basis), data.delta, random_state=data.seed)
    rows = np.bincount(table.sensitive.astype(np.intp), minlength=len(cells.names))
    found = []
    for cell in band.to_dict("records"):
        label = cells.names[int(cell["at"])]
        i, j = labels.get(label, (-1, -1))
        of_cell = {"group": second.names[j], "band": first.names[i], "middle": first.middles[i]}
        if i < 0:
            of_cell = {"group": OTHERS, "band": OTHERS, "middle": np.nan}
        ends = {key: cell[key] for key in ("value", "low", "high")}
        found.append({"other": other, **of_cell, "rows": int(rows[int(cell["at"])]), **ends})
    lowest, highest = (table.called(basis.at[k]) for k in (gap.lowest, gap.highest))
    noise = "more than noise" if gap.p_value <= LEVEL else "which can be noise"
    said = [
        f"In the {len(found)} cells of “{columns.sensitive}” and “{other}” the price differs by "
        f"{within(gap, table.mean_price)} of the mean price, {noise}: it is lowest in “{lowest}” and "
        f"highest in “{highest}”."
    ]
    return pd.DataFrame(found, columns=_COLUMNS), [*said, *cells.merged_in_words(name)]
