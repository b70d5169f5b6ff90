"""Registry of kinds of splits into training and test rows, and selection of holdout rows.

If a weight λ is selected on test rows, its results on these rows are optimistic. In about half of all cases,
a statement about the selected model is then wrong on other rows. Holdout rows are never used for selection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.data.building import MIN_ROWS
from fairdash.data.dataset import Dataset
from fairdash.dependence.grouping import Blocks, as_groups
from fairdash.errors import OptionError
from fairdash.training.splits import TEST_SHARE, Split, random_splits
from fairdash.utils.registry import by_id, get_entry
from fairdash.utils.seeds import Stream, rng_of

Rows = NDArray[np.int64]

RANDOM, GROUP, TIME = "random", "group", "time"
#: In splits by time, the test window of each further split starts earlier by this share of the rows.
_WINDOW_STEP = 0.05
#: Minimum share of the rows that come before the earliest test window.
_MIN_EARLIER_SHARE = 0.2


@dataclass(frozen=True, kw_only=True)
class SplitKind:
    """Kind of split into training and test rows.

    Attributes
    ----------
    id
        Id in plans, in stored runs and on the command line.
    title
        Display name.
    phrase
        Adjective for the phrases "1 … split" and "5 … splits".
    meaning
        Description of the split, and of the performance that it measures.
    role
        Role of a column that the data set must have, "group" or "time", or empty.
    draw
        Function that returns splits from a data set, the number of splits, a seed and the share of validation
        rows. The j-th split depends only on the data, the seed, this share and j, so that the first splits
        stay the same if more splits are drawn.
    """

    id: str
    title: str
    phrase: str
    meaning: str
    draw: Callable[[Dataset, int, int, float], tuple[Split, ...]]
    role: str = ""

    def mean_of(self, count: int) -> str:
        """Describe a mean over splits, such as "mean of 5 random splits", for the subtitle of a chart."""
        return f"1 {self.phrase} split" if count == 1 else f"mean of {count} {self.phrase} splits"


def draw_splits(
    dataset: Dataset,
    kind: str,
    *,
    n_splits: int,
    random_state: int,
    validation_share: float = 0.0,
    set_aside: Rows | None = None,
) -> tuple[Split, ...]:
    """Draw splits of a kind, given by its id in :data:`SPLITS`.

    Parameters
    ----------
    validation_share
        Share of the rows outside the test set that become validation rows; it does not affect the test rows.
    set_aside
        Numbers of rows that are excluded from all splits.

    Raises
    ------
    OptionError
        Raised if the data set lacks the column that the kind needs, or if this column does not allow this
        number of splits.
    """
    draw = get_entry(SPLITS, checked_kind(dataset, kind), option="split").draw
    if set_aside is None or not len(set_aside):
        return draw(dataset, n_splits, random_state, validation_share)
    open_rows = np.setdiff1d(np.arange(dataset.n_rows), set_aside)
    return tuple(
        Split(open_rows[split.train], open_rows[split.test], open_rows[split.validation])
        for split in draw(dataset.take(open_rows), n_splits, random_state, validation_share)
    )


def checked_kind(dataset: Dataset, kind: str) -> str:
    """Return `kind` if the data set has the column that it needs; otherwise, raise an OptionError."""
    role = get_entry(SPLITS, kind, option="split").role
    if role and getattr(dataset, role) is None:
        raise _option_error(
            "split",
            f"Splits by {role} need a column with the role {role}",
            f"Choose a column for the role {role}.",
        )
    return kind


def default_kind(dataset: Dataset) -> str:
    """Return "group" if there are groups, which random splits would divide, otherwise "random"."""
    return RANDOM if dataset.group is None else GROUP


def kinds_for(dataset: Dataset) -> list[str]:
    """Return the kinds of splits that the columns of the data set allow, starting with the default kind."""
    kinds = [kind.id for kind in SPLITS.values() if not kind.role or getattr(dataset, kind.role) is not None]
    return sorted(kinds, key=lambda entry: entry != default_kind(dataset))


def with_groups(dataset: Dataset, groups: ArrayLike | None) -> Dataset:
    """Return the data set with the groups (n,), or unchanged if they are None."""
    if groups is None:
        return dataset
    as_groups(groups, dataset.n_rows)
    name = getattr(groups, "name", None)
    return replace(
        dataset, group=pd.Series(np.asarray(groups), name=name if isinstance(name, str) else "groups")
    )


def check_groups(dataset: Dataset) -> None:
    """Raise an error, before training, if a permutation test could not permute any groups."""
    codes = as_groups(dataset.groups, dataset.n_rows)
    if codes is not None:
        for column in dataset.sensitive.columns:
            Blocks.of(codes, dataset.sensitive[column].to_numpy())


def _random(dataset: Dataset, n_splits: int, random_state: int, validation_share: float) -> tuple[Split, ...]:
    return random_splits(
        dataset.n_rows, n_splits=n_splits, random_state=random_state, validation_share=validation_share
    )


def _by_group(
    dataset: Dataset, n_splits: int, random_state: int, validation_share: float
) -> tuple[Split, ...]:
    from sklearn.model_selection import GroupShuffleSplit

    groups = as_groups(dataset.groups, dataset.n_rows)
    assert groups is not None
    if groups.max() + 1 < 5:
        hint = "Choose a column with at least 5 groups, or random splits."
        raise _option_error("split", "There are too few groups for training and test rows", hint)

    def divided(rows: Rows, share: float, seed: Sequence[int]) -> tuple[Rows, Rows]:
        number = int(np.random.SeedSequence(seed).generate_state(1)[0])
        splitter = GroupShuffleSplit(n_splits=1, test_size=share, random_state=number)
        remaining, selected = next(splitter.split(rows, groups=groups[rows]))
        return rows[remaining], rows[selected]

    splits = []
    for j in range(n_splits):
        train, test = divided(np.arange(dataset.n_rows), TEST_SHARE, [random_state, j])
        validation = test[:0]
        if validation_share:
            train, validation = divided(train, validation_share, [random_state, j, 1])
        splits.append(Split(train, test, validation))
    return tuple(splits)


def _by_time(dataset: Dataset, n_splits: int, _: int, validation_share: float) -> tuple[Split, ...]:
    assert dataset.time is not None
    time = dataset.time.to_numpy()
    splits: list[Split] = []
    for j in range(round((1 - TEST_SHARE - _MIN_EARLIER_SHARE) / _WINDOW_STEP) + 1):
        split = _window(time, 1 - TEST_SHARE - j * _WINDOW_STEP, validation_share)
        # Rows with the same time are in the same window, so windows may be equal if there are few different
        # times.
        if split is not None and not any(
            np.array_equal(split.test, other_split.test) for other_split in splits
        ):
            splits.append(split)
    if len(splits) < n_splits:
        raise _option_error(
            "n_splits",
            f"“{dataset.time.name}” allows only {len(splits)} different splits by time",
            f"Choose at most {len(splits)} splits." if splits else "Choose another column, or random splits.",
        )
    return tuple(splits[:n_splits])


def _window(time: NDArray[np.float64], start_share: float, validation_share: float) -> Split | None:
    """Return a split whose test window starts after a share of the rows, or None if a part is empty.

    The test window contains the share TEST_SHARE of the rows. Rows after the window are not used.
    """
    in_order, n = np.sort(time), len(time)
    first = in_order[round(start_share * n)]
    end = round((start_share + TEST_SHARE) * n)
    in_window = (time >= first) & (time < (in_order[end] if end < n else np.inf))
    rows = np.flatnonzero(time < first)
    if not len(rows) or not in_window.any():
        return None
    validation = rows[:0]
    if validation_share:
        sorted_times = np.sort(time[rows])
        cut_time = sorted_times[min(round((1 - validation_share) * len(sorted_times)), len(sorted_times) - 1)]
        rows, validation = rows[time[rows] < cut_time], rows[time[rows] >= cut_time]
        if not len(rows):
            return None
    return Split(rows, np.flatnonzero(in_window), validation)


def _option_error(option: str, problem: str, hint: str) -> OptionError:
    return OptionError.of(problem, hint, column=option)


#: All kinds of splits, by id.
SPLITS: Mapping[str, SplitKind] = by_id(
    SplitKind(
        id=RANDOM,
        title="At random",
        phrase="random",
        meaning="Rows are randomly divided into training rows (80 %) and test rows (20 %). This measures "
        "performance on new rows of the same kind.",
        draw=_random,
    ),
    SplitKind(
        id=GROUP,
        title="By group",
        phrase="by-group",
        meaning="Groups are randomly divided into training groups (80 %) and test groups (20 %). This "
        "measures performance on new groups, such as new policies (scikit-learn's GroupShuffleSplit).",
        role="group",
        draw=_by_group,
    ),
    SplitKind(
        id=TIME,
        title="By time",
        phrase="before-and-after",
        meaning="Models are trained on earlier rows and tested on later rows. The test rows of the first "
        "split are the latest fifth of the rows. In every further split, this window moves back by 5 % of "
        "the rows, and later rows are not used. A group may have training rows and later test rows.",
        role="time",
        draw=_by_time,
    ),
)


#: `SHARE` is the default share of holdout rows.
#: `FROM_ROWS` is the minimum number of rows of a table for which holdout rows are set aside by default.
#: `MAX_ROWS` is the maximum number of holdout rows. With so many holdout rows, little uncertainty remains,
#: and further rows are more useful for training.
SHARE, FROM_ROWS, MAX_ROWS = 0.2, 5_000, 10_000


@dataclass(frozen=True, kw_only=True, eq=False)
class SetAside:
    """Holdout rows, and predictions for these rows by models that were trained on other rows.

    For each method and weight, one model is trained on all other rows. It has the same settings and seed as
    the model for all rows that a user can export, so that both models are as similar as possible. For large
    tables, the model of the first split is used instead. The mean prediction over the models of all splits
    would be a different predictor, which a user cannot export.

    Parameters
    ----------
    rows
        Sorted numbers (m,) of the holdout rows in the data set.
    members
        One row per model, with the columns ``method``, ``lam`` and ``diverged``.
    predictions
        Predictions (K, m) in the target's units.
    target
        Target (m,).
    sensitive
        Sensitive columns, a frame with m rows.
    weight
        Exposures (m,), or None for equal weights.
    groups
        Codes of the groups (m,), or None if there are no groups.
    """

    rows: Rows
    members: pd.DataFrame
    predictions: NDArray[np.float64]
    target: NDArray[np.float64]
    sensitive: pd.DataFrame
    weight: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls, dataset: Dataset, rows: Rows, *, members: pd.DataFrame, predictions: NDArray[np.float64]
    ) -> SetAside:
        """Create the holdout from a data set and from predictions (K, n) for all rows of the data set."""
        codes = as_groups(dataset.groups, dataset.n_rows)
        return cls(
            rows=rows,
            members=members[["method", "lam", "diverged"]].reset_index(drop=True),
            predictions=predictions[:, rows],
            target=dataset.target.to_numpy(dtype=float)[rows],
            sensitive=dataset.sensitive.iloc[rows].astype(float).reset_index(drop=True),
            weight=None if dataset.weight is None else dataset.weight.to_numpy(dtype=float)[rows],
            groups=None if codes is None else codes[rows].astype(np.int64),
        )


def default_share(n_rows: int) -> float:
    """Return the default share of holdout rows for a table with `n_rows` rows; 0 for small tables."""
    return SHARE if n_rows >= FROM_ROWS else 0.0


def draw_set_aside(dataset: Dataset, share: float, *, latest: bool) -> Rows:
    """Draw the holdout rows, and return their sorted numbers.

    The holdout rows depend only on the data set, not on a seed. All runs on the same table therefore have the
    same holdout rows. No run can use the holdout rows of another run for training or selection.

    Parameters
    ----------
    share
        Share of the rows to draw, from 0 to below 1; at most :data:`MAX_ROWS` rows are drawn.
    latest
        True to draw the latest rows, for splits by time. Such splits test whether a model trained on past
        rows is valid later, so models must not use other rows of the same period. Rows with the same time
        stay together. The holdout contains the rows of the latest times, as many as fit into the share, and
        at least the rows of the last time. If False, rows (whole groups, if the data set has groups) are
        drawn at random.

    Raises
    ------
    OptionError
        Raised if the share gives too few rows for the holdout or for training.
    """
    n = dataset.n_rows
    if share == 0:
        return np.empty(0, dtype=np.int64)
    n_drawn = min(round(share * n), MAX_ROWS)
    rng = rng_of(Stream.CONFIRMATION_ROWS, 0)
    if latest:
        assert dataset.time is not None
        time = dataset.time.to_numpy()
        times, counts = np.unique(time, return_counts=True)
        n_times = int((counts[::-1].cumsum() <= n_drawn).sum())
        rows = np.flatnonzero(time >= times[-max(n_times, 1)])
    elif (codes := as_groups(dataset.groups, n)) is not None:
        order = rng.permutation(codes.max() + 1)
        # Groups are drawn in random order until their rows would exceed the requested number.
        is_selected = np.bincount(codes)[order].cumsum() <= n_drawn
        rows = np.flatnonzero(np.isin(codes, order[is_selected]))
    else:
        rows = np.sort(rng.permutation(n)[:n_drawn])
    if len(rows) < MIN_ROWS or n - len(rows) < MIN_ROWS:
        raise OptionError.of(
            f"{len(rows):,} of {n:,} rows would be set aside to confirm a choice, too few or too many",
            f"Choose a share that gives at least {MIN_ROWS} holdout rows and {MIN_ROWS} other rows, or 0.",
            column="confirmation_share",
        )
    return rows.astype(np.int64)
