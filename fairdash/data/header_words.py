"""What a column's header says, in six languages: the words stand in ``header_words.json``.

A phrase there is one word or several, each of which must be among the header's, in any order; ``*`` stands
for any letters. Accents, capitals and what parts the words don't count, and ä may be written ae. A header
without gaps, such as ``claimamount``, is recognised where the phrase's words stand in it in their order.

>>> meanings_of("âge du conducteur")["driver_age"], "driver_age" in meanings_of("VehAge")
(3, False)
>>> sorted(meanings_of("Schadenhoehe")), sorted(meanings_of("n° de police"))
(['claim_cost'], ['policy_number', 'thing'])
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

from fairdash.data.column_profile import folded, words_in_order

#: Where the phrase is all that the header says, but for words such as "du" and "of".
WHOLE, PART, INSIDE = 3, 2, 1

_SMALL = frozenset(
    "a al d da das de degli dei del della delle der des di die do du e el et gli het i il in la las le les"
    " lo los nb of on op por pour the und van von y".split()
)
#: A phrase without a gap must be so long to be looked for in a header without gaps.
_JOINED = 5

#: The words of a phrase as patterns, and all of it without gaps.
_Phrase = tuple[tuple[re.Pattern[str], ...], re.Pattern[str]]


def meanings_of(header: object) -> Mapping[str, int]:
    """Each concept of the table of words that a header speaks of, with how clearly it does.

    3: the header says nothing else; 2: it is among what the header says, or the header is written without
    gaps; 1: only by letters inside a word. The concepts are the keys of ``header_words.json``.
    """
    return _meanings(str(header))


def other_words(header: object, concept: str, of: str) -> bool:
    """Whether a header speaks of `of` by words that are not those by which it speaks of `concept`.

    >>> other_words("policy holder age", "driver_age", "thing"), other_words("car_age", "age", "thing")
    (False, True)
    """
    words = words_in_order(str(header))
    spent = {
        word
        for parts, _ in _phrases()[concept]
        if all(any(part.fullmatch(each) for each in words) for part in parts)
        for word in words
        if any(part.fullmatch(word) for part in parts)
    }
    return any(
        len(parts) == 1 and parts[0].fullmatch(word)
        for parts, _ in _phrases()[of]
        for word in words
        if word not in spent
    )


@cache
def _meanings(header: str) -> Mapping[str, int]:
    words = words_in_order(header)
    joined = "".join(words)
    found = {}
    for concept, phrases in _phrases().items():
        clearest = max((_clearness(words, joined, phrase) for phrase in phrases), default=0)
        if clearest:
            found[concept] = clearest
    return MappingProxyType(found)


def _clearness(words: tuple[str, ...], joined: str, phrase: _Phrase) -> int:
    parts, whole = phrase
    if whole.pattern.startswith("[a-z]*"):
        return INSIDE if any(parts[0].fullmatch(word) for word in words) else 0
    if all(any(part.fullmatch(word) for word in words) for part in parts):
        rest = [w for w in words if w not in _SMALL and not any(part.fullmatch(w) for part in parts)]
        return PART if rest else WHOLE
    return PART if len(joined) >= _JOINED and whole.fullmatch(joined) else 0


@cache
def _phrases() -> Mapping[str, tuple[_Phrase, ...]]:
    """The phrases of all languages by concept."""
    text = resources.files("fairdash.data").joinpath("header_words.json").read_text(encoding="utf-8")
    return {
        concept: tuple(
            _phrase(written)
            for phrases in by_language.values()
            for phrase in phrases
            for written in sorted({folded(phrase), folded(phrase, umlauts=True)})
        )
        for concept, by_language in json.loads(text).items()
    }


def _phrase(text: str) -> _Phrase:
    parts = [re.escape(word).replace(r"\*", "[a-z]*") for word in text.split()]
    return tuple(map(re.compile, parts)), re.compile("".join(parts))
