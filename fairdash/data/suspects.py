"""Features that look too good to be true: suspected of giving the target away, and only warned of.

No name is looked at. On rows that trees did not learn from, a column is suspect if it alone explains most of
the target's order, and if the others speak against it as a cause. Where the target is made of a column and of
others, y = f + b x + noise, the others tell of the column once the target is known: a large y of a small f
has a large x. Where the column was made from the target they tell nothing of it that the target does not, and
foretell the target better than the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.column_profile import NUMBERS, as_floats, kind_of
from fairdash.data.fixes import typed_dates

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

#: Rows that trees are grown on and judged on: more would not make a leak plainer.
MOST_ROWS = 8000
_FEWEST_ROWS = 300
_MOST_LEVELS = 100
_FOLDS = 2
#: A column alone explains so much of the order of the target, and so much of what all explain.
_MUCH, _MOST = 0.3, 0.7
#: The others together explain less than all do, by so much; links among causes can hide what they say of one
#: another, and where the others know nearly as much nothing is remarkable. But for a column like a copy.
_LESS = 0.9
#: Once the target is known they tell of a cause as much as this formula says, and of what was made from the
#: target nothing: below this share of it they speak against a cause.
_AGAINST = 0.2
_TOLD_AT_MOST = 0.5
_NOTHING = 0.02
#: Nothing honest explains so much where the others say nothing at all, neither alone nor beside it.
_ALONE = 0.95
#: Of a target that is mostly 0, such as claims, no honest column explains nearly as much: the more zeros, the
#: less, from .55 where they are half of the rows to a quarter.
_MANY_ZEROS, _MUCH_OF_ZEROS, _ALONE_OF_ZEROS = 0.5, 0.15, 0.25
#: Candidates that are looked at closely.
_CLOSELY = 4

#: A group of an average has so many rows at the most.
MOST_IN_GROUP = 20
_FEWEST_GROUPS = 30
#: Averages of the target miss a column by this share of what chance makes them, and no honest column's less.
_TOO_CLOSE = 0.5
_EXACT = 1e-4
_SAME = 0.99
#: Standard errors by which that is sure: a chance below 1e-6.
_SURELY = 4.9
#: Numbers of rows that explain so much of the target tell how the file was sorted.
_SORTED = 0.15

TOO_GOOD, SORTED_IDS, AVERAGES = "too good", "sorted ids", "averages"


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A column that looks too good to be true.

    Parameters
    ----------
    column
        Its name.
    kind
        ``"too good"``, ``"sorted ids"`` or ``"averages"``.
    sentence
        Why, and what to look at.
    number
        Share of the variance of the target's ranks that it alone explains on rows left out; of averages, how
        far they miss it as a share of what chance makes them miss it.
    """

    column: str
    kind: str
    sentence: str
    number: float


def find_suspects(
    frame: pd.DataFrame, target: str, columns: Iterable[str], *, beside: Iterable[str] = ()
) -> tuple[Suspect, ...]:
    """The columns that look too good to be true, the strongest first.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names.
    target
        A column of it, of numbers.
    columns
        Those that may be suspect.
    beside
        Further ones that explain the target honestly, such as a sensitive column.
    """
    columns = list(columns)
    if kind_of(frame[target]) not in NUMBERS or not columns:
        return ()
    y = as_floats(frame[target])
    known = np.isfinite(y.to_numpy())
    if known.sum() < _FEWEST_ROWS or y[known].nunique() < 2:
        return ()
    if not known.all():
        frame, y = frame[known], y[known]
    others = [name for name in dict.fromkeys(beside) if name not in columns]
    found: dict[str, Suspect] = {}
    for each in (*_averages(frame, y.to_numpy(), columns), *_too_good(frame, y, columns, others)):
        found.setdefault(each.column, each)
    return tuple(found.values())


