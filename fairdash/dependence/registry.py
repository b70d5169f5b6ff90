"""Registry of all dependence measures, which pages, the command line and tests loop over.

Each entry names its implementation (``"module:function"``), which is imported on first use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

_PACKAGE = "fairdash.dependence"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Entry of the registry: a dependence measure and its implementations.

    Attributes
    ----------
    id
        The name used in the API, the command line and result tables.
    title
        The name in plain words.
    symbol
        The name in formulas and figures.
    lower, upper
        The range of the quantity estimated. A held-out or unbiased estimate may fall below
        ``lower`` by chance.
    signed
        Whether the sign is a direction, so that far below 0 is as much dependence as far above.
    symmetric
        Whether exchanging u and v leaves the value unchanged to the last digit. Cross-fitted values change by
        chance, because the folds are dealt anew.
    rank_based
        Whether increasing maps of u or v leave the value unchanged.
    rank_based_s
        Whether increasing maps of v alone leave the value unchanged.
    scale_free
        Whether shifts and positive scales leave the value unchanged. FairQuant is in the units of u.
    fitted
        Whether functions are learned from the rows, so that ``evaluation="cross_fit"`` differs from
        ``"in_sample"``.
    seeded
        Whether ``random_state`` matters.
    quick
        Whether a value takes milliseconds, so that a page may redraw it as a slider moves.
    discrete
        Whether only variables with few distinct values are accepted.
    accepts_weights
        Whether ``sample_weight`` has a meaning for it.
    multivariate
        Whether v may have several columns.
    recorded
        What a run writes down of how its values are estimated, so that later versions can say where theirs
        differ; empty for measures that never changed.
    interval_of
        Quantity that an interval covers, if it differs from the title.
    zero, one
        Meaning of the values 0 and 1.
    fails_when
        When its estimate misleads, in plain words.
    source
        Where the definition comes from.
    implementation
        ``"module:function"``; the function takes stacks ``(K, n)`` and returns ``(K,)``. Where permuting is
        cheaper than starting again, it has the keyword ``permutations`` (B, n), orders of the rows of v, and
        returns ``(K, B)``; with ``weight_moves``, whether weights go with v or stay with u, that holds with
        weights above 0, too, and for orders in which rows come several times.
    learned
        The same for the learned transformations f and g, where there are any.
    on_request
        Whether pages that show every measure leave it out: it says nearly what another does, or what is asked
        for by name only.
    floats_per_row
        About how many numbers a row of one pair needs in memory; stacks are cut into pieces by it.
    """

    id: str
    title: str
    symbol: str
    zero: str
    one: str
    fails_when: str
    source: str
    implementation: str
    lower: float = 0.0
    upper: float = 1.0
    signed: bool = False
    symmetric: bool = True
    rank_based: bool = False
    rank_based_s: bool = False
    scale_free: bool = True
    fitted: bool = False
    seeded: bool = False
    quick: bool = True
    discrete: bool = False
    accepts_weights: bool = False
    multivariate: bool = False
    recorded: str = ""
    interval_of: str = ""
    learned: str | None = None
    on_request: bool = False
    floats_per_row: int = 8

    def load(self, part: str = "implementation") -> Callable[..., Any]:
        """Import and return the function named by ``part``, the implementation or the learned functions."""
        target = getattr(self, part)
        if target is None:
            raise LookupError(f"{self.id} has no {part}")
        module, function = target.split(":")
        loaded: Callable[..., Any] = getattr(import_module(f"{_PACKAGE}.{module}"), function)
        return loaded


