"""Class means when only class probabilities are known, estimated from other data.

Each row counts towards a class with weight p = P(class | z). This weighted mean equals the class mean if y
and the class are unrelated among rows of equal z. Otherwise its bias is −E[Cov(class, y | z)] / E[p], and
assigning each row its most likely class has other errors (Chen, Kallus, Mao, Svacha and Udell 2019, "Fairness
under unawareness", theorems 3.1 and 3.2). These data do not identify the covariance, but bound it: among rows
of about equal p, the class has at most the highest, or the lowest, y (Kallus, Mao and Zhou 2022, "Assessing
algorithmic fairness with unobserved protected class using data combination", sharp given p alone). All of
this assumes that p is calibrated: three in ten rows with p = 0.3 belong to the class. If the true classes of
some rows are known, calibration is tested, and p is recalibrated if it fails.

>>> y, p = np.array([1.0, 2.0, 3.0, 4.0]), np.array([[1, 0], [1, 0], [0, 1], [0, 1.0]])
>>> found = by_probability(y, p, ("a", "b"))
>>> found[["mean", "difference", "bound_low", "bound_high"]].round(1).to_numpy().tolist()[1]
[3.5, 2.0, 0.9, 3.1]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from fairdash.dependence.classical import Z
from fairdash.evaluation.classes import holm
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Distance of a row's sum of probabilities from 1, at most, as after rounding; they are divided by their sum.
OFF_ONE = 0.01
#: Bins of about equal weight in which p counts as equal: wider bins leave wider bounds, never wrong ones.
_BINS = 20
#: Rows of known class, at least, with which probabilities can be corrected.
MIN_KNOWN = 100
#: Draws of the rows of known class, for the noise of what was learned from them.
_DRAWS = 50
_LEAST = 1e-6


def by_probability(
    y: Array,
    p: Array,
    names: Sequence[str],
    sample_weight: Array | None = None,
    units: Index | None = None,
    *,
    known: Index | None = None,
    random_state: int | None = 0,
) -> pd.DataFrame:
    """Return means of y by class, each class against the rest, from class probabilities.

    Parameters
    ----------
    y : (n,) array
        Prices or predictions.
    p : (n, k) array
        Probability of each class, in [0, 1]; a row adds up to 1.
    names
        Of the k classes.
    sample_weight : (n,) array, optional
        Row weights, above 0.
    units : (n,) array, optional
        Independent unit, 0 … U-1, of each row; each row by default.
    known : (n,) array, optional
        Place of the true class, −1 where it is not known. With it p is first mended by
        :func:`recalibrated`, and intervals and bounds count the noise of that.
    random_state
        Of the draws behind that noise.

    Returns
    -------
    DataFrame, one row a class
        ``class``; ``expected_rows``, the sum of p; ``mean``, weighted by p; ``difference`` to the mean of all
        others, weighted by 1 − p, with its 95 % interval ``difference_low`` and ``difference_high`` and
        ``p_value`` by Holm's method over the classes: all where class and y are unrelated among rows of equal
        z. Without that ``bound_low`` and ``bound_high``, which hold the difference in at least 95 % of
        samples. ``likeliest`` is the difference if each row had its likeliest class; NaN where it is none's.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    of = np.arange(len(y)) if units is None else units
    mended = p if known is None else recalibrated(p, known)
    binaries = [_one_against_the_rest(y, each, weight, of) for each in mended.T]
    noise = np.zeros((len(names), 3))
    if known is not None:
        rng, rows = rng_of(Stream.AUDIT_DRAWS, random_state), np.flatnonzero(known >= 0)
        draws = []
        of_known = np.unique(of[rows], return_inverse=True)[1]
        for _ in range(_DRAWS):
            again = recalibrated(p, known, rows=rows[_drawn(of_known, rng)])
            draws.append([_one_against_the_rest(y, each, weight, of)[1] for each in again.T])
        noise = np.std(draws, axis=0, ddof=1)
    means, value, error = map(np.array, zip(*binaries, strict=True))
    error = np.sqrt(error**2 + noise**2)
    likeliest = mended.argmax(axis=1)
    off = Z * error
    return pd.DataFrame(
        {
            "class": list(names),
            "expected_rows": mended.sum(axis=0),
            "mean": means,
            "difference": value[:, 0],
            "difference_low": value[:, 0] - off[:, 0],
            "difference_high": value[:, 0] + off[:, 0],
            "p_value": holm((2 * ndtr(-np.abs(value[:, 0]) / np.maximum(error[:, 0], 1e-300))).tolist()),
            "bound_low": value[:, 1] - off[:, 1],
            "bound_high": value[:, 2] + off[:, 2],
            "likeliest": [_apart(y, likeliest == k, weight) for k in range(len(names))],
        }
    )


def _drawn(units: Index, rng: np.random.Generator) -> Index:
    """Draw rows of as many units (n,) as there are, with replacement; without units in common, rows."""
    count = int(units.max()) + 1
    times = np.bincount(rng.integers(count, size=count), minlength=count)
    return np.repeat(np.arange(len(units)), times[units])


