"""Truths about simulated portfolios (worlds), and how an audit's answers are compared with them.

A truth refers to one value in the answer to a question. A number has a standard error for the world's default
rows (the column ``deviation`` of ``python -m benchmarks.worlds``) and may differ from the truth by
:data:`TIMES` standard errors, which chance exceeds once in 16,000 samples.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import fairdash as fd
from fairdash.auditing.models.model_answers import NUMBER
from fairdash.auditing.plan import QUESTIONS

Array = NDArray[np.float64]
TIMES = 4.0
#: Simultaneous 95 % limits are about three standard errors wide; this factor makes them five.
WIDER = 1.6
#: Numbers of the registered questions, and that of the question on a model.
NUMBERS = (*QUESTIONS, NUMBER)


@dataclass(frozen=True)
class Truth:
    """A statement about one answer.

    Parameters
    ----------
    text
        The truth in words.
    read
        What the result of an audit says, of the question with a number.
    holds
        Whether that is right; also given by how much smaller errors are than with the world's own rows.
    error
        Standard error of a number with these rows.
    """

    text: str
    read: Callable[[fd.AuditResult, int], Any]
    holds: Callable[[Any, float], bool]
    error: float = np.nan


Truths = dict[int, tuple[Truth, ...]]


def part(known: Truths, *questions: int) -> Truths:
    """Known truths about some questions."""
    return {each: known[each] for each in questions}


@dataclass(frozen=True)
class World:
    """A simulated portfolio whose answers are known.

    Parameters
    ----------
    name, about
        Its name, and what is true of it.
    make
        Rows and a generator to the table.
    rows
        The fewest that decide its truths.
    options
        Of :func:`fairdash.audit`, besides the price “price” and the attribute “age”.
    truths
        What is known, by the number of the question.
    """

    name: str
    about: str
    make: Callable[[int, np.random.Generator], pd.DataFrame]
    rows: int
    options: Mapping[str, Any] = field(default_factory=dict)
    truths: Truths = field(default_factory=dict)

    def where(self, *known: Truths, **answers: tuple[Truth, ...]) -> World:
        """Return the world with additional truths: by question, and by keywords such as ``q1``."""
        own = {int(name[1:]): truths for name, truths in answers.items()}
        return replace(self, truths=dict(ChainMap(own, *reversed(known))))

    def audit(self, *, seed: int = 0, times: int = 1, **more: Any) -> fd.AuditResult:
        """Audit a sample with a multiple of the world's default rows."""
        frame = self.make(times * self.rows, np.random.default_rng([seed, *self.name.encode()]))
        return fd.audit(frame, **{"price": "price", "sensitive": "age", **self.options, **more})

    def judge(self, result: fd.AuditResult, *, times: int = 1) -> pd.DataFrame:
        """Return one row per truth: question, truth, answer, right or wrong, error."""
        made = []
        for question, truths in self.truths.items():
            for truth in truths:
                try:
                    said = truth.read(result, question)
                except LookupError as missing:
                    said, ok = f"nothing: {missing}", False
                else:
                    ok = bool(truth.holds(said, times**-0.5))
                made.append(
                    {"question": question, "truth": truth.text, "said": said, "ok": ok, "error": truth.error}
                )
        return pd.DataFrame(made)


def text_of(result: fd.AuditResult, question: int) -> str:
    """Return the text of an answer, "" if it is missing."""
    return " ".join(each.text for each in result.answers if each.question == question)


Read = Callable[[fd.AuditResult, int], Any]


def _measure(words: str) -> tuple[str, Read]:
    """A measure, or a limit of its interval if the limit's name follows; amounts are in mean prices."""
    name, _, column = words.partition(" ")

    def read(result: fd.AuditResult, question: int) -> float:
        own = result.measures[result.measures["question"] == question].set_index("measure")
        return float(own.loc[name, column or "value"])

    return words, read


