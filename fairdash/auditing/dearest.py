"""Who is among the dearest: the share of the rows of highest price along the sensitive attribute."""

from __future__ import annotations

import numpy as np

from fairdash.auditing.basis import Basis
from fairdash.auditing.curve import fit_curve
from fairdash.auditing.gaps import Band, largest_gap
from fairdash.auditing.table import AuditTable
from fairdash.dependence.ranks import quantiles

#: The share of the exposure that is dearest.
DEAREST = 0.05
#: Where the highest price is that of more than this share, nobody is dearest.
_MOST = 0.2


def dearest_curve(table: AuditTable, basis: Basis, *, random_state: int | None) -> tuple[Band, float] | None:
    """The share of rows along s that are among the dearest 5 %, with its band, and that of all; in [0, 1].

    It is a curve as the price's is, of an indicator: s is not cut into bands. Where many rows have one
    price, all of them or none are among the dearest, which are then 5 % or a little more; None where that
    would be more than a fifth.
    """
    least = quantiles(table.price, table.weight, np.array([1 - DEAREST]))[0]
    among = (table.price >= least).astype(float)
    share = float(table.weight @ among / table.weight.sum())
    if share > _MOST:
        return None
    _, band = largest_gap(fit_curve(among, table, basis), share, random_state=random_state)
    return band.within(0.0, 1.0), share
