"""Reference prices, which use the sensitive attribute for new prices or are repaired to be independent of it.

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


#: Ids of repaired prices of boosted trees. `REPAIR` uses s for new prices; `REPAIR_PROJECTED` does not.
REPAIR, REPAIR_PROJECTED = "repair", "repair_projected"


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Reference price, for comparison with fair models.

    Parameters
    ----------
    id
        Id of the reference, different from the ids of methods.
    title
        Display name, which states how the reference uses s.
    label
        Short label for charts.
    meaning
        Description in one or two sentences.
    limits
        Description of the limitations.
    objective
        Id in :data:`fairdash.training.settings.OBJECTIVES`; charts for this objective show the reference.
    is_curve
        True if charts show the reference as a curve over strengths from 0 to 1, instead of one point per
        split.
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
        meaning="Starts from a model that uses s. Every prediction keeps its rank among people with the same "
        "s, and is replaced by the value with this rank in a distribution common to all people. No other "
        "change that makes predictions independent of s has a smaller mean square. With a strength below 1, "
        "only this share of the change is applied.",
        limits="A price can only be computed for people whose s is known. A model that is trained with a "
        "penalty only reduces dependence that the penalty's measure detects. At the same value of this "
        "measure, its error can be smaller, even without s. At independence, its error cannot be smaller.",
        objective="demographic_parity",
        is_curve=True,
        source="Chzhen et al. (2020), “Fair regression with Wasserstein barycenters”; "
        "Le Gouic et al. (2020), “Projection to fairness in statistical learning”",
    ),
    Reference(
        id="discrimination_free",
        title="Reference (uses s): discrimination-free premium",
        label="uses s: discrimination-free",
        meaning="Fits a model of the features and s, and averages its predictions over the distribution of s "
        "in the whole population.",
        limits="Only the direct use of s is removed. Features that depend on s still affect the premium, so "
        "the premium may depend on s.",
        objective="demographic_parity",
        is_curve=False,
        source="Lindholm, Richman, Tsanakas, Wüthrich (2022), “Discrimination-free insurance pricing”",
    ),
    Reference(
        id=REPAIR,
        title="Reference (uses s): repaired trees",
        label="uses s: repaired trees",
        meaning="Trains boosted trees without s, and replaces their prices by the Wasserstein barycentre, as "
        "fd.FairPostprocessor does for any model.",
        limits="A price can only be computed for people whose s is known.",
        objective="demographic_parity",
        is_curve=True,
        source="Chzhen et al. (2020), “Fair regression with Wasserstein barycenters”",
    ),
    Reference(
        id=REPAIR_PROJECTED,
        title="Reference (learns from s): repaired trees without s",
        label="repaired trees without s",
        meaning="Predicts the repaired price of the trees from the features, for prices that must not use s.",
        limits="If the features predict s only partly, the price still depends on s.",
        objective="demographic_parity",
        is_curve=True,
        source="Côté, Côté, Charpentier (2025), on the hyperaware premium; fairdash",
    ),
)
