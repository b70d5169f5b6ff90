"""Export and import of a run as one zip file, which contains only the checked files of the run.

run.json       its id
spec.json      its plan, without the owner
status.json    its outcome
name.json      the name that the user has given to the run, if any
log.jsonl      the log up to the export; log.json has its length and the hash of its last line
confirmations.json  results on the rows set aside, if they were opened
result/        its results; if there is only a preview, first/ contains its results
sha256.json    the SHA-256 of each file

The same run always gives the same bytes. The files are not compressed, so the unpacked files can't be larger
than the archive. An archive is imported only if it equals, byte by byte, the archive that fairdash creates
from its files.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairdash.data.source import limit_memory_of_tables
from fairdash.errors import FairdashError, RunError, StorageError
from fairdash.runs.confirmations import CONFIRMATIONS, read_confirmations
from fairdash.runs.schema import MAX_JSON, check_run
from fairdash.runs.state import STATUS, RunStatus
from fairdash.runs.store import FIRST, NAME, RESULT, SPEC, Run, RunSpec, parse_spec
from fairdash.storage import LOCAL, make_parents, sha256, write_whole
from fairdash.storage.bundle import (
    SEAL,
    AlteredError,
    BundleError,
    changed,
    check,
    hashes_of,
    open_sealed_text,
    pack,
    sealed_text,
    sealing,
    unpack,
    whole_folder,
)
from fairdash.storage.log import LOG_FILES
from fairdash.storage.schema import read_json, require
from fairdash.utils.records import from_plain, to_plain
from fairdash.utils.text import few, megabytes

#: Version of the format of run.json, which increases when the meaning of a key changes.
FORMAT = 1
#: Maximum size of an imported archive in bytes.
LARGEST = 10**9
_ABOUT = "run.json"
_FILE = re.compile(
    rf"(run|spec|status|name|confirmations|log|sha256)\.json|log\.jsonl|({RESULT}|{FIRST})(/\w[\w.-]*)+",
    re.ASCII,
)
_ID = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, kw_only=True)
class ImportedRun:
    """Imported run.

    Parameters
    ----------
    run
        Run on this machine.
    id
        Id that the run had when it was exported.
    was_here
        True if the run already existed on this machine. Nothing was written in this case.
    """

    run: Run
    id: str
    was_here: bool = False

    def __str__(self) -> str:
        if self.was_here:
            return "This run already exists here. Nothing was changed."
        if self.run.id != self.id:
            return f"Another run has the id {self.id} here, so this one was imported as {self.run.id}."
        return "The run was imported. All its files match their hashes."


def export_run(run: Run) -> bytes:
    """Export a finished run as one file.

    Raises
    ------
    RunError
        The run is still in progress, has no results, or is damaged.
    """
    status, results_folder = run.status, run.available_result
    if not status.is_over:
        raise RunError.of("this run is still in progress", "Wait until it has finished, or stop it.")
    if results_folder is None:
        raise RunError.of("this run has no results to export", "Resume it, or start it again.")
    # If files are damaged, these two lines raise an error with their names.
    run.spec  # noqa: B018
    run.read_result()
    spec = (run.folder / SPEC).read_text(encoding="utf-8")
    files = {
        _ABOUT: json.dumps({"fairdash_run": FORMAT, "id": run.id}, indent=1).encode(),
        SPEC: _spec_of(spec, LOCAL).encode(),
        STATUS: sealed_text(to_plain(status)).encode(),
    }
    if run.name:
        files[NAME] = sealed_text({"name": run.name}).encode()
    read_confirmations(run)
    other_files = (*LOG_FILES, CONFIRMATIONS)
    files |= {name: path.read_bytes() for name in other_files if (path := run.folder / name).is_file()}
    for path in sorted((run.folder / results_folder).rglob("*")):
        if path.is_file():
            files[path.relative_to(run.folder).as_posix()] = path.read_bytes()
    return _packed(files)


def import_run(content: bytes, *, owner: str = LOCAL) -> ImportedRun:
    """Import a file that :func:`export_run` has written, if the hashes of its files are correct.

    If another run on this machine has the same id, the imported run gets an id that is derived from its
    content.

    Parameters
    ----------
    content
        Content of the file.
    owner
        Owner of the imported run.

    Raises
    ------
    RunError
        The file is no archive of a run, has been changed, is too large, or contains no finished run.
    StorageError
        The folder can't be written, or the disk is full.
    """
    files = _unpacked(content)
    results_folders = {name.partition("/")[0] for name in files if "/" in name}
    results_folder = results_folders.pop() if len(results_folders) == 1 else ""
    id, text = _checked(files, owner, results_folder)
    stored_files = {name: files[name] for name in files.keys() - {_ABOUT, SEAL}} | {SPEC: text.encode()}
    # The first candidate is the id in the archive. The others are derived from the content.
    other_ids = (sha256(f"{sha256(content)} {owner} {k}".encode())[:12] for k in itertools.count())
    for run_folder in (Run.home() / other_id for other_id in itertools.chain([id], other_ids)):
        if not run_folder.exists() and _store_folder(stored_files, run_folder, look=results_folder):
            return ImportedRun(run=Run(run_folder.name), id=id)
        if _is_same(run_folder, stored_files):
            return ImportedRun(run=Run(run_folder.name), id=id, was_here=True)
    raise AssertionError("an id is always free")


def _checked(files: Mapping[str, bytes], owner: str, look: str) -> tuple[str, str]:
    """Check all files of a run. Return its id, and its spec.json for this owner."""
    try:
        facts = read_json(files[_ABOUT], most_bytes=MAX_JSON)
        require(isinstance(facts, dict) and facts.get("fairdash_run") == FORMAT, "it has another format")
        id = facts.get("id")
        require(isinstance(id, str) and _ID.fullmatch(id), "its id is not valid")
        for name in (SPEC, STATUS):
            read_json(files[name], most_bytes=MAX_JSON)
        status = from_plain(RunStatus, open_sealed_text(files[STATUS].decode()))
        text = _spec_of(files[SPEC].decode(), owner)
        spec = parse_spec(RunSpec, text)
        if not status.is_over or not look:
            raise RunError.of(
                "there is no finished run in this file", "Export it again when the run has finished."
            )
        with limit_memory_of_tables():
            check_run(files, spec, status, look=look)
    except RunError:
        raise
    except (ValueError, KeyError, FairdashError) as error:
        raise _not_an_archive("or comes from a newer version of fairdash") from error
    return id, text


def _store_folder(files: Mapping[str, bytes], folder: Path, *, look: str) -> bool:
    """Write the folder of a run completely or not at all. Return False if another process has written it."""
    make_parents(folder)
    try:
        with whole_folder(folder) as new:
            for name, content in files.items():
                write_whole(new / name, content)
            check(new / look)
    except AlteredError as error:
        raise _not_an_archive("or a part of it is damaged") from error
    except StorageError:
        if not folder.exists():
            raise
        return False
    return True


def _is_same(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Return whether the existing run has the same plan, owner and results."""
    compared = [name for name in files if name not in (STATUS, NAME, CONFIRMATIONS, *LOG_FILES)]
    try:
        return all((folder / name).read_bytes() == files[name] for name in compared)
    except OSError:
        return False


