"""Standard fairness metrics for classes, including the case where only class probabilities are known.

The names follow Fairlearn (``MetricFrame``: by group, difference and ratio between groups) and the adverse
impact ratio (Equal Employment Opportunity Commission 1978, 29 CFR 1607.4 D, the four-fifths rule).

>>> y, code = np.array([1.0, 3.0, 2.0, 6.0]), np.array([0, 0, 1, 1])
>>> found = by_group(y, code, ("F", "M"), cut_off=2.5)
>>> found["mean"].tolist(), found["adverse_impact_ratio"].tolist(), between_groups(found)
([2.0, 4.0], [1.0, 1.0], {'difference': 2.0, 'ratio': 0.5})

If only class probabilities are known, each row has the weight p = P(class | z) in the mean of a class. The
weighted mean equals the mean of the class if, among rows with equal z, y and the class are unrelated. If they
are related, the bias of the weighted mean is −E[Cov(class, y | z)] / E[p]. If each row is assigned its most
likely class, the errors are different (Chen, Kallus, Mao, Svacha and Udell 2019, "Fairness under
unawareness", theorems 3.1 and 3.2). The data do not determine this covariance, but they give bounds for it.
In the extreme cases, the rows of the class have the highest or the lowest y among rows with about equal p
(Kallus, Mao and Zhou 2022, "Assessing algorithmic fairness with unobserved protected class using data
combination", sharp given p alone). All results assume that p is calibrated. For example, 30 % of the rows
with p = 0.3 belong to the class. If the true classes of some rows are known, the calibration of p is tested,
and p is recalibrated if the test fails.

>>> y, p = np.array([1.0, 2.0, 3.0, 4.0]), np.array([[1, 0], [1, 0], [0, 1], [0, 1.0]])
>>> found = by_probability(y, p, ("a", "b"))
>>> found[["mean", "difference", "bound_low", "bound_high"]].round(1).to_numpy().tolist()[1]
[3.5, 2.0, 0.9, 3.1]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from fairdash.dependence.classical import Z
from fairdash.utils.seeds import Stream, rng_of

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
    """Return the mean of y for each class, and compare each class with all other rows.

    Parameters
    ----------
    y : (n,) array
        Prices or predictions.
    codes : (n,) array
        Index in `names` of each row's class; every class has at least one row.
    names
        Names of the classes.
    sample_weight : (n,) array, optional
        Positive row weights.
    units : (n,) array, optional
        Number of the independent unit, such as a policy, that each row belongs to, from 0 to U-1. By default,
        each row is a unit.
    cut_off
        Cut-off of y. By default, values at or below the cut-off are favourable; with ``favourable="above"``,
        values at or above the cut-off are favourable.

    Returns
    -------
    DataFrame, one row per class
        Columns ``class``; ``rows``; ``share`` of the weight, in [0, 1]; and ``mean`` with its 95 % interval
        ``low`` and ``high``. Columns that compare the class with all other rows: ``difference`` of means, its
        interval ``difference_low`` and ``difference_high``, and its ``p_value`` by Holm's method over the
        classes; ``ratio`` of means (1 if equal); and ``standardized_difference``, the difference ÷
        √((variance + variance of the others) / 2) (0 if equal; 0.2 counts as small; Austin 2009). With a
        cut-off, there are two more columns: ``selection_rate``, the share of rows with a favourable y, and
        ``adverse_impact_ratio``, the selection rate ÷ the largest selection rate of all classes. Selection
        rates and adverse impact ratios are in [0, 1]. An adverse impact ratio below 0.8 fails the four-fifths
        rule. Ratios are NaN if their divisor is 0.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    groups = _Means.of(y, codes, len(names), weight, units)
    # Each class is compared with the weighted mean of the other classes.
    share = groups.mass / groups.mass.sum()
    other_means = (share @ groups.means - share * groups.means) / (1 - share)
    contrasts = np.eye(len(names)) - (share - np.diag(share)) / (1 - share)[:, None]
    difference, error = groups.means - other_means, groups.errors(contrasts)
    square = groups.square
    rest_square = (share @ square - share * square) / (1 - share)
    spread = np.sqrt(np.maximum(square - groups.means**2 + rest_square - other_means**2, 0) / 2)
    se = groups.errors(np.eye(len(names)))
    frame = pd.DataFrame(
        {
            "class": list(names),
            "rows": np.bincount(codes, minlength=len(names)),
            "share": share,
            "mean": groups.means,
            "low": groups.means - Z * se,
            "high": groups.means + Z * se,
            "difference": difference,
            "difference_low": difference - Z * error,
            "difference_high": difference + Z * error,
            "p_value": holm(_two_sided(difference, error)),
            "ratio": _ratio(groups.means, other_means),
            "standardized_difference": _ratio(difference, spread),
        }
    )
    if cut_off is not None:
        is_favourable = (y <= cut_off) if favourable == "below" else (y >= cut_off)
        rate = np.bincount(codes, weights=weight * is_favourable, minlength=len(names)) / groups.mass
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
        Name of a column of `frame`.

    Returns
    -------
    dict
        Keys ``difference``, the highest minus the lowest value (0 if all classes are equal), and ``ratio``,
        the lowest ÷ the highest value (1 if all classes are equal).
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
    """Return the differences in means for all pairs of classes, with the parameters of :func:`by_group`.

    Returns
    -------
    DataFrame, one row per pair
        Columns ``class``, ``other``, ``difference`` of the means of both classes with its 95 % interval
        ``low`` and ``high``, ``ratio`` of means, and ``p_value`` by Holm's method over the pairs.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    groups = _Means.of(y, codes, len(names), weight, units)
    pairs = list(itertools.combinations(range(len(names)), 2))
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    contrasts = np.eye(len(names))[first] - np.eye(len(names))[second]
    difference, error = contrasts @ groups.means, groups.errors(contrasts)
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
    """Means of y and y² by class (k,), total weights of the classes, and covariance of the means (k, k)."""

    def __init__(self, means: Array, square: Array, mass: Array, covariance: Array) -> None:
        self.means, self.square, self.mass, self.covariance = means, square, mass, covariance

    @classmethod
    def of(cls, y: Array, codes: Index, count: int, weight: Array, units: Index | None) -> _Means:
        from scipy.sparse import csr_matrix

        mass, total, square = (
            np.asarray(np.bincount(codes, weights=weight * power, minlength=count), dtype=float)
            for power in (np.ones(len(y)), y, y**2)
        )
        means = total / mass
        unit_of_row = np.arange(len(y)) if units is None else units
        shape = (int(unit_of_row.max()) + 1, count)
        influence = csr_matrix((weight * (y - means[codes]) / mass[codes], (unit_of_row, codes)), shape=shape)
        members = np.bincount(np.unique(unit_of_row * count + codes) % count, minlength=count)
        # The factor corrects for the degrees of freedom of each class.
        scale = np.sqrt(members / np.maximum(members - 1, 1))
        covariance = np.asarray((influence.T @ influence).todense()) * np.outer(scale, scale)
        return cls(means, square / mass, mass, covariance)

    def errors(self, weights: Array) -> Array:
        """Return the standard errors of linear combinations of the means, (m, k) to (m,)."""
        return np.sqrt(np.maximum(np.einsum("mk,kl,ml->m", weights, self.covariance, weights), 0))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's (1979) method, in the given order.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.array([(len(p_values) - k) * p_values[i] for k, i in enumerate(order)])
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(steps) else steps
    return [float(p_value) for p_value in adjusted]


def _two_sided(difference: Array, error: Array) -> list[float]:
    size = np.abs(difference)
    limit = np.where(size > 0, np.inf, 0.0)
    return (2 * ndtr(-np.divide(size, error, out=limit, where=error > 0))).tolist()


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below != 0)


#: Maximum deviation from 1 of the sum of a row's probabilities. A smaller deviation is due to rounding, and
#: is removed by normalising the probabilities.
OFF_ONE = 0.01
#: Number of bins of p, with about equal weight. Within a bin, p is treated as equal. Fewer bins are wider and
#: give wider bounds, which are still valid.
_BINS = 20
#: A recalibration requires at least this number of rows with a known class.
MIN_KNOWN = 100
#: Number of bootstrap samples of the rows with a known class. They estimate the noise of the recalibration.
_DRAWS = 50
_MIN_VARIANCE = 1e-6


def by_probability(
    y: Array,
    p: Array,
    names: Sequence[str],
    sample_weight: Array | None = None,
    units: Index | None = None,
    *,
    true_class: Index | None = None,
    random_state: int | None = 0,
) -> pd.DataFrame:
    """Return means of y by class and comparisons with all other rows, given class probabilities.

    Parameters
    ----------
    y : (n,) array
        Prices or predictions.
    p : (n, k) array
        Probability of each class, in [0, 1]; the probabilities of a row sum to 1.
    names
        Names of the k classes.
    sample_weight : (n,) array, optional
        Positive row weights.
    units : (n,) array, optional
        Number, from 0 to U-1, of each row's independent unit. By default, each row is a unit.
    true_class : (n,) array, optional
        Index of the true class of each row, or −1 if the class is unknown. If true classes are passed,
        :func:`recalibrated` corrects p first. Intervals and bounds then include the noise of this correction.
    random_state
        Seed of the draws for the noise of the recalibration.

    Returns
    -------
    DataFrame, one row per class
        Columns ``class``; ``expected_rows``, the sum of p; ``mean``, weighted by p; and ``difference`` from
        the mean of the others, weighted by 1 − p, with its 95 % interval ``difference_low`` and
        ``difference_high`` and its ``p_value`` by Holm's method over the classes. The mean and the difference
        assume that class and y are unrelated among rows with equal z. The range from ``bound_low`` to
        ``bound_high`` does not need this assumption, and contains the difference in at least 95 % of samples.
        The column ``likeliest`` contains the difference if each row is assigned its most likely class. The
        difference is NaN if no row is assigned to the class.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    unit_of_row = np.arange(len(y)) if units is None else units
    corrected = p if true_class is None else recalibrated(p, true_class)
    binaries = [_one_against_the_rest(y, q, weight, unit_of_row) for q in corrected.T]
    noise = np.zeros((len(names), 3))
    if true_class is not None:
        rng, rows = rng_of(Stream.AUDIT_DRAWS, random_state), np.flatnonzero(true_class >= 0)
        draws = []
        of_known = np.unique(unit_of_row[rows], return_inverse=True)[1]
        for _ in range(_DRAWS):
            redrawn = recalibrated(p, true_class, rows=rows[_resampled_rows(of_known, rng)])
            draws.append([_one_against_the_rest(y, q, weight, unit_of_row)[1] for q in redrawn.T])
        noise = np.std(draws, axis=0, ddof=1)
    means, value, error = map(np.array, zip(*binaries, strict=True))
    error = np.sqrt(error**2 + noise**2)
    likeliest = corrected.argmax(axis=1)
    half_width = Z * error
    return pd.DataFrame(
        {
            "class": list(names),
            "expected_rows": corrected.sum(axis=0),
            "mean": means,
            "difference": value[:, 0],
            "difference_low": value[:, 0] - half_width[:, 0],
            "difference_high": value[:, 0] + half_width[:, 0],
            "p_value": holm((2 * ndtr(-np.abs(value[:, 0]) / np.maximum(error[:, 0], 1e-300))).tolist()),
            "bound_low": value[:, 1] - half_width[:, 1],
            "bound_high": value[:, 2] + half_width[:, 2],
            "likeliest": [_mean_difference(y, likeliest == k, weight) for k in range(len(names))],
        }
    )


