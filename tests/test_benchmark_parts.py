"""Benchmarks in parts: the combined rows of separate processes equal the results of one process."""

import argparse
from functools import partial

import pandas as pd
import pytest

from benchmarks import parts


def measured(name, seeds):
    return pd.DataFrame({"table": name, "seed": seeds, "error": [k**2 for k in seeds]})


def means(rows):
    return rows.groupby("table", sort=False)["error"].agg(["mean", "size"]).reset_index()


def run(argv, path):
    def work(options):
        for name in ("crime", "motor"):
            yield name, partial(measured, name, range(options.first, options.first + options.splits))

    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--first", type=int, default=0)
    parts.run(parser, [str(each) for each in argv], work, means, path, by="table")


def test_results_of_a_benchmark_run_in_parts_equal_those_of_a_single_process(tmp_path):
    run([], tmp_path / "whole.csv")
    files = [tmp_path / f"{k}.csv" for k in range(4)]
    for k, (name, first) in enumerate([("crime", 0), ("crime", 2), ("motor", 0), ("motor", 2)]):
        run(["--only", name, "--splits", 2, "--first", first, "--out", files[k]], tmp_path / "none.csv")
    assert not (tmp_path / "none.csv").exists()
    run(["--combine", *files], tmp_path / "parts.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "parts.csv"), pd.read_csv(tmp_path / "whole.csv"))


def test_a_partial_benchmark_run_keeps_stored_results_of_other_tables(tmp_path):
    path = tmp_path / "results.csv"
    run([], path)
    run(["--table", "motor", "--splits", 2], path)
    assert pd.read_csv(path).set_index("table")["size"].to_dict() == {"crime": 4, "motor": 2}
    with pytest.raises(SystemExit):
        run(["--only", "claims"], path)
