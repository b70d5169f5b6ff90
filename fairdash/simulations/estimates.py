"""What every estimator reads on one scene, beside its independence floor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import REGISTRY, independence_floor, learned_functions
from fairdash.simulations.scene import Scene
from fairdash.simulations.stack import OURS, PUBLISHED, Progress, published_way, studied, values_of

Array = NDArray[np.float64]

COLUMNS = ["id", "value", "floor", "floor_q95", "published"]


def scene_estimates(
    scene: Scene,
    ids: Sequence[str] | None = None,
    *,
    n_permutations: int = 39,
    floors: Mapping[str, tuple[float, float]] | None = None,
) -> pd.DataFrame:
    """Value, noise floor and published way of each estimator on one scene.

    Parameters
    ----------
    scene
        Which rows.
    ids
        Measures; all the quick ones by default.
    n_permutations
        Permutations of V behind each floor.
    floors
        Floors that are known already, by id: mean and 95 % quantile.

    Returns
    -------
    DataFrame
        ``id``; ``value``; ``floor`` and ``floor_q95``, the mean and the 95 % quantile of the same estimator
        with V permuted (of its size, where the sign is a direction); ``published``, the value as the
        estimator was published, missing where fairdash does the same.
    """
    u, v = scene.draw()
    known = floors or {}
    chosen = studied(quick=True) if ids is None else ids
    rows = [_estimate(id, u, v, known.get(id) or floor_of(id, u, v, n_permutations)) for id in chosen]
    return pd.DataFrame(rows, columns=COLUMNS)


def along_noise(scene: Scene, ids: Sequence[str], noises: Sequence[float]) -> dict[str, tuple[Array, Array]]:
    """What estimators read on a scene at each noise level, in one stack.

    Returns
    -------
    dict
        By id: values as fairdash uses the estimator and as it was published, NaN where that is the same;
        (K,) both, and those that :func:`scene_estimates` gives at each level.
    """
    draws = [replace(scene, noise=noise).draw() for noise in noises]
    u, v = (np.concatenate(each) for each in zip(*draws, strict=True))
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
    """Mean and 95 % quantile of a measure with V permuted, of one pair (1, n)."""
    measure = REGISTRY[id]
    first, second = (u, v) if measure.scale_free else (v, u)
    floor = independence_floor(id, first, second, n_permutations=n_permutations, random_state=0)
    return float(floor.mean[0]), float(floor.q95[0])


def floors_of(
    scene: Scene, ids: Sequence[str], *, n_permutations: int = 39
) -> dict[str, tuple[float, float]]:
    """Floors of several measures on one scene, by id."""
    u, v = scene.draw()
    return {id: floor_of(id, u, v, n_permutations) for id in ids}


def _estimate(id: str, u: Array, v: Array, floor: tuple[float, float]) -> dict[str, float | str]:
    published = np.nan
    if published_way(REGISTRY[id]):
        published = float(values_of(id, u, v, evaluation=PUBLISHED)[0])
    value = float(values_of(id, u, v, evaluation=OURS)[0])
    return {"id": id, "value": value, "floor": floor[0], "floor_q95": floor[1], "published": published}


def scene_study(scene: Scene, *, n_permutations: int = 19) -> Iterator[Progress]:
    """The slow estimators on one scene, one after another; tables ``readings`` and ``curves``.

    Yields
    ------
    Progress
        ``readings`` as :func:`scene_estimates` has it; ``curves`` as :func:`learned_curves`.
    """
    ids = studied(quick=False)
    rows: list[pd.DataFrame] = [pd.DataFrame(columns=COLUMNS)]
    curves = [learned_curves(scene, [])]
    for k, id in enumerate(ids):
        yield Progress(k / len(ids), REGISTRY[id].title, _tables(rows, curves))
        rows.append(scene_estimates(scene, [id], n_permutations=n_permutations))
        curves.append(learned_curves(scene, [id]))
    yield Progress(1.0, "done", _tables(rows, curves))


def _tables(rows: list[pd.DataFrame], curves: list[pd.DataFrame]) -> dict[str, pd.DataFrame]:
    return {
        "readings": pd.concat([one for one in rows if len(one)] or rows, ignore_index=True),
        "curves": pd.concat([one for one in curves if len(one)] or curves, ignore_index=True),
    }


def learned_curves(scene: Scene, ids: Sequence[str]) -> pd.DataFrame:
    """The transformations f and g that the measures have learned on a scene.

    Returns
    -------
    DataFrame
        ``id``; ``function``, "f" or "g"; ``x``, ``y``: points of the curve.
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
