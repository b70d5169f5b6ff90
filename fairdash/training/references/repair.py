"""Repair any price that may use s: one map for prices and their errors, for one or several attributes.

>>> import numpy as np
>>> s = np.linspace(0.0, 1.0, 400)
>>> price = 100 + 30 * s + np.sin(np.arange(400))
>>> repaired = fit_repair(price, s[:, None]).predict(price, s[:, None])
>>> bool(abs(np.corrcoef(repaired, s)[0, 1]) < 0.05), bool(np.isclose(repaired.mean(), price.mean()))
(True, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from fairdash.training.references.barycentre import Array, Barycentre, fault, fit_barycentre, weights

#: Passes over several attributes: repairing by the second brings back a little of the first, if these two are
#: dependent; after three passes it is below the noise of the maps.
PASSES = 3


@dataclass(frozen=True, eq=False)
class Repair:
    """Fitted repair, made by :func:`fit_repair`.

    Attributes
    ----------
    steps
        Column of s and the map along it, in the order in which they are applied.
    of_errors
        Whether the maps are of errors ŷ − y: then only their average along s can be taken off.
    offset, factor
        What keeps the mean of the calibration rows: added, then multiplied.
    least
        No repaired price lies below it, where all prices calibrated on are above 0; else −∞.
    """

    steps: tuple[tuple[int, Barycentre], ...] = ()
    of_errors: bool = False
    offset: float = 0.0
    factor: float = 1.0
    least: float = -np.inf

    def predict(self, y_pred: ArrayLike, s: ArrayLike, strength: ArrayLike = 1.0) -> Array:
        """Return repaired prices (1 − t) ŷ + t ŷ*, (n,), or (T, n) for several strengths t from 0 to 1.

        `y_pred` is (n,), in the units of the calibration rows, `s` (n, d) with the columns of the fit.
        """
        y, columns = np.asarray(y_pred, dtype=float), np.asarray(s, dtype=float)
        t = np.asarray(strength, dtype=float)[..., None]
        if not ((t >= 0) & (t <= 1)).all():
            raise fault("strength", "A strength is not between 0 and 1", "Give a number from 0 to 1.")
        full = y
        for k, each in self.steps:
            full = self._moved(full, columns[:, k], each)
        full = np.maximum(full + self.offset, self.least) * self.factor
        return np.asarray((1 - t) * y + t * full)

    def _moved(self, y: Array, s: Array, along: Barycentre) -> Array:
        return y - along.centre(s) if self.of_errors else along.predict(y, s)


def fit_repair(
    y_pred: ArrayLike,
    s: ArrayLike,
    *,
    y: ArrayLike | None = None,
    classes: Sequence[bool] | None = None,
    sample_weight: ArrayLike | None = None,
) -> Repair:
    """Fit the repair of prices, or of their errors, along one or several attributes.

    Several attributes are repaired one after another, as EquiPy does (Hu, Ratz, Charpentier 2024), in
    :data:`PASSES` passes: the price ends up independent of each, not of their combinations.

    Parameters
    ----------
    y_pred : (n,) array
        Prices of the model itself: another one of the same kind follows s by chance in other places.
    s : (n, d) array
        Sensitive attributes as numbers; a class as its code.
    y : (n,) array, optional
        Outcomes: given them, errors ŷ − y are repaired. A price that does not know y can take off what errors
        are on average at each s; how widely they spread at each s is a matter of y alone.
    classes
        Columns of s with codes of classes; none by default.
    sample_weight : (n,) array, optional
        Non-negative.
    """
    price, columns = np.asarray(y_pred, dtype=float), np.asarray(s, dtype=float)
    weight = weights(sample_weight, len(price))
    of_classes = classes or [False] * columns.shape[1]
    fitted, moved = Repair(of_errors=y is not None), price
    for _ in range(PASSES if columns.shape[1] > 1 else 1):
        for k, is_class in enumerate(of_classes):
            seen = moved if y is None else moved - np.asarray(y, dtype=float)
            along = fit_barycentre(seen, columns[:, k], sample_weight=weight, classes=is_class)
            fitted = replace(fitted, steps=(*fitted.steps, (k, along)))
            moved = fitted._moved(moved, columns[:, k], along)
    mean = float(weight @ price)
    fitted = replace(fitted, offset=mean - float(weight @ moved))
    if (counted := price[weight > 0].min()) > 0:
        fitted = replace(fitted, least=float(counted))
        fitted = replace(fitted, factor=mean / float(weight @ fitted.predict(price, columns)))
    return fitted
