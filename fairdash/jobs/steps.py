"""Steps of a long job, with results that can be stored, reloaded and computed by other processes.

A job is one program that asks its :class:`StepRunner` for the result of each step. :func:`run_directly`
computes every result. :class:`Checkpoints` compute only results that are not stored yet, so a killed job
resumes after its last finished step. :class:`Replay` lets other processes compute missing results
(:mod:`fairdash.jobs.parallel`). It raises :class:`MissingSteps` with the names of all steps that can be
computed now.

<job>/units/<sha256>    result of a step, stored by content, synced, and checked on reading
<job>/units/index.json  name of each finished step, with the hash of its result and its share of the work

>>> from_files(to_files({"rows": np.arange(3), "rule": "the smallest"}))
{'rule': 'the smallest', 'rows': array([0, 1, 2])}
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from fairdash.storage import sha256, write_whole
from fairdash.storage.bundle import AlteredError, pack, sync, unpack

#: Result of a step, which maps names to data frames, arrays and JSON values. The step chooses the names.
Found: TypeAlias = "Mapping[str, Any]"

_FRAME, _ARRAYS, _PLAIN = ".parquet", "arrays.safetensors", "plain.json"
INDEX = "index.json"

#: Number of array elements that are compared at once.
_BLOCK = 2**20

log = logging.getLogger("fairdash.cli.worker")

T = TypeVar("T")


class StepRunner(Protocol):
    """Interface of a function that returns the result of the step `name`, and calls `compute` if needed.

    The names of a job's steps depend only on its plan and its data. A job requests a step once, after all
    steps whose results this step needs. Exceptions of `compute` are not handled.
    """

    def __call__(self, name: str, compute: Callable[[], Found], /) -> Found:
        """Return the result of the step."""
        ...


def run_directly(name: str, compute: Callable[[], Found], /) -> Found:  # noqa: ARG001 (it stores nothing, so it needs no name)
    """Compute the step, and store nothing."""
    return compute()


@dataclass(frozen=True)
class _PartRunner:
    run_step: StepRunner
    part: str

    def __call__(self, name: str, compute: Callable[[], Found], /) -> Found:
        return self.run_step(f"{self.part}/{name}", compute)


def within(run_step: StepRunner, part: str) -> StepRunner:
    """Return a step runner for a part of a job, whose steps are stored as ``"<part>/<name>"``."""
    return _PartRunner(run_step, part)


def _root_of(run_step: StepRunner) -> tuple[StepRunner, str]:
    """Return the step runner of the whole job, and the prefix of the names of this part's steps."""
    prefix = ""
    while isinstance(run_step, _PartRunner):
        prefix = f"{run_step.part}/{prefix}"
        run_step = run_step.run_step
    return run_step, prefix


class MissingSteps(BaseException):
    """Signal that a job needs the results of some steps, all of which can be computed now. This is not an
    error and must not be caught as an error.
    """

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.names = names


class StepDone(BaseException):
    """Signal that the only step that this process had to compute is done, with the hash of its result."""

    def __init__(self, digest: str) -> None:
        super().__init__(digest)
        self.digest = digest


class Branch(Generic[T]):
    """Part of a job that is independent of other branches. It is evaluated once, when its result is read.

    Parameters
    ----------
    run_step
        Step runner of the job.
    task
        Function that computes the result, which must not be changed afterwards.
    parts
        First parts of the names of the branch's steps.
    is_kept
        True if the result stays in memory when the job's program is run again.
    """

    def __init__(
        self, run_step: StepRunner, task: Callable[[], T], *parts: str, is_kept: bool = True
    ) -> None:
        self._task, self._is_kept = task, is_kept
        run_step, prefix = _root_of(run_step)
        self._replay = run_step if isinstance(run_step, Replay) else None
        self._parts = tuple(f"{prefix}{part}" for part in parts)
        self._results: list[T] = []
        self._missing: MissingSteps | None = None

    def result(self) -> T:
        """Return the branch's result, or raise MissingSteps if some of its steps must be computed first."""
        if self._missing is not None:
            raise self._missing
        if not self._results:
            if self._replay is not None:
                self._replay.raise_if_still_missing(self._parts)
            try:
                if self._replay is None or not self._is_kept:
                    self._results.append(self._task())
                else:
                    self._results.append(self._replay.kept(self._parts, self._task))
            except MissingSteps as missing:
                self._missing = missing
                if self._replay is not None:
                    self._replay.missing[self._parts] = missing.names
                raise
        return self._results[0]

    @property
    def holds_target(self) -> bool:
        """Return whether the branch contains the step that this process must compute."""
        target = "" if self._replay is None else self._replay.target
        return bool(target) and any(f"{target}/".startswith(f"{part}/") for part in self._parts)


