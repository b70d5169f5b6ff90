"""Scene 5: what fairness costs, and whom."""

from __future__ import annotations

import pandas as pd

from fairdash.lesson.curve import signed
from fairdash.lesson.data import table

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
    """A row a weight, 0 first: ``lam``, ``rmse`` in €, ``hgr`` of what is audited, ``floor_q95``."""
    found = table("payers")
    return found[found["objective"] == objective].sort_values("lam", ignore_index=True)


def by_age(objective: str, lam: float) -> pd.DataFrame:
    """Average ``price`` and ``residual`` (price − cost) in € by ``age``, test rows."""
    found = table("payers_by_age")
    return found[(found["objective"] == objective) & (found["lam"] == lam)].reset_index(drop=True)


def lams() -> list[float]:
    return [float(lam) for lam in points("demographic_parity")["lam"]]


def sentence(objective: str, lam: float) -> str:
    """Who pays what at this weight, against the standard model, in Markdown."""
    all_points = points(objective).set_index("lam")
    point, standard = all_points.loc[lam], all_points.iloc[0]
    if lam == 0:
        return (
            f"**Without fairness a {YOUNGER}-year-old pays {_price(objective, 0.0, YOUNGER):.0f} € and a "
            f"{OLDER}-year-old {_price(objective, 0.0, OLDER):.0f} €**, with a typical error of "
            f"{standard['rmse']:.1f} €. Move λ."
        )
    moved = [_price(objective, lam, age) - _price(objective, 0.0, age) for age in (YOUNGER, OLDER)]
    errors = [_row(objective, lam, age)["residual"] for age in (YOUNGER, OLDER)]
    told = point["hgr"] > point["floor_q95"]
    side = (
        "above the noise floor, {:.2f}: the link is still there"
        if told
        else "within the noise floor, {:.2f}: whoever goes on from here pays for noise"
    ).format(point["floor_q95"])
    return (
        f"**At λ = {lam:g} a {YOUNGER}-year-old pays {_change(moved[0])} and a {OLDER}-year-old "
        f"{_change(moved[1])}; the typical error goes from {standard['rmse']:.1f} to {point['rmse']:.1f} "
        f"€.** On average the {YOUNGER}-year-old is now charged {_off(errors[0])}, the {OLDER}-year-old "
        f"{_off(errors[1])}. HGR {signed(point['hgr'])} is {side}."
    )


def _row(objective: str, lam: float, age: int) -> pd.Series:
    return by_age(objective, lam).set_index("age").loc[float(age)]


def _price(objective: str, lam: float, age: int) -> float:
    return float(_row(objective, lam, age)["price"])


def _change(euros: float) -> str:
    return f"{abs(euros):.0f} € {'more' if euros > 0 else 'less'}" if round(euros) else "the same"


def _off(euros: float) -> str:
    return f"{abs(euros):.0f} € too {'much' if euros > 0 else 'little'}" if round(euros) else "what they cost"
