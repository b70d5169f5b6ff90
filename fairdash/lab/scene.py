"""Simulated data (“scenes”): noisy samples from a named pattern, and examples where an estimator fails."""

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

#: A variable with heavy tails is lognormal; this is the standard deviation of its logarithm.
_LOG_SD = 2.0
_GRID_POINTS = 2000

POINTS = "points"
NO_LINK, VERY_FAST = "none", "very_fast_cosine"

#: All patterns: those of the library, and two on which even good estimators fail.
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
        Key of :data:`SHAPES`, or ``"points"``.
    points
        Coordinates (u, F(u)) that straight lines join, for the pattern ``"points"``.
    n
        Number of rows.
    noise
        Standard deviation of the noise, at least 0.
    ties
        Share of the rows in which U is exactly 0, in [0, 1). For example, most claims are exactly 0.
    heavy_tails
        True gives U and V heavy tails. With heavy tails, increasing transformations turn U, and a normal V,
        into lognormal(0, 2) variables. Increasing transformations do not change maximal correlation, χ² and
        mutual information.
    seed
        Seed of the draw.
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
            "There is no pattern with this name",
            f"Choose one of {', '.join([*SHAPES, POINTS])}.",
        )
        checks.require(self.n >= 10, "n", "There are too few rows", "Use at least 10 rows.")
        checks.require(
            0 <= self.noise < np.inf, "noise", "The noise level is not valid", "Give a number of at least 0."
        )
        checks.require(
            0 <= self.ties < 1,
            "ties",
            "The share of ties is not valid",
            "Give a number of at least 0 and below 1.",
        )
        checks.finish()
        for name in ("noise", "ties"):
            # The text of a scene is its key, and equal scenes need equal keys, so 2 becomes 2.0.
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def named(self) -> Pattern:
        """Pattern F without the effect of ties, as the page displays it."""
        if self.pattern == POINTS:
            # The reshape makes unpacking work without points, too. Then pattern_from_points raises an error
            # that states the reason.
            u, f = np.array(self.points, dtype=np.float64).reshape(-1, 2).T
            return pattern_from_points(u, f)
        return SHAPES[self.pattern]

    @property
    def shape(self) -> Pattern:
        """Pattern that, without ties in U, gives V the same distribution as the named pattern with ties."""
        pattern_id = self.named
        if self.ties == 0:
            return pattern_id
        return Pattern(
            id=pattern_id.id,
            title=pattern_id.title,
            formula=pattern_id.formula,
            kind=pattern_id.kind,
            function=lambda u: pattern_id(self._tied(u)),
        )

    def _tied(self, u: Array) -> Array:
        """Map the middle share `ties` of [−10, 10] to 0, and stretch the rest over the whole range."""
        distance = np.maximum(np.abs(u) - HALF_WIDTH * self.ties, 0.0) / (1 - self.ties)
        return np.sign(u) * distance

    def draw(self, *, repeats: int = 1) -> tuple[Array, Array]:
        """Draw samples of U and V, (repeats, n) each.

        With equal seeds, U and the standardised noise are the same at all noise levels.
        """
        u, v = draw(self.shape, self.noise, self.n, repeats=repeats, random_state=self.seed)
        return self.scale_u(self._tied(u)), self.scale_v(v)

    def scale_u(self, u: Array) -> Array:
        """Return U in (−10, 10) or, with heavy tails, e^(2 z), where z is the normal score of U."""
        if not self.heavy_tails:
            return u
        return np.asarray(np.exp(_LOG_SD * ndtri((u + HALF_WIDTH) / (2 * HALF_WIDTH))))

    def scale_v(self, v: Array) -> Array:
        """Return V or, with heavy tails, e^(2 z), where z is V with mean 0 and standard deviation 1."""
        if not self.heavy_tails:
            return v
        mean, share = self.heavy_scale
        return np.asarray(np.exp(share * (v - mean)))

    @property
    def heavy_scale(self) -> tuple[float, float]:
        """Mean m and factor c for heavy tails: V is replaced by e^(c (V − m))."""
        # Mean and standard deviation belong to the distribution, not to the sample, because the value of a
        # row must not depend on other rows.
        midpoints = HALF_WIDTH * (2 * (np.arange(_GRID_POINTS) + 0.5) / _GRID_POINTS - 1)
        f = self.shape(midpoints)
        sd = math.hypot(float(f.std()), self.noise)
        return float(f.mean()), _LOG_SD / (sd if sd > 0 else 1.0)


