"""Catalogue of data sets from ``catalogue.toml``, which fairdash simulates or downloads."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module, resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fairdash.data.dataset import Dataset
from fairdash.data.fetch import DownloadProgress, fetch_files, find_folder, is_published, read_verified
from fairdash.errors import DownloadError, OptionError, Problem
from fairdash.storage import cache_folder, write_whole
from fairdash.utils.registry import get_entry

if TYPE_CHECKING:
    import pandas as pd

OptionValue = int | str


@dataclass(frozen=True, kw_only=True)
class CatalogueOption:
    """Option of a data set in the catalogue.

    Parameters
    ----------
    name
        Keyword argument of the loader.
    label
        Label of the option, in plain words.
    default
        Default value.
    choices
        Map from the possible values to labels; None if the option is a whole number.
    minimum, maximum
        Smallest and largest allowed value of a whole number.
    """

    name: str
    label: str
    default: OptionValue
    choices: Mapping[OptionValue, str] | None = None
    minimum: int = 0
    maximum: int = 2**32 - 1

    def problem(self, value: object) -> Problem | None:
        """Explain why a value is not allowed for this option. Return None if it is allowed."""
        if self.choices is not None:
            if any(value == choice and type(value) is type(choice) for choice in self.choices):
                return None
            allowed = " or ".join(repr(choice) for choice in self.choices)
        else:
            if type(value) is int and self.minimum <= value <= self.maximum:
                return None
            allowed = f"a whole number from {self.minimum:,} to {self.maximum:,}"
        return Problem(what=f"the option {self.name} does not accept this value", hint=f"Choose {allowed}.")


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry:
    """Entry of the catalogue, with a data set and its description for users.

    Parameters
    ----------
    id
        Name of the data set for :func:`load_dataset`.
    title, description
        Display name, and a sentence about the data set.
    about
        Sentence on the rows. It becomes the description of the :class:`~fairdash.data.dataset.Dataset`.
    source, url, licence
        Publisher, address and licence of the data. The address is empty if the data are simulated.
    size
        Size of the download in words, such as "0.3 MB to download".
    n_rows
        Number of rows with the default options.
    load
        Module and name of the function that creates the data set. The keyword arguments of the function are
        the options and, if it downloads files, ``progress``.
    options
        Options of the data set.
    folder, files
        Name of the folder of the published files, and a map from file names to checksums. Both are empty if
        the data are simulated.
    download
        Address from which fairdash downloads the file or an archive. It is empty if the publisher requires a
        login.
    bring
        Reason why the user must download the file, such as "Kaggle asks you to log in". Otherwise empty.
    units, meanings, names
        Maps from columns to units, meanings and display names (see :class:`~fairdash.data.dataset.Dataset`).
    """

    id: str
    title: str
    description: str
    about: str
    source: str
    url: str
    licence: str
    size: str
    n_rows: int
    load: str
    options: tuple[CatalogueOption, ...] = ()
    folder: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    download: str = ""
    bring: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_download(self) -> bool:
        """Return whether fairdash downloads missing files of the data set."""
        return bool(self.download)

    def is_local(self) -> bool:
        """Return whether the data set can be loaded without a network connection."""
        return not self.files or find_folder(self.folder, self.files) is not None

    def how_to_obtain(self) -> str:
        """Explain how users obtain the file of the data set."""
        return (
            f"Download the data set from {self.url} ({self.bring}), unpack it, and put {self._file} into the "
            f"folder {cache_folder(self.folder)}, or into a folder named {self.folder} in the folder "
            "to which you set FAIRDASH_DATA."
        )

    def store_downloaded(self, content: bytes) -> None:
        """Store a file that the user has downloaded from the publisher in the user's cache.

        Raises
        ------
        DownloadError
            The file differs from the published file.
        StorageError
            The folder can't be written.
        """
        file = self._file
        if not is_published(content, self.files[file]):
            raise DownloadError.of(
                f"this file is not the published {file}: its checksum differs",
                f"Download it again from {self.url}, unpack it, and choose the unchanged {file}.",
            )
        write_whole(cache_folder(self.folder) / file, content)

    def contents(self, *, progress: DownloadProgress | None = None) -> dict[str, bytes]:
        """Return a map from file names to contents.

        fairdash looks for the files in ``$FAIRDASH_DATA/<folder>`` and then in the user's cache, and
        downloads missing files from the publisher. The checksums of all files are compared with the published
        checksums.

        Raises
        ------
        DownloadError
            The files can't be downloaded, the user must download them, or they differ from the published
            files.
        """
        folder = find_folder(self.folder, self.files)
        if self.bring:
            if folder is None:
                raise DownloadError.of(f"{self._file} is not on this machine", self.how_to_obtain())
            return read_verified(folder, self.files, hint=f"Delete the file. {self.how_to_obtain()}")
        if folder is None:
            folder = cache_folder(self.folder)
            advice = (
                f"Connect to the internet and try again, or put {self._file} into a folder named "
                f"{self.folder} in the folder to which you set FAIRDASH_DATA."
            )
            fetch_files(self.download, self.files, folder, offline_advice=advice, progress=progress)
        return read_verified(folder, self.files)

    @property
    def _file(self) -> str:
        return " and ".join(self.files)

    def dataset(self, *, features: pd.DataFrame, target: pd.Series, **parts: Any) -> Dataset:
        """Return a data set with the name, units, meanings and display names of this entry."""
        others = [parts[part].name for part in ("weight", "prediction") if parts.get(part) is not None]
        columns = {*features.columns, *parts["sensitive"].columns, target.name, *others}
        texts = {
            part: {column: text for column, text in getattr(self, part).items() if column in columns}
            for part in ("units", "meanings")
        }
        described = {"name": self.id, "title": self.title, "description": self.about, "names": self.names}
        return Dataset(features=features, target=target, **(described | texts | parts))

    def complete(self, options: Mapping[str, object]) -> dict[str, OptionValue]:
        """Check the given options, and add all other options with their defaults.

        Raises
        ------
        OptionError
            An option is unknown or has an invalid value; the error lists all problems.
        """
        by_name = {option.name: option for option in self.options}
        problems = [
            Problem(
                what=f"the data set {self.id} has no option {name}",
                hint=f"It has {', '.join(by_name) or 'none'}.",
            )
            for name in options
            if name not in by_name
        ]
        values = {name: options.get(name, option.default) for name, option in by_name.items()}
        problems += [
            problem
            for name, option in by_name.items()
            if (problem := option.problem(values[name])) is not None
        ]
        if problems:
            raise OptionError(*problems)
        return values  # type: ignore[return-value]  # each value was checked against its option


def _entries() -> dict[str, CatalogueEntry]:
    text = resources.files("fairdash.data").joinpath("catalogue.toml").read_text(encoding="utf-8")
    entries_read: dict[str, dict[str, Any]] = tomllib.loads(text)
    entries = {}
    for dataset_id, entry in entries_read.items():
        fields = {**entries_read.get(entry.get("like", ""), {}), **entry}
        fields.pop("like", None)
        options = tuple(
            CatalogueOption(**{**option, "choices": dict(option["choices"]) if "choices" in option else None})
            for option in fields.pop("options", ())
        )
        entries[dataset_id] = CatalogueEntry(id=dataset_id, options=options, **fields)
    return entries


#: Map from ids to entries, in display order.
CATALOGUE: Mapping[str, CatalogueEntry] = MappingProxyType(_entries())


def load_dataset(
    dataset_id: str, *, progress: DownloadProgress | None = None, **options: OptionValue
) -> Dataset:
    """Load a data set of the catalogue. Its files are downloaded if they are not on this machine.

    Parameters
    ----------
    dataset_id
        A key of :data:`CATALOGUE`.
    progress
        Function that receives the number of bytes downloaded and expected.
    **options
        Options of the entry; see :attr:`CatalogueEntry.options`.

    Raises
    ------
    OptionError
        The id, an option or its value is invalid.
    DownloadError
        The files can't be downloaded, they differ from the published files, or the user must download them.

    Examples
    --------
    >>> dataset = fd.load_dataset("household", n=500)
    >>> dataset.n_rows, list(dataset.sensitive)
    (500, ['Age'])
    """
    entry = get_entry(CATALOGUE, dataset_id, option="data set")
    complete = entry.complete(options)
    home, _, name = entry.load.partition(":")
    load: Callable[..., Dataset] = getattr(import_module(home), name)
    return load(progress=progress, **complete) if entry.needs_download else load(**complete)
