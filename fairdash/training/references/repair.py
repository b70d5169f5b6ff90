"""Repair of prices, or of the errors of prices, with respect to one or several sensitive attributes s.

>>> import numpy as np
>>> s = np.linspace(0.0, 1.0, 400)
>>> price = 100 + 30 * s + np.sin(np.arange(400))
>>> repaired = fit_repair(price, s[:, None]).predict(price, s[:, None])
>>> bool(abs(np.corrcoef(repaired, s)[0, 1]) < 0.05), bool(np.isclose(repaired.mean(), price.mean()))
(True, True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.training.references.barycentre import Array, Barycentre, fit_barycentre, option_error, weights

Index = NDArray[np.int64]

#: Number of passes over several numeric attributes. If two attributes are dependent, the repair for the
#: second attribute creates a little dependence on the first. Only the last pass repairs within bands: in a
#: band of one attribute, a dependent attribute hardly varies, so that its effect across bands would remain.
PASSES = 3
#: Minimum number of rows of a combination of classes and bands for which separate barycentres are fitted.
MIN_CELL_ROWS = 20
#: Prices are repaired for a numeric attribute within bands of the other numeric attributes.
#: `_BANDS` is the maximum number of bands of an attribute.
#: `_ROWS_PER_BAND` is the approximate minimum number of rows per combination of bands.
_BANDS, _ROWS_PER_BAND = 10, 200


@dataclass(frozen=True, eq=False)
class Cells:
    """Numbering of the combinations (cells) of classes and of bands of numeric attributes.

    Attributes
    ----------
    columns
        Positions of the columns of s that contain class codes, or numbers that are divided into bands.
    edges
        Inner edges of the bands of numeric attributes, by the position of the column.
    number
        Number of the cell for each combination of codes.
    rest
        Number of the cell for all other combinations of codes.
    """

    columns: tuple[int, ...] = ()
    edges: Mapping[int, Array] = field(default_factory=dict)
    number: Mapping[tuple[float, ...], int] = field(default_factory=dict)
    rest: int = 0

    @classmethod
    def fit(cls, s: Array, columns: Sequence[int], numbers: Sequence[int] = ()) -> Cells:
        """Number the combinations; rare combinations form one cell, or join the smallest other cell."""
        bands = int(min((len(s) / _ROWS_PER_BAND) ** (1 / max(len(numbers), 1)), _BANDS))
        edges = {k: np.unique(np.quantile(s[:, k], np.arange(1, bands) / bands)) for k in numbers}
        cells = cls((*columns, *numbers), edges)
        crossings, counts = np.unique(cells._codes(s), axis=0, return_counts=True)
        has_enough_rows = counts >= (MIN_CELL_ROWS if s.shape[1] > 1 else 1)
        number = {tuple(codes): k for k, codes in enumerate(crossings[has_enough_rows].tolist())}
        last = len(number)
        if number and counts[~has_enough_rows].sum() < MIN_CELL_ROWS:
            last = int(np.argmin(counts[has_enough_rows]))
        return replace(cells, number=number, rest=last)

    def of(self, s: Array) -> Index:
        """Return the number of the cell of each row, (n,)."""
        crossings, which = np.unique(self._codes(s), axis=0, return_inverse=True)
        numbers = [self.number.get(tuple(codes), self.rest) for codes in crossings.tolist()]
        return np.asarray(numbers, dtype=np.int64)[which.reshape(-1)]

    def _codes(self, s: Array) -> Array:
        codes = s[:, list(self.columns)]
        for k, edges in self.edges.items():
            codes[:, self.columns.index(k)] = np.searchsorted(edges, s[:, k], side="right")
        return codes


@dataclass(frozen=True, eq=False)
class Step:
    """Step of a repair: one barycentre per cell for a column of s, or one barycentre across all cells."""

    column: int | None
    maps: tuple[Barycentre, ...]
    cells: Cells


@dataclass(frozen=True, eq=False)
class Repair:
    """Fitted repair, which :func:`fit_repair` creates.

    Attributes
    ----------
    steps
        Steps, in the order in which they are applied.
    of_errors
        True if errors ŷ − y are repaired; the repair then subtracts the average error for each s.
    offset, factor
        Number to add to prices, and number by which the result is multiplied, so that the mean price of the
        calibration rows does not change.
    least
        Lower bound of repaired prices: the smallest calibration price if all are positive, otherwise −∞.
    """

    steps: tuple[Step, ...] = ()
    of_errors: bool = False
    offset: float = 0.0
    factor: float = 1.0
    least: float = -np.inf

    def predict(self, y_pred: ArrayLike, s: ArrayLike, strength: ArrayLike = 1.0) -> Array:
        """Return repaired prices (1 − t) ŷ + t ŷ* (n,), or (T, n) for T strengths t from 0 to 1.

        The units of the prices `y_pred` (n,) and the columns of `s` (n, d) must be the same as in the fit.
        """
        y, columns = np.asarray(y_pred, dtype=float), np.asarray(s, dtype=float)
        t = np.asarray(strength, dtype=float)[..., None]
        if not ((t >= 0) & (t <= 1)).all():
            raise option_error("strength", "A strength is not between 0 and 1", "Give a number from 0 to 1.")
        full = y
        for step in self.steps:
            full = self._apply_step(full, columns, step)
        full = np.maximum(full + self.offset, self.least) * self.factor
        return np.asarray((1 - t) * y + t * full)

    def _apply_step(self, y: Array, s: Array, step: Step) -> Array:
        cell = step.cells.of(s)
        values_of_s, repaired = cell if step.column is None else s[:, step.column], np.array(y)
        for k, mapping in enumerate(step.maps):
            rows = np.flatnonzero(cell == k) if len(step.maps) > 1 else np.arange(len(y))
            if len(rows):
                y_in, s_in = y[rows], values_of_s[rows]
                repaired[rows] = (
                    y_in - mapping.centre(s_in) if self.of_errors else mapping.predict(y_in, s_in)
                )
        return repaired


def fit_repair(
    y_pred: ArrayLike,
    s: ArrayLike,
    *,
    y: ArrayLike | None = None,
    classes: Sequence[bool] | None = None,
    sample_weight: ArrayLike | None = None,
) -> Repair:
    """Fit the repair of prices, or of their errors, for one or several sensitive attributes.

    Prices are first made independent of a numeric attribute within each combination of classes, and then
    independent of these combinations. The result is the barycentre of all distributions given the numeric
    attribute and the classes. It equals the barycentre of the combinations' barycentres. The repaired price
    is therefore jointly independent of the numeric attribute and the classes. Several numeric attributes are
    repaired one after another, as in EquiPy (Hu, Ratz, Charpentier 2024), in :data:`PASSES` passes. In the
    last pass, with at least 400 rows, prices are repaired for each numeric attribute within bands of the
    other numeric attributes, and are then independent of the attribute within these bands.

    Parameters
    ----------
    y_pred : (n,) array
        Prices of the model that is to be repaired. Prices of a similar model are not sufficient, because
        dependence on s that arises by chance differs between models.
    s : (n, d) array
        Sensitive attributes as numbers, with classes as codes.
    y : (n,) array, optional
        Outcomes, or None. With outcomes, the errors ŷ − y are repaired. A price cannot depend on y. It can
        therefore only correct the average error for each s, not the spread of the errors.
    classes
        True for each column of s that contains class codes, or None if no column does.
    sample_weight : (n,) array, optional
        Non-negative weights.
    """
    price, columns = np.asarray(y_pred, dtype=float), np.asarray(s, dtype=float)
    weight = weights(sample_weight, len(price))
    of_classes = classes or [False] * columns.shape[1]
    numbers = [k for k, is_class in enumerate(of_classes) if not is_class]
    weighted, class_columns = columns[weight > 0], [k for k, is_class in enumerate(of_classes) if is_class]
    repair, repaired = Repair(of_errors=y is not None), price
    class_cells = Cells.fit(weighted, class_columns)
    across_cells = [None] if len(np.unique(class_cells.of(weighted))) > 1 else []
    n_before_last = (PASSES - 1) * len(numbers) if len(numbers) > 1 else 0
    for k, column in enumerate((*numbers * (PASSES if len(numbers) > 1 else 1), *across_cells)):
        values = repaired if y is None else repaired - np.asarray(y, dtype=float)
        others = [other for other in numbers if other != column]
        is_across = column is None or not others or k < n_before_last
        cells = class_cells if is_across else Cells.fit(weighted, class_columns, others)
        cell = cells.of(columns)
        values_of_s = cell if column is None else columns[:, column]
        parts = [np.flatnonzero((cell == number) & (weight > 0)) for number in range(cell.max() + 1)]
        maps = tuple(
            fit_barycentre(
                values[rows], values_of_s[rows], sample_weight=weight[rows], classes=column is None
            )
            for rows in (parts if column is not None else [np.arange(len(price))])
        )
        repair = replace(repair, steps=(*repair.steps, Step(column, maps, cells)))
        repaired = repair._apply_step(repaired, columns, repair.steps[-1])
    mean = float(weight @ price)
    repair = replace(repair, offset=mean - float(weight @ repaired))
    if (min_price := price[weight > 0].min()) > 0:
        repair = replace(repair, least=float(min_price))
        repair = replace(repair, factor=mean / float(weight @ repair.predict(price, columns)))
    return repair
