"""Build a :class:`~fairdash.data.dataset.Dataset` from a table and the roles of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairdash.data.dataset import Dataset
from fairdash.errors import DataError, Fix, Problem
from fairdash.tables.codes import doubts_about
from fairdash.tables.column_profile import NUMBERS, as_floats, kind_of
from fairdash.tables.columns import as_classes, codes_of, first_lines, group_problems, role_problems, texts_of
from fairdash.tables.exposure import (
    DROP_NEGATIVE,
    FLOOR,
    OF_NEGATIVES,
    looks_like_total,
    rate_of,
    rescale,
    unit_of_rate,
)
from fairdash.tables.features import choose_features, leakage_problems, truth_note
from fairdash.tables.fixes import (
    apply_fixes,
    as_year,
    can_use_dates,
    check_fixes,
    conversions,
    date_fixes,
    holds_bands,
    use_of_dates,
)
from fairdash.tables.header_words import meanings_of
from fairdash.tables.leaks import certain_leaks
from fairdash.tables.roles import (
    EXPOSURE,
    FEATURE,
    PREDICTION,
    SENSITIVE,
    SINGLE,
    TARGET,
    TIME,
    Roles,
    check_roles,
)
from fairdash.tables.sums import by_sentence, parts_of
from fairdash.utils.text import amount, at_lines, counted

#: Minimum number of rows. The test set, which has a fifth of the rows, must be large enough to measure
#: dependence.
MIN_ROWS = 50


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
    """Check a table with its roles, and prepare it for training.

    Uninformative features are left out, and a note names them. They are empty columns, constant columns,
    dates, and categories that look like identifiers. A text column becomes a category with the levels that
    occur in the whole table. Truth values become 0 and 1. A sensitive column with classes becomes indicator
    columns of 0 and 1 (see :class:`~fairdash.utils.classes.Classes`).

    Parameters
    ----------
    frame
        The table, shape (n, columns).
    roles
        Roles of the columns.
    name, title, description, units, meanings, names
        See :class:`~fairdash.data.dataset.Dataset`.
    drop_missing
        True to leave out rows with a missing target or sensitive value. Otherwise, these rows raise an error.
        A row without exposure always raises an error, unless a fix leaves it out.
    fixes
        Fixes that the user has accepted. Each problem of the error lists the fixes that would solve it.
    lines : array, shape (n,)
        Line of the file on which each row begins (from the reading report). Messages state these lines.
    notes
        Notes on earlier changes to the table. The notes of the data set begin with these notes.

    Raises
    ------
    DataError
        The table is unsuitable; the error lists all problems.
    """
    check_roles(list(frame.columns), roles)
    check_fixes(frame, fixes)
    remarks = list(notes)
    frame, roles = apply_fixes(frame, roles, fixes, remarks)
    used = [column for part in roles.parts.values() for column in part]
    remarks_on_used = (doubt for column in dict.fromkeys(used) for doubt in doubts_about(frame[column]))
    remarks += [doubt for doubt in remarks_on_used if doubt not in remarks]
    table = _Table(frame, roles, fixes, lines, remarks)
    outcomes, problems = table.outcomes()
    is_used = ~table.unusable_rows(outcomes, drop_missing)
    if not is_used.all():
        table = table.select_rows(is_used)
        outcomes = {column: values.loc[is_used] for column, values in outcomes.items()}
    if (n_rows := len(table.frame)) < MIN_ROWS:
        problems.append(
            Problem(
                what=f"{counted(n_rows, 'row')} left, but training and testing need at least {MIN_ROWS}",
                hint="Add rows, or fill missing target and sensitive values.",
            )
        )
    for column, values in outcomes.items():
        problems.extend(role_problems(values, role=table.role_of_column[column], lines=table.lines))
    if roles.group is not None:
        problems.extend(group_problems(table.frame[roles.group], table.lines))
        n_groups = table.frame[roles.group].nunique()
        remarks.append(f"The rows belong to {counted(n_groups, 'group')}, by “{roles.group}”.")
    if roles.target in outcomes and roles.weight in (None, *outcomes):
        problems.extend(table.note_totals(outcomes))

    restored = table.fixed("keep")
    features, problems_of_features = choose_features(
        table.frame, roles.features, kept=restored, lines=table.lines, notes=remarks
    )
    problems.extend(
        leakage_problems(
            {name: values for name, values in features.items() if name not in restored},
            {name: outcomes[name] for name in roles.sensitive if name in outcomes},
        )
    )
    problems.extend(problems_of_features)
    table.note_leaks(features)
    if not features and not problems_of_features:
        problems.append(
            Problem(what="no feature is left from which to predict", hint="Choose further columns.")
        )
    if problems:
        raise DataError(*problems)

    sensitive, classes = table.sensitive_columns(outcomes)
    columns = {**features, **outcomes, **sensitive}
    new_units = {column: unit for column, unit in (units or {}).items() if column in columns}
    if roles.rate:
        assert roles.weight is not None
        columns[roles.target], note = rate_of(columns[roles.target], columns[roles.weight])
        remarks.append(note)
        by = new_units.get(roles.weight, "")
        if not by and "claim_count" in meanings_of(roles.weight):
            by = "claims"
        new_units[roles.target] = unit_of_rate(new_units.get(roles.target, ""), by)
    rescale(columns, new_units, remarks)
    single = {part: getattr(roles, part) for part in SINGLE}
    return Dataset(
        name=name,
        title=title,
        description=description,
        features=pd.DataFrame({column: columns[column] for column in features}),
        target=columns[roles.target],
        sensitive=pd.DataFrame({column: columns[column] for column in sensitive}),
        classes=classes,
        **{part: columns.get(c, table.frame[c]) for part, c in single.items() if c is not None},
        per_exposure=roles.rate,
        units=new_units,
        names=texts_of(names or {}, classes, sensitive),
        meanings={
            c: meaning for c, meaning in texts_of(meanings or {}, classes, sensitive).items() if c in columns
        },
        notes=tuple(remarks),
    )


class _Table(NamedTuple):
    """Table that is being converted to a data set, with roles, accepted fixes, line numbers and notes."""

    frame: pd.DataFrame
    roles: Roles
    fixes: Sequence[Fix]
    lines: np.ndarray | None
    notes: list[str]

    @property
    def role_of_column(self) -> dict[str, str]:
        """Map from the columns that must be numeric to their roles."""
        parts, numbers = self.roles.parts, (TARGET, SENSITIVE, EXPOSURE, PREDICTION, TIME)
        return {column: role for role in numbers for column in parts[role]}

    def fixed(self, kind: str) -> set[str]:
        """Return the columns for which the user has accepted a fix of this kind."""
        return {fix.column for fix in self.fixes if fix.kind == kind}

    def select_rows(self, rows: np.ndarray) -> _Table:
        """Return the table with the rows selected by a mask, and with all notes."""
        lines = None if self.lines is None else self.lines[rows]
        return self._replace(frame=self.frame.loc[rows], lines=lines)

    def outcomes(self) -> tuple[dict[str, pd.Series], list[Problem]]:
        """Convert the columns whose roles require numbers. Return these columns and their problems."""
        outcomes: dict[str, pd.Series] = {}
        problems: list[Problem] = []
        for column, role in self.role_of_column.items():
            values = self.frame[column]
            if role == TIME and can_use_dates(values, "year"):
                values = as_year(values, self.notes)
            numbers = _as_numbers(values, role, self.lines)
            if isinstance(numbers, Problem):
                problems.append(numbers)
                continue
            outcomes[column] = numbers
            if kind_of(self.frame[column]) == "truth value":
                self.notes.append(truth_note(column))
        return outcomes, problems

    def sensitive_columns(
        self, outcomes: Mapping[str, pd.Series]
    ) -> tuple[dict[str, pd.Series], dict[str, tuple[str, ...]]]:
        """Return the sensitive columns as numbers, and a map from columns to the names of their classes."""
        columns: dict[str, pd.Series] = {}
        classes: dict[str, tuple[str, ...]] = {}
        for column in self.roles.sensitive:
            as_class = as_classes(self.frame[column])
            if as_class is None:
                columns[column] = outcomes[column]
                continue
            classes[column] = as_class.names
            self.notes.extend(as_class.sentences(column))
            for name, values in as_class.columns(column).items():
                columns[name] = pd.Series(values, index=self.frame.index, name=name)
        return columns, classes

    def unusable_rows(self, outcomes: Mapping[str, pd.Series], drop_missing: bool) -> np.ndarray:
        """Return a mask of the rows that the user has chosen to leave out."""
        unusable, lacks_value = np.zeros((2, len(self.frame)), dtype=bool)
        dropped, notes = self.fixed("drop_rows"), self.notes
        for column, values in outcomes.items():
            role, missing = self.role_of_column[column], values.isna().to_numpy()
            if column in dropped:
                cells = values.to_numpy()
                is_excluded = missing | np.isinf(cells)
                if role == EXPOSURE:
                    is_excluded |= cells <= 0
                if is_excluded.any():
                    n_excluded = counted(int(is_excluded.sum()), "row")
                    notes.append(f"{n_excluded} left out, because “{column}” can't be used there.")
                    self._note_lost_target(column, is_excluded, outcomes)
                unusable |= is_excluded
            elif drop_missing and role in (TARGET, SENSITIVE):
                lacks_value |= missing
            if role == TARGET and column in self.fixed(DROP_NEGATIVE) and (values < 0).any():
                notes.append(_negative_note(values, DROP_NEGATIVE, self.lines))
                unusable |= (values < 0).to_numpy()
        for column in self.roles.features:
            if column in dropped and kind_of(self.frame[column]) == "number":
                is_excluded = np.isinf(as_floats(self.frame[column]).to_numpy())
                if is_excluded.any():
                    n_excluded = counted(int(is_excluded.sum()), "row")
                    notes.append(f"{n_excluded} left out, because “{column}” is infinite there.")
                unusable |= is_excluded
        if lacks_value.any():
            n_missing = int(lacks_value.sum())
            notes.append(
                f"{counted(n_missing, 'row')} left out, because the target or a sensitive value is missing."
            )
        return unusable | lacks_value

    def _note_lost_target(self, column: str, out: np.ndarray, outcomes: Mapping[str, pd.Series]) -> None:
        """Add a note on the sum of the target in the rows that are left out because of their exposure."""
        target = self.roles.target
        if column == self.roles.weight and target in outcomes:
            lost_sum = float(np.nansum(outcomes[target].to_numpy()[out]))
            if np.isfinite(lost_sum) and lost_sum:
                self.notes.append(f"“{target}” has the sum {lost_sum:,.6g} in these rows.")

    def note_totals(self, outcomes: dict[str, pd.Series]) -> list[Problem]:
        """Add notes on negative amounts in the target, and on a total that is not divided by the exposure.

        If negative amounts are replaced by 0, the method changes the target in `outcomes`.
        """
        roles, target = self.roles, outcomes[self.roles.target]
        is_total = looks_like_total(target)
        if roles.weight is not None and not roles.rate and is_total:
            self.notes.append(
                f"“{roles.target}” looks like a total over the exposure, but is used as a rate per unit of "
                f"“{roles.weight}”. If it is a total, predict it per unit of exposure. Otherwise its "
                "averages are meaningless."
            )
        if not (target < 0).any():
            return []
        kinds = (fix.kind for fix in self.fixes if fix.column == roles.target and fix.kind in OF_NEGATIVES)
        kind = next(kinds, None)
        if kind is None and roles.rate and roles.weight is not None:
            return [_negative_problem(target, outcomes[roles.weight], self.lines)]
        if roles.rate or is_total or kind is not None:
            self.notes.append(_negative_note(target, kind, self.lines))
        if kind == FLOOR:
            outcomes[roles.target] = target.clip(lower=0)
        return []

    def note_leaks(self, features: Mapping[str, pd.Series]) -> None:
        """Add notes on the columns that reveal the target or the price."""
        roles = self.roles
        role_of_column = {column for role, part in roles.parts.items() if role != FEATURE for column in part}
        without_role = [str(name) for name in self.frame.columns if name not in role_of_column]
        leaks_by_role = {
            "target": certain_leaks(self.frame, roles.target, without_role, exposure=roles.weight)
        }
        if roles.prediction is not None:
            unexplained = [name for name in without_role if name not in leaks_by_role["target"]]
            leaks_by_role["price"] = parts_of(
                self.frame, roles.prediction, unexplained, exposure=roles.weight
            )
        for outcome, leaks in leaks_by_role.items():
            for names, text in by_sentence(leaks):
                leaking_features = [name for name in names if name in features]
                unused = [name for name in names if name not in features]
                for part, how in ((leaking_features, "still"), (unused, "not")):
                    if len(part) == 1:
                        self.notes.append(
                            f"“{part[0]}” gives the {outcome} away and is {how} a feature: {text}."
                        )
                    elif part:
                        self.notes.append(
                            f"{len(part)} columns give the {outcome} away and are {how} features: {text}."
                        )


def _as_numbers(values: pd.Series, role: str, lines: np.ndarray | None) -> pd.Series | Problem:
    """Return a column in a numeric role as float64, with NaN for missing cells, or its problem.

    For a sensitive column with classes, the numbers are the codes of the classes.
    """
    kind = kind_of(values)
    if kind in NUMBERS:
        return as_floats(values)
    classes = as_classes(values) if role == SENSITIVE else None
    if classes is not None:
        return codes_of(classes, values, role)
    name, must = str(values.name), f"the {role} must contain numbers, and"
    fixes: tuple[Fix, ...] = ()
    is_wrong = np.zeros(len(values), dtype=bool)
    if fixes_of_dates := date_fixes(values):
        ambiguity, hint = use_of_dates(fixes_of_dates)
        problem, fixes = f"{must} this column contains dates{ambiguity and '; '}{ambiguity}", fixes_of_dates
    elif holds_bands(values):
        problem, hint = (
            f"{must} this column contains bands",
            "Use the order of the bands, or choose a column of numbers.",
        )
        fixes = () if role in (EXPOSURE, PREDICTION) else (Fix("order", name),)
    elif kind != "text":
        problem, hint = f"{must} this column contains other values", "Choose a column of numbers."
    else:
        fixes = conversions(values)
        cells = values.astype(object)
        is_wrong = (pd.to_numeric(cells, errors="coerce").isna() & values.notna()).to_numpy()
        problem = f"{must} some of its cells are not numbers"
        hint = "Correct these cells or mark them as missing, or choose a column of numbers."
        if fixes:
            hint = (
                "Convert the column, correct these cells or mark them as missing, or choose another column."
            )
        if not is_wrong.any():
            problem = f"{must} this column has been read as text"
            hint = (
                "See the notes on the reading of the file, and choose the decimal mark or correct the file."
            )
    return Problem(
        what=problem,
        hint=hint,
        column=name,
        lines=first_lines(is_wrong, lines),
        count=int(is_wrong.sum()) or None,
        fixes=fixes,
    )


def _negative_problem(target: pd.Series, exposure: pd.Series, lines: np.ndarray | None) -> Problem:
    """Return a problem whose fixes are treatments of negative amounts before the division by exposure.

    Rows whose exposure is not above zero are reported as another problem.
    """
    column, y, w = str(target.name), target.to_numpy(), exposure.to_numpy()
    is_negative = y < 0
    usable = np.isfinite(y) & np.isfinite(w) & (w > 0)
    rows_and_amounts = (usable, y), (usable, np.maximum(y, 0)), (usable & ~is_negative, y)
    rates = [
        amount(float(cells[rows].sum() / w[rows].sum())) if rows.any() else "nothing"
        for rows, cells in rows_and_amounts
    ]
    return Problem(
        what="amounts below zero, such as recoveries, would be divided by the exposure",
        hint=f"Divide them unchanged (“{column}” ÷ “{exposure.name}” is {rates[0]} over all rows; only "
        f"squared error can learn it), replace them by 0 ({rates[1]}), or leave these rows out ({rates[2]}).",
        column=column,
        lines=first_lines(is_negative, lines),
        count=int(is_negative.sum()),
        fixes=tuple(Fix(kind, column) for kind in OF_NEGATIVES),
    )


def _negative_note(target: pd.Series, kind: str | None, lines: np.ndarray | None = None) -> str:
    """Return a note on the number, the rows, the sum and the treatment of negative amounts.

    Parameters
    ----------
    target : Series, shape (n,)
        Target as float64, with negative amounts.
    kind
        One of :data:`OF_NEGATIVES`, or None if the user has not decided.
    lines : array, shape (n,)
        Line of the file on which each row begins, if the table comes from a file.
    """
    is_negative = (target < 0).to_numpy()
    n_below = int(is_negative.sum())
    where = "" if lines is None else f" ({at_lines(lines[is_negative], n_below)})"
    treatment = {FLOOR: "They are replaced by 0.", DROP_NEGATIVE: "These rows are left out."}.get(
        kind or "", "These amounts are used unchanged. Only squared error can learn from amounts below zero."
    )
    return (
        f"“{target.name}” is below zero in {counted(n_below, 'row')}{where}; the sum of these amounts is "
        f"{amount(float(target[is_negative].sum()))} there. {treatment}"
    )
