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
        assert row == pytest.approx(expected, nan_ok=True)


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


def test_find_lam_prints_what_the_api_finds(capsys):
    options = [
        "--dataset",
        "household",
        "--method",
        "hgr_spline",
        "--target",
        "hgr_kde<=0.9",
        "--lams",
        "1,2",
    ]
    assert main(["find-lam", *options, "--folds", "2", "--epochs", "4", "--device", "cpu", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    settings = fd.TrainingSettings(n_epochs=4, warm_up_epochs=1)
    choice = fd.find_lam(
        fd.load_dataset("household"),
        target="hgr_kde<=0.9",
        method="hgr_spline",
        lams=[1, 2],
        n_folds=2,
        settings=settings,
        device="cpu",
    )
    assert (printed["lam"], printed["reached"]) == (choice.lam, choice.reached)
    assert [row["lam"] for row in printed["rows"]] == [0, 1, 2]
    for row, expected in zip(printed["rows"], choice.frame.to_dict("records"), strict=True):
        assert row == pytest.approx(expected)
    assert main(["find-lam", *options[:4], "--target", "luck"]) == 2
    assert "hgr_kde<=0.05" in capsys.readouterr().err


def test_search_prints_the_candidates_and_why_one_is_best(capsys):
    options = ["--dataset", "household", "--method", "hgr_spline", "--grid", "small", "--folds", "2"]
    assert main(["search", *options, "--epochs", "2", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert out.count("32-16-8") == 12
    assert "the smallest mean of loss + 1 × excess of HGR_KDE" in out
