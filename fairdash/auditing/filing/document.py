"""Documents to file: headings of a rule, governance text, and a page for a customer's complaint."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from fairdash.auditing.curve import MAX_LEVELS
from fairdash.auditing.filing.rules import template_of
from fairdash.auditing.filing.view import (
    CRITERIA_IN_WORDS,
    NO_RULE,
    answers_of,
    changes_of,
    decided_of,
    origin_of,
    verdict_of,
    verdict_tables,
)
from fairdash.auditing.plan import QUESTIONS
from fairdash.auditing.result import Findings
from fairdash.errors import OptionError, StorageError
from fairdash.evaluation.insurance import MIN_SHOWN
from fairdash.storage import write_whole
from fairdash.utils.text import amount, percent, unbroken, visible, with_unit
from fairdash.views.blocks import Block, Chart, Table, Text, chapter, document

#: The file's name beside a plan.
FILE = "governance.yaml"
#: Bytes of it at most.
_LARGEST = 10**6
#: Fields with their question.
FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "purpose": "Purpose of the price or model: product, lines of business, and decisions based on it.",
        "out_of_scope": "Uses that are excluded.",
        "model": "Type and version of the model, and its author.",
        "external_data": "External data used.",
        "data_source": "Source and period of the rows, and checks of their quality.",
        "inventory": "Inventory of models and data with versions, and changes since the last inventory.",
        "third_parties": "Vendors involved, and their oversight.",
        "validity": "Evidence that the factors predict cost, and the person who validated it.",
        "test_policy": "Policy on the method and frequency of tests.",
        "threshold_reason": "Reasons for the primary criterion and for the acceptable gap.",
        "legitimacy": "Reason why each legitimate factor is legitimate.",
        "alternatives": "Alternatives considered, and reasons for preferring this price.",
        "actions": "Actions on the findings, with a responsible person and a date for each.",
        "risk": "Possible harm, the people affected, its likelihood, and measures against it.",
        "limits": "Further limits of the results.",
        "board": "Board or committee responsible for oversight, and the date of its last review.",
        "principles": "Written principles and policies that apply.",
        "human_oversight": "People who can overrule the model, and how often they do.",
        "complaints": "Information given to customers, and handling of complaints.",
        "monitoring": "Frequency of the audit, the person responsible, and reasons for an earlier audit.",
        "owner": "Owner of the price or model, and the senior manager responsible.",
        "sign_off": "Name, role, date and signature.",
    }
)


def read_governance(path: str | PathLike[str]) -> dict[str, str]:
    """Read the answers of a YAML file, a map of fields to text; blank answers are left out.

    Raises
    ------
    StorageError
        The file can't be read, or contains anything except texts under the names of :data:`FIELDS`.
    """
    place = Path(path)
    try:
        content = place.read_bytes()
    except OSError as error:
        raise StorageError.of(f"The answers in {place} can't be read", "Name another file.") from error
    return parse_governance(content, name=str(place))


def parse_governance(content: bytes, *, name: str) -> dict[str, str]:
    """Parse the answers from a file's bytes."""
    import yaml

    hint = "Write it as `fairdash audit --template` does: a field, a colon, and a text."
    fault = StorageError.of(f"The answers in {name} can't be read", hint)
    if len(content) > _LARGEST:
        raise fault
    try:
        # The values are texts: no YAML tag is followed, and a date keeps its spelling.
        written = yaml.load(content.decode(), Loader=yaml.BaseLoader) or {}  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise fault from error
    if not isinstance(written, dict) or not all(isinstance(each, str) for each in written.values()):
        raise fault
    if unknown := [str(each) for each in written if each not in FIELDS]:
        raise StorageError.of(
            f"{name} has an unknown field: “{unknown[0]}”",
            f"Fields are: {', '.join(FIELDS)}.",
        )
    return {field: written[field].strip() for field in FIELDS if written.get(field, "").strip()}


def governance_yaml(answers: Mapping[str, str]) -> bytes:
    """Write YAML with every field, its question as a comment, and the existing answers."""
    import yaml

    parts = ["# Yours to write. fairdash copies these texts unchanged into filings and model cards."]
    for field, asks in FIELDS.items():
        written = yaml.safe_dump({field: visible(answers.get(field, ""))}, allow_unicode=True, width=100)
        parts.append("\n".join([*textwrap.wrap(f"# {asks}", 100, subsequent_indent="# "), written.rstrip()]))
    return "\n\n".join(parts).encode() + b"\n"


def kept_governance(path: str | PathLike[str]) -> dict[str, str]:
    """Read the answers of a file; if it does not exist yet, create one with blanks.

    Raises
    ------
    StorageError
        It can't be read or written.
    """
    place = Path(path)
    if not place.exists():
        write_whole(place, governance_yaml({}))
    return read_governance(place)


#: Tables that are drawn, or printed, in a filing; the evidence has all of them.
_DRAWN = frozenset(
    {
        *("curve", "classes", "measures_3", "controlled_curve", "residual_curve", "actual_to_expected"),
        *("drivers", "money_along_s", "premium_curves", "double_lift", "moved_curve"),
    }
)
_PRINTED = frozenset({"premiums", "premium_averages", "power", "by_coverage", "two_prices", "one_way"})