def _too_good(frame: pd.DataFrame, y: pd.Series, columns: list[str], beside: list[str]) -> Iterator[Suspect]:
    rng = np.random.default_rng(0)
    rows = np.arange(len(frame))
    if len(rows) > MOST_ROWS:
        rows = np.sort(rng.choice(len(rows), MOST_ROWS, replace=False))
    ranks = _ranks(y.iloc[rows])
    if np.ptp(ranks) == 0:
        return
    fold = rng.permutation(len(rows)) % _FOLDS
    x = {name: _as_cells(frame[name].iloc[rows]) for name in [*columns, *beside]}
    alone = {name: _shallow(x[name], ranks, fold) for name in columns}
    named = [name for name in columns if _numbers_rows(frame[name])]
    for name in named:
        if alone[name] >= _SORTED:
            yield Suspect(
                column=name,
                kind=SORTED_IDS,
                sentence=f"it numbers the rows and alone explains {_percent(alone[name])} of the target's "
                "order; look whether the file was sorted or put together by what came of the rows",
                number=alone[name],
            )
    zeros = float((y == 0).mean())
    much, too_much = _MUCH, _ALONE
    if zeros >= _MANY_ZEROS:
        much, too_much = _MUCH_OF_ZEROS, max(_ALONE_OF_ZEROS, _MANY_ZEROS + 0.55 - zeros)
    strong = sorted(
        (name for name in columns if name not in named and alone[name] >= much),
        key=alone.__getitem__,
    )
    if not strong:
        return
    strong = strong[::-1][:_CLOSELY]
    trees = _Trees(ranks, fold, too_much)
    of_all = trees.explain([x[name] for name in x if name not in named])
    for name in strong:
        own = max(alone[name], trees.explain([x[name]]))
        if own < _MOST * of_all:
            continue
        rest = [x[each] for each in x if each not in (name, *named)]
        without = max(trees.explain(rest), 0.0) if rest else 0.0
        together = max(of_all, own)
        if trees.speak_against(x[name], rest, own, without, together):
            yield Suspect(
                column=name,
                kind=TOO_GOOD,
                sentence=f"it alone explains {_percent(own)} of the target's order, with the others "
                f"{_percent(together)}, and these without it {_percent(without)}; look whether it is known "
                "before the target is",
                number=own,
            )


@dataclass(frozen=True)
class _Trees:
    """Boosted trees, each judged on rows that it did not learn from."""

    ranks: Floats
    fold: Codes
    #: What is too much for one column beside others that say nothing.
    too_much: float

    def explain(self, columns: list[Floats], ranks: Floats | None = None) -> float:
        """Share of the variance of ranks, by default the target's, that columns explain."""
        return _explained(columns, self.ranks if ranks is None else ranks, self.fold)

    def told(self, f: Floats, others: list[Floats]) -> float:
        """How much of what the target leaves open of a column others tell, 0 to 1; below 0 by chance."""
        own = _ranks(pd.Series(f[:, 0]))
        y = self.ranks[:, None]
        by_target = self.explain([y], own)
        return (self.explain([y, *others], own) - by_target) / max(1 - by_target, 1e-9)

    def speak_against(
        self, f: Floats, rest: list[Floats], own: float, without: float, together: float
    ) -> bool:
        """Whether the others say that a column was made from the target, rather than the target from it."""
        if not rest or (without > _LESS * together and own < _ALONE):
            return False
        if without < _NOTHING and (together - own) / max(1 - own, 1e-9) < _NOTHING:
            return own >= self.too_much
        # Others that work through the column foretell it better than what comes of it.
        if self.explain(rest, _ranks(pd.Series(f[:, 0]))) > without:
            return False
        # Of y = f + b x + noise with shares F and B of the variance: F B / ((1 - F) (1 - B)).
        expected = own * without / max((1 - own) * (1 - without), 1e-9)
        return expected > _NOTHING and self.told(f, rest) < _AGAINST * min(expected, _TOLD_AT_MOST)


def _ranks(values: pd.Series) -> Floats:
    """From 0, for what is missing, to 1."""
    return np.asarray((values.rank() / len(values)).fillna(0.0), dtype=np.float64)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _as_cells(values: pd.Series) -> Floats:
    """A column for trees, shape (n, 1): levels by how common they are, dates as days, NaN where missing."""
    dates = typed_dates(values) if kind_of(values) in ("date", "text") else None
    if dates is not None:
        cells = ((dates - pd.Timestamp(1970, 1, 1)).dt.total_seconds() / 86400).to_numpy(dtype=float)
    elif kind_of(values) in NUMBERS:
        cells = as_floats(values).to_numpy()
        cells = np.where(np.isfinite(cells), cells, np.nan)
    else:
        codes = pd.factorize(values.astype("string"))[0]
        counts = np.bincount(codes[codes >= 0], minlength=1)
        place = np.empty(len(counts))
        place[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(len(counts)), _MOST_LEVELS)
        cells = np.where(codes >= 0, place[codes], np.nan)
    return cells[:, None].astype(float)


def _shallow(x: Floats, ranks: Floats, fold: Codes) -> float:
    """Share of the variance of ranks that a shallow tree of one column explains on rows left out."""
    from sklearn.tree import DecisionTreeRegressor

    def tree() -> DecisionTreeRegressor:
        return DecisionTreeRegressor(max_depth=4, min_samples_leaf=10, random_state=0)

    missing = np.isnan(x)
    return _held_out(tree, np.column_stack([np.where(missing, 0.0, x), missing]), ranks, fold)


