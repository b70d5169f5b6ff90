"""Files of public data sets that lie on this machine already: where to look, and whether they are right."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from fairdash.errors import DownloadError, Problem
from fairdash.storage import cache_folder, sha256


def find_folder(dataset: str, names: Iterable[str]) -> Path | None:
    """Find a folder that holds all files of a data set; None if there is none.

    Parameters
    ----------
    dataset
        Name of the data set's folder: looked for in ``$FAIRDASH_DATA``, then in the user's cache.
    names
        The files that it must hold.
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
    digest: Callable[[bytes], str] = sha256,
    hint: str = "Delete it and try again; it is then fetched from the publisher.",
) -> dict[str, bytes]:
    """Read the files of a data set and compare each with what its publisher published.

    Parameters
    ----------
    folder
        Where they lie.
    checksums
        File name to its checksum.
    digest
        How the checksums are made.
    hint
        What the user can do about a file that is another one.

    Raises
    ------
    DownloadError
        With a problem for each file that is not the published one.
    """
    contents = {name: (folder / name).read_bytes() for name in checksums}
    wrong = [name for name, content in contents.items() if digest(content) != checksums[name]]
    if wrong:
        raise DownloadError(
            *(
                Problem(what=f"{name} in {folder} is not the published file: its checksum differs", hint=hint)
                for name in wrong
            )
        )
    return contents
