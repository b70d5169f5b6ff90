"""Rows set aside at the start of a run: nothing is trained on, tested on or chosen by them.

Whoever chooses a weight λ by looking at test rows has made training rows of a kind of them: a claim about the
chosen point fails on other rows in about half of such choices. Rows set aside have had no say in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence.grouping import as_groups
from fairdash.errors import OptionError
from fairdash.utils.seeds import Stream, rng_of

Rows = NDArray[np.int64]

#: Share of the rows, from how many rows on by default, and never more than so many: a test on these leaves
#: little in doubt, and training has better uses for the others.
SHARE, FROM_ROWS, MOST_ROWS = 0.2, 5_000, 10_000
#: Fewer rows confirm next to nothing.
FEWEST_ROWS = 50


@dataclass(frozen=True, kw_only=True, eq=False)
class SetAside:
    """The rows set aside, and what models of all other rows predict for them; nobody has looked at either.

    The models are those that a refit is likest to: one a method and weight, trained on every row that is not
    set aside, with the refit's settings and seed. The mean over the splits' models would be another
    predictor, which nobody carries off.

    Parameters
    ----------
    rows
        (m,) row numbers in the data set, sorted.
    members
        One row a model: columns ``method``, ``lam``, ``diverged``.
    predictions
        (K, m) in the target's units.
    target
        (m,) what they should have predicted.
    sensitive
        The sensitive columns, m rows.
    weight
        (m,) the rows' exposure, or None.
    groups
        (m,) codes of the rows' groups, or None.
    """

    rows: Rows
    members: pd.DataFrame
    predictions: NDArray[np.float64]
    target: NDArray[np.float64]
    sensitive: pd.DataFrame
    weight: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls, dataset: Dataset, rows: Rows, *, members: pd.DataFrame, predictions: NDArray[np.float64]
    ) -> SetAside:
        """From the data set that they are set aside of, and predictions (K, n) for all of its rows."""
        codes = as_groups(dataset.groups, dataset.n_rows)
        return cls(
            rows=rows,
            members=members[["method", "lam", "diverged"]].reset_index(drop=True),
            predictions=predictions[:, rows],
            target=dataset.target.to_numpy(dtype=float)[rows],
            sensitive=dataset.sensitive.iloc[rows].astype(float).reset_index(drop=True),
            weight=None if dataset.weight is None else dataset.weight.to_numpy(dtype=float)[rows],
            groups=None if codes is None else codes[rows].astype(np.int64),
        )


def default_share(n_rows: int) -> float:
    """Share of so many rows that is set aside where nobody says otherwise: 0 of few rows."""
    return SHARE if n_rows >= FROM_ROWS else 0.0


def draw_set_aside(dataset: Dataset, share: float, *, latest: bool) -> Rows:
    """Numbers of the rows to set aside, sorted; none for a share of 0.

    They follow from the data set alone and from no seed: another run on the same table, with another seed,
    sets the same rows aside, and can't train or choose on what the first one keeps for its confirmation.

    Parameters
    ----------
    share
        Of the rows, 0 to below 1; at most :data:`MOST_ROWS` rows, whatever the share.
    latest
        Whether the latest rows are set aside, for splits by time: what is asked there is whether a model of
        the past holds later, and models trained on other rows of the last years would know them already. Rows
        of one time stay together: as many times as the share holds, and the last one in any case. Otherwise
        rows are drawn at random, in whole groups where the data set has groups.

    Raises
    ------
    OptionError
        The share leaves too few rows, on either side.
    """
    n = dataset.n_rows
    if share == 0:
        return np.empty(0, dtype=np.int64)
    wanted = min(round(share * n), MOST_ROWS)
    rng = rng_of(Stream.CONFIRMATION_ROWS, 0)
    if latest:
        assert dataset.time is not None
        time = dataset.time.to_numpy()
        times, counts = np.unique(time, return_counts=True)
        held = int((counts[::-1].cumsum() <= wanted).sum())
        rows = np.flatnonzero(time >= times[-max(held, 1)])
    elif (codes := as_groups(dataset.groups, n)) is not None:
        order = rng.permutation(codes.max() + 1)
        # The first groups, in a random order, that together have no more rows than are wanted.
        within = np.bincount(codes)[order].cumsum() <= wanted
        rows = np.flatnonzero(np.isin(codes, order[within]))
    else:
        rows = np.sort(rng.permutation(n)[:wanted])
    if len(rows) < FEWEST_ROWS or n - len(rows) < FEWEST_ROWS:
        raise OptionError.of(
            f"Of {n:,} rows {len(rows):,} would be set aside to confirm a choice by",
            f"Choose a share that leaves at least {FEWEST_ROWS} rows on either side, or 0 for none.",
            column="confirmation_share",
        )
    return rows.astype(np.int64)