def gather(*branches: Branch[Any]) -> list[Any]:
    """Evaluate branches in this order and return their results, or raise MissingSteps for all of them."""
    results, missing = [], dict[str, None]()
    for branch in [candidate for candidate in branches if candidate.holds_target] or branches:
        try:
            results.append(branch.result())
        except MissingSteps as error:
            missing |= dict.fromkeys(error.names)
    if missing:
        raise MissingSteps(*missing)
    return results


def memoised(run_step: StepRunner, name: str, make: Callable[[], T]) -> T:
    """Return the object cached under this name for this part of the job, or create it.

    For each name, only the object of the most recent part stays in memory for later runs of the program.
    """
    run_step, prefix = _root_of(run_step)
    if not isinstance(run_step, Replay):
        return make()
    if name not in run_step.made or run_step.made[name][0] != prefix:
        run_step.made[name] = prefix, make()
    result: T = run_step.made[name][1]
    return result


def independent(run_step: StepRunner, tasks: Mapping[str, Callable[[], T]]) -> list[T]:
    """Return the results of independent tasks, given a map from prefixes of step names to `tasks`."""
    return gather(*(Branch(run_step, task, name, is_kept=False) for name, task in tasks.items()))


class Checkpoints:
    """Store of step results, which computes a step whose result is missing.

    Parameters
    ----------
    folder
        Folder of the results.
    check
        Called before each step. An exception from it stops the job.
    """

    def __init__(self, folder: Path, *, check: Callable[[], object] = lambda: None) -> None:
        self.folder = folder
        self.check = check
        self.read_index()

    def read_index(self) -> None:
        """Read the index of finished steps. A damaged index is treated as empty."""
        #: Name of each finished step, with the hash of its result and its share of the work.
        self.index: dict[str, tuple[str, float]] = {}
        try:
            stored = json.loads((self.folder / INDEX).read_bytes())
            self.index = {str(name): (str(digest), float(share)) for name, (digest, share) in stored.items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, AttributeError) as error:
            log.warning("%s can't be read (%s), so its steps are computed again", self.folder, error)

    def record(self, name: str, digest: str, share: float = 0.0) -> None:
        """Record the result of a step, or raise StorageError if the disk is full."""
        self.index[name] = digest, share
        write_whole(self.folder / INDEX, json.dumps(self.index).encode())

    def __call__(self, name: str, compute: Callable[[], Found], /) -> Found:
        """Return the stored result of a step, or compute the result now."""
        self.check()
        files = self.files_of(name)
        if files is None:
            files = to_files(compute())
            self.record(name, save(self.folder, files))
        return from_files(files)

    def files_of(self, name: str) -> dict[str, bytes] | None:
        """Return the stored result of a step, or None if the result is missing or was altered."""
        if name not in self.index:
            return None
        try:
            return load(self.folder, self.index[name][0])
        except AlteredError as error:
            log.warning("%s/%s is missing or was altered, so it is computed again", self.folder, error)
            del self.index[name]
            return None


