"""Decision which columns are used as features, left out or doubtful, and which fixes make them usable.

A feature is doubtful if it contains the sensitive column in another form (copied, rescaled, recoded or
divided into finer classes).

>>> age = pd.Series([40.0, 50.0, 60.0, 40.0, 50.0, 60.0] * 10)
>>> born = pd.Series([1985.0, 1975.0, 1965.0, 1985.0, 1975.0, 1965.0] * 10)
>>> is_determined_by(born, age), is_determined_by(pd.Series(range(60)) % 7, age)
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from fairdash.errors import Fix, Problem
from fairdash.tables.codes import codes_in_words, day_numbers, spellings_in_words
from fairdash.tables.column_profile import as_floats, kind_of
from fairdash.tables.columns import infinite_problem
from fairdash.tables.fixes import can_convert, conversions, date_fixes, use_of_dates
from fairdash.tables.grammar import DATE_LIKE, bands_in_order, date_orders
from fairdash.utils.text import counted, few

#: A category with more levels than this share of the number of rows identifies rows, and is not informative.
IDENTIFIER_SHARE = 0.5
#: A category with fewer levels than this number is never treated as an identifier, because in a small table a
#: legitimate category may have nearly as many levels as rows.
MIN_IDENTIFIERS = 20
#: Maximum number of levels of a feature, because each level becomes an input of the network.
MAX_LEVELS = 500

#: Table, or map from names to columns.
Columns = pd.DataFrame | Mapping[str, pd.Series]

DATES, TEXT_DATES = "dates", "dates written as text"
IDENTIFIER = "almost as many levels as rows, like an identifier"

#: A coincidence with a probability below this number is treated as impossible.
CHANCE = 1e-6
#: Two columns order the rows in the same way if their rank correlation is above this number.
_SAME_ORDER = 0.9999
#: Minimum rank correlation in a sample of rows. It is always exceeded if two columns order all rows in the
#: same way.
_NEARLY_SAME = 0.99
#: Leakage is reported only if at least this many cells, or at least half of all cells, are not missing.
_MIN_KNOWN = 50
#: Number of rows in a fast preliminary check, which rules out leakage for most features.
FEW = 2000


def choose_features(
    frame: pd.DataFrame, names: Sequence[str], *, kept: set[str], lines: np.ndarray | None, notes: list[str]
) -> tuple[dict[str, pd.Series], list[Problem]]:
    """Select the columns that may be predictive, convert them for training, and report problems.

    Parameters
    ----------
    names
        Names of the requested features.
    kept
        Names of features that are used although they look like identifiers.
    lines : array, shape (n,)
        Line of the file on which each row begins, if the table comes from a file.
    notes
        List to which notes on omitted features and on the coding of truth values are added.
    """
    columns: dict[str, pd.Series] = {}
    problems: list[Problem] = []
    truths: list[str] = []
    bands: list[str] = []
    columns_of: dict[str, list[str]] = {}
    for name in names:
        values = frame[name]
        text = exclusion_reason(values)
        if text is not None and not (text == IDENTIFIER and name in kept):
            columns_of.setdefault(text, []).append(name)
            continue
        kind = kind_of(values)
        if kind == "truth value":
            truths.append(truth_note(name))
        columns[name] = _as_feature(values, kind)
        if columns[name].dtype == "category" and columns[name].cat.ordered:
            bands.append(name)
        if kind == "number":
            infinite = np.isinf(columns[name].to_numpy())
            if infinite.any():
                problems.append(infinite_problem(name, infinite, lines))
    notes += [
        f"{counted(len(names_out), 'column')} left out: {text} ({few(names_out)})."
        for text, names_out in columns_of.items()
    ]
    notes += truths
    if bands:
        notes.append(f"{counted(len(bands), 'column')} of bands, used as ordered categories ({few(bands)}).")
    return columns, problems


def truth_note(column: str) -> str:
    """Return a sentence on the coding of a column of truth values."""
    return f"“{column}”: true is 1, false is 0."


def _as_feature(values: pd.Series, kind: str) -> pd.Series:
    if kind == "text":
        if isinstance(values.dtype, pd.CategoricalDtype):
            return values.cat.remove_unused_categories()
        codes, levels = pd.factorize(values)
        bands = bands_in_order(levels.tolist())
        order = sorted(levels) if bands is None else list(bands)
        # A missing cell has the code -1. As an index, -1 selects the last element of `new_code`, which is -1.
        new_code = np.append(pd.Index(order).get_indexer(levels), -1)
        dtype = pd.CategoricalDtype(order, ordered=bands is not None)
        return pd.Series(
            pd.Categorical.from_codes(new_code[codes], dtype=dtype), index=values.index, name=values.name
        )
    if kind != "number" and not values.isna().any():
        return values.astype(np.int64)
    return as_floats(values)


def leakage_problems(
    features: Mapping[str, pd.Series], sensitive: Mapping[str, pd.Series]
) -> Iterator[Problem]:
    """Yield a problem for each feature that determines a sensitive column."""
    # A column that already has a problem is checked later, when the user has solved this problem.
    without_problems = {
        name: values for name, values in sensitive.items() if np.isfinite(values).all() and varies(values)
    }
    for name, column in find_leakage(features, without_problems):
        yield Problem(
            what=f"the sensitive column “{column}” can be recovered from this feature: it is a copy, "
            "possibly rescaled, recoded or divided more finely",
            hint="Leave the feature out, or keep it to study this effect.",
            column=name,
            fixes=(Fix("leave_out", name), Fix("keep", name)),
        )


def fixes_of_columns(frame: pd.DataFrame) -> tuple[Problem, ...]:
    """Return the problems that a fix can solve: columns of dates, identifiers, or numbers stored as text.

    The fixes are optional. Each problem lists the fixes with which the column can be a feature.
    """
    proposals: list[Problem] = []
    fixes: tuple[Fix, ...]
    for name in frame.columns:
        values = frame[name]
        reason = exclusion_reason(values)
        if sentence := codes_in_words(values):
            hint = "Mark these cells as missing, or leave them unchanged if the values are right."
            proposals.append(
                Problem(
                    what=sentence[0].partition("” ")[2].partition(".")[0],
                    hint=hint,
                    column=name,
                    fixes=(Fix("codes", name),),
                )
            )
        if warning := spellings_in_words(values):
            proposals.append(
                Problem(
                    what=warning,
                    hint="Use one spelling, or leave the levels unchanged if they differ in meaning.",
                    column=name,
                    fixes=(Fix("spelling", name),),
                )
            )
        if can_convert(values):
            # If there are only two levels, such as 0 and 1, categories and numbers give the same model.
            if values.nunique() <= 2:
                continue
            problem, hint = (
                "the feature contains numbers that are stored as text",
                "Convert it. Cells that are not numbers become missing.",
            )
            if pd.to_numeric(values.astype(object), errors="coerce")[values.notna()].notna().all():
                problem = "the feature contains numbers that are stored as categories"
                hint = "Convert the column if its numbers measure an amount. Leave it if they are codes."
            fixes = conversions(values)
        elif reason in (DATES, TEXT_DATES) and (fixes := date_fixes(values)):
            doubt, hint = use_of_dates(fixes)
            problem = f"the dates are left out{doubt and ': '}{doubt}"
        elif day_numbers(values) is not None:
            problem, hint, fixes = (
                "dates are written as numbers",
                "Convert the dates to years or ages.",
                date_fixes(values),
            )
        elif reason == IDENTIFIER and values.nunique() <= MAX_LEVELS:
            problem = "the column is left out: it looks like an identifier"
            hint = "Keep the column if it is not an identifier."
            fixes = (Fix("keep", name),)
        else:
            continue
        proposals.append(Problem(what=problem, hint=hint, column=name, fixes=fixes))
    return tuple(proposals)


def exclusion_reason(values: pd.Series) -> str | None:
    """Explain why a column can't be a feature. Return None if it can.

    Parameters
    ----------
    values : Series, shape (n,)
        Any column of a table.
    """
    present = values.dropna()
    if present.empty:
        return "every cell is missing"
    kind = kind_of(values)
    if kind == "date":
        return DATES
    if kind == "other":
        return "the cells are neither numbers nor text"
    if not varies(present):
        return "only one value"
    if kind == "text":
        levels = present.unique()
        n_levels = len(levels)
        if date_orders(levels) or all(DATE_LIKE.fullmatch(str(level)) for level in levels):
            return TEXT_DATES
        if n_levels >= MIN_IDENTIFIERS and n_levels > IDENTIFIER_SHARE * len(present):
            return IDENTIFIER
        if n_levels > MAX_LEVELS:
            return f"more than {MAX_LEVELS} levels"
    return None


def find_leakage(features: Columns, sensitive: Columns) -> Iterator[tuple[str, str]]:
    """Yield each pair ``(feature, sensitive column)`` where the feature determines the sensitive column."""
    for (name, values), (column, s) in product(features.items(), sensitive.items()):
        if is_determined_by(values, s):
            yield str(name), str(column)


def is_determined_by(feature: pd.Series, sensitive: pd.Series) -> bool:
    """Return whether a feature determines a sensitive column.

    A feature determines a sensitive column in three cases. First, rows with equal feature values always have
    equal sensitive values, in more rows than chance explains. Second, both columns order the rows in the same
    way or in reverse. Third, the feature is missing exactly where the sensitive column has one of its two
    values.

    Parameters
    ----------
    feature : Series, shape (n,)
        Column of any type. Its missing cells are checked first, and then the values of the other cells.
    sensitive : Series, shape (n,)
        Column of type float64 without missing cells that is not constant.
    """
    is_missing = feature.isna().astype(float)
    if varies(is_missing) and _implies(
        is_missing, pd.Series(sensitive.to_numpy(dtype=float), index=is_missing.index)
    ):
        return True
    not_missing = feature.notna().to_numpy()
    n = int(not_missing.sum())
    if n < min(len(feature) / 2, _MIN_KNOWN) or n < 3:
        return False
    f = feature[not_missing].reset_index(drop=True)
    s = pd.Series(sensitive.to_numpy(dtype=float)[not_missing])
    return _implies(f, s) or same_order(f, s)


def _implies(f: pd.Series, s: pd.Series) -> bool:
    """Return whether equal feature values imply equal sensitive values in more rows than chance explains."""
    sample = a_few(len(f))
    if not is_function(f.iloc[sample], s.iloc[sample]):
        return False
    # A feature value that occurs only once proves nothing.
    occurs_again = f.duplicated(keep=False).to_numpy()
    if occurs_again.mean() < 0.5:
        return False
    counts = s.value_counts()
    if len(counts) < 2:
        return False
    has_most_frequent = (s == counts.index[0]).to_numpy()
    # A single frequent value, such as a mileage of 0, proves nothing about the other values.
    if min(
        float(occurs_again[has_most_frequent].mean()), float(occurs_again[~has_most_frequent].mean())
    ) < 0.5 or not is_function(f, s):
        return False
    is_repetition = f.duplicated().to_numpy()
    # `chance` is an upper limit of the logarithm of the probability that rows with equal feature values all
    # have equal sensitive values by chance.
    chance = float((is_repetition & has_most_frequent).sum()) * np.log(counts.iloc[0] / len(s))
    chance += float((is_repetition & ~has_most_frequent).sum()) * np.log(counts.iloc[1] / len(s))
    return bool(chance < np.log(CHANCE))


def same_order(f: pd.Series, s: pd.Series) -> bool:
    """Return whether two columns without missing cells order the rows in the same way or in reverse."""
    sample = a_few(len(f))
    if not pd.api.types.is_numeric_dtype(f.dtype) or f.iloc[sample].nunique() < len(sample) / 2:
        return False
    return (
        _rank_correlation(f.iloc[sample], s.iloc[sample]) > _NEARLY_SAME
        and _rank_correlation(f, s) > _SAME_ORDER
    )


def a_few(n: int) -> np.ndarray:
    """Return the row numbers of a sample. For most features, the sample suffices to rule out leakage."""
    return np.unique(np.linspace(0, n - 1, FEW).astype(np.intp))


def absolute_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return the absolute correlation of two columns (n,), in [0, 1], or 0 if one column is constant."""
    return float(abs(np.corrcoef(x, y)[0, 1])) if np.ptp(x) > 0 and np.ptp(y) > 0 else 0.0


def varies(values: pd.Series) -> bool:
    """Return whether a column has more than one value, where a missing cell is also a value."""
    return any(part.nunique(dropna=False) > 1 for part in (values.iloc[:FEW], values))


def is_function(feature: pd.Series, sensitive: pd.Series) -> bool:
    """Return whether rows with equal feature values always have equal sensitive values."""
    # A level that occurs only once can't have two sensitive values.
    occurs_again = feature.duplicated(keep=False).to_numpy()
    levels = pd.factorize(feature[occurs_again])[0].astype(np.int64)
    if not len(levels):
        return True
    codes, values = pd.factorize(sensitive[occurs_again])
    pairs = pd.Series(levels * len(values) + codes)
    return int(pairs.nunique()) == int(levels.max()) + 1


def _rank_correlation(feature: pd.Series, sensitive: pd.Series) -> float:
    """Return the absolute rank correlation, in [0, 1], or 0 if either column is constant."""
    ranks = feature.rank().to_numpy(dtype=float)
    other_ranks = sensitive.rank().to_numpy(dtype=float)
    if ranks.std() == 0 or other_ranks.std() == 0:
        return 0.0
    return float(abs(np.corrcoef(ranks, other_ranks)[0, 1]))
