"""Detection of features that reveal the target because their values are known only after the target.

A certain leak has a pattern that a legitimate column can't have, neither by chance nor because it predicts
well. :mod:`fairdash.tables.leak_candidates` detects columns that only possibly reveal the target.

>>> amount = pd.Series([0.0, 0.0, 812.5, 0.0, 44.1, 0.0] * 60) * (1 + np.arange(360))
>>> claim = (amount > 0).astype(int)
>>> target_leak(claim, amount), target_leak(100 * amount, amount)
('it is 0 exactly where the target is 0', 'the target can be recovered from it')
>>> target_leak(amount.where(amount > 0), claim)
'it is missing exactly where the target is 0'
>>> target_leak(pd.Series(np.arange(360) % 7), amount) is None
True
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tables.column_profile import NUMBERS, as_floats, kind_of
from fairdash.tables.features import CHANCE, a_few, is_determined_by, is_function, same_order, varies
from fairdash.tables.fixes import can_convert
from fairdash.tables.grammar import to_numbers
from fairdash.tables.start_and_end import bounds_of_exposure
from fairdash.tables.sums import parts_of

TARGET_READ_OFF = "the target can be recovered from it"
SAME_ZEROS = "it is 0 exactly where the target is 0"
REVEALS_ZEROS = "it shows in every row whether the target is 0"
MISSING_WITH_ZERO = "it is missing exactly where the target is 0"
MISSING_WITHOUT_ZERO = "it is missing exactly where the target is not 0"
KNOWN_WITHOUT_ZERO = "it is known only where the target is not 0"
LACKS_WITHOUT_ZERO = "it is missing only where the target is not 0"
NOT_ZERO_WITHOUT_ZERO = "it is not 0 only where the target is not 0"
RARE_WITHOUT_ZERO = "it differs from its most common value only where the target is not 0"
MISSING_REVEALS = "its missing cells show whether the target is above or below a limit"
CLASSES = "it is the target, rounded or divided into classes"
BOUNDS = "it gives the start or the end of the exposure"

#: Maximum number of levels of a column that is checked for revealing the target's zeros. With more levels, a
#: legitimate column may also separate zeros from other values.
_FEW_LEVELS = 5
#: If a column reveals the target's zeros, zeros are rare where the column differs from its usual value. Their
#: share in these rows must be significantly below a third of their share in all rows.
_FEWER_ZEROS = 1 / 3
#: Maximum share of errors if known (or missing) cells reveal a nonzero target. An error is such a row with a
#: target of zero.
_MAX_ERROR_SHARE = 0.005
#: Maximum ratio of the gap between adjacent classes of the target to the gaps beside it.
_MAX_OF_NEIGHBOURS = 2.5
#: Maximum ratio of the gap between adjacent classes to the gaps within the classes.
_MAX_OF_CLASSES = 10
_NEIGHBOURS = 5
_MIN_IN_CLASS = 20
#: A column with the rounded target has at least `_MIN_STEPS` steps and `_MIN_ROUNDED` rows. A step is at
#: least `_FINER` times as large as the finest step of the target.
_MIN_STEPS, _MIN_ROUNDED, _FINER = 5, 100, 5
#: Unlike other noise, rounding errors are uniform over exactly one step. Their range must be at least a share
#: `_WHOLE_STEP` of a step, and the distance of their distribution from the uniform distribution below
#: `_MAX_DISTANCE`.
_WHOLE_STEP, _MAX_DISTANCE = 0.95, 0.1
#: Minimum correlation of a rounded target with the target, in a quick check of a few rows.
_MIN_CORRELATION = 0.8

#: Cache of results, with hashes of cells as keys. It saves time because role suggestions, leak checks and new
#: data sets check the same table.
_CACHE: dict[tuple[bytes, bytes, bytes | None], str | None] = {}
_MAX_CACHED = 5000

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def target_leak(feature: pd.Series, target: pd.Series, *, exposure: pd.Series | None = None) -> str | None:
    """Explain how a feature reveals the target. Return None if it does not.

    A feature reveals the target if the target can be recovered from the feature, or if the feature is a
    coarser version of the target. A feature also reveals the target's zeros if they coincide with its zeros,
    its missing cells or another value in more rows than chance explains (see
    :func:`~fairdash.tables.features.is_determined_by`).

    Parameters
    ----------
    feature : Series, shape (n,)
        Any column of a table.
    target : Series, shape (n,)
        Target. Rows with a missing or infinite target are ignored. If the target is not numeric, the result
        is None.
    exposure : Series, shape (n,), optional
        Column by which the target may have been divided or multiplied. Copies of the target before this
        operation are also detected.
    """
    if kind_of(target) not in NUMBERS or kind_of(feature) == "other":
        return None
    y = as_floats(target)
    is_finite = np.isfinite(y.to_numpy())
    y, f = y[is_finite].reset_index(drop=True), feature[is_finite].reset_index(drop=True)
    if can_convert(f):
        f = to_numbers(f)
    if not varies(y) or not varies(f):
        return None
    reason = _how_zeros_are_revealed(f, y)
    # Leaks of the complete target are checked first, because they are more serious than leaks of its zeros.
    reveals_zeros = reason in (REVEALS_ZEROS, SAME_ZEROS)
    if (reason is None or reveals_zeros) and (is_determined_by(f, y) or _orders_alike(f, y)):
        return TARGET_READ_OFF
    if reason is None and (_is_cut(f, y) or _is_cut(y, f) or _is_rounded(f, y)):
        return CLASSES
    if reason is None and f.isna().any() and _is_cut(f.isna().astype(float), y):
        return MISSING_REVEALS
    if reason is None and exposure is not None and kind_of(exposure) in NUMBERS and kind_of(f) in NUMBERS:
        w = as_floats(exposure)[is_finite].reset_index(drop=True)
        w = w.where(w > 0)
        if varies(w.dropna()) and (_orders_alike(f, y / w) or _orders_alike(f, y * w)):
            return TARGET_READ_OFF
    return reason


def certain_leaks(
    frame: pd.DataFrame, target: str, columns: Iterable[str], *, exposure: str | None = None
) -> dict[str, str]:
    """Return a map from the columns that certainly reveal the target to explanations.

    The result includes columns with the start or end of the exposure, and columns that add up to the target
    (:mod:`fairdash.tables.sums`).

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names.
    target, exposure
        Names of the columns with these roles.
    columns
        Names of the columns to check.
    """
    columns = list(columns)
    w = None if exposure is None else frame[exposure]
    leaks = {}
    if kind_of(frame[target]) in NUMBERS:
        of_roles = (_digest(frame[target]), None if w is None else _digest(w))
        for name in columns:
            # Columns of other objects are not checked, because the objects may not be hashable.
            if kind_of(frame[name]) == "other":
                continue
            key = (_digest(frame[name]), *of_roles)
            if key not in _CACHE:
                while len(_CACHE) >= _MAX_CACHED:
                    _CACHE.pop(next(iter(_CACHE)), None)
                _CACHE[key] = target_leak(frame[name], frame[target], exposure=w)
            if (reason := _CACHE[key]) is not None:
                leaks[name] = reason
        unexplained = [name for name in columns if name not in leaks]
        leaks |= parts_of(frame, target, unexplained, exposure=exposure, n_min=2)
    if exposure is not None:
        for name in bounds_of_exposure(frame, exposure, [name for name in columns if name not in leaks]):
            leaks[name] = BOUNDS
    return {name: leaks[name] for name in columns if name in leaks}


def _digest(values: pd.Series) -> bytes:
    """Return a hash of a column's type and of its cells in their order."""
    cells = pd.util.hash_pandas_object(values, index=False).to_numpy()
    return hashlib.sha256(f"{values.dtype}\n".encode() + cells.tobytes()).digest()


