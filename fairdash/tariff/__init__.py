"""Tariffs for filing: additive models of levels, bands, curves and interactions, fair at a weight λ.

The module ``terms`` defines the terms of a tariff, ``choosing`` selects them for a table, ``shape`` and
``smoothing`` shape the curves, ``monotone`` measures the cost of constraints, ``fit`` fits many λ as one
stack, ``relativities`` writes the table of relativities and rates by it, ``files`` exports this table as CSV
and XLSX, ``model`` contains the estimator, and ``postprocessor`` repairs any other price, also by factors.
The function :func:`fairdash.tariff.path.fit_tariffs` fits a tariff for each split and λ.
"""

from __future__ import annotations

from fairdash.training.methods import FAIR_TARIFF as FAIR_TARIFF


def title_of(lam: float) -> str:
    """Return the display name of the tariff at this weight."""
    return f"Fair tariff, λ = {lam:g}" if lam else "Tariff, λ = 0 (GLM)"
