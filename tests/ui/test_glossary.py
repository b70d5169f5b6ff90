"""HGR, f and g, and λ are explained at their first use, in plain sentences."""

from __future__ import annotations

import pytest

from fairdash.ui.text import GLOSSARY
from tests.ui.conftest import open_page


@pytest.mark.parametrize("page", ["patterns", "gaussians"])
def test_a_page_of_measures_explains_its_symbols_before_its_controls(page):
    at = open_page(page)
    assert not at.exception
    # Of the patterns' page the picture stands whole on the first screen: there they open beside the title.
    said = (at.title[0].proto.help if page == "patterns" else at.caption[0].value).replace("**", "")
    for symbol in ("HGR", "f and g", "λ"):
        (sentence,) = [line.strip() for line in said.splitlines() if line.startswith(f"{symbol} ")]
        assert sentence.endswith(".")
    # Nothing comes before but the title and the answer.
    kinds = [each.type for each in _in_order(at.main)]
    assert kinds[0] == "title"
    before = [kind for kind in kinds[: kinds.index("caption")] if kind != "button_group"]
    assert page == "patterns" or before in (["title", "markdown"], ["title"])


def _in_order(block):
    for child in block.children.values():
        if hasattr(child, "children"):
            yield from _in_order(child)
        else:
            yield child


@pytest.mark.parametrize("term", GLOSSARY.values(), ids=GLOSSARY)
def test_a_meaning_is_whole_sentences(term):
    assert term.count(".") <= 3
    assert term.endswith(".")