def gap(criterion: str = "independence", column: str = "value") -> tuple[str, Read]:
    """An entry for a criterion in the table of verdicts."""

    def read(result: fd.AuditResult, _: int) -> float:
        return float(result.verdicts.set_index("criterion").loc[criterion, column])

    return f"{criterion} {column}", read


def cell(table: str, column: str, /, **where: Any) -> tuple[str, Read]:
    """A cell of a table, in the single row in which other columns have these values."""

    def read(result: fd.AuditResult, _: int) -> float:
        found = result.tables[table]
        for name, value in where.items():
            found = found[found[name] == value]
        if len(found) != 1:
            raise KeyError(f"{table} has {len(found)} rows with {where}")
        return float(found[column].iloc[0])

    return " ".join(map(str, (table, *where.values(), column))), read


def lowest() -> tuple[str, Read]:
    """Value of s with the lowest price; in a tail, the mean of s in the tail."""
    return "lowest at", lambda result, _: float(result.curve.loc[result.curve["value"].idxmin(), "at"])


def highest() -> tuple[str, Read]:
    """Value of s with the highest price; in a tail, the mean of s in the tail."""
    return "highest at", lambda result, _: float(result.curve.loc[result.curve["value"].idxmax(), "at"])


def near(of: str | tuple[str, Read], truth: float, error: float) -> Truth:
    """True value of a measure or of another number, with its standard error."""
    name, read = _measure(of) if isinstance(of, str) else of

    def holds(said: float, closer: float) -> bool:
        return abs(said - truth) <= TIMES * error * closer

    return Truth(f"{name} {truth:.3g}", read, holds, error)


def between(of: str | tuple[str, Read], low: float, high: float) -> Truth:
    """Bounds for a measure or for another number."""
    name, read = _measure(of) if isinstance(of, str) else of
    return Truth(f"{name} {low:g} to {high:g}", read, lambda said, _: low <= said <= high)


def verdict(criterion: str, *allowed: str, along: str = "") -> Truth:
    """Verdicts that are right, for the first attribute or the named one."""

    def read(result: fd.AuditResult, _: int) -> str:
        verdicts = result.verdicts
        if along:
            table = result.tables["by_sensitive"]
            verdicts = table[table["sensitive"] == along]
        return str(verdicts.set_index("criterion").loc[criterion, "verdict"])

    name = f"{criterion} along “{along}”" if along else criterion
    return Truth(f"{name} {' or '.join(allowed)}", read, lambda said, _: said in allowed)


def never(criterion: str, forbidden: str) -> Truth:
    """A verdict that would be wrong."""
    return verdict(criterion, *sorted({"below", "above", "undecided"} - {forbidden}))


def says(pattern: str) -> Truth:
    """Words that the answer must contain."""
    return Truth(f"says “{pattern}”", text_of, lambda said, _: bool(re.search(pattern, said)))


def silent(pattern: str) -> Truth:
    """Words that the answer must not contain."""
    return Truth(f"never “{pattern}”", text_of, lambda said, _: not re.search(pattern, said))


def notes(pattern: str) -> Truth:
    """Words that the notes of the audit must contain."""
    return Truth(
        f"notes “{pattern}”",
        lambda result, _: " ".join(result.notes),
        lambda said, _: bool(re.search(pattern, said)),
    )


def no_answer(why: str = "") -> tuple[Truth, ...]:
    """A question that can't be answered: the reason, or none if nobody asked it."""
    return (Truth("not answered", text_of, lambda said, _: why in said if why else not said),)


def curve(truth: Callable[[Array], Array], table: str = "curve", unit: float = 100.0) -> Truth:
    """A curve along s between the tails, in units of the true mean price."""

    def read(result: fd.AuditResult, _: int) -> float:
        band = result.tables[table]
        band = band[band["kind"].isin(["curve", "level"])]
        off = band["value"] - unit * truth(band["at"].to_numpy())
        return float((off.abs() / ((band["high"] - band["low"]) / 2)).max())

    return Truth(f"{table} within its band", read, lambda said, _: said <= WIDER)
