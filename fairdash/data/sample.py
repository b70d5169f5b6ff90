"""Rows of a large table, drawn at random for a first look.

>>> from fairdash.data.catalogue import load_dataset
>>> rows = draw_rows(load_dataset("household", n=300), 100, random_state=0)
>>> len(rows), len(set(rows.tolist())), bool((rows[1:] > rows[:-1]).all())
(100, 100, True)
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.utils.seeds import Stream, rng_of

#: Fewer groups than these can't be parted into training and test rows, and exchanged, with any sense.
FEWEST_GROUPS = 200


def draw_rows(dataset: Dataset, n_rows: int, *, random_state: int) -> NDArray[np.int64]:
    """About `n_rows` different rows of a data set, drawn at random.

    Rows of one group, such as a policy's, come all or not at all, so that a split of the sample by group is
    one of policies as they are. Where that many rows hold fewer than FEWEST_GROUPS groups, rows of all groups
    are drawn.

    Parameters
    ----------
    dataset
        With more rows than are drawn.
    n_rows
        Rows to draw; with whole groups as many as there are up to the end of the group that reaches them.
    random_state
        Seed of the draw.

    Returns
    -------
    array of int64, shape (m,)
        Row numbers, in their order.
    """
    rng = rng_of(Stream.FIRST_LOOK_ROWS, random_state)
    if dataset.groups is not None:
        codes = pd.factorize(dataset.groups)[0]
        sizes = np.bincount(codes)
        order = rng.permutation(len(sizes))
        n_groups = int(np.searchsorted(np.cumsum(sizes[order]), n_rows)) + 1
        if n_groups >= FEWEST_GROUPS:
            chosen = np.zeros(len(sizes), dtype=bool)
            chosen[order[:n_groups]] = True
            return np.flatnonzero(chosen[codes])
    return np.sort(rng.choice(dataset.n_rows, n_rows, replace=False))
