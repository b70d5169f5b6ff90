"""Scenes (pages) of the lesson: each asks one question, takes the reader's guess, then explains the answer.

The folder ``lesson_data`` contains the lecturer's texts and the results of ``python -m benchmarks.lesson``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence.exact import pattern_hgr
from fairdash.dependence.patterns import HALF_WIDTH
from fairdash.lab import Scene, Truth, truth_of
from fairdash.lab.scene import POINTS
from fairdash.utils.text import error_change, number

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LessonScene:
    """Scene of the lesson: a page with one question.

    Parameters
    ----------
    title
        Name of the scene in the control that selects scenes.
    question
        Heading of the page.
    guesses
        Possible answers. The reader chooses one before the page shows the correct answer.
    right
        Correct choice.
    learned
        Sentence about this scene in the summary.
    """

    title: str
    question: str
    guesses: tuple[str, ...]
    right: str
    learned: str


#: Scenes (pages) of the lesson, by number. The address of the page contains the number.
SCENES: Mapping[str, LessonScene] = MappingProxyType(
    {
        "1": LessonScene(
            title="1 Zero correlation",
            question="Can a price with no correlation with age still follow age?",
            guesses=("No: 0 is 0", "Only a little", "Yes, almost entirely"),
            right="Yes, almost entirely",
            learned="A correlation of 0 does not mean that a price ignores age.",
        ),
        "2": LessonScene(
            title="2 Straighten the cloud",
            question="Which two functions turn this cloud into a line?",
            guesses=("None, because the cloud has a hump", "f alone, of age", "f of age and g of the price"),
            right="f of age and g of the price",
            learned="HGR is the correlation after the best transformation of both variables.",
        ),
        "3": LessonScene(
            title="3 Memorising noise",
            question="An adversary reports a dependence of 0.7. Is that high?",
            guesses=("Yes, a strong link", "It depends on rows and steps", "No, 0.7 is normal"),
            right="It depends on rows and steps",
            learned="Only a value above the noise floor is evidence of a link.",
        ),
        "4": LessonScene(
            title="4 The duel",
            question="How does a predictor become fair?",
            guesses=("It forgets age", "An adversary looks for a link", "It adds noise"),
            right="An adversary looks for a link",
            learned="An adversary trains a predictor to be fair. A new estimator then measures the remaining "
            "link.",
        ),
        "5": LessonScene(
            title="5 Who pays?",
            question="What does fairness cost, and who pays?",
            guesses=("Everyone a little", "The young pay more, the middle less", "The old pay more"),
            right="The young pay more, the middle less",
            learned="Less dependence raises the error, and some people pay more. Equal prices and equal "
            "errors are different goals.",
        ),
    }
)


DATA = Path(__file__).parent / "lesson_data"
#: Titles of two more texts, by name. The folder ``lesson_data`` contains these texts as Markdown.
TEXTS = {"notes": "Notes for the lecturer", "exercises": "Exercises"}

#: Ages of two people who appear in every scene, by name. Each person stands for the average policyholder of
#: this age.
PEOPLE = {"Ada": 30, "Ben": 40}


def text(name: str) -> str:
    """Return one of the :data:`TEXTS`, in Markdown."""
    return (DATA / f"{name}.md").read_text(encoding="utf-8")


@cache
def table(name: str) -> pd.DataFrame:
    """Return a table of the folder ``lesson_data`` by name."""
    return pd.read_csv(DATA / f"{name}.csv")


def select(name: str, **values: object) -> pd.DataFrame:
    """Return the rows of a table of :func:`table` in which the columns have these values."""
    rows = table(name)
    for column, value in values.items():
        rows = rows[rows[column] == value]
    return rows.reset_index(drop=True)


def row_of(frame: pd.DataFrame, column: str, value: float) -> dict[str, Any]:
    """Return the only row of a table whose `column` has this value, as a dict."""
    (record,) = frame[frame[column] == value].to_dict("records")
    return {str(name): cell for name, cell in record.items()}


# Scene 1 shows dependence without correlation. Scene 2 shows two functions that turn the cloud of rows into a
# line.

Points = tuple[tuple[float, float], ...]

#: Values of u at the five points of the curve. The range of u, from −10 to 10, stands for ages from 20 to 60.
PLACES = (-10.0, -5.0, 0.0, 5.0, 10.0)
#: Points of a “hump”: a price that rises and then falls by the same amount. At ages 30, 40 and 50, it is the
#: price of the household scenario, rounded to 10 €.
HUMP: Points = tuple(zip(PLACES, (-10.0, -5.0, 3.0, -5.0, -10.0), strict=True))
LOWEST, HIGHEST = -10.0, 10.0
#: `MIDDLE`: price in € at height 0. `UNIT`: price in € per unit of height.
MIDDLE, UNIT = 220.0, 10.0
CURVE_NOISE, CURVE_ROWS = 1.5, 300
_CELLS = 20_000


def curve_scene(points: Points) -> Scene:
    """Return simulated data (a “scene”) with this curve and noise."""
    return Scene(pattern=POINTS, points=points, n=CURVE_ROWS, noise=CURVE_NOISE)


def points_of(heights: list[float]) -> Points:
    """Return the curve through points with these five heights, each clipped to the allowed range."""
    return tuple(zip(PLACES, np.clip(heights, LOWEST, HIGHEST).tolist(), strict=True))


def dials(points: Points) -> tuple[float, float]:
    """Return the values of two dials: the exact Pearson correlation of age and price, and their exact HGR."""
    shape = curve_scene(points).named
    u = HALF_WIDTH * (2 * (np.arange(_CELLS) + 0.5) / _CELLS - 1)
    f = shape(u)
    covariance = float(np.mean(u * (f - f.mean())))
    pearson = covariance / float(u.std() * np.sqrt(f.var() + CURVE_NOISE**2))
    return pearson, float(pattern_hgr(shape, noise=CURVE_NOISE))


def curve_sentence(points: Points) -> str:
    """State the values of the two dials and what they mean, in Markdown."""
    pearson, hgr = dials(points)
    euros = dict(points)
    prices = " and ".join(
        f"{name} pays {MIDDLE + UNIT * euros[_position_of_age(age)]:.0f} €" for name, age in PEOPLE.items()
    )
    values = (
        f"**Pearson's correlation of age and price is {signed(pearson)}, and HGR is {hgr:.2f}.** {prices}. "
    )
    if hgr < 0.1:
        return values + "The price does not follow age, and neither measure finds a link."
    if abs(pearson) < 0.1:
        return values + (
            "A price can follow age without correlation: the rise on one side cancels the fall on the "
            "other. HGR first transforms both variables. HGR is 0 only if there is no link."
        )
    if hgr - abs(pearson) < 0.05:
        agree = "The curve is nearly straight, so both measures have nearly the same value."
        return f"{values}{agree} Bend the curve more."
    return values + (
        "Correlation measures only the straight part of the link. Can you draw a curve with a correlation of "
        "0?"
    )


def _position_of_age(age: float) -> float:
    """Return the value of u that stands for an age."""
    return (age - 40) / 2


def straightening_rows(points: Points, share: float) -> tuple[Array, Array]:
    """Return standardised rows (x, y) on the way from (u, v), at share 0, to (f(u), g(v)), at share 1.

    The first rows belong to the two people in :data:`PEOPLE`: for each person, the row with the nearest age.
    """
    rows, prices = (values[0] for values in curve_scene(points).draw())
    people = [int(np.argmin(np.abs(rows - _position_of_age(age)))) for age in PEOPLE.values()]
    order = np.append(people, np.setdiff1d(np.arange(len(rows)), people))
    u, v = rows[order], prices[order]
    truth = best_pair(points)
    exact_values = (np.interp(u, truth.u, truth.f), np.interp(v, truth.v, truth.g))
    straight_pair = (
        (1 - share) * _standardised(start_value) + share * _standardised(end)
        for start_value, end in zip((u, v), exact_values, strict=True)
    )
    x, y = map(_standardised, straight_pair)
    return x, y


def best_pair(points: Points) -> Truth:
    """Return the transformations f and g of the curve, and their correlation, which is HGR."""
    return truth_of(curve_scene(points).named, noise=CURVE_NOISE)


def straight_sentence(points: Points, share: float) -> str:
    """State the slope of the regression line through the rows and its meaning, in Markdown."""
    x, y = straightening_rows(points, share)
    slope, hgr = float(np.mean(x * y)), best_pair(points).hgr
    if share == 0:
        return (
            f"**The cloud has a slope of {signed(slope)}. This slope is Pearson's correlation of these "
            f"{CURVE_ROWS} rows.** Press play, and watch how f transforms age and g transforms the price."
        )
    if share < 1:
        return (
            f"**After {share:.0%} of the way the slope is {signed(slope)}.** f transforms the horizontal "
            "axis, and g the vertical axis."
        )
    ada, ben = x[: len(PEOPLE)]
    return (
        f"**After f and g the cloud lies along a line. The slope of this line is {signed(slope)} on these "
        f"{CURVE_ROWS} rows; the exact slope is HGR = {hgr:.2f}.** No other two functions give a steeper "
        f"line. f moves Ada to {signed(ada)} and Ben to {signed(ben)}."
    )


def _standardised(x: Array) -> Array:
    centred = x - x.mean()
    size = float(np.sqrt(np.mean(centred**2)))
    return centred / size if size > 0 else centred


def signed(value: float) -> str:
    """Format a number with two decimals and the minus sign “−”; a number that rounds to 0 has no sign."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