def _explained(columns: list[Floats], ranks: Floats, fold: Codes) -> float:
    """The same by boosted trees of several columns."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    def trees() -> HistGradientBoostingRegressor:
        return HistGradientBoostingRegressor(
            max_iter=60, max_leaf_nodes=15, min_samples_leaf=15, early_stopping=False, random_state=0
        )

    return _held_out(trees, np.column_stack(columns), ranks, fold)


def _held_out(make: object, x: Floats, ranks: Floats, fold: Codes) -> float:
    error = 0.0
    for part in range(_FOLDS):
        test = fold == part
        model = make().fit(x[~test], ranks[~test])  # type: ignore[operator]
        error += float(((ranks[test] - model.predict(x[test])) ** 2).sum())
    return 1 - error / float(((ranks - ranks.mean()) ** 2).sum())


def _numbers_rows(values: pd.Series) -> bool:
    """Whether a column holds whole numbers, each once, as a row's number does."""
    if kind_of(values) not in ("number", "whole number") or values.isna().any() or not values.is_unique:
        return False
    cells = as_floats(values).to_numpy()
    # Amounts that happen to be whole leave wide gaps; numbers of rows leave few.
    return bool((cells == np.round(cells)).all() and np.ptp(cells) < 20 * len(cells))


def _averages(frame: pd.DataFrame, y: Floats, columns: list[str]) -> Iterator[Suspect]:
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
            yield Suspect(
                column=name,
                kind=AVERAGES,
                sentence="it follows the target's averages over small groups of rows more closely than "
                "chance allows; look whether it was made from the target of these very rows",
                number=share,
            )


def _small_groups(values: pd.Series) -> Codes | None:
    """Which group each row is in, if a column names small ones, of 20 rows at most on average."""
    if kind_of(values) not in ("text", "whole number"):
        return None
    codes = pd.factorize(values)[0].astype(np.intp)
    groups = int(codes.max()) + 1
    return codes if groups >= _FEWEST_GROUPS and 1.5 < len(codes) / groups <= MOST_IN_GROUP else None


def _without_the_row(cells: Floats, y: Floats, codes: Codes) -> bool:
    """Whether a column is the average of a row's group without the row: it falls as its target rises."""
    fine = (codes >= 0) & np.isfinite(cells)
    codes, cells, y = codes[fine], cells[fine], y[fine]
    size = np.maximum(np.bincount(codes), 1).astype(float)
    own = (cells - (np.bincount(codes, cells) / size)[codes]) * (size[codes] - 1)
    of_target = y - (np.bincount(codes, y) / size)[codes]
    if own.std() == 0 or of_target.std() == 0:
        return False
    return bool(np.corrcoef(own, of_target)[0, 1] < -_SAME)


def _misses_averages(cells: Floats, y: Floats) -> float | None:
    """How far averages of the target miss a column, as a share of what chance makes them; None if by enough.

    A group is the rows of one value. Averages of a honest column's rows scatter about what it says by the
    scatter within groups over the root of their size; those that it was made from do not.
    """
    finite = np.isfinite(cells)
    codes, levels = pd.factorize(cells[finite])
    if len(levels) < _FEWEST_GROUPS:
        return None
    of = y[finite]
    size = np.bincount(codes).astype(float)
    mean = np.bincount(codes, of) / size
    square = np.bincount(codes, (of - mean[codes]) ** 2)
    # Groups of counts often share an average: as a fraction it says itself that they are small.
    fractions = _are_fractions(np.asarray(levels, dtype=float)) and bool((of == np.round(of)).all())
    small = (size >= 2) & ((size <= MOST_IN_GROUP) | fractions)
    if small.sum() < _FEWEST_GROUPS or (square[small] > 0).sum() < _FEWEST_GROUPS:
        return None
    m, n, level = mean[small], size[small], np.asarray(levels, dtype=float)[small]
    if level.std() == 0:
        return None
    z = (level - level.mean()) / level.std()
    # An average drawn towards the whole is a line of slope 1 + k / n in it.
    design = np.column_stack([np.ones_like(z), z, 1 / n, z / n]) * np.sqrt(n)[:, None]
    beta, *_ = np.linalg.lstsq(design, m * np.sqrt(n), rcond=None)
    misses = (m * np.sqrt(n) - design @ beta) ** 2 * len(m) / (len(m) - design.shape[1])
    # In each group both are the variance of a row, whatever the law: a single large amount weighs the same.
    expected = square[small] / (n - 1)
    too_close = expected - misses
    share = float(misses.sum() / expected.sum())
    sure = float(too_close.sum() / np.sqrt((too_close**2).sum())) > _SURELY
    return share if (share < _TOO_CLOSE and sure) or share < _EXACT else None


def _are_fractions(levels: Floats) -> bool:
    """Whether nearly all numbers are fractions of whole numbers, below the line 20 at most."""
    times = levels[:, None] * np.arange(1, MOST_IN_GROUP + 1)
    return float((np.abs(times - np.round(times)) < 1e-7).any(axis=1).mean()) > 0.9
