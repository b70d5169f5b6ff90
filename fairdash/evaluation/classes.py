"""Standard figures for classes: class means, differences, ratios and impact ratios.

The names are Fairlearn's (``MetricFrame``: by group, difference and ratio between groups) and those of the
adverse impact ratio (Equal Employment Opportunity Commission 1978, 29 CFR 1607.4 D, the four-fifths rule).

>>> y, code = np.array([1.0, 3.0, 2.0, 6.0]), np.array([0, 0, 1, 1])
>>> found = by_group(y, code, ("F", "M"), cut_off=2.5)
>>> found["mean"].tolist(), found["adverse_impact_ratio"].tolist(), between_groups(found)
([2.0, 4.0], [1.0, 1.0], {'difference': 2.0, 'ratio': 0.5})
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from fairdash.dependence.classical import Z

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def by_group(
    y: Array,
    codes: Index,
    names: Sequence[str],
    sample_weight: Array | None = None,
    units: Index | None = None,
    *,
    cut_off: float | None = None,
    favourable: Literal["below", "above"] = "below",
) -> pd.DataFrame:
    """Return means of y by class, and each class against the rest.

    Parameters
    ----------
    y : (n,) array
        Prices or predictions.
    codes : (n,) array
        Place of each row's class in `names`; every class has a row.
    names
        Of the classes.
    sample_weight : (n,) array, optional
        Row weights, above 0.
    units : (n,) array, optional
        Independent unit, 0 … U-1, of each row, such as a policy; each row by default.
    cut_off
        What is at or below it is favourable, or with ``favourable="above"`` what is at or above it.

    Returns
    -------
    DataFrame, one row a class
        ``class``; ``rows``; ``share`` of the weight, in [0, 1]; ``mean`` with its 95 % interval ``low`` and
        ``high``; against all other rows ``difference`` of means, its interval ``difference_low`` and
        ``difference_high``, and its ``p_value`` by Holm's method over the classes; ``ratio`` of means (1:
        alike); ``standardized_difference``, the difference ÷ √((variance + the others' variance) / 2) (0:
        alike; 0.2 counts as small; Austin 2009). With a cut-off ``selection_rate``, the favourable share in
        [0, 1], and ``adverse_impact_ratio``, that ÷ the largest of all classes, in [0, 1]: below 0.8 fails
        the four-fifths rule. Ratios are NaN where their divisor is 0.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    groups = _Means.of(y, codes, len(names), weight, units)
    # Each class against the rest, whose mean weights the other classes by their rows.
    share = groups.mass / groups.mass.sum()
    rest = (share @ groups.means - share * groups.means) / (1 - share)
    away = np.eye(len(names)) - (share - np.diag(share)) / (1 - share)[:, None]
    difference, error = groups.means - rest, groups.errors(away)
    square = groups.square
    rest_square = (share @ square - share * square) / (1 - share)
    spread = np.sqrt(np.maximum(square - groups.means**2 + rest_square - rest**2, 0) / 2)
    own = groups.errors(np.eye(len(names)))
    frame = pd.DataFrame(
        {
            "class": list(names),
            "rows": np.bincount(codes, minlength=len(names)),
            "share": share,
            "mean": groups.means,
            "low": groups.means - Z * own,
            "high": groups.means + Z * own,
            "difference": difference,
            "difference_low": difference - Z * error,
            "difference_high": difference + Z * error,
            "p_value": holm(_two_sided(difference, error)),
            "ratio": _ratio(groups.means, rest),
            "standardized_difference": _ratio(difference, spread),
        }
    )
    if cut_off is not None:
        held = (y <= cut_off) if favourable == "below" else (y >= cut_off)
        rate = np.bincount(codes, weights=weight * held, minlength=len(names)) / groups.mass
        frame["selection_rate"] = rate
        frame["adverse_impact_ratio"] = _ratio(rate, np.full(len(rate), rate.max()))
    return frame


def between_groups(frame: pd.DataFrame, figure: str = "mean") -> dict[str, float]:
    """Return the largest difference and the smallest ratio between classes, as ``MetricFrame`` does.

    Parameters
    ----------
    frame
        Result of :func:`by_group`.
    figure
        A column of it.

    Returns
    -------
    dict
        ``difference``: highest less lowest, 0 where all are alike; ``ratio``: lowest ÷ highest, 1 where all
        are alike.
    """
    values = frame[figure]
    ratio = _ratio(np.array([values.min()]), np.array([values.max()]))
    return {"difference": float(values.max() - values.min()), "ratio": float(ratio[0])}


def pairs_of_groups(
    y: Array,
    codes: Index,
    names: Sequence[str],
    sample_weight: Array | None = None,
    units: Index | None = None,
) -> pd.DataFrame:
    """Return the differences in means for all pairs of classes; parameters as in :func:`by_group`.

    Returns
    -------
    DataFrame, one row a pair
        ``class``, ``other``, ``difference`` of their means with its 95 % interval ``low`` and ``high``,
        ``ratio`` of means, and ``p_value`` by Holm's method over the pairs.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    groups = _Means.of(y, codes, len(names), weight, units)
    pairs = list(itertools.combinations(range(len(names)), 2))
    first, second = (np.array(each) for each in zip(*pairs, strict=True))
    away = np.eye(len(names))[first] - np.eye(len(names))[second]
    difference, error = away @ groups.means, groups.errors(away)
    return pd.DataFrame(
        {
            "class": [names[k] for k in first],
            "other": [names[k] for k in second],
            "difference": difference,
            "low": difference - Z * error,
            "high": difference + Z * error,
            "ratio": _ratio(groups.means[first], groups.means[second]),
            "p_value": holm(_two_sided(difference, error)),
        }
    )


class _Means:
    """Means of classes (k,), of squares too, their weights, and the covariance of the means (k, k)."""

    def __init__(self, means: Array, square: Array, mass: Array, covariance: Array) -> None:
        self.means, self.square, self.mass, self.covariance = means, square, mass, covariance

    @classmethod
    def of(cls, y: Array, codes: Index, count: int, weight: Array, units: Index | None) -> _Means:
        from scipy.sparse import csr_matrix

        mass, total, square = (
            np.asarray(np.bincount(codes, weights=weight * each, minlength=count), dtype=float)
            for each in (np.ones(len(y)), y, y**2)
        )
        means = total / mass
        of = np.arange(len(y)) if units is None else units
        shape = (int(of.max()) + 1, count)
        off = csr_matrix((weight * (y - means[codes]) / mass[codes], (of, codes)), shape=shape)
        members = np.bincount(np.unique(of * count + codes) % count, minlength=count)
        # A class's own degrees of freedom.
        scale = np.sqrt(members / np.maximum(members - 1, 1))
        covariance = np.asarray((off.T @ off).todense()) * np.outer(scale, scale)
        return cls(means, square / mass, mass, covariance)

    def errors(self, weights: Array) -> Array:
        """Standard errors of some combinations of the means, (m, k) to (m,)."""
        return np.sqrt(np.maximum(np.einsum("mk,kl,ml->m", weights, self.covariance, weights), 0))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's (1979) adjusted p-values, in the order given.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.array([(len(p_values) - k) * p_values[i] for k, i in enumerate(order)])
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(steps) else steps
    return [float(each) for each in adjusted]


def _two_sided(difference: Array, error: Array) -> list[float]:
    size = np.abs(difference)
    certain = np.where(size > 0, np.inf, 0.0)
    return (2 * ndtr(-np.divide(size, error, out=certain, where=error > 0))).tolist()


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below != 0)
