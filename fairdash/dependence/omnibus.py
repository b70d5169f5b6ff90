"""Omnibus test of independence, which combines several quick measures with one set of permutations.

Each single measure fails to detect some kinds of dependence. In the omnibus test, each measure is a
correlation, or a sum of squared correlations, between functions of u and functions of v: the values, smooth
functions of the ranks, and indicators of the lowest and highest values. For a permutation, all measures
need only one product of two matrices. Each order of v, including the observed order, gets a p-value for each
measure: the share of all orders in which the measure is at least as large. The statistic of an order is its
smallest p-value. The p-value of the test is the share of the orders whose statistic is at most the observed
one. It is exact if the orders are exchangeable (Westfall and Young 1993; Pesarin and Salmaso 2010).

>>> rng = np.random.default_rng(0)
>>> u = rng.normal(size=300)
>>> found = independence_test(u, np.cos(3 * u) + 0.5 * rng.normal(size=300), random_state=0)
>>> found.p_value, found.p_values["line"] > 0.05
(0.002, True)
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.api import Pairs
from fairdash.dependence.grouping import Index
from fairdash.dependence.inference import draw_orders
from fairdash.dependence.omnibus_functions import FAST, Side, functions_of
from fairdash.errors import OptionError, require_count
from fairdash.utils.classes import class_columns, holds_text
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]
Signs = NDArray[np.int8]

#: `N_PERMUTATIONS` is the default number of permutations.
#: `N_MULTIPLIERS` is the default number of draws of random signs, for more than :data:`MAX_PERMUTED_ROWS`
#: rows.
N_PERMUTATIONS, N_MULTIPLIERS = 999, 499
#: Number of permutations that is sufficient for a test at 5 %. With 99 permutations, ties between the
#: smallest p-values of six measures often prevent a rejection.
ENOUGH_PERMUTATIONS = 199
#: Level of the test, which is the probability of reporting a link under independence.
ALPHA = 0.05
#: Maximum number of rows for which the test permutes rows. In larger tables, scores get random signs instead.
MAX_PERMUTED_ROWS = 20_000
#: Maximum number of random signs in a draw; there is one sign per block of rows.
MAX_BLOCKS = 4096
#: Tolerance for ties, as a share of the largest value. The test computes products in single precision, which
#: is twice as fast but may separate equal values by rounding.
_EQUAL = 1e-4


@dataclass(frozen=True, kw_only=True)
class Component:
    """Measure that is one component of the omnibus test.

    Attributes
    ----------
    id, title
        Name in results, and name in plain words.
    called
        Name inside a sentence, in which ``{u}`` and ``{v}`` stand for the names of the variables.
    sees
        Description of the links that the measure detects.
    """

    id: str
    title: str
    called: str
    sees: str


_COMPONENTS = (
    Component(
        id="line",
        title="Linear correlation (Pearson)",
        called="the linear correlation",
        sees="linear changes of the average, and outliers",
    ),
    Component(
        id="trend",
        title="Rank correlation (Spearman)",
        called="the rank correlation",
        sees="a rising or falling trend, even if it is not linear",
    ),
    Component(
        id="smooth",
        title="Squared correlations of 4 slow functions of u with 4 of v",
        called="the sum of squared correlations between slow curves",
        sees="curves, changes of the spread, and rings",
    ),
    Component(
        id="waves_of_v",
        title="Squared correlations of 4 slow functions of u with all 34 of v",
        called="the sum of squared correlations with fast curves along {v}",
        sees="changes that alternate many times along v, and jumps",
    ),
    Component(
        id="waves_of_u",
        title="Squared correlations of all 34 functions of u with 4 slow ones of v",
        called="the sum of squared correlations with fast curves along {u}",
        sees="changes that alternate many times along u, and jumps",
    ),
    Component(
        id="ends",
        title="Squared correlations that involve the top and bottom 3 % and 10 % of u or v",
        called="the sum of squared correlations in the tails",
        sees="a few unusual rows in the tails",
    ),
)
#: Measures of the test by id, in the order in which all arrays list their values.
COMPONENTS = MappingProxyType({component.id: component for component in _COMPONENTS})

#: Maximum number of values of permuted functions that are in memory at once.
_PIECE = 250_000


@dataclass(frozen=True, kw_only=True)
class IndependenceTest:
    """Result of the omnibus test of several measures.

    Attributes
    ----------
    p_value
        P-value of the combined test, in [1 / (1 + B), 1]; the test statistic is the smallest p-value over the
        measures. Under independence, the combined p-value is at most α with a probability of at most α. The
        combined p-value is 1 if u or v is constant.
    p_values
        P-value of each measure alone, by the measure's id in :data:`COMPONENTS`. The smallest of these
        p-values is not the p-value of the combined test. With weights, the test runs twice, and these
        p-values come from the run with the larger `p_value`.
    n
        Number of rows with a positive weight.
    n_permutations
        Number B of permutations or multipliers.
    by_multipliers
        True if the test multiplied scores by random signs, as it does for large tables, instead of permuting
        rows. With random signs, the level of the test is approximate.
    """

    p_value: float
    p_values: MappingProxyType[str, float]
    n: int
    n_permutations: int
    by_multipliers: bool

    @property
    def p_at_best(self) -> tuple[float, float]:
        """Return the smallest possible p-value if every measure detects a link, and if only one measure does.

        If only one measure detects a link, each of the other measures may have its largest value for a
        different permutation.
        """
        count = self.n_permutations + 1
        return 1 / count, min(len(COMPONENTS) / count, 1.0)

    @property
    def has_link(self) -> bool:
        """True if the test rejects independence at 5 %."""
        return self.p_value <= ALPHA


def independence_test(
    u: ArrayLike,
    v: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_permutations: int | None = None,
    random_state: int | None = None,
) -> IndependenceTest:
    """Test the independence of u and v with one p-value from all :data:`COMPONENTS`.

    Parameters
    ----------
    u : (n,) array
        Finite numbers, such as predictions.
    v : (n,) array
        Finite numbers, such as the sensitive attribute. Text and categories are treated as classes. Two
        classes are encoded as 0 and 1. With more classes, every measure uses an indicator of each class, and
        the order of the classes has no effect.
    sample_weight : (n,) array, optional
        Non-negative weights; rows of weight 0 are left out. With weights, the test runs twice. In the first
        test, the weights stay with u; in the second test, they move with v. The p-value is the larger of the
        two p-values, which is valid unless the weight depends on both u and v.
    groups : (n,) array, optional
        Groups of rows. Values of v are permuted among whole groups (see
        :class:`fairdash.dependence.grouping.Blocks`). In large tables, all rows of a group share one random
        sign.
    n_permutations
        Number B of permutations: by default 999 permutations, or 499 multipliers above 20,000 rows. If only
        one of the six measures detects a link, the p-value is at least 6 / (1 + B). To detect such a link, a
        test at 5 % needs at least 119 permutations, and m tests with Holm's correction need 120 m − 1
        permutations (1,999 permutations suffice for sixteen tests).
    random_state
        Seed of the permutations or multipliers.

    Returns
    -------
    IndependenceTest

    Raises
    ------
    OptionError
        Raised for the same reasons as in :func:`~fairdash.dependence.measure`, or if ``n_permutations`` is
        below 1 or too few groups can be permuted.

    Notes
    -----
    In tables of more than 20,000 rows, rows are not permuted. Instead, the scores w (f(u) − f̄) (g(v) − ḡ) of
    all pairs of functions are summed with random signs, one per row or group. Under independence a score has
    mean 0. Estimating the means f̄ and ḡ has no effect to first order, because both factors are centred. For
    large n, the signed sums therefore have the same distribution as the unsigned sum (Wu 1986; van der Vaart
    and Wellner 1996, section 2.9).

    Examples
    --------
    >>> s = np.linspace(-1, 1, 300)
    >>> fd.independence_test(s**2, s, random_state=0).p_value < 0.01
    True
    """
    codes_of_v = class_columns(v, as_codes=True) if holds_text(v) else v
    pair = Pairs.of(u, codes_of_v, sample_weight, groups, single=True)
    if pair.v.ndim != 2:
        raise OptionError.of("The test accepts only one column v", "Give one column at a time.", column="v")
    if pair.weight is not None and not (has_weight := pair.weight[0] > 0).all():
        pair = pair.rows(np.flatnonzero(has_weight))
    n, codes = pair.u.shape[1], pair.groups
    by_multipliers = n > MAX_PERMUTED_ROWS
    if n_permutations is None:
        n_permutations = N_MULTIPLIERS if by_multipliers else N_PERMUTATIONS
    weight = None if pair.weight is None else pair.weight[0]
    side = Side.of(pair.v[0], are_classes=holds_text(v))
    if by_multipliers:
        units = np.arange(n) if codes is None else codes
        blocks, signs = draw_signs(units, n_permutations, random_state)
        values = multiplied_values(pair.u, side, blocks, signs, weight=weight)
    else:
        orders = draw_orders(pair.v, n_permutations, random_state, codes)
        values = permuted_values(pair.u, side, orders, weight=weight)
    results = [combined_p(values_of_way) for values_of_way in values[:, :, 0]]
    p_value, by_measure = max(results, key=lambda pair: pair[0])
    return IndependenceTest(
        p_value=p_value,
        p_values=MappingProxyType(dict(zip(COMPONENTS, by_measure.tolist(), strict=True))),
        n=n,
        n_permutations=n_permutations,
        by_multipliers=by_multipliers,
    )


def combined_p(values: Array) -> tuple[float, Array]:
    """Return the p-values of the combined test and of each measure, from the measures' values for all orders.

    Parameters
    ----------
    values : (M, B + 1) array
        Values of M measures for each order, the observed order first. Only the absolute values matter.

    Returns
    -------
    p_value : float
        Share of all B + 1 orders whose smallest p-value is at most the smallest p-value of the first order.
    p_values : (M,) array
        P-value of each measure alone: the share of all orders with at least the value of the first order.
    """
    sizes = np.abs(values)
    count = sizes.shape[1]
    shares = np.empty(sizes.shape)
    for share, size in zip(shares, sizes, strict=True):
        # For each order, count the orders whose value is at least as large, including the order itself and
        # ties.
        reached = count - np.searchsorted(np.sort(size), size - _EQUAL * size.max(), side="left")
        share[:] = reached / count
    smallest = shares.min(axis=0)
    return float((smallest <= smallest[0]).mean()), shares[:, 0]


def permuted_values(u: Array, v: Array | Side, orders: Index, *, weight: Array | None = None) -> Array:
    """Return the values of each measure for each u and each order of v.

    Parameters
    ----------
    u : (K, n) array
    v : (n,) array
        Values of v, or functions of v.
    orders : (B, n) array
        For each row, the number of the row from which it gets v; B may be 0.
    weight : (n,) array, optional

    Returns
    -------
    (W, M, K, B + 1) array
        Values of the M measures, the observed order first. With weights, W = 2: the weights stay with u in
        the first result and move with v in the second. Without weights, W = 1. Correlations are signed; sums
        of squared correlations are at least 0.
    """
    n = u.shape[1]
    all_orders = np.concatenate([np.arange(n)[None], orders])
    side = v if isinstance(v, Side) else Side.of(v)
    of_u, of_v = functions_of(u), side.functions
    if weight is None:
        return _of_orders(of_u, of_v, all_orders, side)[None]
    # Weights with mean 1 suit single precision.
    weight = weight / weight.mean()
    fixed_values = _of_orders(of_u * weight[:, None], of_v, all_orders, side)
    return np.stack([fixed_values, _of_orders(of_u, of_v * weight[:, None], all_orders, side)])


def _of_orders(left: Array, right: Array, orders: Index, side: Side) -> Array:
    """Compute the measures (M, K, B) from functions (K, n, P) of u and (n, Q) of v; one may be weighted."""
    members, n, _ = left.shape
    width, narrow_width = right.shape[1], side.narrow
    left, right = left.astype(np.float32), right.astype(np.float32)
    few, fast = (left[:, :, part].swapaxes(1, 2).reshape(-1, n) for part in (slice(FAST.start), FAST))
    narrow = np.ascontiguousarray(right[:, :narrow_width])
    result = np.empty((len(COMPONENTS), members, len(orders)))
    # Permuting the functions of u is faster, because u has fewer functions than v. It requires that there is
    # one u and that every order contains each row once.
    moves_u = members == 1 and all(np.bincount(order, minlength=n).max() == 1 for order in orders)
    moving = np.ascontiguousarray(few.T) if moves_u else right
    step = min(max(1, _PIECE // (n * moving.shape[1])), len(orders))
    # All pieces share two buffers, because allocating new memory for each piece would be slow.
    permuted, moved_narrow = (np.empty(n * step * part.shape[1], np.float32) for part in (moving, narrow))
    for start in range(0, len(orders), step):
        piece = np.ascontiguousarray(orders[start : start + step].T)
        count = piece.shape[1]
        if moves_u:
            buffer = np.empty_like(piece.T)
            for inverse, order in zip(buffer, orders[start : start + step], strict=True):
                inverse[order] = np.arange(n)
            buffer = np.ascontiguousarray(buffer.T)
            sums = (
                (right.T @ _gather(moving, buffer, permuted))
                .reshape(1, width, count, -1)
                .transpose(0, 3, 2, 1)
            )
        else:
            sums = (few @ _gather(moving, piece, permuted)).reshape(members, -1, count, width)
        wide_product = (fast @ _gather(narrow, piece, moved_narrow)).reshape(members, -1, count, narrow_width)
        # The first function of each variable is 1. Its products are the sums of weights that weighted
        # covariances need.
        mass = sums[:, :1, :, :1]
        mean_v = sums[:, :1] / mass
        tall_c = sums / mass - (sums[..., :1] / mass) * mean_v
        wide_c = wide_product / mass - (wide_product[..., :1] / mass) * mean_v[..., :narrow_width]
        result[:, :, start : start + step] = side.measures(tall_c, wide_c)
    return result


def _gather(functions: Array, rows: Index, buffer: Array) -> Array:
    """Return functions (n, P) in rows (n, B) as an (n, B · P) array, stored at the beginning of a buffer."""
    width = functions.shape[1]
    gathered = buffer[: rows.size * width].reshape(*rows.shape, width)
    # All indices are valid, and the mode "raise" would make an extra copy.
    np.take(functions, rows, axis=0, out=gathered, mode="clip")
    return gathered.reshape(len(rows), -1)


def draw_signs(codes: Index, n_permutations: int, random_state: int | None) -> tuple[Index, Signs]:
    """Draw the block of each row, (n,), and the random signs of the blocks, (B, blocks).

    A code 0 … G-1 identifies a row or a group. Rows with the same code are in one block. If there are too
    many codes, several randomly selected codes share a block. Sharing blocks is valid, because the sum of
    independent scores with mean 0 has mean 0, like a single score.
    """
    require_count(n_permutations, column="n_permutations", called="number of permutations")
    rng = rng_of(Stream.PAIR_PERMUTATIONS, random_state)
    count = int(codes.max()) + 1
    if count > MAX_BLOCKS:
        codes = rng.integers(0, MAX_BLOCKS, size=count)[codes]
        count = MAX_BLOCKS
    return codes, 2 * rng.integers(0, 2, size=(n_permutations, count), dtype=np.int8) - 1


def multiplied_values(
    u: Array, v: Array | Side, blocks: Index, signs: Signs, *, weight: Array | None = None
) -> Array:
    """Return the values of each measure, from scores with random signs instead of permutations.

    Parameters
    ----------
    u : (K, n) array
    v : (n,) array
        Values of v, or functions of v.
    blocks : (n,) array
        Number of the column of `signs` that each row uses.
    signs : (B, C) array
        Random signs, 1 or −1.
    weight : (n,) array, optional
        Row weights. The weights do not move, so one run is enough.

    Returns
    -------
    (1, M, K, B + 1) array
    """
    n = u.shape[1]
    side = v if isinstance(v, Side) else Side.of(v)
    order = np.argsort(blocks, kind="stable")
    starts = np.flatnonzero(np.diff(blocks[order], prepend=-1))
    signs = signs[:, blocks[order][starts]].astype(np.float32)
    share = np.full(n, 1 / n) if weight is None else weight[order] / weight.sum()
    of_v = _centred(side.functions[order], share) * share[:, None]
    # The null distribution is approximate, so single precision suffices.
    of_v_single = (of_v * n).astype(np.float32)
    result = np.empty((1, len(COMPONENTS), len(u), len(signs) + 1))
    stops = np.append(starts, n)
    # Each piece contains only complete blocks.
    pieces = np.array_split(np.arange(len(starts)), max(n * sum(p * q for p, q in side.shapes) // _PIECE, 1))
    for k, row in enumerate(u):
        of_u = _centred(functions_of(row[None, order])[0], share)
        sums = np.concatenate([(of_u[:, f].T @ of_v[:, g]).ravel() for f, g in side.blocks])[None]
        if len(signs):
            of_blocks = np.empty((len(starts), sums.shape[1]), dtype=np.float32)
            of_u_single = of_u.astype(np.float32)
            for piece in (members for members in pieces if len(members)):
                rows = slice(stops[piece[0]], stops[piece[-1] + 1])
                scores = np.concatenate(
                    [
                        (of_u_single[rows, f, None] * of_v_single[rows, None, g]).reshape(-1, p * q)
                        for (f, g), (p, q) in zip(side.blocks, side.shapes, strict=True)
                    ],
                    axis=1,
                )
                of_blocks[piece] = np.add.reduceat(scores, starts[piece] - rows.start, axis=0)
            sums = np.concatenate([sums, signs @ of_blocks / n])
        result[0, :, k] = _of_sums(sums, side)
    return result


def _of_sums(sums: Array, side: Side) -> Array:
    """Return the measures, (M, B), from sums of scores, (B, all blocks)."""
    count, start = len(sums), 0
    tall_sums = np.zeros((1, FAST.start, count, side.functions.shape[1]))
    wide_sums = np.zeros((1, FAST.stop - FAST.start, count, side.narrow))
    for (of_u, of_v), (p, q) in zip(side.blocks, side.shapes, strict=True):
        block = sums[:, start : start + p * q].reshape(count, p, q).swapaxes(0, 1)
        start += p * q
        if of_u is FAST:
            wide_sums[0, :, :, of_v] = block
        else:
            tall_sums[0, of_u, :, of_v] = block
    return side.measures(tall_sums, wide_sums)[:, 0]


def _centred(functions: Array, share: Array) -> Array:
    """Return functions (n, P) minus their weighted means, except for the constant function."""
    return functions - share @ functions
