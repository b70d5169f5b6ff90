"""What an audit has found: frozen, tidy, and written as JSON and CSV that come out the same byte for byte."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairdash._version import __version__
from fairdash.auditing.plan import AuditPlan
from fairdash.errors import StorageError
from fairdash.records import from_plain, to_plain
from fairdash.safe_csv import safe_csv
from fairdash.storage import write_whole

if TYPE_CHECKING:
    from fairdash.figures.audit import AuditView

_CONTENT = "audit.json"
#: Zip files say when each part was made; ours say the same always.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One plain sentence to one of the audit's questions.

    Parameters
    ----------
    question
        Its number, 1 to 9.
    title
        The question in words.
    sentence
        The answer with its number, or what is missing.
    tables
        Names of the tables of the result that belong to it.
    """

    question: int
    title: str
    sentence: str
    tables: tuple[str, ...] = ()


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
        high in units of the price; low and high are a band that holds the whole curve in 95 % of samples.
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

    @property
    def view(self) -> AuditView:
        """What figures need to know besides their table."""
        # Charts take long to import, and a result is read without them.
        from fairdash.figures.audit import AuditView

        columns = self.plan.columns
        roles = ("price", "sensitive", "outcome", "candidate")
        return AuditView(
            names={role: str(getattr(columns, role) or "") for role in roles},
            n=self.n,
            mean_price=self.mean_price,
            max_gap=self.plan.max_gap * self.mean_price,
        )

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
            "fairdash": __version__,
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
        }

    def save(self, path: str | PathLike[str]) -> Path:
        """Write ``audit.json`` and a CSV a table into a folder or a ``.zip``; the same bytes each time.

        Raises
        ------
        StorageError
            The place can't be written.
        """
        place = Path(path)
        if place.suffix.lower() == ".zip":
            write_whole(place, self.to_zip())
            return place
        for name, content in self._parts().items():
            write_whole(place / name, content)
        return place

    def to_zip(self) -> bytes:
        """All of it in one zip, as :meth:`save` writes it; the same bytes each time."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in sorted(self._parts().items()):
                archive.writestr(zipfile.ZipInfo(name, _NO_TIME), content, zipfile.ZIP_DEFLATED)
        return packed.getvalue()

    def _parts(self) -> dict[str, bytes]:
        """Name to content of each file."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        frames = {"verdicts": self.verdicts, "measures": self.measures, **self.tables}
        return {_CONTENT: text.encode() + b"\n"} | {
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
            if place.suffix.lower() == ".zip":
                with zipfile.ZipFile(place) as archive:
                    content = json.loads(archive.read(_CONTENT))
            else:
                content = json.loads((place / _CONTENT).read_bytes())
            return cls._of(content)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise StorageError.of(
                f"The audit in {place} can't be read", "It is damaged or from another version: make it again."
            ) from error

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
        )


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