# Scene 3 shows an adversary that memorises noise.


NOISE_ROWS = (50, 100, 200, 500, 1000, 2000)
NOISE_STEPS = (5, 10, 20, 50, 100, 200, 500)


def noise_scene(n: int) -> Scene:
    """Return simulated data (a “scene”) in which the two variables are independent."""
    return Scene(pattern="none", n=n, noise=2.0, seed=3)


def independent_rows(n: int) -> tuple[Array, Array]:
    """Return U and V of :func:`noise_scene`, (n,) each."""
    u, v = noise_scene(n).draw()
    return u[0], v[0]


def noise_readings(n: int) -> pd.DataFrame:
    """Return HGR_NN by training step: on training (``own``), new and shuffled rows (``low``, ``high``)."""
    return select("noise", n=n)


def noise_sentence(n: int, steps: int) -> str:
    """State the adversary's values after this number of training steps and their meaning, in Markdown."""
    row = row_of(noise_readings(n), "steps", steps)
    return (
        f"**After {steps} steps on {n:,} rows without any link the adversary reports {row['own']:.2f} on its "
        f"training rows, and {signed(row['new'])} on new rows.** "
        f"On shuffled rows it reports {row['low']:.2f} to {row['high']:.2f}. Prices are random here, so "
        "Ada's price says nothing about her age. A value means nothing without its noise floor."
    )


