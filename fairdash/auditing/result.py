"""What an audit has found: frozen, tidy, and written so that it comes out the same byte for byte."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairdash.auditing.evidence import CONTENT, packed, read_part, unreadable
from fairdash.auditing.plan import AuditPlan
from fairdash.auditing.since import Since, moved_since
from fairdash.auditing.words import primary
from fairdash.errors import FairdashError
from fairdash.records import from_plain, to_plain
from fairdash.safe_csv import safe_csv
from fairdash.storage import sha256, write_whole
from fairdash.text import visible

if TYPE_CHECKING:
    from fairdash.figures.audit_view import AuditView


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One plain sentence to one of the audit's questions, and what an actuary wants to know besides.

    Parameters
    ----------
    question
        Its number, 1 to 9.
    title
        The question in words.
    sentence
        The answer with its number and its interval, or what is missing.
    more
        Further sentences.
    tables
        Names of the tables of the result that belong to it.
    """

    question: int
    title: str
    sentence: str
    more: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All that is said."""
        return " ".join((self.sentence, *self.more))


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditResult:
    """What an audit has found.

    Attributes
    ----------
    verdict
        Of the primary criterion: ``"below"``, ``"above"`` or ``"undecided"``.
    verdicts
        A row a criterion, the primary one first: question, criterion, value, ci_low, ci_high, p_value,
        verdict. Values are shares of the mean price; p_value is that of no link of any kind
        (:mod:`fairdash.auditing.links`; of sufficiency, of no bias anywhere); verdict is
        ``"none"`` where the input is missing. The primary criterion's is at 5 % a direction, the others' by
        Holm.
    measures
        What stands beside them: question, measure, value, ci_low, ci_high as shares of the mean price (of the
        price's variance for ``share_of_variance``), and money, money_low, money_high in units of the price.
    curve
        The price along s: at (the value of s), share (of the exposure at or below), kind, and value, low,
        high in units of the price; low and high are a band that holds the whole curve in
        95 % of samples if it is smooth (docs/audit.md).
    tables
        Name to frame: the curve and all others that were asked for.
    answers
        A sentence a question.
    details
        A criterion to what stands behind its verdict: ``lower`` and ``upper`` one-sided 95 % limits,
        ``floor``,
        ``smallest`` (the smallest gap that could be shown) and ``rows_needed``, where there is such.
    plan
        What was asked, thresholds included.
    n, n_units, mean_price
        Rows, independent units (policies, or rows), and what shares are shares of.
    notes
        What was left out or sampled.
    others
        The results along further sensitive attributes, where there are several: all else is of the first,
        but `verdict`, which is of all of them, and the table ``by_sensitive``.
    origin
        Where the table came from, and the hash of its rows; see
        :class:`~fairdash.auditing.evidence.KeptPlan`.
    made_with
        Versions, processor and threads of the process that has found it.
    since
        What has moved since another audit, where one was given; its tables are ``moved`` and
        ``moved_curve``.
    """

    verdict: str
    verdicts: pd.DataFrame
    measures: pd.DataFrame
    curve: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    answers: tuple[Answer, ...]
    details: Mapping[str, Mapping[str, float]]
    plan: AuditPlan
    n: int
    n_units: int
    mean_price: float
    notes: tuple[str, ...]
    others: tuple[AuditResult, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)
    made_with: Mapping[str, str] = field(default_factory=dict)
    since: Since | None = None

    @property
    def along(self) -> tuple[AuditResult, ...]:
        """A result for each sensitive attribute, in the order in which they were named."""
        if not self.others:
            return (self,)
        own = {name: table for name, table in self.tables.items() if name != "by_sensitive"}
        plan = replace(self.plan, columns=self.plan.columns.each[0])
        verdict = str(self.verdicts["verdict"].iloc[0])
        first = replace(self, verdict=verdict, tables=MappingProxyType(own), plan=plan, others=())
        return (first, *self.others)

    @property
    def view(self) -> AuditView:
        """What figures need to know besides their table."""
        # Charts take long to import, and a result is read without them.
        from fairdash.figures.audit_view import AuditView

        columns = self.plan.columns
        roles = ("price", "sensitive", "outcome", "candidate")
        return AuditView(
            names={role: str(getattr(columns, role) or "") for role in roles},
            n=self.n,
            mean_price=self.mean_price,
            max_gap=self.plan.max_gap * self.mean_price,
        )

    @property
    def in_words(self) -> str:
        """The primary verdict in plain words, with its number and interval."""
        rows = self.verdicts[self.verdicts["criterion"] == self.plan.criterion]
        return primary(rows.to_dict("records")[0], self.plan)

    def sections(self) -> Iterator[tuple[Answer, dict[str, pd.DataFrame]]]:
        """The answers in order, each with its tables by name; its measures last, as ``measures_`` and its
        number. A table of two answers stands at the first of them."""
        shown: set[str] = set()
        for answer in self.answers:
            tables = {name: self.tables[name] for name in answer.tables if name not in shown}
            shown |= set(tables)
            measures = self.measures[self.measures["question"] == answer.question]
            if len(measures):
                tables[f"measures_{answer.question}"] = measures.drop(columns="question").reset_index(
                    drop=True
                )
            yield answer, tables

    def to_dict(self) -> dict[str, Any]:
        """Numbers, texts, lists and dicts for JSON; what is not known is None."""
        return {
            "plan": to_plain(self.plan),
            "verdict": self.verdict,
            "verdicts": _records(self.verdicts),
            "answers": [to_plain(each) for each in self.answers],
            "measures": _records(self.measures),
            "details": {name: {k: _known(v) for k, v in each.items()} for name, each in self.details.items()},
            "tables": {name: _records(table) for name, table in self.tables.items()},
            "n": self.n,
            "n_units": self.n_units,
            "mean_price": self.mean_price,
            "notes": list(self.notes),
            "others": [each.to_dict() for each in self.others],
            "origin": dict(self.origin),
            "made_with": dict(self.made_with),
            "since": None if self.since is None else to_plain(self.since),
        }

    def compare(self, other: AuditResult | str | PathLike[str]) -> AuditResult:
        """This result with what has moved since another one, or the one that was saved there.

        Returns
        -------
        AuditResult
            With :attr:`since` and two tables; see :func:`fairdash.auditing.since.moved_since`.

        Raises
        ------
        OptionError
            The audits are of different sensitive attributes, or share none of its range.
        StorageError
            There is no audit, or one that can't be read.
        """
        if isinstance(other, AuditResult):
            before, content = other, other.files()[CONTENT]
        else:
            before, content = self.load(other), _content_in(Path(other))
        since, tables = moved_since(self, before, sha256=sha256(content))
        return replace(self, since=since, tables=MappingProxyType({**self.tables, **tables}))

    def save(self, path: str | PathLike[str]) -> Path:
        """Write ``audit.json`` and a CSV a table into a folder, or the whole evidence into a ``.zip``.

        The same result gives the same bytes; see :mod:`fairdash.auditing.evidence`.

        Raises
        ------
        StorageError
            The place can't be written.
        """
        place = Path(path)
        if place.suffix.lower() == ".zip":
            write_whole(place, self.to_zip())
            return place
        for name, content in self.files().items():
            write_whole(place / name, content)
        return place

    def to_zip(self) -> bytes:
        """The evidence: report, answers, tables and plan in one zip; the same bytes each time."""
        return packed(self, self.files())

    def files(self) -> dict[str, bytes]:
        """Name to content of ``audit.json`` and of a CSV a table."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        frames = {"verdicts": self.verdicts, "measures": self.measures, **self.tables}
        for k, each in enumerate(self.others, start=2):
            own = {"verdicts": each.verdicts, "measures": each.measures, **each.tables}
            frames |= {f"{k}_{name}": table for name, table in own.items()}
        return {CONTENT: visible(text).encode() + b"\n"} | {
            f"{name}.csv": safe_csv(table) for name, table in frames.items()
        }

    @classmethod
    def load(cls, path: str | PathLike[str]) -> AuditResult:
        """Read what :meth:`save` wrote, a folder or a ``.zip``; numbers are the same to the last bit.

        Raises
        ------
        StorageError
            There is no audit, or one that can't be read.
        """
        place = Path(path)
        try:
            return cls._of(json.loads(_content_in(place)))
        except FairdashError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise unreadable(place) from error

    @classmethod
    def _of(cls, content: Mapping[str, Any]) -> AuditResult:
        tables = {name: _table(rows) for name, rows in content["tables"].items()}
        return cls(
            verdict=content["verdict"],
            verdicts=_table(content["verdicts"]),
            measures=_table(content["measures"]),
            curve=tables["curve"],
            tables=MappingProxyType(tables),
            answers=tuple(from_plain(Answer, each) for each in content["answers"]),
            details=MappingProxyType(
                {
                    name: {key: math.nan if value is None else value for key, value in each.items()}
                    for name, each in content["details"].items()
                }
            ),
            plan=from_plain(AuditPlan, content["plan"]),
            n=content["n"],
            n_units=content["n_units"],
            mean_price=content["mean_price"],
            notes=tuple(content["notes"]),
            others=tuple(cls._of(each) for each in content.get("others", [])),
            origin=dict(content.get("origin", {})),
            made_with=dict(content.get("made_with", {})),
            since=None if content.get("since") is None else from_plain(Since, content["since"]),
        )


def _content_in(place: Path) -> bytes:
    return read_part(place, CONTENT) if place.suffix.lower() == ".zip" else (place / CONTENT).read_bytes()


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(rows)
    # A column of numbers none of which is known was one of numbers.
    empty = [name for name in table if len(table) and table[name].isna().all()]
    return table.astype(dict.fromkeys(empty, float))


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    columns = {str(name): [_known(value) for value in table[name].tolist()] for name in table}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _known(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
