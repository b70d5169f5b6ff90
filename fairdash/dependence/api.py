"""Public functions that check their inputs and measure the dependence of one or many pairs of variables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.grouping import Index, as_groups
from fairdash.dependence.measure import Measure
from fairdash.dependence.registry import REGISTRY
from fairdash.errors import OptionError, Problem
from fairdash.utils.classes import class_columns, holds_text
from fairdash.utils.registry import get_entry
from fairdash.utils.rounding import precision, restore_ties, varies

Array = NDArray[np.float64]

#: Maximum number of values (8 bytes each) in memory at once; larger stacks of pairs are divided.
_PIECE = 8_000_000
#: Minimum average number of rows per distinct value of a discrete variable. With fewer rows per value, a
#: table of counts is mostly noise.
_ROWS_A_VALUE = 5
#: Arguments that this module passes to an implementation; callers cannot set them as options.
_NO_OPTIONS = {"sample_weight", "random_state", "groups", "permutations", "permute_weight"}


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
    """Measure the dependence between two variables.

    Parameters
    ----------
    id
        A key of :data:`~fairdash.dependence.REGISTRY`, such as ``"hgr_kde"``.
    u : (n,) array
        Finite numbers, such as predictions or residuals.
    v : (n,) array, or (n, d) where the measure is multivariate
        Finite numbers, such as the sensitive attribute. Text and categories are treated as classes. Two
        classes are encoded as 0 and 1. More than two classes become codes for a discrete measure, and one
        column of 0 and 1 per class for a multivariate measure; other measures raise an error.
    sample_weight : (n,) array, optional
        Non-negative weights. Measures that do not accept weights raise an error.
    groups : (n,) array, optional
        Groups of rows, such as policies. Cross-fitting keeps each group in one fold. The corrected
        ``hgr_spline`` counts similar rows of a group as fewer rows. Other measures ignore groups.
    random_state
        Seed of measures that draw random numbers. The same seed gives the same value.
    **options
        Options of the measure, such as ``evaluation="in_sample"`` or ``grid="published"``.

    Returns
    -------
    float
        Value of the measure, or 0 if an input is constant; the registry describes what 0 and 1 mean.

    Raises
    ------
    OptionError
        Raised if the id or an option is unknown, or an input is not finite or has the wrong shape.

    Examples
    --------
    >>> round(measure("pearson", [1, 2, 3], [2, 4, 6]), 3)
    1.0
    """
    fit = Estimator(measure_of(id), options, random_state)
    return float(fit.values(Pairs.of(u, v, sample_weight, groups, single=True, measure=fit.measure))[0])


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
    """Measure the dependence of each of K pairs of variables (a stack) in one computation.

    Parameters
    ----------
    id
        A key of :data:`~fairdash.dependence.REGISTRY`.
    u : (K, n) array
    v : (K, n) array, (n,) when all pairs share it, or (K, n, d) where the measure is multivariate
    sample_weight : (n,) or (K, n) array, optional
    groups : (n,) array, optional
        Groups of rows, as in :func:`measure`; all pairs share the same groups.
    random_state
        Seed used for every pair, so that the value of a pair does not depend on the other pairs.
    **options
        Options of the measure.

    Returns
    -------
    (K,) array
        Value of the measure for each pair, or 0 if an input of the pair is constant.

    Raises
    ------
    OptionError
        Raised for the same reasons as in :func:`measure`.

    Examples
    --------
    >>> s = np.linspace(-1, 1, 200)
    >>> fd.measure_many("pearson", [s, -s], [s, s]).round(2)
    array([ 1., -1.])
    """
    fit = Estimator(measure_of(id), options, random_state)
    return fit.values(Pairs.of(u, v, sample_weight, groups, measure=fit.measure))


@dataclass(frozen=True, kw_only=True)
class LearnedFunctions:
    """Values of the learned functions f and g in each row, scaled to mean 0 and variance 1.

    The signs are chosen so that g tends to rise as v rises, and f tends to rise as g rises.

    Attributes
    ----------
    u, f : (n,) arrays
        Values of u and of f(u), sorted by u so that they form a curve.
    v : (n,) or (n, d) array
        Values of v, which are sorted if v has one column.
    g : (n,) array
    """

    u: Array
    f: Array
    v: Array
    g: Array


def learned_functions(
    id: str, u: ArrayLike, v: ArrayLike, *, random_state: int | None = None, **options: Any
) -> LearnedFunctions:
    """Fit the functions f and g to all rows of one pair.

    Parameters
    ----------
    id
        ``"hgr_spline"`` or ``"hgr_nn"``.
    u : (n,) array
    v : (n,) or (n, d) array
    random_state
        Seed, for measures that draw random numbers.
    **options
        Options of :func:`fairdash.dependence.hgr_nn.hgr_nn`: ``inputs``, ``hidden``, ``n_steps``.

    Returns
    -------
    LearnedFunctions

    Raises
    ------
    OptionError
        Raised if the measure does not learn functions, or an input is constant.

    Examples
    --------
    >>> s = np.linspace(-1, 1, 200)
    >>> functions = fd.learned_functions("hgr_nn", s**2, s, n_steps=20, random_state=0)
    >>> functions.f.shape
    (200,)
    """
    entry = measure_of(id)
    if entry.learned is None:
        choices = ", ".join(other.id for other in REGISTRY.values() if other.learned)
        raise OptionError.of(f"{entry.title} has no f and g", f"Choose one of {choices}.", column="measure")
    pairs = Pairs.of(u, v, single=True, measure=entry)
    if not pairs.varying()[0]:
        raise OptionError.of("An input is constant, and so is every function of it", "Choose another column.")
    if entry.seeded:
        options["random_state"] = random_state
    a, b = pairs.u[0], pairs.v[0]
    f, g = (_unit(function) for function in entry.load("learned")(a, b, **options))
    columns = b[:, None] if b.ndim == 1 else b
    correlation = sum(float(np.corrcoef(g, column)[0, 1]) for column in columns.T if np.ptp(column) > 0)
    sign_g = -1.0 if correlation < 0 else 1.0
    sign_f = sign_g * (-1.0 if (f * g).mean() < 0 else 1.0)
    by_u = np.argsort(a, kind="stable")
    by_v = np.argsort(b, kind="stable") if b.ndim == 1 else np.arange(len(g))
    return LearnedFunctions(u=a[by_u], f=sign_f * f[by_u], v=b[by_v], g=sign_g * g[by_v])


def _unit(x: Array) -> Array:
    centred = x - x.mean()
    size = centred.std()
    return centred / size if size > 0 else centred


def measure_of(id: str) -> Measure:
    """Return the measure with the given id; an unknown id raises an OptionError that lists the valid ids."""
    return get_entry(REGISTRY, id, option="measure")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Stack of K pairs of variables with n rows each, checked by :meth:`of`.

    Attributes
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array
    weight : (K, n) array, optional
    groups : (n,) array, optional
        Group number of each row, 0 … G-1.
    """

    u: Array
    v: Array
    weight: Array | None = None
    groups: Index | None = None

    @classmethod
    def of(
        cls,
        u: ArrayLike,
        v: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        single: bool = False,
        measure: Measure | None = None,
    ) -> Pairs:
        """Check that the measure accepts one or many pairs of columns, and convert the values to float64.

        Raises
        ------
        OptionError
            Raised for the same reasons as in :func:`measure`.
        """
        # More than two classes become an indicator matrix (n, k), which all pairs share.
        are_classes = holds_text(v)
        if are_classes:
            v = class_columns(v, as_codes=measure is not None and measure.discrete)
        a, b = _numbers(u, "u"), _numbers(v, "v")
        n_dims = 1 if single else 2
        if a.ndim != n_dims:
            raise _error("u", f"u has {a.ndim} dimensions", f"Give an array with {n_dims}.")
        if single:
            a, b = a[None], b[None]
        elif b.ndim == 1:
            b = np.broadcast_to(b, (len(a), len(b)))
        elif are_classes:
            b = np.broadcast_to(b, (len(a), *b.shape))
        if b.ndim == 3 and b.shape[2] == 1:
            b = b[:, :, 0]
        if b.ndim not in (2, 3) or b.shape[:2] != a.shape or 0 in b.shape:
            hint = "Give the same number of values for u and for v, at least one."
            raise _error("v", "u and v have different numbers of rows", hint)
        weight = _weights(sample_weight, a.shape)
        a = restore_ties(a, weight, eps=precision(u))
        if b.ndim == 2:
            b = restore_ties(b, weight, eps=precision(v))
        else:
            b = np.moveaxis(restore_ties(np.moveaxis(b, 2, 0), weight, eps=precision(v)), 0, 2)
        if measure is not None:
            _refuse(measure, a, b, n_classes=b.shape[2] if are_classes and b.ndim == 3 else 0)
        return cls(a, b, weight, as_groups(groups, a.shape[1]))

    def rows(self, index: Index) -> Pairs:
        """Return the selected rows, with renumbered groups."""
        groups = None if self.groups is None else as_groups(self.groups[index], len(index))
        return replace(self._selected(index), groups=groups)

    def drop_zero_weights(self) -> Pairs:
        """Drop rows whose weight is 0 in every pair; the remaining groups keep their numbers."""
        if self.weight is None or (has_weight := (self.weight > 0).any(axis=0)).all():
            return self
        return self._selected(np.flatnonzero(has_weight))

    def _selected(self, index: Index) -> Pairs:
        weight = None if self.weight is None else self.weight[:, index]
        groups = None if self.groups is None else self.groups[index]
        return Pairs(self.u[:, index], self.v[:, index], weight, groups)

    def varying(self) -> NDArray[np.bool_]:
        """Return a mask of the pairs in which both variables vary, (K,); rows of weight 0 are ignored."""
        columns = self.v[None] if self.v.ndim == 2 else np.moveaxis(self.v, 2, 0)
        return varies(self.u, self.weight) & np.any([varies(x, self.weight) for x in columns], axis=0)


