"""Small tables that several data tests use."""

import io
import tracemalloc
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from fairdash.data import Dataset, Roles, build_dataset, read_table
from fairdash.errors import DataError, ReadingError
from fairdash.tables.readers.report import ReadingReport

ROLES = Roles(target="cost", sensitive=("age",), features=("rooms", "town"))


def policies(n: int = 60) -> pd.DataFrame:
    """A valid table."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"cost": rng.gamma(2.0, 100.0, n), "age": rng.integers(18, 90, n)})
    return frame.assign(rooms=rng.integers(1, 6, n), town=rng.choice(["Lyon", "Paris", "Brest"], n))


def dataset_of(features: object, target: dict, sensitive: object, **roles: dict) -> Dataset:
    """A data set from two tables; target, weight and other roles are one column each, as ``{name: cells}``."""
    columns = {
        role: pd.Series(cells, name=name)
        for role, column in {"target": target, **roles}.items()
        for name, cells in column.items()
    }
    return Dataset(name="made", features=pd.DataFrame(features), sensitive=pd.DataFrame(sensitive), **columns)


def all_features(frame: pd.DataFrame) -> Roles:
    """The usual roles, with all other columns as features."""
    others = tuple(name for name in frame if name not in ("cost", "age"))
    return Roles(target="cost", sensitive=("age",), features=others)


def build(frame: pd.DataFrame, roles: Roles = ROLES, **options: object) -> Dataset:
    """A data set from a table whose header is one line."""
    return build_dataset(frame, roles, **{"name": "test", "lines": np.arange(2, len(frame) + 2)} | options)


def unusable(frame: pd.DataFrame, roles: Roles = ROLES, **options: object) -> DataError:
    """The error message for a table that can't become a data set."""
    with pytest.raises(DataError) as caught:
        build(frame, roles, **options)
    return caught.value


def refused(content: str | bytes, **options: object) -> ReadingError:
    """The error message for a file that can't be read."""
    with pytest.raises(ReadingError) as caught:
        read_table(content if isinstance(content, bytes) else content.encode(), **options)
    return caught.value


def said(report: ReadingReport) -> str:
    """The messages of reading a file."""
    return "\n".join(report.sentences())


@contextmanager
def memory_below(most: float) -> Iterator[None]:
    """Check that Python allocates fewer bytes than this inside the block."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def zipped(members: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive of the given files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()
