import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.data import CATALOGUE, load_dataset
from fairdash.data.fetch import git_blob_id
from fairdash.data.published import CENSUS_SENSITIVE as SENSITIVE
from fairdash.data.published import CENSUS_TARGET as TARGET
from fairdash.errors import DownloadError

(TRACT_FILE,), (COUNTY_FILE,) = CATALOGUE["census"].files, CATALOGUE["census_county"].files


def table_of(n: int = 8) -> bytes:
    """A table with the tract file's columns."""
    rng = np.random.default_rng(0)
    names = (
        "CensusTract State County TotalPop Men Women Hispanic White Black Native Asian Pacific Citizen Income "
        "IncomeErr IncomePerCap IncomePerCapErr Poverty ChildPoverty Professional Service Office Construction "
        "Production Drive Carpool Transit Walk OtherTransp WorkAtHome MeanCommute Employed PrivateWork "
        "PublicWork SelfEmployed FamilyWork Unemployment"
    ).split()
    frame = pd.DataFrame(rng.uniform(1, 50, (n, len(names))), columns=names)
    frame["State"], frame["County"] = ["Ohio", "Iowa"] * (n // 2), "x"
    frame["TotalPop"] = frame["Men"] + frame["Women"]
    frame.loc[n - 1, "Income"] = np.nan
    return frame.to_csv(index=False).encode()


@pytest.mark.data
def test_counties_in_the_papers_roles(real_data: Path) -> None:
    dataset = load_dataset("census_county")
    assert dataset.n_rows == 3_218
    assert (dataset.roles.target, dataset.roles.sensitive, dataset.weight) == (TARGET, (SENSITIVE,), None)
    left_out = {"CensusId", "County", "Poverty", "ChildPoverty", "Men", "Women"}
    assert not left_out & set(dataset.features)
    # As in the authors' notebook: 30 numbers, and a column of 0 and 1 for each state, are 82 inputs.
    n_states = len(dataset.features["State"].cat.categories)
    assert dataset.features.shape[1] - 1 + n_states == 82
    raw = pd.read_csv(real_data / "census" / COUNTY_FILE).dropna()
    assert dataset.target.tolist() == raw["ChildPoverty"].tolist()
    assert dataset.sensitive[SENSITIVE].to_numpy() == pytest.approx(
        (raw["Women"] / raw["TotalPop"]).to_numpy(), rel=1e-15
    )
    assert dataset.features["Income"].tolist() == raw["Income"].tolist()
    assert set(dataset.meanings) == set(dataset.table())
    assert "2 of 3,220 counties left out: a cell is missing." in dataset.notes
    assert any("CensusId, County" in note for note in dataset.notes)


def test_a_tract_file_with_the_known_id_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = table_of()
    (tmp_path / "census").mkdir()
    (tmp_path / "census" / TRACT_FILE).write_bytes(content)
    monkeypatch.setenv("FAIRDASH_DATA", str(tmp_path))
    with pytest.raises(DownloadError, match=r"checksum differs\. Delete it"):
        load_dataset("census")
    monkeypatch.setitem(CATALOGUE["census"].files, TRACT_FILE, git_blob_id(content))
    dataset = load_dataset("census")
    assert (dataset.name, dataset.title, dataset.n_rows) == ("census", CATALOGUE["census"].title, 7)
    assert dataset.features.shape[1] == 31
    assert list(dataset.features["State"].cat.categories) == ["Iowa", "Ohio"]


def test_git_gives_the_same_id(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(table_of())
    done = subprocess.run(["git", "hash-object", str(path)], capture_output=True, text=True, check=True)
    assert git_blob_id(path.read_bytes()) == done.stdout.strip()


@pytest.mark.parametrize(("dataset_id", "file"), [("census", TRACT_FILE), ("census_county", COUNTY_FILE)])
def test_a_file_that_is_not_here_is_asked_for_in_plain_words(
    dataset_id: str, file: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAIRDASH_DATA", raising=False)
    entry = CATALOGUE[dataset_id]
    assert not entry.is_local()
    with pytest.raises(DownloadError, match=f"{file} is not on this machine") as caught:
        load_dataset(dataset_id)
    said = str(caught.value)
    assert entry.how_to_bring() in said
    for part in ("kaggle.com", "log in", str(home / "cache" / "census"), "FAIRDASH_DATA"):
        assert part in said


@pytest.mark.data
def test_a_file_handed_over_is_kept_where_it_is_found(
    real_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (real_data / "census" / COUNTY_FILE).read_bytes()
    monkeypatch.delenv("FAIRDASH_DATA")
    entry = CATALOGUE["census_county"]
    entry.keep_brought(content)
    assert entry.is_local()
    assert load_dataset("census_county").n_rows == 3_218
