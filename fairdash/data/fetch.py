"""Find a publisher's files on this machine or download them, singly or in an archive.

Their checksums are always compared with those of the published files.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath

from fairdash.errors import DownloadError, Problem
from fairdash.storage import cache_folder, sha256, write_whole

#: Called with the bytes that have arrived and the bytes expected (None where the server does not say).
DownloadProgress = Callable[[int, int | None], None]

#: All public data sets are far smaller, so a server that sends more is not the publisher.
MAX_ARCHIVE = 200 * 2**20
MAX_MEMBER = 500 * 2**20

#: Seconds without an answer, or without a further byte, after which a download is given up.
TIMEOUT = 30.0


def fetch_files(
    url: str,
    checksums: Mapping[str, str],
    folder: Path,
    *,
    offline_advice: str,
    progress: DownloadProgress | None = None,
    timeout: float = TIMEOUT,
) -> None:
    """Download a file, or several files from a zip archive.

    The files inside are verified, not the archive, because publishers repack archives without changing the
    data.

    Parameters
    ----------
    url
        Address of the file, or of the archive if there are several files.
    checksums
        File name (without its folder inside the archive) to its checksum.
    folder
        Folder for the files. Each is written completely or not at all, and only if all are correct.
    offline_advice
        Advice for users without a connection; the end of every message.
    progress
        Called as bytes arrive. An exception from it stops the download and is raised again.
    timeout
        Seconds without data after which the download fails.

    Raises
    ------
    DownloadError
        The address can't be reached, the archive is broken, or it holds other files than expected.
    StorageError
        The files can't be kept.
    """
    publisher = url.split("/")[2]
    arrived = _downloaded(url, publisher, offline_advice, progress, timeout)
    if len(checksums) > 1:
        contents = _unpacked(arrived, checksums, publisher, offline_advice)
    else:
        contents = dict.fromkeys(checksums, arrived)
    problems = [
        Problem(what=f"{name} from {publisher} {what}", hint=offline_advice)
        for name, checksum in checksums.items()
        if (what := _fault(contents.get(name), checksum))
    ]
    if problems:
        raise DownloadError(*problems)
    for name, content in contents.items():
        write_whole(folder / name, content)


def _fault(content: bytes | None, checksum: str) -> str:
    """Problem of a downloaded file, if any."""
    if content is None:
        return "is not in the archive"
    return "" if is_published(content, checksum) else "has changed: its checksum is not the expected one"


def is_published(content: bytes, checksum: str) -> bool:
    """Return whether a file is the published one, by its SHA-256 or, with 40 digits, its git hash."""
    return checksum == (git_blob_id(content) if len(checksum) == 40 else sha256(content))


def git_blob_id(content: bytes) -> str:
    """Return the id that git gives a file's content: SHA-1 over its length and its bytes, in hex.

    >>> git_blob_id(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def find_folder(dataset: str, names: Iterable[str]) -> Path | None:
    """Find a folder that contains all files of a data set; None if there is none.

    Parameters
    ----------
    dataset
        Name of the data set's folder: looked for in ``$FAIRDASH_DATA``, then in the user's cache.
    names
        The files that it must contain.
    """
    names = tuple(names)
    places = [cache_folder(dataset)]
    shared = os.environ.get("FAIRDASH_DATA")
    if shared:
        places.insert(0, Path(shared) / dataset)
    for place in places:
        if all((place / name).is_file() for name in names):
            return place
    return None


def read_verified(
    folder: Path,
    checksums: Mapping[str, str],
    *,
    hint: str = "Delete it and try again; it is then fetched from the publisher.",
) -> dict[str, bytes]:
    """Read the files of a data set and compare each with the published version.

    Parameters
    ----------
    folder
        Folder of the files.
    checksums
        File name to its checksum, see :func:`is_published`.
    hint
        Advice if a file differs from the published one.

    Raises
    ------
    DownloadError
        Has one problem for each file that is not the published one.
    """
    contents = {name: (folder / name).read_bytes() for name in checksums}
    problems = [
        Problem(what=f"{name} in {folder} is not the published file: its checksum differs", hint=hint)
        for name, content in contents.items()
        if not is_published(content, checksums[name])
    ]
    if problems:
        raise DownloadError(*problems)
    return contents


def _downloaded(
    url: str, publisher: str, advice: str, progress: DownloadProgress | None, timeout: float
) -> bytes:
    """Content of an address."""
    import requests

    content = bytearray()
    try:
        with requests.get(url, stream=True, timeout=timeout) as response:
            response.raise_for_status()
            total = int(response.headers.get("content-length", 0))
            for chunk in response.iter_content(2**16):
                content += chunk
                if len(content) > MAX_ARCHIVE:
                    raise DownloadError.of("the server sends far more data than the data set has", advice)
                if progress is not None:
                    # A compressed answer may be longer than its announced length once it is unpacked.
                    progress(min(len(content), total or len(content)), total or None)
    except requests.RequestException as error:
        raise DownloadError.of(
            f"{publisher} could not be reached, or the connection broke off ({type(error).__name__})", advice
        ) from error
    return bytes(content)


def _unpacked(archive: bytes, names: Iterable[str], publisher: str, advice: str) -> dict[str, bytes]:
    """Return the first file of each of these names, unless it is far too large."""
    contents: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            for info in opened.infolist():
                name = PurePosixPath(info.filename).name
                if name in names and name not in contents and info.file_size <= MAX_MEMBER:
                    contents[name] = opened.read(info)
    # Errors that zipfile raises on damaged, encrypted or unusual archives.
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise DownloadError.of(
            f"the download from {publisher} is not a complete zip archive", advice
        ) from error
    return contents
