"""How far a measured dependence can be trusted: floor, p-value and interval beside the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.floors import draw_orders, null_values
from fairdash.dependence.grouping import Index, as_groups, group_rows, half_of_groups
from fairdash.dependence.measuring import as_stack, as_weights, measure_of, values_of
from fairdash.dependence.registry import Measure
from fairdash.errors import OptionError
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]

#: Rounding may part values that are equal: a permuted value this close below counts as not below.
_EQUAL = 1e-9
#: Normal quantiles of a two-sided 95 % interval and of a one-sided 95 % bound.
_TWO_SIDED, _ONE_SIDED = 1.959964, 1.644854


@dataclass(frozen=True, kw_only=True)
class DependenceEstimate:
    """A measure of dependence with what is needed to read it.

    Attributes
    ----------
    id
        The measure.
    value
        The estimate; cross-fitted for measures that learn functions, unless asked otherwise.
    in_sample
        The same measure scored on the rows that it learned from; the value itself for measures that
        don't learn.
    floor, floor_q95
        Mean of the measure under independence (v permuted), and the value exceeded in 5 % of the
        permutations. Of absolute values where the sign is a direction.
    p_value
        (1 + b) / (1 + B), with b of B permutations reaching the value: under independence it is at most
        α in at most a share α of samples. With weights the larger of two, see ``sample_weight`` below.
    ci_low, ci_high
        95 % interval from half-samples, corrected for bias. When independence is not rejected at 5 %
        (``bound_only``) it would be no interval: then the lowest value of the measure and an upper bound
        of 95 %. Of what it is an interval, :attr:`interval_of` says.
    bound_only
        Whether the interval is only an upper bound.
    n
        Rows of the data.
    n_used
        Rows used for every number here: fewer than ``n`` when a sample was drawn for speed.
    n_permutations, n_bootstrap
        Permutations, and half-samples; 0 half-samples give no interval (NaN).
    """

    id: str
    value: float
    in_sample: float
    floor: float
    floor_q95: float
    p_value: float
    ci_low: float
    ci_high: float
    bound_only: bool
    n: int
    n_used: int
    n_permutations: int
    n_bootstrap: int

    @property
    def interval_of(self) -> str:
        """What the interval covers: the measure's own quantity, or what its smoothing makes of it."""
        one = measure_of(self.id)
        return one.interval_of or one.title

    @property
    def subsampled(self) -> bool:
        """Whether the numbers come from a random sample of the rows."""
        return self.n_used < self.n


def assess_dependence(
    id: str,
    u: ArrayLike,
    v: ArrayLike,
    *,
    n_permutations: int = 199,
    n_bootstrap: int = 100,
    max_rows: int | None = 10_000,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int | None = None,
    **options: Any,
) -> DependenceEstimate:
    """Value, in-sample value, independence floor, p-value and interval of one pair.

    Parameters
    ----------
    id
        A key of :data:`~fairdash.dependence.REGISTRY`.
    u : (n,) array
    v : (n,) array, or (n, d) where the measure is multivariate
    n_permutations
        Permutations of v for floor and p-value; members of one stack with the value itself.
    n_bootstrap
        Half-samples for the interval; 0 leaves it out.
    max_rows
        From more rows than this a random sample of this size is used throughout, because a floor only
        fits the number of rows that it was made from. ``None``: always all rows.
    sample_weight : (n,) array, optional
        Permuted in two ways, kept with u and kept with v; floors and p-value are the larger of the two. They
        hold where the weight depends on u alone, on v alone or on neither, not where it depends on both.
    groups : (n,) array, optional
        Which rows belong together, such as those of a policy over the years. Whole groups exchange their
        values of v behind floor and p-value (:class:`fairdash.dependence.grouping.Blocks` says when that is
        exact), half-samples and samples take whole groups, and folds keep them together. Without it rows
        that are alike count as separate witnesses: floor, p-value and interval come out too small.
    random_state
        Seed of everything that is drawn.
    **options
        Options of the measure.

    Returns
    -------
    DependenceEstimate

    Raises
    ------
    OptionError
        As :func:`~fairdash.dependence.measure`, if a count is not usable, and if too few groups can exchange
        their values.

    Notes
    -----
    A half-sample is drawn without replacement, so that no row comes twice: a copy would leak from one
    fold into another, and be its own nearest neighbour. Its spread about the whole sample's value is
    that of the value about the truth, and its bias is twice the value's: the interval is centred at
    twice the value less the half-samples' mean (Politis, Romano and Wolf 1999, section 2).
    """
    one = measure_of(id)
    a, b = as_stack(u, v, single=True, measure=one)
    weight, codes = as_weights(sample_weight, a.shape), as_groups(groups, a.shape[1])
    n = a.shape[1]
    if n_bootstrap != int(n_bootstrap) or n_bootstrap < 0 or n_bootstrap == 1:
        raise _unusable("n_bootstrap", "Give 0, or a whole number of at least 2.")
    if max_rows is not None and max_rows < 2:
        raise _unusable("max_rows", "Give a whole number of at least 2, or None for all rows.")
    if max_rows is not None and n > max_rows:
        rng = rng_of(Stream.PAIR_ROWS, random_state)
        if codes is None:
            rows = np.sort(rng.choice(n, max_rows, replace=False))
        else:
            rows = group_rows(codes, rng, at_most=max_rows)
            codes = as_groups(codes[rows], len(rows))
        a, b, weight = a[:, rows], b[:, rows], None if weight is None else weight[:, rows]
    used = a.shape[1]
    # The first row is the order as it is: the value is a member of the same stack as its permutations.
    orders = np.concatenate([np.arange(used)[None], draw_orders(b, n_permutations, random_state, codes)])
    values = null_values(one, a, b, orders, weight, random_state, options, codes)[:, 0]
    value, permuted = float(values[0, 0]), values[:, 1:]
    in_sample = value
    if one.fitted:
        inside = {**options, "evaluation": "in_sample"}
        in_sample = float(values_of(one, a, b, weight, random_state, inside, codes)[0])
    sizes = np.abs(permuted) if one.signed else permuted
    p_value = max(permutation_p_value(abs(value) if one.signed else value, each) for each in sizes)
    halves = _half_samples(one, a, b, weight, n_bootstrap, random_state, options, codes)
    low, high = _interval(one, value, in_sample, halves, p_value)
    return DependenceEstimate(
        id=one.id,
        value=value,
        in_sample=in_sample,
        floor=float(sizes.mean(axis=1).max()),
        floor_q95=float(np.quantile(sizes, 0.95, axis=1).max()),
        p_value=p_value,
        ci_low=low,
        ci_high=high,
        bound_only=p_value > 0.05,
        n=n,
        n_used=used,
        n_permutations=n_permutations,
        n_bootstrap=n_bootstrap,
    )


