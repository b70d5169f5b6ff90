"""Which column of a table plays which part, and what keeps it from that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from fairdash.errors import Checks, DataError, Fix, Problem

#: Squares of anything larger overflow a 64-bit float, so no mean square could be computed.
LARGEST_MAGNITUDE = 1e150

TARGET, SENSITIVE, FEATURE = "target", "sensitive column", "feature"
EXPOSURE, PREDICTION, ROW_ID = "exposure", "existing prediction", "row id"
GROUP, TIME = "group", "time"
#: Parts that one column plays, or none: the name in Roles and in Dataset, and the role in words.
SINGLE = {"weight": EXPOSURE, "prediction": PREDICTION, "row_id": ROW_ID, "group": GROUP, "time": TIME}


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The parts that a table's columns play.

    Parameters
    ----------
    target
        What is predicted.
    sensitive
        What a prediction must not depend on; one column or several.
    features
        What a predictor may see.
    weight
        How much a row counts: its exposure, such as the years that a policy ran. None if all rows count
        alike. No predictor sees it.
    prediction
        A prediction or a price that is there already, to be audited beside the models. None if there is
        none. No predictor sees it.
    row_id
        What names a row, such as a policy's number, so that exported rows can be found again. None if
        nothing does. No predictor sees it.
    group
        What rows have in common that belong together, such as the number of a policy that runs for years: no
        split parts them, and tests take them as one witness. None if each row stands for itself. No
        predictor sees it.
    time
        When a row was, as a number or a date, to train before and test after. None if that is not known. No
        predictor sees it.
    rate
        Whether the target is a count or a sum over the exposure and is divided by it: claims a year rather
        than claims. Needs `weight`.
    """

    target: str
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    weight: str | None = None
    prediction: str | None = None
    row_id: str | None = None
    group: str | None = None
    time: str | None = None
    rate: bool = False

    def __post_init__(self) -> None:
        for part in ("sensitive", "features"):
            if isinstance(getattr(self, part), str):
                raise TypeError(f"{part} takes a tuple of column names, not one name")
            object.__setattr__(self, part, tuple(getattr(self, part)))

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """Each role in words to the columns that play it; none where it is not played."""
        single = {role: getattr(self, part) for part, role in SINGLE.items()}
        return {
            TARGET: (self.target,),
            SENSITIVE: self.sensitive,
            FEATURE: self.features,
            **{role: () if column is None else (column,) for role, column in single.items()},
        }


def check_roles(columns: Sequence[object], roles: Roles) -> None:
    """Refuse roles that name no column of a table, or one column twice.

    Raises
    ------
    DataError
        With every problem that was found.
    """
    checks, parts = Checks(DataError), roles.parts
    for column in dict.fromkeys(column for part in parts.values() for column in part):
        times = sum(each == column for each in columns)
        checks.require(times, column, "there is no such column", "Choose among the table's columns.")
        several = "several columns have this name"
        checks.require(times < 2, column, several, "Give each its own name in the file.")
    for one, other in combinations(parts, 2):
        for column in dict.fromkeys(parts[one]):
            hint = "Choose another column for one of the two."
            checks.require(column not in parts[other], column, _overlap(one, other), hint)
    for part in (roles.sensitive, roles.features):
        for column in dict.fromkeys(part):
            twice = "the column is chosen twice for the same role"
            checks.require(part.count(column) == 1, column, twice, "Choose it once.")
    if roles.rate:
        require_exposure(checks, roles.target, roles.weight)
    checks.require(roles.sensitive, None, "no sensitive column is chosen", "Choose one.")
    checks.require(roles.features, None, "no feature is chosen", "Choose at least one.")
    checks.finish()


def require_exposure(checks: Checks, target: str, weight: object) -> None:
    """Refuse a rate without anything to divide by."""
    hint = "Choose the exposure, or predict the column as it is."
    checks.require(weight is not None, target, "a rate needs an exposure to divide by", hint)


def _overlap(one: str, other: str) -> str:
    if (one, other) == (SENSITIVE, FEATURE):
        return "a sensitive column can't be a feature: predictors never see it"
    if other not in (SENSITIVE, FEATURE):
        one, other = other, one
    as_well = {SENSITIVE: "sensitive", FEATURE: "a feature"}.get(other, f"the {other}")
    return f"the {one} can't be {as_well} as well"


