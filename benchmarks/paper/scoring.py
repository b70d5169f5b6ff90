"""Two ways to score models on test rows: as in the paper, and corrected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.paper import published_estimators
from fairdash.dependence import independence_floor, measure_many
from fairdash.lab.estimates import PUBLISHED, values_of
from fairdash.lab.paper import FAIRNESS
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]

NEURAL = ("hgr_nn", "chi2_nn")


def paper_scoring(
    u: Array, s: Array, ids: Sequence[str] = FAIRNESS, *, random_state: int = 0
) -> pd.DataFrame:
    """Each column of Table 1 as published: one row per model, u (K, n) in standard deviations of the target.

    Neural measures are trained and evaluated on the same rows, densities use a grid cut off at ±2.5 standard
    deviations, ranks of ties follow the order of the rows (as in a Python port of RDC), and FairQuant's
    groups are cumulative.
    """
    v = np.broadcast_to(s, u.shape)
    columns = {id: _as_published(id, u, v, random_state) for id in ids}
    return pd.DataFrame(columns)


def corrected_scoring(
    u: Array, s: Array, ids: Sequence[str] = FAIRNESS, *, random_state: int = 0
) -> pd.DataFrame:
    """Columns of Table 1 with corrected scoring, one row per model.

    Networks are evaluated on new rows, densities use the whole range, ties share a rank, and FairQuant is as
    defined in the text.
    """
    v = np.broadcast_to(s, u.shape)
    return pd.DataFrame({id: measure_many(id, u, v, random_state=random_state) for id in ids})


def floors(
    u: Array, s: Array, ids: Sequence[str] = FAIRNESS, *, n_permutations: int, random_state: int = 0
) -> pd.DataFrame:
    """Values of both ways of scoring with s permuted, one row per model.

    Columns ``<id>_paper_floor`` and ``<id>_right_floor``, the mean over the permutations, and with ``_q95``
    behind their 95 % quantile.
    """
    rng = rng_of(Stream.STUDY_PERMUTATIONS, random_state)
    permuted = rng.permuted(np.broadcast_to(s, (n_permutations, len(s))), axis=1)
    columns: dict[str, Array] = {}

    def put(id: str, way: str, values: Array) -> None:
        columns[f"{id}_{way}_floor"] = values.mean(axis=-1)
        columns[f"{id}_{way}_floor_q95"] = np.quantile(values, 0.95, axis=-1)

    for id in ids:
        if id in NEURAL:
            values = [_permuted(id, one, permuted, random_state) for one in u]
            put(id, "paper", np.stack([paper for paper, _ in values]))
            put(id, "right", np.stack([right for _, right in values]))
            continue
        published = [_as_published(id, u, np.broadcast_to(p, u.shape), random_state) for p in permuted]
        put(id, "paper", np.stack(published, axis=1))
        floor = independence_floor(id, u, s, n_permutations=n_permutations, random_state=random_state)
        columns[f"{id}_right_floor"], columns[f"{id}_right_floor_q95"] = floor.mean, floor.q95
    return pd.DataFrame(columns)


def _permuted(id: str, u: Array, permuted: Array, random_state: int) -> tuple[Array, Array]:
    """A neural column of u (n,) with each permutation (B, n) of s, as published and corrected: (B,) each."""
    first = np.broadcast_to(u, permuted.shape)
    return (
        _as_published(id, first, permuted, random_state),
        measure_many(id, first, permuted, random_state=random_state),
    )


def _as_published(id: str, u: Array, v: Array, random_state: int) -> Array:
    """One published column for pairs (K, n), (K, n)."""
    if id == "hgr_nn":
        return published_estimators.hgr_nn_published(u, v, random_state=random_state)
    if id == "chi2_nn":
        return published_estimators.chi2_nn_published(u, v, random_state=random_state)
    if id == "fairquant":
        return measure_many("fairquant_cumulative", u, v)
    return values_of(id, u, v, evaluation=PUBLISHED, random_state=random_state)