def render_filing(result: Findings, template: str, answers: Mapping[str, str], *, command: str = "") -> bytes:
    """Render a finished audit under a rule's headings, as UTF-8 HTML; the same input gives the same bytes.

    Parameters
    ----------
    template
        Id of :data:`fairdash.auditing.filing.rules.TEMPLATES`.
    answers
        Field of :data:`~fairdash.auditing.filing.document.FIELDS` to what the user has written; a missing
        text is marked as the user's to write.
    command
        Command that reproduces the audit.

    Raises
    ------
    OptionError
        There is no such template.
    MissingPackageError
        matplotlib is not installed.
    """
    rule = template_of(template)
    columns, version = result.plan.columns, result.made_with.get("fairdash", "of an unknown version")
    sensitive = ", ".join((columns.sensitive, *columns.also))
    blocks: list[Block] = [
        Text(f"“{columns.price}” along “{sensitive}”", "title"),
        Text(f"{rule.title}. {result.headline}. Computed by fairdash {version}.", "small"),
        {
            "Rule": rule.title,
            "Authority": rule.authority,
            "Version": rule.version,
            "Looked up": rule.looked_up,
            "Sources": "; ".join(rule.sources),
        },
        Text(
            "The headings follow our reading of these sources. This is not legal advice and does not certify "
            "compliance.",
            "small",
        ),
    ]
    for k, heading in enumerate(rule.headings, start=1):
        blocks += [Text(f"{k}. {heading.title}", "chapter"), Text(heading.asks, "small")]
        blocks += (block for part in heading.shows for block in PARTS[part](result))
        for name in heading.blanks:
            written, blank = answers.get(name), f"Yours to write: {FIELDS[name]}"
            blocks.append(Text(blank, "blank") if written is None else Text(written, "written"))
    blocks += chapter("Parts of this rule that fairdash can’t answer", list(rule.cannot))
    if command:
        said = "This command reproduces the audit from the plan in the evidence:"
        blocks += [said, Text(command, "command")]
    return document(f"{rule.title}: {columns.price} along {sensitive}", blocks, scripts=False)


def _decided(*names: str) -> Callable[[Findings], Iterator[Block]]:
    """Return a part that states these facts of the plan."""

    def part(result: Findings) -> Iterator[Block]:
        facts = decided_of(result)
        yield {name: facts[name] for name in names}

    return part


def _data(result: Findings) -> Iterator[Block]:
    yield origin_of(result) | {"Mean price": amount(result.mean_price)}
    yield from _decided("Exposure", "Outcome", "Expected cost")(result)
    if result.every_note:
        yield list(result.every_note)


def _method(_: Findings) -> Iterator[Block]:
    yield CRITERIA_IN_WORDS
    yield (
        "Averages along the attribute are smooth curves. For classes, and for numbers with at most "
        f"{MAX_LEVELS} values, they are plain means. The band contains all of a smooth curve in about 95 % "
        "of samples. It does not cover a jump inside the range, which is smoothed. The verdict says whether "
        "the largest gap is below the threshold, above it or undecided. Each verdict is tested at the 5 % "
        "level. Further criteria, attributes and the cells of crossed attributes are tested with Holm's "
        "correction."
    )


def _verdict(result: Findings) -> Iterator[Block]:
    yield from verdict_of(result)
    yield from verdict_tables(result)


def _question(number: int, result: Findings) -> Iterator[Block]:
    asked = False
    for question, title, (answer, *more) in answers_of(result):
        if question == number:
            asked = True
            yield from (Text(title, "heading"), answer)
            yield from (
                each
                for each in more
                if (isinstance(each, Chart) and each.name in _DRAWN)
                or (isinstance(each, Table) and each.name in _PRINTED)
            )
    if not asked:
        yield {QUESTIONS[number].title: "Not asked in this audit."}


def _since(result: Findings) -> Iterator[Block]:
    none = ["You gave no earlier audit, so this report lists no changes."]
    yield from (each for each in changes_of(result) or none if not isinstance(each, Table))


def _reproduce(result: Findings) -> Iterator[Block]:
    yield f"Made with: {', '.join(f'{name} {each}' for name, each in result.made_with.items())}."


def _limits(result: Findings) -> Iterator[Block]:
    left_out = [each.title for number, each in QUESTIONS.items() if number not in result.plan.asked]
    yield [
        NO_RULE,
        "Results for groups say nothing about single persons.",
        "A difference may be unlawful even if expected cost explains it.",
        "“Equals” are rows with the same values of the named factors. A factor that is missing may explain "
        "the remaining difference.",
        f"Every group shown has at least {MIN_SHOWN} rows.",
        *([f"Not asked: {' '.join(left_out)}"] if left_out else []),
    ]