def role_problems(values: pd.Series, *, role: str, lines: np.ndarray | None = None) -> list[Problem]:
    """Say what keeps a float column from its role: cells missing or infinite, or one value alone.

    A constant prediction can be audited, as it depends on nothing. An exposure must be above zero: a row of
    none is not a row that counts little, it says nothing, and a rate divides by it. It is never left out
    without a word, as the claims in it would go with it.

    Parameters
    ----------
    values : Series, shape (n,)
        Numbers, NaN where a cell is missing.
    role
        "target", "sensitive column", "exposure", "existing prediction" or "time".
    lines : array, shape (n,)
        The line of the file that each row begins on, if the table comes from a file.
    """
    column, cells = str(values.name), values.to_numpy(dtype=float)
    missing, infinite = np.isnan(cells), np.isinf(cells)
    hint = {
        EXPOSURE: "Correct these cells or take the rows out of the file, or choose no exposure.",
        PREDICTION: "Drop these rows, fill the cells in the file, or choose no existing prediction.",
        TIME: "Drop these rows, fill the cells in the file, or choose no time.",
    }.get(role, "Drop these rows, or fill the cells in the file.")
    found = [(missing, f"the {role} has missing cells")]
    if role == EXPOSURE:
        found.insert(0, (infinite, "infinite numbers can't be used"))
        below = (cells <= 0) & ~infinite
        found.append((below, "the exposure must be above zero, and in some rows it is not"))
    problems = [infinite_problem(column, infinite, lines)] if role != EXPOSURE and infinite.any() else []
    problems += [_droppable(column, which, what, hint, lines) for which, what in found if which.any()]
    known = cells[~missing]
    if role not in (EXPOSURE, PREDICTION, TIME) and len(known) and known.min() == known.max():
        problems.append(
            Problem(
                what=f"the {role} holds the same value in every row, so dependence on it is undefined",
                hint="Choose a column that varies.",
                column=column,
            )
        )
    return problems


def infinite_problem(column: str, infinite: np.ndarray, lines: np.ndarray | None = None) -> Problem:
    """Describe the infinite cells of a column; `infinite` and `lines` have shape (n,)."""
    hint = "Drop these rows, mark the cells as missing, or correct them."
    return _droppable(column, infinite, "infinite numbers can't be used", hint, lines)


def _droppable(column: str, which: np.ndarray, what: str, hint: str, lines: np.ndarray | None) -> Problem:
    return Problem(
        what=what,
        hint=hint,
        column=column,
        lines=first_lines(which, lines),
        count=int(which.sum()),
        fixes=(Fix("drop_rows", column),),
    )


def first_lines(which: np.ndarray, lines: np.ndarray | None) -> list[int]:
    """Give the lines of the first five rows that are meant; none where the table has no lines."""
    return [] if lines is None else [int(line) for line in lines[which][:5]]


def outcome_problems(values: pd.Series, role: str) -> Iterator[Problem]:
    """Say what keeps a column, ready for training, from a role that takes numbers."""
    if values.dtype == np.float64:
        yield from role_problems(values, role=role)
        yield from _too_large(values)
        return
    yield Problem(
        what=f"the {role} is of type {values.dtype}, not float64",
        hint="Turn it into numbers first.",
        column=str(values.name),
    )


def group_problems(values: pd.Series, lines: np.ndarray | None = None) -> Iterator[Problem]:
    """Say what keeps a column of any type from saying which rows belong together; `lines` have shape (n,)."""
    missing = values.isna().to_numpy()
    if missing.any():
        yield Problem(
            what="rows without a group",
            hint="Fill these cells in the file; a row that stands for itself takes a value of its own.",
            column=str(values.name),
            lines=first_lines(missing, lines),
            count=int(missing.sum()),
        )
    elif len(values) and values.nunique() < 2:
        yield Problem(
            what="all rows belong to one group",
            hint="Choose a column with several values, or no group.",
            column=str(values.name),
        )


def feature_problems(values: pd.Series) -> Iterator[Problem]:
    """Say what keeps a column, ready for training, from being a feature."""
    name = str(values.name)
    if not _usable_feature(values):
        yield Problem(
            what=f"a feature can't be of type {values.dtype}",
            hint="Leave it out, or turn it into numbers or text.",
            column=name,
        )
    elif values.dtype.kind == "f":
        infinite = np.isinf(values.to_numpy())
        if infinite.any():
            yield infinite_problem(name, infinite)
        yield from _too_large(values)


def _usable_feature(values: pd.Series) -> bool:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return True
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "fiub":
        return True
    return pd.api.types.is_string_dtype(values)


def _too_large(values: pd.Series) -> Iterator[Problem]:
    cells = values.to_numpy(dtype=float)
    count = int((np.isfinite(cells) & (np.abs(cells) > LARGEST_MAGNITUDE)).sum())
    if count:
        yield Problem(
            what="numbers this large can't be squared",
            hint="Express the column in a larger unit.",
            column=str(values.name),
            count=count,
        )
