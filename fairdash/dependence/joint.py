"""Joint and concatenated distance covariance of u with several sensitive attributes.

Lee, Antonio, Avanzi, Marchi and Zhou (2025, arXiv 2509.08163) use both covariances as penalties. The squared
covariances are unbiased (Chakraborty and Zhang 2019, section 3.2), so that they scatter around 0 under
independence.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.classical import mid_ranks
from fairdash.errors import OptionError
from fairdash.utils.rounding import DOUBLE, varies

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Form = Literal["standardised", "published"]

#: Maximum number of distances of one variable that are in memory at once.
_PIECE = 1_000_000
_MAX_PRODUCTS = 8


def jdcov(u: Array, v: Array, *, form: Form = "standardised") -> Array:
    """Return the joint distance covariance of u with the attributes in v, for each of K pairs.

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array
        Values of the attributes. Columns of 0 and 1 are treated as the classes of one attribute if no row has
        a 1 in two of these columns.
    form
        ``"standardised"``: the signed root of the sum of the terms that contain u. In the standardised form,
        u and every attribute have variance 1, summed over the classes of an attribute. ``"published"``:
        JdCov² with c = 1 as in the authors' code, in the units of the columns. The published form also
        includes dependence among the attributes.

    Returns
    -------
    (K,) array
        Joint distance covariances. As the number of rows grows, the covariances tend to 0 only if u is
        jointly independent of the attributes. Pairs with fewer than four rows get 0.
    """
    return _of_stack(u, v, form, attributes_together=False)


def ccdcov(u: Array, v: Array, *, form: Form = "standardised") -> Array:
    """Return the distance covariance of u and the vector of all columns of v, for each of K pairs.

    The parameters and the result are the same as in :func:`jdcov`. The published form of the result is dCov².
    """
    return _of_stack(u, v, form, attributes_together=True)


def attributes(columns: Array) -> list[list[int]]:
    """Return the indices of each attribute's columns (d, n): one column, or one column of 0 and 1 per class.

    >>> attributes(np.array([[1.0, 0, 0, 1], [0, 1, 0, 0], [3, 1, 2, 2]]))
    [[0, 1], [2]]
    """
    is_high = columns == columns.max(axis=1, keepdims=True)
    binary = (is_high | (columns == columns.min(axis=1, keepdims=True))).all(axis=1) & ~is_high.all(axis=1)
    groups: list[list[int]] = []
    for j in range(len(columns)):
        compatible_groups = (
            group for group in groups if all(binary[[j, *group]]) and not (is_high[j] & is_high[group]).any()
        )
        if group := next(compatible_groups, None):
            group.append(j)
        else:
            groups.append([j])
    return groups


def with_products(v: Array, sample_weight: Array | None = None) -> Array:
    """Return the columns (K, n, d), followed by products of the ranks of two columns of different attributes.

    The attributes are those of :func:`attributes`.
    """
    return np.concatenate([v, products(v, attributes(v.reshape(-1, v.shape[2]).T), sample_weight)], axis=2)


def products(v: Array, columns: Sequence[Sequence[int]], sample_weight: Array | None = None) -> Array:
    """Return products of the ranks of two columns of different attributes, given each attribute's `columns`.

    At most the 8 products with the largest variance over all pairs are returned.
    """
    pairs = [pair for two in itertools.combinations(columns, 2) for pair in itertools.product(*two)]
    ranks = mid_ranks(np.moveaxis(v, 2, 0), sample_weight) - 0.5
    found = np.stack([ranks[a] * ranks[b] for a, b in pairs], axis=2) if pairs else v[:, :, :0]
    largest = np.argsort(-found.var(axis=(0, 1)), kind="stable")[:_MAX_PRODUCTS]
    return found[:, :, np.sort(largest)]


def scaled(
    columns: Array,
    rows: Index | None = None,
    mass: Array | None = None,
    *,
    together: bool = False,
    eps: float = DOUBLE,
) -> list[Array]:
    """Return each attribute's columns (n, k), scaled to a total variance of 1 on `rows` with weights (m,).

    Columns that are constant on `rows`, up to rounding by `eps`, are omitted. If `together` is true, all
    attributes are joined into one attribute.
    """
    learned = columns if rows is None else columns[:, rows]
    is_varying = varies(learned, eps=eps)
    columns, learned = columns[is_varying], learned[is_varying]
    parts = []
    for group in attributes(learned) if len(learned) else []:
        low, size = learned[group].min(axis=1, keepdims=True), np.ptp(learned[group], axis=1).max()
        x, learned_scaled = (columns[group] - low) / size, (learned[group] - low) / size
        mean = np.average(learned_scaled, axis=1, weights=mass)[:, None]
        variance = np.average(((learned_scaled - mean) ** 2).sum(axis=0), weights=mass)
        parts.append((x - mean).T / np.sqrt(variance))
    return [np.concatenate(parts, axis=1)] if together and parts else parts


def distances(x: Array, to: Array) -> Array:
    """Return the Euclidean distances, (m, n), between two sets of rows, (m, k) and (n, k)."""
    if x.shape[1] == 1:
        return np.abs(x - to[:, 0])
    total = np.zeros((len(x), len(to)))
    for a, b in zip(x.T, to.T, strict=True):
        total += (a[:, None] - b) ** 2
    return np.sqrt(total)


def _of_stack(u: Array, v: Array, form: Form, *, attributes_together: bool) -> Array:
    if form not in ("standardised", "published"):
        raise OptionError.of("The form is not known", "Choose “standardised” or “published”.", column="form")
    columns = v[:, None] if v.ndim == 2 else v.transpose(0, 2, 1)
    result = np.zeros(len(u))
    for k, (a, b) in enumerate(zip(u, columns, strict=True)):
        if form == "standardised":
            squared = _squared([*scaled(a[None]), *scaled(b, together=attributes_together)], with_first=True)
            result[k] = np.sign(squared) * np.sqrt(abs(squared))
        else:
            tables = [b.T] if attributes_together else [b[group].T for group in attributes(b)]
            result[k] = _squared([a[:, None], *tables], with_first=attributes_together)
    return result


def _squared(variables: Sequence[Array], *, with_first: bool) -> float:
    """Return JdCov² (unbiased, c = 1) of variables (n, k), or only its terms with the first variable."""
    n = len(variables[0])
    if n < 4:
        return 0.0
    step = max(1, _PIECE // n)
    pieces = [np.arange(start, min(start + step, n)) for start in range(0, n, step)]
    sums = [np.concatenate([distances(x[rows], x).sum(axis=1) for rows in pieces]) for x in variables]
    total = 0.0
    for rows in pieces:
        product = np.ones((len(rows), n))
        for j in reversed(range(len(variables))):
            x, of_x = variables[j], sums[j]
            centred = (
                (of_x[rows, None] + of_x) / (n - 2) - distances(x[rows], x) - of_x.sum() / ((n - 1) * (n - 2))
            )
            centred[np.arange(len(rows)), rows] = 0.0
            product *= centred if with_first and j == 0 else centred + 1
        total += float(product.sum())
    return (total - (0 if with_first else n**2)) / (n * (n - 3))
