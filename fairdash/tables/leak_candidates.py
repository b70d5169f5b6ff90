"""Detection of suspect features, which predict the target so well that they may have been computed from it.

The detection does not use column names. A column is suspect if it explains much of the target's order on
held-out rows, and if the other columns show that it is probably not a cause of the target. Suppose that a
column x is a cause of y, y = f(other columns) + b x + noise. Then the other columns help to predict x when y
is known, because a large y with a small f implies a large x. If x was computed from y, the other columns
don't help to predict x when y is known. If the other columns are uninformative, causes and leaks can't be
distinguished. Then x is suspect if it explains a very large share of y's order. For counts, causes can
explain only the variance that exceeds the variance of a Poisson distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tables.column_profile import NUMBERS, as_floats, kind_of
from fairdash.tables.fixes import on_one_scale
from fairdash.utils.text import percent
from fairdash.utils.trees import boosted_trees

_percent = partial(percent, decimals=0)

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Shares = tuple[float, float, float]

#: Maximum number of rows for the training and evaluation of trees. More rows would not make a leak clearer.
MAX_ROWS = 8000
_MIN_ROWS = 300
_MAX_LEVELS = 100
_FOLDS = 2
#: A suspect column explains alone at least a share `_MUCH` of the target's order, and at least `_MOST` times
#: the share that all columns explain together.
_MUCH, _MOST = 0.3, 0.7
#: When the target is known, the other columns still explain a share of a cause, but nothing of a column that
#: was computed from the target. A formula gives the expected share, which is capped at 0.5. A column is
#: probably not a cause if the actual share is less than 0.1 times the expected share. If the expected share
#: is below 0.05, the test is skipped.
_MIN_RATIO, _MAX_EXPECTED, _MIN_EXPECTED = 0.1, 0.5, 0.05
_NEGLIGIBLE = 0.02
#: Columns may act on the target through a cause. Then the share of the cause that they explain exceeds the
#: share of the target that they explain by more than this number.
_CAUSE_MARGIN = 0.005
#: Upper limit for the share of the variance of the target's ranks that a legitimate column explains alone.
_MAX_SINGLE_SHARE = 0.75
#: For a target with at least half zeros, such as claims, this limit is lower. It falls from 0.55 to 0.25 as
#: the share of zeros rises, and is 0.2 higher if other columns are informative.
_MANY_ZEROS, _MIN_ALONE_OF_ZEROS, _ALONE_OF_ZEROS, _ADDED_WITH_OTHERS = 0.5, 0.15, 0.25, 0.2
#: A column was computed from the target and other columns if all columns together explain nearly all
#: variance, and much more than the sum of what this column and what the other columns explain.
_NEARLY_ALL, _ONLY_TOGETHER = 0.9, 0.2
#: The share of the variance of counts that a suspect column explains exceeds the share that causes can
#: explain by at least `_ABOVE_CHANCE`, and by at least `_ERRORS` standard errors.
_ABOVE_CHANCE, _ERRORS = 0.1, 3.0
#: Maximum number of candidates for the slow tests.
_MAX_CANDIDATES = 4

#: Maximum number of rows in a group when a column is compared with the target's group averages.
MAX_IN_GROUP = 20
_MIN_GROUPS = 30
#: Minimum number of distinct group averages that match exactly. A few averages of counts match by chance.
_MIN_DISTINCT_AVERAGES = 6
#: Maximum distance of a column from the target's group averages, as a multiple of the distance expected by
#: chance. A column below this limit contains averages of the target.
_TOO_CLOSE = 0.5
_EXACT = 1e-4
_SAME = 0.99
#: Minimum number of standard errors. Chance exceeds it with a probability below 1e-6.
_MIN_Z = 4.9
#: A file may be sorted by the target if the row numbers explain at least this share of the target's order.
_MIN_OF_SORTED = 0.15

CERTAIN: Literal["certain"] = "certain"
SUSPECT: Literal["suspect"] = "suspect"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Column that certainly or possibly reveals the target or the price.

    Parameters
    ----------
    column
        Name of the column.
    level
        ``"certain"`` if fairdash leaves the column out unless you restore it, ``"suspect"`` for a warning.
    sentence
        Explanation and, for a suspect, the check that you should make.
    number
        For a certain leak, the number of rows in the check. For a suspect, the share of the variance of the
        target's ranks that the column alone explains on held-out rows, at most 1. For a column with averages
        of the target, its distance from these averages divided by the distance expected by chance, at least
        0.
    of
        The revealed column: ``"target"`` or ``"price"``.
    """

    column: str
    level: Literal["certain", "suspect"]
    sentence: str
    number: float
    of: Literal["target", "price"] = "target"


