"""Export and import a run as one file: a zip that contains its checked files and nothing else.

run.json       its id
spec.json      its plan, without the owner
status.json    its outcome
name.json      the user's name for it, if any
log.jsonl      the log until then; log.json seals its end
confirmations.json  results on the rows set aside, if they were opened
result/        its results; first/ if there is only the preview
sha256.json    the SHA-256 of each of these

The same run always gives the same bytes. Files are stored uncompressed, so an archive can't unpack to more
than its size. An import is refused unless the archive equals, byte by byte, the archive made from its files.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairdash.data.source import bounded
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

#: Counted up when the keys of run.json change their meaning.
FORMAT = 1
#: Largest size of an imported archive, in bytes.
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
        The local run.
    id
        Id of the run where it was exported.
    was_here
        Whether it already existed here, so that nothing was written.
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
    status, look = run.status, run.available_result
    if not status.is_over:
        raise RunError.of("this run is still in progress", "Wait until it has finished, or stop it.")
    if look is None:
        raise RunError.of("this run has no results to export", "Resume it, or start it again.")
    # Damaged files are named, and not exported.
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
    beside = (*LOG_FILES, CONFIRMATIONS)
    files |= {name: path.read_bytes() for name in beside if (path := run.folder / name).is_file()}
    for path in sorted((run.folder / look).rglob("*")):
        if path.is_file():
            files[path.relative_to(run.folder).as_posix()] = path.read_bytes()
    return _packed(files)


def import_run(content: bytes, *, owner: str = LOCAL) -> ImportedRun:
    """Import a file written by :func:`export_run`, after checking its files against their hashes.

    If another run here already has its id, it gets an id derived from its content.

    Parameters
    ----------
    content
        The whole file.
    owner
        New owner.

    Raises
    ------
    RunError
        The file is not such an archive, was changed, is too large, or contains no finished run.
    StorageError
        The folder can't be written, or the disk is full.
    """
    files = _unpacked(content)
    looks = {name.partition("/")[0] for name in files if "/" in name}
    look = looks.pop() if len(looks) == 1 else ""
    id, text = _checked(files, owner, look)
    kept = {name: files[name] for name in files.keys() - {_ABOUT, SEAL}} | {SPEC: text.encode()}
    # Its own id first, if nobody has that here.
    others = (sha256(f"{sha256(content)} {owner} {again}".encode())[:12] for again in itertools.count())
    for place in (Run.home() / each for each in itertools.chain([id], others)):
        if not place.exists() and _keep(kept, place, look=look):
            return ImportedRun(run=Run(place.name), id=id)
        if _is_same(place, kept):
            return ImportedRun(run=Run(place.name), id=id, was_here=True)
    raise AssertionError("there is always another place")


def _checked(files: Mapping[str, bytes], owner: str, look: str) -> tuple[str, str]:
    """A run's id and its spec.json for this owner, if all its files belong to a run; nothing is stored
    before.
    """
    try:
        about = read_json(files[_ABOUT], most_bytes=MAX_JSON)
        require(isinstance(about, dict) and about.get("fairdash_run") == FORMAT, "it has another format")
        id = about.get("id")
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
        with bounded():
            check_run(files, spec, status, look=look)
    except RunError:
        raise
    except (ValueError, KeyError, FairdashError) as error:
        raise _not_one("or comes from a newer version of fairdash") from error
    return id, text


def _keep(files: Mapping[str, bytes], place: Path, *, look: str) -> bool:
    """Write a run's folder completely or not at all; False if another process wrote it first."""
    make_parents(place)
    try:
        with whole_folder(place) as new:
            for name, content in files.items():
                write_whole(new / name, content)
            check(new / look)
    except AlteredError as error:
        raise _not_one("or a part of it is damaged") from error
    except StorageError:
        if not place.exists():
            raise
        return False
    return True


def _is_same(place: Path, files: Mapping[str, bytes]) -> bool:
    """Return whether the existing run has the same plan, owner and results."""
    found = [name for name in files if name not in (STATUS, NAME, CONFIRMATIONS, *LOG_FILES)]
    try:
        return all((place / name).read_bytes() == files[name] for name in found)
    except OSError:
        return False


def _spec_of(text: str, owner: str) -> str:
    """Return a run's spec.json for this owner, unchanged if it already belonged to them."""
    content = open_sealed_text(text)
    return text if content.get("owner", LOCAL) == owner else sealed_text({**content, "owner": owner})


def _packed(files: Mapping[str, bytes]) -> bytes:
    """Return the zip of these files and their hashes; the same for the same files."""
    return pack({**files, SEAL: sealing(hashes_of(files))})


def _unpacked(content: bytes) -> dict[str, bytes]:
    """The files in it, if they are unchanged byte by byte; no path leads out of the run's folder."""
    if len(content) > LARGEST:
        raise RunError.of(
            f"this file has {megabytes(len(content), decimals=0)}, more than {LARGEST // 10**6:,}",
            "Run the plan here instead: with the same data and seed it gives the same result.",
        )
    try:
        files = unpack(content)
    except BundleError as error:
        raise _not_one(str(error)) from error
    if not all(map(_FILE.fullmatch, files)) or not files.keys() >= {_ABOUT, SPEC, STATUS, SEAL}:
        raise _not_one()
    if names := changed(hashes_of(files), files[SEAL]):
        raise _not_one(f"or has changed since ({few(names)})")
    if _packed(files) != content:
        raise _not_one("or was repacked")
    return files


def _not_one(more: str = "") -> RunError:
    return RunError.of(
        f"this is not a run written by fairdash{more and ' '}{more}",
        "Import the file exactly as downloaded or as written by fairdash runs export.",
    )
