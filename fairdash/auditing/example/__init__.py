"""Example audit that ships with fairdash: do a GLM's premiums for pg15training depend on age and gender?

The folder of this module contains only results (sums over groups of at least 20 policies), but not the
policies. ``python -m benchmarks.audit_example`` reproduces the folder.
"""

from __future__ import annotations

from pathlib import Path

from fairdash.auditing.evidence import AuditResult

FOLDER = Path(__file__).parent


def example_audit() -> AuditResult:
    """Return the result of the example audit that ships with fairdash."""
    return AuditResult.load(FOLDER)
