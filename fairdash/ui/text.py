"""Names escaped for Markdown, formatted numbers, and the glossary of symbols, for texts on pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from types import MappingProxyType

import streamlit as st

from fairdash.utils.text import duration, label, number, signed, visible, with_unit

__all__ = ["duration", "explain", "fixed", "in_lines", "label", "number", "safe", "signed", "with_unit"]

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^@/])")


def safe(name: object) -> str:
    """Escape a name that a user chose, so that Markdown renders no link, image, formula or HTML in it.

    Invisible characters are replaced by visible codes.
    """
    return _MARKDOWN.sub(r"\\\1", visible(" ".join(str(name).split())))


def fixed(value: float, decimals: int = 3) -> str:
    """Format a number with this number of decimals, rounded as the browser does in tables and charts.

    Python rounds ties to the even digit, and JavaScript rounds them away from 0. Without this function,
    0.5625 would be 0.562 in a sentence and 0.563 in a table.
    """
    rounded = Decimal(value).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)
    return str(abs(rounded) if rounded == 0 else rounded)


#: Explanations of symbols, by id, in Markdown. Each explanation uses only symbols that are explained before.
GLOSSARY: Mapping[str, str] = MappingProxyType(
    {
        "hgr": "**HGR** (maximal correlation) is the largest correlation between any function of one "
        "variable and any function of another. HGR is 0 only if the two variables are independent, and 1 if "
        "a function of one equals a function of the other exactly.",
        "f_and_g": "**f and g** are the two functions with this correlation: f of U (a prediction or "
        "its error), and g of V (the sensitive attribute).",
        "lam": "**λ** (lambda) is the weight of fairness in training. A fair model minimises its error plus "
        "λ times a measure of dependence. A larger λ gives less dependence and more error.",
    }
)


def in_lines(*terms: str) -> str:
    """Return the explanations of these symbols (by default all), one per line."""
    return "  \n".join(GLOSSARY[term] for term in terms or GLOSSARY)


def explain(*terms: str) -> None:
    """Show the meanings of symbols on the page."""
    st.caption(in_lines(*terms))
