"""Simulation studies: estimators as noise grows (the paper's Fig. 2), estimators along ρ of normal
distributions (Fig. 1), and power.

One further study ranks the features that predict a sensitive attribute. A hash of its definition names each
:class:`Study`; :mod:`fairdash.runs.studies` runs it outside the app.
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
    gathered,
    scene_study,
    studied,
    target_of,
)
from fairdash.lab.scene import Scene
from fairdash.lab.truth import exact_curves, truth_of, unit_of
from fairdash.storage import sha256
from fairdash.utils.records import from_plain, to_plain

Array = NDArray[np.float64]

#: Version of the studies' computations and files: a change of it hides older results.
_FORMAT = 4


@dataclass(frozen=True)
class Study:
    """Computation on one scene, or on normal distributions.

    Parameters
    ----------
    kind
        A key of :data:`KINDS`, or :data:`PROXIES`.
    scene
        Its scene; ``"gaussians"``, ``"fig2"`` and ``"divergences"`` use only the number of rows and the seed.
    source
        Recipe of its data set, as JSON, for ``"proxies"``, which has no scene.
    sensitive
        Sensitive column, for ``"proxies"``.
    """

    #: The study belongs to all users who ask for the same one.
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
        """Hash of the study, the version and the available measures."""
        parts = (self.to_json(), __version__, str(_FORMAT), ",".join(REGISTRY))
        return sha256("\n".join(parts).encode())[:24]

    def carry_out(self) -> Iterator[Progress]:
        """Compute the study in this process."""
        if self.kind == PROXIES:
            return proxy_study(DatasetSource.from_json(self.source).load(), self.sensitive)
        return KINDS[self.kind](self.scene)


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
    """Compute every estimator at every noise level on every scene, as one stack.

    Parameters
    ----------
    scenes
        Patterns, numbers of rows (the same for all) and first seeds; their noise has no effect.
    noises
        Noise levels.
    repeats
        Data sets per level.
    ids
        Measures; by default all between 0 and 1. Divergences do not fit on the axis of HGR.

    Yields
    ------
    Progress
        ``values``: ``pattern``, ``noise``, ``repeat``, ``id``, ``evaluation`` ("ours" or "published"),
        ``value``. ``exact``: ``pattern``, ``noise``, ``hgr``, ``chi2``, ``mi``. ``lines`` and ``errors``:
        as :func:`lines_of` and :func:`errors`.
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
    u, v = (np.concatenate([each[side] for each in draws]) for side in (2, 3))
    for fraction, doing, values in gathered(coefficients() if ids is None else ids, u, v, key):
        of_values = {"values": values, "lines": lines_of(values), "errors": errors(values, exact)}
        yield Progress(fraction, doing, of_values | {"exact": exact})


def _exact(scenes: Sequence[Scene], noises: Sequence[float]) -> pd.DataFrame:
    grid = np.unique(np.append(np.linspace(min(noises), max(noises), _EXACT_POINTS), noises))
    rows = []
    for scene in scenes:
        for noise in grid:
            truth = truth_of(scene.shape, noise=float(noise))
            rows.append((scene.pattern, noise, truth.hgr, truth.chi2, truth.mi))
    return pd.DataFrame(rows, columns=["pattern", "noise", "hgr", "chi2", "mi"])


def lines_of(values: pd.DataFrame) -> pd.DataFrame:
    """Return mean, lowest and highest value of each estimator at each noise level.

    Returns
    -------
    DataFrame
        ``pattern``, ``id``, ``evaluation``, ``noise``, ``mean``, ``min``, ``max``, ``size``.
    """
    keys = ["pattern", "id", "evaluation", "noise"]
    return values.groupby(keys)["value"].agg(["mean", "min", "max", "size"]).reset_index()


