"""The data of a command: what is a feature of a file where nobody says so."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from fairdash.data.dataset import Dataset
from fairdash.data.shell import add_data_options, dataset_of
from fairdash.errors import OptionError
from tests.data.test_suggestion import claims


def data_of(*words: str, folder: Path) -> Dataset:
    file = folder / "claims.csv"
    claims().assign(PolicyNo=[7, 8] * 200, share=[f"{k % 90} %" for k in range(400)]).to_csv(
        file, index=False
    )
    parser = argparse.ArgumentParser()
    add_data_options(parser)
    told = ["--file", str(file), "--predict", "ClaimAmount", "--sensitive", "DrivAge"]
    return dataset_of(parser.parse_args([*told, *words]))


def test_what_gives_the_target_away_is_no_feature_unless_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = data_of(folder=tmp_path)
    assert dataset.roles.features == ("PriorClaims", "VehPower", "share")
    assert dataset.label("share") == "share (%)"
    said = capsys.readouterr()
    assert said.out == ""
    assert "“ClaimInd” is no feature: it is 0 exactly where the target is." in said.err
    assert "“PolicyNo” is no feature: names policies or people." in said.err
    dataset = data_of("--features", "VehPower", "ClaimInd", folder=tmp_path)
    assert dataset.roles.features == ("VehPower", "ClaimInd")
    assert capsys.readouterr().err == ""


def test_a_feature_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="Powre"):
        data_of("--features", "Powre", folder=tmp_path)
