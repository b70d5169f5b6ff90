"""The command ``fairdash audit``: its exit status encodes the verdict."""

from __future__ import annotations

import json
from unittest.mock import Mock

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


@pytest.fixture
def table(tmp_path):
    """A CSV file with a small table."""
    path = tmp_path / "policies.csv"
    policies(150).rename(columns={"new": "price"}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("slope", "noise", "rows", "status", "verdict"),
    [(0.0, 0.02, 1500, 0, "below"), (0.2, 0.1, 1500, 1, "above"), (0.0, 0.6, 200, 3, "undecided")],
)
def test_the_exit_status_encodes_the_verdict(slope, noise, rows, status, verdict, table, tmp_path, capsys):
    frame = policies(rows, slope=slope, noise=noise)
    frame["premium"] /= 1 + 0.2 * (frame["zone"] == "city")
    frame.to_csv(table, index=False)
    command = ["audit", str(table), *COLUMNS, "--max-gap", "5%", "--question", "1", "--json"]
    assert main([*command, "--out", str(tmp_path / "out.zip")]) == status
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"] == said["figures"][0]["verdict"] == verdict
    assert (tmp_path / "out.zip").stat().st_size > 0


def test_answers_are_printed_if_writing_fails_and_vice_versa(table, tmp_path, capsys, monkeypatch):
    command = ["audit", str(table), *COLUMNS, "--question", "1"]
    assert main([*command, "--out", str(table / "out.zip")]) == 2
    said = capsys.readouterr()
    assert "1. Does the price follow the attribute?" in said.out
    assert "Choose a path other than" in said.err
    monkeypatch.setattr(auditing, "report_progress", Mock(side_effect=BrokenPipeError))
    # A pipe broke elsewhere, so the answers can still be printed.
    assert main([*command, "--out", str(tmp_path / "out.zip")]) == UNEXPECTED
    assert AuditResult.load(tmp_path / "out.zip").n == 150


def test_a_missing_file_of_an_earlier_audit_is_reported_before_any_computation(table, capsys, monkeypatch):
    earlier = str(table.parent / "earlier.zip")
    for module in (auditing, audit_module):
        monkeypatch.setattr(module, "execute_audit", None)
    assert main(["audit", str(table), *COLUMNS, "--against", earlier]) == 2
    assert "earlier.zip" in capsys.readouterr().err
    with pytest.raises(StorageError, match="earlier"):
        audit_module.audit(policies(150), price="premium", sensitive="age", against=earlier)


@pytest.mark.parametrize("name", few(FOUR, "age × sex", "probabilities"))
def test_the_command_audits_and_files_classes_combinations_and_probabilities(name, tmp_path, capsys):
    path = tmp_path / "people.csv"
    mixed().to_csv(path, index=False)
    said = {"region": "class_pairs", "age × sex": "crossed", "probabilities": "calibration_of_classes"}
    columns, of_classes = FOUR[name], name == "probabilities"
    option, known = ("--probability", ["--known-class", "truth"]) if of_classes else ("--sensitive", [])
    given = [word for column in columns for word in (option, column)]
    asked = ["--price", "premium", *given, *known, "--question", "1", "--question", "2"]
    out = tmp_path / f"{name}.zip"
    assert main(["audit", str(path), *asked, "--out", str(out), "--template", "nydfs"]) in (0, 1, 3)
    found = AuditResult.load(out)
    assert found.plan.columns.sensitive == columns[0]
    assert said.get(name, "classes") in found.tables
    assert columns[0] in out.with_suffix(".html").read_text(encoding="utf-8")
    # A file next to the filing asks for the texts that the user must write.
    assert b"\npurpose: " in (tmp_path / "governance.yaml").read_bytes()
