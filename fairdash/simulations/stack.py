"""What the studies share: estimators as they are used and as they were published, over stacks of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import REGISTRY, Measure, measure_many

Array = NDArray[np.float64]

#: Evaluations: as fairdash uses the estimator, and as it was published.
OURS, PUBLISHED = "ours", "published"
#: Pairs that a slow measure takes at a time, so that progress can be told in between.
_PIECE = 50


@dataclass(frozen=True)
class Progress:
    """How far a study is.

    Parameters
    ----------
    fraction
        Share done, 0 to 1.
    doing
        What it is doing, in plain words.
    tables
        What it has found so far, by name.
    """

    fraction: float
    doing: str
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)


def studied(*, quick: bool | None = None) -> tuple[str, ...]:
    """Ids of the measures that take continuous variables; the quick or the slow ones only.

    Those that are shown on request alone are not among them.
    """
    return tuple(
        id
        for id, measure in REGISTRY.items()
        if not (measure.discrete or measure.on_request) and (quick is None or measure.quick is quick)
    )


def coefficients() -> tuple[str, ...]:
    """Ids of the measures that run from 0 to 1: only these share an axis with HGR (paper, section on HGR)."""
    return tuple(id for id in studied() if REGISTRY[id].upper == 1)


def target_of(id: str) -> str | None:
    """Which true quantity a measure estimates: ``"hgr"``, ``"chi2"``, ``"mi"`` or none of them."""
    kind = id.partition("_")[0]
    return kind if kind in ("hgr", "chi2", "mi") else None


def is_detected(id: str, value: float, floor_q95: float) -> bool:
    """Whether a value stands above what independence exceeds in 5 % of cases."""
    return (abs(value) if REGISTRY[id].signed else value) > floor_q95


def published_way(measure: Measure) -> str | None:
    """How the measure was published, or ported, in plain words, where fairdash does otherwise."""
    if measure.fitted:
        return "read on the rows it was fitted to"
    return {
        "hgr_kde": "grid cut off at ±2.5 standard deviations",
        "chi2_kde": "grid cut off at ±2.5 standard deviations",
        "hgr_rdc": "as a Python port has it, ties ranked in the order of the file, which is sorted by V (the "
        "authors' R code averages them)",
    }.get(measure.id)


def values_of(id: str, u: Array, v: Array, *, evaluation: str = OURS, random_state: int = 0) -> Array:
    """One measure for each pair of a stack; ``(K, n), (K, n) -> (K,)``.

    FairQuant compares the averages of V in groups of U.
    """
    measure = REGISTRY[id]
    if not measure.scale_free:
        u, v = v, u
    options: dict[str, Any] = {}
    if evaluation == PUBLISHED:
        if measure.fitted:
            options["evaluation"] = "in_sample"
        elif id == "hgr_rdc":
            u, v = _ordinal(u, v)
        else:
            options["grid"] = "published"
    return measure_many(id, u, v, random_state=random_state, **options)


def _ordinal(u: Array, v: Array) -> tuple[Array, Array]:
    """Rows sorted by v, and u as ordinal ranks, as a Python port of RDC has them: ties follow the order of
    the rows. The R code that its authors printed, ``rank(u) / length(u)``, averages ties."""
    order = np.argsort(v, axis=-1, kind="stable")
    u, v = np.take_along_axis(u, order, axis=-1), np.take_along_axis(v, order, axis=-1)
    ranks = np.argsort(np.argsort(u, axis=-1, kind="stable"), axis=-1, kind="stable")
    return ranks.astype(np.float64), v


def described(id: str, evaluation: str) -> str:
    """What is being computed, for a bar: "Distance correlation", "… (RDC), as published"."""
    measure = REGISTRY[id]
    if evaluation == OURS:
        return measure.title
    return f"{measure.title}, {'on its own training rows' if measure.fitted else 'as published'}"


def _one_training(u: Array, v: Array, evaluation: str, random_state: int) -> dict[str, Array]:
    """χ²_NN and MINE of a stack as :func:`values_of`; they learn the same network."""
    from fairdash.dependence.ratio_nn import chi2_nn_and_mi_mine

    way: Literal["cross_fit", "in_sample"] = "in_sample" if evaluation == PUBLISHED else "cross_fit"
    chi2, mi = np.zeros(len(u)), np.zeros(len(u))
    live = (np.ptp(u, axis=1) > 0) & (np.ptp(v, axis=1) > 0)
    if live.any():
        chi2[live], mi[live] = chi2_nn_and_mi_mine(
            u[live], v[live], random_state=random_state, evaluation=way
        )
    return {"chi2_nn": chi2, "mi_mine": mi}


def over_stack(
    ids: Sequence[str], u: Array, v: Array, *, published: bool = True, random_state: int = 0
) -> Iterator[tuple[float, str, str, Array | None]]:
    """Every measure over one stack of pairs.

    Yields
    ------
    fraction, id, evaluation, values
        ``values`` is (K,), or None in the middle of a slow measure.
    """
    both = {"chi2_nn", "mi_mine"} <= set(ids)
    jobs = [(id, OURS) for id in ids if not (both and id == "mi_mine")]
    if published:
        jobs += [(id, PUBLISHED) for id, _ in jobs if published_way(REGISTRY[id])]
    cost = np.array([1.0 if REGISTRY[id].quick else 40.0 for id, _ in jobs])
    before = np.append(0.0, np.cumsum(cost)) / cost.sum()
    for j, (id, evaluation) in enumerate(jobs):
        size = len(u) if REGISTRY[id].quick else _PIECE
        parts: list[dict[str, Array]] = []
        for start in range(0, len(u), size):
            rows = slice(start, start + size)
            if both and id == "chi2_nn":
                parts.append(_one_training(u[rows], v[rows], evaluation, random_state))
            else:
                value = values_of(id, u[rows], v[rows], evaluation=evaluation, random_state=random_state)
                parts.append({id: value})
            share = min((start + size) / len(u), 1.0)
            if share < 1:
                yield before[j] + share * (before[j + 1] - before[j]), id, evaluation, None
        for each in parts[0]:
            yield before[j + 1], each, evaluation, np.concatenate([part[each] for part in parts])