def find_suspects(
    frame: pd.DataFrame,
    target: str,
    columns: Iterable[str],
    *,
    other_columns: Iterable[str] = (),
    group: str | None = None,
) -> tuple[Finding, ...]:
    """Return the suspects, first columns with averages of the target and then others by decreasing strength.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names.
    target
        Name of a numeric column.
    columns
        Names of the columns to check.
    other_columns
        Names of further columns that legitimately explain the target, such as a sensitive column.
    group
        Column with the group of each row, such as a policy number. The rows of a group are held out together.
    """
    columns = list(columns)
    if kind_of(frame[target]) not in NUMBERS or not columns:
        return ()
    y = as_floats(frame[target])
    is_finite = np.isfinite(y.to_numpy())
    if is_finite.sum() < _MIN_ROWS or y[is_finite].nunique() < 2:
        return ()
    if not is_finite.all():
        frame, y = frame[is_finite], y[is_finite]
    other_candidates = [name for name in dict.fromkeys(other_columns) if name not in columns]
    suspects: dict[str, Finding] = {}
    groups = None if group is None else frame[group]
    for other in (
        *_averages(frame, y.to_numpy(), columns),
        *_strong_predictors(frame, y, columns, other_candidates, groups),
    ):
        suspects.setdefault(other.column, other)
    return tuple(suspects.values())


def _strong_predictors(
    frame: pd.DataFrame, y: pd.Series, columns: list[str], other_columns: list[str], groups: pd.Series | None
) -> Iterator[Finding]:
    rng = np.random.default_rng(0)
    rows = np.arange(len(frame))
    if len(rows) > MAX_ROWS:
        rows = np.sort(rng.choice(len(rows), MAX_ROWS, replace=False))
    ranks = _ranks(y.iloc[rows])
    if np.ptp(ranks) == 0:
        return
    codes = np.arange(len(rows)) if groups is None else pd.factorize(groups.iloc[rows])[0]
    fold = (rng.permutation(codes.max() + 1) % _FOLDS)[codes]
    x = {name: _as_cells(frame[name].iloc[rows]) for name in [*columns, *other_columns]}
    single = {name: _share_of_shallow_tree(x[name], ranks, fold) for name in columns}
    numbering_columns = [name for name in columns if _numbers_rows(frame[name])]
    for name in numbering_columns:
        if single[name] >= _MIN_OF_SORTED:
            yield Finding(
                column=name,
                level=SUSPECT,
                sentence=f"it numbers the rows and alone explains {_percent(single[name])} of the target's "
                "order. Check whether the file was sorted or assembled by outcome",
                number=single[name],
            )
    zeros = float((y == 0).mean())
    are_mostly_zero = zeros >= _MANY_ZEROS
    min_share = _MIN_ALONE_OF_ZEROS if are_mostly_zero else _MUCH
    strong_columns = [name for name in columns if name not in numbering_columns and single[name] >= min_share]
    strong_columns = sorted(strong_columns, key=single.__getitem__, reverse=True)[:_MAX_CANDIDATES]
    if not strong_columns:
        return
    cells_by_column = {name: x[name] for name in x if name not in numbering_columns}
    max_alone = max(_ALONE_OF_ZEROS, _MANY_ZEROS + 0.55 - zeros) if are_mostly_zero else _MAX_SINGLE_SHARE
    trees = _Trees(ranks, fold, max_alone, are_mostly_zero)
    of_all: float | None = None
    explainable = _explainable_share(y)
    counts = y.iloc[rows].to_numpy(dtype=float)
    for name in strong_columns:
        f, others = cells_by_column[name], [cells_by_column[key] for key in cells_by_column if key != name]
        of_all = trees.explain([f, *others]) if of_all is None else of_all
        shares = trees.shares_of(f, others, single[name], of_all)
        own, without, combined = map(_percent, shares)
        cause = f"it alone explains {own} of the target's order"
        if others:
            cause += f"; all columns explain {combined}, and all columns but this one {without}"
        if not trees.contradict_cause(f, others, shares):
            if explainable is None or not trees.exceed_chance(f, others, counts, explainable):
                continue
            cause += f"; causes can explain at most {_percent(max(explainable, 0.0))}, and the rest is chance"
        yield Finding(
            column=name,
            level=SUSPECT,
            sentence=f"{cause}. Check whether it is known before the target",
            number=shares[0],
        )
        # Weaker suspects are tested without this stronger one, which would hide signs of a leak in them.
        del cells_by_column[name]
        of_all = None


