"""Files that hold a table in a way that is not read here: the words name what they are, and the next step."""

import io
from pathlib import Path

import pandas as pd
import pytest

from fairdash.data import read_table
from fairdash.errors import ReadingError
from tests.data.tables import refused, zipped

OPEN_DOCUMENT = {
    "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
    "META-INF/manifest.xml": "<x/>",
    "content.xml": "<x/>",
}


def written(kind: str) -> bytes:
    """A small table as pandas writes it."""
    out = io.BytesIO()
    getattr(pd.DataFrame({"a": [1, 2]}), f"to_{kind}")(out)
    return out.getvalue()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (zipped(OPEN_DOCUMENT), "OpenDocument file (.ods)"), (written("orc"), "an ORC file"),
        (b"FEA1\0\0\0\0", "Feather file"), (written("feather"), "Feather file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "locked with a password"),
        (b"B\n\x03\0\0\0", "byte order of one machine"),
    ],
    ids=["ods", "orc", "feather1", "feather2", "password", "rds"],
)  # fmt: skip
def test_other_containers_are_named(content: bytes, words: str) -> None:
    assert words in str(refused(content))


def test_a_folder_of_parts_is_named(tmp_path: Path) -> None:
    (tmp_path / "year=2024").mkdir()
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "year=2024" / "part.parquet")
    with pytest.raises(ReadingError, match="folder of Parquet files"):
        read_table(tmp_path)


def test_a_table_whose_first_name_is_orc_is_a_text() -> None:
    assert read_table(b"ORCHARD,b\n1,2\n")[0]["ORCHARD"].tolist() == [1]
