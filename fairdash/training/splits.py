"""Random splits and folds; :mod:`fairdash.training.split_kinds` defines further kinds of splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.errors import DataError, OptionError
from fairdash.utils.classes import attributes_of
from fairdash.utils.rounding import varies
from fairdash.utils.seeds import Stream, seed_of

Figures = TypeVar("Figures", float, NDArray[np.float64], pd.Series)
#: Share of test rows.
TEST_SHARE = 0.2


@dataclass(frozen=True)
class Split:
    """Row numbers of one split, in three sorted and disjoint arrays; splits by time omit some rows.

    Parameters
    ----------
    train
        Rows to which models are fitted.
    test
        Rows on which reported results are computed; they are not used for selection.
    validation
        Rows for early stopping and for the selection of λ and of settings; may be empty.
    """

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    validation: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def parts(self) -> dict[str, NDArray[np.int64]]:
        """Return the arrays that are not empty, by name: ``"train"``, ``"validation"``, ``"test"``."""
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: rows for name, rows in parts.items() if len(rows)}


def constant_parts(values: pd.Series, parts: Sequence[NDArray[np.int64]]) -> list[int]:
    """Return the indices of `parts` (arrays of row numbers) in which a column is constant."""
    x = values.to_numpy(dtype=float)
    return [j for j, rows in enumerate(parts) if len(rows) and not varies(x[rows])]


def require_varied_target(target: pd.Series, splits: Sequence[Split]) -> None:
    """Check that the target is not constant in the training rows of any split.

    Raises
    ------
    DataError
    """
    if constant := constant_parts(target, [split.train for split in splits]):
        raise DataError.of(
            f"the target has the same value in all training rows of {len(constant)} of {len(splits)} splits",
            "Give more rows with other values, or use a different random_state or kind of split.",
            column=str(target.name),
        )


def undefined_in_words(
    sensitive: pd.DataFrame, parts: Sequence[NDArray[np.int64]], *, text: str
) -> tuple[str, ...]:
    """Describe the parts in which dependence is undefined because a sensitive column is constant.

    Parameters
    ----------
    parts
        Row numbers of each part.
    text
        Description of the parts in words, such as “test rows of {} splits”.

    Raises
    ------
    DataError
        Raised if an attribute is constant in every part.
    """
    constant = {str(name): constant_parts(column, parts) for name, column in sensitive.items()}
    for name, columns in attributes_of(sensitive).items():
        if all(len(constant[column]) == len(parts) for column in columns):
            problem = f"the column is constant in the {text.format('all')}, so dependence on it is undefined"
            hint = "Use another kind of split, or choose a column with several frequent values."
            raise DataError.of(problem, hint, column=name)
    return tuple(
        f"“{name}” is constant in the {text.format(f'{len(where)} of {len(parts)}')} (no. "
        f"{', '.join(str(j + 1) for j in where)}). Means of dependence do not include these splits or folds."
        for name, where in constant.items()
        if where
    )


def random_splits(
    n_rows: int,
    *,
    n_splits: int,
    random_state: int,
    test_share: float = TEST_SHARE,
    validation_share: float = 0.0,
) -> tuple[Split, ...]:
    """Draw random splits, by default with 80 % training rows and 20 % test rows, as in the paper.

    The test rows of the j-th split depend only on `random_state`, `test_share` and j, so that the first
    splits stay the same for a larger `n_splits`. `validation_share` is the share of the rows outside the test
    set that become validation rows.
    """
    n_test = round(n_rows * test_share)
    n_validation = round((n_rows - n_test) * validation_share)
    splits = []
    for j in range(n_splits):
        order = np.random.default_rng([random_state, j]).permutation(n_rows)
        test, validation, train = np.split(order, [n_test, n_test + n_validation])
        splits.append(Split(train=np.sort(train), test=np.sort(test), validation=np.sort(validation)))
    return tuple(splits)


def fold_rows(
    rows: NDArray[np.int64], *, n_folds: int, random_state: int, groups: ArrayLike | None = None
) -> tuple[Split, ...]:
    """Return splits of `rows` for cross-validation, in which every row is a validation row exactly once.

    Parameters
    ----------
    groups : (n,) array, optional
        Group of each row of the whole table. All rows of a group are in the same fold (GroupKFold of
        scikit-learn, with folds of about equal size).

    Raises
    ------
    OptionError
        Raised if there are fewer than 2 folds, or more folds than rows or groups.
    """
    group_of = None if groups is None else np.asarray(groups)[rows]
    n_units, unit = (len(rows), "rows") if group_of is None else (len(pd.unique(group_of)), "groups")
    if not 2 <= n_folds <= n_units:
        raise OptionError.of(
            f"The {unit} can't be divided into {n_folds} folds",
            f"Choose a number from 2 to {n_units:,}.",
            column="n_folds",
        )
    parts: Sequence[NDArray[np.int64]]
    if group_of is None:
        order = np.random.default_rng([random_state, len(rows)]).permutation(rows)
        parts = np.array_split(order, n_folds)
    else:
        from sklearn.model_selection import GroupKFold

        splitter = GroupKFold(n_folds, shuffle=True, random_state=random_state)
        parts = [rows[test_rows] for _, test_rows in splitter.split(rows, groups=group_of)]
    return tuple(
        Split(
            train=np.sort(np.concatenate([*parts[:j], *parts[j + 1 :]])),
            test=np.empty(0, dtype=np.int64),
            validation=np.sort(part),
        )
        for j, part in enumerate(parts)
    )


def with_held_out(split: Split, *, random_state: int, groups: ArrayLike | None = None) -> Split:
    """Return a split that has validation rows and no test rows.

    If `split` has no validation rows, a fifth of its training rows become validation rows. All rows of a
    group stay together; `groups` (n,) contains the groups of all rows of the table.
    """
    if len(split.validation):
        return Split(split.train, split.test[:0], split.validation)
    return fold_rows(split.train, n_folds=5, random_state=random_state, groups=groups)[0]


def sample_at_most(rows: NDArray[np.int64], max_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `rows`, or a sorted random sample of `max_rows` of them if there are more than `max_rows`."""
    return rows if len(rows) <= max_rows else np.sort(rng.choice(rows, max_rows, replace=False))


def initial_seed(random_state: int, split: int) -> int:
    """Return the seed of the initial weights, which is the same for all models of a split."""
    return seed_of(Stream.INITIAL_WEIGHTS, random_state, split)


def corrected_standard_error(variance: Figures, *, n_splits: Any, test_to_train: float) -> Figures:
    """Return the standard error of a mean over J overlapping random splits: √((1/J + n_test/n_train) σ²).

    The formula is equation 9 of Nadeau and Bengio (2003), "Inference for the generalization error". The
    argument `variance` is the sample variance over the splits (with the divisor J − 1).
    """
    return ((1 / n_splits + test_to_train) * variance) ** 0.5


def row_numbers(rows: ArrayLike | None, n_rows: int) -> NDArray[np.int64] | None:
    """Return sorted row numbers without duplicates; numbers out of range raise an OptionError."""
    if rows is None:
        return None
    numbers = np.asarray(rows)
    are_integers = numbers.ndim == 1 and np.issubdtype(numbers.dtype, np.integer)
    if not are_integers or len(numbers) == 0 or numbers.min() < 0 or numbers.max() >= n_rows:
        raise OptionError.of(
            "This is not a list of row numbers of the data set",
            f"Give whole numbers from 0 to {n_rows - 1}.",
            column="rows",
        )
    return np.unique(numbers).astype(np.int64)
