"""Views of an audit as blocks, for the page, the report, the filing, the command line and CSV files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.models.premiums import PREMIUMS
from fairdash.auditing.plan import CRITERIA, QUESTIONS
from fairdash.auditing.result import IN_SHORT, MOVED, MOVED_CURVE, Findings
from fairdash.auditing.schema import SHARES
from fairdash.utils.imports import has
from fairdash.utils.text import amount, few, utc_time
from fairdash.views.blocks import Block, Chart, Table, Text, chapter

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
#: Titles of the gap and its interval (shares of the mean price), with their columns in the table of verdicts.
_GAP = {"largest gap": "value", "95 % from": "ci_low", "to": "ci_high"}
#: Columns that contain ids, and the display names of the ids.
_WORDS = {
    "premium": {**PREMIUMS, "price": "Today’s price"},
    "criterion": {name: each.title for name, each in CRITERIA.items()},
}
#: Captions of tables by name. A table that is not listed has its file name as caption.
_TITLES = {
    **{f"measures_{number}": "Results with their intervals" for number in QUESTIONS},
    "curve": "Average price along the attribute",
    "dearest_curve": "Share of the highest prices along the attribute",
    "classes": "Average price of each class, and its difference from all others",
    "class_pairs": "Differences between two classes",
    "class_probabilities": "Difference between each class and all others, estimated from class probabilities",
    "calibration_of_classes": "Probabilities of classes, compared with known classes",
    "crossed": "Average price in the cells of two attributes",
    "controlled_curve": "Average price among equals",
    "residual_curve": "Average of cost minus price along the attribute",
    "bridge_points": "Points between which the gap is measured",
    "bias_surface": "Undercharge by price and attribute",
    "autocalibration": "Cost compared with the price, by price",
    "calibration": "Actual ÷ expected by price",
    "actual_to_expected": "Actual ÷ expected along the attribute",
    "one_way": "Actual ÷ expected by the levels of each column",
    "by_coverage": "Results by coverage",
    "murphy": "Scores, and their parts (Murphy)",
    "lorenz": "Concentration of cost where the price is high",
    "deviances": "Deviance of each price",
    "drivers": "Columns through which the price follows the attribute",
    "proxies": "Columns that predict the attribute",
    "surrogate_fit": "Fit of the model that approximates the price",
    "money_along_s": "Price above its base, along the attribute",
    "segments": "Segments affected most",
    "candidate_curve": "Average second price along the attribute",
    "change_along_s": "Second price minus first price, along the attribute",
    "change_segments": "Largest gains and losses under the second price",
    "premiums": "Alternative premiums",
    "premium_curves": "Average of each premium along the attribute",
    "premium_averages": "Average of each premium in bands of the attribute",
    "premium_differences": "Differences of policies between premiums",
    "power": "Smallest gap that the rows can detect, and rows needed",
    "missing_by_price": "Rows in which the attribute is missing, by price",
    "reliability": "Change of the price, corrected for errors in the attribute",
    "reliability_curve": "Average price, corrected for errors in the attribute",
    "two_prices": "Price and second price compared",
    "candidate_verdicts": "Verdicts on the second price",
    "candidate_answers": "Answers for the second price",
    "double_lift": "Price and second price compared with cost",
    "moved": "Changes since the earlier audit",
    "moved_curve": "Change of the average price along the attribute",
    "flips": "Change of a price when one column alone changes",
    "customer_columns": "Change of the price by each column of the customer",
}
NO_RULE = (
    "This report states what was measured on these rows. This report does not certify compliance with any "
    "rule, and does not decide whether a difference is lawful."
)
#: Sentences on the meaning and the gap of each criterion, by its id.
CRITERIA_IN_WORDS = {each.title: f"{each.meaning} Measured: {each.gap}." for each in CRITERIA.values()}


def report_of(result: Findings, *, hashes: Mapping[str, str], command: str) -> list[Block]:
    """Return the report for the evidence file: a page for a committee, then the technical part.

    Parameters
    ----------
    hashes
        Map of file names to SHA-256, for the files next to the report.
    command
        Command that reproduces the evidence file (zip).
    """
    columns = result.plan.columns
    rows = f"{result.n:,} rows" + (f" of {result.n_units:,} policies" if result.n_units != result.n else "")
    short_answers = {f"{answer.question}. {answer.title}": answer.sentence for answer in result.answers}
    no_figures = [
        "This report has no figures. The tables contain the numbers that figures would show. To add figures, "
        "run pip install "
        '"fairdash[plot]" and then the command at the end of this report.'
    ]
    return [
        Text(f"Does “{columns.price}” follow {few((columns.sensitive, *columns.also))}?", "title"),
        Text(
            f"Audit of an existing price: {rows}, mean price {amount(result.mean_price)}. Computed by "
            f"fairdash {result.made_with.get('fairdash', 'of an unknown version')}.",
            "small",
        ),
        *verdict_of(result),
        first_chart(result.decisive),
        *([] if has("plotly") else no_figures),
        *chapter("The answers in short", short_answers),
        *chapter("Decided before any result", facts_of_plan(result), Text(NO_RULE, "small")),
        *(f"Note: {note}" for note in notes_of(result)),
        Text("The technical part", "page"),
        "This part covers all four criteria. No price can meet all four criteria, unless nothing depends on "
        "the attribute.",
        *verdict_tables(result),
        *map(_details, result.along),
        CRITERIA_IN_WORDS,
        *(block for _, title, blocks in answers_of(result) for block in chapter(title, *blocks)),
        *chapter("What has changed since", *changes_of(result)),
        Text("How to reproduce this report", "chapter"),
        "The same plan on the same rows gives the same bytes, with the same versions, processor and number "
        "of threads:",
        Text(command, "command"),
        Text("Input", "heading"),
        origin_of(result),
        Text("Versions, processor and threads", "heading"),
        dict(result.made_with),
        Text("SHA-256 of the other files", "heading"),
        dict(hashes),
        *chapter("How to read this report", _READING),
    ]


_READING = [
    "Shares refer to the mean price, weighted by exposure. The largest gap is the highest minus the lowest "
    "point of a curve. Noise alone makes the gap larger than 0, so each gap comes with its noise floor.",
    "“Shown below” and “shown above” are wrong in at most 5 % of samples. If the rows support neither "
    "statement, the result is undecided, and the report gives the smallest detectable gap.",
    "Continuous attributes are measured without bands. Every group shown has at least 20 rows.",
    "Results for groups say nothing about single persons. A difference may be unlawful even if expected cost "
    "explains it.",
]


def summary_of(result: Findings) -> list[Block]:
    """Return the output of ``fairdash audit``: verdict, notes, every answer, and a table of verdicts."""
    answers = {title: str(blocks[0]) for _, title, blocks in answers_of(result)}
    return [*verdict_of(result), *notes_of(result), "", answers, *verdict_tables(result)]


def verdict_of(result: Findings) -> list[Block]:
    """Return the primary verdict: note on units, headline, sentence, and changes since another audit."""
    drift_note = "" if result.since is None else f"Since the earlier audit: {result.since.sentence}"
    sentences = (result.units_remark, result.headline, result.in_words, drift_note)
    return [Text(sentence, "answer") for sentence in sentences if sentence]


def notes_of(result: Findings) -> list[str]:
    """Return all notes except the note on units."""
    return [note for note in result.every_note if note != result.units_remark]


def answers_of(result: Findings) -> Iterator[tuple[int, str, list[Block]]]:
    """Return each question's number and heading, and the answer with figures and tables."""
    for k, each in enumerate(result.along, start=1):
        heading, prefix = (f"Along “{each.plan.columns.sensitive}”: ", f"{k}_") if k > 1 else ("", "")
        for answer, tables in each.sections():
            blocks = [answer.text, *tables_of(tables, each, prefix=prefix)]
            yield answer.question, f"{heading}{answer.question}. {answer.title}", blocks