#: Parts that an audit fills in below a heading, by id.
PARTS: Mapping[str, Callable[[Findings], Iterator[Block]]] = MappingProxyType(
    {
        "subject": _decided(
            "Price", "Sensitive attribute", "Further sensitive attributes", "Legitimate factors"
        ),
        "data": _data,
        "method": _method,
        "thresholds": _decided("Primary criterion", "Largest gap allowed", "Written down", "Seed"),
        "verdict": _verdict,
        **{f"question_{number}": partial(_question, number) for number in QUESTIONS},
        "since": _since,
        "reproduce": _reproduce,
        "limits": _limits,
    }
)


#: Columns listed, those that change the price most, so that it stays a page.
_MOST = 8
#: Share of the mean price above which a column that varies with the attribute is named.
_NAMED = 0.01
_YOURS = "Yours to write: whom the customer can ask, by when you answer, and who decides after that."


def render_customer(result: Findings, answers: Mapping[str, str], *, row: int | str) -> bytes:
    """Explain the price that a model gives one customer, in plain words, as UTF-8 HTML.

    Parameters
    ----------
    result
        Audit of a model, with a customer (`customer` of :func:`fairdash.audit`).
    answers
        Text of the user by field; ``complaints`` ends the page.
    row
        Label of the customer's row.

    Raises
    ------
    OptionError
        The audit explains no customer's price.
    """
    if "customer" not in result.tables:
        raise OptionError.of(
            "No customer's price was explained", "Name a model and a row.", column="customer"
        )
    name, price = result.plan.columns.sensitive, result.plan.columns.price
    paid = _money(result, result.tables["customer"]["price"].iloc[0])
    version = result.made_with.get("fairdash", "of an unknown version")
    complaints = answers.get("complaints", "")
    blocks = [
        Text(f"Why is your price {paid}?", "title"),
        Text(
            f"“{price}” of the customer in row {row}. Computed by fairdash {version} from the model that "
            "sets this price.",
            "small",
        ),
        Text("Your price compared with others", "section"),
        *_beside_others(result),
        Text("What changes your price", "section"),
        *_by_column(result),
        Text(f"What “{name}” does to your price", "section"),
        *_through(result),
        Text("What this page can’t say", "section"),
        _unsaid(name),
        Text("If you disagree", "section"),
        Text(complaints or _YOURS, "written" if complaints else "blank"),
    ]
    return document(f"Why this price? {price} of the customer in row {row}", blocks, scripts=False)


def _money(result: Findings, value: float) -> str:
    """Format to the cent; prices below 1, such as rates, keep all their digits."""
    text = f"{value:,.2f}" if result.mean_price >= 1 else amount(float(value))
    return with_unit(text, result.plan.currency)


def _short(value: str) -> str:
    try:
        return f"{float(value):.6g}"
    except ValueError:
        return value


def _beside_others(result: Findings) -> Iterator[Block]:
    facts, name = result.tables["customer"].iloc[0], result.plan.columns.sensitive
    yield unbroken(
        f"You pay {_money(result, facts['price'])}. The mean price of all customers is "
        f"{_money(result, facts['mean_of_all'])}. The {int(facts['near']):,} customers who are closest to "
        f"you in “{name}” pay {_money(result, facts['mean_near_in_s'])} on average, and "
        f"{percent(facts['share_near_that_pays_less'], decimals=0)} of them pay less than you."
    )


def _change(result: Findings, value: float) -> str:
    return f"{'adds' if value > 0 else 'takes off'} {_money(result, abs(value))}"


def _by_column(result: Findings) -> Iterator[Block]:
    moved = result.tables["customer_columns"].head(_MOST)
    told = [_change(result, value) for value in moved["change"]]
    frame = pd.DataFrame(
        {"about you": moved["column"], "your value": moved["value"].map(_short), "effect": told}
    )
    below = (
        "Each line compares your price with its mean over all customers' values in that one column. All else "
        "stays as it is. The lines do not add up to your price."
    )
    yield Table("What the model knows about you", frame, below)


def _through(result: Findings) -> Iterator[Block]:
    name = result.plan.columns.sensitive
    own = result.tables["customer_columns"].set_index("column")["change"]
    yield (
        f"The price uses “{name}” itself: your value {_change(result, own[name])}, compared with all "
        "customers' values."
        if name in own
        else f"“{name}” itself does not change your price."
    )
    along = result.tables["flips"].set_index("column")["mean_change"].drop(name, errors="ignore")
    others = [each for each in along[along.abs() > _NAMED].index if each in own][:3]
    listed = ", ".join(f"“{each}” ({_change(result, own[each])})" for each in others)
    yield (
        f"Other things known about you vary with “{name}”. Through them, the price can follow it: {listed}."
        if others
        else f"Nothing else that varies with “{name}” changes prices by more than 1 % of the mean price."
    )
    yield unbroken(f"Over all customers: {result.along[0].in_words}")


def _unsaid(name: str) -> list[str]:
    return [
        "Each comparison changes one thing and leaves the others. A customer with such values may not exist.",
        "It shows how the model uses your values. It does not show what you will cost, nor whether the "
        "values are right. If a value is wrong, tell us, because the right value may give another price.",
        f"A column that varies with “{name}” may have a separate justification. This page can’t distinguish "
        "the two.",
        "It does not decide whether a difference is lawful.",
    ]
