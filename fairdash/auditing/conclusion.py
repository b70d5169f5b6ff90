"""The verdicts of an audit, corrected for being several, and its result.

The primary criterion is tested at 5 % a direction; of several sensitive attributes, by Holm's method over
these. All other criteria are by Holm's method over all of theirs together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairdash.auditing import words
from fairdash.auditing.gaps import ABOVE, BELOW, LEVEL, NONE, UNDECIDED, Gap, holm
from fairdash.auditing.plan import CRITERIA, QUESTIONS, TABLES, AuditPlan
from fairdash.auditing.result import Answer, AuditResult
from fairdash.auditing.table import only_shown

if TYPE_CHECKING:
    from fairdash.auditing.audit import _Work

_MEASURES = ["question", "measure", "value", "ci_low", "ci_high", "money", "money_low", "money_high"]


def decide(works: Sequence[_Work]) -> list[dict[str, str]]:
    """Criterion to verdict for each sensitive attribute."""
    verdicts: list[dict[str, str]] = [{} for _ in works]
    every = [(k, name) for k, work in enumerate(works) for name in CRITERIA if name in work.found]
    primary = [(k, name) for k, name in every if name == works[k].plan.criterion]
    for family in (primary, [each for each in every if each not in primary]):
        below = holm([works[k].found[name].p_below for k, name in family])
        above = holm([works[k].found[name].p_above for k, name in family])
        for (k, name), p_below, p_above in zip(family, below, above, strict=True):
            verdicts[k][name] = BELOW if p_below <= LEVEL else ABOVE if p_above <= LEVEL else UNDECIDED
    return verdicts


def conclude(work: _Work, verdicts: dict[str, str], origin: Mapping[str, Any] | None = None) -> AuditResult:
    """What was found along one sensitive attribute, as a result."""
    mean, plan = work.table.mean_price, work.plan
    rows, details, sentences = [], {}, dict(work.sentences)
    for name in sorted(CRITERIA, key=lambda each: each != plan.criterion):
        row: dict[str, Any] = {"question": CRITERIA[name].question, "criterion": name}
        each = work.found.get(name)
        if each is None:
            rows.append(row | dict.fromkeys(("value", "ci_low", "ci_high", "p_value"), math.nan))
            rows[-1]["verdict"] = NONE
            continue
        row |= {key: getattr(each, key) / mean for key in ("value", "ci_low", "ci_high")}
        rows.append(row | {"p_value": work.p_values.get(name, each.p_value), "verdict": verdicts[name]})
        needed = work.units[name] * (each.smallest / work.delta) ** 2
        details[name] = {
            **{key: getattr(each, key) / mean for key in ("lower", "upper", "smallest")},
            "floor": each.floor / mean if isinstance(each, Gap) else math.nan,
            "p_below": each.p_below,
            "p_above": each.p_above,
            "rows_needed": needed,
        }
        question = CRITERIA[name].question
        if question in sentences and (question != 5 or name == "sufficiency"):
            said = words.verdict_in_words(
                each, verdicts[name], delta=plan.max_gap, mean=mean,
                rows_needed=needed if needed > work.units[name] else 0,
            )  # fmt: skip
            answer, *more = sentences[question]
            sentences[question] = (f"{answer} {said}", *more)
    return AuditResult(
        verdict=verdicts[plan.criterion],
        verdicts=pd.DataFrame(rows),
        measures=pd.DataFrame(work.measures, columns=_MEASURES),
        curve=work.tables["curve"],
        tables=MappingProxyType(only_shown(work.tables)),
        answers=tuple(
            Answer(
                question=number,
                title=QUESTIONS[number],
                sentence=sentences[number][0],
                more=sentences[number][1:],
                tables=tuple(name for name in TABLES[number] if name in work.tables),
            )
            for number in sorted(sentences)
        ),
        details=MappingProxyType(details),
        plan=plan,
        n=work.table.n,
        n_units=work.table.n_units,
        mean_price=mean,
        notes=(*work.table.notes, *work.notes),
        origin=origin or {},
    )


def together(results: list[AuditResult], plan: AuditPlan) -> AuditResult:
    """The results along several sensitive attributes as one: the first, with the others in it.

    Its verdict is "above" where one of them is above, "below" where all are, and else "undecided"; its
    table ``by_sensitive`` holds the verdicts of all.
    """
    first, *others = results
    if not others:
        return first
    primary = {each.verdict for each in results}
    every = [
        each.verdicts.assign(sensitive=each.plan.columns.sensitive).set_index("sensitive").reset_index()
        for each in results
    ]
    return replace(
        first,
        verdict=ABOVE if ABOVE in primary else BELOW if primary == {BELOW} else UNDECIDED,
        tables=MappingProxyType({**first.tables, "by_sensitive": pd.concat(every, ignore_index=True)}),
        plan=plan,
        others=tuple(others),
    )