def changes_of(result: Findings) -> list[Block]:
    """Return the changes since another audit; the list is empty without another audit."""
    if result.since is None:
        return []
    tables = {name: result.tables[name] for name in (MOVED_CURVE, MOVED)}
    return [result.since.sentence, *tables_of(tables, result)]


def tables_of(tables: Mapping[str, pd.DataFrame], result: Findings, *, prefix: str = "") -> Iterator[Block]:
    """Return each table, preceded by its figure; ids and file names begin with `prefix`."""
    for name, frame in tables.items():
        yield _chart(name, frame, result, id=f"{prefix}{name}")
        yield Table(
            caption_of(name), frame, file=f"{prefix}{name}.csv", shares=SHARES.get(name, ()), words=_WORDS
        )


def caption_of(name: str) -> str:
    """Return the caption of an audit's table."""
    return _TITLES.get(name, name.replace("_", " ").capitalize())


def first_chart(result: Findings) -> Chart:
    """Return the figure of the primary criterion, shown at the top of the page."""
    name = CRITERIA[result.plan.criterion].picture
    return _chart(name, result.tables.get(name, pd.DataFrame()), result, id="first")


def _chart(name: str, table: pd.DataFrame, result: Findings, *, id: str) -> Chart:
    columns = result.plan.columns
    names = {role: ", ".join(columns.of(role)) for role in ("price", "sensitive", "outcome", "candidate")}
    mean = 1.0 if name == MOVED_CURVE else result.mean_price
    return Chart(f"picture-{id}", name, table, names, mean, result.plan.gap_allowed(mean))


