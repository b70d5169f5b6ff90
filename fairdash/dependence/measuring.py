"""The two verbs: one pair in and one number out; a stack of pairs in and a vector out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.grouping import Index, as_groups
from fairdash.dependence.registry import REGISTRY, Measure
from fairdash.errors import OptionError, Problem
from fairdash.utils.registry import get_entry

Array = NDArray[np.float64]

#: Numbers that a piece of a stack may need in memory (8 bytes each).
_PIECE = 8_000_000
#: Rows that a distinct value of a discrete variable must have on average: with fewer, a table of counts
#: is mostly chance.
_ROWS_A_VALUE = 5


def measure(
    id: str,
    u: ArrayLike,
    v: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int | None = None,
    **options: Any,
) -> float:
    """One measure of dependence between two variables.

    Parameters
    ----------
    id
        A key of :data:`~fairdash.dependence.REGISTRY`, such as ``"hgr_kde"``.
    u : (n,) array
        Finite numbers; a prediction or a residual, say.
    v : (n,) array, or (n, d) where the measure is multivariate
        Finite numbers; the sensitive attribute, say.
    sample_weight : (n,) array, optional
        Non-negative; refused where it has no meaning.
    groups : (n,) array, optional
        Which rows belong together, such as a policy's: cross-fitting keeps them in one fold, so that nothing
        is scored on rows of a group that it learned from. Nothing else of a value depends on it.
    random_state
        The seed of measures that draw. The same seed gives the same value.
    **options
        Options of the measure, such as ``evaluation="in_sample"`` or ``grid="published"``.

    Returns
    -------
    float
        What 0 and 1 mean is in the registry. A constant input gives 0.

    Raises
    ------
    OptionError
        If the id or an option is not known, or an input is not finite or has the wrong shape.

    Examples
    --------
    >>> measure("pearson", [1, 2, 3], [2, 4, 6])
    1.0
    """
    one = measure_of(id)
    a, b = as_stack(u, v, single=True, measure=one)
    weight, codes = as_weights(sample_weight, a.shape), as_groups(groups, a.shape[1])
    return float(values_of(one, a, b, weight, random_state, options, codes)[0])


def measure_many(
    id: str,
    u: ArrayLike,
    v: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int | None = None,
    **options: Any,
) -> Array:
    """One measure of dependence for each pair of a stack, in one computation.

    Parameters
    ----------
    id
        A key of :data:`~fairdash.dependence.REGISTRY`.
    u : (K, n) array
    v : (K, n) array, (n,) when all pairs share it, or (K, n, d) where the measure is multivariate
    sample_weight : (n,) or (K, n) array, optional
    groups : (n,) array, optional
        As in :func:`measure`; the same for every member.
    random_state
        Every member uses the same seed, so that a value does not depend on the rest of the stack.
    **options
        Options of the measure.

    Returns
    -------
    (K,) array
        0 where an input is constant.

    Raises
    ------
    OptionError
        As :func:`measure`.
    """
    one = measure_of(id)
    a, b = as_stack(u, v, single=False, measure=one)
    weight, codes = as_weights(sample_weight, a.shape), as_groups(groups, a.shape[1])
    return values_of(one, a, b, weight, random_state, options, codes)


def measure_of(id: str) -> Measure:
    """The measure of that id, or an :class:`OptionError` that lists the ids."""
    return get_entry(REGISTRY, id, option="measure")


def as_stack(
    u: ArrayLike, v: ArrayLike, *, single: bool, measure: Measure | None = None
) -> tuple[Array, Array]:
    """Inputs as float64 stacks (K, n) and (K, n) or (K, n, d), checked for what the measure can take."""
    a, b = _numbers(u, "u"), _numbers(v, "v")
    wanted = 1 if single else 2
    if a.ndim != wanted:
        raise _fault("u", f"u has {a.ndim} dimensions", f"Give an array with {wanted}.")
    if single:
        a, b = a[None], b[None]
    elif b.ndim == 1:
        b = np.broadcast_to(b, (len(a), len(b)))
    if b.ndim == 3 and b.shape[2] == 1:
        b = b[:, :, 0]
    if b.ndim not in (2, 3) or b.shape[:2] != a.shape or 0 in b.shape:
        raise _fault(
            "v", "u and v don't have the same rows", "Give as many values of v as of u, and at least one."
        )
    if measure is not None:
        _refuse(measure, a, b)
    return a, b


def _refuse(measure: Measure, u: Array, v: Array) -> None:
    if v.ndim == 3 and not measure.multivariate:
        able = ", ".join(one.id for one in REGISTRY.values() if one.multivariate)
        raise _fault(
            "v", f"{measure.title} takes one sensitive column", f"Give one column, or choose {able}."
        )
    if not measure.discrete:
        return
    live = varying(u, v, None)
    for name, stack in (("u", u[live]), ("v", v[live])):
        for x in stack:
            distinct = len(np.unique(x))
            if distinct > max(len(x) / _ROWS_A_VALUE, 2):
                what = (
                    f"This measure is for discrete variables, but {name} has {distinct:,} distinct values in "
                    f"{len(x):,} rows; of a continuous one it would read 1 whatever the dependence"
                )
                raise _fault(name, what, "Choose hgr_spline, hgr_kde or hgr_nn, or group the values first.")


def as_weights(sample_weight: ArrayLike | None, shape: tuple[int, ...]) -> Array | None:
    """Weights as a stack (K, n), checked; ``None`` stays ``None``."""
    if sample_weight is None:
        return None
    weight = _numbers(sample_weight, "sample_weight")
    if weight.shape not in (shape, shape[-1:]):
        raise _fault("sample_weight", "There are not as many weights as rows", "Give one weight a row.")
    if (weight < 0).any():
        raise _fault(
            "sample_weight", "A weight is negative", "Weights must be at least 0.", int((weight < 0).sum())
        )
    weight = np.broadcast_to(weight, shape)
    if not (weight.sum(axis=-1) > 0).all():
        raise _fault("sample_weight", "All weights are zero", "At least one row must count.")
    return weight


def _numbers(x: ArrayLike, name: str) -> Array:
    try:
        numbers = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise _fault(name, "Not every value is a number", "Give numbers only.") from None
    bad = int(numbers.size - np.count_nonzero(np.isfinite(numbers)))
    if bad:
        raise _fault(name, "Values are missing or infinite", "Leave those rows out or fill them first.", bad)
    return numbers


def _fault(name: str, what: str, hint: str, count: int | None = None) -> OptionError:
    return OptionError.of(what, hint, column=name, count=count)


def checked_options(measure: Measure, implementation: Callable[..., Any], options: dict[str, Any]) -> None:
    """Refuse options that the implementation doesn't have, naming those that it has."""
    known = keywords(implementation) - {"sample_weight", "random_state", "groups"}
    unknown = sorted(set(options) - known)
    if unknown:
        hint = f"Its options are {', '.join(sorted(known))}." if known else "It has no options."
        raise OptionError(
            *(Problem(what=f"{measure.title} has no such option", hint=hint, column=name) for name in unknown)
        )


