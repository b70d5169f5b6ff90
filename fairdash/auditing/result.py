"""Result of an audit: frozen tidy tables, sentences, and changes since another audit.

Results are compared without access to their rows. Each number is a share of the mean price of its audit, so a
uniform price increase is not drift. The audits count as independent samples. The half-width of a difference
is the root of the sum of both squared half-widths; this is too large for audits of the same rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import pandas as pd

from fairdash.auditing.columns import DIFFERS, UNITS
from fairdash.auditing.gaps import ABOVE, BELOW, NONE, UNDECIDED
from fairdash.auditing.plan import CRITERIA, AuditPlan
from fairdash.errors import OptionError
from fairdash.utils.records import to_plain
from fairdash.utils.safe_csv import safe_csv
from fairdash.utils.text import CROSS, few, percent, visible

#: File name of the complete result.
CONTENT = "audit.json"
_PRIMARY = {
    "independence": "The highest average “{price}” {along} exceeds the lowest by {value} of the mean price",
    "conditional_independence": "Among rows that are equal in {factors}, the highest average “{price}” "
    "{along} exceeds the lowest by {value} of the mean price",
    "sufficiency": "Among customers who pay the same “{price}”, expected cost varies {along} by {value} of "
    "the mean price",
    "equalized_residuals": "With cost scaled to total “{price}”, the highest average of cost minus “{price}” "
    "{along} exceeds the lowest by {value} of the mean price",
}
_DECIDED = {
    BELOW: "The data show that this value is below the allowed {delta}.",
    ABOVE: "The data show that this value is above the allowed {delta}.",
    UNDECIDED: "The data do not show whether this value is below or above the allowed {delta}.",
}
#: Short names of verdicts.
IN_SHORT = {
    BELOW: "shown below the threshold",
    ABOVE: "shown above the threshold",
    UNDECIDED: "not decided by these rows",
    NONE: "not asked, or a column is missing",
}
#: Points of these kinds are the mean of all rows below or above the curve's range.
TAILS = ("below", "above")
#: Names of the tables that contain changes since an earlier audit.
MOVED, MOVED_CURVE = "moved", "moved_curve"
#: Kinds of rows in the table of estimates: the gap of a criterion, a test of independence, or a measure.
GAP, ANY_LINK, MEASURE = "gap", "any link", "measure"
#: Units of estimates: a share (mostly of the mean price), or an amount in units of the price.
SHARE, AMOUNT = "share", "price"
_COLUMNS = "question measure quantity column value floor low high p unit verdict".split()
_WIDE = {"measure": "criterion", "low": "ci_low", "high": "ci_high", "p": "p_value"}
_VERDICTS = ["question", "criterion", "value", "ci_low", "ci_high", "p_value", "p_any_link", "verdict"]


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Changes since another audit.

    Attributes
    ----------
    has_moved
        True if the price's curve changed at the 5 % level: the band of the difference excludes 0 at some s.
    sentence
        Sentence that states the change and its size.
    sha256
        Hash of the other audit's ``audit.json``.
    """

    has_moved: bool
    sentence: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answer to a question of the audit in plain words, with details for an actuary.

    Parameters
    ----------
    question
        Number of the question.
    title
        The question in words.
    sentence
        The answer with a number and its interval, or a statement of the missing input.
    more
        Explanations and details.
    tables
        Names of the tables that belong to the answer.
    """

    question: int
    title: str
    sentence: str
    more: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Complete text of the answer: the sentence, then explanations and details."""
        return " ".join((self.sentence, *self.more))


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Result of an audit; :class:`~fairdash.auditing.evidence.AuditResult` adds saving and comparison.

    Attributes
    ----------
    verdict
        Verdict on the primary criterion: ``"below"``, ``"above"`` or ``"undecided"``.
    figures
        Tidy table of all estimates for the attribute, with one row per number: question, measure (a
        criterion, or another measure), quantity, column (the attribute), value, floor, low and high (95 %
        interval), p, unit and verdict. `verdicts`, `measures` and `details` are wide views of `figures`.
    verdicts
        One row per criterion, the primary one first: question, criterion, value, ci_low, ci_high, p_value,
        p_any_link, verdict. The values are shares of the mean price. ``p_value`` tests the hypothesis of no
        gap: a flat curve or, for sufficiency, no bias in any cell. ``p_any_link`` tests the hypothesis of no
        link in the averages or the spread and, given controls, of no link that varies with the factors; it is
        NaN for sufficiency. Neither p-value is corrected for the number of criteria (docs/verdict.md). The
        verdict is ``"none"`` if an input is missing. The primary criterion is tested at 5 % in each
        direction. For the other criteria, Holm's method corrects ``p_below`` and ``p_above`` in `details`.
    measures
        Further measures: question, measure, value, ci_low, ci_high as shares of the mean price (of the
        price's variance for ``share_of_variance``), and money, money_low, money_high in units of the price.
    curve
        Average price along s: at (the value of s), share (of the exposure at or below this value), kind, and
        value, low, high in units of the price. The band from low to high contains the whole curve in 95 % of
        samples if the curve is smooth (docs/audit.md).
    tables
        Map of names to frames: the curve, and the tables of all answers.
    answers
        One answer per question.
    details
        Map of criteria to the numbers behind their verdicts: ``lower`` and ``upper`` one-sided 95 % limits,
        ``floor``, ``smallest`` (the smallest detectable gap) and ``rows_needed``, if known; ``p_below`` and
        ``p_above``, the uncorrected p-values of the claims that the gap is below and above the threshold.
    plan
        Plan of the audit, including its thresholds.
    n, n_units, mean_price
        Number of rows; number of independent units (policies or rows); mean price, the denominator of shares.
    notes
        Notes on rows that the audit left out or sampled.
    others
        Results for further sensitive attributes, and for each combination of attributes (crossing). With
        several attributes, `verdict` and the table ``by_sensitive`` cover all attributes and combinations,
        and all other fields cover the first attribute.
    origin
        Source of the table, and the hash of its rows, as :class:`~fairdash.auditing.schema.Origin`.
    made_with
        Versions, processor and number of threads of the process that ran the audit.
    since
        Changes since another audit, or None; the tables of changes are ``moved`` and ``moved_curve``.
    """

    verdict: str
    figures: pd.DataFrame
    curve: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    answers: tuple[Answer, ...]
    plan: AuditPlan
    n: int
    n_units: int
    mean_price: float
    notes: tuple[str, ...]
    others: tuple[Self, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)
    made_with: Mapping[str, str] = field(default_factory=dict)
    since: Drift | None = None

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """Verdict on each criterion."""
        gaps, links = _rows(self, GAP), _rows(self, ANY_LINK).set_index("measure")["p"]
        wide_table = gaps.assign(p_any_link=gaps["measure"].map(links)).rename(columns=_WIDE)
        return wide_table[_VERDICTS].reset_index(drop=True)

    @cached_property
    def measures(self) -> pd.DataFrame:
        """Further measures of the audit, as shares and as amounts."""
        keys, limits = ["question", "measure"], {"value": "value", "low": "ci_low", "high": "ci_high"}
        rows = _rows(self, MEASURE).rename(columns=limits)
        amounts = {"value": "money", "ci_low": "money_low", "ci_high": "money_high"}
        shares, money = (rows.loc[rows["unit"] == unit, [*keys, *amounts]] for unit in (SHARE, AMOUNT))
        return shares.merge(money.rename(columns=amounts), on=keys, how="left")

    @cached_property
    def details(self) -> dict[str, dict[str, float]]:
        """Estimates and p-values behind the verdicts, by criterion."""
        by_criterion: dict[str, dict[str, float]] = {}
        rows = self.figures[~self.figures["quantity"].isin([GAP, ANY_LINK, MEASURE])]
        columns = ["measure", "quantity", "value", "p"]
        for name, quantity, value, p in rows[columns].itertuples(index=False, name=None):
            by_criterion.setdefault(name, {})[quantity] = p if quantity.startswith("p_") else value
        return by_criterion

    @property
    def units_remark(self) -> str:
        """Note before the verdict that units, or the model's prices, seem to differ; "" if there is none."""
        return next((note for note in self.notes if note.startswith((DIFFERS, UNITS))), "")

    @property
    def along(self) -> tuple[Self, ...]:
        """Results for each sensitive attribute, in the user's order, then for each combination of them."""
        if not self.others:
            return (self,)
        tables = {name: table for name, table in self.tables.items() if name != "by_sensitive"}
        plan = replace(self.plan, columns=self.plan.columns.each[0])
        verdict = str(self.verdicts["verdict"].iloc[0])
        first = replace(self, verdict=verdict, tables=MappingProxyType(tables), plan=plan, others=())
        return (first, *self.others)

    @property
    def decisive(self) -> Self:
        """Result that decides the overall verdict: the first result that has this verdict."""
        return next((result for result in self.along if result.verdict == self.verdict), self.along[0])

    @property
    def headline(self) -> str:
        """Primary criterion, verdict and, with several attributes, the attributes that decide the verdict."""
        title = f"{CRITERIA[self.plan.criterion].title}: {IN_SHORT[self.verdict]}"
        names = [result.plan.columns.sensitive for result in self.along if result.verdict == self.verdict]
        return f"{title} for {few(names)}" if self.others and names else title

    @property
    def in_words(self) -> str:
        """Summary in words: primary verdict with its gap and interval, then verdicts for other attributes."""
        first = self.decisive
        sentences = [primary_in_words(first.verdicts.iloc[0], first.plan)]
        others = [result for result in self.along if result.plan.columns != first.plan.columns]
        for verdict in (ABOVE, UNDECIDED, BELOW):
            names = [result.plan.columns.sensitive for result in others if result.verdict == verdict]
            sentences += [f"{IN_SHORT[verdict].capitalize()}: {few(names)}."] if names else []
        return " ".join(sentences)

    @property
    def every_note(self) -> tuple[str, ...]:
        """Notes of the results for all attributes and their combinations, without duplicates."""
        return tuple(dict.fromkeys(note for result in self.along for note in result.notes))

    def sections(self) -> Iterator[tuple[Answer, dict[str, pd.DataFrame]]]:
        """Yield each answer with a map of names to tables. The last table, named ``measures_`` plus the
        question's number, contains the answer's measures. If two answers share a table, only the first answer
        has it."""
        shown_tables: set[str] = set()
        for answer in self.answers:
            tables = {name: self.tables[name] for name in answer.tables if name not in shown_tables}
            shown_tables |= set(tables)
            measures = self.measures[self.measures["question"] == answer.question]
            if len(measures):
                tables[f"measures_{answer.question}"] = measures.drop(columns="question").reset_index(
                    drop=True
                )
            yield answer, tables

    def to_dict(self) -> dict[str, Any]:
        """Return the result as numbers, strings, lists and dicts for JSON, with None for unknown values."""
        return {
            "plan": to_plain(self.plan),
            "verdict": self.verdict,
            "figures": _records(self.figures),
            "answers": [to_plain(answer) for answer in self.answers],
            "tables": {name: _records(table) for name, table in self.tables.items()},
            "n": self.n,
            "n_units": self.n_units,
            "mean_price": self.mean_price,
            "notes": list(self.notes),
            "others": [other.to_dict() for other in self.others],
            "origin": dict(self.origin),
            "made_with": dict(self.made_with),
            "since": None if self.since is None else to_plain(self.since),
        }

    def files(self) -> dict[str, bytes]:
        """Return a map of file names to content: ``audit.json`` and one CSV per table."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        frames: dict[str, pd.DataFrame] = {}
        all_findings: tuple[Findings, ...] = (self, *self.others)
        for k, each in enumerate(all_findings, start=1):
            answers = [{"question": a.question, "title": a.title, "answer": a.text} for a in each.answers]
            tables = {"figures": each.figures, "answers": pd.DataFrame(answers), **each.tables}
            frames |= {f"{k}_{name}" if k > 1 else name: table for name, table in tables.items()}
        return {CONTENT: visible(text).encode() + b"\n"} | {
            f"{name}.csv": safe_csv(table) for name, table in frames.items()
        }


def _rows(result: Findings, quantity: str) -> pd.DataFrame:
    return result.figures[result.figures["quantity"] == quantity]


def figures_of(rows: Sequence[Mapping[str, Any]], *, column: str) -> pd.DataFrame:
    """Return the tidy table of estimates, with the sensitive attribute `column` in every row."""
    table = pd.DataFrame(rows, columns=_COLUMNS).assign(column=column)
    return table.fillna({"verdict": NONE})


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    columns = {str(name): [_none_if_nan(value) for value in table[name].tolist()] for name in table}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _none_if_nan(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def primary_in_words(row: pd.Series, plan: AuditPlan) -> str:
    """Return two sentences, on the primary gap and on its verdict, from a `row` of the verdicts."""
    columns = plan.columns
    if math.isnan(row["value"]):
        return f"“{CRITERIA[plan.criterion].title}” has no answer: see question {row['question']}."
    along_or_across = "across the cells of" if CROSS in columns.sensitive else "along"
    sentence = _PRIMARY[plan.criterion].format(
        along=f"{along_or_across} “{columns.sensitive}”",
        price=columns.price,
        factors=few(columns.controls),
        value=percent(row["value"]),
    )
    interval_text = f"95 % interval {percent(row['ci_low'])} to {percent(row['ci_high'])}"
    return f"{sentence} ({interval_text}). {_DECIDED[row['verdict']].format(delta=plan.gap_in_words)}"


def changes_since(now: Findings, before: Findings, *, sha256: str) -> tuple[Drift, dict[str, pd.DataFrame]]:
    """Return the changes since another audit, and the tables of changes.

    Returns
    -------
    Drift, dict of frames
        ``moved``: one row per criterion (for each attribute and combination) and per measure with an interval
        in both audits: before, now, difference, ci_low, ci_high as shares of the mean price, verdict_before
        and verdict_now. ``moved_curve``: the difference of the curves where both have a point: at, value,
        low, high, kind. If the true curves are equal, the band from low to high contains 0 everywhere in 95 %
        of samples.

    Raises
    ------
    OptionError
        The two audits have different sensitive attributes, or their curves have no point in common.
    """
    name, other = now.plan.columns.sensitive, before.plan.columns.sensitive
    if name != other:
        difference = f"The other audit uses “{other}”, this one “{name}”"
        raise OptionError.of(difference, "Compare audits of the same sensitive attribute.", column="against")
    curve = _curves(now, before)
    if curve.empty:
        hint = "Compare audits that measure the sensitive attribute in the same units."
        raise OptionError.of(f"The two audits share no range of “{name}”", hint, column="against")
    values = _differences(now, before)
    differs = (curve["low"] > 0) | (curve["high"] < 0)
    # The sentence describes the point that is furthest from 0 relative to the width of its band.
    clearness = curve["value"].abs() / (curve["high"] - curve["low"]).clip(lower=1e-300)
    at = curve.iloc[int(clearness.to_numpy().argmax())]
    where = (
        f"at {at['class'] if 'class' in at else format(at['at'], ',.4g')}"
        if at["kind"] in ("curve", "level")
        else f"among the rows {at['kind']} the range"
    )
    sentence = (
        f"{where} of “{name}”, the price as a share of its mean is {100 * abs(at['value']):.1f} percentage "
        f"points {'higher' if at['value'] > 0 else 'lower'} than before (95 % band for the whole curve: "
        f"{100 * at['low']:+.1f} to {100 * at['high']:+.1f})"
    )
    verdict_before, new = before.verdict, now.verdict
    verdict = (
        f" The primary verdict is still “{new}”."
        if verdict_before == new
        else f" The primary verdict was “{verdict_before}” and is “{new}”."
    )
    if before.plan.thresholds != now.plan.thresholds:
        verdict += " The two audits have different criteria or thresholds."
    no_change = "The curve shows no significant change. The largest difference"
    opening = "The curve has changed" if differs.any() else no_change
    if now.origin.get("rows_sha256") == before.origin.get("rows_sha256"):
        verdict += " Both audits use the same rows."
    drift = Drift(has_moved=bool(differs.any()), sentence=f"{opening}: {sentence}.{verdict}", sha256=sha256)
    return drift, {MOVED: values, MOVED_CURVE: curve}


def _curves(now: Findings, before: Findings) -> pd.DataFrame:
    """Return the difference of two curves at the points of `now` that are in the range of `before`."""
    parts, columns = [], ("value", "low", "high")
    for kind, shared in now.curve.groupby("kind", sort=False):
        other = before.curve[before.curve["kind"] == kind]
        if kind == "curve" and len(other) > 1:
            shared = shared[shared["at"].between(other["at"].min(), other["at"].max())]
            values = {
                key: np.interp(shared["at"], other["at"], other[key] / before.mean_price) for key in columns
            }
        else:
            # A level is compared with the same level, and a tail with the same tail.
            level = "class" if "class" in shared and "class" in other else "at"
            keys = [level] if kind == "level" else ["kind"]
            shared = shared.merge(other, on=keys, suffixes=("", "_before"))
            values = {key: shared[f"{key}_before"] / before.mean_price for key in columns}
        value = shared["value"].to_numpy() / now.mean_price - np.asarray(values["value"])
        half_widths = np.hypot(
            (shared["high"] - shared["low"]).to_numpy() / now.mean_price,
            np.asarray(values["high"]) - np.asarray(values["low"]),
        ) / 2  # fmt: skip
        curve = {"value": value, "low": value - half_widths, "high": value + half_widths}
        where = {name: shared[name].to_numpy() for name in ("class", "at") if name in shared}
        parts.append(pd.DataFrame({**where, "kind": kind, **curve}))
    return pd.concat(parts, ignore_index=True).sort_values("at", ignore_index=True)


def _differences(now: Findings, before: Findings) -> pd.DataFrame:
    """Return one row per criterion of each attribute and combination, and per measure with an interval in
    both audits."""
    keys = ["value", "low", "high"]
    merged = _numbers(now).merge(_numbers(before), on=["question", "what"], suffixes=("", "_before"))
    merged = merged.dropna(subset=[*keys, *(f"{key}_before" for key in keys)]).reset_index(drop=True)
    value, low, high, value_before, was_low, was_high = (
        merged[f"{key}{which}"] for which in ("", "_before") for key in keys
    )
    change = value - value_before
    columns = {
        "what": merged["what"],
        "before": value_before,
        "now": value,
        "difference": change,
        # Each limit of a change combines the lower limit of one audit with the upper limit of the other.
        "ci_low": change - np.hypot(value - low, was_high - value_before),
        "ci_high": change + np.hypot(high - value, value_before - was_low),
        "verdict_before": merged["verdict_before"],
        "verdict_now": merged["verdict"],
    }
    return pd.DataFrame(columns)


def _numbers(result: Findings) -> pd.DataFrame:
    """Return the gaps of all attributes and combinations, and the first attribute's measures, with titles."""
    gaps, titles = [], {name: each.title for name, each in CRITERIA.items()}
    for k, each in enumerate(result.along):
        attribute_gaps, suffix = _rows(each, GAP), f", “{each.plan.columns.sensitive}”" if k else ""
        gaps.append(attribute_gaps.assign(what=attribute_gaps["measure"].map(titles) + suffix))
    measures = _rows(result, MEASURE)
    measures = measures.assign(what=measures["measure"].str.replace("_", " "), verdict="")
    return pd.concat([*gaps, measures[measures["unit"] == SHARE]], ignore_index=True)
