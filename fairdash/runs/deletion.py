"""Delete a user's files and runs and everything derived from them, on request or when a term expires.

Runs contain the target and the sensitive columns of every row, models contain the levels of text columns, and
searches and studies contain figures. Deleting a file therefore deletes them as well. If several users have
the same file, each deletes only their own copy and results.

<home>/uploads/<sha256>[.<owner>].deleting   exists during a deletion, so that an interrupted deletion is
                                             completed
<home>/deleted   rewritten after each deletion, and checked by processes with tables in memory

Long-running processes enforce the terms even if nobody visits.
"""

from __future__ import annotations

import json
import logging
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fairdash.data import uploads
from fairdash.data.source import sources_folder
from fairdash.data.uploads import check_sha256, delete_upload, forget_tables, holders_of
from fairdash.errors import FairdashError, Problem, StorageError
from fairdash.jobs import queue
from fairdash.jobs.cancellation import LOCK, end_process, is_at_work
from fairdash.runs.audits import AuditJob
from fairdash.runs.models import ModelJob
from fairdash.runs.repairs import RepairJob
from fairdash.runs.searches import SearchJob
from fairdash.runs.store import FIRST, SPEC, Job, Run
from fairdash.runs.studies import StudyJob
from fairdash.storage import LOCAL, data_folder, delete_unfinished, inside, make_parents, write_whole
from fairdash.utils.text import counted

_MARK = ".deleting"
SECONDS_BETWEEN = 60.0

log = logging.getLogger("fairdash.terms")


@dataclass(frozen=True, kw_only=True)
class DerivedFiles:
    """Everything derived from a file.

    Parameters
    ----------
    jobs
        Folders of each kind of job.
    sources
        Recipes for reading it, with the roles of its columns.
    tables
        Hashes of the tables made from it for audits, each with its owner.
    """

    jobs: Mapping[type[Job[Any]], tuple[Path, ...]]
    sources: tuple[Path, ...] = ()
    tables: tuple[tuple[str, str], ...] = ()

    @property
    def folders(self) -> tuple[Path, ...]:
        """All folders."""
        return tuple(chain.from_iterable(self.jobs.values()))

    @property
    def n_at_work(self) -> int:
        """Number of active processes in them."""
        return sum(is_at_work(folder) for folder in self.folders)


def made_from(digest: str, *, owner: str = LOCAL) -> DerivedFiles:
    """Find everything an owner derived from the file with this hash, including damaged items that name it.

    Work that other users derived from the same file belongs to them, and studies belong to all users of the
    file.

    Raises
    ------
    StorageError
        `digest` is not 64 hex digits.
    """
    check_sha256(digest)
    jobs: dict[type[Job[Any]], tuple[Path, ...]] = {
        kind: tuple(each for each in _naming(digest, kind) if _owner_in(each / SPEC) in (owner, None))
        for kind in (Run, ModelJob, SearchJob, AuditJob, RepairJob)
    }
    jobs[StudyJob] = () if holders_of(digest) - {owner} else tuple(_naming(digest, StudyJob))
    sources = tuple(_sources_naming(digest, owner))
    return DerivedFiles(jobs=jobs, sources=sources, tables=tuple(_tables_in(sources, digest, owner)))


def delete_made_from(digest: str, *, owner: str = LOCAL) -> None:
    """Delete an owner's file and everything derived from it, after stopping active jobs.

    Raises
    ------
    StorageError
        Something can't be deleted, or a process can't be stopped; everything else is still deleted.
    """
    check_sha256(digest)
    mark = _mark(digest, owner)
    write_whole(mark, b"")
    with _deleting(mark.parent):
        # First: from here on no process can read it again.
        delete_upload(digest, owner=owner)
        _delete_made(made_from(digest, owner=owner))
        mark.unlink(missing_ok=True)


