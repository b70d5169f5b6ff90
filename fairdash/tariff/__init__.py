"""Tariffs for filing: additive models of levels, bands, curves and interactions, fair at a weight λ.

``terms`` says what a tariff is made of, ``choosing`` finds it for a table, ``shape`` and ``smoothing`` say
what its curves should look like, ``monotone`` what that costs, ``fit`` fits many λ as one stack,
``relativities`` writes the table that rates by itself and rates by it, ``files`` keeps it as CSV and
XLSX, and ``model`` has the estimator; ``postprocessor`` repairs any other price, by factors too.
:func:`fairdash.tariff.many.fit_tariffs` fits splits times λ.
"""

from __future__ import annotations

from fairdash.training.methods import FAIR_TARIFF as FAIR_TARIFF


def title_of(lam: float) -> str:
    """Display name of the tariff at this weight."""
    return f"Fair tariff, λ = {lam:g}" if lam else "Tariff, λ = 0 (GLM)"
