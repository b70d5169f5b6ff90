import functools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.data import CATALOGUE, Dataset, Roles, published
from fairdash.data.published import MOTOR_TARGETS as TARGETS
from fairdash.data.published import N_POLICIES
from fairdash.data.published import motor as load_motor
from fairdash.errors import DownloadError

(FILE,) = CATALOGUE["motor"].files
#: Policies that have a cost, and those that have a claim: 21 of the latter have no cost in the file.
WITH_COST, WITH_CLAIM = 12_256, 12_277


_read_once = functools.cache(published._policies)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """R's format takes seconds to read; the file is the same in every test."""
    monkeypatch.setattr(published, "_policies", _read_once)


@pytest.fixture
def by_target(real_data: Path) -> dict[str, Dataset]:
    """Each target's data set."""
    return {target: load_motor(target=target) for target in TARGETS}


@pytest.mark.data
def test_the_papers_task(by_target: dict[str, Dataset]) -> None:
    dataset = by_target["cost"]
    assert dataset.roles == Roles(
        target="Indtppd",
        sensitive=("Age",),
        features=(
            *("Gender", "Type", "Category", "Occupation", "Group1", "Bonus", "Poldur", "Value", "Adind"),
            *("Group2", "Density"),
        ),
    )
    assert (dataset.n_rows, (dataset.target > 0).sum()) == (N_POLICIES, WITH_COST)
    assert dataset.target.mean() == pytest.approx(106.135007, abs=1e-6)
    assert dataset.target.max() == pytest.approx(12_878.36991)
    assert dataset.sensitive["Age"].agg(["min", "max"]).tolist() == [18, 75]
    assert dataset.features.notna().all(axis=None)
    assert dataset.label("Indtppd") == "cost of material claims (€)"
    assert set(dataset.table()) == set(dataset.meanings)
    assert any("pg15pricing" in note for note in dataset.notes)
    assert "88% of the policies have no cost." in dataset.notes
    assert any(note.startswith("21 policies are in the file twice") for note in dataset.notes)


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
def test_a_sample_is_seeded_and_part_of_the_whole(by_target: dict[str, Dataset]) -> None:
    whole = by_target["cost"].table()
    sample, again, other = (load_motor(n=36_311, random_state=seed) for seed in (1, 1, 2))
    assert sample.n_rows == 36_311
    assert sample.fingerprint == again.fingerprint != other.fingerprint
    assert any("36,311 of 100,021 policies" in note for note in sample.notes)
    # A subsequence: each policy at most as often as in the file, in the file's order.
    rows = iter(pd.util.hash_pandas_object(whole, index=False))
    assert all(row in rows for row in pd.util.hash_pandas_object(sample.table(), index=False))
    # A sample of the whole file, not of its beginning.
    assert sample.target.mean() == pytest.approx(whole["Indtppd"].mean(), rel=0.05)


def test_a_changed_file_on_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "motor").mkdir()
    (tmp_path / "motor" / FILE).write_bytes(b"something else")
    monkeypatch.setenv("FAIRDASH_DATA", str(tmp_path))
    with pytest.raises(DownloadError, match="checksum differs"):
        load_motor()
