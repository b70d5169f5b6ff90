"""Bundles: equal files give equal bytes, and zip files from elsewhere are not trusted."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from fairdash.errors import Fix, OptionError
from fairdash.jobs.steps import from_files, to_files
from fairdash.lab.scene import Scene
from fairdash.storage import bundle
from fairdash.storage.bundle import SEAL, BundleError, changed, hashes_of, pack, sealing, unpack
from fairdash.training.lam_search import LamSearch, Target
from fairdash.training.search import SearchGrid, SettingsSearch
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep
from fairdash.utils.records import from_plain, to_plain
from fairdash.utils.seeds import Stream, rng_of, seed_of

FILES = {"b.txt": b"2" * 5_000, "a/c.txt": b"1"}


@pytest.mark.parametrize("is_packed", [False, True])
def test_packed_files_unpack_unchanged_and_repack_to_the_same_bytes(is_packed: bool) -> None:
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
    """State a wrong file size in the directory of the archive."""
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
def test_invalid_oversized_or_falsely_sized_archives_are_refused(content: bytes) -> None:
    with pytest.raises(BundleError):
        unpack(content)


def test_an_archive_with_too_many_files_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_the_integrity_check_names_the_changed_files(noted: bytes, names: list[str]) -> None:
    assert changed(hashes_of({**FILES, SEAL: b"itself"}), noted) == names


# Plain values and files survive storage, for plans and units of work; random streams are reproducible.


RECORDS = [
    Fix("keep", "region"), Scene(points=((0.0, 1.0), (2.0, 3.0)), pattern="points"),
    TrainingSettings(hidden=(4, 2), patience=3, architecture="bins"), SearchGrid(hidden=((4,), (4, 2))),
    Sweep(lams=(0.5, 2.0), tune=True), SettingsSearch(lam=2.0),
    LamSearch(target=Target.parse("hgr_kde<=floor+0.02"), lams=(1.0,)),
]  # fmt: skip


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_is_unchanged_after_conversion_to_json_and_back(record: object) -> None:
    text = json.dumps(to_plain(record))
    assert from_plain(type(record), json.loads(text)) == record


@pytest.mark.parametrize("values", [{"kind": "keep"}, {"kind": "keep", "column": "a", "more": 1}, 5])
def test_values_that_do_not_fit_the_record_type_are_refused(values: object) -> None:
    with pytest.raises(ValueError, match="the values do not fit the fields of Fix"):
        from_plain(Fix, values)
    # The error message of the record is passed on.
    with pytest.raises(OptionError, match="n_splits"):
        from_plain(Sweep, {"lams": [1.0], "n_splits": 0})


def test_random_stream_numbers_match_those_of_stored_results():
    numbers = (
        "INITIAL_WEIGHTS=1 PAIR_PERMUTATIONS=1 MINI_BATCHES=2 PAIR_HALVES=2 TABLE_PERMUTATIONS=3 "
        "PAIR_ROWS=3 STOPPING_ROWS=3 FOLD_STOPPING_ROWS=4 MEASURED_ROWS=4 IMPORTANCE=5 "
        "AVERAGED_NETWORKS=5 STUDY_ROWS=6 STUDY_PERMUTATIONS=7 PENALTY_ROWS=8 SHRINKAGE_ROWS=9 "
        "FIRST_LOOK_ROWS=10 PILOT_ROWS=12 CONDITIONAL_FOLDS=20 CONDITIONAL_ROWS=21 "
        "CONDITIONAL_DRAWS=22 CONFIRMATION_ROWS=11 AUDIT_FOLDS=23 AUDIT_DRAWS=24 AUDIT_ROWS=25 "
        "AUDIT_MODELS=29 AUDIT_PROXIES=30 AUDIT_ERRORS=32 AUDIT_SEGMENTS=33 "
    ).split()
    assert {f"{name}={int(each)}" for name, each in Stream.__members__.items()} == set(numbers)
    assert seed_of(Stream.INITIAL_WEIGHTS, 7, 2) == np.random.SeedSequence([7, 2, 1]).generate_state(1)[0]
    drawn = rng_of(Stream.IMPORTANCE, 7, 2, then=(4,)).random(3)
    assert np.array_equal(drawn, np.random.default_rng([7, 2, 5, 4]).random(3))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 1), (2, 3, 1)], ids=str)
def test_an_array_survives_storage_bit_for_bit(dtype, shape):
    array = np.random.default_rng(0).normal(0, 99, shape).astype(dtype)
    own = from_files(to_files({"array [a/b]": array}))["array [a/b]"]
    assert (own.dtype, own.shape, own.tobytes()) == (array.dtype, shape, array.tobytes())


@pytest.mark.parametrize("n", [0, 3])
def test_a_table_and_plain_values_survive_storage_bit_for_bit(n):
    numbers = np.array([-0.0, 5e-324, np.nan])[:n]
    frame = pd.DataFrame({"whole": np.array([-(2**63), 2**63 - 1, 0])[:n], "number": numbers})
    frame = frame.assign(mark=np.array([True, False, True])[:n], text=np.array(["λ", "", " a"])[:n])
    frame = frame.assign(kind=pd.Categorical(frame["text"], ordered=True)) if n else frame
    frame.index = pd.Index([7, 3, 7][:n], dtype="int64")
    value = {"a": [None, True, -(2**70), 1e-310, float("inf"), "λ\0"], "": {}}
    again = from_files(to_files({"frame": frame, "value": value}))
    pd.testing.assert_frame_equal(again["frame"], frame, check_exact=True)
    assert np.array_equal(np.signbit(again["frame"]["number"]), np.signbit(numbers))
    assert repr(again["value"]) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        np.array(["text"], dtype=object), np.array([1, 2], dtype=">i8"), pd.DataFrame({"pair": [(1, 2)]}),
        pd.DataFrame({"gap": pd.Series(["a", None, np.nan], dtype=object)}),
        pd.DataFrame([[1, 2]], columns=["twice", "twice"]), pd.Series([1]), {1, 2}, object(),
    ],
    ids=["objects", "byte order", "tuples", "two kinds of none", "columns", "series", "set", "anything"],
)  # fmt: skip
def test_values_that_cannot_be_stored_exactly_are_refused(value):
    with pytest.raises(ValueError, match="be stored"):
        to_files({"value": value})
