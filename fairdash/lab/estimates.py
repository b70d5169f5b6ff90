"""Values of estimators on pairs (U, V), as fairdash uses them and as published, with noise floors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import REGISTRY, Measure, independence_floor, learned_functions, measure_many
from fairdash.lab.scene import Scene

Array = NDArray[np.float64]

#: Names of two forms of an estimator: as fairdash uses it, and as its authors published it.
OURS, PUBLISHED = "ours", "published"
#: Number of pairs (U, V) per call of a slow measure. The study reports its progress between calls.
_PAIRS_PER_CALL = 50


@dataclass(frozen=True)
class Progress:
    """Progress of a study.

    Parameters
    ----------
    fraction
        Completed share, 0 to 1.
    doing
        Current step, in plain words.
    tables
        Tables of results so far, by name.
    """

    fraction: float
    doing: str
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)


def continuous_measures(*, quick: bool | None = None) -> tuple[str, ...]:
    """Return the ids of measures for continuous variables; `quick` selects only quick (or only slow) ones.

    Measures that pages show only on request are excluded.
    """
    return tuple(
        id
        for id, measure in REGISTRY.items()
        if not (measure.discrete or measure.on_request) and (quick is None or measure.quick is quick)
    )


def coefficients() -> tuple[str, ...]:
    """Return the ids of measures with values between 0 and 1, which can share an axis with HGR."""
    return tuple(id for id in continuous_measures() if REGISTRY[id].upper == 1)


def target_of(id: str) -> str | None:
    """Return the quantity that a measure estimates: ``"hgr"``, ``"chi2"``, ``"mi"`` or None (another one)."""
    kind = id.partition("_")[0]
    return kind if kind in ("hgr", "chi2", "mi") else None


def is_detected(id: str, value: float, floor_q95: float) -> bool:
    """Return True if a value exceeds `floor_q95`, as 5 % of values do if U and V are independent."""
    return (abs(value) if REGISTRY[id].signed else value) > floor_q95


def published_way(measure: Measure) -> str | None:
    """Describe the published (or ported) form of a measure; None if fairdash uses this form."""
    if measure.fitted:
        return "evaluated on the rows it was fitted to"
    return {
        "hgr_kde": "grid cut off at ±2.5 standard deviations",
        "chi2_kde": "grid cut off at ±2.5 standard deviations",
        "hgr_rdc": "as in a Python port: equal values are ranked in file order, sorted by V (the authors' "
        "R code averages their ranks)",
    }.get(measure.id)


def values_of(id: str, u: Array, v: Array, *, evaluation: str = OURS, random_state: int = 0) -> Array:
    """Return a function that measures K pairs (U, V): ``(K, n), (K, n) -> (K,)``.

    FairQuant gets U and V in reverse order, so that it compares the averages of V in groups of U.
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
    """Sort rows by v; return the ranks of u, and v. Rows with equal u are ranked by v.

    A Python port of RDC uses such ranks. The authors' R code, ``rank(u) / length(u)``, averages the ranks of
    equal values.
    """
    order = np.argsort(v, axis=-1, kind="stable")
    u, v = np.take_along_axis(u, order, axis=-1), np.take_along_axis(v, order, axis=-1)
    ranks = np.argsort(np.argsort(u, axis=-1, kind="stable"), axis=-1, kind="stable")
    return ranks.astype(np.float64), v


def progress_label(id: str, evaluation: str) -> str:
    """Return a label for a progress bar, such as "Distance correlation" or "… (RDC), as published"."""
    measure = REGISTRY[id]
    if evaluation == OURS:
        return measure.title
    return f"{measure.title}, {'on its own training rows' if measure.fitted else 'as published'}"


def measure_pairs(
    ids: Sequence[str], u: Array, v: Array, *, published: bool = True, random_state: int = 0
) -> Iterator[tuple[float, str, str, Array | None]]:
    """Compute every measure on K pairs (U, V).

    Yields
    ------
    fraction, id, evaluation, values
        Completed share, id of the measure, form (:data:`OURS` or :data:`PUBLISHED`), and values (K,), which
        are None while a slow measure is not finished.
    """
    has_both = {"chi2_nn", "mi_mine"} <= set(ids)
    jobs = [(id, OURS) for id in ids if not (has_both and id == "mi_mine")]
    if published:
        jobs += [(id, PUBLISHED) for id, _ in jobs if published_way(REGISTRY[id])]
    cost = np.array([1.0 if REGISTRY[id].quick else 40.0 for id, _ in jobs])
    share_done = np.append(0.0, np.cumsum(cost)) / cost.sum()
    for j, (id, evaluation) in enumerate(jobs):
        size = len(u) if REGISTRY[id].quick else _PAIRS_PER_CALL
        parts: list[dict[str, Array]] = []
        for start in range(0, len(u), size):
            rows = slice(start, start + size)
            # One training gives both measures, because they use the same network.
            ids_together = ("chi2_nn", "mi_mine") if has_both and id == "chi2_nn" else (id,)
            parts.append(
                {
                    name: values_of(name, u[rows], v[rows], evaluation=evaluation, random_state=random_state)
                    for name in ids_together
                }
            )
            share = min((start + size) / len(u), 1.0)
            if share < 1:
                yield share_done[j] + share * (share_done[j + 1] - share_done[j]), id, evaluation, None
        for name in parts[0]:
            yield share_done[j + 1], name, evaluation, np.concatenate([part[name] for part in parts])


