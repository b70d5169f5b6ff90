"""The dry run of a release, as docs/releasing.md has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docs.making.release import check, install_and_ask
from fairdash import __version__
from tests.serving import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.fresh]


def test_what_would_be_uploaded_is_built_checked_and_installed(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-d", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    assert install_and_ask(check(tmp_path)) == f"fairdash {__version__}"


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="One wheel and one source distribution"):
        check(tmp_path)
