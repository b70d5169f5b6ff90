"""Trade-off curve from the standard to the fairest model; its points are trained models and blends.

>>> [point.lam for point in curve_points("hgr_nn", [1.0, 4.0], between=1)]
[0.0, 0.5, 1.0, 2.0, 4.0]
>>> curve_points("hgr_nn", [1.0, 4.0], between=1)[3]
ModelKey(method='hgr_nn', lam=2.0, low=1.0, high=4.0, share=0.5)
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.data.dataset import Dataset
from fairdash.evaluation.assess import DEFAULT_MEASURES, Judge
from fairdash.evaluation.figures import (
    EDGE,
    FLOOR,
    FLOOR_Q95,
    VALUE,
    VERDICT,
    Cell,
    P,
    of_measure,
    tidy,
    untidy,
)
from fairdash.evaluation.verdict import VERDICT_AT, Nulls, verdict_on
from fairdash.jobs.steps import Found, StepRunner, independent, run_directly
from fairdash.training.losses import LOSSES, Loss
from fairdash.training.methods import FAIR_TARIFF, ModelKey
from fairdash.training.splits import Split
from fairdash.training.sweep import STANDARD, Sweep

PARTS = ("validation", "test")
#: Approximate maximum number of slider positions. Between any two neighbouring trained weights, the number of
#: positions is the same.
MAX_STOPS = 45
MAX_BETWEEN = 4
#: Results of a blend that are interpolated between the results of its two neighbours.
_INTERPOLATED = [FLOOR, FLOOR_Q95, EDGE]


def curve_points(method: str, lams: Sequence[float], *, between: int | None = None) -> tuple[ModelKey, ...]:
    """Return all points of a method's curve: the standard model at λ = 0, the trained weights, and blends.

    Parameters
    ----------
    lams
        Trained weights λ ≥ 0, in any order.
    between
        Number of blends between two trained weights. By default, there are up to 4 blends (fewer if there are
        many weights), but no blends of tariffs, because a blend has no relativities to file. The λ of the
        blends are evenly spaced on a logarithmic scale, or on a linear scale between 0 and the first trained
        weight.
    """
    trained_lams = sorted({0.0, *lams})
    if between is None:
        default = int(np.clip(MAX_STOPS // max(len(trained_lams) - 1, 1) - 1, 0, MAX_BETWEEN))
        between = 0 if method == FAIR_TARIFF else default
    points = []
    for low, high in itertools.pairwise(trained_lams):
        points.append(ModelKey(method, low))
        for k in range(1, between + 1):
            share = k / (between + 1)
            lam = low * (high / low) ** share if low > 0 else high * share
            points.append(ModelKey(method, _rounded_lam(lam, low, high), low=low, high=high, share=share))
    return (*points, ModelKey(method, trained_lams[-1]))


@lru_cache(maxsize=32)
def points_of_plan(plan: Sweep, method: str) -> tuple[ModelKey, ...]:
    """Return the points of a method's trade-off curve in a plan; only plans without tariffs have blends."""
    return curve_points(method, plan.lams, between=0 if FAIR_TARIFF in plan.methods else None)