def _how_zeros_are_revealed(f: pd.Series, y: pd.Series) -> str | None:
    """Describe how a column's values or missing cells reveal the target's zeros, or return None."""
    zero = (y == 0).to_numpy()
    if zero.all() or not zero.any():
        return None
    codes, levels = pd.factorize(f, use_na_sentinel=False)
    with_zero = np.bincount(codes[zero], minlength=len(levels))
    with_nonzero = np.bincount(codes[~zero], minlength=len(levels))
    missing = np.asarray(levels.isna(), dtype=bool)
    is_zero = _are_zero(levels)
    if not (with_zero * with_nonzero).any():
        of_zero, of_others = with_zero > 0, with_nonzero > 0
        min_rows = min(int(of_zero.sum()), int(of_others.sum()))
        chance = _log_choose(len(levels), min_rows) - _log_choose(len(y), int(zero.sum()))
        if min_rows <= _FEW_LEVELS and chance < np.log(CHANCE):
            if (of_zero == missing).all():
                return MISSING_WITH_ZERO
            if (of_others == missing).all():
                return MISSING_WITHOUT_ZERO
            return SAME_ZEROS if is_zero.any() and (of_zero == is_zero).all() else REVEALS_ZEROS
    share = float(zero.mean())
    if share < 0.5:
        return None
    if missing.any() and _only_without_zero(
        with_zero, with_nonzero, missing, share, error_share=_MAX_ERROR_SHARE
    ):
        return KNOWN_WITHOUT_ZERO
    if missing.any() and _only_without_zero(
        with_zero, with_nonzero, ~missing, share, error_share=_MAX_ERROR_SHARE
    ):
        return LACKS_WITHOUT_ZERO
    most_frequent = np.zeros(len(levels), dtype=bool)
    most_frequent[np.argmax(with_zero + with_nonzero)] = True
    if not _only_without_zero(with_zero, with_nonzero, most_frequent, share, error_share=0.0):
        return None
    return NOT_ZERO_WITHOUT_ZERO if (most_frequent == is_zero).all() else RARE_WITHOUT_ZERO


