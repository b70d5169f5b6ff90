"""From a table and its roles to a :class:`~fairdash.data.dataset.Dataset`, or to all that is in the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fairdash.data.column_profile import NUMBERS, as_floats, kind_of
from fairdash.data.dataset import Dataset
from fairdash.data.features import choose_features, leakage_problems, truth_note
from fairdash.data.fixes import (
    apply_fixes,
    as_year,
    can_convert,
    can_use_dates,
    check_fixes,
    date_fixes,
    holds_bands,
    use_of_dates,
)
from fairdash.data.header_words import meanings_of
from fairdash.data.leaks import certain_leaks
from fairdash.data.rate import (
    DROP_NEGATIVE,
    FLOOR,
    OF_NEGATIVES,
    divided,
    looks_like_total,
    negative_note,
    negative_problems,
    undivided_note,
    unit_of_rate,
)
from fairdash.data.roles import (
    EXPOSURE,
    FEATURE,
    PREDICTION,
    SENSITIVE,
    TARGET,
    TIME,
    Roles,
    check_roles,
    first_lines,
    group_problems,
    role_problems,
)
from fairdash.errors import DataError, Fix, Problem
from fairdash.utils.text import counted

#: With fewer rows a fifth held out for testing is a handful, and no dependence can be measured on it.
FEWEST_ROWS = 50

_FLOAT32_LARGEST = float(np.finfo(np.float32).max)


def build_dataset(
    frame: pd.DataFrame,
    roles: Roles,
    *,
    name: str,
    drop_missing: bool = False,
    fixes: Sequence[Fix] = (),
    title: str = "",
    description: str = "",
    units: Mapping[str, str] | None = None,
    meanings: Mapping[str, str] | None = None,
    lines: np.ndarray | None = None,
    notes: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
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
    name, title, description, units, meanings, names
        See :class:`~fairdash.data.dataset.Dataset`.
    drop_missing
        Whether rows without target or sensitive value are left out; otherwise they are a problem. A row
        without exposure always is one.
    fixes
        What the user has agreed to; each problem names those that would put it right.
    lines : array, shape (n,)
        The line of the file that each row begins on, for messages; a reading report has them.
    notes
        What happened to the table before; kept in front.

    Raises
    ------
    DataError
        With every problem that was found, not only the first.
    """
    check_roles(list(frame.columns), roles)
    check_fixes(frame, fixes)
    remarks = list(notes)
    frame, roles = apply_fixes(frame, roles, fixes, remarks)
    played = {
        column: role
        for role in (TARGET, SENSITIVE, EXPOSURE, PREDICTION, TIME)
        for column in roles.parts[role]
    }
    outcomes, problems = _outcomes(frame, played, lines, remarks)
    left = ~_unusable_rows(frame, played, outcomes, roles.features, fixes, drop_missing, lines, remarks)
    if not left.all():
        frame = frame.loc[left]
        lines = None if lines is None else lines[left]
        outcomes = {column: values.loc[left] for column, values in outcomes.items()}
    if len(frame) < FEWEST_ROWS:
        problems.append(
            Problem(
                what=f"{counted(len(frame), 'row')} left: training and testing need at least {FEWEST_ROWS}",
                hint="Add rows, or fill missing target and sensitive values.",
            )
        )
    for column, values in outcomes.items():
        problems.extend(role_problems(values, role=played[column], lines=lines))
    if roles.group is not None:
        problems.extend(group_problems(frame[roles.group], lines))
    if roles.target in outcomes and roles.weight in (None, *outcomes):
        problems.extend(_settle_totals(outcomes, roles, fixes, lines, remarks))

    kept = {fix.column for fix in fixes if fix.kind == "keep"}
    features, doubts = choose_features(frame, roles.features, kept=kept, lines=lines, notes=remarks)
    problems.extend(
        leakage_problems(
            {name: values for name, values in features.items() if name not in kept},
            {name: outcomes[name] for name in roles.sensitive if name in outcomes},
        )
    )
    problems.extend(doubts)
    remarks += _on_leaks(frame, roles, features)
    if not features and not doubts:
        problems.append(Problem(what="no feature is left to predict from", hint="Choose further columns."))
    if problems:
        raise DataError(*problems)

    columns = {**features, **outcomes}
    new_units = {column: unit for column, unit in (units or {}).items() if column in columns}
    if roles.rate:
        assert roles.weight is not None
        columns[roles.target], said = divided(columns[roles.target], columns[roles.weight])
        remarks.append(said)
        by = new_units.get(roles.weight, "")
        if not by and "claim_count" in meanings_of(roles.weight):
            by = "claims"
        new_units[roles.target] = unit_of_rate(new_units.get(roles.target, ""), by)
    _rescale(columns, new_units, remarks)
    return Dataset(
        name=name,
        title=title,
        description=description,
        features=pd.DataFrame({column: columns[column] for column in features}),
        target=columns[roles.target],
        sensitive=pd.DataFrame({column: columns[column] for column in roles.sensitive}),
        weight=None if roles.weight is None else columns[roles.weight],
        prediction=None if roles.prediction is None else columns[roles.prediction],
        row_id=None if roles.row_id is None else frame[roles.row_id],
        group=None if roles.group is None else frame[roles.group],
        time=None if roles.time is None else columns[roles.time],
        per_exposure=roles.rate,
        units=new_units,
        names=names or {},
        meanings={c: meaning for c, meaning in (meanings or {}).items() if c in columns},
        notes=tuple(remarks),
    )


