"""Association patterns V = F(U) + ε with U uniform on [−10, 10] and ε normal, as in Fig. 2 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.errors import OptionError
from fairdash.utils.registry import get_entry

Array = NDArray[np.float64]

#: U is uniform on [−HALF_WIDTH, HALF_WIDTH].
HALF_WIDTH = 10.0


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Function F on [−10, 10] with values between about −5 and 10.

    Attributes
    ----------
    id
        Name used in the API.
    title
        Name in plain words.
    formula
        F in LaTeX, without dollar signs.
    kind
        ``"smooth"``, ``"discontinuous"`` or ``"unsteady"``.
    paper
        True if the pattern is one of the four in the paper's figure 2. These four are even functions, so
        their linear correlation with U is zero.
    function
        The function F, from (...) to (...) arrays.
    """

    id: str
    title: str
    formula: str
    kind: str
    function: Callable[[Array], Array]
    paper: bool = False

    def __call__(self, u: ArrayLike) -> Array:
        return self.function(np.asarray(u, dtype=np.float64))


def _sawtooth(u: Array) -> Array:
    # Two sawtooth periods on each side of 0, each rising from −5 to 5.
    return 10 * np.mod(np.abs(u) / 5, 1.0) - 5


_PATTERNS = (
    Pattern(
        id="parabola",
        title="Parabola",
        formula=r"u^2/10",
        kind="smooth",
        paper=True,
        function=lambda u: u**2 / 10,
    ),
    Pattern(
        id="cosine",
        title="Cosine, two waves",
        formula=r"5\cos(\pi u/5)",
        kind="smooth",
        paper=True,
        function=lambda u: 5 * np.cos(np.pi * u / 5),
    ),
    Pattern(
        id="sawtooth",
        title="Sawtooth with jumps",
        formula=r"10\,(|u|/5 \bmod 1)-5",
        kind="discontinuous",
        paper=True,
        function=_sawtooth,
    ),
    Pattern(
        id="fast_cosine",
        title="Fast cosine, ten waves",
        formula=r"5\cos(\pi u)",
        kind="unsteady",
        paper=True,
        function=lambda u: 5 * np.cos(np.pi * u),
    ),
    Pattern(id="line", title="Straight line", formula=r"u/2", kind="smooth", function=lambda u: u / 2),
    Pattern(
        id="absolute", title="V shape", formula=r"|u|-5", kind="smooth", function=lambda u: np.abs(u) - 5
    ),
    Pattern(
        id="cubic",
        title="Cubic without a trend",
        formula=r"(u^3-60u)/100",
        kind="smooth",
        # The linear term makes the correlation 0: E[U⁴]/E[U²] = 3·10²/5 = 60.
        function=lambda u: (u**3 - 60 * u) / 100,
    ),
    Pattern(
        id="hockey_stick",
        title="Flat, then rising",
        formula=r"\max(u, 0)",
        kind="smooth",
        function=lambda u: np.maximum(u, 0.0),
    ),
    Pattern(
        id="step",
        title="Two levels, outer and inner",
        formula=r"5\,\mathrm{sign}(|u|-5)",
        kind="discontinuous",
        function=lambda u: np.where(np.abs(u) >= 5, 5.0, -5.0),
    ),
    Pattern(
        id="tail",
        title="Only the top 5 % matter",
        formula=r"10\,(u-9)\,\mathbf{1}[u>9]",
        kind="unsteady",
        function=lambda u: 10 * np.maximum(u - 9, 0.0),
    ),
    Pattern(
        id="top_jump",
        title="Jump in the top 5 %",
        formula=r"10\cdot\mathbf{1}[u>9]",
        kind="discontinuous",
        function=lambda u: np.where(u > 9, 10.0, 0.0),
    ),
)

#: All named patterns, by id.
PATTERNS: Mapping[str, Pattern] = MappingProxyType({one.id: one for one in _PATTERNS})


def pattern(name: str) -> Pattern:
    """Return the named pattern; an unknown name raises an OptionError that lists the valid names."""
    return get_entry(PATTERNS, name, option="pattern")


def pattern_from_points(u: ArrayLike, f: ArrayLike) -> Pattern:
    """Return the pattern that joins the given points by straight lines and is flat beyond the end points.

    Parameters
    ----------
    u, f : (m,) arrays
        Finite coordinates of at least two points, in any order, with distinct ``u``.

    Returns
    -------
    Pattern
        Pattern with the id ``"points"``.

    Raises
    ------
    OptionError
        Raised if there are fewer than two points, a coordinate is not finite, or two points have the same
        ``u``.
    """
    x, y = np.asarray(u, dtype=np.float64), np.asarray(f, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2 or not np.isfinite([x, y]).all():
        raise OptionError.of(
            "The points don't define a curve",
            "Give at least two points with finite coordinates.",
            column="points",
        )
    if len(np.unique(x)) < len(x):
        raise OptionError.of("Two points have the same u", "Give each point a different u.", column="points")
    order = np.argsort(x)
    x, y = x[order], y[order]
    return Pattern(
        id="points",
        title="Your own points",
        formula=r"\text{straight lines between the points}",
        kind="smooth",
        function=lambda u: np.interp(u, x, y),
    )


def draw(
    shape: Pattern | str, noise: float, n: int, *, repeats: int = 1, random_state: int | None = None
) -> tuple[Array, Array]:
    """Draw U uniform on [−10, 10] and V = F(U) + N(0, noise²).

    Parameters
    ----------
    shape
        A pattern, or the id of a pattern.
    noise
        Standard deviation σ of ε, at least 0.
    n
        Number of rows of each sample.
    repeats
        Number of samples.
    random_state
        Seed.

    Returns
    -------
    u, v : (repeats, n) arrays
    """
    chosen = pattern(shape) if isinstance(shape, str) else shape
    rng = np.random.default_rng(random_state)
    u = rng.uniform(-HALF_WIDTH, HALF_WIDTH, (repeats, n))
    return u, chosen(u) + noise * rng.normal(size=(repeats, n))
