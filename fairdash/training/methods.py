"""Registry of training methods, which differ only in their penalty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from fairdash.errors import OptionError
from fairdash.utils.registry import by_id

if TYPE_CHECKING:
    from fairdash.training.penalties.base import BasePenalty

#: Id of the method that has no penalty.
STANDARD = "standard"
#: Id of tariffs (:mod:`fairdash.tariff`). A run may train tariffs, networks or both.
FAIR_TARIFF = "fair_tariff"
#: Default fair method, which is the fastest one. At the same error, its models are as fair as models of the
#: adversarial methods, according to measures other than its penalty (docs/training.md).
DEFAULT_METHOD = "hgr_spline"
#: Value of `together` for methods that combine all attributes; no table has so many attributes.
ALL = 1_000


@dataclass(frozen=True, kw_only=True)
class Method:
    """Method that trains a fair regressor.

    Parameters
    ----------
    id
        Id of the method.
    title
        Display name.
    meaning
        Description in one sentence.
    penalty
        Location ``"module:class"`` of the class of the penalty Ψ, or None if there is no penalty.
    source
        Publication of the method.
    multivariate
        True if the method accepts several sensitive columns at once.
    together
        Maximum number of sensitive attributes that the penalty combines. The penalty detects dependence of
        predictions on a combination of so many attributes, even if predictions depend on no single attribute.
    adversarial
        True if the penalty trains adversary networks, for which a plan has separate settings.
    selection_measure
        Id of the fast measure with which a search compares models of the method. The measure detects every
        kind of dependence in benchmarks/judges.py, and differs clearly from the penalty of the method.
    rows_a_step
        Minimum number of rows in a mini-batch, if there are enough training rows. With fewer rows, Ψ would
        consist mostly of noise.
    """

    id: str
    title: str
    meaning: str
    penalty: str | None
    source: str
    multivariate: bool = True
    together: int = 1
    adversarial: bool = False
    selection_measure: str = "hgr_spline"
    rows_a_step: int = 0

    def penalty_class(self) -> type[BasePenalty] | None:
        """Import and return the class of the penalty Ψ, or return None for a method without a penalty."""
        if self.penalty is None:
            return None
        module, name = self.penalty.split(":")
        penalty: type[BasePenalty] = getattr(import_module(module), name)
        return penalty


METHODS: Mapping[str, Method] = by_id(
    Method(
        id="standard",
        title="Standard network",
        meaning="Minimises only the error and ignores the sensitive attribute.",
        penalty=None,
        source="Grari et al., baseline “Standard NN”",
    ),
    Method(
        id="hgr_nn",
        title="Fair HGR network",
        meaning="Learns predictions that an adversary network can't relate to the sensitive attribute.",
        penalty="fairdash.training.penalties.adversarial:HGRPenalty",
        adversarial=True,
        together=ALL,
        source="Grari et al., supplement, Algorithm “Fair HGR NN”",
    ),
    Method(
        id="hgr_spline",
        title="Fair spline network",
        meaning="Reduces the strongest correlation between a smooth function of the prediction and a smooth "
        "function of the sensitive attribute. Needs no adversary.",
        penalty="fairdash.training.penalties.closed_forms:SplineHGRPenalty",
        together=2,
        source="fairdash; first canonical correlation (Hotelling 1936) of smooth functions, as a "
        "lower bound of HGR",
        selection_measure="hgr_kde_scores",
    ),
    Method(
        id="cca_spline",
        title="Fair correlations network",
        meaning="Reduces all correlations between smooth functions of the prediction and of the sensitive "
        "attribute, computed on large batches. Needs no adversary.",
        penalty="fairdash.training.penalties.closed_forms:CanonicalPenalty",
        together=2,
        source="fairdash; sum of squared canonical correlations (Pillai 1955) of smooth functions, "
        "the smooth part of χ² (Lancaster 1958)",
        selection_measure="hgr_kde_scores",
        rows_a_step=2048,
    ),
    Method(
        id="chi2_nn",
        title="Fair χ² network",
        meaning="Learns predictions in which an adversary network finds no χ² dependence, a measure in which "
        "strong dependence counts most.",
        penalty="fairdash.training.penalties.adversarial:Chi2Penalty",
        adversarial=True,
        together=ALL,
        source="Grari et al., Algorithm 1, and supplement, Algorithm “Fair χ² NN”",
    ),
    Method(
        id="chi2_kde",
        title="Fair KDE network",
        meaning="Reduces the χ² divergence between the smoothed joint distribution and independence. Needs "
        "no adversary.",
        penalty="fairdash.training.penalties.closed_forms:KDEPenalty",
        source="Mary et al. 2019, “Fairness-aware learning for continuous attributes and "
        "treatments”; baseline “Mary2019” of Grari et al.",
        multivariate=False,
    ),
    Method(
        id="mine",
        title="Fair MINE network",
        meaning="Learns predictions in which an adversary network finds no mutual information with the "
        "sensitive attribute.",
        penalty="fairdash.training.penalties.adversarial:MINEPenalty",
        adversarial=True,
        together=ALL,
        source="Belghazi et al. 2018, “Mutual information neural estimation”; baseline “Fair MINE "
        "NN” of Grari et al.",
    ),
    Method(
        id="jdcov",
        title="Fair joint distance network",
        meaning="Reduces the distance covariance of the prediction with every sensitive attribute and with "
        "combinations of attributes. Needs no adversary.",
        penalty="fairdash.training.penalties.joint:JointDistancePenalty",
        together=3,
        source="Lee, Antonio, Avanzi, Marchi and Zhou (2025), arXiv 2509.08163: JdCov",
    ),
    Method(
        id="ccdcov",
        title="Fair distance network",
        meaning="Reduces the distance covariance of the prediction with the vector of all sensitive "
        "attributes. Needs no adversary.",
        penalty="fairdash.training.penalties.joint:ConcatenatedDistancePenalty",
        together=ALL,
        source="Lee, Antonio, Avanzi, Marchi and Zhou (2025), arXiv 2509.08163: CCdCov",
    ),
    Method(
        id="gedi",
        title="Fair GeDI network",
        meaning="Fits a cubic polynomial of the sensitive attribute to the predictions, and reduces its "
        "coefficients.",
        penalty="fairdash.training.penalties.rivals:GeDIPenalty",
        source="Giuliani, Misino and Lombardi 2023, “Generalized disparate impact for configurable fairness "
        "solutions in ML”",
        multivariate=False,
    ),
    Method(
        id="gdp",
        title="Fair averages network",
        meaning="Reduces the mean difference between the average prediction at each value of the sensitive "
        "attribute and the overall average prediction.",
        penalty="fairdash.training.penalties.rivals:GDPPenalty",
        source="Jiang et al. 2022, “Generalized demographic parity for group fairness”",
        multivariate=False,
    ),
    Method(
        id="eipm",
        title="Fair MMD network",
        meaning="Reduces the mean distance between the distribution of predictions at each value of the "
        "sensitive attribute and the overall distribution of predictions.",
        penalty="fairdash.training.penalties.rivals:EIPMPenalty",
        source="Kong, Kim and Kim 2025, “Fair representation learning for continuous sensitive attributes "
        "using expectation of integral probability metrics” (FREM), applied to the prediction instead of "
        "a representation",
        multivariate=False,
    ),
    Method(
        id="hsic",
        title="Fair HSIC network",
        meaning="Reduces the covariances between the prediction and smooth functions of the sensitive "
        "attribute, combined by a kernel.",
        penalty="fairdash.training.penalties.rivals:HSICPenalty",
        source="Pérez-Suay et al. 2017, “Fair kernel learning”: HSIC with a linear kernel of the predictions",
        multivariate=False,
    ),
    Method(
        id="pearson",
        title="Fair linear network",
        meaning="Reduces only the linear correlation between the prediction and the sensitive attribute.",
        penalty="fairdash.training.penalties.closed_forms:PearsonPenalty",
        source="Pearson's ρ as the penalty of the generic problem of Grari et al.",
    ),
)
#: Methods whose models a run compares: all methods for networks, and tariffs.
PATHS: Mapping[str, Method] = MappingProxyType(
    {
        **METHODS,
        FAIR_TARIFF: Method(
            id=FAIR_TARIFF,
            title="Fair tariff",
            meaning="Multiplies relativities from a table that can be filed. As λ grows, the tariff changes "
            "from a GLM to one flat premium.",
            penalty=None,
            together=2,
            source="fairdash",
        ),
    }
)


@dataclass(frozen=True)
class ModelKey:
    """Key of a trained model of a method, or of a blend (weighted average) of two such models.

    Parameters
    ----------
    method
        Id in :data:`PATHS`.
    lam
        Weight λ ≥ 0 of a trained model, or a weight that labels a blend of two neighbouring models. For every
        method, λ = 0 means the standard model.
    low, high
        Weights λ of the two models in a blend, below and above `lam`; for a trained model, both are `lam`.
        Keys with the same method and λ are equal, because the plan and `lam` determine these two weights.
    share
        Share of the model with weight `high` in the blend, from 0 to below 1; 0 for a trained model.
    """

    method: str
    lam: float
    low: float = field(default=math.nan, compare=False, kw_only=True)
    high: float = field(default=math.nan, compare=False, kw_only=True)
    share: float = field(default=0.0, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        for end in ("low", "high"):
            if math.isnan(getattr(self, end)):
                object.__setattr__(self, end, self.lam)

    def __str__(self) -> str:
        return f"{self.method}:{self.lam!r}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``"standard"`` or ``"<method>:<λ>"``, such as ``"hgr_nn:0.5"``, or raise an OptionError."""
        method, _, lam = (f"{STANDARD}:0" if text == STANDARD else text).partition(":")
        try:
            return cls(method, float(lam))
        except ValueError:
            raise OptionError.of(
                f"“{lam}” is not a weight λ",
                "Give a method and a weight, such as hgr_nn:0.5, or “standard”.",
                column="against",
            ) from None

    @property
    def is_standard(self) -> bool:
        return self.lam == 0 or self.method == STANDARD

    @property
    def is_trained(self) -> bool:
        """Return whether the key identifies a trained model instead of a blend."""
        return self.share == 0

    @property
    def name(self) -> str:
        """Return a short display name for charts."""
        return "standard model" if self.is_standard else f"λ = {self.lam:g}"

    @property
    def title(self) -> str:
        """Return a display name with the title of the method."""
        return self.name if self.is_standard else f"{PATHS[self.method].title}, λ = {self.lam:g}"


THE_STANDARD = ModelKey(STANDARD, 0.0)


def separation_in_words(method: str, n_attributes: int) -> str:
    """Explain which dependence on combinations of attributes may remain with a method of :data:`PATHS`.

    The text is empty if the method uses combinations of all attributes.
    """
    path = PATHS[method]
    if n_attributes <= path.together or method == STANDARD:
        return ""
    words = {1: "each sensitive attribute separately", 2: "combinations of two sensitive attributes"}
    group = words.get(path.together, f"combinations of {path.together} sensitive attributes")
    return (
        f"“{path.title}” uses {group}, so the price may still depend on a combination of more attributes. "
        "Audit the price along all attributes. A repair (FairPostprocessor) reduces the dependence on all "
        "attributes together."
    )
