"""Complete audits that many tests read, computed once for all test processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

import fairdash as fd
from tests.auditing.test_audit import policies
from tests.shared import quick_models


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    """Use small models in all audits."""
    with quick_models():
        yield


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return policies()


@pytest.fixture(scope="session")
def whole(shared: Callable[[str], Path]) -> fd.AuditResult:
    """All questions for one price, with a rating factor and a second price."""
    return fd.AuditResult.load(shared("audit") / "a.zip")


@pytest.fixture(scope="session")
def alone(shared: Callable[[str], Path]) -> fd.AuditResult:
    """The questions that evidence and page of one price need, without questions 6 and 8, which train models."""
    return fd.AuditResult.load(shared("audit of one price") / "a.zip")
