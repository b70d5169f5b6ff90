"""Registry of training methods, which share one training loop and differ in their penalty."""

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
#: Id of tariffs (:mod:`fairdash.tariff`), which are not networks. A run may have a front of tariffs, with or
#: without networks.
FAIR_TARIFF = "fair_tariff"
#: Default fair method. This method is the fastest fair method, and as fair as the adversarial methods at the
#: same error, according to measures other than its own penalty (docs/training.md).
DEFAULT_METHOD = "hgr_spline"
#: Number of attributes that exceeds the number in any table, for methods that use all attributes together.
ALL = 1_000


@dataclass(frozen=True, kw_only=True)
class Method:
    """Training method for a regressor.

    Parameters
    ----------
    id
        Name in the API.
    title
        Display name.
    meaning
        Description in one sentence.
    penalty
        ``"module:class"`` of the dependence penalty Ψ, imported when used, or None if there is no penalty.
    source
        Publication of the method.
    multivariate
        Whether the method accepts several sensitive columns at once.
    together
        Maximum number of sensitive attributes whose joint link the penalty detects even if no single
        attribute has a link.
    adversarial
        Whether the penalty trains adversary networks, so that the adversary settings apply.
    selection_measure
        Id of the quick measure that compares the models of the method in a search. The measure detects every
        kind of link tested in benchmarks/judges.py and differs clearly from the method's own penalty.
    rows_a_step
        Minimum number of rows in a mini-batch, if there are enough training rows. With fewer rows per batch,
        Ψ would be mostly noise.
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
        """Return the class that computes the penalty Ψ, or None for a method without a penalty."""
        if self.penalty is None:
            return None
        module, name = self.penalty.split(":")
        penalty: type[BasePenalty] = getattr(import_module(module), name)
        return penalty


METHODS: Mapping[str, Method] = by_id(
    Method(
        id="standard",
        title="Standard network",
        meaning="Minimises the error alone and ignores the sensitive attribute.",
        penalty=None,
        source="Grari et al., baseline “Standard NN”",
    ),
    Method(
        id="hgr_nn",
        title="Fair HGR network",
        meaning="Learns predictions in which an adversary finds no link to the sensitive attribute.",
        penalty="fairdash.training.penalties.adversarial:HGRPenalty",
        adversarial=True,
        together=ALL,
        source="Grari et al., supplement, Algorithm “Fair HGR NN”",
    ),
    Method(
        id="hgr_spline",
        title="Fair spline network",
        meaning="Lowers the strongest correlation between smooth functions of prediction and sensitive "
        "attribute. Needs no adversary.",
        penalty="fairdash.training.penalties.closed_forms:SplineHGRPenalty",
        together=2,
        source="fairdash; first canonical correlation (Hotelling 1936) of smooth functions, as a "
        "lower bound of HGR",
        selection_measure="hgr_kde_scores",
    ),
    Method(
        id="cca_spline",
        title="Fair correlations network",
        meaning="Lowers all correlations between smooth functions of both, not only the strongest, on large "
        "batches. Needs no adversary.",
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
        meaning="Learns predictions in which an adversary finds no dependence (χ²). Strong links count most.",
        penalty="fairdash.training.penalties.adversarial:Chi2Penalty",
        adversarial=True,
        together=ALL,
        source="Grari et al., Algorithm 1, and supplement, Algorithm “Fair χ² NN”",
    ),
    Method(
        id="chi2_kde",
        title="Fair KDE network",
        meaning="Lowers the χ² divergence of the smoothed joint distribution from independence. Needs no "
        "adversary.",
        penalty="fairdash.training.penalties.closed_forms:KDEPenalty",
        source="Mary et al. 2019, “Fairness-aware learning for continuous attributes and "
        "treatments”; baseline “Mary2019” of Grari et al.",
        multivariate=False,
    ),
    Method(
        id="mine",
        title="Fair MINE network",
        meaning="Learns predictions in which an adversary finds no mutual information with the sensitive "
        "attribute.",
        penalty="fairdash.training.penalties.adversarial:MINEPenalty",
        adversarial=True,
        together=ALL,
        source="Belghazi et al. 2018, “Mutual information neural estimation”; baseline “Fair MINE "
        "NN” of Grari et al.",
    ),
    Method(
        id="jdcov",
        title="Fair joint distance network",
        meaning="Lowers the distance covariance with each sensitive attribute and with their combinations. "
        "Needs no adversary.",
        penalty="fairdash.training.penalties.joint:JointDistancePenalty",
        together=3,
        source="Lee, Antonio, Avanzi, Marchi and Zhou (2025), arXiv 2509.08163: JdCov",
    ),
    Method(
        id="ccdcov",
        title="Fair distance network",
        meaning="Lowers the distance covariance with all sensitive attributes as one vector. Needs no "
        "adversary.",
        penalty="fairdash.training.penalties.joint:ConcatenatedDistancePenalty",
        together=ALL,
        source="Lee, Antonio, Avanzi, Marchi and Zhou (2025), arXiv 2509.08163: CCdCov",
    ),
    Method(
        id="gedi",
        title="Fair GeDI network",
        meaning="Lowers the coefficients of a cubic of the sensitive attribute fitted to the predictions.",
        penalty="fairdash.training.penalties.rivals:GeDIPenalty",
        source="Giuliani, Misino and Lombardi 2023, “Generalized disparate impact for configurable fairness "
        "solutions in ML”",
        multivariate=False,
    ),
    Method(
        id="gdp",
        title="Fair averages network",
        meaning="Lowers the mean distance between the predictions' average at each value of the sensitive "
        "attribute and their overall average.",
        penalty="fairdash.training.penalties.rivals:GDPPenalty",
        source="Jiang et al. 2022, “Generalized demographic parity for group fairness”",
        multivariate=False,
    ),
    Method(
        id="eipm",
        title="Fair MMD network",
        meaning="Lowers the mean distance between the predictions' distribution at each value of the "
        "sensitive attribute and their overall distribution.",
        penalty="fairdash.training.penalties.rivals:EIPMPenalty",
        source="Kong, Kim and Kim 2025, “Fair representation learning for continuous sensitive attributes "
        "using expectation of integral probability metrics” (FREM), of the prediction instead of a "
        "representation",
        multivariate=False,
    ),
    Method(
        id="hsic",
        title="Fair HSIC network",
        meaning="Lowers the covariances of the predictions with smooth functions of the sensitive attribute, "
        "summed by a kernel.",
        penalty="fairdash.training.penalties.rivals:HSICPenalty",
        source="Pérez-Suay et al. 2017, “Fair kernel learning”: HSIC with a linear kernel of the predictions",
        multivariate=False,
    ),
    Method(
        id="pearson",
        title="Fair linear network",
        meaning="Lowers the linear correlation with the sensitive attribute and no other link.",
        penalty="fairdash.training.penalties.closed_forms:PearsonPenalty",
        source="Pearson's ρ as the penalty of the generic problem of Grari et al.",
    ),
)
#: Methods whose models can be on a front, which include networks and tariffs.
PATHS: Mapping[str, Method] = MappingProxyType(
    {
        **METHODS,
        FAIR_TARIFF: Method(
            id=FAIR_TARIFF,
            title="Fair tariff",
            meaning="Multiplies relativities and can be filed as a table. As λ grows, it changes from "
            "a GLM to one flat premium.",
            penalty=None,
            together=2,
            source="fairdash",
        ),
    }
)


@dataclass(frozen=True)
class ModelKey:
    """Key of a model on a method's path: the method, a weight λ, and the trained weights of a blend.

    Parameters
    ----------
    method
        Id in :data:`PATHS`.
    lam
        Weight λ ≥ 0 of a trained model, or the label of a blend of two neighbouring models. The weight λ = 0
        is the standard model for every method.
    low, high
        Trained weights below and above `lam`, with `low` ≤ `high`; both are `lam` by default. Both weights
        follow from the plan, so keys with the same method and λ are equal.
    share
        Share of the model at `high` in the blend, from 0 to below 1; 0 for a trained model.
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
        """Parse ``"standard"``, or a method and weight as in ``"hgr_nn:0.5"``; or raise an OptionError."""
        method, _, lam = (f"{STANDARD}:0" if text == STANDARD else text).partition(":")
        try:
            return cls(method, float(lam))
        except ValueError:
            raise OptionError.of(
                f"“{lam}” is not a weight",
                "Name a method and a weight, such as hgr_nn:0.5, or standard.",
                column="against",
            ) from None

    @property
    def is_standard(self) -> bool:
        return self.lam == 0 or self.method == STANDARD

    @property
    def is_trained(self) -> bool:
        """Return whether a model was trained at exactly this weight."""
        return self.share == 0

    @property
    def name(self) -> str:
        """Return a short name for a line in a chart."""
        return "standard model" if self.is_standard else f"λ = {self.lam:g}"

    @property
    def title(self) -> str:
        """Return a display name that includes the method."""
        return self.name if self.is_standard else f"{PATHS[self.method].title}, λ = {self.lam:g}"


THE_STANDARD = ModelKey(STANDARD, 0.0)


def apart_in_words(method: str, n_attributes: int) -> str:
    """Describe which links with combinations of attributes a method of :data:`PATHS` may not remove.

    An adversary uses all attributes at once. Penalties with smooth functions use pairs of attributes. Other
    methods use each attribute separately.
    """
    path = PATHS[method]
    if n_attributes <= path.together or method == STANDARD:
        return ""
    words = {1: "each sensitive attribute by itself", 2: "two attributes at a time"}
    used = words.get(path.together, f"{path.together} attributes at a time")
    return (
        f"“{path.title}” treats {used}, so a link with their combination may remain. Audit the price along "
        "all of them. A repair (FairPostprocessor) lowers the link with all of them together."
    )