def made_in(*runs: Run) -> DerivedFiles:
    """Everything deleted with runs: their folders, models refitted from them, tables and audits of their
    prices."""
    jobs: dict[type[Job[Any]], tuple[Path, ...]] = dict.fromkeys((Run, ModelJob, AuditJob, RepairJob), ())
    sources: list[Path] = []
    tables: list[tuple[str, str]] = []
    for run in runs:
        # As spec.json writes it: a model whose file is damaged is found too.
        owner, word = _owner_in(run.folder / SPEC) or LOCAL, json.dumps(run.id)
        own = list(_sources_naming(word, owner))
        jobs[Run] += (run.folder,)
        for kind, words in ((ModelJob, f'"run": {word}'), (AuditJob, word), (RepairJob, word)):
            jobs[kind] += tuple(_naming(words, kind))
        sources += own
        tables += _tables_in(own, run.id, owner)
    return DerivedFiles(jobs=jobs, sources=tuple(sources), tables=tuple(tables))


def what_goes(made: DerivedFiles) -> str:
    """Return a sentence about what is deleted with runs."""
    n_runs, n_models = len(made.jobs[Run]), len(made.jobs[ModelJob])
    what = "this run" if n_runs == 1 else counted(n_runs, "run")
    models = f" and {counted(n_models, 'model')} made from {'it' if n_runs == 1 else 'them'}"
    models = models if n_models else ""
    models += " and the audits of their prices" if made.jobs[AuditJob] or made.tables else ""
    stopped = f" Running work ({made.n_at_work}) is stopped first." if made.n_at_work else ""
    return (
        f"This deletes {what}{models} from this machine.{stopped} "
        "It can't be undone. The data and your downloads are kept."
    )


def delete_run(run: Run) -> None:
    """Delete a run and the models derived from it, after stopping and dequeuing it.

    Raises
    ------
    StorageError
        Something can't be deleted, or a process can't be stopped. The run exists until its models are
        deleted.
    """
    with _deleting(run.folder):
        # The models first: the run's id leads to them.
        made = made_in(run)
        _delete_made(replace(made, jobs={**made.jobs, Run: ()}))
        _delete_made(DerivedFiles(jobs={Run: made.jobs[Run]}))


@contextmanager
def _deleting(place: Path) -> Iterator[None]:
    """Report what can't be deleted, and notify other processes at the end in any case."""
    try:
        yield
    except FairdashError:
        raise
    except OSError as error:
        raise StorageError.of(
            f"not everything can be deleted ({error.strerror})",
            f"Make {error.filename or place} writable, then delete it once more.",
        ) from error
    finally:
        write_whole(_last(), secrets.token_bytes(8))


def _delete_made(made: DerivedFiles) -> None:
    """Delete everything, including queue entries; StorageError at the end for work that does not stop."""
    in_line = [f"{folder.name}{part}" for folder in made.folders for part in ("", f"-{FIRST}")]
    # Where the disk is full the line can't be written before there is room again, which this makes.
    with suppress(StorageError):
        queue.cancel(in_line)
    problems = [problem for folder in made.folders for problem in _delete(folder)]
    for digest, owner in made.tables:
        delete_upload(digest, owner=owner)
    for source in made.sources:
        source.unlink(missing_ok=True)
    queue.forget(in_line)
    if problems:
        raise StorageError(*problems)


def delete_expired(*, now: datetime | None = None) -> int:
    """Delete expired files with everything derived from them, and finish interrupted deletions and uploads.

    Parameters
    ----------
    now
        The current time, with its zone; by default that of the system.

    Returns
    -------
    int
        Number of expired files.
    """
    for mark in inside(data_folder("uploads")):
        if mark.suffix == _MARK:
            digest, _, owner = mark.stem.partition(".")
            owner = owner or LOCAL
            if owner in holders_of(digest):
                # Uploaded again since: it and what was made from it are wanted.
                mark.unlink(missing_ok=True)
            else:
                delete_made_from(digest, owner=owner)
    delete_unfinished(now=time.time() if now is None else now.timestamp())
    return uploads.delete_expired(now=now, delete=delete_made_from)


