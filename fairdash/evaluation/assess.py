"""Assessment of predictions in a tidy table: one row per model, split part, measure and sensitive column."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.dependence.api import Estimator, Pairs
from fairdash.dependence.grouping import as_groups
from fairdash.dependence.measure import Measure
from fairdash.dependence.omnibus import (
    ENOUGH_PERMUTATIONS,
    MAX_PERMUTED_ROWS,
    Signs,
    draw_signs,
    multiplied_values,
    permuted_values,
)
from fairdash.dependence.omnibus_functions import Side
from fairdash.evaluation.crossed_cells import products_of
from fairdash.evaluation.figures import ERRORS, FIGURES, FLOOR_Q95, VALUE, VERDICT, Cell, tidy, untidy
from fairdash.evaluation.verdict import ALPHA, Nulls, add_verdicts, part_permutations
from fairdash.jobs.steps import Found, StepRunner, independent, run_directly
from fairdash.training.feature_encoder import TargetScale
from fairdash.training.losses import LOSSES, Loss
from fairdash.training.settings import OBJECTIVES
from fairdash.training.splits import Split
from fairdash.utils.classes import attributes_of
from fairdash.utils.registry import get_entry
from fairdash.utils.rounding import SINGLE, restore_ties, varies
from fairdash.utils.seeds import Stream, rng_of, seed_of

DEFAULT_MEASURES = (
    "hgr_spline",
    "hgr_kde_scores",
    "hgr_kde",
    "hgr_rdc",
    "chi2_kde",
    "fairquant",
    "fairquant_cumulative",
)
#: Default measure of dependence on pages, in reports and on the command line. Among the quick measures, only
#: this one's test detects all simulated kinds of links in nearly all samples of 300 rows
#: (benchmarks/judges.py).
DEFAULT_MEASURE = "hgr_spline"
N_PERMUTATIONS = 100
#: Maximum number of permutations if rows have weights, because no measure then has a fast method for
#: permutations. 39 permutations allow a p-value of exactly 5 %.
_MAX_WEIGHTED_PERMUTATIONS = 39
#: Maximum number of rows for measuring dependence. A larger part of a split is sampled. The sampling noise
#: per split, about 0.014, is similar to the difference between two trainings with different seeds.
MAX_ROWS = 5_000
#: Maximum number of rows for the omnibus test (verdict). A larger part of a split is sampled.
MAX_JUDGED_ROWS = 50_000
#: Maximum product of rows and permutations for a noise floor. The floor of a large part is low and stable, so
#: it needs fewer permutations.
ROWS_PERMUTED = 200_000
MIN_PERMUTATIONS = 20
#: Predictions count as untied if at most this share of the rows is tied.
_MAX_TIED_SHARE = 0.005
#: Number of permutations, or of draws of random signs, for the verdict. It does not depend on the number of
#: rows.
VERDICT_PERMUTATIONS = ENOUGH_PERMUTATIONS


def assess_predictions(
    dataset: Dataset,
    predictions: NDArray[np.float64],
    members: pd.DataFrame,
    splits: Sequence[Split],
    *,
    objective: str,
    loss: Loss = LOSSES["squared_error"],
    measures: Sequence[str] = DEFAULT_MEASURES,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
    parts: Collection[str] = ("train", "validation", "test"),
    progress: Callable[[float], None] | None = None,
    run_step: StepRunner = run_directly,
) -> pd.DataFrame:
    """Assess the accuracy and dependence of K models on the training, validation and test rows of splits.

    Parameters
    ----------
    dataset
        Data set with the predicted rows.
    predictions : (K, n) array
        Predictions in the target's units.
    members : DataFrame with K rows
        Models with the columns ``method``, ``lam``, ``split`` and ``diverged``.
    splits
        Row numbers of each split.
    objective
        Variable to assess: predictions for ``"demographic_parity"``, and residuals for
        ``"equalized_residuals"``.
    loss
        Training loss; for any loss except squared error, its ``deviance`` is an additional measure.
    measures
        Ids in :data:`fairdash.dependence.REGISTRY`. Values and noise floors use the same statistic.
    n_permutations
        Maximum number of permutations of the sensitive columns for each noise floor; large tables use fewer
        permutations.
    parts
        Names of the parts to assess, if a split has them.
    progress
        Function that is called with the completed share, 0 to 1.
    run_step
        Runner of steps (:class:`fairdash.jobs.steps.StepRunner`), with one step for each split number.

    Returns
    -------
    DataFrame, one row per model, part, measure and sensitive column
        Columns ``method``, ``lam``, ``split``, ``part`` ("train", "validation" or "test"), ``diverged``,
        ``n`` (number of rows), ``measure``, ``column``, and the values of
        :data:`fairdash.evaluation.figures.FIGURES` without the standard error. For measures of error,
        ``column`` is empty: ``mse`` is the mean squared error divided by the mean squared error of predicting
        the training average on the same rows (0 is perfect, 1 is as good as the average), ``rmse`` is in the
        target's units, and ``deviance`` is divided by the deviance of the training average. Each noise floor
        belongs to a single split. ``edge`` and ``p`` belong to the test of the mean over all splits
        (:func:`fairdash.evaluation.verdict.add_verdicts`) and are the same in all splits. ``verdict`` is one
        test of several measures, which are always the same, whatever the argument `measures`
        (:class:`fairdash.evaluation.verdict.Verdict`). Tests use test rows only, and their results are NaN
        for other parts: results on training rows are too good, and validation rows are used to select models.
        The function :func:`fairdash.evaluation.wide` returns one row per model and part.

        With several sensitive columns, a measure has one row per column. A measure that accepts several
        columns has another row for all columns jointly, with an empty column name. A column such as “age ×
        sex” represents a combination of two attributes
        (:func:`fairdash.evaluation.crossed_cells.products_of`). Each column has one verdict, except that the
        classes of an attribute share one joint test.

        Predictions that are constant up to rounding have dependence 0. If a sensitive column is constant in a
        part, dependence on it is undefined (NaN). Means over splits omit it.

        Permutations exchange the sensitive values of whole groups of rows. If a measure is cross-fitted, all
        rows of a group are in the same fold, except for HGR_NN, χ²_NN and MINE. Rows are weighted by the data
        set's weight, except in measures that do not accept weights. In parts with more than 5,000 rows,
        dependence is measured on a random sample of 5,000 rows, and the verdict uses at most 50,000 rows.
    """
    judge = Judge(dataset, objective=objective, loss=loss, measures=measures, random_state=random_state)

    def figures_of(j: int) -> Found:
        if progress is not None:
            progress(j / len(splits))
        figures: dict[str, Any] = {}
        in_split = (members["split"] == j).to_numpy()
        assessed = [part for part in splits[j].parts if part in parts]
        for n_done, part in enumerate(assessed):
            count = n_permutations if part == "test" else 0
            tested = judge.tested(predictions[in_split], splits[j], part) if count else {}
            values, null = judge.figures(
                predictions[in_split], splits[j], part, split_number=j, n_permutations=count
            )
            ids = members[in_split].reset_index(names="model").assign(part=part, n=len(splits[j].parts[part]))
            figures[part] = tidy(ids, judge.cells, values)
            figures |= {f"{part} {judge.cells.index(cell)}": each for cell, each in (null | tested).items()}
            if progress is not None:
                progress((j + (n_done + 1) / len(assessed)) / len(splits))
        return figures

    nulls: dict[tuple[int, str], Nulls] = {}

    def step(j: int) -> Found:
        figures = run_step(str(j), partial(figures_of, j))
        if progress is not None:
            progress((j + 1) / len(splits))
        return figures

    by_split = independent(run_step, {str(j): partial(step, j) for j in range(len(splits))})
    pairs = [(j, part) for j, split in enumerate(splits) for part in split.parts if part in parts]
    for j, part in pairs:
        stored_names = {cell: f"{part} {k}" for k, cell in enumerate(judge.cells)}
        if null := {cell: by_split[j][name] for cell, name in stored_names.items() if name in by_split[j]}:
            nulls[j, part] = null
    # The null values and the tables have the models in the same order.
    models, cells, values = untidy(pd.concat([by_split[j][part] for j, part in pairs], ignore_index=True))
    add_verdicts(models, cells, values, nulls, signed=judge.signed)
    order = np.argsort(models["model"].to_numpy(), kind="stable")
    keys = ["method", "lam", "split", "part", "diverged"]
    models = models[[*keys, *(column for column in models if column not in (*keys, "model"))]]
    return tidy(models.iloc[order], cells, values[order])


class Judge:
    """Settings for assessing all models of one data set: objective, loss, measures and seeds."""

    def __init__(
        self, dataset: Dataset, *, objective: str, loss: Loss, measures: Sequence[str], random_state: int
    ) -> None:
        """The parameters are the same as in :func:`assess_predictions`."""
        self.objective = get_entry(OBJECTIVES, objective, option="objective")
        self.sensitive = dataset.sensitive
        self.loss = loss
        self.random_state = random_state
        self.y = dataset.target.to_numpy(dtype=float)
        self.has_weight = dataset.weight is not None
        self.weight = dataset.row_weight
        self.groups = as_groups(dataset.groups, len(self.y))
        products = products_of(self.sensitive)
        self._values = pd.concat([self.sensitive, *products.values()], axis=1)
        self.columns = _columns(measures, self.sensitive.columns, products)
        self.signed = {cell for cell, (measure, _) in self.columns.items() if measure.signed}
        self._drawn: dict[str, tuple[bytes, NDArray[np.intp]]] = {}
        errors = ERRORS if loss.power else ERRORS[:2]
        crossed = {name: [name] for name, columns in products.items() if name in columns}
        verdicts = ((VERDICT, str(name)) for name in (*self.sensitive.columns, *crossed))
        #: Measures and columns for which each model is assessed.
        self.cells: list[Cell] = [*((error, "") for error in errors), *self.columns, *verdicts]
        self._attributes = {**attributes_of(self.sensitive), **crossed}

    def figures(
        self,
        predictions: NDArray[np.float64],
        split: Split,
        part: str,
        *,
        split_number: int,
        n_permutations: int,
    ) -> tuple[NDArray[np.float64], Nulls]:
        """Return the results of K models for M pairs of measure and column, (K, M, F), in a part of a split.

        The second result contains the values for permuted sensitive columns. If a large part is sampled, the
        number of the split is the seed of the sample. All splits use the same permutations. Without
        permutations, the noise floors are NaN.
        """
        rows, train, y, weight = split.parts[part], split.train, self.y, self.weight
        squared = [
            np.average((predictions[k : k + 1, rows][0] - y[rows]) ** 2, weights=weight[rows])
            for k in range(len(predictions))
        ]
        relative = {"rows": rows, "train": train}
        mse = LOSSES["squared_error"].relative_of_many(y, predictions, weight, **relative)
        errors = [mse, np.sqrt(squared)]
        if self.loss.power:
            errors.append(self.loss.relative_of_many(y, predictions, weight, **relative))
        values = np.full((len(predictions), len(self.cells), len(FIGURES) - 1), np.nan)
        values[:, : len(errors), VALUE] = np.array(errors, dtype=float).T
        if len(rows) > MAX_ROWS:
            draw = rng_of(Stream.MEASURED_ROWS, self.random_state, split_number)
            rows = draw.choice(rows, MAX_ROWS, replace=False)
        u = self._assessed_variable(predictions, split, rows)
        dependence, nulls = self._dependence(u, rows, n_permutations=n_permutations)
        for cell, triple in dependence.items():
            values[:, self.cells.index(cell), : FLOOR_Q95 + 1] = np.transpose(triple)
        return values, nulls

    def tested(
        self, predictions: NDArray[np.float64], split: Split, part: str, *, permuted: bool = True
    ) -> Nulls:
        """Return the omnibus test's measures for the observed and B permuted orders of s, (W, M, K, B + 1).

        Without permutations, the result contains only the observed order, (W, M, K, 1). All splits use the
        same orders of the whole table, or the same random signs if the table has more than 20,000 rows.
        """
        rows = split.parts[part]
        if len(rows) > MAX_JUDGED_ROWS:
            # A row has the same random priority in all parts, so it is sampled in all parts that contain it
            # or in none.
            rows = np.sort(rows[np.argsort(self._priority[rows])[:MAX_JUDGED_ROWS]])
        u = self._assessed_variable(predictions, split, rows)
        weight = self.weight[rows] if self.has_weight else None
        of_column: dict[str, NDArray[np.float64]] = {}
        for name, columns in self._attributes.items():
            # Numeric columns are used unchanged. Classes become numbers, in an arbitrary order.
            s = self._values[columns].to_numpy(dtype=float) @ np.arange(1.0, len(columns) + 1)
            # All classes of an attribute share one test. Separate tests would report a link by chance in more
            # than 5 % of runs.
            side = Side.of(s[rows], are_classes=len(columns) > 1)
            if len(self.y) > MAX_PERMUTED_ROWS:
                blocks, signs = self._signs
                signs = signs[: None if permuted else 0]
                values = multiplied_values(u, side, blocks[rows], signs, weight=weight)
            else:
                orders = self._orders(name, s, rows, VERDICT_PERMUTATIONS if permuted else 0)
                values = permuted_values(u, side, orders, weight=weight)
            if not varies(s[rows], weight):
                values = np.full_like(values, np.nan)
            of_column |= dict.fromkeys(columns, values)
        return {(VERDICT, column): values for column, values in of_column.items()}

    def _orders(
        self, name: str, s: NDArray[np.float64], rows: NDArray[np.int64], count: int
    ) -> NDArray[np.intp]:
        """Return permutations of a part's rows for a sensitive attribute or column, (count, m)."""
        key = rows.tobytes()
        # The verdict and the noise floors of a part use the same permutations. The cache holds only those of
        # the latest part.
        key_of_orders, orders = self._drawn.get(name, (b"", np.empty((0, 0), dtype=np.intp)))
        if key_of_orders != key or len(orders) < count:
            orders = part_permutations(
                s,
                rows,
                count=count,
                seed=seed_of(Stream.TABLE_PERMUTATIONS, self.random_state),
                groups=self.groups,
            )
            self._drawn[name] = (key, orders)
        return orders[:count]

    @cached_property
    def _priority(self) -> NDArray[np.int64]:
        return rng_of(Stream.MEASURED_ROWS, self.random_state).permutation(len(self.y))

    @cached_property
    def _signs(self) -> tuple[NDArray[np.intp], Signs]:
        """Return each row's block and the blocks' random signs; a block contains all rows of a group."""
        codes = np.arange(len(self.y)) if self.groups is None else self.groups
        return draw_signs(codes, VERDICT_PERMUTATIONS, self.random_state)

    def _assessed_variable(
        self, predictions: NDArray[np.float64], split: Split, rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the assessed variable, (K, m), without rounding errors if it is otherwise constant."""
        u = np.asarray(self.objective.audit(predictions[:, rows], self.y[rows]))
        # Networks compute in single precision, so the size of the rounding error depends on the unit of the
        # target.
        unit = TargetScale.of(self.y[split.train], self.loss, self.weight[split.train]).unit
        return restore_ties(u, eps=SINGLE, unit=unit)

    def _dependence(
        self, u: NDArray[np.float64], rows: NDArray[np.int64], *, n_permutations: int
    ) -> tuple[dict[Cell, list[NDArray[np.float64]]], Nulls]:
        """Return values, noise floors and floor quantiles of u (K, m) by measure and column, and nulls."""
        figures, nulls = {}, {}
        weight = self.weight[rows] if self.has_weight else None
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1]
        count = permutations_behind_floor(len(rows), n_permutations, has_weight=self.has_weight)
        # If a measure uses several columns jointly, the first column determines the ranks of the rows.
        permutations = {
            column: self._orders(column, self._values[column].to_numpy(dtype=float), rows, count)
            for column in ({chosen[0] for _, chosen in self.columns.values()} if n_permutations else ())
        }
        for cell, (measure, chosen) in self.columns.items():
            s = self._values[chosen].to_numpy(dtype=float)[rows]
            v = np.broadcast_to(s, (len(u), *s.shape))
            weights = weight if measure.accepts_weights else None
            pairs = Pairs.of(u, v, weights, groups, measure=measure)
            estimator = Estimator(measure, random_state=self.random_state)
            unknown = np.full(len(u), np.nan)
            is_defined = varies(s.T, weight).any()
            figures[cell] = [estimator.values(pairs) if is_defined else unknown, unknown, unknown]
            if not n_permutations:
                continue
            orders = permutations[chosen[0]]
            values = _null_values(estimator, pairs, orders)
            if not is_defined:
                values = np.full_like(values, np.nan)
            sizes = np.abs(values) if measure.signed else values
            floors = sizes.mean(axis=-1), np.quantile(sizes, 1 - ALPHA, axis=-1)
            figures[cell][1:] = [floor.max(axis=0) for floor in floors]
            nulls[cell] = values
        return figures, nulls


def permutations_behind_floor(n_rows: int, max_rows: int, *, has_weight: bool) -> int:
    """Return the number of permutations for the noise floors of a part with `n_rows` rows.

    With weights, each permutation is evaluated twice: first the weights stay with u, then they move with v.
    """
    if has_weight:
        n_rows, max_rows = 2 * n_rows, min(max_rows, _MAX_WEIGHTED_PERMUTATIONS)
    return min(max_rows, max(MIN_PERMUTATIONS, ROWS_PERMUTED // n_rows))


def _null_values(estimator: Estimator, pairs: Pairs, orders: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the null values of K models for one s, as in :meth:`fairdash.dependence.api.Estimator.null`.

    A rank-based measure has the same null distribution for all predictions without ties, because all orders
    of the rows are equally likely. The null values of one model are then used for all models. A few ties,
    such as predictions that are equal in single precision, hardly affect ranks and are ignored. If weights
    stay with u, or if there are groups of rows, each model has a separate null distribution.
    """
    if not estimator.measure.rank_based or pairs.groups is not None:
        return estimator.null(pairs, orders)
    ordered = np.sort(pairs.u, axis=1)
    untied = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).mean(axis=1) <= _MAX_TIED_SHARE)
    if len(untied) < 2:
        return estimator.null(pairs, orders)
    distinct = np.setdiff1d(np.arange(len(pairs.u)), untied[1:])
    null_distributions = []
    for moves in (False, True) if pairs.weight is not None else (True,):
        selected = np.arange(len(pairs.u)) if not moves else distinct
        weight = None if pairs.weight is None else pairs.weight[selected]
        sample = Pairs(pairs.u[selected], pairs.v[selected], weight)
        values = estimator.permuted(sample, orders, permute_weight=moves)
        null = np.empty((len(pairs.u), len(orders)))
        null[untied] = values[np.searchsorted(selected, untied[0])]
        null[selected] = values
        null_distributions.append(null)
    return np.stack(null_distributions)


def _columns(
    measures: Sequence[str], sensitive: Iterable[str], products: Mapping[str, pd.DataFrame]
) -> dict[Cell, tuple[Measure, list[str]]]:
    """Map each pair of a measure and a column name ("" for all columns) to the measure and its columns."""
    single_columns = [str(column) for column in sensitive]
    columns_by_name = {column: [column] for column in single_columns} | {
        name: [*map(str, names)] for name, names in products.items()
    }
    columns: dict[Cell, tuple[Measure, list[str]]] = {}
    for name in measures:
        measure = get_entry(REGISTRY, name, option="measure")
        for column, names in columns_by_name.items():
            if len(names) == 1 or measure.multivariate:
                columns[name, column] = (measure, names)
        if len(single_columns) > 1 and measure.multivariate:
            columns[name, ""] = (measure, single_columns)
    return columns
