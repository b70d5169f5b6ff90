"""Document for filing an audit, with the headings that a rule requires, SVG charts and governance answers."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from fairdash.auditing.curve import MAX_LEVELS
from fairdash.auditing.filing.rules import template_of
from fairdash.auditing.filing.view import (
    CRITERIA_IN_WORDS,
    NO_RULE,
    answers_of,
    changes_of,
    facts_of_plan,
    origin_of,
    verdict_of,
    verdict_tables,
)
from fairdash.auditing.plan import QUESTIONS
from fairdash.auditing.result import Findings
from fairdash.errors import StorageError
from fairdash.evaluation.insurance import MIN_SHOWN
from fairdash.storage import write_whole
from fairdash.utils.text import amount, visible
from fairdash.views.blocks import Block, Chart, Table, Text, chapter, document

#: Name of the file with the governance answers, in the folder of a plan.
FILE = "governance.yaml"
#: Maximum size, in bytes, of the file with the governance answers.
_MAX_BYTES = 10**6
#: Fields of the governance answers, and the content that the user provides for each field.
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
    """Read the answers from a YAML file as a map of fields to strings, without blank answers.

    Raises
    ------
    StorageError
        fairdash can't read the file, or it contains anything but strings under names of :data:`FIELDS`.
    """
    file_path = Path(path)
    try:
        content = file_path.read_bytes()
    except OSError as error:
        raise StorageError.of(f"The answers in {file_path} can't be read", "Name another file.") from error
    return parse_governance(content, name=str(file_path))


def parse_governance(content: bytes, *, name: str) -> dict[str, str]:
    """Parse the answers from a file's bytes."""
    import yaml

    hint = "Write the file as `fairdash audit --template` does: a field, a colon, and a text."
    fault = StorageError.of(f"The answers in {name} can't be read", hint)
    if len(content) > _MAX_BYTES:
        raise fault
    try:
        # BaseLoader reads all values as strings. It ignores YAML tags and does not convert dates.
        answers_read = yaml.load(content.decode(), Loader=yaml.BaseLoader) or {}  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise fault from error
    if not isinstance(answers_read, dict) or not all(isinstance(text, str) for text in answers_read.values()):
        raise fault
    if unknown := [str(name) for name in answers_read if name not in FIELDS]:
        raise StorageError.of(
            f"{name} has an unknown field: “{unknown[0]}”", f"Fields are: {', '.join(FIELDS)}."
        )
    return {field: answers_read[field].strip() for field in FIELDS if answers_read.get(field, "").strip()}


def governance_yaml(answers: Mapping[str, str]) -> bytes:
    """Return YAML with every field, the field's question as a comment, and the existing answers."""
    import yaml

    parts = ["# Yours to write. fairdash copies these texts unchanged into filings and model cards."]
    for field, question in FIELDS.items():
        answer = yaml.safe_dump({field: visible(answers.get(field, ""))}, allow_unicode=True, width=100)
        parts.append(
            "\n".join([*textwrap.wrap(f"# {question}", 100, subsequent_indent="# "), answer.rstrip()])
        )
    return "\n\n".join(parts).encode() + b"\n"


def kept_governance(path: str | PathLike[str]) -> dict[str, str]:
    """Read the answers from a file; if the file does not exist yet, create it with blank answers.

    Raises
    ------
    StorageError
        fairdash can't read or write the file.
    """
    file_path = Path(path)
    if not file_path.exists():
        write_whole(file_path, governance_yaml({}))
    return read_governance(file_path)


#: Tables that a filing shows, as a chart or as a table. The evidence file (zip) contains all tables.
_FIGURES_SHOWN = frozenset(
    {
        *("curve", "classes", "measures_3", "controlled_curve", "residual_curve", "actual_to_expected"),
        *("drivers", "money_along_s", "premium_curves", "double_lift", "moved_curve"),
    }
)
_TABLES_SHOWN = frozenset({"premiums", "premium_averages", "power", "by_coverage", "two_prices", "one_way"})


