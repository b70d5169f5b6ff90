"""Tariffs to file with a regulator: additive models with a penalty on dependence on sensitive features.

The terms of a tariff are levels, bands, curves and interactions. The module ``terms`` defines terms,
``choosing`` selects terms for a table, ``shape`` constrains curves, ``smoothing`` selects the smoothness of
curves, ``monotone`` measures the cost of constraints, ``fit`` fits tariffs for many weights λ of the penalty
together, ``relativities`` creates a table of relativities and computes premiums from the table, ``files``
exports the table as CSV or XLSX, ``model`` contains the estimator, and ``postprocessor`` repairs the prices
of other models. The function :func:`fairdash.tariff.path.fit_tariffs` fits a tariff for each split of the
data and each weight λ.
"""

from __future__ import annotations

from fairdash.training.methods import FAIR_TARIFF as FAIR_TARIFF


def title_of(lam: float) -> str:
    """Return the display name of the tariff with the weight λ."""
    return f"Fair tariff, λ = {lam:g}" if lam else "Tariff, λ = 0 (GLM)"
