"""Each data test has its own fairdash home, so that no test changes the user's files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data.publisher import Server, serving


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("FAIRDASH_HOME", str(folder))
    return folder


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running
