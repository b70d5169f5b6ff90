r"""Wasserstein barycentre: the best price under demographic parity that may use the sensitive attribute.

Every prediction keeps its rank among people with the same s, and is replaced by the value with this rank in a
distribution common to all people. The common distribution that gives the smallest mean squared change of
predictions is the Wasserstein-2 barycentre of the conditional distributions of ŷ (Chzhen et al., 2020; Le
Gouic et al., 2020):

.. math:: \hat y^*(x, s) = \int Q_{\hat y | s'}\bigl(F_{\hat y | s}(\hat y)\bigr) \, dP(s').

For a continuous s, all rows have different values of s, so the conditional distributions are smoothed over
the rank of s.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtri

from fairdash.errors import OptionError, Problem
from fairdash.utils.rounding import Between, between, interpolated

Array = NDArray[np.float64]


def one_column(values: ArrayLike, name: str) -> Array:
    """Return finite values as float64, (n,), from an array (n,) or (n, 1).

    Raises
    ------
    OptionError
        Raised if there are several columns or no rows, or if values are missing, infinite or not numeric.
    """
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise option_error(name, "A value is not a number", "Give only numbers.") from None
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise option_error(name, "A reference needs a single column", "Give an array of shape (n,).")
    if not len(column):
        raise option_error(name, "There are no rows", "Give at least one row.")
    n_invalid = int((~np.isfinite(column)).sum())
    if n_invalid:
        raise option_error(
            name, "Values are missing or infinite", "Leave these rows out, or fill in the values.", n_invalid
        )
    return column


def checked_pair(y_pred: ArrayLike, s: ArrayLike) -> tuple[Array, Array]:
    """Return checked predictions (n,) and sensitive attribute (n,) of the same rows."""
    y, sensitive = one_column(y_pred, "y_pred"), one_column(s, "s")
    if len(y) != len(sensitive):
        raise option_error(
            "s", "y_pred and s don't have the same rows", "Give one value of s per prediction."
        )
    return y, sensitive


def weights(sample_weight: ArrayLike | None, n_rows: int) -> Array:
    """Return non-negative weights (n,) that sum to 1, or equal weights if there are none."""
    if sample_weight is None:
        return np.full(n_rows, 1 / n_rows)
    weight = one_column(sample_weight, "sample_weight")
    if len(weight) != n_rows:
        raise option_error(
            "sample_weight",
            "The number of weights differs from the number of rows",
            "Give one weight per row.",
        )
    negative = int((weight < 0).sum())
    if negative:
        raise option_error("sample_weight", "A weight is negative", "Weights must be at least 0.", negative)
    if not weight.sum() > 0:
        raise option_error(
            "sample_weight", "All weights are zero", "At least one row must have a weight above 0."
        )
    return weight / weight.sum()


def option_error(name: str, problem: str, hint: str, count: int | None = None) -> OptionError:
    """Return an error for an invalid option."""
    return OptionError(Problem(what=problem, hint=hint, column=name, count=count))


Index = NDArray[np.int64]

N_LEVELS = 1000
#: Levels of the stored quantiles, from 0.0001 to 0.9999; neighbouring levels differ by about 0.005 in the
#: middle, and by less in the tails.
_LEVELS = expit(np.linspace(-1, 1, N_LEVELS) * logit(1 - 1e-4))
#: Number of bandwidths beyond which the kernel is 0, so that it does not mix distant values of a discrete s.
_MAX_DISTANCE = 5.0
#: Bandwidth for an s with classes, divided by the share of the rarest class. On the scale of ranks, the
#: distance between two classes is at least the share of the rarest class.
_CLASS_BANDWIDTH = 0.1
#: Ridge on the slope of a local line, divided by the mass of the kernel. It is needed at nodes around which
#: all rows have the same rank.
_SLOPE_RIDGE = 1e-6
#: Minimum absolute deviation, divided by the mean deviation; the logarithm of deviations is fitted, so they
#: must be above 0.
_MIN_DEVIATION = 1e-3
#: Minimum distance of a rank from 0 and from 1. Ranks closer to 0 or 1 are moved to this distance, so that
#: lines are not extrapolated beyond the rows with weight.
_MIN_RANK = 1e-4


@dataclass(frozen=True, eq=False)
class Barycentre:
    """Fitted barycentre: conditional distributions of ŷ at several ranks of s, and the common distribution.

    A barycentre is created by :func:`fit_barycentre`.

    Parameters
    ----------
    values : (m,) array
        Distinct values of s, in ascending order, in the rows to which the barycentre is fitted (calibration
        rows).
    cumulative : (m + 1,) array
        Share of the calibration rows below each of `values`, followed by 1.
    bandwidth
        Standard deviation of the kernel, on the scale of the ranks of s, from 0 to 1.
    nodes : (G,) array
        Ranks of s, as normal scores in ascending order, at which conditional distributions are stored.
        Between nodes, these distributions are interpolated linearly.
    centres : (G,) array
        Smoothed mean of ŷ at each node, in the units of ŷ.
    spreads : (G,) array
        Smoothed absolute deviation of ŷ from the smoothed mean at each node, above 0, in the units of ŷ.
    shapes : (G, L) array
        Quantiles of (ŷ − centre) / spread, with L = 1,000 levels, at each node.
    common : (L,) array
        Quantiles of ŷ* with the same levels, in the units of ŷ.
    common_spread
        Mean of `spreads` over s. Beyond the outermost levels, (ŷ − centre) / spread is multiplied by this
        number.
    """

    values: Array
    cumulative: Array
    bandwidth: float
    nodes: Array
    centres: Array
    spreads: Array
    shapes: Array
    common: Array
    common_spread: float

    def predict(self, y_pred: ArrayLike, s: ArrayLike, strength: ArrayLike = 1.0) -> Array:
        """Return the repaired predictions (1 − t) ŷ + t ŷ* at a strength t.

        For a given s, the distributions of repaired predictions at all strengths form the Wasserstein
        geodesic from the distribution of ŷ to the common distribution. At fixed s and strength, the repaired
        prediction increases with ŷ. At fixed s and ŷ, the repaired prediction is a linear function of the
        strength.

        Parameters
        ----------
        y_pred : (n,) array
            Predictions ŷ, in the same units as in the calibration rows.
        s : (n,) array
            Sensitive attribute of the same rows. Values outside the range in the calibration rows are
            replaced by the nearest value in this range.
        strength : float or (T,) array
            Strength t. A strength of 0 leaves the predictions unchanged; a strength of 1 gives the same
            distribution for every s.

        Returns
        -------
        (n,) array, or (T, n) for several strengths
            Repaired predictions in the units of ŷ. Beyond the outermost levels (0.0001 and 0.9999),
            distributions are extrapolated in proportion to their spread.

        Raises
        ------
        OptionError
            Raised if there are several columns or missing cells, or if a strength is outside [0, 1].
        """
        y, sensitive = checked_pair(y_pred, s)
        t = np.asarray(strength, dtype=float)[..., None]
        if not ((t >= 0) & (t <= 1)).all():
            raise option_error("strength", "A strength is not between 0 and 1", "Give a number from 0 to 1.")
        where = between(self.nodes, _scores(self._rank(sensitive)))
        shape = (y - interpolated(self.centres, where)) / interpolated(self.spreads, where)
        level, excess = self._level(shape, where)
        full = np.interp(level, _LEVELS, self.common) + self.common_spread * excess
        return np.asarray((1 - t) * y + t * full)

    def centre(self, s: ArrayLike) -> Array:
        """Return the smoothed mean of ŷ, (n,), at values of s (n,), in the units of ŷ."""
        where = between(self.nodes, _scores(self._rank(one_column(s, "s"))))
        return interpolated(self.centres, where)

    def _rank(self, s: Array) -> Array:
        """Return the mid-ranks of values of s among the calibration rows."""
        below = self.cumulative[np.searchsorted(self.values, s, side="left")]
        cumulative_upper = self.cumulative[np.searchsorted(self.values, s, side="right")]
        return np.asarray((below + cumulative_upper) / 2)

    def _level(self, shape: Array, where: Between) -> tuple[Array, Array]:
        """Return the level F(ŷ | s) of each row, and how far `shape` is beyond the outermost quantiles."""
        left, right, share = where

        def quantile(k: Index) -> Array:
            low = self.shapes[left, k]
            return np.asarray(low + share * (self.shapes[right, k] - low))

        last = N_LEVELS - 1
        clipped = np.clip(shape, quantile(np.zeros_like(left)), quantile(np.full_like(left, last)))
        below = _count(quantile, clipped, up_to=False)
        n_up_to = _count(quantile, clipped, up_to=True)
        # Between two quantiles, the level is interpolated linearly.
        lower, upper = np.clip(n_up_to - 1, 0, last), np.clip(n_up_to, 0, last)
        q_lower, q_upper = quantile(lower), quantile(upper)
        gap = np.where(q_upper > q_lower, q_upper - q_lower, 1.0)
        level = _LEVELS[lower] + (clipped - q_lower) / gap * (_LEVELS[upper] - _LEVELS[lower])
        # If several quantiles equal the value, the level nearest to 0.5 is used.
        tied = n_up_to > below
        first, last_level = _LEVELS[np.minimum(below, last)], _LEVELS[lower]
        return np.where(tied, np.clip(0.5, first, last_level), level), shape - clipped


def fit_barycentre(
    y_pred: ArrayLike,
    s: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    bandwidth: float | None = None,
    classes: bool = False,
) -> Barycentre:
    r"""Fit the Wasserstein barycentre of the distributions of ŷ given s.

    At several ranks of s, local lines with a Gaussian kernel are fitted to ŷ, which gives the mean, and to
    the logarithm of the absolute deviation from the mean. Local averages would be biased at the smallest and
    largest s, and where the distribution changes fast. The shape of the distribution, after division by the
    deviation, is averaged locally. Finally, a constant is added so that, at every strength, the repaired
    predictions and ŷ have the same weighted mean on the calibration rows.

    Rows with equal s get the same mid-rank, and rows with equal deviations get the same mid-level (the share
    of smaller values plus half the share of equal values). Ties are not broken at random, so equal
    predictions with equal s remain equal. If ŷ has few values, as for a small tree, repaired predictions are
    only approximately independent of s.

    Parameters
    ----------
    y_pred : (n,) array
        Predictions ŷ. Use out-of-fold predictions. In-sample predictions are closer to the target than
        predictions for new rows, and follow its dependence on s more closely.
    s : (n,) array
        Values of the sensitive attribute, in one column. The result only depends on the order of these
        values. A constant s leaves ŷ unchanged.
    sample_weight : (n,) array, optional
        Non-negative weights; a row of weight 2 counts as two rows.
    bandwidth
        Standard deviation of the kernel, on the scale of the ranks of s, above 0 and at most 1. The default
        is :math:`1.06\,\sqrt{1/12}\;n^{-1/5}`: Silverman's normal-reference rule for the standard deviation
        of a rank, with the rate that balances bias and variance of a smooth curve. Here, n is the effective
        number of rows, (Σw)² / Σw², which does not depend on the unit of the weights.
    classes
        True if the values of s are class codes. The bandwidth is then so small that the distribution of each
        class is estimated only from rows of this class.

    Returns
    -------
    Barycentre

    Raises
    ------
    OptionError
        Raised if there are several columns or missing cells, or if the weights or the bandwidth are not
        valid.

    References
    ----------
    Chzhen, Denis, Hebiri, Oneto and Pontil (2020), "Fair regression with Wasserstein barycenters". Le Gouic,
    Loubes and Rigollet (2020), "Projection to fairness in statistical learning".
    """
    y, sensitive = checked_pair(y_pred, s)
    weight = weights(sample_weight, len(y))
    order = np.argsort(sensitive, kind="stable")
    order = order[weight[order] > 0]
    y, sensitive, weight = y[order], sensitive[order], weight[order]
    values, which = np.unique(sensitive, return_inverse=True)
    of_values = np.bincount(which, weight)
    if classes:
        bandwidth = _CLASS_BANDWIDTH * float(of_values.min())
    elif bandwidth is None:
        bandwidth = 1.06 * math.sqrt(1 / 12) * float((weight**2).sum()) ** 0.2
    elif not 0 < bandwidth <= 1:
        raise option_error(
            "bandwidth", "The bandwidth is not above 0 and at most 1", "Give a number in (0, 1]."
        )

    cumulative = np.concatenate([[0.0], np.cumsum(of_values)])
    rank = ((cumulative[:-1] + cumulative[1:]) / 2)[which]
    ranks = _node_ranks(rank, weight, bandwidth)
    smoother = _LocalSmoother(ranks, rank, weight, bandwidth)
    nodes = _scores(ranks)
    where = between(nodes, _scores(rank))

    mean = float(weight @ y)
    centres = mean + smoother.lines(y - mean)
    deviation = y - interpolated(centres, where)
    size = np.abs(deviation)
    mean_size = float(weight @ size)
    spreads = np.full(len(nodes), 1.0)
    if mean_size > 0:
        spreads = np.exp(smoother.lines(np.log(np.maximum(size, _MIN_DEVIATION * mean_size))))
    shapes = smoother.quantiles(deviation / interpolated(spreads, where))
    # Between two nodes, the distribution is almost a linear function of the rank, so averages over rows are
    # replaced by averages over nodes. The small change of the mean that results is subtracted below.
    left, right, share = where
    mass = np.bincount(left, weight * (1 - share), len(nodes))
    mass += np.bincount(right, weight * share, len(nodes))
    common = mass @ (centres[:, None] + spreads[:, None] * shapes)
    barycentre = Barycentre(
        values, cumulative, bandwidth, nodes, centres, spreads, shapes, common, float(mass @ spreads)
    )
    bias = float(weight @ (barycentre.predict(y, sensitive) - y))
    return replace(barycentre, common=common - bias)


def price_of_independence(
    y_pred: ArrayLike,
    s: ArrayLike,
    *,
    barycentre: Barycentre | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return :math:`E[(f - f^*)^2]`, the minimum increase of the squared error under demographic parity.

    Let f(x, s) = E[y | x, s]. The mean squared error of every prediction that is independent of s, whether or
    not it uses s, is at least the mean squared error of f plus the price of independence. By Theorem 2.3
    (Chzhen et al., 2020), this price is the variance, in Wasserstein-2 distance, of the conditional
    distributions of f. For predictions of a fitted model instead of f, the result is an estimate of the
    price.

    Parameters
    ----------
    y_pred, s : (n,) arrays
        Predictions of the best model without a fairness constraint, and the sensitive attribute.
    barycentre
        Barycentre that was fitted to other rows, or None to fit it to the given rows.
    sample_weight : (n,) array, optional
        Non-negative weights; a row of weight 2 counts as two rows.

    Returns
    -------
    float
        Price of independence in squared units of ŷ, at least 0. If ŷ is independent of s, the price is 0 up
        to noise of the smoothed distributions. To compare the price with a relative error, divide it by the
        variance of the target.

    Raises
    ------
    OptionError
        Raised as in :func:`fit_barycentre`.
    """
    y, sensitive = checked_pair(y_pred, s)
    weight = weights(sample_weight, len(y))
    if barycentre is None:
        barycentre = fit_barycentre(y, sensitive, sample_weight=weight)
    return float(weight @ (barycentre.predict(y, sensitive) - y) ** 2)


