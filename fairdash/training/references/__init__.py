"""Reference prices that, unlike the fair models, use the sensitive attribute for new prices or in training.

>>> import numpy as np
>>> s = np.linspace(0.0, 1.0, 400)
>>> y_pred = 3 * s + np.sin(np.arange(400))
>>> fair = fit_barycentre(y_pred, s).predict(y_pred, s)
>>> bool(abs(np.corrcoef(fair, s)[0, 1]) < 0.05), bool(np.isclose(fair.mean(), y_pred.mean()))
(True, True)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairdash.training.references.barycentre import Barycentre, fit_barycentre, price_of_independence
from fairdash.training.references.discrimination_free import (
    DEFAULT_STRENGTHS,
    barycentre_predictions,
    discrimination_free,
    discrimination_free_predictions,
    sensitive_nodes,
)
from fairdash.utils.registry import by_id

__all__ = [
    "DEFAULT_STRENGTHS",
    "REFERENCES",
    "Barycentre",
    "Reference",
    "barycentre_predictions",
    "discrimination_free",
    "discrimination_free_predictions",
    "fit_barycentre",
    "price_of_independence",
    "sensitive_nodes",
]


#: Ids of repaired tree models that use s, or do not use s, for new prices.
REPAIR, REPAIR_PROJECTED = "repair", "repair_projected"


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Price that uses the sensitive attribute or is repaired along it, for comparison with fair models.

    Parameters
    ----------
    id
        Name in the API, which differs from the ids of methods.
    title
        Display name, which states how s is used.
    label
        Short label for points in a chart.
    meaning
        Description in one or two sentences.
    limits
        Limitations, in plain words.
    objective
        Id in :data:`fairdash.training.settings.OBJECTIVES` of the objective in whose charts the reference is
        shown.
    is_curve
        Whether the reference has a strength from 0 to 1 and thus a curve, instead of one point per split.
    source
        Publication.
    """

    id: str
    title: str
    label: str
    meaning: str
    limits: str
    objective: str
    is_curve: bool
    source: str


REFERENCES: Mapping[str, Reference] = by_id(
    Reference(
        id="barycentre",
        title="Reference (uses s): Wasserstein barycentre",
        label="uses s: barycentre",
        meaning="Starts from a model that uses s. Each prediction keeps its rank among people with the same "
        "s, and gets the value at this rank in one common distribution. This is the smallest change, in mean "
        "square, that makes predictions independent of s. A partial strength makes part of the change.",
        limits="It needs everyone's s to set a price. A model trained on one measure can have a lower "
        "error at the same value of this measure, even without s, because it lowers only the "
        "dependence that this measure detects. At independence it can't.",
        objective="demographic_parity",
        is_curve=True,
        source="Chzhen et al. (2020), “Fair regression with Wasserstein barycenters”; "
        "Le Gouic et al. (2020), “Projection to fairness in statistical learning”",
    ),
    Reference(
        id="discrimination_free",
        title="Reference (uses s): discrimination-free premium",
        label="uses s: discrimination-free",
        meaning="Fits a model of the features and s, then averages it over the distribution of s in the "
        "whole population.",
        limits="It removes only the direct use of s. Features that follow s still affect the premium, so "
        "predictions may depend on s.",
        objective="demographic_parity",
        is_curve=False,
        source="Lindholm, Richman, Tsanakas, Wüthrich (2022), “Discrimination-free insurance pricing”",
    ),
    Reference(
        id=REPAIR,
        title="Reference (uses s): repaired trees",
        label="uses s: repaired trees",
        meaning="Boosted trees that do not use s, and the barycentre of their prices, as "
        "fd.FairPostprocessor repairs any existing model.",
        limits="It needs everyone's s to set a price.",
        objective="demographic_parity",
        is_curve=True,
        source="Chzhen et al. (2020), “Fair regression with Wasserstein barycenters”",
    ),
    Reference(
        id=REPAIR_PROJECTED,
        title="Reference (learns from s): repaired trees without s",
        label="repaired trees without s",
        meaning="The mean repaired price of people with the same features, for prices that may not use s.",
        limits="It still follows s if the features reveal only part of s.",
        objective="demographic_parity",
        is_curve=True,
        source="Côté, Côté, Charpentier (2025), on the hyperaware premium; fairdash",
    ),
)
