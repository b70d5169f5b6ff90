import functools
import socket
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.data import CATALOGUE, Dataset, Roles, fetch, load_dataset, published
from fairdash.data.fetch import fetch_files, git_blob_id
from fairdash.data.published import CENSUS_SENSITIVE, CENSUS_TARGET, CRIME_SENSITIVE, CRIME_TARGET, N_POLICIES
from fairdash.data.published import MOTOR_TARGETS as TARGETS
from fairdash.data.published import crime as load_crime
from fairdash.data.published import motor as load_motor
from fairdash.data.simulated import household
from fairdash.errors import DownloadError, OptionError
from fairdash.storage import sha256
from tests.data.publisher import Server, address, served_at
from tests.data.tables import zipped


@pytest.mark.parametrize("dataset_id", ["household", "portfolio"])
def test_a_generated_data_set_loads_with_its_options_and_matches_its_catalogue_entry(dataset_id: str) -> None:
    entry = CATALOGUE[dataset_id]
    assert entry.is_local()
    dataset = load_dataset(dataset_id)
    assert (dataset.name, dataset.title, dataset.n_rows) == (entry.id, entry.title, entry.n_rows)
    assert load_dataset("household", n=300, rooms=5, spread="variance").n_rows == 300


def test_every_data_set_is_either_generated_or_downloaded_or_supplied_by_the_user(monkeypatch):
    monkeypatch.delenv("FAIRDASH_DATA", raising=False)
    for entry in CATALOGUE.values():
        ways = [entry.is_local(), entry.needs_download, bool(entry.bring)]
        assert ways.count(True) == 1, entry.id


@pytest.mark.parametrize(("options", "columns"), [
    ({"n": 99}, 1), ({"n": 200.0}, 1), ({"rooms": True}, 1),
    ({"spread": "wide", "random_state": -1, "colour": "red"}, 3), ({"features_seen": ["all"]}, 1),
])  # fmt: skip
def test_all_invalid_options_of_a_data_set_are_reported_together(options: dict, columns: int) -> None:
    with pytest.raises(OptionError) as caught:
        load_dataset("household", **options)
    assert len(caught.value.problems) == columns


def test_an_unknown_data_set_is_refused_with_the_names_of_the_known_ones() -> None:
    with pytest.raises(OptionError, match=", ".join(CATALOGUE)):
        load_dataset("iris")


@pytest.mark.parametrize(("options", "mean"), [({}, 224), ({"spread": "variance"}, 220), ({"rooms": 5}, 246)])
def test_the_mean_household_cost_equals_its_closed_form(options: dict, mean: float) -> None:
    # The closed-form expectation, which the notes on the paper round to whole euros.
    age, building = (25, 100) if options.get("spread") != "variance" else (5, 10)
    n_rooms = options.get("rooms", 4)
    exact = 150 + 0.0005 * np.exp(0.07 * 120 + 0.07**2 / 2) / np.sqrt(1 + 2 * 0.07 * 0.25 * age) * np.exp(
        0.08 * 30 + 0.08**2 * building / 2
    ) * np.mean(np.exp(0.4 * np.arange(1, n_rooms + 1)))
    assert exact == pytest.approx(mean, abs=0.6)
    dataset = household(n=400_000, **options)
    assert dataset.target.mean() == pytest.approx(exact, abs=1)


def test_household_cost_is_a_function_of_the_features_and_age_is_not_a_feature() -> None:
    dataset = household(n=500)
    x = dataset.features
    expected = 150 + 0.0005 * np.exp(0.07 * x["Surface"] + 0.08 * x["BldgAge"] + 0.4 * x["Rooms"])
    pd.testing.assert_series_equal(dataset.target, expected, check_names=False)
    assert (list(dataset.sensitive), set(x["Rooms"])) == (["Age"], {1, 2, 3, 4})
    assert "Age" not in dataset.features


def test_the_seed_determines_the_table_and_the_option_rooms_leaves_other_columns_unchanged() -> None:
    first, again, other = household(n=200), household(n=200), household(n=200, random_state=1)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    five = household(n=200, rooms=5)
    pd.testing.assert_frame_equal(first.sensitive, five.sensitive)
    pd.testing.assert_series_equal(first.features["Surface"], five.features["Surface"])


(TRACT_FILE,), (COUNTY_FILE,) = CATALOGUE["census"].files, CATALOGUE["census_county"].files


