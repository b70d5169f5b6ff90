"""Features that look too good to be true: suspected of giving the target away, and only warned of.

No name is looked at. On rows that trees did not learn from, a column is suspect if it alone explains most of
the target's order, and if the others speak against it as a cause. What was made from the target takes up
what the others know: beside it they tell less than alone, y = f + b x leaves them more. And they foretell a
cause that carries them better than they foretell the target.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
_FEWEST_ROWS = 100
_MOST_LEVELS = 100
_FOLDS = 2
#: A column alone explains so much of the order of the target, and so much of what all explain.
_MUCH, _MOST = 0.3, 0.7
#: The others together must explain clearly less than all do.
_LESS = 0.85
#: Beside a column made from the target the others explain less of what is left than they do alone.
_TAKEN_UP = 0.6
_NOTHING = 0.02
#: Nothing honest explains so much where the others say nothing at all, neither alone nor beside it.
_ALONE = 0.5
#: Candidates that are looked at closely.
_CLOSELY = 4

#: A group of an average has so many rows at the most.
MOST_IN_GROUP = 20
_FEWEST_GROUPS = 30
#: Averages of the target miss a column by this share of what chance makes them, and no honest column's less.
_TOO_CLOSE = 0.5
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
    ranks = (y.iloc[rows].rank() / len(rows)).to_numpy()
    if np.ptp(ranks) == 0:
        return
    fold = rng.permutation(len(rows)) % _FOLDS
    x = {name: _as_cells(frame[name].iloc[rows]) for name in [*columns, *beside]}
    alone = {name: _shallow(x[name], ranks, fold) for name in columns}
    named = {name for name in columns if _numbers_rows(frame[name])}
    for name in named:
        if alone[name] >= _SORTED:
            yield Suspect(
                column=name,
                kind=SORTED_IDS,
                sentence=f"it numbers the rows, and alone explains {alone[name]:.0%} of the target's order: "
                "look whether the file was sorted or put together by what came of the rows",
                number=alone[name],
            )
    strong = sorted((name for name in columns if name not in named and alone[name] >= _MUCH), key=alone.get)
    if not strong:
        return
    strong = strong[::-1][:_CLOSELY]
    all_of_them = _explained([x[name] for name in x if name not in named], ranks, fold)
    for name in strong:
        own = max(alone[name], _explained([x[name]], ranks, fold))
        if own < _MOST * all_of_them:
            continue
        # Two that were made from the target hide each other.
        twins = [each for each in strong if each != name and alone[each] >= _MOST * all_of_them]
        for left_out in ([], twins) if twins else ([],):
            rest = [x[each] for each in x if each not in (name, *named, *left_out)]
            with_it = all_of_them if not left_out else _explained([x[name], *rest], ranks, fold)
            share = _made_from_target(x[name], rest, ranks, fold, own=own, together=max(with_it, own))
            if share is None:
                continue
            yield Suspect(
                column=name,
                kind=TOO_GOOD,
                sentence=f"it alone explains {own:.0%} of the target's order, all columns together "
                f"{max(with_it, own):.0%} and the others without it {max(share, 0.0):.0%}: too good to be "
                "true? Look whether it is known before the target is",
                number=own,
            )
            break


def _made_from_target(
    f: Floats, rest: list[Floats], ranks: Floats, fold: Codes, *, own: float, together: float
) -> float | None:
    """What the others explain without a column, if all looks as if that was made from the target; else None."""
    if not rest:
        return None
    without = max(_explained(rest, ranks, fold), 0.0)
    if without > _LESS * together:
        return None
    # Of what the column leaves, this is what the others explain.
    of_what_is_left = max(together - own, 0.0) / max(1.0 - own, 1e-9)
    if of_what_is_left > max(_TAKEN_UP * without, _NOTHING):
        return None
    if without < _NOTHING:
        return without if own >= _ALONE else None
    cells = f[:, 0]
    own_ranks = (pd.Series(cells).rank() / len(cells)).fillna(0.0).to_numpy()
    # Others that work through this column foretell it better than what comes of it.
    return without if max(_explained(rest, own_ranks, fold), 0.0) <= without else None


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
    for name in columns:
        if kind_of(frame[name]) != "number":
            continue
        cells = as_floats(frame[name]).to_numpy()
        share = _misses_averages(cells, y)
        if share is not None:
            yield Suspect(
                column=name,
                kind=AVERAGES,
                sentence="it follows the target's averages over small groups of rows more closely than chance "
                "allows: was it made from the target of these very rows?",
                number=share,
            )


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
    small = (size >= 2) & (size <= MOST_IN_GROUP)
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
    return share if share < _TOO_CLOSE and sure else None


def sentences(found: Iterable[Suspect]) -> Mapping[str, str]:
    """Column to sentence."""
    return {each.column: each.sentence for each in found}
