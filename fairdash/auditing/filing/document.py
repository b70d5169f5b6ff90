"""Audit document for filing, under the headings of a rule, with SVG figures and no scripts."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from markupsafe import Markup

from fairdash.auditing.curve import MOST_LEVELS
from fairdash.auditing.filing.governance import FIELDS
from fairdash.auditing.filing.report import (
    attributes_of,
    blocks_of,
    decided_of,
    moved_tables,
    origin_of,
    verdicts_of,
)
from fairdash.auditing.filing.rules import template_of
from fairdash.auditing.models.premiums import PREMIUMS
from fairdash.auditing.plan import CRITERIA, QUESTIONS
from fairdash.auditing.result import Findings
from fairdash.evaluation.insurance import FEWEST_SHOWN
from fairdash.figures.blocks import Block, Picture, Table, templates
from fairdash.figures.svg import svg_of
from fairdash.figures.theme import LIGHT
from fairdash.utils.text import unbroken

#: Tables that are drawn or printed in a filing; the evidence has all of them.
_DRAWN = frozenset(
    {
        *("curve", "classes", "measures_3", "controlled_curve", "residual_curve", "actual_to_expected"),
        *("drivers", "money_along_s", "premium_curves", "double_lift", "moved_curve"),
    }
)
#: Tables that are printed, with their columns in per cent.
_PRINTED: Mapping[str, tuple[str, ...]] = {
    "premiums": (
        *("mean", "gap", "gap_low", "gap_high", "share_of_variance", "explained"),
        *("less", "less_low", "less_high"),
    ),
    "premium_averages": (),
    "power": ("smallest",),
    "by_coverage": ("gap", "gap_low", "gap_high"),
    "two_prices": (),
    "one_way": (),
}
#: Ids in the first column of a table, in words.
_NAMED = {**PREMIUMS, "price": "Today’s price", **{name: each.title for name, each in CRITERIA.items()}}


@dataclass(frozen=True)
class Drawing:
    """Figure that needs no script."""

    picture: Picture

    @property
    def source(self) -> Markup:
        """Address that embeds the picture as a document in which no script runs."""
        svg = svg_of(self.picture.figure, height=self.picture.height)
        return Markup(f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}")  # noqa: S704 - base64


#: What stands below a heading.
Content = Block | Drawing


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
    sections = [
        (each, [block for part in each.shows for block in PARTS[part](result)]) for each in rule.headings
    ]
    columns = result.plan.columns
    document = (
        templates(Path(__file__).parent)
        .get_template("filing.html")
        .render(
            rule=rule,
            price=columns.price,
            sensitive=", ".join((columns.sensitive, *columns.also)),
            headline=result.headline,
            sections=sections,
            answers=answers,
            fields=FIELDS,
            command=command,
            version=result.made_with.get("fairdash", "of an unknown version"),
        )
    )
    return document.encode()


def _subject(result: Findings) -> Iterator[Content]:
    columns = result.plan.columns
    roles = {"Price or prediction": columns.price, "Sensitive attribute": columns.sensitive}
    roles |= {"Further attributes": ", ".join(columns.also)} if columns.also else {}
    yield roles | {"Legitimate factors": ", ".join(columns.controls) or "none named"}


def _data(result: Findings) -> Iterator[Content]:
    columns = result.plan.columns
    roles = {"Exposure": columns.exposure, "Outcome": columns.outcome, "Expected cost": columns.expected_cost}
    named = {role: name or "none named" for role, name in roles.items()}
    yield origin_of(result) | {"Mean price": f"{result.mean_price:,.4g}"} | named
    if result.every_note:
        yield list(result.every_note)


def _method(_: Findings) -> Iterator[Content]:
    yield {each.title: f"{each.meaning} Measured: {each.gap}." for each in CRITERIA.values()}
    yield (
        "Averages along the attribute are smooth curves. For classes, and for numbers with at most "
        f"{MOST_LEVELS} values, they are plain means. The band contains all of a smooth curve in about 95 % "
        "of samples. It does not cover a jump inside the range, which is smoothed. The verdict says whether "
        "the largest gap is below the threshold, above it or undecided. Each claim is tested at 5 %. Further "
        "criteria, attributes and the cells of crossed attributes are tested with Holm's correction."
    )


def _thresholds(result: Findings) -> Iterator[Content]:
    facts = decided_of(result)
    yield {name: facts[name] for name in ("Primary criterion", "Largest gap allowed", "Written down", "Seed")}


def _verdict(result: Findings) -> Iterator[Content]:
    if result.units_remark:
        yield unbroken(result.units_remark)
    if result.others:
        yield unbroken(f"{result.headline}. {result.in_words}")
        yield attributes_of(result)
    for each in result.along:
        yield unbroken(each.in_words)
        yield verdicts_of(each)


def _question(number: int, result: Findings) -> Iterator[Content]:
    asked = False
    for each in result.along:
        for answer, tables in each.sections():
            if answer.question != number:
                continue
            asked = True
            along = f"Along “{each.plan.columns.sensitive}”: " if result.others else ""
            yield {answer.title: unbroken(f"{along}{answer.text}")}
            for block in blocks_of(tables, each, theme=LIGHT):
                name = block.file.removesuffix(".csv") if isinstance(block, Table) else ""
                if isinstance(block, Picture) and block.id.removeprefix("picture-") in _DRAWN:
                    yield Drawing(block)
                elif isinstance(block, Table) and name in _PRINTED:
                    first = str(block.frame.columns[0])
                    frame = block.frame.assign(**{first: block.frame[first].replace(_NAMED)})
                    yield replace(block, frame=frame, shares=_PRINTED[name])
    if not asked:
        yield {QUESTIONS[number].title: "Not asked in this audit."}


def _since(result: Findings) -> Iterator[Content]:
    if result.since is None:
        yield "You gave no earlier audit, so this report lists no changes."
        return
    yield unbroken(result.since.sentence)
    pictures = (each for each in blocks_of(moved_tables(result), result, theme=LIGHT))
    yield from (Drawing(each) for each in pictures if isinstance(each, Picture))


def _reproduce(result: Findings) -> Iterator[Content]:
    yield f"Made with: {', '.join(f'{name} {each}' for name, each in result.made_with.items())}."


def _limits(result: Findings) -> Iterator[Content]:
    left_out = [each.title for number, each in QUESTIONS.items() if number not in result.plan.asked]
    yield [
        "This report states what was measured on these rows. It does not certify compliance with any rule, "
        "and does not decide whether a difference is lawful.",
        "Results for groups say nothing about single persons.",
        "A difference may be unlawful even if expected cost explains it.",
        "“Equals” are rows with the same values of the named factors. A factor that is missing may explain "
        "the remaining difference.",
        f"Every group shown has at least {FEWEST_SHOWN} rows.",
        *([f"Not asked: {' '.join(left_out)}"] if left_out else []),
    ]


#: What an audit fills in below a heading, by id.
PARTS: Mapping[str, Callable[[Findings], Iterator[Content]]] = MappingProxyType(
    {
        "subject": _subject,
        "data": _data,
        "method": _method,
        "thresholds": _thresholds,
        "verdict": _verdict,
        **{f"question_{number}": partial(_question, number) for number in QUESTIONS},
        "since": _since,
        "reproduce": _reproduce,
        "limits": _limits,
    }
)
