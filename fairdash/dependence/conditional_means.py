"""Out-of-fold conditional means E[·|C] given columns C, fitted by splines and level means, or by trees.

The method “splines” uses smooth functions of every numeric column, a mean for every level of a category, and
products of pairs of columns. The smooth functions are the cubic splines of Demmler and Reinsch on the normal
scores, ordered from smooth to rough. They are penalised by the fourth power of their position in this order.
Each target has one ridge penalty, which minimises the error on held-out rows. The functions depend only on C,
and not on the targets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.classical import mid_ranks, normal_scores
from fairdash.dependence.spline_basis import WIDTH, basis, splines
from fairdash.errors import DeterminedError, OptionError
from fairdash.utils.seeds import Stream, rng_of, seed_of
from fairdash.utils.trees import boosted_trees

#: Minimum share of the variance of a function of s that C must leave unexplained. Below this share, C counts
#: as determining s, and no rows can be compared.
LEFT_OF_S = 1e-3
#: The check whether s differs among rows with equal C needs at least `_MIN_PAIRS` pairs of such rows.
#: The check uses a column of whole numbers only if its values have at least `_MIN_ROWS_A_VALUE` rows on
#: average. A column such as a policy number has fewer rows per value, and these rows have equal s anyway.
_MIN_PAIRS, _MIN_ROWS_A_VALUE = 20, 5
Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Number of folds of the cross-fitted regressions.
N_FOLDS = 5
#: Number of functions of each numeric column that enter products of two columns.
_MAX_IN_PRODUCTS = 4
#: `_ROWS_A_LEVEL` is the minimum number of rows of a level, and `_MAX_LEVELS` the maximum number of levels.
#: All other levels are merged into one.
_ROWS_A_LEVEL, _MAX_LEVELS = 5, 300
#: Maximum number of functions. To stay within this limit, products of pairs are omitted, and numeric columns
#: get fewer functions.
_MAX_FUNCTIONS = 600
#: Candidate ridge penalties, relative to the number of rows.
_RIDGES = np.logspace(-7, 1, 25)
#: Near-zero penalty of constants, of straight lines in normal scores and of level means.
_MIN_PENALTY = 1e-4


@dataclass(frozen=True, eq=False)
class Given:
    """Given columns C, split into numeric columns and columns of level codes.

    Attributes
    ----------
    names : tuple of str
        Names of the columns that take more than one value.
    numbers : dict of str to (n,) array
    levels : dict of str to (n,) array of int
        Level codes in descending order of frequency, from 0 for the most frequent level.
    """

    names: tuple[str, ...]
    numbers: dict[str, Array]
    levels: dict[str, Index]

    def of(self, rows: Index) -> Given:
        """Return the given columns of the selected rows."""
        return Given(
            self.names,
            {name: x[rows] for name, x in self.numbers.items()},
            {name: x[rows] for name, x in self.levels.items()},
        )


def split_columns(given: ArrayLike | pd.Series | pd.DataFrame, n: int) -> Given:
    """Check C and split it into numeric columns and levels.

    Parameters
    ----------
    given : (n,) or (n, d) array, Series or DataFrame
        Text, booleans and categories become levels. Of numeric columns, only the ranks are used.

    Raises
    ------
    OptionError
        Raised if the number of rows differs from the length of u, a value is missing or infinite, or no
        column varies.
    """
    if isinstance(given, pd.DataFrame):
        frame = given
    elif isinstance(given, pd.Series):
        frame = given.to_frame("given" if given.name is None else str(given.name))
    else:
        values = np.asarray(given)
        if values.ndim not in (1, 2):
            raise _error("The array must have one or two dimensions", "Give one column, or several columns.")
        frame = pd.DataFrame(values).infer_objects()
        frame.columns = ["given"] if frame.shape[1] == 1 else [f"given {k + 1}" for k in range(len(frame.T))]
    if len(frame) != n:
        raise _error("The number of rows differs from that of u", f"Give {n:,} rows, like u.")
    numbers, levels = {}, {}
    for name, column in frame.items():
        n_invalid = int(column.isna().sum())
        is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        if is_number and not n_invalid:
            n_invalid = int((~np.isfinite(column.to_numpy(dtype=np.float64))).sum())
        if n_invalid:
            raise _error(
                f"Values of “{name}” are missing or infinite",
                "Leave those rows out, or fill them first.",
                count=n_invalid,
            )
        if column.nunique() < 2:
            continue
        if is_number:
            numbers[str(name)] = column.to_numpy(dtype=np.float64)
        else:
            levels[str(name)] = _codes_by_frequency(column)
    if not numbers and not levels:
        raise _error("No given column varies", "Use a measure without given columns, or give other columns.")
    names = tuple(str(name) for name in frame.columns if str(name) in numbers or str(name) in levels)
    return Given(names, numbers, levels)


def _codes_by_frequency(column: pd.Series) -> Index:
    codes = pd.factorize(column, sort=True)[0]
    counts = np.bincount(codes)
    rank = np.empty(len(counts), dtype=np.intp)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return rank[codes]


def functions_of_normal_scores(x: Array, weight: Array | None = None, *, count: int = WIDTH) -> Array:
    """Return the smoothest functions of the normal scores of x, from smooth to rough; (n, P).

    The number of functions is at most `count` and smaller than the number of distinct values of x. Further
    functions would be linear combinations of the first ones. A smooth function of x can be arbitrarily steep
    in both tails if it is written as a function of the ranks of x. The regressions of u and of s would then
    both be biased in the tails. Normal scores stretch the tails and so avoid this bias.
    """
    scores = normal_scores(x, weight)
    position = (scores - scores.min()) / (scores.max() - scores.min())
    return splines(position, count=min(count, len(np.unique(x)) - 1))


def smooth_functions(x: Array, count: int) -> Array:
    """Return the smoothest functions of the ranks of x, at most `count` of them, with variance 1; (n, p)."""
    functions = basis(x[None])
    table = functions.tables[0][:, :count]
    return table[functions.position[0]][:, table.any(axis=0)]


def indicators(codes: Index) -> Array:
    """Return indicators (n, L − 1) of all levels but the most frequent; rare levels are merged."""
    n_large = int(np.count_nonzero(np.bincount(codes) >= _ROWS_A_LEVEL))
    merged_codes = np.minimum(codes, min(max(n_large, 1), _MAX_LEVELS))
    return (merged_codes[:, None] == np.arange(1, merged_codes.max() + 1)).astype(np.float64)


def draw_folds(n: int, groups: Index | None, random_state: int | None) -> Index:
    """Assign each row at random to one of :data:`N_FOLDS` nearly equal folds, (n,); groups stay together."""
    rng = rng_of(Stream.CONDITIONAL_FOLDS, random_state)
    codes = np.arange(n) if groups is None else groups
    sizes = np.bincount(codes)
    order = rng.permutation(len(sizes))
    fold = np.empty(len(sizes), dtype=np.intp)
    # The ordered rows are cut into equal folds, and a group belongs to the fold that contains its middle row.
    fold[order] = (np.cumsum(sizes[order]) - sizes[order] / 2) / n * N_FOLDS
    return fold[codes]


def spline_functions(given: Given, weight: Array | None = None) -> tuple[Array, Array, str]:
    """Return functions of C, (n, p), the penalty of each function, (p,), and a description of the functions.

    If weights (n,) are passed, the ranks are weighted ranks.
    """
    # Each entry belongs to one column: its functions, their positions from smooth to rough, and their
    # penalties.
    parts: list[tuple[Array, Array, Array]] = []
    max_width = max(1, _MAX_FUNCTIONS // len(given.names))
    for name in given.names:
        if name in given.numbers:
            table = functions_of_normal_scores(given.numbers[name], weight, count=min(WIDTH, max_width))
            index = np.arange(1.0, table.shape[1] + 1)
            parts.append((table, index, np.where(index == 1, _MIN_PENALTY, index**4)))
        else:
            table = indicators(given.levels[name])
            parts.append((table, np.ones(table.shape[1]), np.full(table.shape[1], _MIN_PENALTY)))
    tables, penalties = [part[0] for part in parts], [part[2] for part in parts]
    n_paired = [
        min(table.shape[1], _MAX_IN_PRODUCTS) if name in given.numbers else table.shape[1]
        for name, (table, _, _) in zip(given.names, parts, strict=True)
    ]
    pairs = [(i, j) for i in range(len(parts)) for j in range(i)]
    n_functions = sum(table.shape[1] for table in tables) + sum(n_paired[i] * n_paired[j] for i, j in pairs)
    if n_functions <= _MAX_FUNCTIONS:
        for i, j in pairs:
            (a, at_a, _), (b, at_b, _) = parts[i], parts[j]
            a, b = a[:, : n_paired[i]], b[:, : n_paired[j]]
            product = (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
            index = at_a[: n_paired[i], None] * at_b[None, : n_paired[j]]
            varied = product.any(axis=0)
            tables.append(product[:, varied])
            penalties.append((index**4).ravel()[varied])
    description = "splines of ranks and means of levels"
    if pairs:
        description += ", with products of pairs" if n_functions <= _MAX_FUNCTIONS else ", added up"
    return np.concatenate(tables, axis=1), np.concatenate(penalties), description


def ridge_out_of_fold(functions: Array, penalty: Array, targets: Array, weight: Array, folds: Index) -> Array:
    """Predict each target on every fold by a ridge regression fitted on the other folds; (n, T).

    Parameters
    ----------
    functions : (n, p) array
    penalty : (p,) array
        Positive penalties; only their ratios matter.
    targets : (n, T) array
    weight : (n,) array
    folds : (n,) array of int

    Notes
    -----
    Each target gets the ridge penalty with the smallest weighted squared error over all held-out rows.
    """
    n = len(functions)
    scaled = np.column_stack([np.full(n, 1 / np.sqrt(_MIN_PENALTY)), functions / np.sqrt(penalty)])
    centre = np.average(targets, axis=0, weights=weight)
    y = targets - centre
    if scaled.shape[1] > n:
        # With more functions than rows, n coordinates replace the functions. Ridge predictions do not depend
        # on the choice of axes.
        size, axes = np.linalg.eigh(scaled @ scaled.T)
        scaled = axes * np.sqrt(np.maximum(size, 0.0))
    weighted = scaled * weight[:, None]
    members = [np.flatnonzero(folds == k) for k in range(N_FOLDS)]
    grams = [weighted[rows].T @ scaled[rows] for rows in members]
    products = [weighted[rows].T @ y[rows] for rows in members]
    gram, product = sum(grams), sum(products)
    errors = np.zeros((len(_RIDGES), y.shape[1]))
    coefficients = []
    for rows, held_gram, cross in zip(members, grams, products, strict=True):
        size, axes = np.linalg.eigh(gram - held_gram)
        projections = axes.T @ (product - cross)
        shrunk = np.maximum(size, 0.0) + _RIDGES[:, None] * (weight.sum() - weight[rows].sum())
        # (R, p, T): the coefficients for every ridge penalty and every target.
        solution = np.einsum("pq,rqt->rpt", axes, projections / shrunk[:, :, None], optimize=True)
        coefficients.append(solution)
        # Σ w (y − Xb)² on the fold is expanded into products.
        errors += np.einsum("i,it->t", weight[rows], y[rows] ** 2)
        errors += np.einsum("rpt,rpt->rt", solution, held_gram @ solution - 2 * cross)
    best = errors.argmin(axis=0)
    predicted = np.empty_like(y)
    for rows, solution in zip(members, coefficients, strict=True):
        predicted[rows] = scaled[rows] @ solution[best, :, np.arange(y.shape[1])].T
    return predicted + centre


def trees_out_of_fold(
    given: Given, targets: Array, weight: Array, folds: Index, random_state: int | None
) -> Array:
    """Predict each target on every fold by scikit-learn's boosted trees, with early stopping; (n, T)."""
    from sklearn.model_selection import PredefinedSplit, cross_val_predict

    # The trees accept at most 255 levels, so rarer levels are merged.
    columns = [given.numbers[name] if name in given.numbers else given.levels[name] for name in given.names]
    features = np.column_stack([np.minimum(x, 254) if x.dtype.kind == "i" else x for x in columns])
    seed = None if random_state is None else seed_of(Stream.CONDITIONAL_FOLDS, random_state)
    levels = [name in given.levels for name in given.names]
    trees = boosted_trees(early_stopping=True, categorical_features=levels, random_state=seed)
    split, weights = PredefinedSplit(folds), {"sample_weight": weight}
    predictions = [cross_val_predict(trees, features, y, cv=split, params=weights) for y in targets.T]
    return np.column_stack(predictions)


