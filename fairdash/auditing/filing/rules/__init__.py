"""Rules for filing an audit, one file each; others.toml lists the rules without a template.

Each file states when and where the rule was looked up, and whether its text itself was read. None quotes a
rule.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairdash.utils.registry import by_id, get_entry

#: How a rule was looked up: id to words.
READ: Mapping[str, str] = MappingProxyType(
    {
        "text": "the text itself",
        "regulator": "the regulator's own page about it, not the text",
        "secondary": "a secondary source, not the text",
        "memory": "from memory, not checked",
    }
)


@dataclass(frozen=True, kw_only=True)
class Heading:
    """Heading of a template.

    Parameters
    ----------
    title
        The heading.
    asks
        Required content, in our words.
    shows
        Ids of :data:`fairdash.auditing.filing.document.PARTS`: what the audit fills in.
    blanks
        Ids of :data:`fairdash.auditing.filing.governance.FIELDS`: what only the user can write.
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
        Title, publisher and version.
    source, looked, read
        Where it was looked up, on which day, and an id of :data:`READ`.
    cannot
        Parts that fairdash can't answer.
    headings
        Of its template; none where it has none.
    """

    id: str
    title: str
    authority: str
    version: str
    source: str
    looked: date
    read: str
    cannot: tuple[str, ...]
    headings: tuple[Heading, ...] = ()

    @property
    def looked_up(self) -> str:
        """Statement of when and how the rule was looked up."""
        return f"{self.looked.isoformat()}, {READ[self.read]}"

    @property
    def row(self) -> dict[str, Any]:
        """Row for a list of rules."""
        facts = {name: getattr(self, name) for name in ("id", "title", "authority", "version", "source")}
        facts |= {"looked": self.looked.isoformat(), "read": READ[self.read], "cannot": list(self.cannot)}
        return facts | {"template": bool(self.headings)}


def _rules() -> Iterator[Rule]:
    folder = Path(__file__).parent
    for name in ("general", "colorado", "nydfs", "eiopa", "others"):
        content = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
        for row in content.get("rule", [content]):
            headings = tuple(
                Heading(**{**each, "shows": tuple(each["shows"]), "blanks": tuple(each["blanks"])})
                for each in row.pop("heading", [])
            )
            yield Rule(**{**row, "cannot": tuple(row["cannot"])}, headings=headings)


#: The rules by id, those with a template first.
RULES: Mapping[str, Rule] = by_id(*_rules())
#: Those of them with a template.
TEMPLATES: Mapping[str, Rule] = by_id(*(each for each in RULES.values() if each.headings))


def template_of(name: str) -> Rule:
    """Return the rule with this template id; OptionError lists the available ids."""
    rule: Rule = get_entry(TEMPLATES, name, option="template")
    return rule
