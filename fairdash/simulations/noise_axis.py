"""The estimators along the noise axis, against the exact value (the paper's Fig. 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from fairdash.simulations.scene import Scene
from fairdash.simulations.stack import Progress, coefficients, described, over_stack
from fairdash.simulations.truth import truth_of

#: The ten noise levels on which estimators are compared.
FIG2_NOISES: tuple[float, ...] = tuple(np.linspace(0.5, 9.0, 10).round(3).tolist())
_EXACT_POINTS = 40


def noise_axis_study(
    scenes: Sequence[Scene],
    *,
    noises: Sequence[float] = FIG2_NOISES,
    repeats: int = 5,
    ids: Sequence[str] | None = None,
) -> Iterator[Progress]:
    """Every estimator at every noise level on every scene, as one stack.

    Parameters
    ----------
    scenes
        Patterns, numbers of rows (the same for all) and first seeds; their noise does not matter.
    noises
        Noise levels.
    repeats
        Data sets a level.
    ids
        Measures; by default all that run from 0 to 1. A divergence has no place on the axis of HGR.

    Yields
    ------
    Progress
        ``values``: ``pattern``, ``noise``, ``repeat``, ``id``, ``evaluation`` ("ours" or "published"),
        ``value``. ``exact``: ``pattern``, ``noise``, ``hgr``, ``chi2``, ``mi``. ``lines`` and ``errors``:
        as :func:`lines_of` and :func:`errors`.
    """
    exact = _exact(scenes, noises)
    keys, pairs = [], []
    for scene in scenes:
        for noise in noises:
            u, v = replace(scene, noise=noise).draw(repeats=repeats)
            pairs.append((u, v))
            keys.append(
                pd.DataFrame({"pattern": scene.pattern, "noise": noise, "repeat": np.arange(repeats)})
            )
    key = pd.concat(keys, ignore_index=True)
    u, v = (np.concatenate(side) for side in zip(*pairs, strict=True))
    found: list[pd.DataFrame] = []
    for fraction, id, evaluation, values in over_stack(coefficients() if ids is None else ids, u, v):
        if values is not None:
            found.append(key.assign(id=id, evaluation=evaluation, value=values))
        if found:
            so_far = pd.concat(found, ignore_index=True)
            tables = {
                "values": so_far,
                "exact": exact,
                "lines": lines_of(so_far),
                "errors": errors(so_far, exact),
            }
            yield Progress(fraction, described(id, evaluation), tables)


def _exact(scenes: Sequence[Scene], noises: Sequence[float]) -> pd.DataFrame:
    grid = np.unique(np.append(np.linspace(min(noises), max(noises), _EXACT_POINTS), noises))
    rows = []
    for scene in scenes:
        for noise in grid:
            truth = truth_of(scene.shape, noise=float(noise))
            rows.append((scene.pattern, noise, truth.hgr, truth.chi2, truth.mi))
    return pd.DataFrame(rows, columns=["pattern", "noise", "hgr", "chi2", "mi"])


def lines_of(values: pd.DataFrame) -> pd.DataFrame:
    """Mean, lowest and highest value of each estimator at each noise level.

    Returns
    -------
    DataFrame
        ``pattern``, ``id``, ``evaluation``, ``noise``, ``mean``, ``min``, ``max``, ``size``.
    """
    keys = ["pattern", "id", "evaluation", "noise"]
    return values.groupby(keys)["value"].agg(["mean", "min", "max", "size"]).reset_index()


def errors(values: pd.DataFrame, exact: pd.DataFrame) -> pd.DataFrame:
    """Bias and root mean squared error of the HGR estimators against the exact value.

    Parameters
    ----------
    values, exact
        As :func:`noise_axis_study` gives them.

    Returns
    -------
    DataFrame
        ``id``, ``evaluation``, ``pattern``, ``bias``, ``rmse``.
    """
    hgr = values[values["id"].str.startswith("hgr_")]
    both = hgr.merge(exact[["pattern", "noise", "hgr"]], on=["pattern", "noise"])
    both["error"] = both["value"] - both["hgr"]
    grouped = both.assign(square=both["error"] ** 2).groupby(["id", "evaluation", "pattern"])
    means = grouped[["error", "square"]].mean().reset_index()
    return means.assign(bias=means["error"], rmse=np.sqrt(means["square"])).drop(columns=["error", "square"])
