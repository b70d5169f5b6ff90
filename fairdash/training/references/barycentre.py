r"""Wasserstein barycentre: the best price under demographic parity that may use the sensitive attribute.

A prediction keeps its rank among people with the same s and takes the value that this rank has in one common
law. The common law that moves predictions least, in mean square, is the Wasserstein-2 barycentre of the
conditional laws of ŷ (Chzhen et al., 2020; Le Gouic et al., 2020):

.. math:: \hat y^*(x, s) = \int Q_{\hat y | s'}\bigl(F_{\hat y | s}(\hat y)\bigr) \, dP(s').

For a continuous s no two rows share a value, so the conditional laws are smoothed over the rank of s.
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
    """Return `values` as (n,) finite float64; (n, 1) is accepted as (n,).

    Raises
    ------
    OptionError
        Several columns, no rows, or cells that are missing, infinite or no numbers.
    """
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise fault(name, "Not every value is a number", "Give numbers only.") from None
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise fault(name, "A reference takes one column, and this is not one", "Give an array of shape (n,).")
    if not len(column):
        raise fault(name, "There are no rows", "Give at least one row.")
    bad = int((~np.isfinite(column)).sum())
    if bad:
        raise fault(name, "Values are missing or infinite", "Leave those rows out or fill them first.", bad)
    return column


def pair(y_pred: ArrayLike, s: ArrayLike) -> tuple[Array, Array]:
    """Return predictions and sensitive attribute of the same rows, both (n,)."""
    y, sensitive = one_column(y_pred, "y_pred"), one_column(s, "s")
    if len(y) != len(sensitive):
        raise fault("s", "y_pred and s don't have the same rows", "Give one value of s per prediction.")
    return y, sensitive


def weights(sample_weight: ArrayLike | None, n_rows: int) -> Array:
    """Return non-negative weights (n,) that sum to 1; equal weights if none are given."""
    if sample_weight is None:
        return np.full(n_rows, 1 / n_rows)
    weight = one_column(sample_weight, "sample_weight")
    if len(weight) != n_rows:
        raise fault("sample_weight", "There are not as many weights as rows", "Give one weight per row.")
    negative = int((weight < 0).sum())
    if negative:
        raise fault("sample_weight", "A weight is negative", "Weights must be at least 0.", negative)
    if not weight.sum() > 0:
        raise fault("sample_weight", "All weights are zero", "At least one row must have a weight above 0.")
    return weight / weight.sum()


def fault(name: str, what: str, hint: str, count: int | None = None) -> OptionError:
    """Return the error that names one option."""
    return OptionError(Problem(what=what, hint=hint, column=name, count=count))


Index = NDArray[np.int64]

N_LEVELS = 1000
#: Levels of the quantiles kept: about 0.005 apart in the middle and closer in the tails, out to 1 in 10,000.
_LEVELS = expit(np.linspace(-1, 1, N_LEVELS) * logit(1 - 1e-4))
#: The kernel ends at this distance, so that it does not mix distant groups of a discrete s.
_REACH = 5.0
#: The kernel's width for classes, in shares of the rarest one: neighbours lie at least that share apart.
_OF_CLASSES = 0.1
#: Ridge of the local slope, as a share of the kernel's mass, for the case that all neighbours share one rank.
_SLOPE_RIDGE = 1e-6
#: The spread is fitted as a logarithm: deviations below this share of their mean are raised to it.
_MIN_DEVIATION = 1e-3
#: Ranks further out share one score: lines are not extended to where no row has weight.
_MIN_RANK = 1e-4


@dataclass(frozen=True, eq=False)
class Barycentre:
    """Fitted barycentre: the conditional laws of ŷ at several ranks of s, and their common law.

    Made by :func:`fit_barycentre`.

    Parameters
    ----------
    values : (m,) array
        Distinct values of s in the calibration rows, increasing.
    cumulative : (m + 1,) array
        Share of the rows below each of them, and 1.
    bandwidth
        Standard deviation of the kernel, on the ranks of s (0 to 1).
    nodes : (G,) array
        Ranks of s, as normal scores, at which the conditional law is kept, increasing; linear in between.
    centres : (G,) array
        Smoothed mean of ŷ at each node, in the units of ŷ.
    spreads : (G,) array
        Smoothed size of its deviations from that mean, in the units of ŷ, above 0.
    shapes : (G, L) array
        Quantiles of (ŷ − centre) / spread at each node, at L = 1,000 levels.
    common : (L,) array
        Quantiles of ŷ*, at the same levels, in the units of ŷ.
    common_spread
        Mean of the spreads over s: what a unit of (ŷ − centre) / spread is worth beyond the last level.
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
        """Return the fair prediction, in part or in full: (1 − t) ŷ + t ŷ*.

        For given s this is the Wasserstein geodesic from the law of ŷ to the common law. It rises with ŷ
        at every fixed s and strength, and is linear in the strength.

        Parameters
        ----------
        y_pred : (n,) array
            Predictions ŷ, in the units of the calibration rows.
        s : (n,) array
            The sensitive attribute of the same rows. Values beyond those calibrated on are treated as the
            nearest of them.
        strength : float or (T,) array
            t: 0 leaves the predictions as they are, 1 makes their law the same for every s.

        Returns
        -------
        (n,) array, or (T, n) for several strengths
            In the units of ŷ. Beyond the outermost level (1 in 10,000) the law is continued along its
            spread.

        Raises
        ------
        OptionError
            Several columns, missing cells, or a strength outside 0 to 1.
        """
        y, sensitive = pair(y_pred, s)
        t = np.asarray(strength, dtype=float)[..., None]
        if not ((t >= 0) & (t <= 1)).all():
            raise fault("strength", "A strength is not between 0 and 1", "Give a number from 0 to 1.")
        where = between(self.nodes, _scores(self._rank(sensitive)))
        shape = (y - interpolated(self.centres, where)) / interpolated(self.spreads, where)
        level, beyond = self._level(shape, where)
        full = np.interp(level, _LEVELS, self.common) + self.common_spread * beyond
        return np.asarray((1 - t) * y + t * full)

    def centre(self, s: ArrayLike) -> Array:
        """Return the smoothed mean of ŷ at these values of s, (n,), in the units of ŷ."""
        where = between(self.nodes, _scores(self._rank(one_column(s, "s"))))
        return interpolated(self.centres, where)

    def _rank(self, s: Array) -> Array:
        """Mid-rank of each s among the calibration rows."""
        below = self.cumulative[np.searchsorted(self.values, s, side="left")]
        up_to = self.cumulative[np.searchsorted(self.values, s, side="right")]
        return np.asarray((below + up_to) / 2)

    def _level(self, shape: Array, where: Between) -> tuple[Array, Array]:
        """Level F(ŷ | s) of each row, and its distance beyond the outermost quantiles (0 if within)."""
        left, right, share = where

        def quantile(k: Index) -> Array:
            low = self.shapes[left, k]
            return np.asarray(low + share * (self.shapes[right, k] - low))

        last = N_LEVELS - 1
        inside = np.clip(shape, quantile(np.zeros_like(left)), quantile(np.full_like(left, last)))
        below = _count(quantile, inside, up_to=False)
        up_to = _count(quantile, inside, up_to=True)
        # Between two levels: interpolate.
        lower, upper = np.clip(up_to - 1, 0, last), np.clip(up_to, 0, last)
        q_lower, q_upper = quantile(lower), quantile(upper)
        gap = np.where(q_upper > q_lower, q_upper - q_lower, 1.0)
        level = _LEVELS[lower] + (inside - q_lower) / gap * (_LEVELS[upper] - _LEVELS[lower])
        # The value is in a flat part at an end of the law: the outermost value gets the middle level at the
        # inner end of that part.
        tied = up_to > below
        first, final = _LEVELS[np.minimum(below, last)], _LEVELS[lower]
        return np.where(tied, np.clip(0.5, first, final), level), shape - inside


