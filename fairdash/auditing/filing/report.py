"""Report of an audit, built from blocks: one page for a committee, then the technical part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.plan import CRITERIA
from fairdash.auditing.result import IN_SHORT, MOVED, MOVED_CURVE, Findings
from fairdash.figures.blocks import Block, Chapters, Picture, Table, plotly_script, templates
from fairdash.figures.theme import LIGHT, Theme
from fairdash.utils.extras import has
from fairdash.utils.text import few, unbroken, utc_time

Array = NDArray[np.float64]

_ROLES = {
    "Price": "price",
    "Sensitive attribute": "sensitive",
    "Further sensitive attributes": "also",
    "Exposure": "exposure",
    "Outcome": "outcome",
    "Expected cost": "expected_cost",
    "A second price": "candidate",
    "Legitimate factors": "controls",
    "Probabilities of classes": "probabilities",
    "Class, where it is known": "known_class",
    "Rows that belong together": "groups",
    "Sums, divided by the exposure": "totals",
}
_ORIGIN = {
    "sha256": "SHA-256 of the input file",
    "dataset": "Built-in data set",
    "options": "Its options",
    "rows_sha256": "SHA-256 of the cells used",
    "reading": "Reading of the file",
    "model": "Model of the price",
}


#: Titles of a gap and its interval, shares of the mean price, to columns of the verdicts.
SHARES = {"largest gap": "value", "95 % from": "ci_low", "to": "ci_high"}


def render_audit(result: Findings, *, hashes: Mapping[str, str], command: str) -> bytes:
    """Render the report of an audit as UTF-8 HTML; the same result gives the same bytes.

    Parameters
    ----------
    hashes
        File to SHA-256, of what lies beside the report.
    command
        Command that reproduces the evidence.
    """
    criteria = {each.title: f"{each.meaning} Measured: {each.gap}." for each in CRITERIA.values()}
    return (
        templates(Path(__file__).parent)
        .get_template("report.html")
        .render(
            result=result,
            headline=unbroken(result.headline),
            in_words=unbroken(result.in_words),
            answers=[(each.question, each.title, unbroken(each.sentence)) for each in result.answers],
            columns=result.plan.columns,
            sensitive=few((result.plan.columns.sensitive, *result.plan.columns.also)),
            picture=first_picture(result.decisive, theme=LIGHT),
            decided=decided_of(result),
            technical=[
                *([attributes_of(result)] if result.others else []),
                *(block for each in result.along for block in (verdicts_of(each), _details(each))),
                criteria,
            ],
            chapters=_chapters(result),
            origin=origin_of(result),
            environment=result.made_with,
            hashes=hashes,
            command=command,
            plotly=plotly_script() if has("plotly") else "",
        )
        .encode()
    )


def _chapters(result: Findings) -> Chapters:
    """Return the answers for each attribute, and what has moved, each with all that belongs to it."""
    found: dict[str, list[Block]] = {}
    for k, each in enumerate(result.along, start=1):
        along, prefix = (f"Along “{each.plan.columns.sensitive}”: ", f"{k}_") if k > 1 else ("", "")
        for answer, tables in each.sections():
            blocks = blocks_of(tables, each, theme=LIGHT, prefix=prefix)
            found[f"{along}{answer.question}. {answer.title}"] = [unbroken(answer.text), *blocks]
    if result.since is not None:
        blocks = blocks_of(moved_tables(result), result, theme=LIGHT)
        found["What has changed since"] = [unbroken(result.since.sentence), *blocks]
    return found


def moved_tables(result: Findings) -> dict[str, pd.DataFrame]:
    """Return the tables of changes since another audit."""
    return {name: result.tables[name] for name in (MOVED_CURVE, MOVED)}


def blocks_of(
    tables: Mapping[str, pd.DataFrame], result: Findings, *, theme: Theme, prefix: str = ""
) -> Iterator[Block]:
    """Return blocks for each table, preceded by its figure if it has one; `prefix` begins ids and files."""
    for name in tables:
        picture = _picture_of(name, tables, result, theme=theme, id=f"{prefix}{name}")
        if picture is not None:
            yield picture
        yield Table(name.replace("_", " "), tables[name], file=f"{prefix}{name}.csv")


def first_picture(result: Findings, *, theme: Theme) -> Picture | None:
    """Return the figure of the primary criterion, for the first screen."""
    name = CRITERIA[result.plan.criterion].picture
    return _picture_of(name, result.tables, result, theme=theme, id="first")


def _picture_of(
    name: str, tables: Mapping[str, pd.DataFrame], result: Findings, *, theme: Theme, id: str = ""
) -> Picture | None:
    """Return the figure of a table; None if there is no such table, no figure of it, or no plotly."""
    if name not in tables or not has("plotly"):
        return None
    from fairdash.figures.audit import audit_figure

    drawn = audit_figure(name, tables[name], result.view, theme=theme)
    return None if drawn is None else Picture(f"picture-{id or name}", *drawn)


def attributes_of(result: Findings) -> Table:
    """Return the primary verdict for each sensitive attribute and each crossing."""
    first = pd.DataFrame([each.verdicts.iloc[0] for each in result.along])
    verdicts = {CRITERIA[result.plan.criterion].title: [IN_SHORT[each] for each in first["verdict"]]}
    names = [each.plan.columns.sensitive for each in result.along]
    frame = pd.DataFrame({"sensitive attribute": names, **verdicts, **gaps_of(first)})
    note = "Holm's method corrects the verdicts for the number of attributes and crossings."
    return Table("Verdict for each sensitive attribute and crossing", frame, note, shares=tuple(SHARES))


def verdicts_of(result: Findings) -> Table:
    """Return one row per criterion, the primary one first; gaps are shares of the mean price."""
    table = result.verdicts
    first = (table["criterion"] != result.plan.criterion).to_numpy()
    table = table.iloc[first.argsort(kind="stable")]
    frame = pd.DataFrame(
        {
            "criterion": [CRITERIA[each].title for each in table["criterion"]],
            "verdict": [IN_SHORT[each] for each in table["verdict"]],
            **gaps_of(table),
            "p-value of no gap": table["p_value"].to_numpy(),
            "p-value of no link of any kind": table["p_any_link"].to_numpy(),
        }
    )
    note = (
        "Values are shares of the mean price. The primary criterion is tested at 5 % in each direction, "
        "and the others are tested with Holm's correction. The p-value of no gap tests that averages are "
        "equal, whatever their spread. The other p-value counts the spread, too, and among equals a link "
        "that varies with the factors. These p-values are not corrected."
    )
    title = f"The criteria along “{result.plan.columns.sensitive}”, the primary one first"
    return Table(title, frame, note, shares=tuple(SHARES))


def gaps_of(verdicts: pd.DataFrame) -> dict[str, Array]:
    """Return the largest gap and its interval, by the titles of :data:`SHARES`."""
    return {title: verdicts[name].to_numpy() for title, name in SHARES.items()}


def _details(result: Findings) -> Table:
    rows = [{"criterion": CRITERIA[name].title, **each} for name, each in result.details.items()]
    frame = pd.DataFrame(rows)
    frame.columns = frame.columns.str.replace("_", " ")
    note = (
        "p below and p above are of the claims that the gap is below and above the threshold. The verdicts "
        "correct them by Holm's method."
    )
    title = f"Details of the verdicts along “{result.plan.columns.sensitive}”, as shares of the mean price"
    return Table(title, frame, note)


def decided_of(result: Findings) -> dict[str, str]:
    """Return the plan fixed before any result."""
    plan = result.plan
    written = "with the request; the time was not recorded"
    if plan.written:
        written = utc_time(plan.written)
    roles = {title: getattr(plan.columns, role) for title, role in _ROLES.items()}
    return {
        "Primary criterion": f"{CRITERIA[plan.criterion].title}. {CRITERIA[plan.criterion].meaning}",
        "Largest gap allowed": f"{plan.gap_in_words} of the mean price",
        "Written down": written,
        **{
            title: (", ".join(column) if isinstance(column, tuple) else column) or "none named"
            for title, column in roles.items()
        },
        "Seed": "none; the audit can't be reproduced"
        if plan.random_state is None
        else str(plan.random_state),
    }


def origin_of(result: Findings) -> dict[str, str]:
    """Return the origin and number of the rows."""
    facts = {}
    for key, value in result.origin.items():
        if isinstance(value, Mapping):
            chosen = [f"{name}: {each}" for name, each in value.items() if each not in (None, False, "", [])]
            value = ", ".join(chosen) or "nothing was chosen"
        facts[_ORIGIN.get(key, key)] = str(value)
    return facts | {"Rows": f"{result.n:,}", "Independent units": f"{result.n_units:,}"}