def calibration(p: Array, known: Index, names: Sequence[str], units: Index | None = None) -> pd.DataFrame:
    """Test whether p (n, k) is calibrated on rows whose true class `known` (n,) is not −1.

    With `units` (n,), 0 … U-1, such as policies, rows of one unit need not be independent.

    Returns
    -------
    DataFrame, one row a class
        ``class``; ``known_rows``; ``expected`` and ``observed`` rows of the class; ``p_value`` of p being
        calibrated, by Holm's method: the score test of Cox's (1958) recalibration, logit p times a slope plus
        an intercept, with 2 degrees of freedom.
    """
    rows = known >= 0
    rest, p_values = p[rows], []
    of = None if units is None else np.unique(units[rows], return_inverse=True)[1]
    for k in range(len(names)):
        q = np.clip(rest[:, k], _LEAST, 1 - _LEAST)
        off, spread = (known[rows] == k) - q, q * (1 - q)
        score = np.column_stack([np.ones(len(q)), np.log(q / (1 - q))])
        sums, covariance = off @ score, (score * spread[:, None]).T @ score
        if of is not None:
            # The contribution of a unit to the sums is one draw.
            each = np.column_stack([np.bincount(of, weights=off * column) for column in score.T])
            covariance = each.T @ each
        statistic = sums @ np.linalg.pinv(covariance) @ sums
        p_values.append(float(np.exp(-statistic / 2)))  # of χ² with 2 degrees of freedom
    return pd.DataFrame(
        {
            "class": list(names),
            "known_rows": int(rows.sum()),
            "expected": rest.sum(axis=0),
            "observed": np.bincount(known[rows], minlength=len(names)),
            "p_value": holm(p_values),
        }
    )


def recalibrated(p: Array, known: Index, *, rows: Index | None = None) -> Array:
    """Recalibrate p (n, k) on rows of known class, by a multinomial logistic model of log p.

    Right where the known rows are like all others. `rows` are those that it learns from, by default all with
    a known class.
    """
    from sklearn.linear_model import LogisticRegression

    rows = np.flatnonzero(known >= 0) if rows is None else rows
    logs = np.log(np.clip(p, _LEAST, 1.0))
    there = np.unique(known[rows])
    model = LogisticRegression(C=100.0, max_iter=2_000).fit(logs[rows], known[rows])
    mended = np.zeros_like(p)
    mended[:, there] = model.predict_proba(logs)
    return mended


def _one_against_the_rest(y: Array, q: Array, weight: Array, units: Index) -> tuple[float, Array, Array]:
    """Return a class's mean; the weighted difference, the least and the greatest; their standard errors."""
    ours, rest = weight @ q, weight @ (1 - q)
    # ψ is the contribution of a row to the class's sum of y; the rest of y belongs to the others.
    low, high = -_highest(-y, q, weight), _highest(y, q, weight)
    values, errors = np.empty(3), np.empty(3)
    for k, psi in enumerate((q * y, low, high)):
        mean, other = weight @ psi / ours, weight @ (y - psi) / rest
        row = weight * ((psi - mean * q) / ours - (y - psi - other * (1 - q)) / rest)
        sums = np.bincount(units, weights=row)
        values[k], errors[k] = mean - other, np.sqrt(sums @ sums * len(sums) / max(len(sums) - 1, 1))
    return float(weight @ (q * y) / ours), values, errors


def _highest(y: Array, q: Array, weight: Array) -> Array:
    """Return the largest contribution of each row to the class's sum of y, (n,), within the bins of q.

    A bin's rows of highest y fill its mass Σ w q: their sum is the least of Σ w ((y − t)₊ + t q) over t
    (Rockafellar and Uryasev 2000), so that noise in t does not move it, to first order.
    """
    order = np.argsort(q, kind="stable")
    at = np.searchsorted(np.cumsum(weight[order]), np.linspace(0, weight.sum(), _BINS + 1)[1:-1])
    bins = np.searchsorted(np.unique(q[order][at]), q, side="right")
    highest = np.empty(len(y))
    for each in np.unique(bins):
        rows = np.flatnonzero(bins == each)
        falling = rows[np.argsort(-y[rows], kind="stable")]
        mass = np.cumsum(weight[falling])
        t = y[falling[min(int(np.searchsorted(mass, weight[rows] @ q[rows])), len(rows) - 1)]]
        highest[rows] = np.maximum(y[rows] - t, 0) + t * q[rows]
    return highest


def _apart(y: Array, inside: NDArray[np.bool_], weight: Array) -> float:
    """Mean inside less mean outside."""
    sides: list[Any] = [inside, ~inside]
    if not all(side.any() for side in sides):
        return float("nan")
    mean, other = (np.average(y[side], weights=weight[side]) for side in sides)
    return float(mean - other)
