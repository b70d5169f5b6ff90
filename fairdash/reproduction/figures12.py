"""Figures 1 and 2: estimators on laws whose dependence is known; see :mod:`fairdash.studies`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from fairdash.dependence.patterns import PATTERNS
from fairdash.reproduction.results import (
    About,
    StudyResult,
    Tell,
    processor_seconds,
    silent,
    tables_of_parts,
)
from fairdash.studies import FIG2_NOISES, Progress, Scene, gaussian_study, noise_axis_study

#: Fig. 1: χ² by network beside HGR² and mutual information; and the estimators that the paper names.
FIG1_IDS = ("hgr_nn", "hgr_kde", "chi2_kde", "chi2_nn", "mi_ksg", "mi_mine")
#: Fig. 2 compares these.
FIG2_IDS = ("hgr_nn", "hgr_kde", "hgr_rdc")
#: “When no noise is added”, then the levels of the noise axis: the paper does not print its own.
NOISES = (0.0, *FIG2_NOISES)
#: HGR_NN as the authors' code has it.
AUTHORS = "authors"
ROWS = 500
REPEATS = 5


def reproduce_fig1(*, n: int = 2000, repeats: int = 3, tell: Tell = silent) -> StudyResult:
    """Tables ``values`` and ``exact`` of :func:`fairdash.studies.gaussian_study`."""
    study = gaussian_study(n=n, repeats=repeats, ids=FIG1_IDS)
    return _carried_out("fig1", study, {"rows": n, "repeats": repeats, "measures": list(FIG1_IDS)}, tell)


def reproduce_fig2(
    *, n: int = ROWS, repeats: int = REPEATS, processes: int = 1, tell: Tell = silent
) -> StudyResult:
    """Tables ``values`` and ``exact`` of :func:`fairdash.studies.noise_axis_study`.

    ``values`` has HGR_NN three times: ``evaluation`` "ours" (cross-fitted), "published" (fairdash's networks,
    read on the rows they were fitted to) and "authors" (as the authors' code trains them).

    Parameters
    ----------
    processes
        Patterns at a time; the values are the same.
    """
    started = processor_seconds()
    scenes = [Scene(pattern=one.id, n=n) for one in PATTERNS.values() if one.paper]
    make = partial(_pattern, repeats=repeats, noises=NOISES)
    tables = tables_of_parts(make, scenes, processes=processes, tell=tell)
    # As one stack has them: measure by measure, and pattern by pattern within.
    order = tables["values"].groupby(["id", "evaluation"], sort=False).ngroup()
    rows = np.argsort(order, kind="stable")
    tables["values"] = tables["values"].iloc[rows].reset_index(drop=True)
    options = {
        "patterns": [scene.pattern for scene in scenes],
        "noises": list(NOISES),
        "rows": n,
        "repeats": repeats,
        "measures": [*FIG2_IDS, "hgr_spline"],
    }
    return StudyResult(_about("fig2", options, started), tables)


def _pattern(
    scene: Scene, tell: Tell = silent, *, repeats: int, noises: tuple[float, ...]
) -> dict[str, pd.DataFrame]:
    """All estimators along the noise axis of one pattern."""
    tables: dict[str, pd.DataFrame] = {}
    for progress in noise_axis_study([scene], noises=noises, repeats=repeats, ids=(*FIG2_IDS, "hgr_spline")):
        tell(f"{scene.shape.title}: {progress.doing}", 0.7 * progress.fraction)
        tables = {name: progress.tables[name] for name in ("values", "exact")}
    tell(f"{scene.shape.title}: HGR_NN as the authors' code trains it", 0.7)
    return tables | {
        "values": pd.concat([tables["values"], _authors(scene, repeats, noises)], ignore_index=True)
    }


def _authors(scene: Scene, repeats: int, noises: tuple[float, ...]) -> pd.DataFrame:
    """HGR_NN of the same data sets by the paper's own networks and the authors' steps."""
    from fairdash.reproduction.published_estimators import hgr_nn_published

    drawn = [replace(scene, noise=noise).draw(repeats=repeats) for noise in noises]
    u, v = (np.concatenate(side) for side in zip(*drawn, strict=True))
    return pd.DataFrame(
        {
            "pattern": scene.pattern,
            "noise": np.repeat(noises, repeats),
            "repeat": np.tile(np.arange(repeats), len(noises)),
            "id": "hgr_nn",
            "evaluation": AUTHORS,
            "value": hgr_nn_published(u, v),
        }
    )


def _carried_out(name: str, study: Iterator[Progress], options: dict[str, object], tell: Tell) -> StudyResult:
    started = processor_seconds()
    tables = {}
    for progress in study:
        tell(progress.doing, progress.fraction)
        tables = dict(progress.tables)
    return StudyResult(_about(name, options, started), tables)


def _about(name: str, options: dict[str, object], started: float) -> About:
    command = f"python -m fairdash reproduce {name}"
    return About.of(name, started=started, command=command, seed=0, options=options)
