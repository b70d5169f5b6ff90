"""The command ``fairdash audit``: its exit status is the verdict."""

from __future__ import annotations

import json

import pytest

from fairdash.__main__ import main
from fairdash.auditing import audit as audit_module
from fairdash.auditing.evidence import AuditResult
from fairdash.cli import UNEXPECTED, auditing
from fairdash.errors import StorageError
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


def test_answers_are_printed_first_and_files_are_written_all_the_same(tmp_path, capsys, monkeypatch):
    table = tmp_path / "policies.csv"
    policies(150).to_csv(table, index=False)
    command = ["audit", str(table), *COLUMNS, "--question", "1"]
    assert main([*command, "--out", str(table / "out.zip")]) == 2
    said = capsys.readouterr()
    assert "1. Does the price follow it?" in said.out
    assert "Choose another place than" in said.err

    def hang_up(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr(auditing, "say", hang_up)
    # A pipe that broke elsewhere: the reader of the answers is still there.
    assert main([*command, "--out", str(tmp_path / "out.zip")]) == UNEXPECTED
    assert AuditResult.load(tmp_path / "out.zip").n == 150


def test_an_earlier_audit_that_is_not_there_is_refused_before_anything_is_computed(
    tmp_path, capsys, monkeypatch
):
    table, earlier = tmp_path / "policies.csv", str(tmp_path / "earlier.zip")
    policies(150).to_csv(table, index=False)
    monkeypatch.setattr(auditing, "carry_out", None)
    monkeypatch.setattr(audit_module, "carry_out", None)
    assert main(["audit", str(table), *COLUMNS, "--against", earlier]) == 2
    assert "earlier.zip" in capsys.readouterr().err
    with pytest.raises(StorageError, match="earlier"):
        audit_module.audit(policies(150), price="premium", sensitive="age", against=earlier)


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
