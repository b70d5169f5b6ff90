"""Deletion of users' files and runs with all derived data, on request or after a retention period.

Runs contain the target and the sensitive columns of every row, models contain the levels of text columns, and
searches and studies contain results computed from the data. All of these jobs are deleted together with the
file. If several users have stored the same file, a user deletes only their own copy and results.

<home>/uploads/<sha256>[.<owner>].deleting   exists during a deletion, so that an interrupted deletion is
                                             completed
<home>/deleted   rewritten after each deletion, and checked by processes with tables in memory

Background processes delete files after their retention period, even if nobody opens a page.
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
from fairdash.data.uploads import check_sha256, clear_cached_tables, delete_upload, owners_of
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
    """Everything that was derived from a file or a run.

    Parameters
    ----------
    jobs
        Map from kinds of jobs to the folders of jobs.
    sources
        Recipes of data sets that use the file or the run.
    tables
        Hash and owner of each table with prices that was derived for audits.
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
        """Number of the jobs on which a process is working."""
        return sum(is_at_work(folder) for folder in self.folders)


def derived_from_file(digest: str, *, owner: str = LOCAL) -> DerivedFiles:
    """Find everything that an owner has derived from a file, including damaged items that contain its hash.

    Work that other users have derived from the same file belongs to these users. Studies belong to all users
    of the file.

    Raises
    ------
    StorageError
        `digest` is not 64 hex digits.
    """
    check_sha256(digest)
    jobs: dict[type[Job[Any]], tuple[Path, ...]] = {
        kind: tuple(
            folder for folder in _jobs_naming(digest, kind) if _owner_in(folder / SPEC) in (owner, None)
        )
        for kind in (Run, ModelJob, SearchJob, AuditJob, RepairJob)
    }
    jobs[StudyJob] = () if owners_of(digest) - {owner} else tuple(_jobs_naming(digest, StudyJob))
    sources = tuple(_sources_naming(digest, owner))
    return DerivedFiles(jobs=jobs, sources=sources, tables=tuple(_tables_in(sources, digest, owner)))


def delete_file_and_derived(digest: str, *, owner: str = LOCAL) -> None:
    """Stop active jobs, and delete a file of an owner and everything derived from it.

    Raises
    ------
    StorageError
        Something can't be deleted, or a process can't be stopped. Everything else is deleted.
    """
    check_sha256(digest)
    mark = _mark(digest, owner)
    write_whole(mark, b"")
    with _deleting(mark.parent):
        # The file is deleted first, so that no process can read it any more.
        delete_upload(digest, owner=owner)
        _delete_derived(derived_from_file(digest, owner=owner))
        mark.unlink(missing_ok=True)


def derived_from_runs(*runs: Run) -> DerivedFiles:
    """Return everything that is deleted together with runs.

    These are the folders of the runs, models that were refitted from them, and tables and audits of their
    prices.
    """
    jobs: dict[type[Job[Any]], tuple[Path, ...]] = dict.fromkeys((Run, ModelJob, AuditJob, RepairJob), ())
    sources: list[Path] = []
    tables: list[tuple[str, str]] = []
    for run in runs:
        # The id in the form in which spec.json contains it. With this string, models are found even if their
        # files are damaged.
        owner, quoted_id = _owner_in(run.folder / SPEC) or LOCAL, json.dumps(run.id)
        recipes = list(_sources_naming(quoted_id, owner))
        jobs[Run] += (run.folder,)
        for kind, words in ((ModelJob, f'"run": {quoted_id}'), (AuditJob, quoted_id), (RepairJob, quoted_id)):
            jobs[kind] += tuple(_jobs_naming(words, kind))
        sources += recipes
        tables += _tables_in(recipes, run.id, owner)
    return DerivedFiles(jobs=jobs, sources=tuple(sources), tables=tuple(tables))


def deletion_in_words(made: DerivedFiles) -> str:
    """Return sentences on what is deleted together with runs."""
    n_runs, n_models = len(made.jobs[Run]), len(made.jobs[ModelJob])
    subject = "this run" if n_runs == 1 else counted(n_runs, "run")
    models = f" and {counted(n_models, 'model')} made from {'it' if n_runs == 1 else 'them'}"
    models = models if n_models else ""
    models += " and the audits of their prices" if made.jobs[AuditJob] or made.tables else ""
    stopped = f" Running work ({made.n_at_work}) is stopped first." if made.n_at_work else ""
    return (
        f"This deletes {subject}{models} from this machine.{stopped} "
        "It can't be undone. The data and your downloads are kept."
    )


def delete_run(run: Run) -> None:
    """Stop a run, remove it from the queue, and delete it and everything derived from it.

    Raises
    ------
    StorageError
        Something can't be deleted, or a process can't be stopped. The run itself is deleted only after its
        models.
    """
    with _deleting(run.folder):
        # The models are deleted first, because they are found by the id of the run.
        derived = derived_from_runs(run)
        _delete_derived(replace(derived, jobs={**derived.jobs, Run: ()}))
        _delete_derived(DerivedFiles(jobs={Run: derived.jobs[Run]}))


@contextmanager
def _deleting(folder: Path) -> Iterator[None]:
    """Convert an OSError to a StorageError, and finally notify other processes of the deletion."""
    try:
        yield
    except FairdashError:
        raise
    except OSError as error:
        raise StorageError.of(
            f"not everything can be deleted ({error.strerror})",
            f"Make {error.filename or folder} writable, then delete it again.",
        ) from error
    finally:
        write_whole(_last_mark(), secrets.token_bytes(8))


