"""Rules on the fairness of prices: one file for each rule with a template, and others.toml for other rules.

Each file states which parts of a rule we read, where and when, and contains no quotations. Where a rule's
text says what an audit can do, the file contains an id in braces. fairdash replaces this id by a sentence,
which always agrees with the installed version.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairdash.auditing.plan import QUESTIONS
from fairdash.utils.registry import by_id, get_entry

#: Ways in which we read a rule, by id.
READ: Mapping[str, str] = MappingProxyType(
    {
        "text": "primary: the text itself",
        "part": "primary in part: the beginning or a part of the text; the rest from accounts by others",
        "regulator": "secondary: the authority's own pages about it, and accounts by others",
        "secondary": "secondary: accounts by others",
    }
)
#: Abilities of the audit that the text of a rule may name, by id: the table with the result, and a
#: description.
ABILITIES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "impact_ratios": (
            "classes",
            "gives adverse impact ratios of classes, and counts a price of at most the median as favourable",
        ),
        "class_probabilities": (
            "class_probabilities",
            "takes probabilities of classes that you have estimated, a column each",
        ),
        "premiums": ("premiums", "compares the error and the gap of other premiums with those of this price"),
        "second_price": ("two_prices", "compares a second price in your table with this price"),
        "proxies": ("proxies", "shows which columns predict the attribute"),
    }
)
#: A rule should be looked up again after this number of days.
STALE_AFTER = timedelta(days=365)


def with_abilities(text: str) -> str:
    """Replace each id of an ability, in braces, by a sentence on the audit question that has this ability.

    Raises
    ------
    LookupError
        No ability has this id, or no question has the ability's table.

    Examples
    --------
    >>> with_abilities("It compares prices. {second_price}")
    'It compares prices. Question 10 compares a second price in your table with this price.'
    """

    def sentence(match: re.Match[str]) -> str:
        table, phrase = ABILITIES[match[1]]
        numbers = [number for number, each in QUESTIONS.items() if table in each.tables]
        if not numbers:
            raise LookupError(f"no question has the table {table!r}, which the ability {match[1]!r} names")
        return f"Question {numbers[0]} {phrase}."

    return re.sub(r"\{(\w+)\}", sentence, text)


@dataclass(frozen=True, kw_only=True)
class Heading:
    """Heading of a filing's template.

    Parameters
    ----------
    title
        The heading.
    asks
        Content that the rule requires under the heading, in our words.
    shows
        Ids of :data:`fairdash.auditing.filing.document.PARTS` that the audit fills in.
    blanks
        Ids of :data:`fairdash.auditing.filing.document.FIELDS` that only the user can write.
    """

    title: str
    asks: str
    shows: tuple[str, ...]
    blanks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Rule, guideline or standard on the fairness of prices or models.

    Parameters
    ----------
    id, title, authority, version
        Id, title, publisher, and version with dates of the rule.
    applies, asks
        Subject and requirements of the rule, in our words.
    sources, looked, read
        The sources, each with date and address; the day on which we read them; and an id of :data:`READ`.
    cannot
        Requirements that fairdash can't answer, and statements that we could not check.
    shows
        Parts of an audit that concern the rule, as in :class:`Heading`.
    headings
        Headings of the rule's template; empty without a template.
    """

    id: str
    title: str
    authority: str
    version: str
    applies: str
    asks: str
    sources: tuple[str, ...]
    looked: date
    read: str
    cannot: tuple[str, ...]
    shows: tuple[str, ...]
    headings: tuple[Heading, ...] = ()

    @property
    def looked_up(self) -> str:
        """Sentence that states when and how we looked up the rule."""
        return f"{self.looked.isoformat()}, {READ[self.read]}"

    @property
    def answers(self) -> str:
        """Numbers and titles of the audit questions that concern the rule."""
        questions = [f"{each.title} ({n})" for n, each in QUESTIONS.items() if f"question_{n}" in self.shows]
        questions = ["All questions."] if len(questions) == len(QUESTIONS) else questions
        return " ".join([*questions, *(["Changes since an earlier audit."] if "since" in self.shows else [])])

    @property
    def row(self) -> dict[str, Any]:
        """Row that describes this rule in a list of rules."""
        names = ("id", "title", "authority", "version", "applies", "asks", "answers")
        facts = {name: getattr(self, name) for name in names} | {"sources": list(self.sources)}
        facts |= {"looked": self.looked.isoformat(), "read": READ[self.read], "cannot": list(self.cannot)}
        return facts | {"template": bool(self.headings)}

    def is_stale(self, today: date) -> bool:
        """Return True if the rule was last looked up over a year ago."""
        return today - self.looked > STALE_AFTER


def _rules() -> Iterator[Rule]:
    folder = Path(__file__).parent
    for name in ("general", "colorado", "nydfs", "naic_tool", "eiopa", "quebec", "others"):
        content = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
        for row in content.get("rule", [content]):
            headings = tuple(
                Heading(**{**part, "shows": tuple(part["shows"]), "blanks": tuple(part["blanks"])})
                for part in row.pop("heading", [])
            )
            shown_tables = tuple(row.pop("shows", [])) or tuple(
                part for heading in headings for part in heading.shows
            )
            limitations = tuple(with_abilities(row_of_ability) for row_of_ability in row.pop("cannot"))
            yield Rule(
                **row | {"sources": tuple(row["sources"])},
                cannot=limitations,
                shows=shown_tables,
                headings=headings,
            )


#: All rules by id: those with a template first.
RULES: Mapping[str, Rule] = by_id(*_rules())
#: Rules with a template, by id.
TEMPLATES: Mapping[str, Rule] = by_id(*(each for each in RULES.values() if each.headings))


def template_of(name: str) -> Rule:
    """Return the rule with this template id, or raise an OptionError that lists the available ids."""
    rule: Rule = get_entry(TEMPLATES, name, option="template")
    return rule
