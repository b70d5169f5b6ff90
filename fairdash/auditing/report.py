"""The report of an audit: a page for a committee, then the technical part, as one HTML file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from fairdash.auditing.plan import CRITERIA
from fairdash.auditing.result import IN_SHORT, MOVED, MOVED_CURVE, Findings
from fairdash.figures.audit import audit_figure
from fairdash.figures.offline import Picture, Table, plotly_script, templates
from fairdash.figures.theme import LIGHT
from fairdash.utils.text import percent, unbroken

#: Rows of a table that are printed; the file of the same name has all.
_MOST_ROWS = 40


@dataclass(frozen=True, kw_only=True)
class Section:
    """An answer with all that belongs to it.

    Attributes
    ----------
    title, sentence
        The question and its answer.
    pictures, tables
        In their order.
    """

    title: str
    sentence: str
    pictures: tuple[Picture, ...]
    tables: tuple[Table, ...]


def render_audit(result: Findings, *, hashes: Mapping[str, str], command: str) -> bytes:
    """The report of an audit, HTML in UTF-8; the same result gives the same bytes.

    Parameters
    ----------
    hashes
        File to SHA-256, of what lies beside the report.
    command
        What makes the evidence again.
    """
    plan = result.plan
    primary = CRITERIA[plan.criterion]
    picture = _picture(primary.picture, result, id="first")
    sections = [
        _section(f"{answer.question}. {answer.title}", answer.text, tables, result)
        for answer, tables in result.sections()
    ]
    if result.since is not None:
        moved = {name: result.tables[name] for name in (MOVED_CURVE, MOVED)}
        sections.append(_section("What has moved since", result.since.sentence, moved, result))
    return (
        templates(Path(__file__).parent)
        .get_template("report.html")
        .render(
            result=result,
            in_words=unbroken(result.in_words),
            answers=[(each.question, each.title, unbroken(each.sentence)) for each in result.answers],
            columns=plan.columns,
            primary=primary,
            verdict=IN_SHORT[result.verdict],
            picture=picture,
            decided=_decided(result),
            sections=sections,
            verdicts=_verdicts(result),
            details=_table(_details(result), title="Behind the verdicts, as shares of the mean price"),
            criteria=[(each.title, f"{each.meaning} Measured: {each.gap}.") for each in CRITERIA.values()],
            origin=_origin(result),
            environment=list(result.made_with.items()),
            hashes=list(hashes.items()),
            command=command,
            plotly=plotly_script(),
        )
        .encode()
    )


def _section(title: str, sentence: str, tables: Mapping[str, pd.DataFrame], result: Findings) -> Section:
    drawn = [_picture(name, result, id=name, table=table) for name, table in tables.items()]
    return Section(
        title=title,
        sentence=unbroken(sentence),
        pictures=tuple(each for each in drawn if each is not None),
        tables=tuple(
            _table(table, title=name.replace("_", " "), file=name) for name, table in tables.items()
        ),
    )


def _picture(name: str, result: Findings, *, id: str, table: pd.DataFrame | None = None) -> Picture | None:
    table = result.tables.get(name) if table is None else table
    drawn = None if table is None else audit_figure(name, table, result.view, theme=LIGHT)
    return None if drawn is None else Picture.of(drawn[0], id=f"picture-{id}", alt=drawn[1])


def _decided(result: Findings) -> list[tuple[str, str]]:
    plan = result.plan
    columns = plan.columns
    roles = {
        "Price": columns.price,
        "Sensitive attribute": columns.sensitive,
        "Exposure": columns.exposure,
        "Outcome": columns.outcome,
        "Expected cost": columns.expected_cost,
        "A second price": columns.candidate,
        "Legitimate factors": ", ".join(columns.controls),
        "Rows that belong together": columns.groups,
        "Sums, divided by the exposure": ", ".join(columns.totals),
    }
    return [
        ("Primary criterion", f"{CRITERIA[plan.criterion].title}. {CRITERIA[plan.criterion].meaning}"),
        ("Largest gap allowed", f"{plan.gap_in_words} of the mean price"),
        ("Written down", _time(plan.written) if plan.written else "with the request; no time was kept"),
        *((name, column or "none named") for name, column in roles.items()),
        ("Seed", "none: it can't be made again" if plan.random_state is None else str(plan.random_state)),
    ]


def _time(written: str) -> str:
    return datetime.fromisoformat(written).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _verdicts(result: Findings) -> Table:
    rows = [
        (
            CRITERIA[row["criterion"]].title,
            IN_SHORT[row["verdict"]],
            *(_share(row[name]) for name in ("value", "ci_low", "ci_high")),
            _cell(row["p_value"]),
        )
        for row in result.verdicts.to_dict("records")
    ]
    return Table(
        "The criteria, the primary one first",
        ("criterion", "verdict", "largest gap", "95 % from", "to", "p-value of no link"),
        tuple(rows),
        "Shares of the mean price. The primary criterion is tested at 5 % a direction, the others by Holm.",
    )


def _details(result: Findings) -> pd.DataFrame:
    rows = [{"criterion": CRITERIA[name].title, **each} for name, each in result.details.items()]
    return pd.DataFrame(rows)


def _origin(result: Findings) -> list[tuple[str, str]]:
    named = {
        "sha256": "SHA-256 of the input file",
        "dataset": "Built-in data set",
        "options": "Its options",
        "rows_sha256": "SHA-256 of the cells looked at",
        "reading": "How the file was read",
    }
    facts = []
    for key, value in result.origin.items():
        if isinstance(value, Mapping):
            chosen = [f"{name}: {each}" for name, each in value.items() if each not in (None, False, "")]
            value = ", ".join(chosen) or "nothing was chosen"
        facts.append((named.get(key, key), str(value)))
    return [*facts, ("Rows", f"{result.n:,}"), ("Independent units", f"{result.n_units:,}")]


def _table(frame: pd.DataFrame, *, title: str, file: str = "") -> Table:
    rows = tuple(tuple(_cell(cell) for cell in row) for row in frame.head(_MOST_ROWS).itertuples(index=False))
    more = f"The first {len(rows)} of {len(frame):,} rows: {file}.csv has all."
    columns = tuple(str(name).replace("_", " ") for name in frame)
    return Table(title, columns, rows, more if len(frame) > len(rows) else "")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        if not math.isfinite(value):
            return "–"
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _share(value: float) -> str:
    return percent(value) if math.isfinite(value) else "–"
