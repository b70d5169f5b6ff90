"""Example audit that ships with fairdash: a GLM's premiums on pg15training, against age and gender.

This folder contains the results as sums over groups of 20 policies or more, without the policies. ``python -m
benchmarks.audit_example`` reproduces it.
"""

from __future__ import annotations

from pathlib import Path

from fairdash.auditing.evidence import AuditResult

FOLDER = Path(__file__).parent


def example_audit() -> AuditResult:
    """Return the result of the example audit."""
    return AuditResult.load(FOLDER)