def measures_of_pairs(
    ids: Sequence[str], u: Array, v: Array, key: pd.DataFrame, *, published: bool = True
) -> Iterator[tuple[float, str, pd.DataFrame]]:
    """Compute every measure on K pairs (U, V); yield the completed share, the current step and a table.

    The table repeats the rows of `key`, one per pair, for every ``id`` and ``evaluation`` computed so far.
    The table also has the column ``value``.
    """
    estimates: list[pd.DataFrame] = []
    for fraction, id, evaluation, values in measure_pairs(ids, u, v, published=published):
        if values is not None:
            estimates.append(key.assign(id=id, evaluation=evaluation, value=values))
        if estimates:
            yield fraction, progress_label(id, evaluation), pd.concat(estimates, ignore_index=True)


COLUMNS = ["id", "value", "floor", "floor_q95", "published"]


def scene_estimates(
    scene: Scene,
    ids: Sequence[str] | None = None,
    *,
    n_permutations: int = 39,
    floors: Mapping[str, tuple[float, float]] | None = None,
) -> pd.DataFrame:
    """Return value, noise floor and published value of each estimator on simulated data (a “scene”).

    Parameters
    ----------
    scene
        Simulated data on which the estimators are computed.
    ids
        Ids of the measures; by default, all quick measures.
    n_permutations
        Number of permutations of V for each noise floor.
    floors
        Noise floors that need not be computed: mean and 95 % quantile, by id.

    Returns
    -------
    DataFrame
        Columns ``id``; ``value``; ``floor`` and ``floor_q95``, the mean and the 95 % quantile of the same
        estimator after V is permuted (of the absolute value, if the estimator has a sign); and ``published``,
        the value of the estimator as published, which is missing if fairdash uses this form.
    """
    chosen = continuous_measures(quick=True) if ids is None else ids
    floors_by_id = dict(floors or {})
    floors_by_id |= floors_of(
        scene, [id for id in chosen if id not in floors_by_id], n_permutations=n_permutations
    )
    results = along_noise(scene, chosen, [scene.noise])
    rows = [(id, value[0], *floors_by_id[id], published[0]) for id, (value, published) in results.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def along_noise(scene: Scene, ids: Sequence[str], noises: Sequence[float]) -> dict[str, tuple[Array, Array]]:
    """Return the estimators' values on simulated data (a “scene”), for all noise levels together.

    Returns
    -------
    dict
        Two arrays (K,) by id: values as fairdash uses the estimator, and values as published. The values
        equal those of :func:`scene_estimates` at each level. Published values are NaN if both forms are the
        same.
    """
    draws = [replace(scene, noise=noise).draw() for noise in noises]
    u, v = (np.concatenate(side) for side in zip(*draws, strict=True))
    return {
        id: (
            values_of(id, u, v),
            values_of(id, u, v, evaluation=PUBLISHED)
            if published_way(REGISTRY[id])
            else np.full(len(noises), np.nan),
        )
        for id in ids
    }


def floor_of(id: str, u: Array, v: Array, n_permutations: int) -> tuple[float, float]:
    """Return the mean and the 95 % quantile of a measure if V is permuted, for a pair of (1, n) arrays."""
    measure = REGISTRY[id]
    first, second = (u, v) if measure.scale_free else (v, u)
    floor = independence_floor(id, first, second, n_permutations=n_permutations, random_state=0)
    return float(floor.mean[0]), float(floor.q95[0])


def floors_of(
    scene: Scene, ids: Sequence[str], *, n_permutations: int = 39
) -> dict[str, tuple[float, float]]:
    """Return the noise floors of several measures on simulated data (a “scene”), by id."""
    u, v = scene.draw()
    return {id: floor_of(id, u, v, n_permutations) for id in ids}


def scene_study(scene: Scene, *, n_permutations: int = 19) -> Iterator[Progress]:
    """Run the slow estimators on simulated data (a “scene”), one after another.

    Yields
    ------
    Progress
        Progress with two tables: ``readings`` is like :func:`scene_estimates`, ``curves`` like
        :func:`learned_curves`.
    """
    ids = continuous_measures(quick=False)
    rows: list[pd.DataFrame] = [pd.DataFrame(columns=COLUMNS)]
    curves = [learned_curves(scene, [])]
    for k, id in enumerate(ids):
        yield Progress(k / len(ids), REGISTRY[id].title, _tables(rows, curves))
        rows.append(scene_estimates(scene, [id], n_permutations=n_permutations))
        curves.append(learned_curves(scene, [id]))
    yield Progress(1.0, "done", _tables(rows, curves))


def _tables(rows: list[pd.DataFrame], curves: list[pd.DataFrame]) -> dict[str, pd.DataFrame]:
    return {
        "readings": pd.concat([table for table in rows if len(table)] or rows, ignore_index=True),
        "curves": pd.concat([table for table in curves if len(table)] or curves, ignore_index=True),
    }


def learned_curves(scene: Scene, ids: Sequence[str]) -> pd.DataFrame:
    """Return the transformations f and g that measures have learned on simulated data (a “scene”).

    Returns
    -------
    DataFrame
        Columns ``id``; ``function``, which is "f" or "g"; and ``x`` and ``y``, the points of the curve.
    """
    parts = []
    u, v = scene.draw()
    for id in ids:
        if REGISTRY[id].learned is None:
            continue
        curve = learned_functions(id, u[0], v[0], random_state=0)
        parts += [
            pd.DataFrame({"id": id, "function": name, "x": x, "y": y})
            for name, x, y in (("f", curve.u, curve.f), ("g", curve.v, curve.g))
        ]
    if not parts:
        return pd.DataFrame(columns=["id", "function", "x", "y"])
    return pd.concat(parts, ignore_index=True)