class _Trees(NamedTuple):
    """Boosted trees that are evaluated on held-out rows."""

    ranks: Floats
    fold: Codes
    #: Upper limit for the share of the variance of the target's ranks that a legitimate column explains
    #: alone.
    too_much: float
    many_zeros: bool

    def explain(self, columns: list[Floats], y: Floats | None = None) -> float:
        """Return the share of the variance of y that columns explain. By default, y is the target's ranks."""
        y = self.ranks if y is None else y
        return _share(y, _predicted(columns, y, self.fold)) if columns else 0.0

    def explain_rest(self, columns: list[Floats], y: Floats, given_columns: Floats) -> float:
        """Return the share of the variance of y's residuals, given `given_columns`, that columns explain."""
        return self.explain(columns, y - _predicted([given_columns], y, self.fold))

    def shares_of(self, f: Floats, others: list[Floats], single: float, of_all: float) -> Shares:
        """Return shares of the target's order that one column, the other columns, and all columns explain."""
        share = max(single, self.explain([f]), 0.0)
        return share, max(self.explain(others), 0.0), max(of_all, share)

    def contradict_cause(self, f: Floats, others: list[Floats], shares_found: Shares) -> bool:
        """Return whether a column seems to be a function of the target rather than a cause of the target."""
        single, without, combined = shares_found
        if self.many_zeros and max(single, combined - without) >= self.too_much + _ADDED_WITH_OTHERS:
            return True
        if combined >= _NEARLY_ALL and combined - single - without >= _ONLY_TOGETHER:
            return True
        if single < _MOST * combined:
            return False
        ranks = _ranks(pd.Series(f[:, 0]))
        share_given_target = self.explain_rest(others, ranks, self.ranks[:, None])
        # For y = f + b x + noise, let f explain a share F and b x a share B of the variance of y. If y is
        # known, f explains the share F B / ((1 - F) (1 - B)) of x.
        expected = single * without / max((1 - single) * (1 - without), 1e-9)
        if expected < _MIN_EXPECTED or without < _NEGLIGIBLE:
            share_of_rest = self.explain_rest(others, self.ranks, f)
            return single >= self.too_much and max(share_given_target, share_of_rest, without) < _NEGLIGIBLE
        if share_given_target >= _MIN_RATIO * min(expected, _MAX_EXPECTED):
            return False
        # If columns act on the target through a cause, they predict the cause better than the target.
        return self.explain(others, ranks) <= without + _CAUSE_MARGIN

    def exceed_chance(self, f: Floats, others: list[Floats], counts: Floats, at_most: float) -> bool:
        """Return whether predictions with this column explain counts better than causes can explain them."""
        limit = at_most + max(_ABOVE_CHANCE, _ERRORS * np.sqrt(2 / len(counts)))
        if self.explain([f], counts) > limit:
            return True
        return self.explain([f, *others], counts) > limit > self.explain(others, counts) + _ABOVE_CHANCE / 2


def _explainable_share(y: pd.Series) -> float | None:
    """Return the share of the variance of counts that causes can explain because it is not Poisson noise.

    The result is None if the numbers are not counts of rare events. In such counts, 0 is at least as frequent
    as 1, and 1 at least as frequent as 2.
    """
    cells = y.to_numpy(dtype=float)
    if cells.min() < 0 or (cells != np.round(cells)).any() or cells.max() < 2:
        return None
    n_none, n_one, n_two = ((cells == k).sum() for k in range(3))
    mean, variance = float(cells.mean()), float(cells.var())
    return 1 - mean / variance if n_none >= n_one >= n_two and variance >= 0.9 * mean else None


