"""Figures 1 and 2: estimators on laws whose dependence is known; see :mod:`fairdash.studies`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from fairdash.dependence.patterns import PATTERNS
from fairdash.reproduction.results import About, StudyResult, machine, versions
from fairdash.studies import FIG2_NOISES, Progress, Scene, gaussian_study, noise_axis_study

Tell = Callable[[str], None]

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


def reproduce_fig1(*, n: int = 2000, repeats: int = 3, tell: Tell = lambda _: None) -> StudyResult:
    """Tables ``values`` and ``exact`` of :func:`fairdash.studies.gaussian_study`."""
    study = gaussian_study(n=n, repeats=repeats, ids=FIG1_IDS)
    return _carried_out("fig1", study, {"rows": n, "repeats": repeats, "measures": list(FIG1_IDS)}, tell)


def reproduce_fig2(*, n: int = ROWS, repeats: int = REPEATS, tell: Tell = lambda _: None) -> StudyResult:
    """Tables ``values`` and ``exact`` of :func:`fairdash.studies.noise_axis_study`.

    ``values`` has HGR_NN three times: ``evaluation`` "ours" (cross-fitted), "published" (fairdash's networks,
    read on the rows they were fitted to) and "authors" (as the authors' code trains them).
    """
    scenes = [Scene(pattern=one.id, n=n) for one in PATTERNS.values() if one.paper]
    study = noise_axis_study(scenes, noises=NOISES, repeats=repeats, ids=(*FIG2_IDS, "hgr_spline"))
    options = {
        "patterns": [scene.pattern for scene in scenes],
        "noises": list(NOISES),
        "rows": n,
        "repeats": repeats,
        "measures": [*FIG2_IDS, "hgr_spline"],
    }
    result = _carried_out("fig2", study, options, tell)
    started = time.monotonic()
    tell("HGR_NN as the authors' code trains it")
    values = pd.concat([result.tables["values"], _authors(scenes, repeats)], ignore_index=True)
    seconds = round(result.about.seconds + time.monotonic() - started, 1)
    return StudyResult(
        replace(result.about, seconds=seconds), {"values": values, "exact": result.tables["exact"]}
    )


def _authors(scenes: list[Scene], repeats: int) -> pd.DataFrame:
    """HGR_NN of the same data sets by the paper's own networks and the authors' steps."""
    from fairdash.reproduction.as_published import hgr_nn_published

    parts = []
    for scene in scenes:
        for noise in NOISES:
            u, v = replace(scene, noise=noise).draw(repeats=repeats)
            own = pd.DataFrame({"pattern": scene.pattern, "noise": noise, "repeat": np.arange(repeats)})
            values = hgr_nn_published(u, v)
            parts.append(own.assign(id="hgr_nn", evaluation=AUTHORS, value=values))
    return pd.concat(parts, ignore_index=True)


def _carried_out(name: str, study: Iterator[Progress], options: dict[str, object], tell: Tell) -> StudyResult:
    started = time.monotonic()
    tables = {}
    for progress in study:
        tell(f"{progress.fraction:4.0%} {progress.doing}")
        tables = dict(progress.tables)
    about = About(
        study=name,
        command=f"python -m fairdash reproduce {name}",
        seed=0,
        seconds=round(time.monotonic() - started, 1),
        options=options,
        versions=versions(),
        machine=machine(),
    )
    return StudyResult(about, tables)