def _delete_derived(made: DerivedFiles) -> None:
    """Delete all derived data and their queue entries. Raise a StorageError if a process does not stop."""
    queue_entries = [f"{folder.name}{part}" for folder in made.folders for part in ("", f"-{FIRST}")]
    # If the disk is full, the queue can't be changed until the deletion has freed space.
    with suppress(StorageError):
        queue.cancel(queue_entries)
    problems = [problem for folder in made.folders for problem in _delete(folder)]
    for digest, owner in made.tables:
        delete_upload(digest, owner=owner)
    for source in made.sources:
        source.unlink(missing_ok=True)
    queue.delete_jobs(queue_entries)
    if problems:
        raise StorageError(*problems)


def delete_expired(*, now: datetime | None = None) -> int:
    """Delete expired files with everything derived from them, and clean up after interruptions.

    Parameters
    ----------
    now
        Current time with a time zone; by default the time of the system.

    Returns
    -------
    int
        Number of expired files.
    """
    for mark in inside(data_folder("uploads")):
        if mark.suffix == _MARK:
            digest, _, owner = mark.stem.partition(".")
            owner = owner or LOCAL
            if owner in owners_of(digest):
                # The owner has uploaded the file again in the meantime, so it must not be deleted.
                mark.unlink(missing_ok=True)
            else:
                delete_file_and_derived(digest, owner=owner)
    delete_unfinished(now=time.time() if now is None else now.timestamp())
    return uploads.delete_expired(now=now, delete=delete_file_and_derived)


def last_deletion() -> bytes:
    """Return a value that changes whenever a process deletes something in the data folder."""
    try:
        return _last_mark().read_bytes()
    except OSError:
        return b""


class _LastSeen:
    """Value of :func:`last_deletion` that this process has last seen."""

    deletion: bytes | None = None


def process_deletions() -> int:
    """Delete expired files with everything derived from them, and return the number of expired files.

    This function also removes cached tables from memory if another process has deleted something. If several
    processes call it at the same time, only one of them deletes. A failed deletion is logged, and tried again
    at the next call.
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
        log.error("expired files can't be deleted; the next attempt follows: %s", error)
    if _LastSeen.deletion not in (None, last_deletion()):
        clear_cached_tables()
    _LastSeen.deletion = last_deletion()
    return n_over


def start_deletion_thread(
    *, seconds: float = SECONDS_BETWEEN, then: Callable[[], object] = lambda: None
) -> Callable[[], None]:
    """Call :func:`process_deletions` immediately, then at regular intervals, in a thread of this process.

    Parameters
    ----------
    seconds
        Interval in seconds.
    then
        Function that is called after each call of :func:`process_deletions`.

    Returns
    -------
    callable
        Function that ends the thread.
    """
    stop_event = threading.Event()

    def work() -> None:
        while True:
            try:
                process_deletions()
                then()
            except Exception:
                # An unexpected error is logged, so that the thread does not end.
                log.exception("expired files can't be deleted")
            if stop_event.wait(seconds):
                return

    threading.Thread(target=work, daemon=True, name="fairdash terms").start()
    return stop_event.set


def _mark(digest: str, owner: str) -> Path:
    return data_folder("uploads") / f"{digest}{'' if owner == LOCAL else f'.{owner}'}{_MARK}"


def _last_mark() -> Path:
    return data_folder("deleted")


def _jobs_naming(words: str, kind: type[Job[Any]]) -> Iterator[Path]:
    return (folder for folder in inside(kind.home()) if _names(folder / SPEC, words))


def _sources_naming(words: str, owner: str) -> Iterator[Path]:
    return (folder for folder in inside(sources_folder(owner)) if _names(folder, words))


def _names(path: Path, words: str) -> bool:
    try:
        return words.encode() in path.read_bytes()
    except OSError:
        # The file does not exist, or another process has deleted it.
        return False


def _tables_in(sources: Iterable[Path], origin: str, owner: str) -> Iterator[tuple[str, str]]:
    """Yield the hash and the owner of each table that recipes derive from a run or a file."""
    for path in sources:
        try:
            recipe = json.loads(path.read_bytes())
            if origin in recipe.get("made_from", ()):
                yield check_sha256(recipe["sha256"]), owner
        except (OSError, ValueError, AttributeError, KeyError, RecursionError):
            # A damaged recipe names no table, and is deleted itself.
            continue


def _owner_in(spec: Path) -> str | None:
    """Return the owner of a job, or None if the specification can't be read."""
    try:
        return str(json.loads(spec.read_bytes()).get("owner", LOCAL))
    except (OSError, ValueError, AttributeError, RecursionError):
        return None


def _delete(folder: Path) -> Iterator[Problem]:
    """Stop the process of a job and delete its folder. Yield a problem if the process does not stop."""
    if not end_process(folder):
        yield Problem(
            what=f"a process is still running in {folder}",
            hint="End it, or restart the machine, then delete it again.",
        )
        return
    deleted_last = [folder / name for name in (SPEC, LOCK)]
    for path in inside(folder):
        # The specification is deleted last, because it must still name the job's source file after an
        # interruption.
        if path.is_dir():
            shutil.rmtree(path)
        elif path not in deleted_last:
            path.unlink(missing_ok=True)
    shutil.rmtree(folder)