def render_filing(result: Findings, template: str, answers: Mapping[str, str], *, command: str = "") -> bytes:
    """Return a filing with a rule's headings as UTF-8 HTML; the same input gives the same bytes.

    Parameters
    ----------
    template
        Id of :data:`fairdash.auditing.filing.rules.TEMPLATES`.
    answers
        Map of :data:`~fairdash.auditing.filing.document.FIELDS` to strings written by the user; the filing
        marks each missing string, which the user still has to write.
    command
        Command that reproduces the audit.

    Raises
    ------
    OptionError
        No template has this id.
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
            answer_text, blank = answers.get(name), f"Yours to write: {FIELDS[name]}"
            blocks.append(Text(blank, "blank") if answer_text is None else Text(answer_text, "written"))
    blocks += chapter("Parts of this rule that fairdash can’t answer", list(rule.cannot))
    if command:
        sentence = "This command reproduces the audit from the plan in the evidence:"
        blocks += [sentence, Text(command, "command")]
    return document(f"{rule.title}: {columns.price} along {sensitive}", blocks, scripts=False)


def _facts_section(*names: str) -> Callable[[Findings], Iterator[Block]]:
    """Return a function that yields a block with some facts of the plan, selected by name."""

    def part(result: Findings) -> Iterator[Block]:
        facts = facts_of_plan(result)
        yield {name: facts[name] for name in names}

    return part


def _data(result: Findings) -> Iterator[Block]:
    yield origin_of(result) | {"Mean price": amount(result.mean_price)}
    yield from _facts_section("Exposure", "Outcome", "Expected cost")(result)
    if result.every_note:
        yield list(result.every_note)


def _method(_: Findings) -> Iterator[Block]:
    yield CRITERIA_IN_WORDS
    yield (
        "Averages along the attribute are smooth curves. For classes, and for numbers with at most "
        f"{MAX_LEVELS} values, the averages are plain means. The band contains all of a smooth curve in "
        "about 95 % of samples. The band does not cover a jump inside the range, because the curve smooths "
        "the jump. The verdict says whether the largest gap is below the threshold, above it or undecided. "
        "Each verdict is tested at the 5 % level. Further criteria, attributes and combinations of "
        "attributes are tested with Holm's correction."
    )


def _verdict(result: Findings) -> Iterator[Block]:
    yield from verdict_of(result)
    yield from verdict_tables(result)


def _question(number: int, result: Findings) -> Iterator[Block]:
    is_answered = False
    for question, title, (answer, *further_texts) in answers_of(result):
        if question == number:
            is_answered = True
            yield from (Text(title, "heading"), answer)
            yield from (
                block
                for block in further_texts
                if (isinstance(block, Chart) and block.name in _FIGURES_SHOWN)
                or (isinstance(block, Table) and block.name in _TABLES_SHOWN)
            )
    if not is_answered:
        yield {QUESTIONS[number].title: "This question was not asked in the audit."}


def _changes_section(result: Findings) -> Iterator[Block]:
    no_changes = ["You gave no earlier audit, so this report lists no changes."]
    yield from (block for block in changes_of(result) or no_changes if not isinstance(block, Table))


def _command_section(result: Findings) -> Iterator[Block]:
    yield f"Made with: {', '.join(f'{name} {each}' for name, each in result.made_with.items())}."


def _limits_section(result: Findings) -> Iterator[Block]:
    open_questions = [each.title for number, each in QUESTIONS.items() if number not in result.plan.asked]
    yield [
        NO_RULE,
        "Results for groups say nothing about single persons.",
        "A difference may be unlawful even if expected cost explains it.",
        "“Equals” are rows with the same values of the named factors. A factor that is missing may explain "
        "the remaining difference.",
        f"Every group shown has at least {MIN_SHOWN} rows.",
        *([f"Not asked: {' '.join(open_questions)}"] if open_questions else []),
    ]


#: Functions that write parts of the audit's results below a heading, by id of the part.
PARTS: Mapping[str, Callable[[Findings], Iterator[Block]]] = MappingProxyType(
    {
        "subject": _facts_section(
            "Price", "Sensitive attribute", "Further sensitive attributes", "Legitimate factors"
        ),
        "data": _data,
        "method": _method,
        "thresholds": _facts_section("Primary criterion", "Largest gap allowed", "Written down", "Seed"),
        "verdict": _verdict,
        **{f"question_{number}": partial(_question, number) for number in QUESTIONS},
        "since": _changes_section,
        "reproduce": _command_section,
        "limits": _limits_section,
    }
)
