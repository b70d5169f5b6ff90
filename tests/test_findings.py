"""The scripts in findings/ have the form that their README describes; ``make findings`` runs them."""

import os
import re
from pathlib import Path

import pytest

from tests.serving import ROOT

FOLDER = ROOT / "findings"
PARTS = (
    "\n# Seen: ", "\n# Expected: ",
    '\nset -euo pipefail\nfolder=$(mktemp -d)\ntrap \'rm -rf "$folder"\' EXIT\ncd "$folder"\n',
    '\n"${PYTHON:-python3}" -m venv env\n', "\ndiff - seen.txt <<'SEEN'\n",
)  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("script", sorted(FOLDER.glob("*.sh")), ids=lambda each: each.stem)
def test_a_script_has_the_form_that_the_readme_states(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert os.access(script, os.X_OK)
    assert text.startswith("#!/usr/bin/env bash\n# Package: ")
    assert [part for part in PARTS if part not in text] == []
    (installed,) = re.findall(r"pip install (.*)", text)
    pins = [word for word in installed.split() if not word.startswith("-")]
    about = text.partition("\nset ")[0]
    for pin in pins:
        assert re.fullmatch(r"[\w-]+==\d[\w.]*", pin), pin
        assert pin.partition("==")[2] in about, f"{pin} is not said above"
    assert "fairdash" not in text


def test_the_findings_folder_holds_only_scripts_and_a_readme_and_ci_runs_none() -> None:
    assert {each.suffix for each in FOLDER.iterdir()} == {".md", ".sh"}
    assert "$$script" in (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nfindings:\n")[2]
    for file in (".ci/run", ".github/workflows/ci.yml"):
        assert "findings" not in (ROOT / file).read_text(encoding="utf-8")
