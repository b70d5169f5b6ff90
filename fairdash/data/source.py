"""Recipes from which data sets can be loaded again. They are short, and are stored as JSON.

>>> source = CatalogueSource(dataset="household", options={"n": 200})
>>> DatasetSource.from_json(source.to_json()) == source
True
>>> source.load().n_rows
200
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fairdash.data.building import build_dataset
from fairdash.data.catalogue import CATALOGUE, OptionValue, load_dataset
from fairdash.data.dataset import Dataset
from fairdash.data.fetch import DownloadProgress
from fairdash.data.uploads import check_sha256, table_of_upload
from fairdash.errors import FairdashError, Fix, ReadingError, StorageError
from fairdash.storage import LOCAL, check_owner, data_folder, sha256, write_whole
from fairdash.tables.readers.report import ReadingOptions
from fairdash.tables.roles import Roles
from fairdash.utils.memory import is_out_of_memory, is_over_limit, limited_memory
from fairdash.utils.records import from_plain, to_plain
from fairdash.utils.registry import get_entry

if TYPE_CHECKING:
    import pandas as pd

_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, kw_only=True)
class DatasetSource(ABC):
    """Recipe of a data set, from which all machines with the same files load the same data.

    Parameters
    ----------
    roles
        Roles of the columns; None for the roles that the data set itself defines.
    drop_missing
        True if rows with a missing target or sensitive value may be left out. This has no effect if `roles`
        is None.
    fixes
        Fixes that the user has accepted (see :class:`~fairdash.errors.Fix`).
    names
        Map from columns to display names that the user has chosen.
    """

    kind: ClassVar[str]

    roles: Roles | None = None
    drop_missing: bool = False
    fixes: tuple[Fix, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    @abstractmethod
    def title(self) -> str:
        """Display name of the data set."""

    @abstractmethod
    def load(self, *, progress: DownloadProgress | None = None, owner: str | None = None) -> Dataset:
        """Build the data set. If `owner` is given, its file must belong to this owner."""

    @abstractmethod
    def table(self, *, owner: str | None = None) -> pd.DataFrame:
        """Return the table with all columns. For `owner` and errors, see :meth:`load`."""

    def to_json(self) -> str:
        """Return the recipe as JSON. Equal recipes give the same text."""
        values = to_plain(self, own_way=False)
        values["mends"] = values.pop("fixes")
        content = {"fairdash_source": 1, "kind": self.kind, **_without_newer_fields(values)}
        for part in ("roles", "reading"):
            if content.get(part) is not None:
                content[part] = _without_newer_fields(content[part])
        return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @property
    def id(self) -> str:
        """Id of the recipe (16 hex digits), for the address of a page."""
        return _id_of(self.to_json().encode())

    @staticmethod
    def from_json(text: str) -> DatasetSource:
        """Read a recipe from the output of :meth:`to_json`.

        Raises
        ------
        StorageError
            The text is not a recipe, or is from a newer version of fairdash.
        OptionError
            The catalogue does not contain the data set or an option of the recipe.
        """
        try:
            content = json.loads(text)
            if content.pop("fairdash_source") != 1 or "roles" not in content:
                raise ValueError
            kinds: dict[str, type[DatasetSource]] = {"catalogue": CatalogueSource, "upload": UploadSource}
            maker = kinds[content.pop("kind")]
            content["fixes"] = content.pop("mends", ())
            return from_plain(maker, content, own_way=False)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            if isinstance(error, FairdashError):
                raise
            raise _damaged() from None


#: Options that the JSON omits if they are empty. Recipes from versions without these options thus keep their
#: ids.
_NEWER_FIELDS = frozenset(
    "weight prediction row_id group time rate mends names sheet number_names header_row keep_below"
    " also_missing one_spelling made_from".split()
)


def _without_newer_fields(values: Mapping[str, object]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value or key not in _NEWER_FIELDS}


def _damaged(which: str = "") -> StorageError:
    return StorageError.of(
        f"the stored description of the data set{which and ' '}{which} is damaged or from a newer version",
        "Choose the data again on the data page; your other data sets are not affected.",
    )


@dataclass(frozen=True, kw_only=True)
class CatalogueSource(DatasetSource):
    """Recipe for a data set of the catalogue and its options.

    Parameters
    ----------
    dataset
        A key of the catalogue.
    options
        Options that differ from their defaults. The recipe adds the other options, so that equal selections
        have the same id.
    roles, drop_missing, fixes, names
        See :class:`DatasetSource`.

    Raises
    ------
    OptionError
        An option is unsuitable (see :func:`fairdash.data.catalogue.load_dataset`).
    """

    kind: ClassVar[str] = "catalogue"

    dataset: str
    options: Mapping[str, OptionValue] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        entry = get_entry(CATALOGUE, self.dataset, option="data set")
        object.__setattr__(self, "options", entry.complete(self.options))

    @property
    def title(self) -> str:
        """Name of the data set in the catalogue."""
        return CATALOGUE[self.dataset].title

    def table(self, *, owner: str | None = None) -> pd.DataFrame:  # noqa: ARG002 - the data are public
        """Return all columns of the data set."""
        return load_dataset(self.dataset, progress=None, **self.options).table()

    def load(
        self,
        *,
        progress: DownloadProgress | None = None,
        owner: str | None = None,  # noqa: ARG002 - the data are public
    ) -> Dataset:
        """Simulate or download the data set, and apply the selected roles.

        Raises
        ------
        OptionError, DownloadError
            The data set can't be loaded (see :func:`~fairdash.data.catalogue.load_dataset`).
        DataError
            The table can't be used with the selected roles.
        """
        preset = load_dataset(self.dataset, progress=progress, **self.options)
        names = {**preset.names, **self.names}
        if self.roles is None or self.roles == preset.roles:
            return replace(preset, names=names) if self.names else preset
        return build_dataset(
            preset.table(),
            self.roles,
            name=preset.name,
            drop_missing=self.drop_missing,
            fixes=self.fixes,
            title=preset.title,
            description=preset.description,
            units=preset.units,
            meanings=preset.meanings,
            notes=preset.notes,
            names=names,
        )


@dataclass(frozen=True, kw_only=True)
class UploadSource(DatasetSource):
    """Recipe for a data set from an uploaded file, with reading options and column roles.

    Parameters
    ----------
    sha256
        SHA-256 of the file's content. It is the name of the stored file (see :mod:`fairdash.data.uploads`).
    name
        Name of the file, for display.
    roles
        Roles of the columns.
    reading
        Reading options that the user has set.
    drop_missing, fixes, names
        See :class:`DatasetSource`.
    made_from
        Id of the run that has created the table, and hash of the file on which this run was trained. If the
        run or this file is deleted, the table is deleted too.

    Raises
    ------
    StorageError
        `sha256` is not 64 hex digits.
    """

    kind: ClassVar[str] = "upload"

    sha256: str
    name: str
    roles: Roles
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    made_from: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_sha256(self.sha256)

    @property
    def title(self) -> str:
        """Name of the uploaded file."""
        return self.name

    def table(self, *, owner: str | None = None) -> pd.DataFrame:
        """Return the table in the uploaded file."""
        return table_of_upload(self.sha256, self.reading, name=self.name, owner=owner)[0]

    def load(
        self,
        *,
        progress: DownloadProgress | None = None,  # noqa: ARG002 - nothing is downloaded
        owner: str | None = None,
    ) -> Dataset:
        """Apply the roles to the table in the file. Each process caches this table.

        Raises
        ------
        StorageError
            The file is deleted or damaged, or belongs to another owner.
        ReadingError, OptionError
            The file can't be read (see :func:`~fairdash.tables.readers.reading.read_table`).
        DataError
            The table can't be used with these roles.
        """
        frame, report = table_of_upload(self.sha256, self.reading, name=self.name, owner=owner)
        return build_dataset(
            frame,
            self.roles,
            name=self.name.rsplit(".", 1)[0] or self.name,
            drop_missing=self.drop_missing,
            fixes=self.fixes,
            title=self.name,
            units=report.units,
            lines=report.lines,
            notes=report.sentences(),
            names=self.names,
        )


def _id_of(content: bytes) -> str:
    return sha256(content)[:16]


def sources_folder(owner: str) -> Path:
    """Return the folder with the recipes of an owner. The folder may not exist yet."""
    folder = data_folder("sources")
    return folder if check_owner(owner) == LOCAL else folder / owner


def save_source(source: DatasetSource, *, owner: str = LOCAL) -> str:
    """Store a recipe for its owner in fairdash's data folder, and return its id.

    Raises
    ------
    StorageError
        The folder can't be written.
    """
    path, content = sources_folder(owner) / f"{source.id}.json", source.to_json().encode()
    # A stored recipe is not written again, because writing would fail in a read-only folder.
    if not (path.is_file() and path.read_bytes() == content):
        write_whole(path, content)
    return source.id


def load_source(source_id: str, *, owner: str = LOCAL) -> DatasetSource:
    """Load a recipe that :func:`save_source` stored for this owner.

    Raises
    ------
    StorageError
        No recipe has this id, or the recipe is damaged.
    """
    # The id comes from the address of a page. With hex digits alone, the path can't leave the folder.
    if _ID.fullmatch(source_id):
        path = sources_folder(owner) / f"{source_id}.json"
        if path.is_file():
            content = path.read_bytes()
            try:
                source = DatasetSource.from_json(content.decode())
            except (StorageError, UnicodeDecodeError):
                raise _damaged(source_id) from None
            if _id_of(content) != source_id:
                # The recipe is valid, but its id differs from the name of the file.
                raise _damaged(source_id)
            return source
    raise StorageError.of(
        "this address names a data set that is not stored here", "Choose the data again on the data page."
    )


@contextmanager
def limit_memory_of_tables() -> Iterator[None]:
    """Limit the memory for reading tables in this context.

    Raises
    ------
    ReadingError
        The table needs more memory than :func:`fairdash.utils.memory.most_memory`.
    """
    try:
        with limited_memory():
            yield
    except FairdashError:
        raise
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise ReadingError.of(
            f"reading the table takes more {is_over_limit()}",
            "Take a sample of the rows, leave columns out, or set FAIRDASH_MEMORY to more (in GB).",
        ) from None
