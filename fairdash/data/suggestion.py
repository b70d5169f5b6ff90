"""Guess roles from the names and the types of a table's columns, for a person to confirm.

>>> import pandas as pd
>>> table = pd.DataFrame({"policy_id": [1, 2], "Age": [40, 50], "rooms": [2, 3], "cost": [9.5, 8]})
>>> found = suggest_roles(table)
>>> found.target, found.sensitive, found.features, found.weight, found.left_out
('cost', ('Age',), ('rooms',), None, {'policy_id': 'numbers the rows'})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from fairdash.data.column_profile import NUMBERS, kind_of, words_of
from fairdash.data.features import exclusion_reason
from fairdash.data.rate import looks_like_total

_TARGETS = (
    "amount charge charges claim claims cost costs loss losses outcome premium price response salary score "
    "severity target wage y"
)
_SENSITIVE = (
    "age asian black disability ethnicity female foreign gender hispanic male minority nationality race "
    "religion sex women"
)
#: A column with one of these in its name says how much of a risk a row was exposed to.
_EXPOSURES = "expo expos exposure exposures"
_PREDICTIONS = "fitted forecast pred predicted prediction predictions quote quoted tariff yhat"
_ROW_NAMES = {"id", "key", "nr", "no", "num", "number", "ref"}
#: Of these things an age is not a person's.
_NOT_PEOPLE = "bldg building car contract home house licence license policy vehicle"
#: Long enough to be recognised inside a name such as ``racepctblack``.
_STEM = 5


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """Roles that a table's columns may have.

    Parameters
    ----------
    target
        The column whose name sounds most like a target; None if none does.
    sensitive
        The column whose name sounds most like a sensitive one; empty if none does.
    features
        The other columns that can help to predict.
    weight
        The column of numbers whose name says that it is the exposure; None if none does.
    prediction
        The column of numbers whose name says that it is a prediction; None if none does.
    row_id
        The column that names the rows, each with another value; None if none does.
    rate
        Whether the target is best divided by the exposure: there is one, and the target holds counts or
        sums.
    left_out
        Each column that can't help to predict, and why.
    """

    target: str | None
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    weight: str | None = None
    prediction: str | None = None
    row_id: str | None = None
    rate: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)


def suggest_roles(frame: pd.DataFrame) -> Suggestion:
    """Suggest roles; nothing is assumed where no name speaks for it.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names.
    """
    left_out = {}
    for name in frame.columns:
        why = exclusion_reason(frame[name]) or _numbers_rows(frame[name])
        if why is not None:
            left_out[name] = why
    numeric = [name for name in frame.columns if name not in left_out and kind_of(frame[name]) in NUMBERS]
    weight = _most_like(numeric, _EXPOSURES)
    prediction = _most_like([name for name in numeric if name != weight], _PREDICTIONS)
    numeric = [name for name in numeric if name not in (weight, prediction)]
    target = _most_like(numeric, _TARGETS)
    sensitive = _most_like([name for name in numeric if name != target], _SENSITIVE)
    unique = [name for name in left_out if frame[name].notna().all() and frame[name].is_unique]
    row_id = next((name for name in unique if words_of(str(name)) & _ROW_NAMES), None)
    taken = {target, sensitive, weight, prediction, *left_out}
    return Suggestion(
        target=target,
        sensitive=() if sensitive is None else (sensitive,),
        features=tuple(name for name in frame.columns if name not in taken),
        weight=weight,
        prediction=prediction,
        row_id=row_id,
        rate=weight is not None and target is not None and looks_like_total(frame[target]),
        left_out=left_out,
    )


def _numbers_rows(values: pd.Series) -> str | None:
    if kind_of(values) == "whole number" and values.is_unique and words_of(str(values.name)) & _ROW_NAMES:
        return "numbers the rows"
    return None


def _most_like(names: Iterable[str], words: str) -> str | None:
    best, best_likeness = None, 0
    for name in names:
        likeness = _likeness(name, words)
        if likeness > best_likeness:
            best, best_likeness = name, likeness
    return best


def _likeness(name: str, vocabulary: str) -> int:
    found, words = words_of(name), set(vocabulary.split())
    if vocabulary is _SENSITIVE and found & set(_NOT_PEOPLE.split()):
        return 0
    if len(found) == 1 and found <= words:
        return 3
    if found & words:
        return 2
    return int(any(len(word) >= _STEM and word in name.lower() for word in words))
