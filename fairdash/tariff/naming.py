"""What tariffs are called among the models of a run."""

from __future__ import annotations

#: In a frame's column ``method``.
FAIR_TARIFF = "fair_tariff"


def title_of(lam: float) -> str:
    """What people call the tariff of this weight."""
    return f"Fair tariff, λ = {lam:g}" if lam else "Tariff, λ = 0 (GLM)"
