"""How to get a data set again: a small recipe that fits into JSON, an address and a run's folder.

>>> source = CatalogueSource(dataset="household", options={"n": 200})
>>> DatasetSource.from_json(source.to_json()) == source
True
>>> source.load().n_rows
200
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fairdash.data.catalogue import OptionValue, catalogue_entry, load_dataset
from fairdash.data.dataset import Dataset
from fairdash.data.fetch import Progress
from fairdash.data.folders import data_folder, write_whole
from fairdash.errors import DataError, FairdashError, Problem

_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, kw_only=True)
class DatasetSource(ABC):
    """A recipe for a data set: the same on every machine that has the same files."""

    kind: ClassVar[str]

    @abstractmethod
    def load(self, *, progress: Progress | None = None) -> Dataset:
        """Make the data set anew."""

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """Give what goes into the JSON besides the kind."""

    def to_json(self) -> str:
        """Write the recipe down; equal recipes give equal text."""
        content = {"fairdash_source": 1, "kind": self.kind, **self._fields()}
        return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @property
    def id(self) -> str:
        """16 hex digits that stand for the recipe in a page's address."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    @staticmethod
    def from_json(text: str) -> DatasetSource:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        DataError
            The text is not a recipe that this version knows.
        OptionError
            It names a data set or an option that the catalogue doesn't have.
        """
        try:
            content = json.loads(text)
            if content.pop("fairdash_source") != 1:
                raise ValueError
            maker = {"catalogue": CatalogueSource._of}[content.pop("kind")]
            return maker(content)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, FairdashError):
                raise
            raise DataError(
                Problem(
                    what="the description of the data set is damaged or from a newer version",
                    mend="Choose the data again on the data page.",
                )
            ) from None


@dataclass(frozen=True, kw_only=True)
class CatalogueSource(DatasetSource):
    """A data set of the catalogue with its options.

    Parameters
    ----------
    dataset
        A key of the catalogue.
    options
        Those that differ from the defaults; the defaults are added, so that equal choices have equal ids.

    Raises
    ------
    OptionError
        As :func:`fairdash.data.catalogue.load_dataset`.
    """

    kind: ClassVar[str] = "catalogue"

    dataset: str
    options: Mapping[str, OptionValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", catalogue_entry(self.dataset).complete(self.options))

    def load(self, *, progress: Progress | None = None) -> Dataset:
        """Make or fetch the data set; raises what :func:`~fairdash.data.catalogue.load_dataset` raises."""
        return load_dataset(self.dataset, progress=progress, **self.options)

    def _fields(self) -> dict[str, Any]:
        return {"dataset": self.dataset, "options": dict(self.options)}

    @classmethod
    def _of(cls, content: dict[str, Any]) -> CatalogueSource:
        return cls(**content)


def save_source(source: DatasetSource) -> str:
    """Keep a recipe in the user's home of fairdash and give its id.

    Raises
    ------
    OSError
        The folder can't be written.
    """
    write_whole(data_folder("sources") / f"{source.id}.json", source.to_json().encode())
    return source.id


def load_source(source_id: str) -> DatasetSource:
    """Read a recipe that :func:`save_source` kept.

    Raises
    ------
    DataError
        Nothing is kept under this id, or it is damaged.
    """
    # The id comes from a page's address: anything but hex digits could point out of the folder.
    if _ID.fullmatch(source_id):
        path = data_folder("sources") / f"{source_id}.json"
        if path.is_file():
            return DatasetSource.from_json(path.read_text(encoding="utf-8"))
    raise DataError(
        Problem(
            what="this address names a data set that is not kept here",
            mend="Choose the data again on the data page.",
        )
    )
