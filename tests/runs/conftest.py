"""A run that is done, trained once for all tests here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fairdash.runs.store import Run
from tests.runs.finished import finished


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRDASH_HOME", str(tmp_path_factory.mktemp("away")))
        run = finished()
        run.rename("A name: ![x](http://evil.example)")
        return run.folder


@pytest.fixture
def done(_template: Path) -> Run:
    """The run, in this test's own store."""
    shutil.copytree(_template, Run.home() / _template.name)
    return Run(_template.name)