# Scene 4 shows a predictor that trains against an adversary.

DUEL_LAM = 4.0
DUEL_STEPS = tuple(range(0, 401, 10))
#: If the adversary is frozen, it stops learning at this step.
FROZEN_AT = 100


def duel_states(frozen: bool) -> pd.DataFrame:
    """Return the columns ``mse``, ``j`` and ``fresh``, with a row per displayed step.

    ``mse`` is 1 for predicting the average, ``j`` is the adversary's value, and ``fresh`` is the value of
    a new estimator, HGR_spline with its default evaluation."""
    return select("duel", frozen=frozen)


def duel_by_age(frozen: bool, step: int) -> pd.DataFrame:
    """Return the average ``price`` in €, and ``g`` in standard deviations, by ``age``."""
    return select("duel_by_age", frozen=frozen, step=step)


def average_price() -> float:
    """Return the price in € that everyone would pay if all prices were equal."""
    return float(duel_by_age(False, max(DUEL_STEPS))["price"].mean())


def duel_sentence(frozen: bool, step: int) -> str:
    """State the values of adversary and new estimator, the error and prices at a step, in Markdown."""
    row = row_of(duel_states(frozen), "step", step)
    curve = duel_by_age(frozen, step)
    prices = curve["price"]
    charges = " and ".join(
        f"{name} pays {np.interp(age, curve['age'], prices):.0f} €" for name, age in PEOPLE.items()
    )
    sentence = (
        f"**After {step} steps the adversary reports {signed(row['j'])}, and a new estimator reports "
        f"{signed(row['fresh'])}. The error is {row['mse']:.2f} times the variance.** "
        f"Average prices differ by up to {prices.max() - prices.min():.0f} € between ages: {charges}."
    )
    if frozen and step > FROZEN_AT:
        return sentence + (
            f" The adversary stopped learning at step {FROZEN_AT}. The predictor has changed since then, so "
            "the adversary's value says little about the remaining link."
        )
    return sentence


