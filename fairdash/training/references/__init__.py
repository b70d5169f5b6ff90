"""Reference prices that are told the sensitive attribute: never to be mixed with models that don't see it.

>>> import numpy as np
>>> s = np.linspace(0.0, 1.0, 400)
>>> y_pred = 3 * s + np.sin(np.arange(400))
>>> fair = fit_barycentre(y_pred, s).predict(y_pred, s)
>>> bool(abs(np.corrcoef(fair, s)[0, 1]) < 0.05), bool(np.isclose(fair.mean(), y_pred.mean()))
(True, True)
"""

from fairdash.training.references.barycentre import Barycentre, fit_barycentre, price_of_independence
from fairdash.training.references.discrimination_free import (
    DEFAULT_STRENGTHS,
    SensitiveNodes,
    barycentre_predictions,
    discrimination_free,
    discrimination_free_predictions,
    sensitive_nodes,
)
from fairdash.training.references.registry import REFERENCES, Reference

__all__ = [
    "DEFAULT_STRENGTHS",
    "REFERENCES",
    "Barycentre",
    "Reference",
    "SensitiveNodes",
    "barycentre_predictions",
    "discrimination_free",
    "discrimination_free_predictions",
    "fit_barycentre",
    "price_of_independence",
    "sensitive_nodes",
]
