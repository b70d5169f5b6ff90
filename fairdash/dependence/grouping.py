"""Groups of related rows, which permutations, half-samples and folds never split.

If all rows of a policy have the same s and similar u, a test that permutes single rows counts every row as
independent evidence and raises false alarms. This module therefore permutes whole groups, called
exchangeability blocks (Winkler et al., 2015, "Multi-level block permutation", NeuroImage 123; Good 2005,
"Permutation, parametric and bootstrap tests of hypotheses", chapter 3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.errors import OptionError
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Minimum number of groups among which s is permuted if s is constant in each group. If fewer groups have the
#: same size, s is permuted among them and the groups of the next size.
MIN_GROUPS = 20
#: Minimum number of permutations of the groups. With fewer permutations, a test at 5 % can never reject
#: independence.
_MIN_ORDERS = 20


def as_groups(groups: ArrayLike | None, n: int) -> Index | None:
    """Return the group number, from 0 to G-1, of each row, (n,), or ``None`` if there are no groups.

    Raises
    ------
    OptionError
        Raised if the number of values differs from the number of rows, a value is missing, or there is only
        one group.
    """
    if groups is None:
        return None
    values = pd.Series(np.asarray(groups)) if np.ndim(groups) == 1 else None
    if values is None or len(values) != n:
        raise _error("Group values and rows differ in number", f"Give one value for each of the {n:,} rows.")
    codes, names = pd.factorize(values)
    missing = int((codes < 0).sum())
    if missing:
        raise _error("Rows without a group", "Fill the cells, or give these rows separate groups.", missing)
    if len(names) < 2:
        raise _error("All rows belong to one group", "Choose a column with several values, or no groups.")
    return codes


@dataclass(frozen=True, eq=False)
class Blocks:
    """Groups of rows, divided into strata of groups among which s is permuted.

    Attributes
    ----------
    order : (n,) array
        Row numbers, sorted by group; the rows of a group keep the order of the table.
    starts, sizes : (G,) arrays
        Position in `order` at which each group begins, and the number of rows of each group.
    strata : (G,) array
        Stratum number of each group. Values of s are permuted among the groups of a stratum.

    exact
        True if p-values are exact; see the notes.

    Notes
    -----
    Whole blocks of s are permuted among groups of the same size, row by row in the order of the table. The
    p-value (1 + b) / (1 + B) is then exact if the blocks of s are exchangeable given u among groups of the
    same size. If s is constant within every group and fewer than :data:`MIN_GROUPS` groups have a certain
    size, s is permuted among these groups and the groups of the next sizes. The p-value is then exact if the
    groups' values are exchangeable given u among groups of all these sizes. A group that is alone in its
    stratum keeps its values of s, which only reduces the power of the test.

    If s varies within groups and most rows are in groups whose size is unique, blocks are also permuted among
    groups of neighbouring sizes. A block that is too long for its new group is truncated, and a block that is
    too short is repeated. This preserves the similarity of rows within a group. However, the result is not a
    permutation of the rows, and p-values are approximate (benchmarks/grouped_null.py).
    """

    order: Index
    starts: Index
    sizes: Index
    strata: Index
    exact: bool = True

    @classmethod
    def of(cls, groups: Index, s: Array) -> Blocks:
        """Make the blocks from groups (n,), as returned by :func:`as_groups`, and from s, (n,) or (n, d).

        Raises
        ------
        OptionError
            Raised if there are too few groups for a test at 5 %.
        """
        order = np.argsort(groups, kind="stable")
        sizes = np.bincount(groups)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        is_constant = bool((s == s[order[starts][groups]]).all())
        has_unique_size = np.bincount(sizes)[sizes] == 1
        same_size = not is_constant and sizes[has_unique_size].sum() < len(s) / 2
        strata = np.unique(sizes if same_size else _strata_by_size(sizes), return_inverse=True)[1]
        blocks = cls(order=order, starts=starts, sizes=sizes, strata=strata, exact=is_constant or same_size)
        if not blocks._has_enough_orders():
            raise _error(
                "Too few groups can be permuted for a test at 5 %",
                "Choose a column with more groups, or no groups.",
            )
        return blocks

    def draw(self, rng: np.random.Generator) -> Index:
        """Draw the number of the row from which each row gets s, (n,).

        If the groups of each stratum have equal sizes, these numbers are a permutation of the rows.
        """
        base = np.argsort(self.strata, kind="stable")
        source = np.empty_like(base)
        source[base] = np.lexsort((rng.random(len(base)), self.strata))
        position = np.arange(len(self.order)) - np.repeat(self.starts, self.sizes)
        start, size = (np.repeat(part[source], self.sizes) for part in (self.starts, self.sizes))
        index = np.empty_like(self.order)
        index[self.order] = self.order[start + position % size]
        return index

    def _has_enough_orders(self) -> bool:
        """True if the groups have at least twenty permutations; m groups in a stratum have m! of them."""
        orders = 1.0
        for count in np.bincount(self.strata):
            for factor in range(2, min(int(count), _MIN_ORDERS) + 1):
                orders *= factor
                if orders >= _MIN_ORDERS:
                    return True
        return False


def _strata_by_size(sizes: Index) -> Index:
    """Return the stratum of each group: :data:`MIN_GROUPS` or more groups of similar size, if possible."""
    values, counts = np.unique(sizes, return_counts=True)
    stratum, n_groups, number_of = 0, 0, {}
    for value, count in zip(values, counts, strict=True):
        number_of[value] = stratum
        n_groups += count
        if n_groups >= MIN_GROUPS:
            stratum, n_groups = stratum + 1, 0
    if n_groups and stratum:
        number_of = {value: min(number, stratum - 1) for value, number in number_of.items()}
    return np.array([number_of[size] for size in sizes])


def group_rows(groups: Index, rng: np.random.Generator, *, at_most: int) -> Index:
    """Draw whole groups without replacement up to a total of `at_most` rows; return the rows in order.

    Parameters
    ----------
    at_most
        Maximum number of rows. The first group drawn is included regardless of its size.
    """
    sizes = np.bincount(groups)
    order = rng.permutation(len(sizes))
    selected = order[: max(1, int(np.searchsorted(np.cumsum(sizes[order]), at_most, side="right")))]
    return np.flatnonzero(np.isin(groups, selected))


def half_of_groups(groups: Index, rng: np.random.Generator) -> Index:
    """Draw half of the groups without replacement, and return their rows in ascending order."""
    count = int(groups.max()) + 1
    is_selected = np.zeros(count, dtype=bool)
    is_selected[rng.permutation(count)[: count // 2]] = True
    return np.flatnonzero(is_selected[groups])


def exchange_by_rank(s: Array, order: Index, own_value: Array) -> Index:
    """Return a permutation (m,) of m rows, after which their values have the same order as s[order].

    Parameters
    ----------
    s : (n,) array
        Values of s in all rows.
    order : (m,) array
        For each of the m rows, the number of the row from which it gets s.
    own_value : (m,) array
        Values of s in the m rows. The permutation reassigns these values among the m rows, so that they have
        the same order as s[order].
    """
    order_now = np.empty(len(order), dtype=np.intp)
    # Equal values of s get random ranks, because ties are broken by the randomly drawn row numbers.
    order_now[np.lexsort((order, s[order]))] = np.argsort(own_value, kind="stable")
    return order_now


def draw_exchanges(groups: Index, s: Array, count: int, random_state: int | None) -> Index:
    """Draw `count` orders of n rows, (count, n), which permute the values of s among whole groups."""
    blocks, rng = Blocks.of(groups, s), rng_of(Stream.PAIR_PERMUTATIONS, random_state)
    return np.stack([blocks.draw(rng) for _ in range(count)])


def _error(problem: str, hint: str, count: int | None = None) -> OptionError:
    return OptionError.of(problem, hint, column="groups", count=count)