def table_of(n: int = 8) -> bytes:
    """A table with some of the tract file's columns."""
    rng = np.random.default_rng(0)
    names = "CensusTract State County TotalPop Men Women Income Poverty ChildPoverty Employed".split()
    frame = pd.DataFrame(rng.uniform(1, 50, (n, len(names))), columns=names)
    frame["State"], frame["County"] = ["Ohio", "Iowa"] * (n // 2), "x"
    frame["TotalPop"] = frame["Men"] + frame["Women"]
    frame.loc[n - 1, "Income"] = np.nan
    return frame.to_csv(index=False).encode()


@pytest.mark.data
def test_the_county_census_data_have_the_papers_roles_and_inputs(real_data: Path) -> None:
    dataset = load_dataset("census_county")
    assert dataset.n_rows == 3_218
    roles = dataset.roles
    assert (roles.target, roles.sensitive, roles.weight) == (CENSUS_TARGET, (CENSUS_SENSITIVE,), None)
    left_out = {"CensusId", "County", "Poverty", "ChildPoverty", "Men", "Women"}
    assert not left_out & set(dataset.features)
    # As in the authors' notebook, 30 numbers and a column of 0 and 1 for each state give 82 inputs.
    n_states = len(dataset.features["State"].cat.categories)
    assert dataset.features.shape[1] - 1 + n_states == 82
    raw = pd.read_csv(real_data / "census" / COUNTY_FILE).dropna()
    assert dataset.target.tolist() == raw["ChildPoverty"].tolist()
    assert dataset.sensitive[CENSUS_SENSITIVE].to_numpy() == pytest.approx(
        (raw["Women"] / raw["TotalPop"]).to_numpy(), rel=1e-15
    )
    assert dataset.features["Income"].tolist() == raw["Income"].tolist()
    assert set(dataset.meanings) == set(dataset.table())
    assert "2 of 3,220 counties left out, because a cell is missing." in dataset.notes
    assert any("CensusId, County" in note for note in dataset.notes)


def test_a_census_tract_file_is_loaded_only_if_its_checksum_matches(tmp_path, monkeypatch):
    content = table_of()
    (tmp_path / "census").mkdir()
    (tmp_path / "census" / TRACT_FILE).write_bytes(content)
    monkeypatch.setenv("FAIRDASH_DATA", str(tmp_path))
    with pytest.raises(DownloadError, match=r"checksum differs\. Delete the file"):
        load_dataset("census")
    monkeypatch.setitem(CATALOGUE["census"].files, TRACT_FILE, git_blob_id(content))
    dataset = load_dataset("census")
    assert (dataset.name, dataset.title, dataset.n_rows) == ("census", CATALOGUE["census"].title, 7)
    assert list(dataset.features) == ["State", "TotalPop", "Income", "Employed"]
    assert list(dataset.features["State"].cat.categories) == ["Iowa", "Ohio"]


@pytest.mark.parametrize(("dataset_id", "file"), [("census", TRACT_FILE), ("census_county", COUNTY_FILE)])
def test_a_missing_file_is_refused_with_instructions_for_obtaining_it(dataset_id, file, home, monkeypatch):
    monkeypatch.delenv("FAIRDASH_DATA", raising=False)
    entry = CATALOGUE[dataset_id]
    assert not entry.is_local()
    with pytest.raises(DownloadError, match=f"{file} is not on this machine") as caught:
        load_dataset(dataset_id)
    said = str(caught.value)
    assert entry.how_to_obtain() in said
    for part in ("kaggle.com", "log in", str(home / "cache" / "census"), "FAIRDASH_DATA"):
        assert part in said


@pytest.mark.data
def test_a_file_supplied_by_the_user_is_stored_in_the_folder_of_the_data_set(real_data, monkeypatch):
    content = (real_data / "census" / COUNTY_FILE).read_bytes()
    monkeypatch.delenv("FAIRDASH_DATA")
    entry = CATALOGUE["census_county"]
    entry.store_downloaded(content)
    assert entry.is_local()
    assert load_dataset("census_county").n_rows == 3_218


(FILE,) = CATALOGUE["motor"].files
#: Numbers of policies with a cost and with a claim: 21 policies with a claim have no cost in the file.
WITH_COST, WITH_CLAIM = 12_256, 12_277


_read_once = functools.cache(published._policies)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the file once for all tests, because R's format takes seconds to read."""
    monkeypatch.setattr(published, "_policies", _read_once)


@pytest.fixture
def by_target(real_data: Path) -> dict[str, Dataset]:
    """Each target's data set."""
    return {target: load_motor(target=target) for target in TARGETS}


@pytest.mark.data
def test_the_motor_data_have_the_papers_target_roles_and_rows(by_target: dict[str, Dataset]) -> None:
    dataset = by_target["cost"]
    features = "Gender Type Category Occupation Group1 Bonus Poldur Value Adind Group2 Density".split()
    assert dataset.roles == Roles(target="Indtppd", sensitive=("Age",), features=tuple(features))
    assert (dataset.n_rows, (dataset.target > 0).sum()) == (N_POLICIES, WITH_COST)
    assert dataset.target.mean() == pytest.approx(106.135007, abs=1e-6)
    assert dataset.target.max() == pytest.approx(12_878.36991)
    assert dataset.sensitive["Age"].agg(["min", "max"]).tolist() == [18, 75]
    assert dataset.features.notna().all(axis=None)
    assert dataset.label("Indtppd") == "cost of material claims (€)"
    assert set(dataset.table()) == set(dataset.meanings)
    assert any("pg15pricing" in note for note in dataset.notes)
    assert "88% of the policies have no cost." in dataset.notes
    assert any(note.startswith("21 policies have two rows in the file") for note in dataset.notes)


@pytest.mark.data
def test_rates_are_weighted_by_exposure(by_target: dict[str, Dataset]) -> None:
    frequency, cost = by_target["frequency"], by_target["cost"]
    assert (frequency.roles.target, frequency.roles.weight) == ("ClaimsPerYear", "Years")
    assert frequency.weight.agg(["min", "max"]).tolist() == [91 / 365, 1]
    assert frequency.weight.sum() * 365 == pytest.approx(32_765_680, abs=0.5)
    counts = (frequency.target * frequency.weight).to_numpy()
    assert np.abs(counts - counts.round()).max() < 1e-12
    assert ((counts.round() > 0).sum(), counts.sum()) == (WITH_CLAIM, pytest.approx(14_748))
    by_year = by_target["cost_per_year"]
    assert (by_year.target * by_year.weight).to_numpy() == pytest.approx(cost.target.to_numpy())
    for dataset in (frequency, by_year):
        assert dataset.features.equals(cost.features)
        assert set(dataset.table()) == set(dataset.meanings)
    assert cost.weight is None


@pytest.mark.data
def test_a_sample_is_determined_by_its_seed_and_is_a_subset_of_the_whole_table(by_target):
    whole = by_target["cost"].table()
    sample, again, other = (load_motor(n=36_311, random_state=seed) for seed in (1, 1, 2))
    assert sample.n_rows == 36_311
    assert sample.fingerprint == again.fingerprint != other.fingerprint
    assert any("36,311 of 100,021 policies" in note for note in sample.notes)
    # The sample is a subsequence: it has the file's order and no policy more often than the file.
    rows = iter(pd.util.hash_pandas_object(whole, index=False))
    assert all(row in rows for row in pd.util.hash_pandas_object(sample.table(), index=False))
    # The sample comes from the whole file, not from its beginning.
    assert sample.target.mean() == pytest.approx(whole["Indtppd"].mean(), rel=0.05)


CRIME = CATALOGUE["crime"]
PAYLOAD = {"a.data": b"1,2\n" * 5000, "a.names": b"@attribute x numeric\n"}
MEMBERS = {name: sha256(content) for name, content in PAYLOAD.items()}


def archived(contents: dict[str, bytes]) -> bytes:
    return zipped({f"deep/inside/{name}": content for name, content in contents.items()})


def fetch_test(server: Server, folder: Path, **options: object) -> None:
    fetch_files(address(server), MEMBERS, folder, offline_advice="Bring it yourself.", **options)


def test_downloaded_files_are_verified_and_stored_readable_only_by_their_owner(server, tmp_path):
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
        (archived(PAYLOAD)[:-30], "not a complete zip"),
    ],
    # Zip files contain the time of day, so without ids two test processes would disagree on the test's name.
    ids=["changed", "one is missing", "cut off"],
)
def test_a_download_with_wrong_contents_is_refused_and_not_stored(server, tmp_path, body, words):
    server.body = body
    with pytest.raises(DownloadError, match=words) as caught:
        fetch_test(server, tmp_path)
    assert "Bring it yourself." in str(caught.value)
    assert not any(tmp_path.iterdir())


