"""The command ``fairdash audit``: its exit status is the verdict."""

from __future__ import annotations

import json

import pytest

from fairdash.__main__ import main
from fairdash.auditing.evidence import AuditResult
from tests.auditing.test_audit import policies
from tests.auditing.test_classes import FOUR, mixed
from tests.tiers import few

COLUMNS = ["--price", "premium", "--sensitive", "age", "--exposure", "years"]


@pytest.mark.parametrize(
    ("slope", "noise", "rows", "status", "verdict"),
    [(0.0, 0.02, 1500, 0, "below"), (0.2, 0.1, 1500, 1, "above"), (0.0, 0.6, 200, 3, "undecided")],
)
def test_the_exit_status_is_the_verdict(slope, noise, rows, status, verdict, tmp_path, capsys):
    table = tmp_path / "policies.csv"
    frame = policies(rows, slope=slope, noise=noise)
    frame["premium"] /= 1 + 0.2 * (frame["zone"] == "city")
    frame.to_csv(table, index=False)
    command = ["audit", str(table), *COLUMNS, "--max-gap", "5%", "--question", "1", "--json"]
    assert main([*command, "--out", str(tmp_path / "out.zip")]) == status
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"] == said["verdicts"][0]["verdict"] == verdict
    assert (tmp_path / "out.zip").stat().st_size > 0


@pytest.mark.parametrize("name", few(FOUR, "age × sex", "probabilities"))
def test_classes_crossings_and_probabilities_reach_the_filing(name, tmp_path, capsys):
    path = tmp_path / "people.csv"
    mixed().to_csv(path, index=False)
    said = {"region": "class_pairs", "age × sex": "crossed", "probabilities": "calibration_of_classes"}
    columns = FOUR[name]
    option = "--probability" if name == "probabilities" else "--sensitive"
    given = [word for column in columns for word in (option, column)]
    known = ["--known-class", "truth"] if name == "probabilities" else []
    asked = ["--price", "premium", *given, *known, "--question", "1", "--question", "2"]
    out = tmp_path / f"{name}.zip"
    assert main(["audit", str(path), *asked, "--out", str(out), "--template", "nydfs"]) in (0, 1, 3)
    assert AuditResult.load(out).plan.columns.sensitive == columns[0]
    assert said.get(name, "classes") in AuditResult.load(out).tables
    assert columns[0] in out.with_suffix(".html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--price", "prize"], "price"),
        (["--criterion", "sufficiency"], "without outcome"),
        (["--max-gap", "500%"], "not a share of the mean price"),
    ],
)
def test_bad_input_is_2(more, words, tmp_path, capsys):
    table = tmp_path / "policies.csv"
    policies(150).rename(columns={"new": "price"}).to_csv(table, index=False)
    assert main(["audit", str(table), *COLUMNS, *more]) == 2
    assert words in capsys.readouterr().err
