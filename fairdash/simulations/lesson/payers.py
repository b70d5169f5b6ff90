"""Scene 5: what fairness costs, and who pays."""

from __future__ import annotations

import pandas as pd

from fairdash.simulations.lesson.data import row_of, table
from fairdash.utils.text import error_change, number

LAMS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
#: Edges of the groups of age.
AGES = (25, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 55)
OBJECTIVES = {
    "demographic_parity": "Equal prices",
    "equalized_residuals": "Equal errors",
}
#: Whom the scene looks at.
YOUNGER, OLDER = 30, 40


def points(objective: str) -> pd.DataFrame:
    """A row a weight, 0 first: ``lam``, ``rmse`` in € and ``hgr`` of what is audited, means over the splits.

    And ``rmse_se``, ``hgr_se``, their standard errors; ``edge``, what independence stays below in 95 % of
    cases; ``rmse_of_average``, the error in € of giving everyone the average.
    """
    found = table("payers")
    return found[found["objective"] == objective].sort_values("lam", ignore_index=True)


def floor(objective: str) -> float:
    """The noise floor of sentence and picture, whatever the weight: the mean of the weights' edges.

    Each weight's edge estimates the same thing from shuffles of its own.
    """
    return float(points(objective)["edge"].mean())


def by_age(objective: str, lam: float) -> pd.DataFrame:
    """Average ``price`` and ``residual`` (price − cost) in € by ``age``, test rows."""
    found = table("payers_by_age")
    return found[(found["objective"] == objective) & (found["lam"] == lam)].reset_index(drop=True)


def lams() -> list[float]:
    return [float(lam) for lam in points("demographic_parity")["lam"]]


def ages_of(objective: str) -> pd.DataFrame:
    """:func:`by_age` of all weights: what the axes have to hold."""
    found = table("payers_by_age")
    return found[found["objective"] == objective].reset_index(drop=True)


def sentence(objective: str, lam: float) -> str:
    """Say who pays what at this weight, against the standard model, in Markdown."""
    point, standard = (row_of(points(objective), "lam", each) for each in (lam, 0.0))
    if lam == 0:
        share = number(100 * standard["rmse"] / standard["rmse_of_average"])
        return (
            f"**Without fairness a {YOUNGER}-year-old pays {_price(objective, 0.0, YOUNGER):.0f} € and a "
            f"{OLDER}-year-old {_price(objective, 0.0, OLDER):.0f} €**. The root mean squared error is "
            f"{number(standard['rmse'])} €, {share} % of "
            "the error of giving everyone the average. Move λ."
        )
    moved = [_price(objective, lam, age) - _price(objective, 0.0, age) for age in (YOUNGER, OLDER)]
    errors = [row_of(by_age(objective, lam), "age", age)["residual"] for age in (YOUNGER, OLDER)]
    told = point["hgr"] > floor(objective)
    side = (
        "above the noise floor, {}: the link is still there"
        if told
        else "within the noise floor, {}: beyond this point you pay for noise"
    ).format(number(floor(objective)))
    hgr = number(point["hgr"]).replace("-", "−")
    error = error_change(standard["rmse"], point["rmse"], of_average=point["rmse_of_average"], unit="€")
    return (
        f"**At λ = {lam:g} a {YOUNGER}-year-old pays {_change(moved[0])} and a {OLDER}-year-old "
        f"{_change(moved[1])}; {error}.** On average the {YOUNGER}-year-old is now charged "
        f"{_off(errors[0])}, the {OLDER}-year-old {_off(errors[1])}. HGR {hgr} is {side}."
    )


def _price(objective: str, lam: float, age: int) -> float:
    return float(row_of(by_age(objective, lam), "age", age)["price"])


def _change(euros: float) -> str:
    return f"{abs(euros):.0f} € {'more' if euros > 0 else 'less'}" if round(euros) else "the same"


def _off(euros: float) -> str:
    return f"{abs(euros):.0f} € too {'much' if euros > 0 else 'little'}" if round(euros) else "what they cost"
