"""Every measure of dependence that fairdash knows, described once: pages, the command line and tests loop
over it.

Nothing heavy is imported here: an implementation is named (``"module:function"``) and loaded when it is first
used.
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
    """What a measure of dependence is, and where its implementation lives.

    Attributes
    ----------
    id
        The name used in the API, the command line and result tables.
    title
        The name in plain words.
    symbol
        The name in formulas and figures.
    lower, upper
        The range of the quantity estimated. A held-out estimate of it may fall below ``lower`` by chance.
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
    interval_of
        What an interval of it covers, where that is not the quantity in its title.
    zero, one
        What a value of 0 and of 1 mean.
    fails_when
        When its estimate misleads, in plain words.
    source
        Where the definition comes from.
    implementation
        ``"module:function"``; the function takes stacks ``(K, n)`` and returns ``(K,)``.
    permuted
        The same for ``(u, v, permutations) -> (K, B)``, where permuting is cheaper than starting again.
    learned
        The same for the learned transformations f and g, where there are any.
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
    interval_of: str = ""
    permuted: str | None = None
    learned: str | None = None
    floats_per_row: int = 8

    def load(self, part: str = "implementation") -> Callable[..., Any]:
        """Import and return the function that ``part`` names: implementation, permuted or learned."""
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
        zero="no linear link; a curved one may be there",
        one="all points on a rising line (−1: a falling one)",
        fails_when="The link is curved: on a U shape it reads 0. One outlier can make it or hide it.",
        source="Pearson (1895)",
        implementation="classical:pearson",
        permuted="classical:pearson_permuted",
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
        zero="no rising or falling trend; a U shape may be there",
        one="v always rises with u (−1: always falls)",
        fails_when="The link is not monotone: on a U shape it reads 0.",
        source="Spearman (1904); mid-ranks for ties",
        implementation="classical:spearman",
        permuted="classical:spearman_permuted",
    ),
    Measure(
        id="kendall",
        title="Rank concordance (Kendall's τ_b)",
        symbol="τ_b",
        lower=-1.0,
        signed=True,
        rank_based=True,
        rank_based_s=True,
        zero="as many pairs agree in order as disagree",
        one="every pair of rows agrees in order (−1: disagrees)",
        fails_when="The link is not monotone: on a U shape it reads 0.",
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
        fails_when="Rows are few: noise reads .1 and more. A fast link reads little above that.",
        source="Székely, Rizzo and Bakirov (2007), V-statistic",
        implementation="distances:distance_correlation",
        floats_per_row=40,
    ),
    Measure(
        id="hsic",
        title="Kernel independence criterion (HSIC, normalised)",
        symbol="HSIC",
        zero="independent, in the limit of many rows",
        one="rows are as near in u as in v",
        fails_when="Tails are heavy: a bandwidth of the median distance is then too fine for the tail.",
        source="Gretton et al. (2005); normalised as in Cortes et al. (2012)",
        implementation="kernels:hsic",
        permuted="kernels:hsic_permuted",
        floats_per_row=200,
    ),
    Measure(
        id="chsic",
        title="Kernel independence criterion of ranks (CHSIC)",
        symbol="CHSIC",
        rank_based=True,
        rank_based_s=True,
        zero="independent, in the limit of many rows",
        one="rows are as near in u's ranks as in v's",
        fails_when="The link is fast: its waves are shorter than the bandwidth.",
        source="Póczos, Ghahramani and Schneider (2012)",
        implementation="kernels:chsic",
        permuted="kernels:chsic_permuted",
        floats_per_row=200,
    ),
    Measure(
        id="kcca",
        title="Kernel canonical correlation",
        symbol="KCCA",
        zero="no smooth function of u goes with one of v",
        one="not reached: the regularisation keeps it below",
        fails_when="The link is fast or tails are heavy: functions steeper than the kernel are penalised.",
        source="Bach and Jordan (2002)",
        implementation="kernels:kcca",
        permuted="kernels:kcca_permuted",
        floats_per_row=200,
    ),
    Measure(
        id="hgr_witsenhausen",
        title="Maximal correlation of discrete variables (Witsenhausen)",
        symbol="σ₂(Q)",
        discrete=True,
        rank_based=True,
        rank_based_s=True,
        accepts_weights=True,
        zero="independent",
        one="a function of u equals a function of v",
        fails_when="A variable is continuous: the table of counts would read 1, so it is refused.",
        source="Witsenhausen (1975); paper, section on HGR",
        implementation="discrete:hgr_witsenhausen",
    ),
    Measure(
        id="hgr_kde",
        title="Maximal correlation by kernel density (HGR_KDE)",
        symbol="HGR_KDE",
        accepts_weights=True,
        zero="the smoothed law is a product: independent as far as the bandwidth can see",
        one="a function of u equals a function of v",
        fails_when="The link is faster than the bandwidth: a fast cosine reads near 0. Or tails are heavy: "
        "one outlier may read up to 1, and so may the floor.",
        source="Mary et al. (2019); Witsenhausen (1975)",
        interval_of="the maximal correlation of the data as its kernels smooth them, which is below HGR",
        implementation="kde:hgr_kde",
        permuted="kde:hgr_kde_permuted",
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
        zero="no slow sine of the rank of u goes with one of the rank of v",
        one="such sines, added up, agree",
        fails_when="The link is fast or jumps: its sines are slow. Or it ranks ties in the order of the "
        "rows: a Python port does, the authors' R code averages them.",
        source="Lopez-Paz, Hennig and Schölkopf (2013); mid-ranks",
        interval_of="the largest correlation of its random sines of the ranks, which is not above HGR",
        implementation="rdc:hgr_rdc",
        permuted="rdc:hgr_rdc_permuted",
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
        zero="on new rows, no function that the networks found of u goes with one of v",
        one="a function of u equals a function of v",
        fails_when="It is scored in-sample: on 200 rows of pure noise it reads about 0.7, on 500 about 0.5. "
        "Or rows are few for a fast link.",
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
        zero="on new rows, no smooth function of u goes with one of v",
        one="a function of u equals a function of v",
        fails_when="The link has over twelve waves, or u and v both jump in a tail: splines smooth that.",
        source="First canonical correlation of spline bases, chosen and scored by cross-fitting",
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
        zero="the smoothed law is a product: independent as far as the bandwidth can see",
        one="no special meaning: it has no upper end, and bounds HGR² from above",
        fails_when="The link is strong: smoothing keeps it far below the true value, which goes to infinity.",
        source="Mary et al. (2019)",
        interval_of="the χ² divergence of the data as its kernels smooth them, which is below χ²",
        implementation="kde:chi2_kde",
        permuted="kde:chi2_kde_permuted",
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
        zero="on new rows, the network finds no ratio but 1 between joint law and margins",
        one="no special meaning: it has no upper end, and bounds HGR² from above",
        fails_when="The link is strong: it is a lower bound, two fifths too low for Gaussians with ρ = .9.",
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
        one="one nat; it has no upper end",
        fails_when="The link is nearly deterministic: it grows with the number of rows only.",
        source="Kraskov, Stögbauer and Grassberger (2004); ties as in Gao et al. (2017)",
        implementation="neighbours:mi_ksg",
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
        zero="on new rows, the network finds no ratio but 1 between joint law and margins",
        one="one nat; it has no upper end",
        fails_when="The link is nearly deterministic: a sample shows at most the logarithm of its size.",
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
        one="one unit of u (euros, say) between a group and the whole, on average",
        fails_when="Groups are small: with 50 groups of 8 rows it reads mostly noise.",
        source="paper, section Real-world Experiments: 1/50 Σ|m_i − m|",
        implementation="fairquant:fairquant_values",
        permuted="fairquant:fairquant_permuted",
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
        zero="the average u below every quantile of s is the overall one",
        one="one unit of u (euros, say) between “s below a quantile” and the whole, on average",
        fails_when="A difference sits at the top of s: cumulative averages dilute it, so it reads far less.",
        source="the authors' public code: groups s ≤ quantile",
        implementation="fairquant:fairquant_cumulative_values",
        permuted="fairquant:fairquant_cumulative_permuted",
    ),
)

#: Every measure by its id, in the order in which they are shown.
REGISTRY: Mapping[str, Measure] = MappingProxyType({one.id: one for one in _MEASURES})
