"""Units of work: the steps of a long job, with results that can be stored and reloaded.

A job asks its :class:`Unit` for the result of each of its units. :func:`at_once` computes the result;
:class:`Checkpoints` compute only results that are not stored yet. A killed job therefore resumes after its
last finished unit.

<job>/units/<sha256>   what a unit has found, by content: synced, and checked on reading
<job>/units/names/     which unit has found what, so that two processes at one job share the units

>>> from_files(to_files({"rows": np.arange(3), "rule": "the smallest"}))
{'rule': 'the smallest', 'rows': array([0, 1, 2])}
"""

from __future__ import annotations

import io
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from fairdash.storage import make_parents, sha256, write_whole
from fairdash.storage.bundle import AlteredError, pack, sync, unpack

#: What a unit has found, under names of its own: frames, arrays, and plain values that JSON has.
Found: TypeAlias = "Mapping[str, Any]"

_FRAME, _ARRAYS, _PLAIN = ".parquet", "arrays.safetensors", "plain.json"

#: Numbers that are compared at once.
_BLOCK = 2**20
#: Interval for checking another process's step.
SECONDS_BETWEEN_LOOKS = 0.02

log = logging.getLogger("fairdash.cli.worker")


class Unit(Protocol):
    """Interface that returns the result of the unit called `name`, from `compute` if it is not known yet.

    A job asks for its units in an order and under names that follow from its plan and its data alone, and
    for none of them twice: that is how a store knows them again. What `compute` raises comes through.
    """

    def __call__(self, name: str, compute: Callable[[], Found], /) -> Found:
        """Result of the step."""
        ...


def at_once(name: str, compute: Callable[[], Found], /) -> Found:  # noqa: ARG001 (nothing is kept by it)
    """Compute every unit, and store nothing."""
    return compute()


@dataclass(frozen=True)
class _Within:
    unit: Unit
    part: str

    def __call__(self, name: str, compute: Callable[[], Found], /) -> Found:
        return self.unit(f"{self.part}/{name}", compute)

    @property
    def from_the_end(self) -> bool:
        return is_from_the_end(self.unit)


def within(unit: Unit, part: str) -> Unit:
    """Return the units of a part of a job: ``"<part>/<name>"`` in the checkpoints."""
    return _Within(unit, part)


def turns(unit: Unit, count: int) -> Sequence[int]:
    """Return the order in which to ask for `count` independent units.

    From the first to the last; the other way round by a second process that works at the same job, whose
    unit says that it comes ``from_the_end``: so the two meet once.
    """
    return range(count)[::-1] if is_from_the_end(unit) else range(count)


def is_from_the_end(unit: Unit) -> bool:
    """Return whether a second process asks, which takes the parts of a job in another order."""
    return bool(getattr(unit, "from_the_end", False))


class Checkpoints:
    """Store of unit results: each unit is computed once, by the first process that asks.

    The process that computes a unit holds its lock, which is released when the process ends.

    Parameters
    ----------
    folder
        Where the finds lie.
    check
        Called before each unit, and again and again while another process is at it; what it raises ends
        the job.
    from_the_end
        Whether this is the second of two processes (:func:`turns`).
    """

    def __init__(
        self, folder: Path, *, check: Callable[[], None] = lambda: None, from_the_end: bool = False
    ) -> None:
        self.folder = folder
        self.check = check
        self.from_the_end = from_the_end
        #: How often a unit was known, as another process, or this one before, had computed it.
        self.n_known = 0

    def __call__(self, name: str, compute: Callable[[], Found], /) -> Found:
        """Result of the step of this name, computed now or before."""
        place = self.folder / "names" / sha256(name.encode())[:16]
        make_parents(place)
        while True:
            self.check()
            try:
                with FileLock(place.with_suffix(".lock"), timeout=0, is_singleton=False):
                    known = self._known(place)
                    self.n_known += known is not None
                    return from_files(known or self._keep(place, to_files(compute())))
            except Timeout:
                time.sleep(SECONDS_BETWEEN_LOOKS)

    def _known(self, place: Path) -> dict[str, bytes] | None:
        if not place.exists():
            return None
        try:
            return kept(self.folder, place.read_text(encoding="utf-8", errors="replace"))
        except AlteredError as error:
            log.warning("%s/%s is gone or altered, and computed once more", self.folder, error)
            return None

    def _keep(self, place: Path, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
        write_whole(place, keep(self.folder, files).encode())
        return files


def keep(folder: Path, files: Mapping[str, bytes]) -> str:
    """Store files as one, and return the hash for :func:`kept`.

    Raises
    ------
    StorageError
        The folder can't be written, or the disk is full.
    """
    content = pack(files)
    digest = sha256(content)
    write_whole(folder / digest, content)
    sync(folder)
    return digest


def kept(folder: Path, digest: str) -> dict[str, bytes]:
    """Return the files with that hash.

    Raises
    ------
    AlteredError
        They are gone, or not as they were written.
    """
    try:
        content = (folder / digest).read_bytes()
    except (OSError, ValueError) as error:
        raise AlteredError(digest) from error
    if sha256(content) != digest:
        raise AlteredError(digest)
    return unpack(content)


def to_files(found: Found) -> dict[str, bytes]:
    """Convert a result to files: Parquet for a frame, safetensors for arrays, JSON for the rest.

    Raises
    ------
    ValueError
        Something would not come back as it is: :func:`from_files` has to give the very same values.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save

    frames = {name: value for name, value in found.items() if isinstance(value, pd.DataFrame)}
    arrays = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in found.items() if name not in frames and name not in arrays}
    try:
        files = {f"{name}{_FRAME}": frame.to_parquet() for name, frame in frames.items()}
        files[_PLAIN] = json.dumps(plain).encode()
        if arrays:
            files[_ARRAYS] = save({name: np.asarray(array, order="C") for name, array in arrays.items()})
        again = from_files(files)
        for name, frame in frames.items():
            pd.testing.assert_frame_equal(again[name], frame, check_exact=True, check_freq=False)
        same = all(_is_same(again[name], array) for name, array in arrays.items())
    except (AssertionError, TypeError, ValueError, KeyError, NotImplementedError, SafetensorError) as error:
        raise ValueError("what a unit has found can't be kept as it is") from error
    if not same or list(map(str, plain)) != list(plain):
        raise ValueError("what a unit has found can't be kept as it is")
    return files


def from_files(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Read a result written by :func:`to_files`. Tuples become lists."""
    from safetensors.numpy import load

    found: dict[str, Any] = json.loads(files[_PLAIN])
    for name, content in files.items():
        if name.endswith(_FRAME):
            found[name.removesuffix(_FRAME)] = pd.read_parquet(io.BytesIO(content))
    if _ARRAYS in files:
        found |= load(files[_ARRAYS])
    return found


def _is_same(a: Any, b: Any) -> bool:
    """Return whether two arrays have the same bits, block by block: they may be gigabytes."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    one, other = a.reshape(-1), b.reshape(-1)
    blocks = (slice(k, k + _BLOCK) for k in range(0, a.size, _BLOCK))
    return all(one[block].tobytes() == other[block].tobytes() for block in blocks)
