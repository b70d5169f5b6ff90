"""Recognition of the meaning of column headers with lists of words in six languages (``header_words.json``).

A phrase has one or more words. A header matches a phrase if it contains all words of the phrase, in any
order. A ``*`` in a phrase stands for any letters. Accents, capitals and separators are ignored, and ä equals
ae. A header without separators, such as ``claimamount``, matches if it contains the words of the phrase in
order. A compound of a word for age and a word for a person or a thing, such as ``ageph`` or ``Kundenalter``,
is split if both words are known. Other words that contain "age", such as ``mileage``, do not match.

>>> meanings_of("âge du conducteur")["driver_age"], "driver_age" in meanings_of("VehAge")
(3, False)
>>> meanings_of("ageph")["driver_age"], "age" in meanings_of("mileage"), other_words("vehage", "age", "thing")
(3, False, True)
>>> sorted(meanings_of("Schadenhoehe")), sorted(meanings_of("n° de police"))
(['claim_cost'], ['policy_number', 'thing'])
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

from fairdash.tables.grammar import without_accents, words_in_order

#: Clarity of a match, from clear to unclear. The phrase is the whole header (apart from small words such as
#: "du"), it is a part of the header, or it occurs only inside a longer word.
WHOLE, PART, INSIDE = 3, 2, 1

_SMALL = frozenset(
    "a al d da das de degli dei del della delle der des di die do du e el et gli het i il in la las le les"
    " lo los nb of on op por pour the und van von y".split()
)
#: Minimum number of letters of a phrase that is searched for in headers without separators.
_JOINED = 5

#: Concepts of claims. A header expresses at most one of them, namely the concept whose phrases contain the
#: most words of the header.
CLAIMS = ("claim_cost", "claim_count", "claim_flag")
#: Concepts that are a combination of others. A header about an age and a person, for example, is about a
#: driver's age.
_JOINT = {"driver_age": ("age", "person")}
#: Letters that German inserts between the parts of a compound word.
_LINKS = ("", "s", "n", "en")

#: Patterns of a phrase: one pattern for each word, and one pattern for the whole phrase without separators.
_Phrase = tuple[tuple[re.Pattern[str], ...], re.Pattern[str]]


def meanings_of(header: object) -> Mapping[str, int]:
    """Return a map from the concepts that a header expresses to the clarity of the match.

    The clarity is 3 if the header has no words outside the phrase, 2 if it has other words or no separators,
    and 1 if the phrase occurs only inside a longer word. The concepts are the keys of ``header_words.json``.
    """
    return _meanings(_words(str(header)))


def other_words(header: object, concept: str, other_concept: str) -> bool:
    """Return whether a header has a word for `other_concept` in addition to its words for `concept`.

    >>> other_words("policy holder age", "driver_age", "thing"), other_words("car_age", "age", "thing")
    (False, True)
    """
    words = _words(str(header))
    words_of_concept = {
        word
        for part_word in _JOINT.get(concept, (concept,))
        for parts, _ in _phrases()[part_word]
        if _has_words(parts, words)
        for word in words
        if any(part.fullmatch(word) for part in parts)
    }
    return any(
        len(parts) == 1 and parts[0].fullmatch(word)
        for parts, _ in _phrases()[other_concept]
        for word in words
        if word not in words_of_concept
    )


# The keys of the cache are words rather than headers, because headers such as zip_1 to zip_3000 share a word.
@cache
def _meanings(words: tuple[str, ...]) -> Mapping[str, int]:
    joined_words = "".join(words)
    meanings: dict[str, int] = {}
    n_words: dict[str, int] = {}
    for concept, phrases in _phrases().items():
        clarity = {phrase: _match_confidence(words, joined_words, phrase) for phrase in phrases}
        if best := max(clarity.values(), default=0):
            meanings[concept] = best
            n_words[concept] = max(len(parts) for (parts, _), value in clarity.items() if value)
    for concept, parts in _JOINT.items():
        if set(parts) <= set(meanings):
            known_words = [
                part
                for word in parts
                for phrase, _ in _phrases()[word]
                if _has_words(phrase, words)
                for part in phrase
            ]
            meanings[concept] = PART if _other_words_of(words, known_words) else WHOLE
    most_words = max((n_words[concept] for concept in CLAIMS if concept in meanings), default=0)
    # "Anzahl Schäden" is a claim count, although "Schäden" alone means claim costs.
    return MappingProxyType(
        {name: value for name, value in meanings.items() if name not in CLAIMS or n_words[name] == most_words}
    )


def _match_confidence(words: tuple[str, ...], joined_words: str, phrase: _Phrase) -> int:
    parts, phrase_text = phrase
    if phrase_text.pattern.startswith("[a-z]*"):
        return INSIDE if _has_words(parts, words) else 0
    if _has_words(parts, words):
        return PART if _other_words_of(words, parts) else WHOLE
    return PART if len(joined_words) >= _JOINED and phrase_text.fullmatch(joined_words) else 0


def _has_words(parts: Iterable[re.Pattern[str]], words: Collection[str]) -> bool:
    """Return whether a header contains each word of a phrase."""
    return all(any(part.fullmatch(word) for word in words) for part in parts)


def _other_words_of(words: Iterable[str], parts: Collection[re.Pattern[str]]) -> list[str]:
    """Return the words of a header that are not in a phrase, without small words such as "du"."""
    return [w for w in words if w not in _SMALL and not any(part.fullmatch(w) for part in parts)]


def _words(header: str) -> tuple[str, ...]:
    """Return the words of a header. A compound such as "ageph" is split."""
    return tuple(part for word in words_in_order(header) for part in _split_age(word))


@cache
def _split_age(word: str) -> tuple[str, ...]:
    """Split a word such as "ageph" into "age" and the word for the person or thing. Keep other words whole.

    >>> _split_age("versicherungsnehmeralter"), _split_age("agencement"), _split_age("halter")
    (('versicherungsnehmer', 'alter'), ('agencement',), ('halter',))
    """
    ages, nouns = _vocabulary()
    if word in ages or word in nouns:
        return (word,)
    for age in ages:
        if word.endswith(age):
            for link in _LINKS:
                if noun := _person_or_thing(word.removesuffix(age).removesuffix(link), nouns):
                    return noun, age
        if word.startswith(age) and (noun := _person_or_thing(word.removeprefix(age), nouns)):
            return age, noun
    return (word,)


def _person_or_thing(text: str, nouns: Collection[str]) -> str | None:
    """Return a string without a small first word such as "du" if the rest is in `nouns`, else None."""
    without_small_word = (text.removeprefix(small) for small in sorted(_SMALL))
    return next((noun for noun in (text, *without_small_word) if noun in nouns), None)


@cache
def _vocabulary() -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the set of words for an age, and the set of words for persons and things, without endings."""

    def single(concept: str) -> set[str]:
        return {
            parts[0].pattern.removesuffix("[a-z]*") for parts, _ in _phrases()[concept] if len(parts) == 1
        }

    return tuple(sorted(single("age"), key=len, reverse=True)), frozenset(single("person") | single("thing"))


@cache
def _phrases() -> Mapping[str, tuple[_Phrase, ...]]:
    """Return a map from each concept to its phrases in all languages."""
    text = resources.files("fairdash.tables").joinpath("header_words.json").read_text(encoding="utf-8")
    return {
        concept: tuple(
            _phrase(spelling)
            for phrases in by_language.values()
            for phrase in phrases
            for spelling in sorted({without_accents(phrase), without_accents(phrase, umlauts=True)})
        )
        for concept, by_language in json.loads(text).items()
    }


def _phrase(text: str) -> _Phrase:
    parts = [re.escape(word).replace(r"\*", "[a-z]*") for word in text.split()]
    return tuple(map(re.compile, parts)), re.compile("".join(parts))
