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
    found,
    pieces,
    supported,
    values_of,
    varying,
)
from fairdash.dependence.registry import Measure
from fairdash.errors import OptionError, Problem

Array = NDArray[np.float64]

_STREAM = 1


@dataclass(frozen=True, kw_only=True)
class IndependenceFloor:
    """The same estimator on the same rows with s permuted.

    Attributes
    ----------
    mean : (K,) array
        Average over the permutations.
    q95 : (K,) array
        The value that independence exceeds in 5 % of the permutations (of the absolute value, for signed
        measures whose sign is a direction).
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
        Stays with u while v is permuted.
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
    one = found(id)
    a, b = as_stack(u, v, single=False, measure=one)
    weight = as_weights(sample_weight, a.shape)
    values = permuted_values(
        one, a, b, draw_permutations(a.shape[1], n_permutations, random_state), weight, random_state, options
    )
    sizes = np.abs(values) if one.signed else values
    return IndependenceFloor(
        mean=sizes.mean(axis=-1), q95=np.quantile(sizes, 0.95, axis=-1), n_permutations=n_permutations
    )


def draw_permutations(n: int, count: int, random_state: int | None) -> NDArray[np.intp]:
    """``count`` random orders of n rows, (count, n)."""
    if count != int(count) or count < 1:
        raise OptionError(
            Problem(
                what="The number of permutations is not usable",
                mend="Give a whole number of at least 1.",
                column="n_permutations",
            )
        )
    # A stream of its own: the measure may draw from the same seed.
    rng = np.random.default_rng(None if random_state is None else [random_state, _STREAM])
    return rng.permuted(np.broadcast_to(np.arange(n), (count, n)), axis=1)


def permuted_values(
    one: Measure,
    u: Array,
    v: Array,
    permutations: NDArray[np.intp],
    weight: Array | None,
    random_state: int | None,
    options: dict[str, Any],
) -> Array:
    """The measure of u with each permutation of v, (K, B); by its own short cut where it has one.

    With weights the short cut does not hold: the weighted margin of v changes as v moves past the weights.
    """
    supported(one, weight)
    result = np.zeros((len(u), len(permutations)))
    if one.permuted is None or weight is not None:
        for row in range(len(u)):
            fixed = np.broadcast_to(u[row], (len(permutations), u.shape[1]))
            moved = v[row][permutations]
            own = None if weight is None else np.broadcast_to(weight[row], fixed.shape)
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
