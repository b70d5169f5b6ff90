"""What a study is, named by a hash of it; :mod:`fairdash.runs.studies` has it carried out beside the app."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from fairdash._version import __version__
from fairdash.data.source import DatasetSource
from fairdash.dependence import REGISTRY
from fairdash.dependence.patterns import PATTERNS
from fairdash.simulations.estimates import scene_study
from fairdash.simulations.gaussians import gaussian_study
from fairdash.simulations.noise_axis import noise_axis_study
from fairdash.simulations.power import power_study
from fairdash.simulations.proxies import proxy_study
from fairdash.simulations.scene import Scene
from fairdash.simulations.stack import Progress, studied, target_of
from fairdash.storage import sha256
from fairdash.utils.records import from_plain, to_plain

#: A change of what a study computes or keeps changes this number, so that older results are not shown.
_FORMAT = 4


@dataclass(frozen=True)
class Study:
    """One computation on one scene, or on the normal laws.

    Parameters
    ----------
    kind
        A key of :data:`KINDS`, or :data:`PROXIES`.
    scene
        What it is about; of ``"gaussians"``, ``"fig2"`` and ``"divergences"`` only the number of rows and
        the seed.
    source
        The recipe of the data set that it is about, as JSON; of ``"proxies"``, which has no scene.
    sensitive
        Which of its sensitive columns; of ``"proxies"``.
    """

    #: It belongs to all who ask for the same.
    owner: ClassVar[str] = ""

    kind: str
    scene: Scene = field(default_factory=Scene)
    source: str = ""
    sensitive: str = ""

    def to_json(self) -> str:
        # Without what it does not name, so that studies of before keep their keys.
        content = {name: value for name, value in to_plain(self, own_way=False).items() if value != ""}
        return json.dumps(content, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Study:
        return from_plain(cls, json.loads(text), own_way=False)

    @property
    def key(self) -> str:
        """Hash of what it is, of the version and of the measures there are."""
        parts = (self.to_json(), __version__, str(_FORMAT), ",".join(REGISTRY))
        return sha256("\n".join(parts).encode())[:24]

    def carry_out(self) -> Iterator[Progress]:
        """Compute it here and now."""
        if self.kind == PROXIES:
            return proxy_study(DatasetSource.from_json(self.source).load(), self.sensitive)
        return KINDS[self.kind](self.scene)


def _noise_axis(scene: Scene) -> Iterator[Progress]:
    return noise_axis_study([scene])


def _fig2(scene: Scene) -> Iterator[Progress]:
    paper = [one.id for one in PATTERNS.values() if one.paper]
    return noise_axis_study([Scene(pattern=id, n=scene.n, seed=scene.seed) for id in paper])


def _divergences(scene: Scene) -> Iterator[Progress]:
    ids = [id for id in studied() if target_of(id) in ("chi2", "mi")]
    paper = [one.id for one in PATTERNS.values() if one.paper]
    return noise_axis_study([Scene(pattern=id, n=scene.n, seed=scene.seed) for id in paper], ids=ids)


def _gaussians(scene: Scene) -> Iterator[Progress]:
    slow = [id for id in studied(quick=False) if target_of(id)]
    return gaussian_study(n=scene.n, seed=scene.seed, repeats=3, ids=slow)


#: The kind of study that is about a data set.
PROXIES = "proxies"

KINDS: Mapping[str, Callable[[Scene], Iterator[Progress]]] = {
    "scene": scene_study,
    "noise_axis": _noise_axis,
    "fig2": _fig2,
    "divergences": _divergences,
    "power": power_study,
    "gaussians": _gaussians,
}