_MEASURES = (
    Measure(
        id="pearson",
        title="Linear correlation (Pearson)",
        symbol="r",
        lower=-1.0,
        signed=True,
        accepts_weights=True,
        zero="no linear link, but possibly a curved one",
        one="all points on a rising line (−1: a falling one)",
        fails_when="The link is curved: a U shape gives 0. One outlier can create or hide a correlation.",
        source="Pearson (1895)",
        implementation="classical:pearson",
    ),
    Measure(
        id="spearman",
        title="Rank correlation (Spearman)",
        symbol="r_s",
        lower=-1.0,
        signed=True,
        rank_based=True,
        rank_based_s=True,
        accepts_weights=True,
        zero="no rising or falling trend, but possibly a U shape",
        one="v always rises with u (−1: always falls)",
        fails_when="The link is not monotone: a U shape gives 0.",
        source="Spearman (1904); mid-ranks for ties",
        implementation="classical:spearman",
    ),
    Measure(
        id="kendall",
        title="Rank concordance (Kendall's τ_b)",
        symbol="τ_b",
        lower=-1.0,
        signed=True,
        rank_based=True,
        rank_based_s=True,
        zero="equally many pairs agree and disagree in order",
        one="every pair of rows agrees in order (−1: disagrees)",
        fails_when="The link is not monotone: a U shape gives 0.",
        source="Kendall (1945), tie-corrected τ_b; scipy.stats.kendalltau",
        implementation="classical:kendall",
    ),
    Measure(
        id="distance_correlation",
        title="Distance correlation",
        symbol="dCor",
        multivariate=True,
        zero="independent, in the limit of many rows",
        one="a straight line",
        fails_when="There are few rows: noise then gives 0.1 or more, and a fast link gives little more.",
        source="Székely, Rizzo and Bakirov (2007), V-statistic",
        implementation="kernels:distance_correlation",
        floats_per_row=40,
    ),
    Measure(
        id="hsic",
        title="Kernel independence criterion (HSIC, normalised)",
        symbol="HSIC",
        zero="independent, in the limit of many rows",
        one="rows are equally close in u and in v",
        fails_when="Tails are heavy. The bandwidth, the median distance, is then too small for the tail.",
        source="Gretton et al. (2005); normalised as in Cortes et al. (2012)",
        implementation="kernels:hsic",
        floats_per_row=200,
    ),
    Measure(
        id="chsic",
        title="Kernel independence criterion of ranks (CHSIC)",
        symbol="CHSIC",
        rank_based=True,
        rank_based_s=True,
        zero="independent, in the limit of many rows",
        one="rows are equally close in the ranks of u and of v",
        fails_when="The link is fast: its waves are shorter than the bandwidth.",
        source="Póczos, Ghahramani and Schneider (2012)",
        implementation="kernels:chsic",
        floats_per_row=200,
    ),
    Measure(
        id="kcca",
        title="Kernel canonical correlation",
        symbol="KCCA",
        zero="no smooth function of u is correlated with one of v",
        one="not reached: the regularisation keeps it below",
        fails_when="The link is fast or tails are heavy: functions steeper than the kernel are penalised.",
        source="Bach and Jordan (2002)",
        implementation="kernels:kcca",
        floats_per_row=200,
    ),
    Measure(
        id="hgr_witsenhausen",
        title="Maximal correlation of discrete variables (Witsenhausen)",
        symbol="σ₂(Q)",
        discrete=True,
        multivariate=True,
        rank_based=True,
        rank_based_s=True,
        accepts_weights=True,
        zero="independent",
        one="a function of u equals a function of v",
        fails_when="A variable is continuous. The table of counts would give 1, so fairdash refuses it.",
        source="Witsenhausen (1975); paper, section on HGR",
        implementation="classical:hgr_witsenhausen",
    ),
    Measure(
        id="hgr_kde",
        title="Maximal correlation by kernel density (HGR_KDE)",
        symbol="HGR_KDE",
        accepts_weights=True,
        zero="the smoothed distribution is a product: independent at the resolution of the bandwidth",
        one="a function of u equals a function of v",
        fails_when="The link is faster than the bandwidth: a fast cosine gives nearly 0. Or tails are "
        "heavy: one outlier can raise the value, and the noise floor, up to 1.",
        source="Mary et al. (2019); Witsenhausen (1975)",
        interval_of="the maximal correlation of the kernel-smoothed data, which is below HGR",
        implementation="kde:hgr_kde",
        floats_per_row=130,
    ),
    Measure(
        id="hgr_kde_scores",
        title="Maximal correlation by kernel density of normal scores (rank HGR_KDE)",
        symbol="HGR_KDE_rank",
        rank_based=True,
        rank_based_s=True,
        accepts_weights=True,
        zero="the smoothed distribution of the ranks is a product: independent at the resolution of the "
        "bandwidth",
        one="a function of u equals a function of v",
        fails_when="The link is faster than the bandwidth: with 300 rows its test misses some links of five "
        "waves, and ten waves give nearly 0.",
        source="Mary et al. (2019) on the normal scores of van der Waerden (1952)",
        interval_of="the maximal correlation of the kernel-smoothed ranks, which is below HGR",
        implementation="kde:hgr_kde_scores",
        floats_per_row=130,
    ),
    Measure(
        id="hgr_rdc",
        title="Randomised dependence coefficient (RDC)",
        symbol="HGR_RDC",
        rank_based=True,
        rank_based_s=True,
        seeded=True,
        accepts_weights=True,
        zero="no slow sine of u's rank is correlated with a slow sine of v's rank",
        one="sums of such sines agree exactly",
        fails_when="The link is fast or has jumps, which slow sines can't follow. Or ties are ranked in "
        "row order, as in a Python port. The authors' R code averages them.",
        source="Lopez-Paz, Hennig and Schölkopf (2013); mid-ranks",
        interval_of="the largest correlation of its random sines of the ranks, which is at most HGR",
        implementation="rdc:hgr_rdc",
        floats_per_row=60,
    ),
    Measure(
        id="hgr_nn",
        title="Maximal correlation by neural networks (HGR_NN)",
        symbol="HGR_NN",
        symmetric=False,
        rank_based=True,
        rank_based_s=True,
        fitted=True,
        seeded=True,
        quick=False,
        accepts_weights=True,
        multivariate=True,
        zero="on new rows, the learned functions of u and of v are uncorrelated",
        one="a function of u equals a function of v",
        fails_when="It is evaluated in-sample: 200 rows of pure noise give about 0.7, 500 rows about "
        "0.5. Or there are too few rows for a fast link.",
        source="paper, Algorithm 2",
        implementation="hgr_nn:hgr_nn",
        learned="hgr_nn:fitted_functions",
        floats_per_row=400,
    ),
    Measure(
        id="hgr_spline",
        title="Maximal correlation by splines of the ranks (spline HGR)",
        symbol="HGR_spline",
        symmetric=False,
        rank_based=True,
        rank_based_s=True,
        fitted=True,
        accepts_weights=True,
        multivariate=True,
        recorded="corrected by evidence",
        zero="no evidence of a link in these rows; weak links can also give 0",
        one="a function of u equals a function of v",
        fails_when="The link has waves of fewer than 20 rows, more than a hundred waves, or fewer than "
        "eight rows between its jumps. The value is then far too low. A weak link may give 0.",
        source="First canonical correlation of spline bases or of steps, corrected for the contribution of "
        "noise (Bao, Hu, Pan and Zhou 2019); or, by choice, cross-fitted",
        implementation="spline:hgr_spline",
        learned="spline:fitted_functions",
        floats_per_row=60,
    ),
    Measure(
        id="chi2_kde",
        title="χ² divergence by kernel density",
        symbol="χ²_KDE",
        upper=math.inf,
        accepts_weights=True,
        zero="the smoothed distribution is a product: independent at the resolution of the bandwidth",
        one="no special meaning: it is unbounded, and an upper bound of HGR²",
        fails_when="The link is strong: smoothing keeps it far below the true value, which goes to infinity.",
        source="Mary et al. (2019)",
        interval_of="the χ² divergence of the kernel-smoothed data, which is below χ²",
        implementation="kde:chi2_kde",
        floats_per_row=130,
    ),
    Measure(
        id="chi2_nn",
        title="χ² divergence by a neural network",
        symbol="χ²_NN",
        upper=math.inf,
        symmetric=False,
        rank_based=True,
        rank_based_s=True,
        fitted=True,
        seeded=True,
        quick=False,
        zero="on new rows, the network finds ratio 1 between the joint distribution and the product of the "
        "margins",
        one="no special meaning: it is unbounded, and an upper bound of HGR²",
        fails_when="The link is strong: it is a lower bound, two fifths too low for Gaussians with ρ = 0.9.",
        source="paper, Algorithm 1 (dual form); ratio learned as in MINE",
        implementation="ratio_nn:chi2_nn",
        floats_per_row=400,
    ),
    Measure(
        id="mi_ksg",
        title="Mutual information by nearest neighbours (KSG)",
        symbol="MI_KSG",
        upper=math.inf,
        zero="independent",
        one="one nat; it is unbounded",
        fails_when="The link is nearly deterministic: the estimate then only grows with the number of rows.",
        source="Kraskov, Stögbauer and Grassberger (2004); ties as in Gao et al. (2017)",
        implementation="classical:mi_ksg",
    ),
    Measure(
        id="mi_mine",
        title="Mutual information by a neural network (MINE)",
        symbol="MI_MINE",
        upper=math.inf,
        symmetric=False,
        rank_based=True,
        rank_based_s=True,
        fitted=True,
        seeded=True,
        quick=False,
        zero="on new rows, the network finds ratio 1 between the joint distribution and the product of the "
        "margins",
        one="one nat; it is unbounded",
        fails_when="The link is nearly deterministic: the estimate is at most the logarithm of the number "
        "of rows.",
        source="Belghazi et al. (2018)",
        implementation="ratio_nn:mi_mine",
        floats_per_row=400,
    ),
    Measure(
        id="fairquant",
        title="Mean gap between quantile groups (FairQuant)",
        symbol="FairQuant",
        upper=math.inf,
        symmetric=False,
        rank_based_s=True,
        scale_free=False,
        accepts_weights=True,
        zero="every quantile group of s has the same average u",
        one="groups differ from the overall average by one unit of u (such as 1 €), on average",
        fails_when="Groups differ in spread but not in average, as in a ring. Or groups are small: with 50 "
        "groups of 8 rows, the value is mostly noise.",
        source="paper, section Real-world Experiments: 1/50 Σ|m_i − m|",
        implementation="fairquant:fairquant_values",
    ),
    Measure(
        id="fairquant_cumulative",
        title="Mean gap of cumulative quantile groups (FairQuant, authors' code)",
        symbol="FairQuant_cum",
        upper=math.inf,
        symmetric=False,
        rank_based_s=True,
        scale_free=False,
        accepts_weights=True,
        zero="the average u below every quantile of s equals the overall average",
        one="averages below a quantile of s differ from the overall average by one unit of u (such as 1 "
        "€), on average",
        fails_when="Groups differ in spread but not in average. Or they differ at the top of s: "
        "cumulative averages dilute the difference.",
        source="the authors' public code: groups s ≤ quantile",
        implementation="fairquant:fairquant_cumulative_values",
    ),
    Measure(
        id="joint_distance_correlation",
        title="Joint distance correlation with several columns",
        symbol="JdCor",
        multivariate=True,
        zero="independent of the columns together, in the limit of many rows",
        one="a straight line in one column; below 1 with more columns (a coin that is the product of "
        "two others gives 0.76)",
        fails_when="There are many columns, which dilute a link with one of them. Or there are few rows: "
        "noise then gives 0.1 or more. The run time grows with the square of the number of rows.",
        source="Terms with u of the joint distance covariance (c = 1) of Chakraborty and Zhang (2019)",
        implementation="kernels:joint_distance_correlation",
        floats_per_row=40,
        on_request=True,
    ),
    Measure(
        id="jdcov",
        title="Joint distance covariance with several attributes",
        symbol="JdCov",
        multivariate=True,
        zero="independent of the attributes together, in the limit of many rows",
        one="no special meaning: u and each attribute have variance 1",
        fails_when="The link is weak: the square is unbiased, so that noise gives values on both sides of 0. "
        "The run time grows with the square of the number of rows.",
        source="Chakraborty and Zhang (2019); as a penalty Lee et al. (2025), arXiv 2509.08163",
        implementation="joint:jdcov",
        upper=math.inf,
        floats_per_row=40,
        on_request=True,
    ),
    Measure(
        id="ccdcov",
        title="Distance covariance with all attributes as one vector",
        symbol="CCdCov",
        multivariate=True,
        zero="independent of the attributes together, in the limit of many rows",
        one="no special meaning: u and each attribute have variance 1",
        fails_when="There are many attributes: distances between vectors dilute a link with one of them, or "
        "with a combination. The run time grows with the square of the number of rows.",
        source="Székely, Rizzo and Bakirov (2007); as a penalty Lee et al. (2025), arXiv 2509.08163",
        implementation="joint:ccdcov",
        upper=math.inf,
        floats_per_row=40,
        on_request=True,
    ),
)

#: Every measure by its id, in the order in which they are shown.
REGISTRY: Mapping[str, Measure] = MappingProxyType({one.id: one for one in _MEASURES})

#: Descriptions of how a measure's values are estimated.
WAYS: Mapping[str, str] = MappingProxyType(
    {
        "corrected by evidence": "corrected for the contribution of noise. It uses flexible functions only "
        "if the rows support them. A weak link can give 0, so the test decides whether there is a link",
        "corrected": "corrected for the contribution of noise, and 0 below a threshold",
        "": "cross-fitted: estimated on held-out rows",
    }
)
