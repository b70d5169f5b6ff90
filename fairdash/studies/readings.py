"""What every estimator reads on one scene, beside its independence floor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import REGISTRY, independence_floor
from fairdash.studies.scene import Scene
from fairdash.studies.stack import OURS, PUBLISHED, Progress, published_way, studied, values_of

Array = NDArray[np.float64]

COLUMNS = ["id", "value", "floor", "floor_q95", "published"]


def readings(scene: Scene, ids: Sequence[str] | None = None, *, n_permutations: int = 39) -> pd.DataFrame:
    """Value, noise floor and published way of each estimator on one scene.

    Parameters
    ----------
    scene
        Which rows.
    ids
        Measures; all the quick ones by default.
    n_permutations
        Permutations of V behind each floor.

    Returns
    -------
    DataFrame
        ``id``; ``value``; ``floor`` and ``floor_q95``, the mean and the 95 % quantile of the same estimator
        with V permuted (of its size, where the sign is a direction); ``published``, the value as the
        estimator was published, missing where fairdash does the same.
    """
    u, v = scene.draw()
    return pd.DataFrame(
        [_reading(id, u, v, n_permutations) for id in (studied(quick=True) if ids is None else ids)],
        columns=COLUMNS,
    )


def _reading(id: str, u: Array, v: Array, n_permutations: int) -> dict[str, float | str]:
    measure = REGISTRY[id]
    first, second = (u, v) if measure.scale_free else (v, u)
    floor = independence_floor(id, first, second, n_permutations=n_permutations, random_state=0)
    published = np.nan
    if published_way(measure):
        published = float(values_of(id, u, v, evaluation=PUBLISHED)[0])
    return {
        "id": id,
        "value": float(values_of(id, u, v, evaluation=OURS)[0]),
        "floor": float(floor.mean[0]),
        "floor_q95": float(floor.q95[0]),
        "published": published,
    }


def scene_study(scene: Scene, *, n_permutations: int = 19) -> Iterator[Progress]:
    """The slow estimators on one scene, one after another; tables ``readings`` and ``curves``.

    Yields
    ------
    Progress
        ``readings`` as :func:`readings` has it; ``curves`` as :func:`learned_curves`.
    """
    ids = studied(quick=False)
    rows: list[pd.DataFrame] = [pd.DataFrame(columns=COLUMNS)]
    curves = [learned_curves(scene, [])]
    for k, id in enumerate(ids):
        yield Progress(k / len(ids), REGISTRY[id].title, _tables(rows, curves))
        rows.append(readings(scene, [id], n_permutations=n_permutations))
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
        measure = REGISTRY[id]
        if measure.learned is None:
            continue
        (x, f), (z, g) = _points(measure.load("learned")(u, v))
        parts += [
            pd.DataFrame({"id": id, "function": name, "x": at, "y": curve})
            for name, at, curve in (("f", x, f), ("g", z, g))
        ]
    if not parts:
        return pd.DataFrame(columns=["id", "function", "x", "y"])
    return pd.concat(parts, ignore_index=True)


def _points(learned: object) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    raise NotImplementedError(learned)