def _resampled_rows(units: Index, rng: np.random.Generator) -> Index:
    """Return the rows of units drawn with replacement (a bootstrap sample), given each row's unit (n,)."""
    count = int(units.max()) + 1
    times = np.bincount(rng.integers(count, size=count), minlength=count)
    return np.repeat(np.arange(len(units)), times[units])


def calibration(
    p: Array, true_class: Index, names: Sequence[str], units: Index | None = None
) -> pd.DataFrame:
    """Test whether p (n, k) is calibrated, using the rows with a known class: `true_class` (n,) is not −1.

    Rows of the same unit, such as a policy, may be dependent if their units are passed as `units` (n,),
    numbered from 0 to U-1.

    Returns
    -------
    DataFrame, one row per class
        Columns ``class``; ``known_rows``; ``expected`` and ``observed`` rows of the class; and ``p_value`` of
        the hypothesis that p is calibrated, by Holm's method. The p-value comes from the score test of Cox's
        (1958) recalibration, logit p times a slope plus an intercept, with 2 degrees of freedom.
    """
    rows = true_class >= 0
    known_p, p_values = p[rows], []
    unit_of_row = None if units is None else np.unique(units[rows], return_inverse=True)[1]
    for k in range(len(names)):
        q = np.clip(known_p[:, k], _MIN_VARIANCE, 1 - _MIN_VARIANCE)
        residual, spread = (true_class[rows] == k) - q, q * (1 - q)
        score = np.column_stack([np.ones(len(q)), np.log(q / (1 - q))])
        sums, covariance = residual @ score, (score * spread[:, None]).T @ score
        if unit_of_row is not None:
            # The contributions of a unit are added, because the rows of a unit may be dependent.
            by_unit = np.column_stack(
                [np.bincount(unit_of_row, weights=residual * column) for column in score.T]
            )
            covariance = by_unit.T @ by_unit
        statistic = sums @ np.linalg.pinv(covariance) @ sums
        # The tail probability of χ² with 2 degrees of freedom is exp(−x / 2).
        p_values.append(float(np.exp(-statistic / 2)))
    return pd.DataFrame(
        {
            "class": list(names),
            "known_rows": int(rows.sum()),
            "expected": known_p.sum(axis=0),
            "observed": np.bincount(true_class[rows], minlength=len(names)),
            "p_value": holm(p_values),
        }
    )


