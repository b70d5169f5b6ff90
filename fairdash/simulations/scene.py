"""A scene: rows drawn from a named pattern with noise, and examples that show an estimator fail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fairdash.dependence.patterns import HALF_WIDTH, PATTERNS, Pattern, draw, pattern_from_points
from fairdash.errors import Checks, OptionError

Array = NDArray[np.float64]

#: Standard deviation of the logarithm on the scale of heavy tails.
_LOG_SD = 2.0
_POINTS_OF_F = 2000

POINTS = "points"
NO_LINK, VERY_FAST = "none", "very_fast_cosine"

#: The library's patterns, and two on which even good estimators fail.
SHAPES: Mapping[str, Pattern] = MappingProxyType(
    {
        **PATTERNS,
        VERY_FAST: Pattern(
            id=VERY_FAST,
            title="Very fast cosine, forty waves",
            formula=r"5\cos(4\pi u)",
            kind="unsteady",
            function=lambda u: 5 * np.cos(4 * np.pi * u),
        ),
        NO_LINK: Pattern(
            id=NO_LINK, title="No link at all", formula="0", kind="smooth", function=np.zeros_like
        ),
    }
)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Rows (U, V) with U uniform on [−10, 10] and V = F(U) + N(0, noise²).

    Parameters
    ----------
    pattern
        A key of :data:`SHAPES`, or ``"points"``.
    points
        Coordinates (u, F(u)) that straight lines join, for the pattern ``"points"``.
    n
        Rows.
    noise
        Standard deviation of the noise, at least 0.
    ties
        Share of the rows on which U is exactly 0, in [0, 1): as with claims, most of which are zero.
    heavy_tails
        Whether U and V are drawn on a scale of heavy tails: increasing maps of both, with U and a normal V
        becoming lognormal(0, 2). Maximal correlation, χ² and mutual information are those of the pattern.
    seed
        Which draw.
    """

    pattern: str = "cosine"
    points: tuple[tuple[float, float], ...] = ()
    n: int = 500
    noise: float = 2.0
    ties: float = 0.0
    heavy_tails: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        checks = Checks(OptionError)
        checks.require(
            self.pattern in SHAPES or self.pattern == POINTS,
            "pattern",
            "There is no pattern of that name",
            f"Choose one of {', '.join([*SHAPES, POINTS])}.",
        )
        checks.require(self.n >= 10, "n", "There are too few rows", "Take at least 10 rows.")
        checks.require(
            0 <= self.noise < np.inf, "noise", "The noise is not usable", "Give a number of at least 0."
        )
        checks.require(
            0 <= self.ties < 1, "ties", "The share of ties is not usable", "Give a number from 0 to under 1."
        )
        checks.finish()
        for name in ("noise", "ties"):
            # 2 and 2.0 are one scene, and one text that its study is known by.
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def named(self) -> Pattern:
        """The pattern F as it is shown, without the ties."""
        if self.pattern == POINTS:
            # transposes (m, 2) also when it is empty, which pattern_from_points refuses with the reason
            u, f = np.array(self.points, dtype=np.float64).reshape(-1, 2).T
            return pattern_from_points(u, f)
        return SHAPES[self.pattern]

    @property
    def shape(self) -> Pattern:
        """F of the untied uniform variable: its law with noise is that of V."""
        named = self.named
        if self.ties == 0:
            return named
        return Pattern(
            id=named.id,
            title=named.title,
            formula=named.formula,
            kind=named.kind,
            function=lambda u: named(self._tied(u)),
        )

    def _tied(self, u: Array) -> Array:
        """Flatten the middle share ``ties`` of [−10, 10] to 0 and stretch the rest over the whole."""
        beyond = np.maximum(np.abs(u) - HALF_WIDTH * self.ties, 0.0) / (1 - self.ties)
        return np.sign(u) * beyond

    def draw(self, *, repeats: int = 1) -> tuple[Array, Array]:
        """Samples of U and V, (repeats, n) each. More noise is more of the same noise: equal seeds give
        equal U and equal ε ÷ σ."""
        u, v = draw(self.shape, self.noise, self.n, repeats=repeats, random_state=self.seed)
        return self.scale_u(self._tied(u)), self.scale_v(v)

    def scale_u(self, u: Array) -> Array:
        """Values of U in (−10, 10) on the scale of the rows: themselves, or e^(2 normal score)."""
        if not self.heavy_tails:
            return u
        return np.asarray(np.exp(_LOG_SD * ndtri((u + HALF_WIDTH) / (2 * HALF_WIDTH))))

    def scale_v(self, v: Array) -> Array:
        """Values of V on the scale of the rows: themselves, or e^(2 standard deviations)."""
        if not self.heavy_tails:
            return v
        mean, share = self.heavy_scale
        return np.asarray(np.exp(share * (v - mean)))

    @property
    def heavy_scale(self) -> tuple[float, float]:
        """Mean of V, and what a unit of V is on the logarithm of the scale of heavy tails."""
        # The law's own mean and spread, not the sample's: a row must not depend on the other rows.
        middles = HALF_WIDTH * (2 * (np.arange(_POINTS_OF_F) + 0.5) / _POINTS_OF_F - 1)
        f = self.shape(middles)
        sd = math.hypot(float(f.std()), self.noise)
        return float(f.mean()), _LOG_SD / (sd if sd > 0 else 1.0)