def _error(problem: str, hint: str, count: int | None = None) -> OptionError:
    return OptionError.of(problem, hint, column="given", count=count)


def require_differences(given: Given, s: Array, groups: Index | None = None) -> None:
    """Check that s (n, d) varies among rows with equal values of C.

    These rows have the same level of one category, or the same levels and whole numbers in all columns with
    enough rows per value. A regression may not reveal that C determines s. For example, most levels may have
    too few rows for a separate mean, or codes such as post codes may be stored as whole numbers.

    Raises
    ------
    DeterminedError
    """
    n, cells = len(s), list(given.levels.values())
    columns = (*cells, *(x for x in given.numbers.values() if (x == np.round(x)).all()))
    common = [x for x in columns if n >= _MIN_ROWS_A_VALUE * len(np.unique(x))]
    if common:
        crossed = pd.DataFrame(dict(enumerate(common))).groupby(list(range(len(common)))).ngroup().to_numpy()
        if n >= _MIN_ROWS_A_VALUE * (crossed.max() + 1):
            cells.append(crossed.astype(np.intp))
    ranks = mid_ranks(s.T).T
    if any(_is_constant_within(cell, ranks, groups) for cell in cells):
        raise determined_error()


def _is_constant_within(cell: Index, ranks: Array, groups: Index | None) -> bool:
    """Return True if the columns (n, d) hardly vary within cells; rows of one group count as one row."""
    frame = pd.DataFrame({"cell": cell, "group": np.arange(len(cell)) if groups is None else groups})
    frame = frame[~frame.duplicated()]
    frame = frame[frame["cell"].duplicated(keep=False)]
    pairs = len(frame) - frame["cell"].nunique()
    if pairs < _MIN_PAIRS:
        return False
    paired = pd.DataFrame(ranks[frame.index])
    total = paired.var(ddof=0)
    variance_share = (paired - paired.groupby(frame["cell"].to_numpy()).transform("mean")).pow(
        2
    ).sum() / pairs
    return bool((total > 0).any() and (variance_share <= LEFT_OF_S * total).all())


def determined_error() -> DeterminedError:
    """Return the error that is raised if the given columns determine s."""
    return DeterminedError.of(
        "The given columns determine the sensitive one: rows with equal given values don't differ in it",
        "Give fewer columns.",
        column="given",
    )
