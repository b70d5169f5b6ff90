"""Tidy table of results with one row per model, split, part, measure and sensitive column.

>>> models = pd.DataFrame({"method": ["standard"], "lam": [0.0], "split": [0], "part": ["test"]})
>>> values = np.array([[[0.8], [0.3]]])
>>> table = tidy(models, [("mse", ""), ("hgr_spline", "age")], values)
>>> table[["lam", "measure", "column", "value"]].values.tolist()
[[0.0, 'mse', '', 0.8], [0.0, 'hgr_spline', 'age', 0.3]]
>>> wide(table).columns.tolist()[-2:]
['mse', 'hgr_spline']
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.training.splits import corrected_standard_error

#: Columns with the results of a row. ``value``: the value. ``floor``, ``floor_q95``: mean and 95 % quantile
#: of the estimator with the sensitive column permuted. ``edge``: the largest mean over the splits that is not
#: significant at 5 %. ``p``: the p-value of the mean. ``by``: only for the verdict, the index in
#: :data:`fairdash.dependence.omnibus.COMPONENTS` of the measure with the strongest evidence. ``se``: the
#: standard error of a mean over the splits.
FIGURES = ("value", "floor", "floor_q95", "edge", "p", "by", "se")
VALUE, FLOOR, FLOOR_Q95, EDGE, P, BY, _ = range(len(FIGURES))
#: Measures of error. They do not use a sensitive column.
ERRORS = ("mse", "rmse", "deviance")
#: Name of the omnibus test in the column ``measure``.
VERDICT = "verdict"
#: Measure and sensitive column of a result. The name of the column is empty for a measure of error, and for a
#: joint measure of all columns.
Cell: TypeAlias = tuple[str, str]
Array = NDArray[np.float64]
_NAMES = ["measure", "column"]


class Figure(NamedTuple):
    """Results of one row in the order of :data:`FIGURES`; unknown results are NaN."""

    value: float
    floor: float = math.nan
    floor_q95: float = math.nan
    edge: float = math.nan
    p: float = math.nan
    by: float = math.nan
    se: float = math.nan


def tidy(models: pd.DataFrame, cells: Sequence[Cell], values: Array) -> pd.DataFrame:
    """Return one row per model and pair of measure and column, with the model's columns and the results.

    Parameters
    ----------
    models
        Frame with K rows, one per model, split and part.
    cells
        M pairs of a measure and a column, which are the same for all models.
    values : (K, M, F) array
        Values of the first F results in :data:`FIGURES`.
    """
    of_model = models.iloc[np.repeat(np.arange(len(models)), len(cells))].reset_index(drop=True)
    names = np.array([*cells] * len(models), dtype=object).reshape(-1, 2)
    figures = dict(zip(FIGURES, values.reshape(-1, values.shape[-1]).T, strict=False))
    rows = pd.DataFrame({**dict(zip(_NAMES, names.T, strict=True)), **figures}, index=of_model.index)
    return pd.concat([of_model, rows], axis=1)


def untidy(table: pd.DataFrame) -> tuple[pd.DataFrame, list[Cell], Array]:
    """Return the models, cells and values of a table, which are the arguments of :func:`tidy`.

    Raises
    ------
    ValueError
        Raised if the models do not all have the same cells in the same order.
    """
    figures = [figure for figure in FIGURES if figure in table]
    names = table[_NAMES].to_numpy(dtype=object)
    repeats = np.flatnonzero((names == names[:1]).all(axis=1))
    m = int(repeats[1]) if len(repeats) > 1 else len(names)
    models = table.iloc[:: m or 1].drop(columns=[*_NAMES, *figures]).reset_index(drop=True)
    if len(models) * m != len(names) or not (names == np.tile(names[:m], (len(models), 1))).all():
        raise ValueError("a model has other measures than the first model")
    values = table[figures].to_numpy(dtype=float, copy=True).reshape(len(models), m, len(figures))
    return models, list(map(tuple, names[:m].tolist())), values


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and part, with the columns ``id``, ``id_floor``, ``id_edge`` and so on.

    With several sensitive columns, ``id[column]`` is the measure for one column, and ``id`` for all columns
    jointly. The columns of the verdict start with ``verdict``. Columns of tests are omitted if there was no
    test.
    """
    models, cells, values = untidy(table)
    figures = dict(zip((name for name in FIGURES if name in table), np.moveaxis(values, 2, 0), strict=True))
    return pd.concat([models, pd.DataFrame(dict(_columns(cells, figures)), index=models.index)], axis=1)


def _columns(cells: Sequence[Cell], figures: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    has_several = len({column for _, column in cells if column}) > 1
    is_tested = any(not np.isnan(figures[figure]).all() for figure in ("edge", "p") if figure in figures)
    of_tests = ["edge", "p"] if is_tested else []
    for k, (measure, column) in enumerate(cells):
        kinds = ["value", "se"] if measure in ERRORS else ["value", "se", "floor", "floor_q95", *of_tests]
        if measure == VERDICT:
            kinds = ["p", "by", "value", "edge"] if is_tested else []
        name = f"{measure}[{column}]" if has_several and column else measure
        for kind in (kind for kind in kinds if kind in figures):
            is_plain = kind == "value" and measure != VERDICT
            yield name if is_plain else f"{name}_{kind}", figures[kind][:, k]


def of_sensitive(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows of errors, and the rows of measures for the given sensitive column."""
    return table[(table["column"] == column) | table["measure"].isin(ERRORS)]


def of_measure(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the rows of one measure, one row per model, in the order of the models."""
    return table[table["measure"] == measure].reset_index(drop=True)


def figures_of(rows: pd.DataFrame) -> Iterator[Figure]:
    """Yield the results of each row of a summary."""
    return map(Figure._make, rows[[*FIGURES]].itertuples(index=False, name=None))


def summarise_splits(table: pd.DataFrame, *, test_to_train: float | None = None) -> pd.DataFrame:
    """Return means and corrected standard errors over the splits, by method, λ and part.

    Parameters
    ----------
    table
        Result of :func:`fairdash.evaluation.assess_predictions`. Diverged models are omitted.
    test_to_train
        Number of test rows divided by the number of training rows. None computes this ratio from `table`,
        which must then contain both parts.

    Returns
    -------
    DataFrame
        One row per method, λ, part, measure and column, with ``n_splits``, the means of the results, and
        ``se``, the Nadeau–Bengio standard error of the value (NaN with a single split). Splits in which a
        result is undefined are left out of its mean.
    """
    models, cells, values = untidy(table[~table["diverged"]])
    if test_to_train is None:
        rows = models.groupby("part")["n"].mean()
        test_to_train = rows["test"] / rows["train"]
    keys = [key for key in ("method", "lam", "low", "high", "share", "part") if key in models]
    flat = pd.DataFrame(values.reshape(len(models), len(cells) * values.shape[2]))
    groups = flat.groupby([models[key] for key in keys], sort=False)
    means, of_values = groups.mean(), groups[list(flat.columns[:: values.shape[2]])]
    errors = corrected_standard_error(
        of_values.var(ddof=1).to_numpy(),
        n_splits=of_values.count().to_numpy().clip(min=1),
        test_to_train=test_to_train,
    )
    of_groups = means.index.to_frame(index=False)
    of_groups.insert(2, "n_splits", groups.size().to_numpy())
    mean_values = means.to_numpy().reshape(len(means), *values.shape[1:])
    return tidy(of_groups, cells, np.concatenate([mean_values, np.asarray(errors)[:, :, None]], axis=2))
