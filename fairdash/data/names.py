"""Names for people: what sentences and axes call columns of built-in data sets, instead of their headers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_CENSUS = MappingProxyType({"ChildPoverty": "child poverty", "WomenShare": "share of women"})

#: Data set of the catalogue to the names of its targets and sensitive columns, as inside a sentence.
NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "crime": MappingProxyType(
            {
                "ViolentCrimesPerPop": "violent crimes per head",
                "racepctblack": "share of Black people",
                "racePctWhite": "share of white people",
                "racePctAsian": "share of Asian people",
                "racePctHisp": "share of Hispanic people",
            }
        ),
        "motor": MappingProxyType(
            {
                "Indtppd": "cost of material claims",
                "ClaimsPerYear": "claims per year",
                "CostPerYear": "cost of material claims per year",
                "Age": "driver's age",
            }
        ),
        "census": _CENSUS,
        "census_county": _CENSUS,
    }
)
