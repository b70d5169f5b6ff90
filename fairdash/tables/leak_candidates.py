"""Warn of features that look too good to be true and may reveal the target.

Names have no effect. A column that explains much of the target's order on held-out rows is suspect if the
other columns contradict it as a cause. If the target depends on a column x and on others, y = f + b x +
noise, the others predict x given the target: a large y with a small f has a large x. If the column was
derived from the target, the others add nothing to what the target predicts about it. If the others are
uninformative about the target, its remainder and the column, the two cases look alike, and a column is
suspect if it explains more than honest columns do. For counts, no cause can explain more than the variation
beyond a Poisson distribution.
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
from fairdash.tables.fixes import on_a_line
from fairdash.utils.text import percent
from fairdash.utils.trees import boosted_trees

_percent = partial(percent, decimals=0)

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Shares = tuple[float, float, float]

#: Rows that trees are grown on and judged on: more would not make a leak plainer.
MAX_ROWS = 8000
_MIN_ROWS = 300
_MAX_LEVELS = 100
_FOLDS = 2
#: Share of the target's order that a column explains by itself, at least, and its share of what all columns
#: explain.
_MUCH, _MOST = 0.3, 0.7
#: Given the target, other columns still predict a cause as well as the formula says, but not a column made
#: from the target. A share below this one, and a value below this one, contradict a cause. If the formula
#: predicts next to nothing, the test is skipped.
_AGAINST, _TOLD_AT_MOST, _TOLD_AT_LEAST = 0.1, 0.5, 0.05
_NOTHING = 0.02
#: Other columns predict a cause on their path better than they predict the target, by at least this much.
_THROUGH = 0.005
#: If the other columns explain nothing, no honest column explains this much.
_ALONE = 0.75
#: If the target is mostly 0, such as claims, no honest column explains nearly as much: at most .55 if half of
#: the rows are 0, and a quarter if almost all are. Beside others that explain something, the limit is this
#: much higher.
_MANY_ZEROS, _MUCH_OF_ZEROS, _ALONE_OF_ZEROS, _BESIDE_OTHERS = 0.5, 0.15, 0.25, 0.2
#: If a column and the others explain little separately, but nearly everything together, the column was
#: computed from the target and the others.
_NEARLY_ALL, _ONLY_TOGETHER = 0.9, 0.2
#: For counts, the gain beyond chance must be at least this, and this number of standard errors.
_ABOVE_CHANCE, _ERRORS = 0.1, 3.0
#: Candidates that are looked at closely.
_CLOSELY = 4

#: A group of an average has so many rows at the most.
MAX_IN_GROUP = 20
_MIN_GROUPS = 30
#: Groups of one size have few possible averages of counts; these must be met exactly.
_MIN_FRACTIONS = 6
#: The distance of group averages of the target from a column is at most this share of what chance gives. It
#: is larger for honest columns.
_TOO_CLOSE = 0.5
_EXACT = 1e-4
_SAME = 0.99
#: Standard errors that make this certain: a chance below 1e-6.
_SURELY = 4.9
#: Row numbers that explain this share of the target show how the file was sorted.
_SORTED = 0.15

CERTAIN: Literal["certain"] = "certain"
SUSPECT: Literal["suspect"] = "suspect"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Column that gives the target or the price away, or may do so.

    Parameters
    ----------
    column
        Its name.
    level
        ``"certain"``: it is left out unless the user restores it; ``"suspect"``: there is only a warning.
    sentence
        Explanation, or advice on what to check.
    number
        For a certain leak, the number of rows checked. For a suspect, the share of the variance of the
        target's ranks that it alone explains on held-out rows, at most 1. For averages, their distance from
        the target's averages, divided by the distance expected by chance.
    of
        Revealed column: ``"target"`` or ``"price"``.
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
    beside: Iterable[str] = (),
    group: str | None = None,
) -> tuple[Finding, ...]:
    """Return the columns that look too good to be true, the strongest first.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names.
    target
        A numeric column.
    columns
        Columns that may be suspect.
    beside
        Further columns that legitimately explain the target, such as a sensitive column.
    group
        Column whose rows of one value, such as a policy, are held out together.
    """
    columns = list(columns)
    if kind_of(frame[target]) not in NUMBERS or not columns:
        return ()
    y = as_floats(frame[target])
    known = np.isfinite(y.to_numpy())
    if known.sum() < _MIN_ROWS or y[known].nunique() < 2:
        return ()
    if not known.all():
        frame, y = frame[known], y[known]
    others = [name for name in dict.fromkeys(beside) if name not in columns]
    suspects: dict[str, Finding] = {}
    groups = None if group is None else frame[group]
    for each in (*_averages(frame, y.to_numpy(), columns), *_too_good(frame, y, columns, others, groups)):
        suspects.setdefault(each.column, each)
    return tuple(suspects.values())


def _too_good(
    frame: pd.DataFrame, y: pd.Series, columns: list[str], beside: list[str], groups: pd.Series | None
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
    x = {name: _as_cells(frame[name].iloc[rows]) for name in [*columns, *beside]}
    alone = {name: _shallow(x[name], ranks, fold) for name in columns}
    named = [name for name in columns if _numbers_rows(frame[name])]
    for name in named:
        if alone[name] >= _SORTED:
            yield Finding(
                column=name,
                level=SUSPECT,
                sentence=f"it numbers the rows and alone explains {_percent(alone[name])} of the target's "
                "order. Check whether the file was sorted or assembled by outcome",
                number=alone[name],
            )
    zeros = float((y == 0).mean())
    many = zeros >= _MANY_ZEROS
    much = _MUCH_OF_ZEROS if many else _MUCH
    strong = [name for name in columns if name not in named and alone[name] >= much]
    strong = sorted(strong, key=alone.__getitem__, reverse=True)[:_CLOSELY]
    if not strong:
        return
    cells = {name: x[name] for name in x if name not in named}
    too_much = max(_ALONE_OF_ZEROS, _MANY_ZEROS + 0.55 - zeros) if many else _ALONE
    trees = _Trees(ranks, fold, too_much, many)
    of_all: float | None = None
    at_most = _open_to_causes(y)
    counts = y.iloc[rows].to_numpy(dtype=float)
    for name in strong:
        f, rest = cells[name], [cells[each] for each in cells if each != name]
        of_all = trees.explain([f, *rest]) if of_all is None else of_all
        shares = trees.look(f, rest, alone[name], of_all)
        own, without, together = map(_percent, shares)
        why = f"it alone explains {own} of the target's order"
        if rest:
            why += f", with the others {together}, and these without it {without}"
        if not trees.speak_against(f, rest, shares):
            if at_most is None or not trees.beat_chance(f, rest, counts, at_most):
                continue
            why += (
                f", although chance leaves only {_percent(max(at_most, 0.0))} of such counts to be explained"
            )
        yield Finding(
            column=name,
            level=SUSPECT,
            sentence=f"{why}. Check whether it is known before the target",
            number=shares[0],
        )
        # Weaker suspects are tested without this column, which knows the target as they do and would hide
        # other evidence.
        del cells[name]
        of_all = None


class _Trees(NamedTuple):
    """Boosted trees, each evaluated on held-out rows."""

    ranks: Floats
    fold: Codes
    #: Limit for one column beside others that explain nothing.
    too_much: float
    many_zeros: bool

    def explain(self, columns: list[Floats], y: Floats | None = None) -> float:
        """Share of the variance of numbers, by default the target's ranks, that columns explain."""
        y = self.ranks if y is None else y
        return _share(y, _predicted(columns, y, self.fold)) if columns else 0.0

    def explain_rest(self, columns: list[Floats], y: Floats, known: Floats) -> float:
        """Return the share that columns explain of the residuals given a known column."""
        return self.explain(columns, y - _predicted([known], y, self.fold))

    def look(self, f: Floats, rest: list[Floats], alone: float, of_all: float) -> Shares:
        """Share of the target's order explained by a column, by the others, and by all."""
        own = max(alone, self.explain([f]), 0.0)
        return own, max(self.explain(rest), 0.0), max(of_all, own)

    def speak_against(self, f: Floats, rest: list[Floats], found: Shares) -> bool:
        """Return whether a column seems to be made from the target, rather than the target from it."""
        own, without, together = found
        if self.many_zeros and max(own, together - without) >= self.too_much + _BESIDE_OTHERS:
            return True
        if together >= _NEARLY_ALL and together - own - without >= _ONLY_TOGETHER:
            return True
        if own < _MOST * together:
            return False
        ranks = _ranks(pd.Series(f[:, 0]))
        told = self.explain_rest(rest, ranks, self.ranks[:, None])
        # For y = f + b x + noise with shares F and B of the variance: F B / ((1 - F) (1 - B)).
        expected = own * without / max((1 - own) * (1 - without), 1e-9)
        if expected < _TOLD_AT_LEAST or without < _NOTHING:
            left = self.explain_rest(rest, self.ranks, f)
            return own >= self.too_much and max(told, left, without) < _NOTHING
        if told >= _AGAINST * min(expected, _TOLD_AT_MOST):
            return False
        # Other columns that act through a cause predict it better than its consequences.
        return self.explain(rest, ranks) <= without + _THROUGH

    def beat_chance(self, f: Floats, rest: list[Floats], counts: Floats, at_most: float) -> bool:
        """Return whether counts are explained better than any cause can, and only with a column."""
        limit = at_most + max(_ABOVE_CHANCE, _ERRORS * np.sqrt(2 / len(counts)))
        if self.explain([f], counts) > limit:
            return True
        return self.explain([f, *rest], counts) > limit > self.explain(rest, counts) + _ABOVE_CHANCE / 2