def _are_zero(levels: pd.Index) -> NDArray[np.bool_]:
    if kind_of(pd.Series(levels)) not in NUMBERS:
        return np.zeros(len(levels), dtype=bool)
    cells: Floats = as_floats(pd.Series(levels)).to_numpy()
    return cells == 0


def _only_without_zero(
    with_zero: Codes, without_zero: Codes, other_zero: NDArray[np.bool_], share: float, *, error_share: float
) -> bool:
    """Return whether the target is nonzero in all rows with levels outside `other_zero`, with few errors."""
    from scipy.stats import binom

    n_errors, n = int(with_zero[~other_zero].sum()), int((with_zero + without_zero)[~other_zero].sum())
    return (
        n > 0 and n_errors <= error_share * n and float(binom.cdf(n_errors, n, share * _FEWER_ZEROS)) < CHANCE
    )


def _orders_alike(f: pd.Series, y: pd.Series) -> bool:
    """Return whether a column and the target order rows alike, except rows with the most frequent target."""
    if kind_of(f) not in NUMBERS:
        return False
    x = as_floats(f)
    is_known = np.isfinite(x.to_numpy()) & np.isfinite(y.to_numpy())
    if is_known.any():
        counts = y[is_known].value_counts()
        if counts.iloc[0] > 0.01 * is_known.sum():
            is_known &= (y != counts.index[0]).to_numpy()
    if is_known.sum() < _MIN_IN_CLASS:
        return False
    return same_order(x[is_known].reset_index(drop=True), y[is_known].reset_index(drop=True))


def _is_cut(f: pd.Series, y: pd.Series) -> bool:
    """Return whether a column contains adjacent classes of the target without gaps between them.

    A strong legitimate column may also divide the target's values into classes, but with gaps between the
    classes. An example is the pay grade, if salaries hardly vary within a grade.
    """
    if kind_of(y) not in NUMBERS:
        return False
    is_known = f.notna().to_numpy() & y.notna().to_numpy()
    if is_known.sum() < 2 * _MIN_IN_CLASS:
        return False
    f, y = f[is_known].reset_index(drop=True), y[is_known].reset_index(drop=True)
    sample = a_few(len(f))
    return _is_cut_of(f.iloc[sample], y.iloc[sample], with_chance=False) and _is_cut_of(
        f, y, with_chance=True
    )


def _is_cut_of(f: pd.Series, y: pd.Series, *, with_chance: bool) -> bool:
    codes = pd.factorize(f)[0]
    sizes = np.bincount(codes)
    if len(sizes) < 2 or not is_function(y, f):
        return False
    cells: Floats = as_floats(y).to_numpy()
    unique_cells, first = np.unique(cells, return_index=True)
    class_of_place = codes[first]
    changes = np.flatnonzero(class_of_place[1:] != class_of_place[:-1])
    if len(changes) != len(sizes) - 1:
        return False
    if not with_chance:
        return True
    chance = _log_factorial(len(sizes)) - _log_factorial(len(codes)) + _log_factorial(sizes).sum()
    if chance >= np.log(CHANCE) or len(codes) - sizes.max() < _MIN_IN_CLASS:
        return False
    return _are_adjacent(unique_cells, changes)


def _are_adjacent(positions: Floats, changes: Codes) -> bool:
    """Return whether the gaps between classes are about as wide as the neighbouring gaps.

    If the salaries in a pay grade reach those in the next grade, the gaps are wider near the limits of the
    classes.
    """
    gaps = np.diff(positions)
    is_inner = np.ones(len(gaps), dtype=bool)
    is_inner[changes] = False
    median_gaps = [np.median(part) if len(part) else 0.0 for part in _neighbouring_gaps(gaps, changes)]
    ratios_to_neighbours, ratios_to_classes = [], []
    for k, index in enumerate(changes):
        neighbours = slice(max(index - _NEIGHBOURS, 0), index + _NEIGHBOURS + 1)
        neighbouring_gaps = gaps[neighbours][is_inner[neighbours]]
        ratios_to_neighbours.append(gaps[index] / neighbouring_gaps.mean() if len(neighbouring_gaps) else 1.0)
        gap_in_classes = max(median_gaps[k], median_gaps[k + 1])
        ratios_to_classes.append(gaps[index] / gap_in_classes if gap_in_classes else 1.0)
    return bool(
        _geometric_mean(ratios_to_neighbours) <= _MAX_OF_NEIGHBOURS
        and _geometric_mean(ratios_to_classes) <= _MAX_OF_CLASSES
    )