def _spec_of(text: str, owner: str) -> str:
    """Return spec.json with this owner. The text is unchanged if the owner is the same."""
    content = open_sealed_text(text)
    return text if content.get("owner", LOCAL) == owner else sealed_text({**content, "owner": owner})


def _packed(files: Mapping[str, bytes]) -> bytes:
    """Return a zip file with these files and their hashes. The same files give the same bytes."""
    return pack({**files, SEAL: sealing(hashes_of(files))})


def _unpacked(content: bytes) -> dict[str, bytes]:
    """Return the files of an archive; raise a RunError if it was changed or has a path outside the folder."""
    if len(content) > LARGEST:
        raise RunError.of(
            f"this file has {megabytes(len(content), decimals=0)}, more than {LARGEST // 10**6:,}",
            "Run the plan on this machine instead. The same data and seed give the same result.",
        )
    try:
        files = unpack(content)
    except BundleError as error:
        raise _not_an_archive(str(error)) from error
    if not all(map(_FILE.fullmatch, files)) or not files.keys() >= {_ABOUT, SPEC, STATUS, SEAL}:
        raise _not_an_archive()
    if names := changed(hashes_of(files), files[SEAL]):
        raise _not_an_archive(f"or has changed since ({few(names)})")
    if _packed(files) != content:
        raise _not_an_archive("or was repacked")
    return files


def _not_an_archive(items: str = "") -> RunError:
    return RunError.of(
        f"this is not a run written by fairdash{items and ' '}{items}",
        "Import the unchanged file that you downloaded or that fairdash runs export has written.",
    )
