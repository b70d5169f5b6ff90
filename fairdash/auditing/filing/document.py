"""Audit document for filing, under the headings of a rule, with SVG figures and no scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from fairdash.auditing.curve import MAX_LEVELS
from fairdash.auditing.filing.governance import FIELDS
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
from fairdash.evaluation.insurance import MIN_SHOWN
from fairdash.utils.text import amount
from fairdash.views.blocks import Block, Chart, Table, Text, chapter, document

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
        Field of :data:`~fairdash.auditing.filing.governance.FIELDS` to what the user has written; what is not
        there is marked as theirs to write.
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