class Replay(Checkpoints):
    """Store of step results that computes at most one step, its target.

    The program of a job is run again whenever a result is added. Therefore, results of steps stay in memory
    until their branch is finished, and results of branches stay in memory afterwards.

    Parameters
    ----------
    folder
        Folder of the results.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        #: Name of the step to compute, or "" for none.
        self.target = ""
        self.is_computing = False
        #: Map of names to a part of the job and the object of :func:`memoised` for this part.
        self.made: dict[str, tuple[str, Any]] = {}
        #: Map of the first parts of a branch's steps to the missing steps for which the branch waits.
        self.missing: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._loaded: dict[str, Found] = {}
        self._branches: dict[tuple[str, ...], Any] = {}

    def __call__(self, name: str, compute: Callable[[], Found], /) -> Found:
        """Return a finished step's result. Otherwise raise StepDone for the target, or MissingSteps."""
        if name not in self._loaded:
            files = self.files_of(name)
            if files is None and name != self.target:
                raise MissingSteps(name)
            if files is None:
                self.is_computing = True
                raise StepDone(save(self.folder, to_files(compute())))
            self._loaded[name] = from_files(files)
        return self._loaded[name]

    def raise_if_still_missing(self, parts: tuple[str, ...]) -> None:
        """Raise MissingSteps if none of the steps for which a branch waits is finished or is the target."""
        names = self.missing.get(parts, ())
        if names and not any(name in self.index or name == self.target for name in names):
            raise MissingSteps(*names)

    def kept(self, parts: tuple[str, ...], task: Callable[[], T]) -> T:
        """Return a branch's result, which is computed once. Then release the memory of the steps' results."""
        if parts not in self._branches:
            new_result = task()
            prefixes = tuple(f"{part}/" for part in parts)
            self._loaded = {
                name: each for name, each in self._loaded.items() if not f"{name}/".startswith(prefixes)
            }
            self._branches = {
                names: each
                for names, each in self._branches.items()
                if not f"{names[0]}/".startswith(prefixes)
            }
            self._branches[parts] = new_result
        result: T = self._branches[parts]
        return result


def save(folder: Path, files: Mapping[str, bytes]) -> str:
    """Store files as one file, and return its hash for :func:`load`.

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


def load(folder: Path, digest: str) -> dict[str, bytes]:
    """Return the files that were stored under a hash.

    Raises
    ------
    AlteredError
        The files are missing or were changed.
    """
    try:
        content = (folder / digest).read_bytes()
    except (OSError, ValueError) as error:
        raise AlteredError(digest) from error
    if sha256(content) != digest:
        raise AlteredError(digest)
    return unpack(content)


def to_files(values: Found) -> dict[str, bytes]:
    """Convert frames to Parquet, arrays to safetensors, and the rest of a result to JSON.

    Raises
    ------
    ValueError
        A value would not be restored exactly, but :func:`from_files` must return the same values.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save

    frames = {name: value for name, value in values.items() if isinstance(value, pd.DataFrame)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in values.items() if name not in frames and name not in arrays}
    try:
        files = {f"{name}{_FRAME}": frame.to_parquet() for name, frame in frames.items()}
        files[_PLAIN] = json.dumps(plain).encode()
        if arrays:
            files[_ARRAYS] = save({name: np.asarray(array, order="C") for name, array in arrays.items()})
        restored = from_files(files)
        for name, frame in frames.items():
            pd.testing.assert_frame_equal(restored[name], frame, check_exact=True, check_freq=False)
        is_restored = all(_is_same(restored[name], array) for name, array in arrays.items())
    except (AssertionError, TypeError, ValueError, KeyError, NotImplementedError, SafetensorError) as error:
        raise ValueError("the result of a step can't be stored") from error
    if not is_restored or list(map(str, plain)) != list(plain):
        raise ValueError("the result of a step can't be stored")
    return files


def from_files(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Read a result written by :func:`to_files`. Tuples become lists."""
    from safetensors.numpy import load

    values: dict[str, Any] = json.loads(files[_PLAIN])
    for name, content in files.items():
        if name.endswith(_FRAME):
            values[name.removesuffix(_FRAME)] = pd.read_parquet(io.BytesIO(content))
    if _ARRAYS in files:
        values |= load(files[_ARRAYS])
    return values


def _is_same(a: Any, b: Any) -> bool:
    """Return whether two arrays have the same bits. Blocks are compared to save memory."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    first, other = a.reshape(-1), b.reshape(-1)
    blocks = (slice(k, k + _BLOCK) for k in range(0, a.size, _BLOCK))
    return all(first[block].tobytes() == other[block].tobytes() for block in blocks)
