"""Ranking of features by their dependence on the sensitive attribute, to find proxies.

A predictor that does not use the sensitive column may still depend on it through related features. The
measure of dependence is the spline HGR (maximal correlation) of each feature with the sensitive column. HGR
is compared with its values under independence (the independence floor), and the p-value is corrected for the
number of features. The ranking also measures how well all features together predict the sensitive column on
held-out rows.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.errors import OptionError
from fairdash.tables.features import find_leakage
from fairdash.utils.trees import boosted_trees

if TYPE_CHECKING:
    from fairdash.dependence.spline_basis import Basis

Array = NDArray[np.float64]

#: Maximum number of rows on which HGR is measured. If there are more, a random sample is drawn. An
#: independence floor is valid only for the number of rows with which it was computed.
MAX_ROWS = 5000
N_PERMUTATIONS = 99
_FOLDS = 5
#: Tolerance for rounding errors. If a value under a permutation is smaller than the observed value by at most
#: this number, the two are treated as equal.
_EQUAL = 1e-9
#: Maximum number of levels of a category in the predictor. The rarest levels are merged.
_MAX_LEVELS = 200

#: Completed share of the work in [0, 1], name of the next step, and table of the values that are already
#: known.
Step = tuple[float, str, pd.DataFrame]


@dataclass(frozen=True)
class ProxyRanking:
    """Dependence between a sensitive column and the features.

    Parameters
    ----------
    sensitive
        Name of the sensitive column.
    features : DataFrame, one row per feature, the strongest first
        Columns: ``feature``; ``hgr``, the spline HGR on held-out rows, which is at most 1, and around 0 under
        independence; ``floor`` and ``floor_q95``, the mean and the 95 % quantile of the HGR with the
        sensitive column permuted; ``p_value``, and ``p_corrected`` for all features together (Westfall and
        Young's step-down method, which controls the probability of at least one false alarm); ``is_copy``,
        whether the feature determines the sensitive column.
    joint
        Spline HGR between the sensitive column and its prediction from all features, on held-out rows.
    joint_floor_q95
        95 % quantile of `joint` if the sensitive column is permuted.
    joint_r2
        Share of the variance of the sensitive column's ranks that the prediction explains on held-out rows:
        at most 1, and below 0 if the prediction is worse than the mean.
    n, n_used
        Number of rows in the data set, and number of rows in the sample on which HGR is measured.
    """

    sensitive: str
    features: pd.DataFrame
    joint: float
    joint_floor_q95: float
    joint_r2: float
    n: int
    n_used: int


def rank_proxies(
    dataset: Dataset,
    *,
    sensitive: str | None = None,
    max_rows: int = MAX_ROWS,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
) -> ProxyRanking:
    """Rank the features by their dependence on a sensitive column.

    Parameters
    ----------
    dataset
        Data set with features and sensitive columns.
    sensitive
        Name of the sensitive column; by default the first sensitive column.
    max_rows
        Maximum number of rows on which HGR is measured. If there are more, a random sample is drawn. The
        search for copies uses all rows.
    n_permutations
        Number of permutations of the sensitive column. All features use the same permutations.
    random_state
        Seed of the sample, the permutations and the predictor's folds.

    Returns
    -------
    ProxyRanking

    Raises
    ------
    OptionError
        The data set has no sensitive column of this name, or `max_rows` or `n_permutations` is too small.

    Notes
    -----
    If there are groups, permutations permute whole groups, and a model predicts only rows of groups on which
    it was not trained.

    The corrected p-value of a feature is based on the permutations in which this feature or any weaker
    feature reaches the observed value of this feature (Westfall and Young 1993, algorithm 2.8). The values of
    a feature are first standardised by their mean and standard deviation, so that no feature dominates the
    others.

    Examples
    --------
    >>> dataset = fd.load_dataset("household", n=500)
    >>> ranking = fd.rank_proxies(dataset, n_permutations=19)
    >>> ranking.features["feature"].iloc[0]
    'Surface'
    """
    steps = ranking_steps(
        dataset,
        sensitive=sensitive,
        max_rows=max_rows,
        n_permutations=n_permutations,
        random_state=random_state,
    )
    while True:
        try:
            next(steps)
        except StopIteration as end:
            ranking: ProxyRanking = end.value
            return ranking


def ranking_steps(
    dataset: Dataset,
    *,
    sensitive: str | None = None,
    max_rows: int = MAX_ROWS,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
) -> Generator[Step, None, ProxyRanking]:
    """Run :func:`rank_proxies` step by step, for a progress bar. The generator returns the ranking."""
    from fairdash.dependence.grouping import as_groups, exchange_by_rank, group_rows
    from fairdash.dependence.inference import draw_orders
    from fairdash.dependence.spline import hgr_of_bases
    from fairdash.dependence.spline_basis import number_basis

    column = dataset.roles.sensitive[0] if sensitive is None else sensitive
    if column not in dataset.sensitive:
        raise OptionError.of(
            "there is no such sensitive column",
            "Choose one of the data set's sensitive columns.",
            column="sensitive",
        )
    if max_rows < 50:
        raise OptionError.of("too few rows to measure dependence", "Give at least 50.", column="max_rows")
    copies = {name for name, _ in find_leakage(dataset.features, dataset.sensitive[[column]])}
    rows, groups = np.arange(dataset.n_rows), as_groups(dataset.groups, dataset.n_rows)
    if dataset.n_rows > max_rows:
        rng = np.random.default_rng(random_state)
        if groups is None:
            rows = np.sort(rng.choice(dataset.n_rows, max_rows, replace=False))
        else:
            rows = group_rows(groups, rng, at_most=max_rows)
            groups = as_groups(groups[rows], len(rows))
    features = dataset.features.iloc[rows].reset_index(drop=True)
    s = dataset.sensitive[column].to_numpy(dtype=float)[rows]
    permutations = draw_orders(s[None], n_permutations, random_state, groups)
    if groups is not None:
        permutations = np.stack([exchange_by_rank(s, order, s) for order in permutations])
    orders = np.concatenate([np.arange(len(s))[None], permutations])
    basis_of_s = number_basis(s)
    in_other_orders = basis_of_s.reordered(orders[1:])
    names = list(features.columns)
    values = np.array([hgr_of_bases(_basis_of(features[name]), basis_of_s)[0] for name in names])
    ranking = pd.DataFrame({"feature": names, "hgr": values}).sort_values("hgr", ascending=False)
    permuted = np.empty((len(names), n_permutations))
    for position, name in enumerate(names):
        yield 0.8 * position / len(names), "measuring each feature", ranking
        permuted[position] = hgr_of_bases(_basis_of(features[name]), in_other_orders)
    p_value, p_corrected = corrected_p_values(values, permuted)
    yield 0.8, "predicting the sensitive column from all features", ranking
    predicted, r2 = predict_column(features, s, random_state=random_state, groups=groups)
    joint_values = hgr_of_bases(number_basis(predicted), basis_of_s.reordered(orders))
    table = pd.DataFrame(
        {
            "feature": names,
            "hgr": values,
            "floor": permuted.mean(axis=1),
            "floor_q95": np.quantile(permuted, 0.95, axis=1),
            "p_value": p_value,
            "p_corrected": p_corrected,
            "is_copy": [name in copies for name in names],
        }
    )
    return ProxyRanking(
        sensitive=column,
        features=table.sort_values("hgr", ascending=False, kind="stable", ignore_index=True),
        joint=float(joint_values[0]),
        joint_floor_q95=float(np.quantile(joint_values[1:], 0.95)),
        joint_r2=r2,
        n=dataset.n_rows,
        n_used=len(s),
    )


def corrected_p_values(values: Array, permuted: Array) -> tuple[Array, Array]:
    """Return permutation p-values without and with a correction for the number of features.

    Parameters
    ----------
    values : (p,) array
        Statistic of each feature, which increases with the dependence.
    permuted : (p, B) array
        The statistics under B permutations. Each permutation is the same for all p features.

    Returns
    -------
    p_value, p_corrected : (p,) arrays
        p-values in [1 / (1 + B), 1]. A corrected p-value is never smaller than the uncorrected p-value.
    """
    count = permuted.shape[1]
    p_value = (1 + (permuted >= values[:, None] - _EQUAL).sum(axis=1)) / (1 + count)
    all_values = np.column_stack([values, permuted])
    deviations = all_values.std(axis=1)
    standardised = (all_values - all_values.mean(axis=1, keepdims=True)) / np.where(
        deviations > 0, deviations, 1.0
    )[:, None]
    order = np.argsort(-standardised[:, 0], kind="stable")
    # `largest` has, for each permutation and feature, the maximum over this feature and all weaker features.
    largest = np.maximum.accumulate(standardised[order, 1:][::-1], axis=0)[::-1]
    exceedance = (1 + (largest >= standardised[order, :1] - _EQUAL).sum(axis=1)) / (1 + count)
    p_corrected = np.empty(len(values))
    p_corrected[order] = np.maximum.accumulate(exceedance)
    return p_value, np.maximum(p_corrected, p_value)


def predict_column(
    features: pd.DataFrame, s: Array, *, random_state: int = 0, groups: NDArray[np.intp] | None = None
) -> tuple[Array, float]:
    """Predict the ranks of a sensitive column from all features on held-out rows (cross-validation).

    Parameters
    ----------
    features : DataFrame, shape (n, p)
    s : (n,) array
    groups : (n,) array, optional
        Group of each row. The rows of a group are held out together.

    Returns
    -------
    predicted : (n,) array
        Ranks, from 0 to 1.
    r2
        Share of the variance of the ranks that the predictions explain. It may be below 0.
    """
    from sklearn.model_selection import GroupKFold, KFold, cross_val_predict

    x = np.column_stack([_as_column(features[name]) for name in features])
    ranks = (pd.Series(s).rank() / len(s)).to_numpy()
    kind = KFold if groups is None else GroupKFold
    folds = kind(_FOLDS, shuffle=True, random_state=random_state)
    trees = boosted_trees(max_iter=80, min_samples_leaf=10, random_state=random_state)
    predicted = cross_val_predict(trees, x, ranks, groups=groups, cv=folds)
    variance = float(np.mean((ranks - ranks.mean()) ** 2))
    error = float(np.mean((ranks - predicted) ** 2))
    return predicted, 1 - error / variance if variance > 0 else 0.0


def _is_number(values: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype)


def _basis_of(values: pd.Series) -> Basis:
    from fairdash.dependence.spline_basis import category_basis, number_basis

    if _is_number(values):
        return number_basis(_filled(values))
    # Missing cells form a separate level.
    return category_basis(pd.factorize(values)[0])


def _filled(values: pd.Series) -> Array:
    """Replace missing numbers by the median, as the networks' preprocessing does."""
    cells = values.to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isnan(cells), np.nanmedian(cells) if not np.isnan(cells).all() else 0.0, cells)


def _as_column(values: pd.Series) -> Array:
    """Return numbers unchanged, and replace levels by their frequency ranks, which trees can split."""
    if _is_number(values):
        return values.to_numpy(dtype=float, na_value=np.nan)
    counts = values.value_counts()
    rank = {level: min(position, _MAX_LEVELS) for position, level in enumerate(counts.index)}
    return values.astype(object).map(rank).to_numpy(dtype=float)
