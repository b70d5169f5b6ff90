"""Public names, the command line's words, and committed studies: see the package's docstring."""

from __future__ import annotations

import pytest

from fairdash.lab.paper import committed, read_result
from tests.golden.texts import HERE, help_of_every_command, public_names


@pytest.mark.parametrize("text", ["names", "help"])
def test_public_names_and_help_are_those_written_down(text: str) -> None:
    now = {"names": public_names, "help": help_of_every_command}[text]()
    assert now == (HERE / f"{text}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("study", committed())
def test_a_committed_study_opens(study: str) -> None:
    result = read_result(study)
    assert result.study == study
    assert result.tables
    assert all(len(table) for table in result.tables.values())