def last_deletion() -> bytes:
    """Return a value that changes with each deletion in this home, by any process."""
    try:
        return _last().read_bytes()
    except OSError:
        return b""


class _Seen:
    """The last deletion that this process has noticed."""

    deletion: bytes | None = None


def enforce() -> int:
    """Delete expired files with everything derived from them, and return their number.

    It also removes data deleted by other processes from this process's memory. If several processes call it
    at once, only one does the work. Failed deletions are logged and tried again at the next call.
    """
    n_over = 0
    try:
        lock = data_folder("terms.lock")
        make_parents(lock)
        with FileLock(lock, timeout=0, is_singleton=False):
            n_over = delete_expired()
    except Timeout:
        pass
    except (StorageError, OSError) as error:
        log.error("terms could not be enforced, and will be tried again: %s", error)
    if _Seen.deletion not in (None, last_deletion()):
        forget_tables()
    _Seen.deletion = last_deletion()
    return n_over


def keep_enforcing(
    *, seconds: float = SECONDS_BETWEEN, then: Callable[[], object] = lambda: None
) -> Callable[[], None]:
    """Enforce the terms now and at intervals, in a thread of this process.

    Parameters
    ----------
    seconds
        Interval.
    then
        Action after each time.

    Returns
    -------
    callable
        Ends it.
    """
    ended = threading.Event()

    def work() -> None:
        while True:
            try:
                enforce()
                then()
            except Exception:
                # The boundary of the thread: terms must hold tomorrow too.
                log.exception("terms could not be enforced")
            if ended.wait(seconds):
                return

    threading.Thread(target=work, daemon=True, name="fairdash terms").start()
    return ended.set


def _mark(digest: str, owner: str) -> Path:
    return data_folder("uploads") / f"{digest}{'' if owner == LOCAL else f'.{owner}'}{_MARK}"


def _last() -> Path:
    return data_folder("deleted")


def _naming(words: str, kind: type[Job[Any]]) -> Iterator[Path]:
    return (each for each in inside(kind.home()) if _names(each / SPEC, words))


def _sources_naming(words: str, owner: str) -> Iterator[Path]:
    return (each for each in inside(sources_folder(owner)) if _names(each, words))


def _names(path: Path, words: str) -> bool:
    try:
        return words.encode() in path.read_bytes()
    except OSError:
        # None, or deleted by another process meanwhile.
        return False


def _tables_in(sources: Iterable[Path], origin: str, owner: str) -> Iterator[tuple[str, str]]:
    """Tables made from a run or a file, as named by their recipes."""
    for path in sources:
        try:
            recipe = json.loads(path.read_bytes())
            if origin in recipe.get("made_from", ()):
                yield check_sha256(recipe["sha256"]), owner
        except (OSError, ValueError, AttributeError, KeyError, RecursionError):
            # Damaged: it leads to no table, and is deleted itself.
            continue


def _owner_in(spec: Path) -> str | None:
    """Owner of the job; None if unreadable."""
    try:
        return str(json.loads(spec.read_bytes()).get("owner", LOCAL))
    except (OSError, ValueError, AttributeError, RecursionError):
        return None


def _delete(folder: Path) -> Iterator[Problem]:
    """Delete a folder of work; a problem if its process does not stop."""
    if not end_process(folder):
        yield Problem(
            what=f"a process is still running in {folder}",
            hint="End it, or restart the machine, then delete it once more.",
        )
        return
    last = [folder / name for name in (SPEC, LOCK)]
    for path in inside(folder):
        # If this is cut off, the folder must still tell from which file it was made.
        if path.is_dir():
            shutil.rmtree(path)
        elif path not in last:
            path.unlink(missing_ok=True)
    shutil.rmtree(folder)
