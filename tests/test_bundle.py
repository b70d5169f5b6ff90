"""Bundles: the same bytes for the same files, and little believed of a zip from elsewhere."""

import io
import zipfile

import pytest

from fairdash.storage import bundle
from fairdash.storage.bundle import SEAL, BundleError, changed, hashes_of, pack, sealing, unpack

FILES = {"b.txt": b"2" * 5_000, "a/c.txt": b"1"}


@pytest.mark.parametrize("is_packed", [False, True])
def test_what_was_packed_comes_out_and_packs_to_the_same_bytes(is_packed: bool) -> None:
    content = pack(FILES, is_packed=is_packed)
    assert unpack(content, largest=10_000) == FILES
    assert pack(dict(reversed(FILES.items())), is_packed=is_packed) == content
    assert unpack(content, "b.txt", "no", largest=10_000) == {"b.txt": FILES["b.txt"]}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.namelist() == sorted(FILES)
        assert {(one.date_time, one.external_attr) for one in archive.infolist()} == {
            ((1980, 1, 1, 0, 0, 0), 0o600 << 16)
        }


def lies(content: bytes) -> bytes:
    """Of a file's size in the directory."""
    place = content.index(b"PK\x01\x02") + 24
    return content[:place] + (1).to_bytes(4, "little") + content[place + 4 :]


def zipped(compression: int) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        archive.writestr("a", bytes(100_000))
    return target.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"PK\x03\x04 nothing", pack(FILES)[:-30], lies(pack({"a": b"1" * 100})),
        zipped(zipfile.ZIP_DEFLATED), zipped(zipfile.ZIP_LZMA), zipped(zipfile.ZIP_BZIP2),
    ],
)  # fmt: skip
def test_what_is_none_swells_or_lies_is_refused(content: bytes) -> None:
    with pytest.raises(BundleError):
        unpack(content)


def test_too_many_files_are_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MAX_FILES", 1)
    with pytest.raises(BundleError, match="too many"):
        unpack(pack(FILES))


@pytest.mark.parametrize(
    ("noted", "names"),
    [
        (sealing(hashes_of(FILES)), []), (sealing(hashes_of(FILES | {"b.txt": b"3"})), ["b.txt"]),
        (sealing(hashes_of(FILES | {"d": b""})), ["d"]), (sealing({}), ["a/c.txt", "b.txt"]), (b"[]", [SEAL]),
        (b"[" * 100_000, [SEAL]), (b"\xff", [SEAL]),
    ],
)  # fmt: skip
def test_what_has_changed_is_named(noted: bytes, names: list[str]) -> None:
    assert changed(hashes_of({**FILES, SEAL: b"itself"}), noted) == names
