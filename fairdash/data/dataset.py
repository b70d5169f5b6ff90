"""Data set for training, with features, target, sensitive columns and weights, after a joint check.

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
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.errors import Checks, DataError
from fairdash.tables.columns import feature_problems, group_problems, outcome_problems
from fairdash.tables.roles import FEATURE, GROUP, ROW_ID, SENSITIVE, SINGLE, TARGET, Roles, require_exposure
from fairdash.utils.seeds import Stream, rng_of

#: Minimum number of groups for a split into training and test rows and for permutations of groups.
MIN_GROUPS = 200


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Table whose columns have roles. It is the input of training and evaluation.

    Rows are aligned by position and numbered 0 … n-1. The data set stores copies of the frames. If you change
    your frames later, the data set stays the same.

    Parameters
    ----------
    name
        Short name, for file names and run lists (``"crime"``).
    features : DataFrame, shape (n, p)
        Columns that a predictor may use. They contain numbers, booleans, categories or text; cells may be
        missing. The dtype of a categorical column must list all levels, so that the number of one-hot columns
        is known.
    target : Series, shape (n,)
        Target: float64, finite, not constant.
    sensitive : DataFrame, shape (n, d)
        Sensitive columns: float64 and finite. No sensitive column is constant or also a feature. An attribute
        with two classes becomes one column of 0 and 1. An attribute with more classes becomes one column of 0
        and 1 for each class, such as ``"region: north"``.
    weight : Series, shape (n,), optional
        Row weights, such as exposures in years: float64, finite, above 0, with a unique name. None for equal
        weights.
    prediction : Series, shape (n,), optional
        Existing prediction or price: float64, finite.
    row_id : Series, shape (n,), optional
        Identifiers of the rows, of any type. Models never use them.
    group : Series, shape (n,), optional
        Group of each row, such as a policy number, of any type; no cell is missing. Splits by group, and all
        folds, keep the rows of a group together. Permutations permute whole groups.
    time : Series, shape (n,), optional
        Time of each row, such as a year: float64, finite. After a split by time, models are trained on the
        earlier rows and tested on the later rows.
    per_exposure
        True if the target is a rate, that is, a count or a total divided by the weight. The weighted mean of
        a rate is the sum of the counts or totals divided by the sum of the exposures.
    title
        Display name; by default `name`.
    description
        One or two sentences that say what a row is and where the table comes from.
    units
        Map from columns to units for the axes of charts (``"years"``, ``"€"``).
    meanings
        Map from columns to their meaning in plain words.
    names
        Map from columns to display names that differ from the headers.
    classes
        Map from sensitive attributes with classes to the names of the classes, in order. If there are two
        classes, the second class is coded as 1.
    notes
        Sentences on the changes that fairdash has made to the table.

    Raises
    ------
    DataError
        The table has problems; the error lists all of them.

    Examples
    --------
    >>> table = pd.DataFrame({"km": [8.0, 12.0, 20.0], "cost": [1.0, 2.0, 4.0], "age": [61.0, 40.0, 25.0]})
    >>> dataset = fd.Dataset(
    ...     name="policies", features=table[["km"]], target=table["cost"], sensitive=table[["age"]]
    ... )
    >>> dataset.n_rows
    3
    """

    name: str
    features: pd.DataFrame
    target: pd.Series
    sensitive: pd.DataFrame
    weight: pd.Series | None = None
    prediction: pd.Series | None = None
    row_id: pd.Series | None = None
    group: pd.Series | None = None
    time: pd.Series | None = None
    per_exposure: bool = False
    title: str = ""
    description: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self)
        for part in ("features", "target", "sensitive", *SINGLE):
            if getattr(self, part) is not None:
                object.__setattr__(self, part, getattr(self, part).reset_index(drop=True))
        object.__setattr__(self, "title", self.title or self.name)
        object.__setattr__(self, "notes", tuple(self.notes))
        for part in ("units", "meanings", "names", "classes"):
            object.__setattr__(self, part, dict(getattr(self, part)))

    def __repr__(self) -> str:
        # This method replaces the repr of a dataclass, which would print cells with personal data.
        others = "".join(f", {part}={values.name!r}" for part, values in self._optional_columns())
        return (
            f"Dataset(name={self.name!r}, n_rows={self.n_rows}, n_features={self.features.shape[1]}, "
            f"target={self.target.name!r}, sensitive={list(self.sensitive.columns)!r}{others})"
        )

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return len(self.target)

    @property
    def row_weight(self) -> NDArray[np.float64]:
        """Weight of each row, (n,). Without a weight column, every weight is 1."""
        return np.ones(self.n_rows) if self.weight is None else self.weight.to_numpy(dtype=np.float64)

    @property
    def roles(self) -> Roles:
        """Roles of the columns of this data set."""
        return Roles(
            target=str(self.target.name),
            sensitive=tuple(self.sensitive.columns),
            features=tuple(self.features.columns),
            **{role: str(column.name) for role, column in self._optional_columns()},
            rate=self.per_exposure,
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the values, types and roles of all columns, in hex digits.

        The fingerprint does not depend on display names, units and notes, because models do not use them.
        """
        digest = hashlib.sha256(b"fairdash dataset 1\n")
        for role, column in self._columns():
            _add_to_digest(digest, role, column)
        return digest.hexdigest()

    def _columns(self) -> Iterator[tuple[str, pd.Series]]:
        yield "target", self.target
        for role, column in self._optional_columns():
            yield role, column
        for role, frame in (("sensitive", self.sensitive), ("feature", self.features)):
            for name in frame.columns:
                yield role, frame[name]

    def _optional_columns(self) -> Iterator[tuple[str, pd.Series]]:
        """Yield the role and the values of each optional column of this data set, such as the weight."""
        yield from ((part, values) for part in SINGLE if (values := getattr(self, part)) is not None)

    def table(self) -> pd.DataFrame:
        """Return features, sensitive columns, target and all other columns as a frame (n, columns)."""
        others = [column for _, column in self._optional_columns()]
        return pd.concat([self.features, self.sensitive, self.target, *others], axis=1)

    def take(self, rows: NDArray[np.int64]) -> Dataset:
        """Return a data set with the rows whose numbers are in `rows` (m,), in this order."""
        parts = ("features", "target", "sensitive", *(role for role, _ in self._optional_columns()))
        return replace(self, **{part: getattr(self, part).iloc[rows] for part in parts})

    @property
    def groups(self) -> NDArray[Any] | None:
        """Group of each row (n,), or None if there are no groups."""
        return None if self.group is None else self.group.to_numpy()

    def label(self, column: str) -> str:
        """Return the display name of a column with its unit in brackets, for the axis of a chart."""
        unit, name = self.units.get(column), self.called(column)
        return f"{name} ({unit})" if unit else name

    def called(self, column: str) -> str:
        """Return the display name of a column, which is by default the header."""
        return self.names.get(column, column)


def draw_rows(dataset: Dataset, n_rows: int, *, random_state: int) -> NDArray[np.int64]:
    """Draw about `n_rows` distinct rows of a data set at random, for a preview.

    The sample contains either all rows of a group, such as a policy, or none of them. If the sample would
    then have fewer than MIN_GROUPS groups, single rows are drawn from all groups.

    Parameters
    ----------
    dataset
        Data set with more rows than the sample.
    n_rows
        Number of rows to draw. Whole groups are drawn until the sample has at least this number of rows.
    random_state
        Seed of the draw.

    Returns
    -------
    array of int64, shape (m,)
        Row numbers in ascending order.

    Examples
    --------
    >>> from fairdash.data.catalogue import load_dataset
    >>> rows = draw_rows(load_dataset("household", n=300), 100, random_state=0)
    >>> len(rows), len(set(rows.tolist())), bool((rows[1:] > rows[:-1]).all())
    (100, 100, True)
    """
    return draw_of_groups(dataset.groups, dataset.n_rows, n_rows, random_state=random_state)


def draw_of_groups(groups: Any, n_rows: int, n_drawn: int, *, random_state: int | None) -> NDArray[np.int64]:
    """Draw rows like :func:`draw_rows`. `groups` has the group of each row (n,), or is None."""
    rng = rng_of(Stream.FIRST_LOOK_ROWS, random_state)
    if groups is not None:
        codes = pd.factorize(groups)[0]
        sizes = np.bincount(codes)
        order = rng.permutation(len(sizes))
        n_groups = int(np.searchsorted(np.cumsum(sizes[order]), n_drawn)) + 1
        if n_groups >= MIN_GROUPS:
            chosen = np.zeros(len(sizes), dtype=bool)
            chosen[order[:n_groups]] = True
            return np.flatnonzero(chosen[codes])
    return np.sort(rng.choice(n_rows, n_drawn, replace=False))


def _check(dataset: Dataset) -> None:
    """Raise an error if columns differ in length, or if a column is unsuitable for its role."""
    checks = Checks(DataError)
    outcomes = [(TARGET, dataset.target), *((SENSITIVE, values) for values in _columns_of(dataset.sensitive))]
    others = {SINGLE[part]: values for part, values in dataset._optional_columns()}
    features = _columns_of(dataset.features)
    names = [values.name for values in (*features, *(values for _, values in outcomes), *others.values())]
    texts = all(isinstance(name, str) for name in names)
    checks.require(
        texts, None, "the name of a column is not a text", "Give every column a name that is a string."
    )
    for name, times in Counter(names).items():
        repeated_name = "the name is used for several columns or roles"
        hint = "A column can have one role only: target, sensitive, feature or exposure."
        checks.require(times == 1, str(name), repeated_name, hint)
    for part, role_name in ((features, FEATURE), (outcomes[1:], SENSITIVE)):
        checks.require(part, None, f"there is no {role_name}", f"Choose at least one {role_name}.")
    parts = {"features": dataset.features, TARGET: dataset.target, **others}
    counts = [f"{len(part):,}" for part in (*parts.values(), dataset.sensitive)]
    they_have = (
        f"{', '.join(parts)} and sensitive columns have {', '.join(counts[:-1])} and {counts[-1]} rows"
    )
    are_equal = len(set(counts)) == 1
    checks.require(are_equal, None, they_have, "Use columns of the same table.")
    has_rows = len(dataset.target) > 0 or not are_equal
    checks.require(has_rows, None, "there are no rows", "Choose a table with rows.")
    for role, values in (*outcomes, *others.items()):
        if role == GROUP:
            checks.problems += group_problems(values)
        elif role != ROW_ID:
            checks.problems += outcome_problems(values, role)
    for values in features:
        checks.problems += feature_problems(values)
    if dataset.per_exposure:
        require_exposure(checks, str(dataset.target.name), dataset.weight)
    checks.finish()


def _columns_of(frame: pd.DataFrame) -> list[pd.Series]:
    """Return the columns of a frame by position, because their names may not be unique."""
    return [frame.iloc[:, position] for position in range(frame.shape[1])]


def _add_to_digest(digest: hashlib._Hash, role: str, values: pd.Series) -> None:
    """Add one column to a digest. The bytes are the same on all machines."""
    kind: object
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "fiub":
        kind = values.dtype.kind
        cells = values.to_numpy(dtype={"f": "<f8", "i": "<i8", "u": "<u8", "b": "u1"}[values.dtype.kind])
        if kind == "f":
            # NaN and zero have several bit patterns. Therefore all NaN become one NaN, and -0.0 becomes 0.0.
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