def _on_leaks(frame: pd.DataFrame, roles: Roles, features: Mapping[str, pd.Series]) -> list[str]:
    """Say which columns give the target away: those that are no feature and those that are all the same."""
    played = {column for role, part in roles.parts.items() if role != FEATURE for column in part}
    free = [str(name) for name in frame.columns if name not in played]
    leaks = certain_leaks(frame, roles.target, free, exposure=roles.weight)
    is_so = {True: "a feature all the same", False: "no feature"}
    return [
        f"“{name}” gives the target away and is {is_so[name in features]}: {why}."
        for name, why in leaks.items()
    ]


def _outcomes(
    frame: pd.DataFrame, played: Mapping[str, str], lines: np.ndarray | None, notes: list[str]
) -> tuple[dict[str, pd.Series], list[Problem]]:
    """The columns that must be numbers, by name, and what keeps others from it."""
    outcomes: dict[str, pd.Series] = {}
    problems: list[Problem] = []
    for column, role in played.items():
        values = frame[column]
        if role == TIME and can_use_dates(values, "year"):
            values = as_year(values, notes)
        found = _as_numbers(values, role, lines)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            outcomes[column] = found
            if kind_of(frame[column]) == "truth value":
                notes.append(truth_note(column))
    return outcomes, problems


def _unusable_rows(
    frame: pd.DataFrame,
    played: Mapping[str, str],
    outcomes: Mapping[str, pd.Series],
    features: Sequence[str],
    fixes: Sequence[Fix],
    drop_missing: bool,
    lines: np.ndarray | None,
    notes: list[str],
) -> np.ndarray:
    """Which rows are left out, as the user has agreed."""
    unusable, without = np.zeros(len(frame), dtype=bool), np.zeros(len(frame), dtype=bool)
    dropped = {fix.column for fix in fixes if fix.kind == "drop_rows"}
    for column, values in outcomes.items():
        missing = values.isna().to_numpy()
        if column in dropped:
            cells = values.to_numpy()
            out = missing | np.isinf(cells)
            if played[column] == EXPOSURE:
                out |= cells <= 0
            if out.any():
                notes.append(f"{counted(int(out.sum()), 'row')} left out: “{column}” can't be used there.")
                notes += _lost_with(column, out, played, outcomes)
            unusable |= out
        elif drop_missing and played[column] in (TARGET, SENSITIVE):
            without |= missing
        if played[column] == TARGET and Fix(DROP_NEGATIVE, column) in fixes and (values < 0).any():
            notes.append(negative_note(values, DROP_NEGATIVE, lines))
            unusable |= (values < 0).to_numpy()
    for column in features:
        if column in dropped and kind_of(frame[column]) == "number":
            out = np.isinf(as_floats(frame[column]).to_numpy())
            if out.any():
                notes.append(f"{counted(int(out.sum()), 'row')} left out: “{column}” is infinite there.")
            unusable |= out
    if without.any():
        n_missing = int(without.sum())
        notes.append(f"{counted(n_missing, 'row')} left out: the target or a sensitive value is missing.")
    return unusable | without


