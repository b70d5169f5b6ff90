import functools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.data import CATALOGUE, CatalogueSource, Dataset, Roles, published
from fairdash.data.published import CLAIMS, N_POLICIES
from fairdash.data.published import MOTOR_TARGETS as TARGETS
from fairdash.data.published import motor as load_motor
from fairdash.errors import DownloadError
from tests.data.publisher import Server, address, served_at

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
    assert dataset.n_rows == N_POLICIES
    assert (dataset.target > 0).sum() == WITH_COST
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
    assert (counts.round() > 0).sum() == WITH_CLAIM
    assert counts.sum() == pytest.approx(14_748)
    by_year = by_target["cost_per_year"]
    assert (by_year.target * by_year.weight).to_numpy() == pytest.approx(cost.target.to_numpy())
    for dataset in (frequency, by_year):
        assert dataset.features.equals(cost.features)
        assert set(dataset.table()) == set(dataset.meanings)
    assert cost.weight is None


@pytest.mark.data
def test_poisson_deviance_of_weighted_rates_is_that_of_the_counts(by_target: dict[str, Dataset]) -> None:
    from sklearn.metrics import mean_poisson_deviance

    rates = by_target["frequency"]
    y, w = rates.target.to_numpy(), rates.weight.to_numpy()
    mu = np.random.default_rng(0).uniform(0.05, 0.4, len(y))
    by_rate = mean_poisson_deviance(y, mu, sample_weight=w) * w.sum()
    assert by_rate == pytest.approx(mean_poisson_deviance((y * w).round(), w * mu) * len(y), rel=1e-12)


@pytest.mark.data
def test_nothing_that_the_year_brought_is_in_the_table(by_target: dict[str, Dataset]) -> None:
    for target, dataset in by_target.items():
        left = set(dataset.table()) - {TARGETS[target][0], "Years"}
        assert not left & {*CLAIMS, "Exppdays", "PolNum", "CalYear"}
        # No feature is a claim in disguise: the best of them says little of the target.
        numbers = dataset.features.select_dtypes("number")
        assert numbers.corrwith(dataset.target, method="spearman").abs().max() < 0.3


@pytest.mark.data
def test_categories_carry_all_levels_even_in_a_sample(real_data: Path) -> None:
    whole, sample = load_motor(subregion="keep"), load_motor(subregion="keep", n=200)
    for name, n_levels in {
        "Gender": 2, "Type": 6, "Category": 3, "Occupation": 5, "SubGroup2": 471, "Group2": 10
    }.items():  # fmt: skip
        assert len(sample.features[name].cat.categories) == n_levels
        assert sample.features[name].dtype == whole.features[name].dtype
    # The reason that the loader gives for leaving it out.
    assert (whole.features.groupby("SubGroup2", observed=True)["Density"].nunique() == 1).all()
    assert whole.features["Density"].nunique() == 471


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


@pytest.mark.data
def test_other_roles_for_the_motor_set_keep_its_exposure(real_data: Path) -> None:
    options = {"target": "frequency", "n": 1000}
    roles = Roles(target="ClaimsPerYear", sensitive=("Density",), features=("Age", "Bonus"), weight="Years")
    dataset = CatalogueSource(dataset="motor", options=options, roles=roles).load()
    assert dataset.roles == roles
    assert dataset.units["Years"] == "years"
    assert dataset.weight.equals(load_motor(**options).weight)


@pytest.mark.data
def test_fetched_once_then_found(
    server: Server, real_data: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.body = (real_data / "motor" / FILE).read_bytes()
    served_at(address(server), "motor", monkeypatch)
    monkeypatch.delenv("FAIRDASH_DATA")
    assert not CATALOGUE["motor"].is_local()
    seen: list[tuple[int, int | None]] = []
    first = load_motor(n=100, progress=lambda done, total: seen.append((done, total)))
    assert CATALOGUE["motor"].is_local()
    assert load_motor(n=100).fingerprint == first.fingerprint
    assert server.requests_seen == 1
    assert seen[-1] == (len(server.body), len(server.body))
    assert (home / "cache" / "motor" / FILE).is_file()


@pytest.mark.parametrize("body", [b"<html>a notice from the hotel's network</html>", b""])
def test_a_server_that_sends_something_else(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    server.body = body
    served_at(address(server), "motor", monkeypatch)
    monkeypatch.delenv("FAIRDASH_DATA", raising=False)
    with pytest.raises(DownloadError, match="has changed: its checksum is not the expected one") as caught:
        load_motor()
    assert "FAIRDASH_DATA" in str(caught.value)
    assert not CATALOGUE["motor"].is_local()


def test_a_changed_file_on_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "motor").mkdir()
    (tmp_path / "motor" / FILE).write_bytes(b"something else")
    monkeypatch.setenv("FAIRDASH_DATA", str(tmp_path))
    with pytest.raises(DownloadError, match="checksum differs"):
        load_motor()
