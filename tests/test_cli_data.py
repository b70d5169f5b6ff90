"""The data of a command: what is a feature of a file where nobody says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.cli.training import DataOptions
from fairdash.data.dataset import Dataset
from fairdash.data.leaks import BOUNDS
from fairdash.errors import OptionError
from tests.data.test_suggestion import claims


def data_of(*features: str, folder: Path) -> Dataset:
    file = folder / "claims.csv"
    claims().assign(PolicyNo=[7, 8] * 200, share=[f"{k % 90} %" for k in range(400)]).to_csv(
        file, index=False
    )
    told = DataOptions(file=file, predict="ClaimAmount", sensitive=("DrivAge",), features=features)
    return told.load()


def test_what_gives_the_target_away_is_no_feature_unless_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = data_of(folder=tmp_path)
    assert dataset.roles.features == ("PriorClaims", "VehPower", "share")
    assert dataset.label("share") == "share (%)"
    said = capsys.readouterr()
    assert said.out == ""
    assert "“ClaimInd” is not used as a feature: it is 0 exactly where the target is." in said.err
    assert "“PolicyNo” is not used as a feature: names policies or people." in said.err
    dataset = data_of("VehPower", "ClaimInd", folder=tmp_path)
    assert dataset.roles.features == ("VehPower", "ClaimInd")
    assert capsys.readouterr().err == ""


def test_what_looks_too_good_is_said_before_anything_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    count = rng.poisson(0.2, 3000)
    table = pd.DataFrame({"DrivAge": rng.integers(18, 80, 3000), "VehPower": rng.integers(4, 12, 3000)})
    begin = rng.integers(12_000, 12_300, 3000)
    years = rng.choice([0.25, 0.5, 1.0], 3000)
    table = table.assign(ClaimNb=count, calls=rng.poisson(0.02 + 4 * count), from_day=begin)
    table.assign(to_day=begin + 365 * years, years=years).to_csv(tmp_path / "t.csv", index=False)
    told = DataOptions(file=tmp_path / "t.csv", predict="ClaimNb", sensitive=("DrivAge",), exposure="years")
    dataset = told.load()
    assert dataset.roles.features == ("VehPower", "calls")
    said = capsys.readouterr().err
    assert "“calls” looks too good to be true: it alone explains" in said
    assert f"“from_day” is not used as a feature: {BOUNDS}." in said
    assert f"“to_day” gives the target away and is not a feature: {BOUNDS}." in dataset.notes


def test_a_feature_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="Powre"):
        data_of("Powre", folder=tmp_path)
