"""Roles of a table's columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from fairdash.errors import Checks, DataError
from fairdash.utils.classes import column_of

TARGET, SENSITIVE, FEATURE = "target", "sensitive column", "feature"
EXPOSURE, PREDICTION, ROW_ID = "exposure", "existing prediction", "row id"
GROUP, TIME = "group", "time"
#: Names of the roles that only one column may have, by the field of Roles and Dataset.
SINGLE = {"weight": EXPOSURE, "prediction": PREDICTION, "row_id": ROW_ID, "group": GROUP, "time": TIME}


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Roles of a table's columns.

    Parameters
    ----------
    target
        Column to predict.
    sensitive
        Sensitive columns, on which a prediction must not depend.
    features
        Columns that a predictor may use.
    weight
        Column with the exposure of each row, such as the duration of a policy in years, by which rows are
        weighted. None for equal weights. No predictor uses the weight.
    prediction
        Column with existing predictions or prices, which are audited together with the models, or None. No
        predictor uses it.
    row_id
        Column with an identifier of each row, such as a policy number, with which you can find exported rows,
        or None. No predictor uses it.
    group
        Column with an identifier that related rows share, such as a policy number if a policy has rows for
        several years. A split of the rows keeps related rows together, and significance tests count them as
        one unit. None if all rows are independent. No predictor uses it.
    time
        Column with the time of each row, as a number or a date, or None. Models are trained on earlier rows
        and tested on later rows. No predictor uses it.
    rate
        True to divide the target, a count or a total, by the exposure. fairdash then predicts, for example,
        claims per year instead of claims. A rate requires `weight`.
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
                raise TypeError(f"{part} must be a tuple of column names, not a single name")
            object.__setattr__(self, part, tuple(getattr(self, part)))

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """Map from the name of each role to a tuple of its columns, which is empty for an unused role."""
        single = {role: getattr(self, part) for part, role in SINGLE.items()}
        return {
            TARGET: (self.target,),
            SENSITIVE: self.sensitive,
            FEATURE: self.features,
            **{role: () if column is None else (column,) for role, column in single.items()},
        }

    def reads(self, sensitive: Sequence[str]) -> bool:
        """Return whether sensitive columns, which may be indicators of classes, can come from these roles."""
        return tuple(dict.fromkeys(column_of(name, self.sensitive) for name in sensitive)) == self.sensitive


def check_roles(columns: Sequence[object], roles: Roles) -> None:
    """Raise an error if the roles name a column that does not exist, or name a column twice.

    Raises
    ------
    DataError
        A role is unsuitable; the error lists all problems.
    """
    checks, parts = Checks(DataError), roles.parts
    require_columns(checks, columns, (column for part in parts.values() for column in part))
    for first_part, other in combinations(parts, 2):
        for column in dict.fromkeys(parts[first_part]):
            hint = "Choose a different column for one of these roles."
            checks.require(column not in parts[other], column, _overlap(first_part, other), hint)
    for part in (roles.sensitive, roles.features):
        for column in dict.fromkeys(part):
            problem = "the column is chosen twice for the same role"
            checks.require(part.count(column) == 1, column, problem, "Choose it once.")
    if roles.rate:
        require_exposure(checks, roles.target, roles.weight)
    checks.require(roles.sensitive, None, "no sensitive column is chosen", "Choose one.")
    checks.require(roles.features, None, "no feature is chosen", "Choose at least one.")
    checks.finish()


def require_columns(checks: Checks, columns: Iterable[object], names: Iterable[str]) -> None:
    """Report the names that belong to no column or to several columns."""
    times = Counter(columns)
    for column in dict.fromkeys(names):
        checks.require(times[column], column, "there is no such column", "Choose among the table's columns.")
        checks.require(
            times[column] < 2, column, "several columns have this name", "Give each column a different name."
        )


def require_exposure(checks: Checks, target: str, weight: object) -> None:
    """Report a problem if the target is a rate and there is no exposure by which to divide it."""
    hint = "Choose the exposure, or predict the column unchanged."
    checks.require(
        weight is not None, target, "for a rate, an exposure is needed by which the target is divided", hint
    )


def _overlap(first_part: str, other: str) -> str:
    if (first_part, other) == (SENSITIVE, FEATURE):
        return "a sensitive column can't be a feature, because predictors must not use it"
    if other not in (SENSITIVE, FEATURE):
        first_part, other = other, first_part
    other_role_text = {SENSITIVE: "sensitive", FEATURE: "a feature"}.get(other, f"the {other}")
    return f"the {first_part} can't be {other_role_text} as well"