@dataclass(frozen=True, kw_only=True)
class Example:
    """A scene on which one estimator misleads.

    Parameters
    ----------
    id
        A name of its own, for keys and tests.
    measure
        Id of the estimator; a measure the registry does not have is left out by the pages.
    button
        What a button says that opens it.
    look_at
        What to look at, in plain words.
    scene
        The scene.
    also
        Ids of others that fail on it.
    """

    id: str
    measure: str
    button: str
    look_at: str
    scene: Scene
    also: tuple[str, ...] = ()


SCENES: tuple[Example, ...] = (
    Example(
        id="u_shape",
        measure="pearson",
        button="a U shape",
        look_at="U decides nearly everything about V, and the three correlations read about 0: what rises on "
        "the right falls on the left.",
        scene=Scene(pattern="parabola", noise=0.5, seed=3),
        also=("spearman", "kendall"),
    ),
    Example(
        id="fast_cosine",
        measure="hgr_kde",
        button="a fast cosine",
        look_at="Ten waves are finer than the kernel's bandwidth: HGR_KDE averages them away and stays at "
        "its noise floor, and so do χ²_KDE, RDC and all that look for slow functions only.",
        scene=Scene(pattern="fast_cosine", noise=0.5, seed=3),
        also=("distance_correlation", "hsic", "chsic", "kcca"),
    ),
    Example(
        id="heavy_tails",
        measure="hgr_kde",
        button="heavy tails",
        look_at="There is no link, and HGR_KDE reads more than 0.5: a row far out in both variables has the "
        "kernel there to itself, so that its U tells its V. Only the floor, which reaches as far, says that "
        "this is noise. The draw is a picked one: most read about 0.1, one in twenty above 0.5. Estimators "
        "on ranks don't see the tails.",
        scene=Scene(pattern=NO_LINK, noise=2.0, n=200, heavy_tails=True, seed=336),
        also=("chi2_kde",),
    ),
    Example(
        id="ties",
        measure="hgr_rdc",
        button="ties",
        look_at="Nine rows in ten have the same U, and V has nothing to do with it. The open diamond is RDC "
        "with the ordinal ranks of a Python port: tied rows are ranked in the order of the file, here sorted "
        "by V, and it finds a strong link. With average ranks, as in its authors' R code, it stays at its "
        "floor.",
        scene=Scene(pattern=NO_LINK, noise=2.0, ties=0.9, seed=4),
    ),
    Example(
        id="pure_noise",
        measure="hgr_nn",
        button="pure noise",
        look_at="There is no link. An estimator read on the rows it was fitted to (open diamond) still finds "
        "one, since it has learned these rows by heart; on held-out rows (bar) it reads about 0.",
        scene=Scene(pattern=NO_LINK, noise=2.0, n=200, seed=3),
    ),
    Example(
        id="forty_waves",
        measure="hgr_spline",
        button="forty waves",
        look_at="With forty waves the knots of the splines lie too far apart: read with them alone (open "
        "diamond), HGR_spline stays at what noise reads, as every other estimator of the exact value does, "
        "which is nearly 1. Steps of eight rows each, which it takes instead, find half of the link here. So "
        "few rows are little evidence of so many waves: half of such draws read less than 0.15. With 1,000 "
        "rows it reads about 0.8.",
        scene=Scene(pattern=VERY_FAST, noise=0.5, seed=3),
    ),
    Example(
        id="top_jump",
        measure="hgr_rdc",
        button="a jump in the top 5 %",
        look_at="The exact value is nearly 1: U is in its top 5 % when V is. But both f and g are steps "
        "there, and slow sines of the ranks can't step in two tails at once: RDC reads about 0.5, kernels "
        "about 0.6, splines alone 0.7 (open diamond of HGR_spline). It takes steps in their place, and reads "
        "more than 0.9, as HGR_NN does once it is trained.",
        scene=Scene(pattern="top_jump", noise=1.0, n=1000),
        also=("hgr_kde", "hgr_kde_scores"),
    ),
    Example(
        id="strong_link",
        measure="chi2_kde",
        button="a strong link",
        look_at="χ² goes to infinity as the noise goes to 0. Smoothing adds noise of its own, so that χ²_KDE "
        "stays far below the exact value.",
        scene=Scene(pattern="line", noise=0.25, n=1000),
        also=("chi2_nn",),
    ),
    Example(
        id="no_noise",
        measure="mi_ksg",
        button="no noise",
        look_at="Mutual information is infinite. The nearest-neighbour estimate is what the number of rows "
        "allows: take more rows and it grows, with no end.",
        scene=Scene(pattern="line", noise=0.0, n=200),
        also=("mi_mine",),
    ),
    Example(
        id="small_groups",
        measure="fairquant",
        button="groups of four rows",
        look_at="There is no link, and the gap between the 50 quantile groups is nowhere near 0: with four "
        "rows a group it measures the noise in V. Only the floor tells.",
        scene=Scene(pattern=NO_LINK, noise=5.0, n=200, seed=3),
    ),
    Example(
        id="top_gap",
        measure="fairquant_cumulative",
        button="the top 5 %",
        look_at="Only the largest 5 % of U matter: there V lies far above the rest. The cumulative FairQuant "
        "averages these rows with everything below them and reads less than half of what the other one does.",
        scene=Scene(pattern="tail", noise=2.0, n=1000),
    ),
)
