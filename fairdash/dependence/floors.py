"""The independence floor: what an estimator reads when s tells nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.grouping import Index, as_groups, draw_exchanges
from fairdash.dependence.measuring import (
    as_stack,
    as_weights,
    checked_options,
    keywords,
    measure_of,
    pieces,
    supported,
    values_of,
    varying,
)
from fairdash.dependence.registry import Measure
from fairdash.errors import OptionError
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class IndependenceFloor:
    """The same estimator on the same rows with s permuted.

    Attributes
    ----------
    mean : (K,) array
        Average over the permutations; with weights the larger of two, see :func:`null_values`.
    q95 : (K,) array
        The value that independence exceeds in 5 % of the permutations (of the absolute value, for signed
        measures whose sign is a direction); with weights the larger of two.
    n_permutations
        How many permutations.
    """

    mean: Array
    q95: Array
    n_permutations: int


def independence_floor(
    id: str,
    u: ArrayLike,
    v: ArrayLike,
    *,
    n_permutations: int = 200,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int | None = None,
    **options: Any,
) -> IndependenceFloor:
    """Mean and 95 % quantile of a measure under independence, for each pair of a stack.

    Parameters
    ----------
    id
        A key of :data:`~fairdash.dependence.REGISTRY`.
    u : (K, n) array
    v : (K, n) array, (n,) when all pairs share it, or (K, n, d) where the measure is multivariate
    n_permutations
        Permutations of v; the same for every member of the stack.
    sample_weight : (n,) or (K, n) array, optional
        Stays with u while v is permuted, and goes with v: see :func:`null_values`.
    groups : (n,) array, optional
        Which rows belong together, such as a policy's: whole groups exchange their values of v, see
        :class:`fairdash.dependence.grouping.Blocks`. Without it a floor of such rows is too low.
    random_state
        Seed of the permutations and of the measure.
    **options
        Options of the measure.

    Returns
    -------
    IndependenceFloor
        Arrays of shape (K,); 0 where an input is constant.

    Raises
    ------
    OptionError
        As :func:`~fairdash.dependence.measure`, if ``n_permutations`` is below 1, and if too few groups
        can exchange their values.
    """
    one = measure_of(id)
    a, b = as_stack(u, v, single=False, measure=one)
    weight, codes = as_weights(sample_weight, a.shape), as_groups(groups, a.shape[1])
    orders = draw_orders(b, n_permutations, random_state, codes)
    values = null_values(one, a, b, orders, weight, random_state, options, codes)
    sizes = np.abs(values) if one.signed else values
    return IndependenceFloor(
        mean=sizes.mean(axis=-1).max(axis=0),
        q95=np.quantile(sizes, 0.95, axis=-1).max(axis=0),
        n_permutations=n_permutations,
    )


def draw_orders(v: Array, count: int, random_state: int | None, groups: Index | None) -> Index:
    """``count`` orders of the rows of a stack v, (K, n) or (K, n, d), by whole groups if any; (count, n)."""
    permutations = draw_permutations(v.shape[1], count, random_state)
    if groups is None:
        return permutations
    by_row = v.swapaxes(0, 1).reshape(v.shape[1], -1)
    return draw_exchanges(groups, by_row, count, random_state)


def draw_permutations(n: int, count: int, random_state: int | None) -> NDArray[np.intp]:
    """``count`` random orders of n rows, (count, n)."""
    if count != int(count) or count < 1:
        raise OptionError.of(
            "The number of permutations is not usable",
            "Give a whole number of at least 1.",
            column="n_permutations",
        )
    rng = rng_of(Stream.PAIR_PERMUTATIONS, random_state)
    return rng.permuted(np.broadcast_to(np.arange(n), (count, n)), axis=1)


def null_values(
    one: Measure,
    u: Array,
    v: Array,
    permutations: NDArray[np.intp],
    weight: Array | None,
    random_state: int | None,
    options: dict[str, Any],
    groups: Index | None = None,
) -> Array:
    """The measure of u with each permutation of v: (1, K, B), or (2, K, B) with weights.

    A weight that depends on one of the two variables must not be torn from it: otherwise the permuted data
    have other weighted margins than the real ones. So there are two null distributions, the weight kept with
    u and kept with v, and whoever asks whether a value is noise takes the larger p-value. That holds its
    level where the weight depends on u alone, on v alone or on neither; a weight that depends on both is
    not covered by either.
    """
    supported(one, weight)
    ways = (False,) if weight is None else (False, True)
    values = [
        permuted_values(one, u, v, permutations, weight, random_state, options, way, groups) for way in ways
    ]
    return np.stack(values)


def permuted_values(
    one: Measure,
    u: Array,
    v: Array,
    permutations: NDArray[np.intp],
    weight: Array | None,
    random_state: int | None,
    options: dict[str, Any],
    weight_moves: bool = False,
    groups: Index | None = None,
) -> Array:
    """The measure of u with each permutation of v, (K, B); by its own short cut where it has one.

    The weight stays with u, or moves with v. With weights a short cut of its own is needed: a weighted margin
    changes as the weights move past it. The one without does not hold either where groups of unlike sizes
    exchange their values, since the margin of v changes.
    """
    result = np.zeros((len(u), len(permutations)))
    if one.weighted_permuted is not None and weight is not None and (weight > 0).all():
        checked_options(one, one.load(), options)
        shortcut = one.load("weighted_permuted")
        live = np.flatnonzero(varying(u, v, weight))
        result[live] = shortcut(
            u[live], v[live], permutations, sample_weight=weight[live], weight_moves=weight_moves, **options
        )
        return result
    if one.permuted is None or weight is not None or not _keep_margin(permutations, groups):
        for row in range(len(u)):
            fixed = np.broadcast_to(u[row], (len(permutations), u.shape[1]))
            moved = v[row][permutations]
            own = None
            if weight is not None:
                own = weight[row][permutations] if weight_moves else np.broadcast_to(weight[row], fixed.shape)
            result[row] = values_of(one, fixed, moved, own, random_state, options, groups)
        return result
    shortcut = one.load("permuted")
    checked_options(one, one.load(), options)
    if one.seeded:
        options = {**options, "random_state": random_state}
    if groups is not None and "groups" in keywords(shortcut):
        options = {**options, "groups": groups}
    live = np.flatnonzero(varying(u, v, None))
    for piece in pieces(one, len(live), u.shape[1]):
        rows = live[piece]
        result[rows] = shortcut(u[rows], v[rows], permutations, **options)
    return result


def _keep_margin(permutations: Index, groups: Index | None) -> bool:
    """Whether every row comes once in each order, (B, n); that of groups of unlike sizes repeats some."""
    n = permutations.shape[1]
    return groups is None or all(np.bincount(order, minlength=n).max() == 1 for order in permutations)