def _open_to_causes(y: pd.Series) -> float | None:
    """Share of the variance of counts that causes can explain, after the variation of a Poisson distribution.

    None if the numbers do not look like counts of rare events, whose larger values are rarer.
    """
    cells = y.to_numpy(dtype=float)
    if cells.min() < 0 or (cells != np.round(cells)).any() or cells.max() < 2:
        return None
    none, one, two = ((cells == k).sum() for k in range(3))
    mean, variance = float(cells.mean()), float(cells.var())
    return 1 - mean / variance if none >= one >= two and variance >= 0.9 * mean else None


def _ranks(values: pd.Series) -> Floats:
    """From 0, for missing cells, to 1."""
    return np.asarray((values.rank() / len(values)).fillna(0.0), dtype=np.float64)


def _as_cells(values: pd.Series) -> Floats:
    """A column for trees, shape (n, 1): levels by frequency, dates as days, NaN for missing cells."""
    cells, _ = on_a_line(values)
    if cells is None:
        codes = pd.factorize(values.astype("string"))[0]
        counts = np.bincount(codes[codes >= 0], minlength=1)
        place = np.empty(len(counts))
        place[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(len(counts)), _MAX_LEVELS)
        cells = np.where(codes >= 0, place[codes], np.nan)
    return cells[:, None].astype(float)


