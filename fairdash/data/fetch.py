"""Fetch a publisher's file, or files out of a publisher's archive, verified."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from fairdash.errors import DownloadError, FairdashError, Problem, StorageError
from fairdash.storage import sha256, write_whole

#: Called with the bytes that have arrived and the bytes expected (None where the server does not say).
DownloadProgress = Callable[[int, int | None], None]

#: No public data set of the catalogue comes near this; a server that sends more is not the publisher.
LARGEST_ARCHIVE = 200 * 2**20
LARGEST_MEMBER = 500 * 2**20

#: Seconds without an answer, or without a further byte, after which a download is given up.
TIMEOUT = 30.0


def fetch_members(
    url: str,
    members: Mapping[str, str],
    folder: Path,
    *,
    offline_advice: str,
    progress: DownloadProgress | None = None,
    timeout: float = TIMEOUT,
) -> None:
    """Download a zip archive and keep some of its files.

    The files inside are verified, not the archive: publishers repack archives, the data stays the same.

    Parameters
    ----------
    url
        Address of the archive.
    members
        File name (without its folder inside the archive) to its SHA-256 in hex.
    folder
        Where the files are put, each written whole or not at all, and only if all are right.
    offline_advice
        What the user can do without a connection; the end of every message.
    progress
        Called as bytes arrive. What it raises ends the download and is passed on.
    timeout
        Seconds of silence after which the download is given up.

    Raises
    ------
    DownloadError
        The archive can't be reached, is broken, or holds other files than expected.
    StorageError
        The files can't be kept.
    """
    with _downloaded(url, offline_advice, progress, timeout) as archive:
        contents = _verified(archive, members, _publisher(url), offline_advice)
    for name, content in contents.items():
        write_whole(folder / name, content)


def fetch_file(
    url: str,
    name: str,
    checksum: str,
    folder: Path,
    *,
    offline_advice: str,
    progress: DownloadProgress | None = None,
    timeout: float = TIMEOUT,
) -> None:
    """Download one file.

    Parameters
    ----------
    url
        Address of the file.
    name
        The name to keep it under.
    checksum
        Its SHA-256 in hex.
    folder, offline_advice, progress, timeout
        As in :func:`fetch_members`.

    Raises
    ------
    DownloadError
        The file can't be reached, or is not the one expected.
    StorageError
        It can't be kept.
    """
    with _downloaded(url, offline_advice, progress, timeout) as arrived:
        content = arrived.read_bytes()
    if sha256(content) != checksum:
        raise DownloadError(_changed(name, _publisher(url), offline_advice))
    write_whole(folder / name, content)


def _publisher(url: str) -> str:
    return url.split("/")[2]


def _changed(name: str, publisher: str, advice: str) -> Problem:
    return Problem(
        what=f"{name} from {publisher} has changed: its checksum is not the known one", hint=advice
    )


@contextmanager
def _downloaded(url: str, advice: str, progress: DownloadProgress | None, timeout: float) -> Iterator[Path]:
    """Give what an address sends as a file that lasts as long as the block."""
    import pooch
    import requests

    with tempfile.TemporaryDirectory(prefix="fairdash-") as temporary:
        arrived = Path(temporary) / "arrived"
        downloader = pooch.HTTPDownloader(progressbar=_Meter(progress, advice), timeout=timeout)
        try:
            downloader(url, str(arrived), None)
        except requests.RequestException as error:
            raise DownloadError.of(
                f"{_publisher(url)} could not be reached or broke off ({type(error).__name__})", advice
            ) from error
        # What the meter and the callback raise is passed on; a full disk is said.
        except FairdashError:
            raise
        except OSError as error:
            raise StorageError.of(
                f"the download can't be written ({error.strerror})",
                "Free some space in the folder for temporary files (TMPDIR).",
            ) from error
        yield arrived


def _verified(archive: Path, members: Mapping[str, str], publisher: str, advice: str) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    wrong = []
    try:
        with zipfile.ZipFile(archive) as opened:
            for info in opened.infolist():
                name = PurePosixPath(info.filename).name
                if name in members and name not in contents and info.file_size <= LARGEST_MEMBER:
                    content = opened.read(info)
                    if sha256(content) == members[name]:
                        contents[name] = content
                    else:
                        wrong.append(name)
    # What zipfile raises on damaged, encrypted or oddly packed archives.
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise DownloadError.of(f"what {publisher} sent is not a whole zip archive", advice) from error
    problems = [
        _changed(name, publisher, advice)
        if name in wrong
        else Problem(what=f"{name} from {publisher} is not in the archive", hint=advice)
        for name in members
        if name not in contents
    ]
    if problems:
        raise DownloadError(*problems)
    return contents


class _Meter:
    """The progress bar that pooch's downloader expects, handing on to a callback."""

    total = 0

    def __init__(self, progress: DownloadProgress | None, advice: str) -> None:
        self._progress = progress
        self._advice = advice
        self._done = 0

    def update(self, n_bytes: int) -> None:
        self._done += n_bytes
        if self._done > LARGEST_ARCHIVE:
            raise DownloadError.of("the server sends far more than the data set holds", self._advice)
        if self._progress is not None and n_bytes:
            # pooch counts whole chunks, so the last one can go past the end.
            done = min(self._done, self.total) if self.total else self._done
            self._progress(done, self.total or None)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        pass