def permutation_p_value(value: float, permuted: ArrayLike) -> float:
    """(1 + b) / (1 + B), where b of the B permuted values are at least the value.

    Parameters
    ----------
    value
        Large when there is dependence.
    permuted : (B,) array
        The same of permuted data.

    Returns
    -------
    float
        In [1 / (1 + B), 1].
    """
    values = np.asarray(permuted, dtype=np.float64)
    reached = int(np.count_nonzero(values >= value - _EQUAL * max(abs(value), 1.0)))
    return (1 + reached) / (1 + len(values))


def _half_samples(
    one: Measure,
    u: Array,
    v: Array,
    weight: Array | None,
    count: int,
    random_state: int | None,
    options: dict[str, Any],
    groups: Index | None,
) -> Array:
    """The measure of random halves of the rows, or of the groups, (count,)."""
    n = u.shape[1] if groups is None else int(groups.max()) + 1
    if count == 0 or n < 4:
        return np.full(2, np.nan)
    if groups is not None:
        rng = rng_of(Stream.PAIR_HALVES, random_state)
        halves = (half_of_groups(groups, rng) for _ in range(count))
        # Groups differ in size, and so do their halves: no stack.
        return np.concatenate(
            [
                values_of(
                    one,
                    u[:, half],
                    v[:, half],
                    None if weight is None else weight[:, half],
                    random_state,
                    options,
                    as_groups(groups[half], len(half)),
                )
                for half in halves
            ]
        )
    rows = np.argsort(rng_of(Stream.PAIR_HALVES, random_state).random((count, n)), axis=-1)[:, : n // 2]
    own = None if weight is None else weight[0][rows]
    return values_of(one, u[0][rows], v[0][rows], own, random_state, options)


def _interval(
    one: Measure, value: float, in_sample: float, halves: Array, p_value: float
) -> tuple[float, float]:
    spread = float(halves.std(ddof=1))
    if p_value > 0.05:
        # Near independence a held-out score says that no function was found, not that there is none. The
        # in-sample value is at least what the best function reaches on these rows.
        high = max(value, in_sample, abs(value) if one.signed else value) + _ONE_SIDED * spread
        return (-min(high, one.upper) if one.signed else one.lower), min(high, one.upper)
    centre = 2 * value - float(halves.mean())
    low, high = centre - _TWO_SIDED * spread, centre + _TWO_SIDED * spread
    return float(np.clip(low, one.lower, one.upper)), float(np.clip(high, one.lower, one.upper))


def _unusable(option: str, hint: str) -> OptionError:
    return OptionError.of("The number is not usable", hint, column=option)
