"""Studies that are carried out apart from the app, and kept: one folder a study, named by what it is.

<cache>/studies/<key>/study.json      what to do
<cache>/studies/<key>/status.json     how far it is
<cache>/studies/<key>/<table>.parquet what it has found so far
<cache>/studies/<key>/cancel          there if nobody waits for it any more
<cache>/studies/<key>/worker.lock     held by the process that is at it
<cache>/studies/<key>/process.json    which process that is

Anything here can be computed again. Which is next is in the line of jobs (:mod:`fairdash.jobs.engine`).
"""

from __future__ import annotations

import io
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from fairdash._version import __version__
from fairdash.data.source import DatasetSource
from fairdash.dependence import REGISTRY
from fairdash.dependence.patterns import PATTERNS
from fairdash.jobs import engine
from fairdash.jobs.process import LOCK, is_at_work, sign
from fairdash.simulations.estimates import scene_study
from fairdash.simulations.gaussians import gaussian_study
from fairdash.simulations.noise_axis import noise_axis_study
from fairdash.simulations.power import power_study
from fairdash.simulations.proxies import proxy_study
from fairdash.simulations.scene import Scene
from fairdash.simulations.stack import Progress, studied, target_of
from fairdash.storage import cache_folder, cant_keep, sha256, write_whole
from fairdash.utils.records import from_plain, to_plain

#: A change of what a study computes changes this number, so that older results are not shown.
_FORMAT = 3
_KEPT = 300
#: Whoever looks at a study takes its lock for a moment; only the process at work keeps it this long.
SECONDS_FOR_THE_LOCK = 3.0

ABSENT, QUEUED, RUNNING, DONE, FAILED = "absent", "queued", "running", "done", "failed"


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

    @property
    def folder(self) -> Path:
        return cache_folder("studies") / self.key

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


@dataclass(frozen=True, kw_only=True)
class StudyStatus:
    """How far a study is.

    Parameters
    ----------
    state
        ``"absent"``, ``"queued"``, ``"running"``, ``"done"`` or ``"failed"``.
    fraction
        Share done, 0 to 1.
    doing
        What it is doing, in plain words.
    seconds
        Since its process began.
    """

    state: str
    fraction: float = 0.0
    doing: str = ""
    seconds: float = 0.0

    @property
    def is_over(self) -> bool:
        return self.state in (DONE, FAILED)


def status_of(study: Study) -> StudyStatus:
    """How far it is; absent if nobody is at it, failed if its process has ended before it was done."""
    path = study.folder / "status.json"
    status = _read(path)
    if status is None or status.is_over or is_at_work(study.folder):
        return status or StudyStatus(state=ABSENT)
    at = engine.state_of(study.key)
    if at is not None and at.is_active:
        return status
    # The process may have finished between the two looks.
    again = _read(path)
    if again is None or again.is_over:
        return again or StudyStatus(state=ABSENT)
    was_stopped = (study.folder / "cancel").exists() or (at is not None and at.state == engine.STOPPED)
    return StudyStatus(state=ABSENT if was_stopped else FAILED)


def _read(path: Path) -> StudyStatus | None:
    try:
        return StudyStatus(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        # A cache that can't be read is computed again.
        return None


def tables_of(study: Study) -> dict[str, pd.DataFrame]:
    """What it has found so far, by name."""
    if not study.folder.is_dir():
        return {}
    return {
        path.stem: pd.read_parquet(io.BytesIO(path.read_bytes())) for path in study.folder.glob("*.parquet")
    }


def start(study: Study) -> None:
    """Have the study carried out, unless it is done or a process is at it.

    Raises
    ------
    StorageError
        Its folder can't be written.
    """
    # Asked for again: a process that has not yet seen the wish to stop may go on.
    if (study.folder / "cancel").exists():
        try:
            (study.folder / "cancel").unlink(missing_ok=True)
        except OSError as error:
            raise cant_keep(error) from error
    if status_of(study).state in (DONE, QUEUED, RUNNING):
        return
    write_whole(study.folder / "study.json", study.to_json().encode())
    _write_status(study, StudyStatus(state=QUEUED))
    # A scene takes seconds, and somebody looks at it; the others take longer.
    lane = engine.QUICK if study.kind == "scene" else engine.STUDIES
    engine.submit(f"studies/{study.key}", lane=lane, owner="")


def cancel(study: Study) -> None:
    """Ask the process to stop; it looks between two measures."""
    if study.folder.is_dir():
        (study.folder / "cancel").touch()
        engine.cancel([study.key])


def work(key: str) -> bool:
    """Carry out the study of that key in this process; whether it is done at the end."""
    folder = cache_folder("studies") / key
    study = Study.from_json((folder / "study.json").read_text(encoding="utf-8"))
    if study.key != key:
        raise ValueError("this study was asked for by another version of fairdash")
    try:
        with _lock(study, seconds=SECONDS_FOR_THE_LOCK):
            if not (folder / "study.json").is_file():
                # Deleted while this process was starting; taking the lock has made an empty folder.
                shutil.rmtree(folder, ignore_errors=True)
                return False
            sign(folder)
            return _work(study)
    except Timeout:
        return False


def _work(study: Study) -> bool:
    started = time.monotonic()
    written: dict[str, int] = {}
    for progress in study.carry_out():
        if (study.folder / "cancel").exists():
            return False
        for name, table in progress.tables.items():
            # Studies add rows; a table that has not grown need not be written again.
            if written.get(name) != len(table):
                write_whole(study.folder / f"{name}.parquet", table.to_parquet(index=False))
                written[name] = len(table)
        status = StudyStatus(
            state=RUNNING,
            fraction=progress.fraction,
            doing=progress.doing,
            seconds=time.monotonic() - started,
        )
        _write_status(study, status)
    _write_status(study, StudyStatus(state=DONE, fraction=1.0, seconds=time.monotonic() - started))
    _tidy()
    return True


def fail(key: str) -> None:
    """Note that the study of that key can't be carried out."""
    folder = cache_folder("studies") / key
    write_whole(folder / "status.json", json.dumps(asdict(StudyStatus(state=FAILED))).encode())


def _write_status(study: Study, status: StudyStatus) -> None:
    content: dict[str, Any] = asdict(status)
    write_whole(study.folder / "status.json", json.dumps(content).encode())


def _lock(study: Study, *, seconds: float = 0.0) -> FileLock:
    return FileLock(study.folder / LOCK, timeout=seconds, is_singleton=False)


def _tidy() -> None:
    """Forget the oldest studies beyond the number kept."""
    folders = sorted(cache_folder("studies").iterdir(), key=lambda folder: folder.stat().st_mtime)
    for folder in folders[:-_KEPT]:
        shutil.rmtree(folder, ignore_errors=True)
