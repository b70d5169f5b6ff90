"""The independence floor: what an estimator reads when s tells nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.measuring import (
    as_stack,
    as_weights,
    checked_options,
    measure_of,
    pieces,
    supported,
    values_of,
    varying,
)
from fairdash.dependence.registry import Measure
from fairdash.errors import OptionError
from fairdash.seeds import Stream, rng_of

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
        As :func:`~fairdash.dependence.measure`, and if ``n_permutations`` is below 1.
    """
    one = measure_of(id)
    a, b = as_stack(u, v, single=False, measure=one)
    weight = as_weights(sample_weight, a.shape)
    values = null_values(
        one, a, b, draw_permutations(a.shape[1], n_permutations, random_state), weight, random_state, options
    )
    sizes = np.abs(values) if one.signed else values
    return IndependenceFloor(
        mean=sizes.mean(axis=-1).max(axis=0),
        q95=np.quantile(sizes, 0.95, axis=-1).max(axis=0),
        n_permutations=n_permutations,
    )


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
    values = [permuted_values(one, u, v, permutations, weight, random_state, options, way) for way in ways]
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
) -> Array:
    """The measure of u with each permutation of v, (K, B); by its own short cut where it has one.

    The weight stays with u, or moves with v. With weights the short cut does not hold: a weighted margin
    changes as the weights move past it.
    """
    result = np.zeros((len(u), len(permutations)))
    if one.permuted is None or weight is not None:
        for row in range(len(u)):
            fixed = np.broadcast_to(u[row], (len(permutations), u.shape[1]))
            moved = v[row][permutations]
            own = None
            if weight is not None:
                own = weight[row][permutations] if weight_moves else np.broadcast_to(weight[row], fixed.shape)
            result[row] = values_of(one, fixed, moved, own, random_state, options)
        return result
    shortcut = one.load("permuted")
    checked_options(one, one.load(), options)
    if one.seeded:
        options = {**options, "random_state": random_state}
    live = np.flatnonzero(varying(u, v, None))
    for piece in pieces(one, len(live), u.shape[1]):
        rows = live[piece]
        result[rows] = shortcut(u[rows], v[rows], permutations, **options)
    return result