@dataclass(frozen=True, eq=False)
class _LocalSmoother:
    """Smoother that averages values of the calibration rows around the rank of each node.

    Kernels are functions of ranks, so that all nodes have the same number of neighbouring rows. Lines are
    functions of normal scores: ranks compress the tails of s, so a mean that is linear in s would not be
    linear in the rank of s.
    """

    nodes: Array  # (G,) ranks
    rank: Array  # (n,), ascending
    weight: Array  # (n,)
    bandwidth: float

    def lines(self, y: Array) -> Array:
        """Return the value at each node of a line that is fitted to the rows around the node, (G,)."""
        values = np.empty(len(self.nodes))
        scores, centres = _scores(self.rank), _scores(self.nodes)
        for g, node in enumerate(self.nodes):
            neighbours, kernel = self._kernel(node)
            distance = scores[neighbours] - centres[g]
            moment = kernel * distance
            mass, first = kernel.sum(), moment.sum()
            second = moment @ distance + _SLOPE_RIDGE * mass
            total, cross = kernel @ y[neighbours], moment @ y[neighbours]
            values[g] = (second * total - first * cross) / (mass * second - first**2)
        return values

    def quantiles(self, y: Array) -> Array:
        """Return quantiles (G, L) of y around each node by inverting the mid-distribution function."""
        order = np.argsort(y, kind="stable")
        table = np.empty((len(self.nodes), N_LEVELS))
        for g, node in enumerate(self.nodes):
            neighbours, kernel = self._kernel(node)
            rows = order[(order >= neighbours.start) & (order < neighbours.stop)]
            points = y[rows]
            starts = np.flatnonzero(np.concatenate([[True], points[1:] != points[:-1]]))
            mass = np.add.reduceat(kernel[rows - neighbours.start], starts)
            upper = np.cumsum(mass)
            table[g] = np.interp(_LEVELS, (upper - mass / 2) / upper[-1], points[starts])
        return table

    def _kernel(self, node: float) -> tuple[slice, Array]:
        """Return a slice of the rows near a node, and their weights in averages around the node."""
        max_distance = _MAX_DISTANCE * self.bandwidth
        start = int(np.searchsorted(self.rank, node - max_distance, side="left"))
        stop = int(np.searchsorted(self.rank, node + max_distance, side="right"))
        distance = (self.rank[start:stop] - node) / self.bandwidth
        return slice(start, stop), self.weight[start:stop] * np.exp(-0.5 * distance**2)


