from pathlib import Path

import pytest

from fairdash.storage import cache_folder, data_folder, write_whole


def test_one_home_for_everything(home: Path) -> None:
    assert data_folder("uploads") == home / "uploads"
    assert cache_folder("crime") == home / "cache" / "crime"


def test_without_one_the_systems_places_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRDASH_HOME")
    assert data_folder("uploads").parent != cache_folder("uploads").parent
    assert "fairdash" in str(data_folder("uploads"))


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    write_whole(path, b"first, and longer")
    write_whole(path, b"second")
    assert path.read_bytes() == b"second"
    assert list(path.parent.iterdir()) == [path]