@dataclass(frozen=True, kw_only=True)
class Example:
    """Example of simulated data (a “scene”) on which an estimator misleads.

    Parameters
    ----------
    id
        Unique name, which widget keys and tests use.
    measure
        Id of the estimator that misleads.
    button
        Text of the button that opens the example.
    look_at
        Explanation of the example, in plain words.
    scene
        Scene of the example.
    also
        Ids of other estimators that fail on the scene.
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
        look_at="U determines V almost completely, but the three correlations are about 0: the rise on "
        "the right cancels the fall on the left.",
        scene=Scene(pattern="parabola", noise=0.5, seed=3),
        also=("spearman", "kendall"),
    ),
    Example(
        id="fast_cosine",
        measure="hgr_kde",
        button="a fast cosine",
        look_at="Ten waves are finer than the kernel's bandwidth. HGR_KDE averages over whole waves and "
        "stays at its noise floor. χ²_KDE, RDC and all other estimators that are limited to slow "
        "functions stay at theirs.",
        scene=Scene(pattern="fast_cosine", noise=0.5, seed=3),
        also=("distance_correlation", "hsic", "chsic", "kcca"),
    ),
    Example(
        id="heavy_tails",
        measure="hgr_kde",
        button="heavy tails",
        look_at="There is no link, yet HGR_KDE is above 0.5. In the tails of both variables, the kernel "
        "contains only one row, whose U then seems to predict its V. The noise floor is equally "
        "high, which shows that the value is noise. We selected this draw. Most draws give about "
        "0.1, and one in twenty gives more than "
        "0.5. Estimators that use ranks are not affected by the tails.",
        scene=Scene(pattern=NO_LINK, noise=2.0, n=200, heavy_tails=True, seed=336),
        also=("chi2_kde",),
    ),
    Example(
        id="ties",
        measure="hgr_rdc",
        button="ties",
        look_at="Nine rows in ten have the same U, and V is independent of it. The open diamond is RDC with "
        "the ordinal ranks of a Python port. This port ranks rows with equal U in file order, here sorted "
        "by V, and therefore finds a strong link. With average ranks, as in the authors' R code, RDC stays "
        "at its noise floor.",
        scene=Scene(pattern=NO_LINK, noise=2.0, ties=0.9, seed=4),
    ),
    Example(
        id="pure_noise",
        measure="hgr_nn",
        button="pure noise",
        look_at="There is no link. An estimator that is evaluated on its training rows (open diamond) "
        "still finds a link, because it has memorised these rows. On held-out rows (bar), the "
        "value is about 0.",
        scene=Scene(pattern=NO_LINK, noise=2.0, n=200, seed=3),
    ),
    Example(
        id="forty_waves",
        measure="hgr_spline",
        button="forty waves",
        look_at="The exact value is nearly 1. Smooth splines (open diamond) can't follow forty waves and "
        "stay at the noise floor. All other estimators of maximal correlation stay at their noise "
        "floors, too. HGR_spline also tries functions with steps of eight rows, and gives "
        "about half of the exact value here. With so few rows, the value depends on chance: half of such "
        "draws give less than 0.15. With 1,000 rows, HGR_spline gives about 0.8.",
        scene=Scene(pattern=VERY_FAST, noise=0.5, seed=3),
    ),
    Example(
        id="top_jump",
        measure="hgr_rdc",
        button="a jump in the top 5 %",
        look_at="The exact value is nearly 1, because U is in its top 5 % whenever V is in its top 5 %. The "
        "best f and g jump at this point, and smooth functions can't follow a jump. RDC gives about "
        "0.5, kernels about 0.6, "
        "and splines alone 0.7 (open diamond). HGR_spline also tries functions with steps and gives more "
        "than 0.9. HGR_NN also gives more than 0.9 at the end of its training.",
        scene=Scene(pattern="top_jump", noise=1.0, n=1000),
        also=("hgr_kde", "hgr_kde_scores"),
    ),
    Example(
        id="strong_link",
        measure="chi2_kde",
        button="a strong link",
        look_at="χ² goes to infinity as the noise goes to 0. Kernel smoothing weakens a link in the same "
        "way as noise, so χ²_KDE stays far below the exact value.",
        scene=Scene(pattern="line", noise=0.25, n=1000),
        also=("chi2_nn",),
    ),
    Example(
        id="no_noise",
        measure="mi_ksg",
        button="no noise",
        look_at="Mutual information is infinite. The nearest-neighbour estimate has no limit: it grows "
        "with the number of rows.",
        scene=Scene(pattern="line", noise=0.0, n=200),
        also=("mi_mine",),
    ),
    Example(
        id="small_groups",
        measure="fairquant",
        button="groups of four rows",
        look_at="There is no link, but the gap between the 50 quantile groups is far from 0. Each group "
        "has only four rows, so the gap measures the noise in V. The noise floor is equally "
        "high, which shows that the gap is noise.",
        scene=Scene(pattern=NO_LINK, noise=5.0, n=200, seed=3),
    ),
    Example(
        id="top_gap",
        measure="fairquant_cumulative",
        button="the top 5 %",
        look_at="In the 5 % of rows with the largest U, V is much higher than in all other rows. The "
        "cumulative FairQuant averages these rows together with all rows that have a smaller U. The "
        "cumulative FairQuant therefore gives less than half of the value of FairQuant.",
        scene=Scene(pattern="tail", noise=2.0, n=1000),
    ),
)
