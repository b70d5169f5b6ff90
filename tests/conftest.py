"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets; the test is skipped where there is none, unless it is required."""
    folder = os.environ.get("FAIRDASH_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    if "data" in os.environ.get("FAIRDASH_REQUIRE", "").split(","):
        pytest.fail("FAIRDASH_REQUIRE asks for the real data sets, but FAIRDASH_DATA names no folder")
    pytest.skip("needs the real data sets: set FAIRDASH_DATA to their folder")