def errors(values: pd.DataFrame, exact: pd.DataFrame) -> pd.DataFrame:
    """Return bias and root mean squared error of the HGR estimators against the exact value.

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
    both["bias"] = both["value"] - both["hgr"]
    both["rmse"] = both["bias"] ** 2
    means = both.groupby(["id", "evaluation", "pattern"])[["bias", "rmse"]].mean().reset_index()
    return means.assign(rmse=np.sqrt(means["rmse"]))


POWER_NOISES: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 12.0, 18.0, 27.0, 40.0)
LEVEL = 0.05


def compared() -> tuple[str, ...]:
    """Return all quick measures, and the slow ones between 0 and 1; the others take minutes."""
    return tuple(id for id in studied() if REGISTRY[id].quick or REGISTRY[id].upper == 1)


def power_study(
    scene: Scene,
    *,
    noises: Sequence[float] = POWER_NOISES,
    repeats: int = 100,
    slow_repeats: int = 20,
    ids: Sequence[str] | None = None,
) -> Iterator[Progress]:
    """Estimate the detection rate of every estimator at every noise level.

    At each level ``repeats`` data sets are drawn. The U of one data set is independent of the V of the next
    two and has the same margins, so these pairs give the estimator's values under independence. A link is
    detected in a data set if p = (1 + number of such values that reach its value) / (1 + their number) is at
    most 5 %.

    Parameters
    ----------
    scene
        Pattern and number of rows; its noise has no effect.
    noises
        Noise levels.
    repeats, slow_repeats
        Data sets per level, for quick and for slow measures (at least 10: fewer independent pairs can't show
        5 %).
    ids
        Measures; by default :func:`compared`.

    Yields
    ------
    Progress
        ``power``: ``noise``, ``id``, ``rate``, ``repeats``, ``low`` and ``high`` (95 % interval, Wilson).
    """
    ids = compared() if ids is None else ids
    quick = [id for id in ids if REGISTRY[id].quick]
    slow = [id for id in ids if not REGISTRY[id].quick]
    # A slow measure takes about as long as this many quick ones.
    work = [(quick, repeats, 1.0 * len(quick)), (slow, slow_repeats, 20.0 * len(slow))]
    total = sum(weight for *_, weight in work)
    known: list[pd.DataFrame] = []
    begin = 0.0
    for chosen, count, weight in work:
        if not chosen:
            continue
        share, shape = weight / total, (len(noises), 3, count)
        u, v = _pairs(scene, noises, count)
        for fraction, doing, values in gathered(
            chosen, u, v, pd.DataFrame(index=range(len(u))), published=False
        ):
            by_id = values.groupby("id", sort=False)["value"]
            rates = [_rates(str(id), own.to_numpy().reshape(shape), noises) for id, own in by_id]
            tables = {"power": pd.concat([*known, *rates], ignore_index=True)}
            yield Progress(begin + share * fraction, doing, tables)
        known += rates
        begin += share


def _pairs(scene: Scene, noises: Sequence[float], repeats: int) -> tuple[Array, Array]:
    """Dependent pairs and two shifts of V for each level, ``(levels · 3 · repeats, n)`` both."""
    first, second = [], []
    for level, noise in enumerate(noises):
        # Each level has its own noise.
        u, v = replace(scene, noise=noise, seed=scene.seed + 1000 * (level + 1)).draw(repeats=repeats)
        first += [u, u, u]
        second += [v, np.roll(v, -1, axis=0), np.roll(v, -2, axis=0)]
    return np.concatenate(first), np.concatenate(second)


def _rates(id: str, values: Array, noises: Sequence[float]) -> pd.DataFrame:
    """Rates from values (levels, 3, repeats): dependent pairs first, then the two independent shifts."""
    sizes = np.abs(values) if REGISTRY[id].signed else values
    null = sizes[:, 1:].reshape(len(sizes), -1)
    reach = (null[:, None, :] >= sizes[:, 0, :, None]).sum(axis=-1)
    p = (1 + reach) / (1 + null.shape[1])
    count = p.shape[1]
    rate = (p <= LEVEL).mean(axis=1)
    low, high = wilson(rate, count)
    return pd.DataFrame(
        {"noise": list(noises), "id": id, "rate": rate, "repeats": count, "low": low, "high": high}
    )


def wilson(rate: Array, count: int) -> tuple[Array, Array]:
    """Return the 95 % interval of a share of ``count`` (Wilson 1927)."""
    centre = (rate + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z * np.sqrt(rate * (1 - rate) / count + Z**2 / (4 * count**2)) / (1 + Z**2 / count)
    return centre - half, centre + half


RHOS: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def gaussian_pairs(rhos: Sequence[float], n: int, *, repeats: int, seed: int = 0) -> tuple[Array, Array]:
    """Draw standard normal pairs with correlation ρ; (len(rhos) · repeats, n) both, repeats innermost."""
    rng = np.random.default_rng(seed)
    u, rest = rng.normal(size=(2, repeats, n))
    v = np.concatenate([rho * u + np.sqrt(1 - rho**2) * rest for rho in rhos])
    return np.concatenate([u] * len(rhos)), v


def gaussian_study(
    *,
    rhos: Sequence[float] = RHOS,
    n: int = 2000,
    repeats: int = 5,
    ids: Sequence[str] | None = None,
    seed: int = 0,
) -> Iterator[Progress]:
    """Compute every estimator of HGR, χ² and mutual information along ρ, as one stack.

    Parameters
    ----------
    rhos
        Correlations in [−1, 1].
    n, repeats
        Rows per data set, data sets per correlation.
    ids
        Measures; by default all that estimate one of the three.
    seed
        Number of the draw.

    Yields
    ------
    Progress
        ``values``: ``rho``, ``repeat``, ``id``, ``evaluation``, ``value`` (HGR is not squared); ``exact`` as
        :func:`exact_curves`.
    """
    ids = [id for id in studied() if target_of(id)] if ids is None else ids
    u, v = gaussian_pairs(rhos, n, repeats=repeats, seed=seed)
    key = pd.DataFrame({"rho": np.repeat(rhos, repeats), "repeat": np.tile(np.arange(repeats), len(rhos))})
    exact = exact_curves(np.asarray(rhos))
    for fraction, doing, values in gathered(ids, u, v, key):
        yield Progress(fraction, doing, {"values": values, "exact": exact})


def means_along_rho(values: pd.DataFrame, *, base: str) -> pd.DataFrame:
    """Return the estimators' means and ranges in the lines' units: HGR squared, information in `base`.

    Parameters
    ----------
    values
        As returned by :func:`gaussian_study`; our own form of each estimator is used.

    Returns
    -------
    DataFrame
        ``id``, ``rho``, ``mean``, ``min``, ``max``.
    """
    ours = values[values["evaluation"] == OURS]
    value = ours["value"].where(~ours["id"].str.startswith("hgr_"), ours["value"] * ours["value"].abs())
    value = value.where(~ours["id"].str.startswith("mi_"), value / unit_of(base))
    grouped = ours.assign(value=value).groupby(["id", "rho"])["value"]
    return grouped.agg(["mean", "min", "max"]).reset_index()


VALUES, RANKING, JOINT = "values", "ranking", "joint"


def proxy_study(dataset: Dataset, sensitive: str) -> Iterator[Progress]:
    """Rank the features of a data set by how well they predict a sensitive column.

    Yields
    ------
    Progress
        ``values``: ``feature`` and ``hgr``, from the beginning; ``ranking`` and ``joint`` at the end: the
        fields of :class:`~fairdash.data.proxies.ProxyRanking`.
    """
    steps = ranking_steps(dataset, sensitive=sensitive)
    while True:
        try:
            fraction, doing, known = next(steps)
        except StopIteration as end:
            yield Progress(1.0, "done", tables_of_ranking(end.value))
            return
        yield Progress(fraction, doing, {VALUES: known})


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
    return _on_paper_patterns(scene, [id for id in studied() if target_of(id) in ("chi2", "mi")])


def _gaussians(scene: Scene) -> Iterator[Progress]:
    slow = [id for id in studied(quick=False) if target_of(id)]
    return gaussian_study(n=scene.n, seed=scene.seed, repeats=3, ids=slow)


#: Kind of the study of a data set.
PROXIES = "proxies"

KINDS: Mapping[str, Callable[[Scene], Iterator[Progress]]] = {
    "scene": scene_study,
    "noise_axis": lambda scene: noise_axis_study([scene]),
    "fig2": _on_paper_patterns,
    "divergences": _divergences,
    "power": power_study,
    "gaussians": _gaussians,
}
