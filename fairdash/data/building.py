"""From a table and its roles to a :class:`~fairdash.data.dataset.Dataset`, or to all that is in the way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from fairdash.data.copies import find_copies
from fairdash.data.dataset import Dataset, first_lines, infinite_problem, role_problems
from fairdash.data.dates import date_orders
from fairdash.data.mending import (
    can_convert,
    can_use_dates,
    check_mends,
    convert,
    date_mends,
    from_dates,
    may_be_misread,
)
from fairdash.data.profile import kind_of
from fairdash.data.roles import Roles
from fairdash.data.wording import counted, few
from fairdash.errors import DataError, Mend, Problem

#: With fewer rows a fifth held out for testing is a handful, and no dependence can be measured on it.
FEWEST_ROWS = 50

#: A category with more levels than this share of the rows says little more than which row it is.
IDENTIFIER_SHARE = 0.5
#: Below this many levels a category is never taken for an identifier: small tables have few rows.
FEWEST_IDENTIFIERS = 20
#: Each level becomes an input of the network.
MOST_LEVELS = 500

DATES, TEXT_DATES = "dates", "dates written as text"
IDENTIFIER = "nearly as many levels as rows, like an identifier"

_USE_DATES = "Use them as a year or as an age."
_MISREAD = "day and month can't be told apart, as neither is ever above 12"
_USE_EITHER_WAY = "Say which comes first, and use them as a year or as an age."

_FLOAT32_LARGEST = float(np.finfo(np.float32).max)
#: Dates with a year of two digits as well, of which the century is not known.
_DATE_LIKE = re.compile(r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}(?:[T ].*)?")


def build_dataset(
    frame: pd.DataFrame,
    roles: Roles,
    *,
    name: str,
    drop_missing: bool = False,
    mends: Sequence[Mend] = (),
    title: str = "",
    description: str = "",
    units: Mapping[str, str] | None = None,
    meanings: Mapping[str, str] | None = None,
    lines: np.ndarray | None = None,
    notes: Sequence[str] = (),
) -> Dataset:
    """Check a table in its roles and make it ready for training.

    Features that can't help are left out, each with a note: nothing but missing cells, one value only,
    dates, and categories that look like identifiers. Text becomes a category whose levels are those of the
    whole table; truth values become 0 and 1.

    Parameters
    ----------
    frame
        The table, shape (n, columns).
    roles
        Which column plays which part.
    name, title, description, units, meanings
        See :class:`~fairdash.data.dataset.Dataset`.
    drop_missing
        Whether rows without target or sensitive value are left out; otherwise they are a problem. A row
        without exposure always is one.
    mends
        What the user has agreed to; each problem names those that would mend it.
    lines : array, shape (n,)
        The line of the file that each row begins on, for messages; a reading report has them.
    notes
        What happened to the table before; kept in front.

    Raises
    ------
    DataError
        With every problem that was found, not only the first.
    """
    _check_columns(frame, roles)
    check_mends(frame, mends)
    remarks = list(notes)
    frame, roles = _mended(frame, roles, mends, remarks)
    problems: list[Problem] = []

    played = {roles.target: "target"} | dict.fromkeys(roles.sensitive, "sensitive column")
    if roles.weight is not None:
        played[roles.weight] = "exposure"
    if roles.prediction is not None:
        played[roles.prediction] = "existing prediction"
    outcomes: dict[str, pd.Series] = {}
    for column, role in played.items():
        found = _as_numbers(frame[column], role, lines)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            outcomes[column] = found
            if kind_of(frame[column]) == "truth value":
                remarks.append(_truth(column))

    unusable, without = np.zeros(len(frame), dtype=bool), np.zeros(len(frame), dtype=bool)
    dropped = {mend.column for mend in mends if mend.kind == "drop_rows"}
    for column, values in outcomes.items():
        missing = values.isna().to_numpy()
        if column in dropped:
            cells = values.to_numpy()
            out = missing | np.isinf(cells)
            if column == roles.weight:
                out |= cells <= 0
            if out.any():
                remarks.append(f"{counted(int(out.sum()), 'row')} left out: “{column}” can't be used there.")
            unusable |= out
        elif drop_missing and column not in (roles.weight, roles.prediction):
            without |= missing
    for column in roles.features:
        if column in dropped and kind_of(frame[column]) == "number":
            out = np.isinf(frame[column].to_numpy(dtype=float, na_value=np.nan))
            if out.any():
                remarks.append(f"{counted(int(out.sum()), 'row')} left out: “{column}” is infinite there.")
            unusable |= out
    if without.any():
        n_missing = int(without.sum())
        remarks.append(f"{counted(n_missing, 'row')} left out: the target or a sensitive value is missing.")
        unusable |= without
    if unusable.any():
        frame = frame.loc[~unusable]
        lines = None if lines is None else lines[~unusable]
        outcomes = {column: values.loc[~unusable] for column, values in outcomes.items()}
    if len(frame) < FEWEST_ROWS:
        problems.append(
            Problem(
                what=f"{counted(len(frame), 'row')} left: training and testing need at least {FEWEST_ROWS}",
                mend="Add rows, or fill missing target and sensitive values.",
            )
        )
    for column, values in outcomes.items():
        problems.extend(role_problems(values, role=played[column], lines=lines))

    kept = {mend.column for mend in mends if mend.kind == "keep"}
    chosen = _choose_features(frame, roles.features, lines, kept)
    problems.extend(_copies(chosen.columns, outcomes, roles, kept))
    problems.extend(chosen.problems)
    remarks.extend(chosen.notes)
    if not chosen.columns and not chosen.problems:
        problems.append(Problem(what="no feature is left to predict from", mend="Choose further columns."))
    if problems:
        raise DataError(*problems)

    columns = {**chosen.columns, **outcomes}
    new_units = {column: unit for column, unit in (units or {}).items() if column in columns}
    for column, values in columns.items():
        exponent = _needless_exponent(values)
        if exponent:
            columns[column] = values / 10.0**exponent
            new_units[column] = f"10^{exponent} {new_units.get(column, '')}".rstrip()
            remarks.append(f"“{column}” is divided by 10^{exponent}: training works in single precision.")
    return Dataset(
        name=name,
        title=title,
        description=description,
        features=pd.DataFrame({column: columns[column] for column in chosen.columns}),
        target=columns[roles.target],
        sensitive=pd.DataFrame({column: columns[column] for column in roles.sensitive}),
        weight=None if roles.weight is None else columns[roles.weight],
        prediction=None if roles.prediction is None else columns[roles.prediction],
        row_id=None if roles.row_id is None else frame[roles.row_id],
        units=new_units,
        meanings={c: meaning for c, meaning in (meanings or {}).items() if c in columns},
        notes=tuple(remarks),
    )


def _mended(
    frame: pd.DataFrame, roles: Roles, mends: Sequence[Mend], remarks: list[str]
) -> tuple[pd.DataFrame, Roles]:
    """Convert what is to be converted, and leave out what is to be left out."""
    fresh = {}
    for mend in mends:
        values = frame[mend.column]
        if mend.kind == "convert" and kind_of(values) == "text":
            fresh[mend.column], note = convert(values)
        elif can_use_dates(values, mend.kind):
            fresh[mend.column], note = from_dates(values, mend.kind)
        else:
            continue
        remarks.append(note)
    out = [mend.column for mend in mends if mend.kind == "leave_out" and mend.column in roles.features]
    if out:
        remarks.append(f"{counted(len(out), 'column')} left out, as you chose ({few(out)}).")
        roles = replace(roles, features=tuple(name for name in roles.features if name not in out))
    return (frame.assign(**fresh) if fresh else frame), roles


def _copies(
    features: Mapping[str, pd.Series], outcomes: Mapping[str, pd.Series], roles: Roles, kept: set[str]
) -> Iterator[Problem]:
    """Ask about features that tell a sensitive column, unless the user has decided to keep them."""
    sensitive = {
        column: outcomes[column]
        for column in roles.sensitive
        # Of what has problems of its own nothing is asked yet.
        if column in outcomes and np.isfinite(outcomes[column]).all() and outcomes[column].nunique() > 1
    }
    asked = {name: values for name, values in features.items() if name not in kept}
    if not asked or not sensitive:
        return
    for name, column in find_copies(pd.DataFrame(asked), pd.DataFrame(sensitive)):
        yield Problem(
            what=f"the sensitive column “{column}” can be read off this feature: it is a copy, rescaled, "
            "recoded or more finely cut",
            mend="Leave it out, or keep it if that is what you want to study.",
            column=name,
            mends=(Mend("leave_out", name), Mend("keep", name)),
        )


def offers(frame: pd.DataFrame, roles: Roles, mends: Sequence[Mend] = ()) -> tuple[Problem, ...]:
    """Columns that are left out as they are but could be used: dates, identifiers, numbers kept as text.

    Parameters
    ----------
    frame, roles, mends
        As for :func:`build_dataset`, which must not have refused them.

    Returns
    -------
    tuple of Problem
        Nothing is in the way; each names the mends that would bring a column in.
    """
    decided = {mend.column for mend in mends}
    found: list[Problem] = []
    ways: tuple[Mend, ...]
    for name in roles.features:
        values = frame[name]
        if name in decided:
            continue
        why = why_left_out(values)
        if can_convert(values):
            what = "the feature holds numbers as text, such as with a separator between thousands"
            mend = "Convert it; cells that are no numbers become missing."
            ways = (Mend("convert", name),)
        elif why in (DATES, TEXT_DATES) and (ways := date_mends(values)):
            what, mend = "the dates are left out", _USE_DATES
            if may_be_misread(ways):
                what, mend = f"{what}: {_MISREAD}", _USE_EITHER_WAY
        elif why == IDENTIFIER and values.nunique() <= MOST_LEVELS:
            what, mend = "the column is left out: it looks like an identifier", "Keep it if it is none."
            ways = (Mend("keep", name),)
        else:
            continue
        found.append(Problem(what=what, mend=mend, column=name, mends=ways))
    return tuple(found)


def why_left_out(values: pd.Series) -> str | None:
    """Say why a column can't help as a feature, or None if it can.

    Parameters
    ----------
    values : Series, shape (n,)
        Any column of a table.
    """
    known = values.dropna()
    if known.empty:
        return "every cell is missing"
    kind = kind_of(values)
    if kind == "date":
        return DATES
    if kind == "other":
        return "the cells are neither numbers nor text"
    n_levels = known.nunique()
    if n_levels == 1:
        return "only one value"
    if kind == "text":
        levels = known.unique()
        if date_orders(levels) or all(_DATE_LIKE.fullmatch(str(level)) for level in levels):
            return TEXT_DATES
        if n_levels >= FEWEST_IDENTIFIERS and n_levels > IDENTIFIER_SHARE * len(known):
            return IDENTIFIER
        if n_levels > MOST_LEVELS:
            return f"more than {MOST_LEVELS} levels"
    return None


def _check_columns(frame: pd.DataFrame, roles: Roles) -> None:
    """Refuse roles that name no column, or one column twice."""
    problems = []
    parts = {
        "target": (roles.target,),
        "sensitive column": roles.sensitive,
        "feature": roles.features,
        "exposure": () if roles.weight is None else (roles.weight,),
        "existing prediction": () if roles.prediction is None else (roles.prediction,),
        "row id": () if roles.row_id is None else (roles.row_id,),
    }
    named = [column for columns in parts.values() for column in columns]
    for column in dict.fromkeys(named):
        times = int((frame.columns == column).sum())
        if times != 1:
            problems.append(
                Problem(
                    what="there is no such column" if times == 0 else "several columns have this name",
                    mend="Choose among the table's columns."
                    if times == 0
                    else "Give each its own name in the file.",
                    column=column,
                )
            )
    for one, other in combinations(parts, 2):
        problems += [
            Problem(
                what=_overlap(one, other), mend="Choose another column for one of the two.", column=column
            )
            for column in dict.fromkeys(parts[one])
            if column in parts[other]
        ]
    problems += [
        Problem(what="the column is chosen twice for the same role", mend="Choose it once.", column=column)
        for part in (roles.sensitive, roles.features)
        for column in dict.fromkeys(part)
        if part.count(column) > 1
    ]
    if not roles.sensitive:
        problems.append(Problem(what="no sensitive column is chosen", mend="Choose one."))
    if not roles.features:
        problems.append(Problem(what="no feature is chosen", mend="Choose at least one."))
    if problems:
        raise DataError(*problems)


def _overlap(one: str, other: str) -> str:
    if (one, other) == ("sensitive column", "feature"):
        return "a sensitive column can't be a feature: predictors never see it"
    if other in ("sensitive column", "feature"):
        return f"the {one} can't be {_AS_WELL[other]} as well"
    return f"the {other} can't be {_AS_WELL[one]} as well"


_AS_WELL = {
    "target": "the target",
    "sensitive column": "sensitive",
    "feature": "a feature",
    "exposure": "the exposure",
    "existing prediction": "the existing prediction",
}


def _as_numbers(values: pd.Series, role: str, lines: np.ndarray | None) -> pd.Series | Problem:
    """Give a target, a sensitive column or an exposure as float64, NaN where a cell is missing."""
    kind = kind_of(values)
    if kind in ("number", "whole number", "truth value"):
        return pd.Series(values.to_numpy(dtype=float, na_value=np.nan), index=values.index, name=values.name)
    name = str(values.name)
    if ways := date_mends(values):
        what = f"the {role} must hold numbers, and this column holds dates"
        either = may_be_misread(ways)
        return Problem(
            what=f"{what}; {_MISREAD}" if either else what,
            mend=_USE_EITHER_WAY if either else _USE_DATES,
            column=name,
            mends=ways,
        )
    if kind != "text":
        return Problem(
            what=f"the {role} must hold numbers, and this column holds other things",
            mend="Choose a column of numbers.",
            column=name,
        )
    offered = (Mend("convert", name),) if can_convert(values) else ()
    cells = values.astype(object)
    wrong = (pd.to_numeric(cells, errors="coerce").isna() & values.notna()).to_numpy()
    if not wrong.any():
        return Problem(
            what=f"the {role} must hold numbers, and this column was kept as text",
            mend="See the notes on how the file was read, and set the decimal mark or correct the file.",
            column=name,
            mends=offered,
        )
    return Problem(
        what=f"the {role} must hold numbers, and some of these cells are not",
        mend="Convert the column, correct these cells or mark them as missing, or choose another column."
        if offered
        else "Correct these cells or mark them as missing, or choose a column of numbers.",
        column=name,
        lines=first_lines(wrong, lines),
        count=int(wrong.sum()),
        mends=offered,
    )


@dataclass(frozen=True, kw_only=True)
class _Features:
    columns: dict[str, pd.Series]
    notes: list[str]
    problems: list[Problem]


def _choose_features(
    frame: pd.DataFrame, names: Sequence[str], lines: np.ndarray | None, kept: set[str]
) -> _Features:
    columns: dict[str, pd.Series] = {}
    problems: list[Problem] = []
    truths: list[str] = []
    left_out: dict[str, list[str]] = {}
    for name in names:
        values = frame[name]
        why = why_left_out(values)
        if why is not None and not (why == IDENTIFIER and name in kept):
            left_out.setdefault(why, []).append(name)
            continue
        kind = kind_of(values)
        if kind == "truth value":
            truths.append(name)
        columns[name] = _as_feature(values, kind)
        if kind == "number":
            infinite = np.isinf(columns[name].to_numpy())
            if infinite.any():
                problems.append(infinite_problem(name, infinite, lines))
    return _Features(columns=columns, notes=list(_notes(left_out, truths)), problems=problems)


def _as_feature(values: pd.Series, kind: str) -> pd.Series:
    if kind == "text":
        if isinstance(values.dtype, pd.CategoricalDtype):
            return values.cat.remove_unused_categories()
        levels = sorted(values.dropna().unique())
        return values.astype(pd.CategoricalDtype(levels))
    if kind != "number" and not values.isna().any():
        return values.astype(np.int64)
    return pd.Series(values.to_numpy(dtype=float, na_value=np.nan), index=values.index, name=values.name)


def _notes(left_out: Mapping[str, Sequence[str]], truths: Sequence[str]) -> Iterator[str]:
    for why, names in left_out.items():
        yield f"{counted(len(names), 'column')} left out: {why} ({few(names)})."
    for name in truths:
        yield _truth(name)


def _truth(column: str) -> str:
    return f"“{column}”: true is 1, false is 0."


def _needless_exponent(values: pd.Series) -> int:
    """Give the power of ten to divide by, so that a column and its squares fit a float; mostly 0."""
    if values.dtype != np.float64:
        return 0
    largest = np.abs(values.to_numpy()).max(initial=0.0, where=~np.isnan(values.to_numpy()))
    if largest <= 0 or 1e-30 < largest <= _FLOAT32_LARGEST:
        return 0
    return int(np.floor(np.log10(largest)))