def fit_barycentre(
    y_pred: ArrayLike,
    s: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    bandwidth: float | None = None,
    classes: bool = False,
) -> Barycentre:
    r"""Fit the barycentre of the laws of ŷ given s.

    Around each of a number of ranks of s, with a Gaussian kernel: the mean of ŷ and the logarithm of the size
    of its deviations are fitted by a line, because a local average is biased where s ends or the law moves
    fast; what then remains of the law is averaged. The result is shifted so that its weighted mean on the
    calibration rows is that of ŷ, at every strength.

    Ties: equal values of s share their mid-rank, and equal deviations their mid-level (half their mass
    counts as below). Nothing is drawn at random, so an atom of ŷ stays one: where ŷ takes few values, as
    a small tree's does, independence can only be approached.

    Parameters
    ----------
    y_pred : (n,) array
        Predictions ŷ. Use predictions for rows that the model was not fitted to (out-of-fold): fitted
        ones follow their targets, s included, more closely than new ones will.
    s : (n,) array
        The sensitive attribute, one column. Only its order matters. A constant s leaves ŷ as it is.
    sample_weight : (n,) array, optional
        Non-negative; a weight of 2 counts as two copies of the row.
    bandwidth
        Standard deviation of the kernel, in ranks of s, above 0 and at most 1. By default
        :math:`1.06\,\sqrt{1/12}\;n^{-1/5}`: Silverman's normal-reference rule at the standard deviation of a
        rank, with the rate that balances bias and variance of a smooth curve. n is the effective number of
        rows, (Σw)² / Σw², which does not change with the unit of the weights.
    classes
        Whether values of s are codes of classes: the bandwidth is then so narrow that no class reaches into
        the next, and each has the law of its own rows.

    Returns
    -------
    Barycentre

    Raises
    ------
    OptionError
        Several columns, missing cells, unusable weights or bandwidth.

    References
    ----------
    E. Chzhen, C. Denis, M. Hebiri, L. Oneto, M. Pontil (2020), "Fair regression with Wasserstein
    barycenters". T. Le Gouic, J.-M. Loubes, P. Rigollet (2020), "Projection to fairness in statistical
    learning".
    """
    y, sensitive = pair(y_pred, s)
    weight = weights(sample_weight, len(y))
    rising = np.argsort(sensitive, kind="stable")
    rising = rising[weight[rising] > 0]
    y, sensitive, weight = y[rising], sensitive[rising], weight[rising]
    values, which = np.unique(sensitive, return_inverse=True)
    of_values = np.bincount(which, weight)
    if classes:
        bandwidth = _OF_CLASSES * float(of_values.min())
    elif bandwidth is None:
        bandwidth = 1.06 * math.sqrt(1 / 12) * float((weight**2).sum()) ** 0.2
    elif not 0 < bandwidth <= 1:
        raise fault("bandwidth", "The bandwidth is not a share of the ranks", "Give a number in (0, 1].")

    cumulative = np.concatenate([[0.0], np.cumsum(of_values)])
    rank = ((cumulative[:-1] + cumulative[1:]) / 2)[which]
    ranks = _node_ranks(rank, weight, bandwidth)
    around = _Around(ranks, rank, weight, bandwidth)
    nodes = _scores(ranks)
    where = between(nodes, _scores(rank))

    mean = float(weight @ y)
    centres = mean + around.lines(y - mean)
    deviation = y - interpolated(centres, where)
    size = np.abs(deviation)
    typical = float(weight @ size)
    spreads = np.full(len(nodes), 1.0)
    if typical > 0:
        spreads = np.exp(around.lines(np.log(np.maximum(size, _MIN_DEVIATION * typical))))
    shapes = around.quantiles(deviation / interpolated(spreads, where))
    # Between two nodes the law is almost linear, so an average over rows is one over nodes. The small shift
    # of the mean by this and by smoothing is subtracted below.
    left, right, share = where
    mass = np.bincount(left, weight * (1 - share), len(nodes))
    mass += np.bincount(right, weight * share, len(nodes))
    common = mass @ (centres[:, None] + spreads[:, None] * shapes)
    fitted = Barycentre(
        values, cumulative, bandwidth, nodes, centres, spreads, shapes, common, float(mass @ spreads)
    )
    drift = float(weight @ (fitted.predict(y, sensitive) - y))
    return replace(fitted, common=common - drift)


