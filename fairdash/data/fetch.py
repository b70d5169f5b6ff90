"""Search for published files on this machine, and download of a file or an archive from the publisher.

The checksum of each file is compared with the checksum of the published file.
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

#: Function that receives the number of bytes downloaded so far, and the expected number of bytes (None if
#: unknown).
DownloadProgress = Callable[[int, int | None], None]

#: Maximum size of a download in bytes. The public data sets of the catalogue are far smaller.
MAX_ARCHIVE = 200 * 2**20
MAX_MEMBER = 500 * 2**20

#: Time in seconds after which a download fails if the server sends nothing.
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

    For an archive, each checksum is that of a file in the archive. The checksum of the archive itself changes
    if the publisher packs the same files again.

    Parameters
    ----------
    url
        Address of the file, or of the archive if there are several files.
    checksums
        Map from file names, without the folder in the archive, to checksums.
    folder
        Target folder. Files are written only if all checksums are correct. Each file is written completely or
        not at all.
    offline_advice
        Advice for users without a network connection. Every error message ends with it.
    progress
        Function that is called during the download. If it raises an exception, the download ends with this
        exception.
    timeout
        The download fails if no data arrive for this number of seconds.

    Raises
    ------
    DownloadError
        The address can't be reached, the archive is damaged, or its files differ from the published files.
    StorageError
        The files can't be stored.
    """
    publisher = url.split("/")[2]
    download = _downloaded(url, publisher, offline_advice, progress, timeout)
    if len(checksums) > 1:
        contents = _unpacked(download, checksums, publisher, offline_advice)
    else:
        contents = dict.fromkeys(checksums, download)
    problems = [
        Problem(what=f"{name} from {publisher} {problem}", hint=offline_advice)
        for name, checksum in checksums.items()
        if (problem := _problem_of(contents.get(name), checksum))
    ]
    if problems:
        raise DownloadError(*problems)
    for name, content in contents.items():
        write_whole(folder / name, content)


def _problem_of(content: bytes | None, checksum: str) -> str:
    """Describe the problem of a downloaded file. Return "" if it is the published file."""
    if content is None:
        return "is not in the archive"
    return "" if is_published(content, checksum) else "has changed: its checksum is not the expected one"


def is_published(content: bytes, checksum: str) -> bool:
    """Return whether a file has the published checksum, which is a SHA-256 or, with 40 digits, a git hash."""
    return checksum == (git_blob_id(content) if len(checksum) == 40 else sha256(content))


def git_blob_id(content: bytes) -> str:
    """Return git's id of a file in hex digits, which is the SHA-1 of its length and its bytes.

    >>> git_blob_id(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def find_folder(dataset: str, names: Iterable[str]) -> Path | None:
    """Return a folder that contains all files of a data set, or None.

    Parameters
    ----------
    dataset
        Name of the folder of the data set. It is searched in ``$FAIRDASH_DATA`` and then in the user's cache.
    names
        Names of the required files.
    """
    names = tuple(names)
    folders = [cache_folder(dataset)]
    shared = os.environ.get("FAIRDASH_DATA")
    if shared:
        folders.insert(0, Path(shared) / dataset)
    for folder in folders:
        if all((folder / name).is_file() for name in names):
            return folder
    return None


def read_verified(
    folder: Path,
    checksums: Mapping[str, str],
    *,
    hint: str = "Delete the file and try again. fairdash then downloads it from the publisher.",
) -> dict[str, bytes]:
    """Read the files of a data set, and compare the checksum of each file with the published checksum.

    Parameters
    ----------
    folder
        Folder of the files.
    checksums
        Map of file names to checksums (see :func:`is_published`).
    hint
        Hint of the error if a file differs from the published file.

    Raises
    ------
    DownloadError
        A file differs from the published file. The error lists all differing files.
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
    """Download the content of an address."""
    import requests

    content = bytearray()
    try:
        with requests.get(url, stream=True, timeout=timeout) as response:
            response.raise_for_status()
            total = int(response.headers.get("content-length", 0))
            for chunk in response.iter_content(2**16):
                content += chunk
                if len(content) > MAX_ARCHIVE:
                    raise DownloadError.of(
                        "the server sends far more data than the data set contains", advice
                    )
                if progress is not None:
                    # The server may announce the length of the compressed content, which is smaller.
                    progress(min(len(content), total or len(content)), total or None)
    except requests.RequestException as error:
        raise DownloadError.of(
            f"{publisher} can't be reached, or the connection was lost ({type(error).__name__})", advice
        ) from error
    return bytes(content)


def _unpacked(archive: bytes, names: Iterable[str], publisher: str, advice: str) -> dict[str, bytes]:
    """Return the content of the first file of each name in an archive. Ignore files above MAX_MEMBER."""
    contents: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            for info in opened.infolist():
                name = PurePosixPath(info.filename).name
                if name in names and name not in contents and info.file_size <= MAX_MEMBER:
                    contents[name] = opened.read(info)
    # zipfile raises these errors for damaged, encrypted or unusual archives.
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise DownloadError.of(
            f"the download from {publisher} is not a complete zip archive", advice
        ) from error
    return contents