def _shallow(x: Floats, ranks: Floats, fold: Codes) -> float:
    """Share of the variance of ranks that a shallow tree of one column explains on held-out rows."""
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(max_depth=4, min_samples_leaf=10, random_state=0)
    missing = np.isnan(x)
    filled = np.column_stack([np.where(missing, 0.0, x), missing])
    return _share(ranks, _held_out(tree, filled, ranks, fold))


def _predicted(columns: list[Floats], y: Floats, fold: Codes) -> Floats:
    """Out-of-fold predictions of boosted trees on several columns."""
    # Few leaves, and no more trees than held-out rows support, so that a column without information explains
    # nothing.
    trees = boosted_trees(
        max_iter=60,
        max_leaf_nodes=8,
        # A leaf may be as small as the few claims of a small table.
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
        # Trees refuse a column that has no two values to part.
        varies = np.fmax.reduce(x[~test]) > np.fmin.reduce(x[~test])
        predicted[test] = y[~test].mean()
        if varies.any():
            predicted[test] = model.fit(x[~test][:, varies], y[~test]).predict(x[test][:, varies])
    return predicted


def _share(y: Floats, predicted: Floats) -> float:
    """Share of the variance that a prediction explains; below 0 if it is worse than the mean."""
    return 1 - float(((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def _numbers_rows(values: pd.Series) -> bool:
    """Return whether a column holds whole numbers, each once, like row numbers."""
    if kind_of(values) not in ("number", "whole number") or values.isna().any() or not values.is_unique:
        return False
    cells = as_floats(values).to_numpy()
    # Amounts that happen to be whole leave wide gaps; numbers of rows leave few.
    return bool((cells == np.round(cells)).all() and np.ptp(cells) < 20 * len(cells))


def _averages(frame: pd.DataFrame, y: Floats, columns: list[str]) -> Iterator[Finding]:
    """Columns that hold the target's average over small groups of rows, more closely than chance allows."""
    groups = [codes for name in frame.columns if (codes := _small_groups(frame[name])) is not None]
    for name in columns:
        if kind_of(frame[name]) != "number":
            continue
        cells = as_floats(frame[name]).to_numpy(dtype=float)
        share = _misses_averages(cells, y)
        if share is None and any(_without_the_row(cells, y, codes) for codes in groups):
            share = 0.0
        if share is not None:
            yield Finding(
                column=name,
                level=SUSPECT,
                sentence="it follows the target's averages over small groups of rows more closely than "
                "chance allows. Check whether it was computed from the target of these rows",
                number=share,
            )


def _small_groups(values: pd.Series) -> Codes | None:
    """Group of each row, if a column names small ones, of 20 rows at most on average."""
    if kind_of(values) not in ("text", "whole number"):
        return None
    codes = pd.factorize(values)[0].astype(np.intp)
    groups = int(codes.max()) + 1
    return codes if groups >= _MIN_GROUPS and 1.5 < len(codes) / groups <= MAX_IN_GROUP else None


def _without_the_row(cells: Floats, y: Floats, codes: Codes) -> bool:
    """Return whether a column is the average of a group without the row itself, which falls as the target
    rises.
    """
    fine = (codes >= 0) & np.isfinite(cells)
    if fine.sum() < _MIN_GROUPS:
        return False
    codes, cells, y = codes[fine], cells[fine], y[fine]
    size = np.maximum(np.bincount(codes), 1).astype(float)
    own = (cells - (np.bincount(codes, cells) / size)[codes]) * (size[codes] - 1)
    of_target = y - (np.bincount(codes, y) / size)[codes]
    if own.std() == 0 or of_target.std() == 0:
        return False
    return bool(np.corrcoef(own, of_target)[0, 1] < -_SAME)


def _misses_averages(cells: Floats, y: Floats) -> float | None:
    """Distance of the target's averages from a column, as a share of the distance by chance; None if it is
    not small.

    A group consists of the rows of one value. Averages over the groups of an honest column scatter about its
    values by the spread within groups divided by the root of their size. If the column was made from these
    averages, they do not.
    """
    finite = np.isfinite(cells)
    codes, levels = pd.factorize(cells[finite])
    if len(levels) < _MIN_FRACTIONS:
        return None
    of = y[finite]
    size = np.bincount(codes).astype(float)
    mean = np.bincount(codes, of) / size
    square = np.bincount(codes, (of - mean[codes]) ** 2)
    # Groups of counts often share an average: as a fraction it says itself that they are small.
    fractions = _are_fractions(np.asarray(levels, dtype=float)) and bool((of == np.round(of)).all())
    small = (size >= 2) & ((size <= MAX_IN_GROUP) | fractions)
    varied = int((square[small] > 0).sum())
    few = varied < _MIN_GROUPS
    if varied < (_MIN_FRACTIONS if fractions else _MIN_GROUPS):
        return None
    m, n, level = mean[small], size[small], np.asarray(levels, dtype=float)[small]
    if level.std() == 0:
        return None
    z = (level - level.mean()) / level.std()
    # An average drawn towards the whole is a line of slope 1 + k / n in it.
    parts = [np.ones_like(z), z] if few else [np.ones_like(z), z, 1 / n, z / n]
    design = np.column_stack(parts) * np.sqrt(n)[:, None]
    beta, *_ = np.linalg.lstsq(design, m * np.sqrt(n), rcond=None)
    misses = (m * np.sqrt(n) - design @ beta) ** 2 * len(m) / (len(m) - design.shape[1])
    # In each group both are the variance of a row, whatever the law: a single large amount weighs the same.
    expected = square[small] / (n - 1)
    too_close = expected - misses
    share = float(misses.sum() / expected.sum())
    sure = float(too_close.sum() / np.sqrt((too_close**2).sum())) > _SURELY
    return share if (share < _TOO_CLOSE and sure and not few) or share < _EXACT else None


def _are_fractions(levels: Floats) -> bool:
    """Return whether nearly all numbers are fractions of whole numbers with denominators of at most 20.

    They may be rounded to four decimals or more, because two such fractions are at least 1/380 apart.
    """
    below = np.arange(1, MAX_IN_GROUP + 1)
    nearest = np.round(levels[:, None] * below) / below
    return float((np.abs(levels[:, None] - nearest) < 5.1e-5).any(axis=1).mean()) > 0.9