def recalibrated(p: Array, true_class: Index, *, rows: Index | None = None) -> Array:
    """Recalibrate p (n, k) by a multinomial logistic model of log p, fitted to rows with a known class.

    The recalibration is valid if the rows with a known class are representative of all rows. The model is
    fitted to `rows`, which are all rows with a known class by default.
    """
    from sklearn.linear_model import LogisticRegression

    rows = np.flatnonzero(true_class >= 0) if rows is None else rows
    logs = np.log(np.clip(p, _MIN_VARIANCE, 1.0))
    observed = np.unique(true_class[rows])
    model = LogisticRegression(C=100.0, max_iter=2_000).fit(logs[rows], true_class[rows])
    corrected = np.zeros_like(p)
    corrected[:, observed] = model.predict_proba(logs)
    return corrected


def _one_against_the_rest(y: Array, q: Array, weight: Array, units: Index) -> tuple[float, Array, Array]:
    """Return a class's mean, its weighted, smallest and largest difference from the rest, and all errors."""
    mass, other_mass = weight @ q, weight @ (1 - q)
    # ψ is the contribution of a row to the class's sum of y. The rest of y contributes to the other classes.
    low, high = -_largest_contributions(-y, q, weight), _largest_contributions(y, q, weight)
    values, errors = np.empty(3), np.empty(3)
    for k, psi in enumerate((q * y, low, high)):
        mean, other = weight @ psi / mass, weight @ (y - psi) / other_mass
        row = weight * ((psi - mean * q) / mass - (y - psi - other * (1 - q)) / other_mass)
        sums = np.bincount(units, weights=row)
        values[k], errors[k] = mean - other, np.sqrt(sums @ sums * len(sums) / max(len(sums) - 1, 1))
    return float(weight @ (q * y) / mass), values, errors


