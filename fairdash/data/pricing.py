"""What a tariff is made of, found by the names of a table's columns: frequency, severity, pure premium.

Each is a target over what it is counted by, with that as the weight of its rows: claims over exposure, cost
over claims, cost over exposure. Frequency × severity is the pure premium, see Ohlsson and Johansson (2010),
“Non-Life Insurance Pricing with Generalized Linear Models”, section 1.1.

>>> table = pd.DataFrame({"ClaimNb": [0, 2, 1], "ClaimAmount": [0.0, 900.0, 80.0], "Exposure": [1, 0.5, 1]})
>>> [(each.id, each.target, each.weight) for each in pricing_targets(table)]
[('frequency', 'ClaimNb', 'Exposure'), ('severity', 'ClaimAmount', 'ClaimNb'), ('pure_premium', 'ClaimAmount', 'Exposure')]
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from fairdash.data.header_words import WHOLE, meanings_of
from fairdash.data.rate import can_be_rate, looks_like_total
from fairdash.data.suggestion import named_most_like
from fairdash.errors import Fix


@dataclass(frozen=True, kw_only=True)
class PricingTarget:
    """A target of pricing: a column over another, which is the weight.

    Parameters
    ----------
    id
        ``"frequency"``, ``"severity"`` or ``"pure_premium"``.
    title
        Name for people.
    target, weight
        The columns: `target` is divided by `weight`.
    fixes
        What has to be agreed to: rows without claims have no severity and are left out.
    """

    id: str
    title: str
    target: str
    weight: str
    fixes: tuple[Fix, ...] = ()


#: Each target of pricing as its title, and the concepts of its target and of its weight.
_MADE_OF: Mapping[str, tuple[str, str, str]] = {
    "frequency": ("Claim frequency", "claim_count", "exposure"),
    "severity": ("Claim severity", "claim_cost", "claim_count"),
    "pure_premium": ("Pure premium", "claim_cost", "exposure"),
}


def pricing_targets(frame: pd.DataFrame) -> tuple[PricingTarget, ...]:
    """The targets of pricing that a table has the columns for.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names. What is divided may hold amounts below zero, such as
        recoveries; what it is divided by may not.
    """
    found = []
    usable = [name for name in frame.columns if can_be_rate(frame[name])]
    divisors = [name for name in usable if (frame[name].dropna() >= 0).all()]
    for id, (title, of, by) in _MADE_OF.items():
        target = named_most_like(usable, of) or (_plain_amount(frame, usable) if of == "claim_cost" else None)
        weight = named_most_like([name for name in divisors if name != target], by)
        if target is not None and weight is not None:
            without = id == "severity" and not (frame[weight] > 0).all()
            fixes = (Fix("drop_rows", weight),) if without else ()
            found.append(PricingTarget(id=id, title=title, target=target, weight=weight, fixes=fixes))
    return tuple(found)


def _plain_amount(frame: pd.DataFrame, usable: Sequence[str]) -> str | None:
    """Name an amount that doesn't say of what, and whose cells are a total's: mostly 0, as claims are."""
    plain = [
        name for name in usable if meanings_of(name).get("cost") == WHOLE and looks_like_total(frame[name])
    ]
    return named_most_like(plain, "cost")
