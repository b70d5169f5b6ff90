"""Cached twins of the simulations' quick computations; keys are frozen scenes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from fairdash.dependence import REGISTRY
from fairdash.dependence.exact import pattern_hgr
from fairdash.reports.noise_stage import NOISES
from fairdash.simulations import Scene, Truth, scene_estimates, truth_of
from fairdash.simulations.estimates import (
    COLUMNS,
    along_noise,
    floors_of,
    learned_curves,
    studied,
    target_of,
    values_of,
)
from fairdash.simulations.studies import gaussian_pairs, gaussian_study
from fairdash.ui.keys import Address

Array = NDArray[np.float64]


Floors = dict[str, tuple[float, float]]

#: Noise levels at which floors are computed; a scene between them takes those of the nearest. The floor of an
#: estimator that has no unit depends on the shape of V's margin only, which changes little in between.
FLOOR_LEVELS = (0.5, 2.0, 8.0)
#: With more rows than this one level must do: floors take longer, and differ less.
ROWS_FOR_LEVELS = 200


@st.cache_data(max_entries=100, show_spinner=False)
def _rank_floors(n: int, ties: float, seed: int) -> Floors:
    """Floors that depend on ranks alone: the same for all V without ties, whatever the pattern."""
    ids = [id for id in studied(quick=True) if REGISTRY[id].rank_based]
    return floors_of(Scene(pattern="line", noise=1.0, n=n, ties=ties, seed=seed), ids)


@st.cache_data(max_entries=300, show_spinner=False)
def _level_floors(scene: Scene) -> Floors:
    """The other floors of a scene at one of the noise levels; all of them without noise: V may have ties."""
    by_rank = scene.noise > 0
    ids = [
        id
        for id in studied(quick=True)
        if REGISTRY[id].scale_free and not (by_rank and REGISTRY[id].rank_based)
    ]
    return floors_of(scene, ids)


def floor_level(scene: Scene) -> float:
    """The noise level, nearest by ratio, at which the floors of a scene are computed."""
    if scene.noise == 0:
        return 0.0
    if scene.n > ROWS_FOR_LEVELS:
        return 2.0
    return min(FLOOR_LEVELS, key=lambda level: abs(math.log(level / scene.noise)))


@st.cache_data(max_entries=500, show_spinner=False)
def estimates_of(scene: Scene) -> pd.DataFrame:
    """The quick estimators on a scene, as :func:`fairdash.simulations.scene_estimates`."""
    return scene_estimates(scene, floors=_floors(scene))


def _floors(scene: Scene) -> Floors:
    floors = _level_floors(replace(scene, noise=floor_level(scene)))
    if scene.noise > 0:
        floors = floors | _rank_floors(scene.n, scene.ties, scene.seed)
    return floors


def along_noise_of(scene: Scene, ids: Sequence[str]) -> list[tuple[float, pd.DataFrame]]:
    """The exact maximal correlation and what `ids` read at each stop of the noise, as on that scene alone."""
    return _along_noise(replace(scene, noise=0.0), tuple(ids))


@st.cache_data(max_entries=50, show_spinner=False)
def _along_noise(scene: Scene, ids: tuple[str, ...]) -> list[tuple[float, pd.DataFrame]]:
    found = along_noise(scene, ids, NOISES)
    tables = []
    for k, noise in enumerate(NOISES):
        floors = _floors(replace(scene, noise=noise))
        rows = [(id, value[k], *floors[id], published[k]) for id, (value, published) in found.items()]
        hgr = pattern_hgr(scene.shape, noise=noise).value
        tables.append((hgr, pd.DataFrame(rows, columns=COLUMNS)))
    return tables


@st.cache_data(max_entries=500, show_spinner=False)
def exact_of(scene: Scene) -> Truth:
    """What is true of a scene."""
    return truth_of(scene.shape, noise=scene.noise)


@st.cache_data(max_entries=100, show_spinner=False)
def learned_of(scene: Scene) -> pd.DataFrame:
    """f and g as the quick estimators have learned them."""
    return learned_curves(scene, studied(quick=True))


@st.cache_data(max_entries=50, show_spinner=False)
def gaussian_values(n: int, seed: int) -> pd.DataFrame:
    """The quick estimators along ρ, as :func:`fairdash.simulations.gaussian_study`."""
    ids = [id for id in studied(quick=True) if target_of(id)]
    *_, last = gaussian_study(n=n, seed=seed, ids=ids, repeats=3)
    return last.tables["values"]


@st.cache_data(max_entries=200, show_spinner=False)
def gaussian_estimates(rho: float, n: int, seed: int) -> dict[str, float]:
    """What the quick estimators of HGR, χ² and mutual information read on one data set."""
    u, v = gaussian_pairs([rho], n, repeats=1, seed=seed)
    return {id: float(values_of(id, u, v)[0]) for id in studied(quick=True) if target_of(id)}


#: Points to begin with: a curve that rises, falls and rises.
_POINTS = ((-10.0, 0.0), (-5.0, 6.0), (0.0, -4.0), (5.0, 6.0), (10.0, 0.0))
_MOST_POINTS = 40


def points_from_address() -> tuple[tuple[float, float], ...]:
    """The points that the address holds as ``points=-10:0,-5:6``; the default ones if it holds none."""
    pairs = [pair.split(":") for pair in st.query_params.get(Address.POINTS, "").split(",")[:_MOST_POINTS]]
    try:
        points = tuple((float(u), float(f)) for u, f in pairs)
    except ValueError:
        return _POINTS
    return points if np.isfinite(points).all() else _POINTS


def points_to_address(points: tuple[tuple[float, float], ...]) -> None:
    """Keep the points in the address, so that it can be sent."""
    text = ",".join(f"{u:g}:{f:g}" for u, f in points)
    if st.query_params.get(Address.POINTS) != text:
        st.query_params[Address.POINTS] = text
