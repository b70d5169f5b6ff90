"""Compare a repeated audit with its evidence: byte for byte, or by its numbers on another processor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from fairdash.auditing.result import CONTENT, Findings
from fairdash.utils.text import counted

#: Fields that describe the audit and its machine, and sentences, which repeat the numbers.
_NO_RESULT = ("plan", "origin", "made_with", "since", "answers", "notes")


def compare_repeated(now: Findings, before: Findings) -> str:
    """Say whether a repeated audit equals its evidence, else the largest difference and changed verdicts."""
    if now.files()[CONTENT] == before.files()[CONTENT]:
        return "The answers and tables equal those of the evidence byte for byte."
    if now.origin.get("rows_sha256") != before.origin.get("rows_sha256"):
        return "The rows are not those of the evidence. Give its file, or compare samples with --against."
    return " ".join(
        _sentences(dict(_leaves(before.to_dict(), ())), dict(_leaves(now.to_dict(), ())))
    ) + _made_with(now, before)


def _sentences(old: dict[tuple[str, ...], Any], new: dict[tuple[str, ...], Any]) -> Iterator[str]:
    largest: dict[str, float] = {}
    for at, value in old.items():
        if isinstance(value, float):
            largest[_column(at)] = max(largest.get(_column(at), 0.0), abs(value))
    gaps = {at: _gap(old.get(at), new.get(at), largest.get(_column(at), 0.0)) for at in old | new}
    worst = max(gaps, key=lambda at: gaps[at])
    where = _column(worst)
    if gaps[worst] == 0:
        yield "All numbers equal those of the evidence."
    elif math.isinf(gaps[worst]):
        yield f"More than numbers differs from the evidence, first “{where}”."
    else:
        yield f"The numbers differ by at most {gaps[worst]:.1g} of the largest in their column:"
        yield f"“{where}” was {old[worst]:.6g} and is {new[worst]:.6g}."
    changed = sum(gap > 0 for at, gap in gaps.items() if at[-1] == "verdict")
    yield f"{counted(changed, 'verdict')} changed." if changed else "No verdict changed."


def _column(at: tuple[str, ...]) -> str:
    return ".".join(name for name in at if not name.isdigit())


def _leaves(value: Any, at: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every number and word of the results by its place."""
    if isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            if name not in _NO_RESULT:
                yield from _leaves(each, (*at, str(name)))
    else:
        yield at, value


def _gap(old: Any, new: Any, scale: float) -> float:
    """Difference of two numbers as a share of `scale`; infinite for other values that differ."""
    if old == new:
        return 0.0
    if isinstance(old, float) and isinstance(new, float | int) and scale > 0:
        return abs(old - new) / scale
    return math.inf


def _made_with(now: Findings, before: Findings) -> str:
    others = (
        f"{name} {before.made_with.get(name, 'unknown')} (now {now.made_with.get(name, 'unknown')})"
        for name in sorted(before.made_with.keys() | now.made_with.keys())
        if before.made_with.get(name) != now.made_with.get(name)
    )
    said = ", ".join(others)
    return f" The evidence was made with {said}." if said else ""
