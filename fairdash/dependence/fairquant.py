"""FairQuant: mean absolute difference between quantile groups' average prediction and the overall average."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.api import Pairs
from fairdash.dependence.classical import mid_ranks
from fairdash.dependence.inference import weighted_orders
from fairdash.errors import require_count

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class FairQuant:
    """Value of FairQuant, and the number of groups used; ties and small samples reduce this number.

    Attributes
    ----------
    value
        FairQuant in the units of u; 0 if all groups have the same average.
    n_quantiles
        Number of groups used, at most the number requested.
    """

    value: float
    n_quantiles: int

    def __float__(self) -> float:
        return self.value


def fairquant(
    u: ArrayLike,
    s: ArrayLike,
    *,
    n_quantiles: int = 50,
    cumulative: bool = False,
    sample_weight: ArrayLike | None = None,
) -> FairQuant:
    """Return the mean absolute difference between averages of u by quantile groups of s and the mean of u.

    Parameters
    ----------
    u : (n,) array
        Predictions (demographic parity) or residuals (equalized residuals).
    s : (n,) array
        Values of the sensitive attribute. Only the order of the values matters, and rows with equal values
        share a group.
    n_quantiles
        Number of groups requested; fewer groups are used if there are fewer rows or if ties leave groups
        empty.
    cumulative
        ``False``: the definition in the text of the paper, 1/Q Σ|m_i − m| over the groups. ``True``: the
        definition in the authors' code, where group i contains every row up to the i-th quantile.
    sample_weight : (n,) array, optional
        Weights of the rows; a row of weight 2 counts as two rows.

    Returns
    -------
    FairQuant
        FairQuant in the units of u, and the number of groups used.

    Raises
    ------
    OptionError
        Raised if an input is not a finite vector, if the lengths of the inputs differ, or if ``n_quantiles``
        is below 2.

    Examples
    --------
    >>> fd.fairquant([200.0] * 50 + [300.0] * 50, range(100), n_quantiles=2).value
    50.0
    """
    pair = Pairs.of(u, s, sample_weight, single=True)
    groups = quantile_groups(pair.v, n_quantiles, sample_weight=pair.weight)
    value = _mean_gap(pair.u, groups, pair.weight, cumulative)[0]
    return FairQuant(value=float(value), n_quantiles=int(groups.max()) + 1)


def quantile_groups(s: ArrayLike, n_quantiles: int = 50, *, sample_weight: ArrayLike | None = None) -> Index:
    """Return the group of each row when s is divided into equal parts by rank.

    Parameters
    ----------
    s : (..., n) array
        Values of s. Rows with equal values share a group, so the order of the rows has no effect. Without
        ties, group sizes differ by at most one.
    n_quantiles
        Number of groups requested, at least 2.
    sample_weight : (..., n) array, optional
        Weights of the rows; the groups then have equal weight instead of equal size.

    Returns
    -------
    (..., n) array of int
        Group numbers without gaps, from 0 for the lowest s. The largest number plus one is the number of
        groups used.

    Raises
    ------
    OptionError
        Raised if ``n_quantiles`` is below 2.
    """
    require_count(n_quantiles, column="n_quantiles", called="number of quantile groups", lower_limit=2)
    values = np.asarray(s, dtype=np.float64)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    n = values.shape[-1]
    n_groups = int(n_quantiles)
    # Rounding may put (i + 1/2) Q / n just below a whole number, so a small number is added before rounding
    # down.
    raw = np.floor(mid_ranks(values, weight) * n_groups + 1e-9).astype(np.intp)
    raw = np.clip(raw, 0, n_groups - 1)
    flat = raw.reshape(-1, n)
    is_used = np.zeros((len(flat), n_groups), dtype=bool)
    np.put_along_axis(is_used, flat, True, axis=-1)
    renumbered = np.cumsum(is_used, axis=-1) - 1
    groups: Index = np.take_along_axis(renumbered, flat, axis=-1).reshape(raw.shape)
    return groups


def fairquant_values(
    u: Array,
    v: Array,
    *,
    sample_weight: Array | None = None,
    n_quantiles: int = 50,
    permutations: Index | None = None,
    permute_weight: bool = False,
) -> Array:
    """Return FairQuant (:func:`fairquant`) of each pair, or of each permutation (B, n) of v, in units of u.

    ``(K, n), (K, n) -> (K,)``, or ``(K, B)``.
    """
    return _values(u, v, sample_weight, n_quantiles, permutations, permute_weight, cumulative=False)


def fairquant_cumulative_values(
    u: Array,
    v: Array,
    *,
    sample_weight: Array | None = None,
    n_quantiles: int = 50,
    permutations: Index | None = None,
    permute_weight: bool = False,
) -> Array:
    """Return the cumulative form of :func:`fairquant`, with the parameters of :func:`fairquant_values`."""
    return _values(u, v, sample_weight, n_quantiles, permutations, permute_weight, cumulative=True)


def _values(
    u: Array,
    v: Array,
    weight: Array | None,
    n_quantiles: int,
    permutations: Index | None,
    permute_weight: bool,
    *,
    cumulative: bool,
) -> Array:
    def groups_of(x: Array, mass: Array | None) -> Index:
        return quantile_groups(x, n_quantiles, sample_weight=mass)

    if permutations is not None and weight is not None:
        return weighted_orders(
            groups_of,
            lambda x, groups, mass: _mean_gap(np.broadcast_to(x, mass.shape), groups, mass, cumulative),
            *(u, v, weight, permutations),
            permute_weight=permute_weight,
            prepared_u=lambda x, _: x,
        )
    share_groups = all(table is None or (table[1:] == table[:1]).all() for table in (v, weight))
    # All models share the same s, which is grouped only once.
    groups = (
        groups_of(v[:1], None if weight is None else weight[:1]) if share_groups else groups_of(v, weight)
    )
    groups = np.broadcast_to(groups, u.shape)
    if permutations is None:
        return _mean_gap(u, groups, weight, cumulative)
    # A permutation of s permutes the group numbers in the same way.
    return np.stack([_mean_gap(u, groups[:, order], None, cumulative) for order in permutations], axis=-1)


def _mean_gap(u: Array, groups: Index, weight: Array | None, cumulative: bool) -> Array:
    """Return 1/Q Σ|m_i − m| over the groups with a positive weight, ``(K, n), (K, n) -> (K,)``."""
    count = len(u)
    width = int(groups.max()) + 1
    weight = np.ones(u.shape) if weight is None else weight
    # Centring makes m = 0 and avoids a loss of digits if all values are far from 0.
    centred = u - ((u * weight).sum(-1) / weight.sum(-1))[:, None]
    index = (groups + width * np.arange(count)[:, None]).ravel()
    sums = np.bincount(index, (centred * weight).ravel(), count * width).reshape(count, width)
    sizes = np.bincount(index, weight.ravel(), count * width).reshape(count, width)
    is_used = sizes > 0
    if cumulative:
        sums, sizes = np.cumsum(sums, axis=-1), np.cumsum(sizes, axis=-1)
    gaps = np.abs(sums) / np.where(is_used, sizes, 1.0)
    return np.where(is_used, gaps, 0.0).sum(axis=-1) / is_used.sum(axis=-1)