def _node_ranks(rank: Array, weight: Array, bandwidth: float) -> Array:
    """Return the ranks of the nodes, about four per bandwidth, or all distinct ranks if there are fewer."""
    distinct = np.unique(rank)
    count = math.ceil(4 / bandwidth)
    if len(distinct) <= count:
        return distinct
    levels = (np.arange(count) + 0.5) / count
    inner = np.quantile(rank, levels, method="inverted_cdf", weights=weight)
    return np.unique(np.concatenate([distinct[:1], inner, distinct[-1:]]))


def _scores(rank: Array) -> Array:
    """Return normal scores, limited to ±3.7."""
    return np.asarray(ndtri(np.clip(rank, _MIN_RANK, 1 - _MIN_RANK)))


def _count(quantile: Callable[[Index], Array], shape: Array, *, up_to: bool) -> Index:
    """Count, by bisection, the quantiles below `shape` (with `up_to`: at most `shape`) for each row."""
    compare = np.less_equal if up_to else np.less
    low = np.zeros(len(shape), dtype=np.int64)
    high = np.full(len(shape), N_LEVELS, dtype=np.int64)
    while (open_ := low < high).any():
        midpoint = (low + high) // 2
        is_counted = compare(quantile(np.minimum(midpoint, N_LEVELS - 1)), shape)
        low = np.where(open_ & is_counted, midpoint + 1, low)
        high = np.where(open_ & ~is_counted, midpoint, high)
    return low