def keywords(implementation: Callable[..., Any]) -> set[str]:
    """Names of the options that an implementation takes."""
    keywords = inspect.signature(implementation).parameters.values()
    return {one.name for one in keywords if one.kind is inspect.Parameter.KEYWORD_ONLY}


def supported(measure: Measure, weight: Array | None) -> None:
    """Refuse weights where they have no meaning for the measure."""
    if weight is not None and not measure.accepts_weights:
        raise _fault(
            "sample_weight",
            f"{measure.title} has no weighted form here",
            "Leave the weights out, or choose a measure that takes them.",
        )


def varying(u: Array, v: Array, weight: Array | None) -> NDArray[np.bool_]:
    """Which pairs of a stack have no constant side, (K,); rows without weight don't count."""
    varies = _varies(u, weight)
    if v.ndim == 2:
        return varies & _varies(v, weight)
    return varies & np.any([_varies(v[:, :, j], weight) for j in range(v.shape[2])], axis=0)


def _varies(x: Array, weight: Array | None) -> NDArray[np.bool_]:
    if weight is None:
        return np.asarray(x.min(axis=-1) < x.max(axis=-1))
    counted = weight > 0
    low = np.where(counted, x, np.inf).min(axis=-1)
    return np.asarray(low < np.where(counted, x, -np.inf).max(axis=-1))


def pieces(measure: Measure, count: int, n: int) -> Iterator[slice]:
    """Slices of a stack that are small enough for the memory the measure needs."""
    step = max(1, _PIECE // (n * measure.floats_per_row))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def values_of(
    measure: Measure,
    u: Array,
    v: Array,
    weight: Array | None,
    random_state: int | None,
    options: dict[str, Any],
    groups: Index | None = None,
) -> Array:
    """The measure of a stack of checked inputs, (K,)."""
    supported(measure, weight)
    if weight is not None and not (counted := (weight > 0).any(axis=0)).all():
        u, v, weight = u[:, counted], v[:, counted], weight[:, counted]
        groups = None if groups is None else groups[counted]
    implementation = measure.load()
    checked_options(measure, implementation, options)
    if measure.seeded:
        options = {**options, "random_state": random_state}
    if groups is not None and "groups" in keywords(implementation):
        options = {**options, "groups": groups}
    values = np.zeros(len(u))
    live = np.flatnonzero(varying(u, v, weight))
    for piece in pieces(measure, len(live), u.shape[1]):
        rows = live[piece]
        extra = {} if weight is None else {"sample_weight": weight[rows]}
        values[rows] = implementation(u[rows], v[rows], **extra, **options)
    return values
