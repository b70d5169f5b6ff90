"""One whole audit, which many tests read: its ten questions take ten seconds."""

from __future__ import annotations

import pandas as pd
import pytest

import fairdash as fd
from tests.auditing.test_audit import ROLES, policies


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return policies(1_500)


@pytest.fixture(scope="session")
def whole(frame: pd.DataFrame) -> fd.AuditResult:
    """Every question of one price, with a factor and a second price."""
    return fd.audit(frame, **ROLES, controls=["zone"], candidate="new")


@pytest.fixture(scope="session")
def alone(frame: pd.DataFrame) -> fd.AuditResult:
    """What one price's evidence and page need, without the models of questions 6 and 8."""
    return fd.audit(frame, **ROLES, controls=["zone"], questions=(1, 2, 3, 4, 5, 7, 9))
