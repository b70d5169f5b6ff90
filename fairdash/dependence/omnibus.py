"""One test of independence from several quick measures, and one set of permutations for all of them.

Every measure alone is blind to some links. Here each is a correlation, or a sum of squared correlations,
between functions of u and functions of v: the values themselves, smooth functions of the ranks from slow to
fast, and the ends of the range. So a permutation costs one product of two matrices, whatever the number of
measures. Each order of v, the one at hand among them, gets for each measure the share of all orders that
reach its value, and the least of these shares; the p-value is the share of the orders whose least share is
no larger than that of the order at hand. Every order is treated as every other, so that the p-value is exact
where the orders are exchangeable (Westfall and Young 1993; Pesarin and Salmaso 2010).

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

from fairdash.dependence.floors import draw_orders
from fairdash.dependence.grouping import as_groups
from fairdash.dependence.measuring import as_stack, as_weights
from fairdash.dependence.omnibus_values import COMPONENTS, draw_signs, multiplied_values, permuted_values
from fairdash.errors import OptionError

Array = NDArray[np.float64]

#: Permutations unless told otherwise, and multipliers of more rows than :data:`MOST_PERMUTED_ROWS`.
N_PERMUTATIONS, N_MULTIPLIERS = 999, 499
#: So many do for a verdict at 5 %: with 99 the least p-values of six measures tie too often to reach it.
ENOUGH_PERMUTATIONS = 199
#: Chance of finding a link where there is none.
ALPHA = 0.05
#: From more rows than this scores are multiplied instead of rows permuted.
MOST_PERMUTED_ROWS = 20_000
#: Rounding may part values that are equal, and products are in single precision, which is twice as fast: this
#: share of the largest one below counts as not below.
_EQUAL = 1e-4


@dataclass(frozen=True, kw_only=True)
class IndependenceTest:
    """What one test of several measures has found.

    Attributes
    ----------
    p_value
        Of the least of the measures' p-values, in [1 / (1 + B), 1]; under independence it is at most α in at
        most a share α of samples. 1 where u or v is constant.
    p_values
        Id in :data:`COMPONENTS` to the p-value of that measure alone; the least of them is no p-value of the
        whole. With weights those of the way that has the larger `p_value`.
    n
        Rows that count.
    n_permutations
        B, permutations or multipliers.
    by_multipliers
        Whether scores were multiplied, rather than rows permuted: of many rows, where the p-value holds its
        level approximately.
    """

    p_value: float
    p_values: MappingProxyType[str, float]
    n: int
    n_permutations: int
    by_multipliers: bool

    @property
    def p_at_best(self) -> tuple[float, float]:
        """The least p-value of so many orders: if every measure sees a link, and if one alone does.

        Each of the others then puts an order of its own first.
        """
        count = self.n_permutations + 1
        return 1 / count, min(len(COMPONENTS) / count, 1.0)

    @property
    def has_link(self) -> bool:
        """The verdict at 5 %."""
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
    """Whether u and v are independent: one p-value from all :data:`COMPONENTS`.

    Parameters
    ----------
    u, v : (n,) arrays
        Finite numbers; a prediction and the sensitive attribute, say.
    sample_weight : (n,) array, optional
        Non-negative; rows of weight 0 are left out. It is permuted in two ways, kept with u and kept with v,
        and the larger p-value counts: it holds where the weight depends on u alone, on v alone or on neither.
    groups : (n,) array, optional
        Which rows belong together: whole groups exchange their values of v, see
        :class:`fairdash.dependence.grouping.Blocks`, or their scores have one multiplier.
    n_permutations
        B; 999 by default, and 499 multipliers above 20,000 rows. In each of six measures one order comes
        first, so that a p-value may not fall below 6 / (1 + B): 119 are needed at least for a test at 5 %,
        and 120 m − 1 for m such tests by Holm's rule; 1,999 do for sixteen.
    random_state
        Seed of the permutations or multipliers.

    Returns
    -------
    IndependenceTest

    Raises
    ------
    OptionError
        Inputs as :func:`~fairdash.dependence.measure` refuses them, fewer than one permutation, or too few
        groups that can exchange their values.

    Notes
    -----
    Above 20,000 rows the scores w (f(u) − f̄) (g(v) − ḡ) of all pairs of functions are summed with random
    signs, one a row or group, instead of permuting rows. Under independence a score has mean 0, and that the
    means are estimated changes nothing to first order, because both factors are centred; so the signed sums
    have the law of the sum itself as rows grow (Wu 1986; van der Vaart and Wellner 1996, section 2.9).
    """
    a, b = as_stack(u, v, single=True)
    if b.ndim != 2:
        raise OptionError.of("The test takes one column v", "Give one column at a time.", column="v")
    weight, codes = as_weights(sample_weight, a.shape), as_groups(groups, a.shape[1])
    if weight is not None and not (counted := weight[0] > 0).all():
        a, b, weight = a[:, counted], b[:, counted], weight[:, counted]
        codes = None if codes is None else as_groups(codes[counted], int(counted.sum()))
    n = a.shape[1]
    by_multipliers = n > MOST_PERMUTED_ROWS
    if n_permutations is None:
        n_permutations = N_MULTIPLIERS if by_multipliers else N_PERMUTATIONS
    own = None if weight is None else weight[0]
    if by_multipliers:
        signs = draw_signs(n if codes is None else int(codes.max()) + 1, n_permutations, random_state)
        values = multiplied_values(a, b[0], signs if codes is None else signs[:, codes], weight=own)
    else:
        orders = draw_orders(b, n_permutations, random_state, codes)
        values = permuted_values(a, b[0], orders, weight=own)
    found = [least_p(way) for way in values[:, :, 0]]
    p_value, each = max(found, key=lambda pair: pair[0])
    return IndependenceTest(
        p_value=p_value,
        p_values=MappingProxyType(dict(zip(COMPONENTS, each.tolist(), strict=True))),
        n=n,
        n_permutations=n_permutations,
        by_multipliers=by_multipliers,
    )


def least_p(values: Array) -> tuple[float, Array]:
    """The p-value of the least p-value, from what each measure says of each order.

    Parameters
    ----------
    values : (M, B + 1) array
        Of M measures; that of the order at hand first. Their size is what counts.

    Returns
    -------
    p_value : float
        Share of all B + 1 orders whose least p-value is at most that of the first one.
    p_values : (M,) array
        Of each measure alone: the share of all orders that reach the first one's value.
    """
    sizes = np.abs(values)
    count = sizes.shape[1]
    shares = np.empty(sizes.shape)
    for own, size in zip(shares, sizes, strict=True):
        # Orders that reach an order's value, itself among them: ties count against it.
        reached = count - np.searchsorted(np.sort(size), size - _EQUAL * size.max(), side="left")
        own[:] = reached / count
    least = shares.min(axis=0)
    return float((least <= least[0]).mean()), shares[:, 0]
