"""Where to stop: one point of the trade-off, chosen on validation rows by what the user asks for."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Choice:
    """What was found.

    Parameters
    ----------
    method, lam
        The stop of a path.
    reached
        Whether it meets what was asked for; if not, it is the stop that comes closest.
    """

    method: str
    lam: float
    reached: bool


def least_error(path: pd.DataFrame, measure: str, *, at_most: float, error: str = "mse") -> Choice:
    """The stop with the smallest error whose dependence is at most `at_most`; else the least dependent one.

    Parameters
    ----------
    path
        Validation rows' means over the splits: columns ``method``, ``lam``, `error` and `measure`.
    """
    return _best(path, limited=measure, limit=at_most, wanted=error)


def least_dependence(path: pd.DataFrame, measure: str, *, growth: float, error: str = "mse") -> Choice:
    """The least dependent stop whose error is at most `growth` (0.1 for 10 %) above the standard model's.

    λ = 0 always qualifies where `growth` is 0 or more.
    """
    standard = path.loc[path["lam"] == 0, error].iloc[0]
    return _best(path, limited=error, limit=standard * (1 + growth), wanted=measure)


def knee(path: pd.DataFrame, measure: str, *, error: str = "mse") -> Choice:
    """The stop that lies furthest below the line between the most accurate and the least dependent one.

    Both axes count from 0 to 1 between those two. Satopää et al. (2011), "Finding a 'kneedle' in a
    haystack". `reached` is False where no stop lies below the line: there is no knee then, and the
    standard model is given.
    """
    usable = path.dropna(subset=[error, measure])
    errors, values = (usable[column].to_numpy(dtype=float) for column in (error, measure))
    accurate, fair = errors.argmin(), values.argmin()
    x = (values - values[fair]) / ((values[accurate] - values[fair]) or 1.0)
    y = (errors - errors[accurate]) / ((errors[fair] - errors[accurate]) or 1.0)
    below = 1 - x - y
    best = int(below.argmax())
    if below[best] <= 1e-9:
        return Choice(str(usable["method"].iloc[best]), 0.0, False)
    return _at(usable, best, reached=True)


def _best(path: pd.DataFrame, *, limited: str, limit: float, wanted: str) -> Choice:
    within = path[path[limited] <= limit]
    if within.empty:
        return _at(path, int(path[limited].to_numpy(dtype=float).argmin()), reached=False)
    return _at(within, int(within[wanted].to_numpy(dtype=float).argmin()), reached=True)


def _at(path: pd.DataFrame, place: int, *, reached: bool) -> Choice:
    return Choice(str(path["method"].iloc[place]), float(path["lam"].iloc[place]), reached)