def _largest_contributions(y: Array, q: Array, weight: Array) -> Array:
    """Return the contribution of each row to the largest possible sum of y in the class, (n,).

    In each bin of q, the rows with the largest y are assigned to the class until their total weight is Σ w q.
    The sum of y over these rows is the minimum of Σ w ((y − t)₊ + t q) over t (Rockafellar and Uryasev 2000),
    so noise in t has no first-order effect.
    """
    order = np.argsort(q, kind="stable")
    bin_ends = np.searchsorted(np.cumsum(weight[order]), np.linspace(0, weight.sum(), _BINS + 1)[1:-1])
    bins = np.searchsorted(np.unique(q[order][bin_ends]), q, side="right")
    highest = np.empty(len(y))
    for bin_number in np.unique(bins):
        rows = np.flatnonzero(bins == bin_number)
        by_y = rows[np.argsort(-y[rows], kind="stable")]
        mass = np.cumsum(weight[by_y])
        t = y[by_y[min(int(np.searchsorted(mass, weight[rows] @ q[rows])), len(rows) - 1)]]
        highest[rows] = np.maximum(y[rows] - t, 0) + t * q[rows]
    return highest


def _mean_difference(y: Array, in_class: NDArray[np.bool_], weight: Array) -> float:
    """Return the mean of y in the class minus the mean of y outside the class."""
    sides: list[Any] = [in_class, ~in_class]
    if not all(side.any() for side in sides):
        return float("nan")
    mean, other = (np.average(y[side], weights=weight[side]) for side in sides)
    return float(mean - other)