# Scene 5 shows what fairness costs and who pays.

LAMS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
#: Edges of the groups by age.
AGES = (25, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 55)
OBJECTIVES = {"demographic_parity": "Equal prices", "equalized_residuals": "Equal errors"}


def payers_points(objective: str) -> pd.DataFrame:
    """Return a row per weight from 0 up: ``lam``, ``rmse`` in € and ``hgr``, as means over the splits.

    Further columns are ``rmse_se`` and ``hgr_se``, the standard errors of these means; ``edge``, which 95 %
    of values do not exceed if prices and age are independent; and ``rmse_of_average``, the error in € of
    predicting the average for everyone.
    """
    return select("payers", objective=objective).sort_values("lam", ignore_index=True)


def payers_floor(objective: str) -> float:
    """Return the upper limit of the noise floor that the page shows: the mean of ``edge`` over all weights.

    For all weights, ``edge`` estimates the same limit, from different permutations.
    """
    return float(payers_points(objective)["edge"].mean())


def payers_by_age(objective: str, lam: float) -> pd.DataFrame:
    """Return average ``price`` and ``residual`` (price − cost) in € by ``age``, on test rows."""
    return select("payers_by_age", objective=objective, lam=lam)


def payers_lams() -> list[float]:
    return [float(lam) for lam in payers_points("demographic_parity")["lam"]]


def payers_ages(objective: str) -> pd.DataFrame:
    """Return :func:`payers_by_age` for all weights; the range of the axes is computed from it."""
    return select("payers_by_age", objective=objective)


def payers_sentence(objective: str, lam: float) -> str:
    """State in Markdown how much more or less Ada and Ben pay than under the standard model."""
    point, standard = (row_of(payers_points(objective), "lam", weight) for weight in (lam, 0.0))
    ada, ben = (f"{name} ({age})" for name, age in PEOPLE.items())
    if lam == 0:
        share = number(100 * standard["rmse"] / standard["rmse_of_average"])
        return (
            f"**Without fairness {ada} pays {_price(objective, 0.0, 0):.0f} € and {ben} pays "
            f"{_price(objective, 0.0, 1):.0f} €.** The root mean squared error is {number(standard['rmse'])} "
            f"€, {share} % of the error of predicting the average for everyone. Move λ."
        )
    changes = [_price(objective, lam, person) - _price(objective, 0.0, person) for person in (0, 1)]
    errors = [row_of(payers_by_age(objective, lam), "age", age)["residual"] for age in PEOPLE.values()]
    is_detected = point["hgr"] > payers_floor(objective)
    side = (
        "above the noise floor, {}: the link is still detectable"
        if is_detected
        else "within the noise floor, {}: a larger λ removes only noise"
    ).format(number(payers_floor(objective)))
    hgr = number(point["hgr"]).replace("-", "−")
    error = error_change(standard["rmse"], point["rmse"], of_average=point["rmse_of_average"], unit="€")
    return (
        f"**At λ = {lam:g} {ada} pays {_change_text(changes[0])} and {ben} {_change_text(changes[1])}; "
        f"{error}.** On average Ada is now charged {_error_text(errors[0])}, and Ben is charged "
        f"{_error_text(errors[1])}. HGR {hgr} is {side}."
    )


def _price(objective: str, lam: float, person: int) -> float:
    age = list(PEOPLE.values())[person]
    return float(row_of(payers_by_age(objective, lam), "age", age)["price"])


def _change_text(euros: float) -> str:
    return f"{abs(euros):.0f} € {'more' if euros > 0 else 'less'}" if round(euros) else "the same"


def _error_text(euros: float) -> str:
    return f"{abs(euros):.0f} € too {'much' if euros > 0 else 'little'}" if round(euros) else "what they cost"
