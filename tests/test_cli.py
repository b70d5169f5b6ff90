"""The command line does what the pages do."""

from __future__ import annotations

import json

import pytest

import fairdash as fd
from fairdash.__main__ import main


def test_sweep_prints_json_that_holds_what_the_api_gives(real_data, capsys):
    options = ["--dataset", "crime", "--objective", "demographic_parity", "--lams", "0,1"]
    assert main(["sweep", *options, "--splits", "2", "--epochs", "8", "--device", "cpu", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["dataset"] == "crime"
    assert printed["sweep"]["lams"] == [0, 1]
    settings = fd.TrainingSettings(
        **{k: tuple(v) if isinstance(v, list) else v for k, v in printed["sweep"]["settings"].items()}
    )
    result = fd.sweep(fd.load_dataset("crime"), lams=[0, 1], n_splits=2, settings=settings, device="cpu")
    assert len(printed["rows"]) == len(result.frame) == 12
    for row, expected in zip(printed["rows"], result.frame.to_dict("records"), strict=True):
        # JSON has no NaN: what training rows lack, their floor, is null.
        numbers = {name: float("nan") if value is None else value for name, value in row.items()}
        assert numbers == pytest.approx(expected, nan_ok=True)


def test_sweep_prints_a_table(capsys):
    assert main(["sweep", "--dataset", "household", "--lams", "1", "--splits", "1", "--epochs", "4"]) == 0
    out = capsys.readouterr().out
    assert "hgr_kde_floor" in out
    assert "standard" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dataset", "moon"], "household"),
        (["--dataset", "household", "--lams", "-1"], "negative"),
        (["--dataset", "household", "--objective", "luck"], "demographic_parity"),
        (["--dataset", "household", "--measures", "love"], "hgr_kde"),
    ],
)
def test_an_option_that_makes_no_sense_is_said_plainly(options, words, capsys):
    assert main(["sweep", *options]) == 2
    assert words in capsys.readouterr().err
