"""Whether there is a link of any kind at all, whatever its curve: the p-values beside the verdicts.

A price whose spread alone follows s has a flat curve. So a p-value of no link is that of the one test of
several measures (:mod:`fairdash.dependence.omnibus`), and among equals that of double residuals times
functions of the factors (:mod:`fairdash.dependence.conditional`), which sees effects of opposite sign.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdash.auditing.table import AuditTable
from fairdash.dependence.conditional import assess_conditional_dependence
from fairdash.dependence.omnibus import independence_test

Array = NDArray[np.float64]

#: Rows, of units drawn by the seed, that a test looks at; from there on it finds the faintest link.
MOST_ROWS = 100_000


def p_of_any_link(table: AuditTable, u: Array, *, random_state: int | None) -> float:
    """The p-value of u (n,) not depending on s in any way, in (0, 1]."""
    rows, counted = _counted(table, random_state)
    return independence_test(u[rows], table.sensitive[rows], **counted).p_value


def p_among_equals(
    table: AuditTable, u: Array, factors: tuple[str, ...], *, random_state: int | None
) -> float:
    """The p-value of the mean of u (n,) not following s among rows equal in the factors, in (0, 1]."""
    rows, counted = _counted(table, random_state)
    given = table.controls.loc[rows, list(factors)]
    return assess_conditional_dependence(u[rows], table.sensitive[rows], given=given, **counted).p_value


def _counted(table: AuditTable, random_state: int | None) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Which rows, and how they count."""
    rows = table.deal < MOST_ROWS / table.n
    # Weights and groups that say nothing would cost a second set of permutations.
    alike = np.ptp(table.weight) == 0
    return rows, {
        "sample_weight": None if alike else table.weight[rows],
        "groups": None if table.n_units == table.n else table.units[rows],
        "random_state": random_state,
    }
