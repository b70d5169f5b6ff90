"""One table, ready for training: features, target, sensitive columns and weight, checked as a whole.

>>> import pandas as pd
>>> dataset = Dataset(
...     name="tiny",
...     features=pd.DataFrame({"rooms": [1, 2, 3]}),
...     target=pd.Series([10.0, 20.0, 15.0], name="cost"),
...     sensitive=pd.DataFrame({"age": [40.0, 50.0, 60.0]}),
...     units={"age": "years"},
... )
>>> dataset.n_rows, dataset.label("age"), dataset.roles.sensitive
(3, 'age (years)', ('age',))
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from fairdash.data.roles import Roles
from fairdash.errors import DataError, Mend, Problem

#: Squares of anything larger overflow a 64-bit float, so no mean square could be computed.
LARGEST_MAGNITUDE = 1e150


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A table with its roles; what every later room takes in.

    The rows of the parts are aligned by position and numbered 0 … n-1. The frames are cheap copies:
    what a caller later does to his own does not reach in here.

    Parameters
    ----------
    name
        Short name, for file names and run lists (``"crime"``).
    features : DataFrame, shape (n, p)
        The columns a predictor may see: numbers, booleans, categories or text, with missing cells allowed.
        A categorical column carries its whole level set in its dtype, so that its one-hot width is known.
    target : Series, shape (n,)
        float64, finite, not constant.
    sensitive : DataFrame, shape (n, d)
        float64, finite, no column constant. Never among the features.
    weight : Series, shape (n,), optional
        How much a row counts, such as its exposure in years: float64, finite, above 0, with a name of its
        own. None if all rows count alike.
    prediction : Series, shape (n,), optional
        A prediction or price that is there already: float64, finite.
    row_id : Series, shape (n,), optional
        What names each row; of any type, and never looked at.
    title
        The name that people read; `name` where it is left out.
    description
        A sentence or two on what a row is and where the table comes from.
    units
        Column to the unit on a chart's axis (``"years"``, ``"€"``).
    meanings
        Column to its meaning in plain words.
    notes
        Whole sentences on what was done to the table on the way here.

    Raises
    ------
    DataError
        With every problem that was found, not only the first.
    """

    name: str
    features: pd.DataFrame
    target: pd.Series
    sensitive: pd.DataFrame
    weight: pd.Series | None = None
    prediction: pd.Series | None = None
    row_id: pd.Series | None = None
    title: str = ""
    description: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = list(
            _problems(self.features, self.target, self.sensitive, self.weight, self.prediction, self.row_id)
        )
        if problems:
            raise DataError(*problems)
        for part in ("features", "target", "sensitive", "weight", "prediction", "row_id"):
            if getattr(self, part) is not None:
                object.__setattr__(self, part, getattr(self, part).reset_index(drop=True))
        object.__setattr__(self, "title", self.title or self.name)
        object.__setattr__(self, "units", dict(self.units))
        object.__setattr__(self, "meanings", dict(self.meanings))
        object.__setattr__(self, "notes", tuple(self.notes))

    def __repr__(self) -> str:
        # The generated one would print cells, and cells are personal.
        others = "".join(
            f", {part}={getattr(self, part).name!r}"
            for part in ("weight", "prediction", "row_id")
            if getattr(self, part) is not None
        )
        return (
            f"Dataset(name={self.name!r}, n_rows={self.n_rows}, n_features={self.features.shape[1]}, "
            f"target={self.target.name!r}, sensitive={list(self.sensitive.columns)!r}{others})"
        )

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return len(self.target)

    @property
    def roles(self) -> Roles:
        """Which column plays which part."""
        return Roles(
            target=str(self.target.name),
            sensitive=tuple(self.sensitive.columns),
            features=tuple(self.features.columns),
            weight=None if self.weight is None else str(self.weight.name),
            prediction=None if self.prediction is None else str(self.prediction.name),
            row_id=None if self.row_id is None else str(self.row_id.name),
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hex, over the values, the types and the roles of all columns.

        Names, units and notes of the data set don't count: the same cells in the same roles train the
        same models.
        """
        digest = hashlib.sha256(b"fairdash dataset 1\n")
        for role, column in self._columns():
            _feed(digest, role, column)
        return digest.hexdigest()

    def _columns(self) -> Iterator[tuple[str, pd.Series]]:
        yield "target", self.target
        for role, column in self._extra():
            yield role, column
        for role, frame in (("sensitive", self.sensitive), ("feature", self.features)):
            for name in frame.columns:
                yield role, frame[name]

    def _extra(self) -> Iterator[tuple[str, pd.Series]]:
        for role in ("weight", "prediction", "row_id"):
            column = getattr(self, role)
            if column is not None:
                yield role, column

    def table(self) -> pd.DataFrame:
        """All columns side by side, shape (n, columns): features, sensitive columns, target, the others."""
        others = [column for _, column in self._extra()]
        return pd.concat([self.features, self.sensitive, self.target, *others], axis=1)

    def label(self, column: str) -> str:
        """Give the column's name with its unit in brackets, for a chart's axis."""
        unit = self.units.get(column)
        return f"{column} ({unit})" if unit else column


def outcome_problems(values: pd.Series, *, role: str, lines: np.ndarray | None = None) -> list[Problem]:
    """Say what keeps a float column from being a target or a sensitive column.

    Parameters
    ----------
    values : Series, shape (n,)
        Numbers, NaN where a cell is missing.
    role
        "target" or "sensitive column", for the message.
    lines : array, shape (n,)
        The line of the file that each row begins on, if the table comes from a file.
    """
    column = str(values.name)
    problems = []
    cells = values.to_numpy(dtype=float)
    missing, infinite = np.isnan(cells), np.isinf(cells)
    if infinite.any():
        problems.append(infinite_problem(column, infinite, lines))
    if missing.any():
        problems.append(
            Problem(
                what=f"the {role} has missing cells",
                mend="Drop these rows, or fill the cells in the file.",
                column=column,
                lines=first_lines(missing, lines),
                count=int(missing.sum()),
                mends=(Mend("drop_rows", column),),
            )
        )
    known = cells[~missing]
    if len(known) and known.min() == known.max():
        problems.append(
            Problem(
                what=f"the {role} holds the same value in every row, so dependence on it is undefined",
                mend="Choose a column that varies.",
                column=column,
            )
        )
    return problems


def weight_problems(values: pd.Series, *, lines: np.ndarray | None = None) -> list[Problem]:
    """Say what keeps a float column from being an exposure: cells missing, infinite, zero or below.

    A row of no exposure is not a row that counts little: it says nothing, and a rate divides by it. It is
    never left out without a word, as the claims in it would go with it.

    Parameters
    ----------
    values : Series, shape (n,)
        Numbers, NaN where a cell is missing.
    lines : array, shape (n,)
        The line of the file that each row begins on, if the table comes from a file.
    """
    column = str(values.name)
    cells = values.to_numpy(dtype=float)
    infinite = np.isinf(cells)
    problems = []
    for which, what in (
        (infinite, "infinite numbers can't be used"),
        (np.isnan(cells), "the exposure has missing cells"),
        ((cells <= 0) & ~infinite, "the exposure must be above zero, and in some rows it is not"),
    ):
        if which.any():
            problems.append(
                Problem(
                    what=what,
                    mend="Correct these cells or take the rows out of the file, or choose no exposure.",
                    column=column,
                    lines=first_lines(which, lines),
                    count=int(which.sum()),
                    mends=(Mend("drop_rows", column),),
                )
            )
    return problems


def role_problems(values: pd.Series, *, role: str, lines: np.ndarray | None = None) -> list[Problem]:
    """Say what keeps a float column from its role.

    Parameters
    ----------
    values : Series, shape (n,)
        Numbers, NaN where a cell is missing.
    role
        "target", "sensitive column", "exposure" or "existing prediction".
    lines : array, shape (n,)
        The line of the file that each row begins on, if the table comes from a file.
    """
    if role == "exposure":
        return weight_problems(values, lines=lines)
    if role == "existing prediction":
        return prediction_problems(values, lines=lines)
    return outcome_problems(values, role=role, lines=lines)


def infinite_problem(column: str, infinite: np.ndarray, lines: np.ndarray | None = None) -> Problem:
    """Describe the infinite cells of a column; `infinite` and `lines` have shape (n,)."""
    return Problem(
        what="infinite numbers can't be used",
        mend="Drop these rows, mark the cells as missing, or correct them.",
        column=column,
        lines=first_lines(infinite, lines),
        count=int(infinite.sum()),
        mends=(Mend("drop_rows", column),),
    )


def first_lines(which: np.ndarray, lines: np.ndarray | None) -> list[int]:
    """Give the lines of the first five rows that are meant; none where the table has no lines."""
    return [] if lines is None else [int(line) for line in lines[which][:5]]


def prediction_problems(values: pd.Series, *, lines: np.ndarray | None = None) -> list[Problem]:
    """Say what keeps a float column from being an existing prediction: cells missing or infinite.

    A constant one can be audited: it depends on nothing.
    """
    column = str(values.name)
    cells = values.to_numpy(dtype=float)
    missing, infinite = np.isnan(cells), np.isinf(cells)
    problems = [infinite_problem(column, infinite, lines)] if infinite.any() else []
    if missing.any():
        problems.append(
            Problem(
                what="the existing prediction has missing cells",
                mend="Drop these rows, fill the cells in the file, or choose no existing prediction.",
                column=column,
                lines=first_lines(missing, lines),
                count=int(missing.sum()),
                mends=(Mend("drop_rows", column),),
            )
        )
    return problems


def _problems(
    features: pd.DataFrame,
    target: pd.Series,
    sensitive: pd.DataFrame,
    weight: pd.Series | None,
    prediction: pd.Series | None,
    row_id: pd.Series | None,
) -> Iterator[Problem]:
    weights = [] if weight is None else [weight]
    others = [each for each in (weight, prediction, row_id) if each is not None]
    names = [*features.columns, *sensitive.columns, target.name, *(each.name for each in others)]
    if any(not isinstance(name, str) for name in names):
        yield Problem(what="a column's name is not text", mend="Give every column a text as its name.")
    for name, times in Counter(names).items():
        if times > 1:
            yield Problem(
                what="the name is used for several columns or roles",
                mend="A column can be the target, sensitive, a feature or the exposure: one of these only.",
                column=str(name),
            )
    for part, what in ((features, "feature"), (sensitive, "sensitive column")):
        if part.shape[1] == 0:
            yield Problem(what=f"there is no {what}", mend=f"Choose at least one {what}.")
    if len({len(part) for part in (features, target, sensitive, *others)}) > 1:
        counts = [f"{len(part):,}" for part in (features, target, *others, sensitive)]
        parts = (("exposure", weight), ("prediction", prediction), ("row names", row_id))
        named = "".join(f", {word}" for word, part in parts if part is not None)
        yield Problem(
            what=f"features, target{named} and sensitive columns have "
            f"{', '.join(counts[:-1])} and {counts[-1]} rows",
            mend="Cut all of them from the same table.",
        )
    elif len(target) == 0:
        yield Problem(what="there are no rows", mend="Choose a table with rows.")
    numeric = [("target", target.to_frame()), ("sensitive column", sensitive)]
    numeric += [("exposure", each.to_frame()) for each in weights]
    if prediction is not None:
        numeric.append(("existing prediction", prediction.to_frame()))
    for role, frame in numeric:
        for position, name in enumerate(frame.columns):
            values = frame.iloc[:, position]
            if values.dtype != np.float64:
                yield Problem(
                    what=f"the {role} is of type {values.dtype}, not float64",
                    mend="Turn it into numbers first.",
                    column=str(name),
                )
                continue
            yield from role_problems(values, role=role)
            yield from _too_large(values)
    for position, name in enumerate(features.columns):
        values = features.iloc[:, position]
        if not _usable_feature(values):
            yield Problem(
                what=f"a feature can't be of type {values.dtype}",
                mend="Leave it out, or turn it into numbers or text.",
                column=str(name),
            )
        elif values.dtype.kind == "f":
            infinite = np.isinf(values.to_numpy())
            if infinite.any():
                yield infinite_problem(str(name), infinite)
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
            mend="Express the column in a larger unit.",
            column=str(values.name),
            count=count,
        )


def _feed(digest: hashlib._Hash, role: str, values: pd.Series) -> None:
    """Add one column to a digest, in a form that is the same on every machine."""
    kind: object
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "fiub":
        kind = values.dtype.kind
        cells = values.to_numpy(dtype={"f": "<f8", "i": "<i8", "u": "<u8", "b": "u1"}[values.dtype.kind])
        if kind == "f":
            # One bit pattern for every missing cell, and for both zeros.
            cells = np.where(np.isnan(cells), np.nan, cells + 0.0)
    elif isinstance(values.dtype, pd.CategoricalDtype):
        kind = ["category", [[type(level).__name__, str(level)] for level in values.cat.categories]]
        cells = values.cat.codes.to_numpy(dtype="<i4")
    else:
        codes, levels = pd.factorize(values)
        kind = ["text", [str(level) for level in levels]]
        cells = codes.astype("<i8")
    digest.update(json.dumps([role, values.name, kind, len(values)]).encode())
    digest.update(np.ascontiguousarray(cells).tobytes())
