"""Options that several verbs share, and the one way to print what was found."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token

from fairdash.utils.text import visible


def _words(_: object, tokens: Sequence[Token]) -> list[str]:
    return [word.strip() for token in tokens for word in token.value.split(",") if word.strip()]


def _numbers(_: object, tokens: Sequence[Token]) -> list[float]:
    return [_number(word) for word in _words(_, tokens)]


def _share(_: object, tokens: Sequence[Token]) -> float:
    text = tokens[-1].value.strip()
    return _number(text.removesuffix("%")) / 100 if text.endswith("%") else _number(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"“{text}” is no number.") from None


#: Comma-separated words and numbers; a share, 5% or 0.05; columns, by an option that may come again.
Words = Annotated[list[str] | None, Parameter(converter=_words, metavar="WORD,WORD")]
Numbers = Annotated[list[float] | None, Parameter(converter=_numbers, metavar="NUMBER,NUMBER")]
Share = Annotated[float, Parameter(converter=_share, metavar="SHARE")]
Columns = Annotated[tuple[str, ...], Parameter(metavar="COLUMN")]
AsJson = Annotated[
    bool, Parameter(name="--json", negative=(), help="Print all figures for a program to read.")
]


def say(found: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print what was found: as JSON for a program, or lines with nothing in them that steers a terminal."""
    if as_json:
        print(json.dumps(_without_nan(found), indent=2, allow_nan=False))
        return
    for line in lines:
        print(visible(line, keep=""))


def _without_nan(value: Any) -> Any:
    """A value for JSON, which has neither NaN nor infinity: null stands for them."""
    if isinstance(value, Mapping):
        return {key: _without_nan(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def rows(frame: Any) -> list[dict[str, Any]]:
    """A frame's rows, as plain values."""
    return list(json.loads(frame.to_json(orient="records", double_precision=15)))
