"""Simulation studies: estimators against noise (the paper's figure 2), estimators against the correlation ρ
of normal distributions (figure 1), and detection rates.

Another study ranks the features by how well they predict a sensitive attribute. The key of a :class:`Study`
is a hash of its definition; :mod:`fairdash.runs.studies` runs studies in separate processes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash._version import __version__
from fairdash.data.dataset import Dataset
from fairdash.data.proxies import ProxyRanking, ranking_steps
from fairdash.data.source import DatasetSource
from fairdash.dependence import REGISTRY
from fairdash.dependence.classical import Z
from fairdash.dependence.patterns import PATTERNS
from fairdash.lab.estimates import (
    OURS,
    Progress,
    coefficients,
    continuous_measures,
    measures_of_pairs,
    scene_study,
    target_of,
)
from fairdash.lab.scene import Scene
from fairdash.lab.truth import exact_curves, truth_of, unit_of
from fairdash.storage import sha256
from fairdash.utils.records import from_plain, to_plain

Array = NDArray[np.float64]

#: Version of the studies' computations and files. Results of other versions are not used.
_FORMAT = 4


@dataclass(frozen=True)
class Study:
    """Definition of a computation on simulated data (a “scene”), normal distributions or a data set.

    Parameters
    ----------
    kind
        Key of :data:`KINDS`, or :data:`PROXIES`.
    scene
        Scene of the study; ``"gaussians"``, ``"fig2"`` and ``"divergences"`` use only its number of rows and
        its seed.
    source
        Data source as JSON, used only by ``"proxies"``, which does not use the scene.
    sensitive
        Name of the sensitive column, used only by ``"proxies"``.
    """

    #: A study has no owner. All users who request the same study share its result.
    owner: ClassVar[str] = ""

    kind: str
    scene: Scene = field(default_factory=Scene)
    source: str = ""
    sensitive: str = ""

    def to_json(self) -> str:
        return json.dumps(to_plain(self, own_way=False), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Study:
        return from_plain(cls, json.loads(text), own_way=False)

    @property
    def key(self) -> str:
        """Hash of the study's definition, fairdash's version, and the list of measures."""
        parts = (self.to_json(), __version__, str(_FORMAT), ",".join(REGISTRY))
        return sha256("\n".join(parts).encode())[:24]

    def run(self) -> Iterator[Progress]:
        """Run the study in this process."""
        if self.kind == PROXIES:
            return proxy_study(DatasetSource.from_json(self.source).load(), self.sensitive)
        return KINDS[self.kind](self.scene)


#: Ten noise levels at which estimators are compared.
FIG2_NOISES: tuple[float, ...] = tuple(np.linspace(0.5, 9.0, 10).round(3).tolist())
_EXACT_POINTS = 40


def noise_axis_study(
    scenes: Sequence[Scene],
    *,
    noises: Sequence[float] = FIG2_NOISES,
    repeats: int = 5,
    ids: Sequence[str] | None = None,
) -> Iterator[Progress]:
    """Compute every estimator at every noise level on all simulated data (“scenes”) together.

    Parameters
    ----------
    scenes
        Simulated data (scenes) with the same number of rows; `noises` replaces their noise.
    noises
        Noise levels to compute.
    repeats
        Number of data sets per level.
    ids
        Ids of the measures; by default, all measures between 0 and 1. The default omits divergences, because
        their values can exceed 1.

    Yields
    ------
    Progress
        Progress with four tables. The columns of ``values`` are ``pattern``, ``noise``, ``repeat``, ``id``,
        ``evaluation`` ("ours" or "published") and ``value``. The columns of ``exact`` are ``pattern``,
        ``noise``, ``hgr``, ``chi2`` and ``mi``. The tables ``lines`` and ``errors`` are as returned by
        :func:`lines_of` and :func:`errors`.
    """
    exact = _exact(scenes, noises)
    draws = [
        (scene.pattern, noise, *replace(scene, noise=noise).draw(repeats=repeats))
        for scene in scenes
        for noise in noises
    ]
    key = pd.DataFrame([(pattern, noise) for pattern, noise, *_ in draws], columns=["pattern", "noise"])
    key = key.loc[key.index.repeat(repeats)].reset_index(drop=True)
    key["repeat"] = np.tile(np.arange(repeats), len(draws))
    u, v = (np.concatenate([draw[side] for draw in draws]) for side in (2, 3))
    for fraction, message, values in measures_of_pairs(coefficients() if ids is None else ids, u, v, key):
        of_values = {"values": values, "lines": lines_of(values), "errors": errors(values, exact)}
        yield Progress(fraction, message, of_values | {"exact": exact})


def _exact(scenes: Sequence[Scene], noises: Sequence[float]) -> pd.DataFrame:
    grid = np.unique(np.append(np.linspace(min(noises), max(noises), _EXACT_POINTS), noises))
    rows = []
    for scene in scenes:
        for noise in grid:
            truth = truth_of(scene.shape, noise=float(noise))
            rows.append((scene.pattern, noise, truth.hgr, truth.chi2, truth.mi))
    return pd.DataFrame(rows, columns=["pattern", "noise", "hgr", "chi2", "mi"])


def lines_of(values: pd.DataFrame) -> pd.DataFrame:
    """Return the mean, the lowest and the highest value of each estimator at each noise level.

    Returns
    -------
    DataFrame
        Columns ``pattern``, ``id``, ``evaluation``, ``noise``, ``mean``, ``min``, ``max`` and ``size``.
    """
    keys = ["pattern", "id", "evaluation", "noise"]
    return values.groupby(keys)["value"].agg(["mean", "min", "max", "size"]).reset_index()


def errors(values: pd.DataFrame, exact: pd.DataFrame) -> pd.DataFrame:
    """Return bias and root mean squared error of the estimators of HGR, relative to the exact HGR.

    Parameters
    ----------
    values, exact
        Tables as returned by :func:`noise_axis_study`.

    Returns
    -------
    DataFrame
        Columns ``id``, ``evaluation``, ``pattern``, ``bias`` and ``rmse``.
    """
    hgr = values[values["id"].str.startswith("hgr_")]
    merged_values = hgr.merge(exact[["pattern", "noise", "hgr"]], on=["pattern", "noise"])
    merged_values["bias"] = merged_values["value"] - merged_values["hgr"]
    merged_values["rmse"] = merged_values["bias"] ** 2
    means = merged_values.groupby(["id", "evaluation", "pattern"])[["bias", "rmse"]].mean().reset_index()
    return means.assign(rmse=np.sqrt(means["rmse"]))


POWER_NOISES: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 12.0, 18.0, 27.0, 40.0)
LEVEL = 0.05


def compared_measures() -> tuple[str, ...]:
    """Return the ids of all quick measures, and of slow ones with values from 0 to 1; others take minutes."""
    return tuple(id for id in continuous_measures() if REGISTRY[id].quick or REGISTRY[id].upper == 1)


def power_study(
    scene: Scene,
    *,
    noises: Sequence[float] = POWER_NOISES,
    repeats: int = 100,
    slow_repeats: int = 20,
    ids: Sequence[str] | None = None,
) -> Iterator[Progress]:
    """Estimate the detection rate of every estimator at every noise level.

    The study draws ``repeats`` data sets at each level. U of one data set is independent of V of the next two
    data sets, and the distributions of U and V are the same. Such independent pairs give the estimator's
    values under independence. A link is detected in a data set if p ≤ 5 %, where p = (1 + number of
    independent values that are at least as high) / (1 + number of independent values).

    Parameters
    ----------
    scene
        Simulated data with a pattern and a number of rows; `noises` replaces the noise.
    noises
        Noise levels to compute.
    repeats, slow_repeats
        Numbers of data sets per level, for quick and for slow measures. At least 10 data sets are needed,
        because p always exceeds 5 % with fewer independent pairs.
    ids
        Ids of the measures; by default, those of :func:`compared_measures`.

    Yields
    ------
    Progress
        Progress with the table ``power``, whose columns are ``noise``, ``id``, ``rate``, ``repeats``, ``low``
        and ``high`` (95 % interval of Wilson).
    """
    ids = compared_measures() if ids is None else ids
    quick_ids = [id for id in ids if REGISTRY[id].quick]
    slow = [id for id in ids if not REGISTRY[id].quick]
    # A slow measure takes about as long as twenty quick measures.
    work = [(quick_ids, repeats, 1.0 * len(quick_ids)), (slow, slow_repeats, 20.0 * len(slow))]
    total = sum(weight for *_, weight in work)
    tables_so_far: list[pd.DataFrame] = []
    share_before = 0.0
    for chosen, count, weight in work:
        if not chosen:
            continue
        share, shape = weight / total, (len(noises), 3, count)
        u, v = _pairs(scene, noises, count)
        for fraction, message, values in measures_of_pairs(
            chosen, u, v, pd.DataFrame(index=range(len(u))), published=False
        ):
            by_id = values.groupby("id", sort=False)["value"]
            rates = [_rates(str(id), group.to_numpy().reshape(shape), noises) for id, group in by_id]
            tables = {"power": pd.concat([*tables_so_far, *rates], ignore_index=True)}
            yield Progress(share_before + share * fraction, message, tables)
        tables_so_far += rates
        share_before += share


def _pairs(scene: Scene, noises: Sequence[float], repeats: int) -> tuple[Array, Array]:
    """Return U and V, ``(levels · 3 · repeats, n)`` each; V is shifted by 0, 1 and 2 data sets per level."""
    first, second = [], []
    for level, noise in enumerate(noises):
        # Each level has its own seed, so that the data sets of different levels are independent.
        u, v = replace(scene, noise=noise, seed=scene.seed + 1000 * (level + 1)).draw(repeats=repeats)
        first += [u, u, u]
        second += [v, np.roll(v, -1, axis=0), np.roll(v, -2, axis=0)]
    return np.concatenate(first), np.concatenate(second)


def _rates(id: str, values: Array, noises: Sequence[float]) -> pd.DataFrame:
    """Return detection rates from the `values`, (levels, 3, repeats), on the pairs of :func:`_pairs`."""
    sizes = np.abs(values) if REGISTRY[id].signed else values
    null = sizes[:, 1:].reshape(len(sizes), -1)
    n_reached = (null[:, None, :] >= sizes[:, 0, :, None]).sum(axis=-1)
    p = (1 + n_reached) / (1 + null.shape[1])
    count = p.shape[1]
    rate = (p <= LEVEL).mean(axis=1)
    low, high = wilson(rate, count)
    return pd.DataFrame(
        {"noise": list(noises), "id": id, "rate": rate, "repeats": count, "low": low, "high": high}
    )


def wilson(rate: Array, count: int) -> tuple[Array, Array]:
    """Return the 95 % interval (Wilson 1927) of a share that was observed in ``count`` cases."""
    centre = (rate + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half_width = Z * np.sqrt(rate * (1 - rate) / count + Z**2 / (4 * count**2)) / (1 + Z**2 / count)
    return centre - half_width, centre + half_width


RHOS: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def gaussian_pairs(rhos: Sequence[float], n: int, *, repeats: int, seed: int = 0) -> tuple[Array, Array]:
    """Draw standard normal U and V, (len(rhos) · repeats, n) each; the repeats of each ρ are adjacent."""
    rng = np.random.default_rng(seed)
    u, noise = rng.normal(size=(2, repeats, n))
    v = np.concatenate([rho * u + np.sqrt(1 - rho**2) * noise for rho in rhos])
    return np.concatenate([u] * len(rhos)), v


def gaussian_study(
    *,
    rhos: Sequence[float] = RHOS,
    n: int = 2000,
    repeats: int = 5,
    ids: Sequence[str] | None = None,
    seed: int = 0,
) -> Iterator[Progress]:
    """Compute the estimators of HGR, χ² and mutual information at all ρ together.

    Parameters
    ----------
    rhos
        Correlations ρ in [−1, 1].
    n, repeats
        Number of rows per data set, and number of data sets per correlation.
    ids
        Ids of the measures; by default, all measures that estimate HGR, χ² or mutual information.
    seed
        Seed of the draw.

    Yields
    ------
    Progress
        Progress with the tables ``values``, whose columns are ``rho``, ``repeat``, ``id``, ``evaluation`` and
        ``value`` (HGR is not squared), and ``exact``, as returned by :func:`exact_curves`.
    """
    ids = [id for id in continuous_measures() if target_of(id)] if ids is None else ids
    u, v = gaussian_pairs(rhos, n, repeats=repeats, seed=seed)
    key = pd.DataFrame({"rho": np.repeat(rhos, repeats), "repeat": np.tile(np.arange(repeats), len(rhos))})
    exact = exact_curves(np.asarray(rhos))
    for fraction, message, values in measures_of_pairs(ids, u, v, key):
        yield Progress(fraction, message, {"values": values, "exact": exact})


def means_along_rho(values: pd.DataFrame, *, base: str) -> pd.DataFrame:
    """Return means and ranges of the estimators, with HGR squared and mutual information in the unit `base`.

    Parameters
    ----------
    values
        Values as returned by :func:`gaussian_study`; only the form "ours" of each estimator is used.

    Returns
    -------
    DataFrame
        Columns ``id``, ``rho``, ``mean``, ``min`` and ``max``.
    """
    in_our_form = values[values["evaluation"] == OURS]
    value = in_our_form["value"].where(
        ~in_our_form["id"].str.startswith("hgr_"), in_our_form["value"] * in_our_form["value"].abs()
    )
    value = value.where(~in_our_form["id"].str.startswith("mi_"), value / unit_of(base))
    grouped = in_our_form.assign(value=value).groupby(["id", "rho"])["value"]
    return grouped.agg(["mean", "min", "max"]).reset_index()


VALUES, RANKING, JOINT = "values", "ranking", "joint"


def proxy_study(dataset: Dataset, sensitive: str) -> Iterator[Progress]:
    """Rank the features of a data set by how well they predict a sensitive column.

    Yields
    ------
    Progress
        Progress with the table ``values`` (columns ``feature`` and ``hgr``). The last progress also has the
        tables ``ranking`` and ``joint``, with the fields of :class:`~fairdash.data.proxies.ProxyRanking`.
    """
    steps = ranking_steps(dataset, sensitive=sensitive)
    while True:
        try:
            fraction, message, tables = next(steps)
        except StopIteration as end:
            yield Progress(1.0, "done", tables_of_ranking(end.value))
            return
        yield Progress(fraction, message, {VALUES: tables})


def tables_of_ranking(ranking: ProxyRanking) -> dict[str, pd.DataFrame]:
    """Convert a ranking to storable tables."""
    joint = {name: value for name, value in vars(ranking).items() if name != "features"}
    return {
        VALUES: ranking.features[["feature", "hgr"]],
        RANKING: ranking.features,
        JOINT: pd.DataFrame([joint]),
    }


def ranking_of_tables(tables: Mapping[str, pd.DataFrame]) -> ProxyRanking:
    """Convert the tables of :func:`tables_of_ranking` back to a ranking."""
    (joint,) = tables[JOINT].to_dict("records")
    return ProxyRanking(features=tables[RANKING], **{str(name): value for name, value in joint.items()})


def _on_paper_patterns(scene: Scene, ids: Sequence[str] | None = None) -> Iterator[Progress]:
    paper = [pattern.id for pattern in PATTERNS.values() if pattern.paper]
    return noise_axis_study([Scene(pattern=id, n=scene.n, seed=scene.seed) for id in paper], ids=ids)


def _divergences(scene: Scene) -> Iterator[Progress]:
    return _on_paper_patterns(scene, [id for id in continuous_measures() if target_of(id) in ("chi2", "mi")])


def _gaussians(scene: Scene) -> Iterator[Progress]:
    slow = [id for id in continuous_measures(quick=False) if target_of(id)]
    return gaussian_study(n=scene.n, seed=scene.seed, repeats=3, ids=slow)


#: Value of `Study.kind` for a study that ranks the features of a data set.
PROXIES = "proxies"

KINDS: Mapping[str, Callable[[Scene], Iterator[Progress]]] = {
    "scene": scene_study,
    "noise_axis": lambda scene: noise_axis_study([scene]),
    "fig2": _on_paper_patterns,
    "divergences": _divergences,
    "power": power_study,
    "gaussians": _gaussians,
}