def _settle_totals(
    outcomes: dict[str, pd.Series],
    roles: Roles,
    fixes: Sequence[Fix],
    lines: np.ndarray | None,
    notes: list[str],
) -> list[Problem]:
    """Settle what a sum over the exposure needs: a word on amounts below zero, or if it isn't divided.

    The target is changed in place where its negative amounts are to count as 0.
    """
    target = outcomes[roles.target]
    is_total = looks_like_total(target)
    if roles.weight is not None and not roles.rate and is_total:
        notes.append(undivided_note(roles.target, roles.weight))
    if not (target < 0).any():
        return []
    exposure = outcomes[roles.weight] if roles.rate and roles.weight is not None else None
    asked = [] if exposure is None else negative_problems(target, exposure, fixes, lines)
    if asked:
        return asked
    kind = next((fix.kind for fix in fixes if fix.column == target.name and fix.kind in OF_NEGATIVES), None)
    if roles.rate or is_total or kind is not None:
        notes.append(negative_note(target, kind, lines))
    if kind == FLOOR:
        outcomes[roles.target] = target.clip(lower=0)
    return []


def _lost_with(
    column: str, out: np.ndarray, played: Mapping[str, str], outcomes: Mapping[str, pd.Series]
) -> list[str]:
    """Say what of the target goes with rows that lack exposure, such as costs without a claim."""
    target = next((name for name, role in played.items() if role == TARGET), None)
    if played[column] != EXPOSURE or target is None or target not in outcomes:
        return []
    lost = float(np.nansum(outcomes[target].to_numpy()[out]))
    return [f"“{target}” adds up to {lost:,.6g} in them."] if np.isfinite(lost) and lost else []


def _as_numbers(values: pd.Series, role: str, lines: np.ndarray | None) -> pd.Series | Problem:
    """Give a target, a sensitive column or an exposure as float64, NaN where a cell is missing."""
    kind = kind_of(values)
    if kind in NUMBERS:
        return as_floats(values)
    name = str(values.name)
    if ways := date_fixes(values):
        doubt, hint = use_of_dates(ways)
        what = f"the {role} must hold numbers, and this column holds dates{doubt and '; '}{doubt}"
        return Problem(what=what, hint=hint, column=name, fixes=ways)
    if holds_bands(values):
        return Problem(
            what=f"the {role} must hold numbers, and this column holds bands",
            hint="Use their order, or choose a column of numbers.",
            column=name,
            fixes=() if role in (EXPOSURE, PREDICTION) else (Fix("order", name),),
        )
    if kind != "text":
        return Problem(
            what=f"the {role} must hold numbers, and this column holds other things",
            hint="Choose a column of numbers.",
            column=name,
        )
    offered = (Fix("convert", name),) if can_convert(values) else ()
    cells = values.astype(object)
    wrong = (pd.to_numeric(cells, errors="coerce").isna() & values.notna()).to_numpy()
    if not wrong.any():
        return Problem(
            what=f"the {role} must hold numbers, and this column was kept as text",
            hint="See the notes on how the file was read, and set the decimal mark or correct the file.",
            column=name,
            fixes=offered,
        )
    return Problem(
        what=f"the {role} must hold numbers, and some of these cells are not",
        hint="Convert the column, correct these cells or mark them as missing, or choose another column."
        if offered
        else "Correct these cells or mark them as missing, or choose a column of numbers.",
        column=name,
        lines=first_lines(wrong, lines),
        count=int(wrong.sum()),
        fixes=offered,
    )


def _rescale(columns: dict[str, pd.Series], units: dict[str, str], notes: list[str]) -> None:
    """Divide columns that don't fit a float by a power of ten, and say so in their unit."""
    for column, values in columns.items():
        exponent = _needless_exponent(values)
        if exponent:
            columns[column] = values / 10.0**exponent
            units[column] = f"10^{exponent} {units.get(column, '')}".rstrip()
            notes.append(f"“{column}” is divided by 10^{exponent}: training works in single precision.")


def _needless_exponent(values: pd.Series) -> int:
    """Give the power of ten to divide by, so that a column and its squares fit a float; mostly 0."""
    if values.dtype != np.float64:
        return 0
    largest = np.abs(values.to_numpy()).max(initial=0.0, where=~np.isnan(values.to_numpy()))
    if largest <= 0 or 1e-30 < largest <= _FLOAT32_LARGEST:
        return 0
    return int(np.floor(np.log10(largest)))