def blend(
    low: NDArray[np.float64], high: NDArray[np.float64], share: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the predictions of a point, ``(1 - share) * low + share * high``; a share of 0 returns `low`.

    The square is convex, so the squared error of a blend is at most the weighted mean of its neighbours'
    squared errors. The error of a blend is therefore never larger than the larger error of its two
    neighbours. The dependence of a blend, however, may be larger than that of both neighbours.
    """
    return low + share * (high - low)


def _rounded_lam(lam: float, low: float, high: float) -> float:
    """Round λ to the fewest digits, at least three, that distinguish it from the neighbouring points."""
    digits = 3 if high - low > 0.02 * high else 6
    return float(f"{lam:.{digits}g}")


def assess_curve(
    dataset: Dataset,
    predictions: NDArray[np.float64],
    frame: pd.DataFrame,
    members: pd.DataFrame,
    splits: Sequence[Split],
    *,
    objective: str,
    loss: Loss = LOSSES["squared_error"],
    measures: Sequence[str] = DEFAULT_MEASURES,
    random_state: int = 0,
    progress: Callable[[float], None] | None = None,
    run_step: StepRunner = run_directly,
) -> pd.DataFrame:
    """Assess accuracy and dependence at every point of each method's curve, on validation and test rows.

    Parameters
    ----------
    dataset, predictions, members, splits, objective, loss, measures, random_state, progress
        Same meaning as in :func:`fairdash.evaluation.assess_predictions`; `members` includes each split's
        standard model.
    frame
        Result of :func:`fairdash.evaluation.assess_predictions` for these models.
    run_step
        Runner of steps (:class:`fairdash.jobs.steps.StepRunner`), with one step per method.

    Returns
    -------
    DataFrame, one row per method, point, split, part, measure and sensitive column
        Columns ``method``, ``lam``, ``low``, ``high``, ``share`` (see
        :class:`fairdash.training.methods.ModelKey`), ``split``, ``part`` ("validation" or "test"),
        ``diverged`` (always False, because blends with a diverged model are omitted), ``n``, and measures and
        results as in `frame`. Points of trained weights have the same results as in `frame`. Values of a
        blend are computed from its predictions. The noise floors and the edge (the largest value that is not
        significant) of a blend are interpolated between its neighbours. The p-values of a blend are NaN,
        except the one of the verdict. The verdict compares the blend's values with the permutations of the
        standard model, because the null distribution of ranks hardly depends on the model. The curve of every
        method starts at λ = 0, the standard model.
    """
    judge = Judge(dataset, objective=objective, loss=loss, measures=measures, random_state=random_state)
    methods = [method for method in members["method"].unique() if method != STANDARD]
    rows_by_model, cells, values = untidy(frame)
    is_verdict = np.array([measure == VERDICT for measure, _ in cells])
    is_tested = not np.isnan(values[:, is_verdict, P]).all()
    shuffled: dict[tuple[int, int], Nulls] | None = {} if is_tested else None

    def path_of_method(done: int, method: str) -> Found:
        if progress is not None:
            progress(done / len(methods))
        stops, figures = [], []
        verdicts = _BlendVerdicts(judge, predictions, splits, shuffled)
        for j in range(len(splits)):
            rows_of_split = members[(members["split"] == j) & members["method"].isin([STANDARD, method])]
            lams = rows_of_split.loc[rows_of_split["method"] == method, "lam"]
            points = pd.DataFrame(curve_points(method, lams.tolist()))
            row_by_lam = _rows_by_lam(rows_of_split, method, j)
            points = points[points["low"].isin(row_by_lam) & points["high"].isin(row_by_lam)]
            share = points["share"].to_numpy()
            is_blend = share > 0
            blends = points[is_blend]
            low, high = ([row_by_lam[lam] for lam in blends[end]] for end in ("low", "high"))
            blended: Any = _Blends(predictions, low, high, share[is_blend])
            verdicts.read(blended, blends["lam"].tolist(), j, row_by_lam[min(row_by_lam)])
            for part in PARTS:
                if part not in splits[j].parts:
                    continue
                rows_of_part = rows_by_model[(rows_by_model["split"] == j) & (rows_by_model["part"] == part)]
                rows = _rows_by_lam(rows_of_part, method, j)
                at_low, at_high = (values[[rows[lam] for lam in points[end]]] for end in ("low", "high"))
                results = at_low.copy()
                results[:, :, _INTERPOLATED] = blend(at_low, at_high, share[:, None, None])[
                    :, :, _INTERPOLATED
                ]
                if is_blend.any():
                    of_blends, _ = judge.figures(blended, splits[j], part, split_number=j, n_permutations=0)
                    results[is_blend, :, VALUE] = of_blends[:, :, VALUE]
                    results[is_blend, :, P:] = np.nan
                    results[np.outer(is_blend, is_verdict)] = np.nan
                stops.append(points.assign(split=j, part=part, diverged=False, n=len(splits[j].parts[part])))
                figures.append(results)
            if progress is not None:
                progress((done + (j + 1) / len(splits)) / len(methods))
        all_values, path = np.concatenate(figures), pd.concat(stops, ignore_index=True)
        verdicts.write(path, cells, all_values)
        return {"way": tidy(path, cells, all_values)}

    def step(k: int) -> pd.DataFrame:
        path_table: pd.DataFrame = run_step(methods[k], partial(path_of_method, k, methods[k]))["way"]
        if progress is not None:
            progress((k + 1) / len(methods))
        return path_table

    tables = independent(run_step, {method: partial(step, k) for k, method in enumerate(methods)})
    if not tables:
        stops = ["method", "lam", "low", "high", "share", "split", "part", "diverged", "n"]
        return tidy(pd.DataFrame(columns=stops), cells, values[:0])
    return pd.concat(tables, ignore_index=True)


@dataclass(frozen=True)
class _Blends:
    """Predictions (K, n) of blends, which are computed only for the requested rows to save memory."""

    predictions: NDArray[np.float64]
    low: Sequence[int]
    high: Sequence[int]
    share: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.share)

    def __getitem__(self, at: tuple[slice, NDArray[np.int64]]) -> NDArray[np.float64]:
        low, high = (
            self.predictions[np.array(models)[at[0], None], at[1]] for models in (self.low, self.high)
        )
        return blend(low, high, self.share[at[0], None])


class _BlendVerdicts:
    """Verdicts on blends of two models, computed from the permutations of one trained model."""

    def __init__(
        self,
        judge: Judge,
        predictions: NDArray[np.float64],
        splits: Sequence[Split],
        shuffled: dict[tuple[int, int], Nulls] | None,
    ) -> None:
        """Store `judge`, which computes verdicts, and `shuffled`, a cache of values for permuted s."""
        self._judge, self._predictions, self._splits, self._shuffled = judge, predictions, splits, shuffled
        self._of_stops: dict[tuple[Cell, float], list[NDArray[np.float64]]] = defaultdict(list)

    def read(self, blended: Any, stops: Sequence[float], j: int, model: int) -> None:
        """Add the blends (K, n) of split j at the weights λ in `stops`, with the permutations of `model`."""
        if self._shuffled is None or not len(blended):
            return
        if (j, model) not in self._shuffled:
            predictions = self._predictions[[model]]
            self._shuffled[j, model] = self._judge.tested(predictions, self._splits[j], "test")
        observed = self._judge.tested(blended, self._splits[j], "test", permuted=False)
        for cell, values in observed.items():
            null = self._shuffled[j, model][cell][:, :, 0, 1:]
            if np.isnan(null).any():
                # No test is possible if the sensitive column is constant in these rows.
                continue
            for k, stop in enumerate(stops):
                self._of_stops[cell, stop].append(np.concatenate([values[:, :, k], null], axis=-1))

    def write(self, path: pd.DataFrame, cells: Sequence[Cell], values: NDArray[np.float64]) -> None:
        """Write the verdicts, over all added splits, into the results (K, M, F) of the method's curve."""
        blends = ((path["share"] > 0) & (path["part"] == "test")).to_numpy()
        for (cell, stop), of_splits in self._of_stops.items():
            stop_rows = np.flatnonzero(blends & (path["lam"] == stop).to_numpy())
            values[stop_rows[:, None], cells.index(cell), VERDICT_AT] = verdict_on(of_splits)


def curve_predictions(
    predictions: NDArray[np.float64], members: pd.DataFrame, point: ModelKey
) -> dict[int, NDArray[np.float64]]:
    """Return a point's predictions (n,) by split, without splits in which one of its models diverged."""
    predictions_by_split = {}
    for split in np.unique(members["split"]):
        row_by_lam = _rows_by_lam(members, point.method, split)
        if point.low in row_by_lam and point.high in row_by_lam:
            low, high = predictions[row_by_lam[point.low]], predictions[row_by_lam[point.high]]
            predictions_by_split[int(split)] = blend(low, high, point.share) if point.share else low
    return predictions_by_split


def _rows_by_lam(members: pd.DataFrame, method: str, split: int) -> dict[float, int]:
    """Map each trained λ of a method in one split to its row in the predictions; 0 is the standard model."""
    # Arrays are faster than frames. The page makes this call for every split whenever the slider moves.
    names, lams, rows = members["method"].to_numpy(), members["lam"].to_numpy(), members.index.to_numpy()
    is_usable = ~members["diverged"].to_numpy(dtype=bool) & (members["split"].to_numpy() == split)
    of_method, standard = is_usable & (names == method), rows[is_usable & (names == STANDARD)]
    row_by_lam = dict(zip(lams[of_method].tolist(), rows[of_method].tolist(), strict=True))
    if len(standard):
        row_by_lam[0.0] = int(standard[0])
    return row_by_lam


Choice = tuple[ModelKey, bool]


def least_error(path: pd.DataFrame, measure: str, *, at_most: float, error: str = "mse") -> Choice:
    """Return the most accurate point with dependence up to `at_most`, or else the least dependent point.

    The second result is True if the dependence of the returned point is at most `at_most`.

    Parameters
    ----------
    path
        Means over the splits on validation rows, as returned by :func:`fairdash.evaluation.summarise_splits`.
    """
    return _best_point(of_measure(path, measure), of_measure(path, error), limit=at_most)


def least_dependence(path: pd.DataFrame, measure: str, *, growth: float, error: str = "mse") -> Choice:
    """Return the least dependent point with an error at most `growth` (0.1: 10 %) above the standard model's.

    The point λ = 0 always qualifies if `growth` is at least 0.
    """
    errors = of_measure(path, error)
    standard = errors.loc[errors["lam"] == 0, "value"].iloc[0]
    return _best_point(errors, of_measure(path, measure), limit=standard * (1 + growth))


def knee(path: pd.DataFrame, measure: str, *, error: str = "mse") -> Choice:
    """Return the point furthest below the straight line between the most accurate and least dependent points.

    Both axes are scaled to [0, 1] between the most accurate and the least dependent point (Satopää et al.,
    2011, "Finding a 'kneedle' in a haystack"). If no point is below the line, the curve has no knee, and the
    function returns the standard model and False.
    """
    tables = [of_measure(path, name) for name in (error, measure)]
    is_known = tables[0]["value"].notna() & tables[1]["value"].notna()
    usable = tables[0][is_known]
    errors, values = (table["value"][is_known].to_numpy(dtype=float) for table in tables)
    accurate, fair = errors.argmin(), values.argmin()
    x = (values - values[fair]) / ((values[accurate] - values[fair]) or 1.0)
    y = (errors - errors[accurate]) / ((errors[fair] - errors[accurate]) or 1.0)
    below = 1 - x - y
    best = int(below.argmax())
    if below[best] <= 1e-9:
        return ModelKey(str(usable["method"].iloc[best]), 0.0), False
    return _choice_at(usable, best, reached=True)


def _best_point(limited: pd.DataFrame, key: pd.DataFrame, *, limit: float) -> Choice:
    """Return the point with the smallest `key` within the limit, or else the point nearest the limit."""
    is_within = limited["value"] <= limit
    if not is_within.any():
        return _choice_at(limited, int(limited["value"].to_numpy(dtype=float).argmin()), reached=False)
    key_within = key[is_within]
    return _choice_at(key_within, int(key_within["value"].to_numpy(dtype=float).argmin()), reached=True)


def _choice_at(path: pd.DataFrame, place: int, *, reached: bool) -> Choice:
    return ModelKey(str(path["method"].iloc[place]), float(path["lam"].iloc[place])), reached


def trained_points(paths: pd.DataFrame, *, standard_of: str) -> pd.DataFrame:
    """Return the rows of trained models among all points (:func:`fairdash.evaluation.assess_curve`).

    The trade-off curve of every method starts with the standard model. The result contains this model only
    once, from `standard_of`.
    """
    model_rows = paths[paths["share"] == 0]
    return model_rows[(model_rows["lam"] > 0) | (model_rows["method"] == standard_of)]


def pareto_efficient(error: ArrayLike, dependence: ArrayLike) -> NDArray[np.bool_]:
    """Mark points for which no other point is smaller in one value and not larger in the other.

    Parameters
    ----------
    error, dependence : (K,) arrays
        Errors and dependences; smaller values are better. A point with a NaN is never efficient and
        does not dominate other points.

    Returns
    -------
    (K,) array of bool
    """
    points = np.column_stack([np.asarray(error, dtype=float), np.asarray(dependence, dtype=float)])
    no_worse = (points[:, None, :] <= points[None, :, :]).all(axis=2)
    is_better = (points[:, None, :] < points[None, :, :]).any(axis=2)
    dominated = (no_worse & is_better).any(axis=0)
    efficient: NDArray[np.bool_] = ~dominated & np.isfinite(points).all(axis=1)
    return efficient


def hypervolume(error: ArrayLike, dependence: ArrayLike, *, corner: tuple[float, float]) -> float:
    """Return the share of the area from (0, 0) to `corner` that points dominate (Zitzler and Thiele, 1999).

    Parameters
    ----------
    error, dependence : (K,) arrays
        Errors and dependences; smaller values are better. Values below 0 count as 0, and points
        with a NaN are ignored.
    corner
        Positive error and positive dependence beyond which points are ignored.

    Returns
    -------
    float
        Share in [0, 1]: 0 if no point is within the rectangle, and 1 if a point is at (0, 0). A larger share
        is better.
    """
    points = np.column_stack([np.asarray(error, dtype=float), np.asarray(dependence, dtype=float)])
    points = np.maximum(points[np.isfinite(points).all(axis=1)], 0.0)
    points = points[(points < corner).all(axis=1)]
    area, lowest = 0.0, corner[1]
    for e, d in points[np.lexsort((points[:, 1], points[:, 0]))]:
        if d < lowest:
            area += (corner[0] - e) * (lowest - d)
            lowest = d
    return float(area / (corner[0] * corner[1]))
