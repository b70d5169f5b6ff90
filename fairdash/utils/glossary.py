"""What the symbols mean that pages can't do without: one plain sentence each, the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: Id to one sentence in Markdown, without symbols that come later; the symbol stands in bold.
GLOSSARY: Mapping[str, str] = MappingProxyType(
    {
        "hgr": "**HGR** (maximal correlation) is the largest correlation that any function of one variable "
        "can have with any function of another: 0 only if the two are independent, 1 if they share a "
        "function exactly.",
        "f_and_g": "**f and g** are the two functions that reach it, f of the first variable (U, a "
        "prediction or its error) and g of the second (V, the sensitive attribute).",
        "lam": "**λ** (lambda) is the weight of fairness in training: a fair model minimises its error plus "
        "λ times a measure of dependence, so that a larger λ buys less dependence with more error.",
    }
)