def price_of_independence(
    y_pred: ArrayLike,
    s: ArrayLike,
    *,
    barycentre: Barycentre | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the smallest rise in mean squared error under exact demographic parity, :math:`E[(f - f^*)^2]`.

    For f(x, s) = E[y | x, s] no prediction that is independent of s has a mean squared error below
    that of f plus this price, whether it sees s or not (Chzhen et al., 2020, Theorem 2.3: it is the
    variance of the conditional laws of f in the space of Wasserstein-2 distances). With a fitted model in
    the place of f it is an estimate of that bound and not one itself.

    Parameters
    ----------
    y_pred, s : (n,) arrays
        Predictions of the best model without regard to fairness, and the sensitive attribute.
    barycentre
        Fitted on other rows; on these by default.
    sample_weight : (n,) array, optional
        Non-negative; a weight of 2 counts as two copies of the row.

    Returns
    -------
    float
        In squared units of ŷ, at least 0, and 0 if ŷ is independent of s (of n rows, up to the noise of
        the smoothed laws). Divide by the variance of the target to put it beside a relative error.

    Raises
    ------
    OptionError
        As :func:`fit_barycentre`.
    """
    y, sensitive = pair(y_pred, s)
    weight = weights(sample_weight, len(y))
    if barycentre is None:
        barycentre = fit_barycentre(y, sensitive, sample_weight=weight)
    return float(weight @ (barycentre.predict(y, sensitive) - y) ** 2)


@dataclass(frozen=True, eq=False)
class _Around:
    """Smoothing of the calibration rows around the ranks of the nodes.

    The kernel is in ranks, so that every node has as many people around it; lines are in normal scores,
    because ranks press the tails of s together and a mean that is straight in s would bend there.
    """

    nodes: Array  # (G,) ranks
    rank: Array  # (n,), rising
    weight: Array  # (n,)
    bandwidth: float

    def lines(self, y: Array) -> Array:
        """Value at each node of the line fitted around it, (G,)."""
        values = np.empty(len(self.nodes))
        scores, centres = _scores(self.rank), _scores(self.nodes)
        for g, node in enumerate(self.nodes):
            near, kernel = self._kernel(node)
            distance = scores[near] - centres[g]
            moment = kernel * distance
            mass, first = kernel.sum(), moment.sum()
            second = moment @ distance + _SLOPE_RIDGE * mass
            total, cross = kernel @ y[near], moment @ y[near]
            values[g] = (second * total - first * cross) / (mass * second - first**2)
        return values

    def quantiles(self, y: Array) -> Array:
        """Quantiles of y around each node, (G, L): the inverse of the mid-distribution function."""
        order = np.argsort(y, kind="stable")
        table = np.empty((len(self.nodes), N_LEVELS))
        for g, node in enumerate(self.nodes):
            near, kernel = self._kernel(node)
            rows = order[(order >= near.start) & (order < near.stop)]
            points = y[rows]
            starts = np.flatnonzero(np.concatenate([[True], points[1:] != points[:-1]]))
            mass = np.add.reduceat(kernel[rows - near.start], starts)
            upper = np.cumsum(mass)
            table[g] = np.interp(_LEVELS, (upper - mass / 2) / upper[-1], points[starts])
        return table

    def _kernel(self, node: float) -> tuple[slice, Array]:
        """Rows near a node, and their weights in its averages."""
        reach = _REACH * self.bandwidth
        start = int(np.searchsorted(self.rank, node - reach, side="left"))
        stop = int(np.searchsorted(self.rank, node + reach, side="right"))
        distance = (self.rank[start:stop] - node) / self.bandwidth
        return slice(start, stop), self.weight[start:stop] * np.exp(-0.5 * distance**2)


def _node_ranks(rank: Array, weight: Array, bandwidth: float) -> Array:
    """Ranks at which laws are stored: four per bandwidth, or every distinct rank if there are fewer."""
    distinct = np.unique(rank)
    count = math.ceil(4 / bandwidth)
    if len(distinct) <= count:
        return distinct
    levels = (np.arange(count) + 0.5) / count
    inner = np.quantile(rank, levels, method="inverted_cdf", weights=weight)
    return np.unique(np.concatenate([distinct[:1], inner, distinct[-1:]]))


def _scores(rank: Array) -> Array:
    """Normal scores, within ±3.7."""
    return np.asarray(ndtri(np.clip(rank, _MIN_RANK, 1 - _MIN_RANK)))


def _count(quantile: Callable[[Index], Array], shape: Array, *, up_to: bool) -> Index:
    """Count each row's levels with a quantile below its shape, or up to it, by bisection."""
    holds = np.less_equal if up_to else np.less
    low = np.zeros(len(shape), dtype=np.int64)
    high = np.full(len(shape), N_LEVELS, dtype=np.int64)
    while (open_ := low < high).any():
        middle = (low + high) // 2
        yes = holds(quantile(np.minimum(middle, N_LEVELS - 1)), shape)
        low = np.where(open_ & yes, middle + 1, low)
        high = np.where(open_ & ~yes, middle, high)
    return low