def _neighbouring_gaps(gaps: Floats, changes: Codes) -> list[Floats]:
    """Return the gaps between the values within each class."""
    edges = [-1, *changes, len(gaps)]
    return [gaps[low + 1 : high] for low, high in pairwise(edges)]


def _geometric_mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def _is_rounded(f: pd.Series, y: pd.Series) -> bool:
    """Return whether a column contains the target, rounded up or down to equal steps and possibly rescaled.

    If amounts are spread widely, most steps have only one or two rows, which are too few for :func:`_is_cut`.
    """
    if kind_of(f) not in NUMBERS:
        return False
    x, cells = as_floats(f).to_numpy(dtype=float), y.to_numpy(dtype=float)
    is_known = np.isfinite(x) & np.isfinite(cells)
    if is_known.sum() < _MIN_ROUNDED:
        return False
    x, cells = x[is_known], cells[is_known]
    sample = a_few(len(x))
    if 0 in (np.ptp(x[sample]), np.ptp(cells[sample])):
        return False
    if abs(np.corrcoef(x[sample], cells[sample])[0, 1]) < _MIN_CORRELATION:
        return False
    levels, codes = np.unique(x, return_inverse=True)
    steps = _even_steps(levels)
    distinct = np.unique(cells)
    if len(levels) < _MIN_STEPS or steps is None or len(distinct) < 2:
        return False
    slope_and_positions = _narrowest_strip(steps, codes, cells)
    if slope_and_positions is None:
        return False
    slope, remainders = slope_and_positions
    finest_step = float(np.diff(distinct).min())
    width, step = float(np.ptp(remainders)), abs(slope)
    if (
        step < _FINER * finest_step
        or width > step + 0.01 * finest_step
        or width < _WHOLE_STEP * (step - finest_step)
    ):
        return False
    values, counts = np.unique(cells, return_counts=True)
    most_frequent = values[np.argmax(counts)]
    other_positions = remainders[cells != most_frequent] if counts.max() > 0.01 * len(cells) else remainders
    if len(other_positions) < _MIN_ROUNDED:
        return False
    # If the target is itself rounded to a finer step, its values are spread evenly over this step.
    other_positions = (
        np.sort(other_positions)
        - remainders.min()
        + finest_step * (np.arange(len(other_positions)) * 0.618 % 1)
    )
    relative_position = np.sort(other_positions) / (width + finest_step)
    return float(np.abs(relative_position - np.linspace(0, 1, len(relative_position))).max()) < _MAX_DISTANCE


def _even_steps(levels: Floats) -> Floats | None:
    """Return the number of steps from the smallest to each number, or None if the steps are unequal."""
    if len(levels) < 2:
        return None
    distances = levels - levels[0]
    steps: Floats = np.round(distances / np.diff(levels).min())
    length = float(distances @ steps / (steps @ steps))
    return steps if float(np.abs(distances - length * steps).max()) < 0.02 * length else None


def _narrowest_strip(steps: Floats, codes: Codes, y: Floats) -> tuple[float, Floats] | None:
    """Return the slope of the narrowest strip that contains all rows, and each row's position in it.

    The result is None if the strip is too wide.
    """
    from scipy.optimize import linprog

    x = steps[codes]
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    if np.ptp(y - slope * x) > 3 * abs(slope):
        return None
    low, high = np.full(len(steps), np.inf), np.full(len(steps), -np.inf)
    np.minimum.at(low, codes, y)
    np.maximum.at(high, codes, y)
    # The linear program finds the error of the slope, the start of the strip and its width, all in units of a
    # step.
    low, high = (low - slope * steps) / abs(slope), (high - slope * steps) / abs(slope)
    ones, zeros = np.ones_like(steps), np.zeros_like(steps)
    scale = steps / steps.max()
    solution = linprog(
        [0, 0, 1],
        A_ub=np.vstack([np.column_stack([scale, ones, zeros]), np.column_stack([-scale, -ones, -ones])]),
        b_ub=np.concatenate([low, -high]),
        bounds=[(None, None), (None, None), (0, None)],
    )
    if not solution.success:
        return None
    slope += float(solution.x[0]) * abs(slope) / float(steps.max())
    return slope, y - slope * x


def _log_factorial(n: int | Codes) -> Floats:
    from scipy.special import gammaln

    return np.asarray(gammaln(np.asarray(n) + 1.0), dtype=float)


def _log_choose(n: int, k: int) -> float:
    return float(_log_factorial(n) - _log_factorial(k) - _log_factorial(n - k))