def test_a_download_that_breaks_off_or_is_refused_raises_an_error_and_stores_nothing(server, tmp_path):
    server.body, server.announced = archived(PAYLOAD)[:100], 5000
    with pytest.raises(DownloadError, match="can't be reached, or the connection was lost"):
        fetch_test(server, tmp_path)
    server.status = 503
    with pytest.raises(DownloadError, match="HTTPError"):
        fetch_test(server, tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_download_larger_than_the_limit_is_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "MAX_ARCHIVE", 1000)
    server.body = b"x" * 20_000
    with pytest.raises(DownloadError, match="far more"):
        fetch_test(server, tmp_path)


def test_an_offline_download_fails_with_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        # The port is bound but nobody listens, so the connection is refused.
        served_at(f"http://127.0.0.1:{taken.getsockname()[1]}/crime.zip", "crime", monkeypatch)
        monkeypatch.delenv("FAIRDASH_DATA", raising=False)
        assert not CRIME.is_local()
        with pytest.raises(DownloadError, match="Connect to the internet") as caught:
            load_crime()
    assert "FAIRDASH_DATA" in str(caught.value)


@pytest.mark.data
def test_the_crime_data_have_the_papers_roles_and_columns(real_data: Path) -> None:
    dataset = load_crime()
    assert (dataset.roles.target, dataset.roles.sensitive) == (CRIME_TARGET, (CRIME_SENSITIVE,))
    assert CRIME_SENSITIVE not in dataset.features
    assert (dataset.features.shape, dataset.features.isna().sum().sum()) == ((1994, 99), 1)
    assert dataset.target.mean() == pytest.approx(0.2380, abs=5e-5)
    assert "22 columns left out, because more than half of their cells are missing." in dataset.notes
    assert dataset.meanings["medIncome"].startswith("median household income")