def verdict_tables(result: Findings) -> Iterator[Block]:
    """Return two tables of verdicts: by attribute (and combination of attributes), and by criterion."""
    if result.others:
        first = pd.DataFrame([result_of_s.verdicts.iloc[0] for result_of_s in result.along])
        names = {"sensitive attribute": [result_of_s.plan.columns.sensitive for result_of_s in result.along]}
        verdicts = {CRITERIA[result.plan.criterion].title: [IN_SHORT[key] for key in first["verdict"]]}
        note = "Holm's method corrects the verdicts for the number of attributes and combinations."
        title, frame = "Verdict for each sensitive attribute and combination", pd.DataFrame(names | verdicts)
        yield Table(title, frame.assign(**_gaps_of(first)), note, shares=tuple(_GAP))
    for result_of_s in result.along:
        if result.others:
            yield result_of_s.in_words
        yield verdicts_of(result_of_s)


def verdicts_of(result: Findings) -> Table:
    """Return one row per criterion, the primary criterion first; gaps are shares of the mean price."""
    table = result.verdicts
    first = (table["criterion"] != result.plan.criterion).to_numpy()
    table = table.iloc[first.argsort(kind="stable")]
    frame = pd.DataFrame(
        {
            "criterion": table["criterion"].to_numpy(),
            "verdict": [IN_SHORT[key] for key in table["verdict"]],
            **_gaps_of(table),
            "p-value of no gap": table["p_value"].to_numpy(),
            "p-value of no link of any kind": table["p_any_link"].to_numpy(),
        }
    )
    note = (
        "Values are shares of the mean price. The primary criterion is tested at 5 % in each direction, "
        "and the others are tested with Holm's correction. The p-value of no gap tests whether averages "
        "are equal, whatever their spread. The other p-value also detects a link in the spread and, among "
        "equals, a link that varies with the factors. These p-values are not corrected."
    )
    title = f"The criteria along “{result.plan.columns.sensitive}”, the primary one first"
    return Table(title, frame, note, shares=tuple(_GAP), words=_WORDS)


def _gaps_of(verdicts: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Return the columns for the largest gap and its interval, with the titles of :data:`_GAP`."""
    return {title: verdicts[name].to_numpy() for title, name in _GAP.items()}


def _details(result: Findings) -> Table:
    frame = pd.DataFrame([{"criterion": name, **each} for name, each in result.details.items()])
    frame.columns = frame.columns.str.replace("_", " ")
    note = (
        "“p below” and “p above” test the claims that the gap is below or above the threshold. The verdicts "
        "use these p-values after Holm's correction."
    )
    title = f"Details of the verdicts along “{result.plan.columns.sensitive}”, as shares of the mean price"
    return Table(title, frame, note, shares=("lower", "upper", "smallest", "floor"), words=_WORDS)


def facts_of_plan(result: Findings) -> dict[str, str]:
    """Return the facts of the plan that was fixed before any result was known."""
    plan = result.plan
    primary = CRITERIA[plan.criterion]
    unseeded, unwritten = (
        "none; the audit can't be reproduced",
        "not recorded, so nothing shows whether the threshold was set before the results",
    )
    return {
        "Primary criterion": f"{primary.title}. {primary.meaning}",
        "Largest gap allowed": f"{plan.gap_in_words} of the mean price",
        "Written down": utc_time(plan.written) if plan.written else unwritten,
        **{title: ", ".join(plan.columns.of(role)) or "none named" for title, role in _ROLES.items()},
        "Seed": unseeded if plan.random_state is None else str(plan.random_state),
    }


def origin_of(result: Findings) -> dict[str, str]:
    """Return the source and the number of the rows."""
    facts = {}
    for key, value in result.origin.items():
        if isinstance(value, Mapping):
            chosen = [f"{name}: {each}" for name, each in value.items() if each not in (None, False, "", [])]
            value = ", ".join(chosen) or "nothing was chosen"
        facts[_ORIGIN.get(key, key)] = str(value)
    return facts | {"Rows": f"{result.n:,}", "Independent units": f"{result.n_units:,}"}