@dataclass(frozen=True)
class Estimator:
    """Dependence measure with its options and its seed.

    Attributes
    ----------
    measure
        Registry entry with the estimand and the implementation.
    options
        Options of the measure.
    random_state
        Seed for measures that draw random numbers; every pair uses the same seed.
    """

    measure: Measure
    options: Mapping[str, Any] = field(default_factory=dict)
    random_state: int | None = None

    def values(self, pairs: Pairs) -> Array:
        """Return the measure of each pair, (K,)."""
        pairs = pairs.drop_zero_weights()
        return self._compute(pairs, np.zeros(len(pairs.u)))

    def null(self, pairs: Pairs, permutations: Index) -> Array:
        """Return the measure of u and each permutation (B, n) of v: (1, K, B), or (2, K, B) with weights.

        A weight that depends on one of the two variables must stay with this variable. Otherwise, the
        weighted margins of the permuted data differ from the margins of the observed data. There are
        therefore two null distributions: the weights stay with u in one, and with v in the other. A test
        takes the larger p-value, which is valid unless the weight depends on both u and v.
        """
        ways = (False,) if pairs.weight is None else (False, True)
        return np.stack([self.permuted(pairs, permutations, permute_weight=way) for way in ways])

    def permuted(self, pairs: Pairs, permutations: Index, *, permute_weight: bool = False) -> Array:
        """Return the measure of u and each permutation of v, (K, B); use a shortcut if the measure has one.

        The weight stays with u, or moves with v if `permute_weight` is true. Weights that move relative to a
        variable change its weighted margin, so weights need a shortcut that accepts `permute_weight`. Without
        weights, no shortcut is used if groups of different sizes are permuted, which changes v's margin.
        """
        weight, result = pairs.weight, np.zeros((len(pairs.u), len(permutations)))
        accepted = keywords(self.measure.load())
        options: dict[str, Any] = {}
        if weight is None:
            is_short = "permutations" in accepted and _are_permutations(permutations, pairs.groups)
        else:
            is_short = "permute_weight" in accepted and bool((weight > 0).all())
            options["permute_weight"] = permute_weight
        if is_short:
            return self._compute(pairs, result, permutations=permutations, **options)
        for row in range(len(pairs.u)):
            fixed_u = np.broadcast_to(pairs.u[row], permutations.shape)
            weights = None if weight is None else np.broadcast_to(weight[row], fixed_u.shape)
            if weight is not None and permute_weight:
                weights = weight[row][permutations]
            result[row] = self.values(Pairs(fixed_u, pairs.v[row][permutations], weights, pairs.groups))
        return result

    def _compute(self, pairs: Pairs, result: Array, **arguments: Any) -> Array:
        """Compute the measure of each pair in which both variables vary, in pieces that fit in memory."""
        entry, implementation = self.measure, self.measure.load()
        if pairs.weight is not None and not entry.accepts_weights:
            raise _error(
                "sample_weight",
                f"{entry.title} does not accept weights",
                "Leave the weights out, or choose a measure that accepts weights.",
            )
        accepted = keywords(implementation)
        supported = accepted - _NO_OPTIONS
        if unknown := sorted(set(self.options) - supported):
            hint = f"Its options are {', '.join(sorted(supported))}." if supported else "It has no options."
            problem = f"{entry.title} has no such option"
            raise OptionError(*(Problem(what=problem, hint=hint, column=name) for name in unknown))
        arguments |= self.options
        if entry.seeded:
            arguments["random_state"] = self.random_state
        if pairs.groups is not None and "groups" in accepted:
            arguments["groups"] = pairs.groups
        varying_pairs = np.flatnonzero(pairs.varying())
        step = max(1, _PIECE // (pairs.u.shape[1] * entry.floats_per_row))
        for start in range(0, len(varying_pairs), step):
            rows = varying_pairs[start : start + step]
            weight = {} if pairs.weight is None else {"sample_weight": pairs.weight[rows]}
            result[rows] = implementation(pairs.u[rows], pairs.v[rows], **weight, **arguments)
        return result


def keywords(implementation: Callable[..., Any]) -> set[str]:
    """Return the keyword names that an implementation accepts."""
    parameters = inspect.signature(implementation).parameters.values()
    return {parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY}


def _are_permutations(permutations: Index, groups: Index | None) -> bool:
    """Return True if every order (B, n) contains each row once; orders of unequal groups may repeat rows."""
    n = permutations.shape[1]
    return groups is None or all(np.bincount(order, minlength=n).max() == 1 for order in permutations)


def _refuse(measure: Measure, u: Array, v: Array, *, n_classes: int) -> None:
    if v.ndim == 3 and not measure.multivariate:
        choices = ", ".join(entry.id for entry in REGISTRY.values() if entry.multivariate)
        one_column = "one class as 1 and the others as 0" if n_classes else "one column"
        text = f"{measure.title} takes one sensitive column"
        text += f", but {n_classes} classes need one column each" if n_classes else ""
        raise _error("v", text, f"Give {one_column}, or choose {choices}.")
    if not measure.discrete:
        return
    varying_pairs = Pairs(u, v).varying()
    for pair in zip(u[varying_pairs], v[varying_pairs], strict=True):
        counts = [len(np.unique(x, axis=0)) for x in pair]
        # With at most one combination of values per row, the rows may list a distribution, not a sample.
        has_few_cells = counts[0] * counts[1] <= len(pair[0])
        for name, x, distinct in zip("uv", pair, counts, strict=True):
            if not has_few_cells and distinct > max(len(x) / _ROWS_A_VALUE, 2):
                text = (
                    f"This measure is for discrete variables, but {name} has {distinct:,} distinct values in "
                    f"{len(x):,} rows; for a continuous variable, the measure is 1 even under independence"
                )
                raise _error(name, text, "Choose hgr_spline, hgr_kde or hgr_nn, or group the values first.")


def _weights(sample_weight: ArrayLike | None, shape: tuple[int, ...]) -> Array | None:
    """Check the weights and return them as a stack (K, n); return ``None`` if there are no weights."""
    if sample_weight is None:
        return None
    weight = _numbers(sample_weight, "sample_weight")
    if weight.shape not in (shape, shape[-1:]):
        raise _error("sample_weight", "Weights and rows differ in number", "Give one weight per row.")
    if negative := int((weight < 0).sum()):
        raise _error("sample_weight", "A weight is negative", "Weights must be at least 0.", negative)
    weight = np.broadcast_to(weight, shape)
    if not (weight.sum(axis=-1) > 0).all():
        raise _error("sample_weight", "All weights are zero", "At least one row must have a weight above 0.")
    return weight


def _numbers(x: ArrayLike, name: str) -> Array:
    try:
        numbers = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise _error(name, "Not every value is a number", "Give numbers only.") from None
    bad = int(numbers.size - np.count_nonzero(np.isfinite(numbers)))
    if bad:
        raise _error(name, "Values are missing or infinite", "Leave those rows out or fill them first.", bad)
    return numbers


def _error(name: str, problem: str, hint: str, count: int | None = None) -> OptionError:
    return OptionError.of(problem, hint, column=name, count=count)