def _ranks(values: pd.Series) -> Floats:
    """Return ranks of numbers, at most 1. Missing cells have rank 0."""
    return np.asarray((values.rank() / len(values)).fillna(0.0), dtype=np.float64)


def _as_cells(values: pd.Series) -> Floats:
    """Encode a column for trees, (n, 1): levels by frequency, dates as days, NaN for missing cells."""
    cells, _ = on_one_scale(values)
    if cells is None:
        codes = pd.factorize(values.astype("string"))[0]
        counts = np.bincount(codes[codes >= 0], minlength=1)
        rank_of_level = np.empty(len(counts))
        rank_of_level[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(len(counts)), _MAX_LEVELS)
        cells = np.where(codes >= 0, rank_of_level[codes], np.nan)
    return cells[:, None].astype(float)


def _share_of_shallow_tree(x: Floats, ranks: Floats, fold: Codes) -> float:
    """Return the share of the variance of held-out ranks that a shallow tree with one column explains."""
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(max_depth=4, min_samples_leaf=10, random_state=0)
    missing = np.isnan(x)
    imputed = np.column_stack([np.where(missing, 0.0, x), missing])
    return _share(ranks, _held_out(tree, imputed, ranks, fold))


def _predicted(columns: list[Floats], y: Floats, fold: Codes) -> Floats:
    """Return out-of-fold predictions by boosted trees on several columns."""
    # Few leaves and early stopping on held-out rows ensure that an uninformative column explains nothing.
    trees = boosted_trees(
        max_iter=60,
        max_leaf_nodes=8,
        # In a small table, a leaf must be small enough to isolate the few claims.
        min_samples_leaf=int(np.clip(len(y) // 200, 5, 30)),
        early_stopping=True,
        validation_fraction=0.2,
        n_iter_no_change=5,
        random_state=0,
    )
    return _held_out(trees, np.column_stack(columns), y, fold)


def _held_out(model: Any, x: Floats, y: Floats, fold: Codes) -> Floats:
    predicted = np.empty(len(y))
    for part in range(_FOLDS):
        test = fold == part
        # The trees raise an error for a constant column.
        varies = np.fmax.reduce(x[~test]) > np.fmin.reduce(x[~test])
        predicted[test] = y[~test].mean()
        if varies.any():
            predicted[test] = model.fit(x[~test][:, varies], y[~test]).predict(x[test][:, varies])
    return predicted


def _share(y: Floats, predicted: Floats) -> float:
    """Return the share of the variance that a prediction explains. It may be below 0."""
    return 1 - float(((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def _numbers_rows(values: pd.Series) -> bool:
    """Return whether a column contains distinct whole numbers with few gaps, as row numbers do."""
    if kind_of(values) not in ("number", "whole number") or values.isna().any() or not values.is_unique:
        return False
    cells = as_floats(values).to_numpy()
    # Unlike row numbers, amounts in whole units have wide gaps between them.
    return bool((cells == np.round(cells)).all() and np.ptp(cells) < 20 * len(cells))


def _averages(frame: pd.DataFrame, y: Floats, columns: list[str]) -> Iterator[Finding]:
    """Yield the columns that agree better with the target's averages in small groups than chance explains."""
    groups = [codes for name in frame.columns if (codes := _small_groups(frame[name])) is not None]
    for name in columns:
        if kind_of(frame[name]) != "number":
            continue
        cells = as_floats(frame[name]).to_numpy(dtype=float)
        share = _distance_from_averages(cells, y)
        if share is None and any(_is_leave_one_out_mean(cells, y, codes) for codes in groups):
            share = 0.0
        if share is not None:
            yield Finding(
                column=name,
                level=SUSPECT,
                sentence="it is closer to the target's averages over small groups of rows than "
                "chance explains. Check whether it was computed from the target of these rows",
                number=share,
            )


def _small_groups(values: pd.Series) -> Codes | None:
    """Return the group of each row, or None if a column's groups have more than 20 rows on average."""
    if kind_of(values) not in ("text", "whole number"):
        return None
    codes = pd.factorize(values)[0].astype(np.intp)
    groups = int(codes.max()) + 1
    return codes if groups >= _MIN_GROUPS and 1.5 < len(codes) / groups <= MAX_IN_GROUP else None


def _is_leave_one_out_mean(cells: Floats, y: Floats, codes: Codes) -> bool:
    """Return whether each cell is the average target of all other rows in the same group."""
    is_usable = (codes >= 0) & np.isfinite(cells)
    if is_usable.sum() < _MIN_GROUPS:
        return False
    codes, cells, y = codes[is_usable], cells[is_usable], y[is_usable]
    size = np.maximum(np.bincount(codes), 1).astype(float)
    of_column = (cells - (np.bincount(codes, cells) / size)[codes]) * (size[codes] - 1)
    of_target = y - (np.bincount(codes, y) / size)[codes]
    if of_column.std() == 0 or of_target.std() == 0:
        return False
    return bool(np.corrcoef(of_column, of_target)[0, 1] < -_SAME)


def _distance_from_averages(cells: Floats, y: Floats) -> float | None:
    """Return a column's distance from the target's averages, divided by the distance expected by chance.

    The rows with the same value of the column form a group. For a legitimate column, the target's group
    averages scatter around a line with a standard error, which is the standard deviation within a group
    divided by the root of the group's size. If the column contains the averages, there is no scatter. The
    result is None for a legitimate column.
    """
    finite = np.isfinite(cells)
    codes, levels = pd.factorize(cells[finite])
    if len(levels) < _MIN_DISTINCT_AVERAGES:
        return None
    known_target = y[finite]
    size = np.bincount(codes).astype(float)
    mean = np.bincount(codes, known_target) / size
    squared_deviations = np.bincount(codes, (known_target - mean[codes]) ** 2)
    # Small groups of counts often have the same average, a simple fraction. They then look like one large
    # group.
    fractions = _are_fractions(np.asarray(levels, dtype=float)) and bool(
        (known_target == np.round(known_target)).all()
    )
    is_small_group = (size >= 2) & ((size <= MAX_IN_GROUP) | fractions)
    n_varied = int((squared_deviations[is_small_group] > 0).sum())
    has_few_groups = n_varied < _MIN_GROUPS
    if n_varied < (_MIN_DISTINCT_AVERAGES if fractions else _MIN_GROUPS):
        return None
    m, n, level = mean[is_small_group], size[is_small_group], np.asarray(levels, dtype=float)[is_small_group]
    if level.std() == 0:
        return None
    z = (level - level.mean()) / level.std()
    # If a constant k shrinks averages towards the overall mean, the line for groups of n rows has slope 1 + k
    # / n.
    regressors = [np.ones_like(z), z] if has_few_groups else [np.ones_like(z), z, 1 / n, z / n]
    design = np.column_stack(regressors) * np.sqrt(n)[:, None]
    beta, *_ = np.linalg.lstsq(design, m * np.sqrt(n), rcond=None)
    squared_distances = (m * np.sqrt(n) - design @ beta) ** 2 * len(m) / (len(m) - design.shape[1])
    # `squared_distances` and `expected` estimate the variance of a row from the same groups, so a large
    # amount increases both.
    expected = squared_deviations[is_small_group] / (n - 1)
    too_close = expected - squared_distances
    share = float(squared_distances.sum() / expected.sum())
    is_significant = float(too_close.sum() / np.sqrt((too_close**2).sum())) > _MIN_Z
    return share if (share < _TOO_CLOSE and is_significant and not has_few_groups) or share < _EXACT else None


def _are_fractions(levels: Floats) -> bool:
    """Return whether more than 90 % of the numbers are fractions with a denominator of at most 20.

    Numbers that are rounded to four or more decimals are accepted, because two different fractions of this
    kind differ by at least 1/380.
    """
    denominators = np.arange(1, MAX_IN_GROUP + 1)
    nearest = np.round(levels[:, None] * denominators) / denominators
    return float((np.abs(levels[:, None] - nearest) < 5.1e-5).any(axis=1).mean()) > 0.9
