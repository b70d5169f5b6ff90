import socket
from pathlib import Path

import pytest

from fairdash.data import CATALOGUE, fetch
from fairdash.data.fetch import fetch_files
from fairdash.data.published import CRIME_SENSITIVE as SENSITIVE
from fairdash.data.published import CRIME_TARGET as TARGET
from fairdash.data.published import crime as load_crime
from fairdash.errors import DownloadError
from fairdash.storage import sha256
from tests.data.publisher import Server, address, served_at
from tests.data.tables import zipped

CRIME = CATALOGUE["crime"]
PAYLOAD = {"a.data": b"1,2\n" * 5000, "a.names": b"@attribute x numeric\n"}
MEMBERS = {name: sha256(content) for name, content in PAYLOAD.items()}


def archived(contents: dict[str, bytes]) -> bytes:
    return zipped({f"deep/inside/{name}": content for name, content in contents.items()})


def fetch_test(server: Server, folder: Path, **options: object) -> None:
    fetch_files(address(server), MEMBERS, folder, offline_advice="Bring it yourself.", **options)


def test_members_are_verified_kept_and_readable_by_the_user_alone(server: Server, tmp_path: Path) -> None:
    server.body = archived(PAYLOAD | {"other.txt": b"not asked for"})
    seen: list[tuple[int, int | None]] = []
    fetch_test(server, tmp_path / "kept", progress=lambda done, total: seen.append((done, total)))
    assert {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()} == PAYLOAD
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "kept").iterdir())
    assert seen[-1] == (len(server.body), len(server.body))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (archived(PAYLOAD | {"a.data": b"changed"}), "checksum"),
        (archived({"a.data": PAYLOAD["a.data"]}), "a.names from 127.0.0.1:"),
        (b"<html>a notice from the hotel's network</html>", "not a complete zip"),
        (archived(PAYLOAD)[:-30], "not a complete zip"),
    ],
    # A zip holds the time of day: two processes would give the tests two names.
    ids=["changed", "one is missing", "no zip", "cut off"],
)
def test_wrong_contents_are_refused_and_nothing_is_kept(
    server: Server, tmp_path: Path, body: bytes, words: str
) -> None:
    server.body = body
    with pytest.raises(DownloadError, match=words) as caught:
        fetch_test(server, tmp_path)
    assert "Bring it yourself." in str(caught.value)
    assert not any(tmp_path.iterdir())


def test_a_server_that_breaks_off_or_refuses(server: Server, tmp_path: Path) -> None:
    server.body, server.announced = archived(PAYLOAD)[:100], 5000
    with pytest.raises(DownloadError, match="could not be reached, or the connection broke off"):
        fetch_test(server, tmp_path)
    server.status = 503
    with pytest.raises(DownloadError, match="HTTPError"):
        fetch_test(server, tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_server_that_sends_without_end(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "MAX_ARCHIVE", 1000)
    server.body = b"x" * 20_000
    with pytest.raises(DownloadError, match="far more"):
        fetch_test(server, tmp_path)


def test_offline_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        # Bound but not listening: the connection is refused.
        served_at(f"http://127.0.0.1:{taken.getsockname()[1]}/crime.zip", "crime", monkeypatch)
        monkeypatch.delenv("FAIRDASH_DATA", raising=False)
        assert not CRIME.is_local()
        with pytest.raises(DownloadError, match="Connect to the internet") as caught:
            load_crime()
    assert "FAIRDASH_DATA" in str(caught.value)


@pytest.mark.data
def test_the_real_file_in_the_papers_roles(real_data: Path) -> None:
    dataset = load_crime()
    assert (dataset.roles.target, dataset.roles.sensitive) == (TARGET, (SENSITIVE,))
    assert SENSITIVE not in dataset.features
    assert (dataset.features.shape, dataset.features.isna().sum().sum()) == ((1994, 99), 1)
    assert dataset.target.mean() == pytest.approx(0.2380, abs=5e-5)
    assert "22 columns left out: over half of the cells are missing." in dataset.notes
    assert dataset.meanings["medIncome"].startswith("median household income")
