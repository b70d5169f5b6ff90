"""A run that is done, trained once for all tests here."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fairdash.runs.store import Run


@pytest.fixture
def done(shared: Callable[[str], Path]) -> Run:
    """The run, in this test's own store."""
    (folder,) = (shared("run") / "runs").iterdir()
    shutil.copytree(folder, Run.home() / folder.name)
    return Run(folder.name)
