"""Comparison of two models (“points”) of a run; pages, reports and files use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence.omnibus import COMPONENTS
from fairdash.evaluation import (
    common_grid,
    curve_predictions,
    densities,
    points_of_plan,
    quantile_profile,
    trained_points,
    transfers_by_group,
)
from fairdash.evaluation.crossed_cells import TOGETHER
from fairdash.evaluation.figures import VERDICT
from fairdash.evaluation.result import SweepResult
from fairdash.evaluation.verdict import is_link
from fairdash.training.crossvalidation import tuned_settings
from fairdash.training.methods import THE_STANDARD, ModelKey
from fairdash.training.settings import OBJECTIVES, Objective
from fairdash.training.split_kinds import SPLITS
from fairdash.training.sweep import STANDARD, Sweep
from fairdash.utils.classes import attributes_of
from fairdash.utils.text import CROSS, label, number, span, with_unit
from fairdash.views.reports.fronts import Front

Array = NDArray[np.float64]

#: Header of the column of row numbers in exported tables. The first row of the data set has number 1.
ROW = "row (from 1)"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of a model of a run, point B, with a reference, point A (by default the standard model).

    Parameters
    ----------
    title
        Name of the data set.
    plan
        Plan of the training.
    result, fronts
        Result of the run, and its Pareto fronts for the sensitive column in view, by objective.
    objective
        Id of the objective in view; models are trained for ``plan.objective``.
    measure
        Id of the measure in view.
    a, b
        The two points that are compared.
    """

    title: str
    plan: Sweep
    result: SweepResult
    fronts: Mapping[str, Front]
    objective: str
    measure: str
    a: ModelKey
    b: ModelKey

    @property
    def front(self) -> Front:
        """Pareto front for the objective in view."""
        return self.fronts[self.objective]

    @property
    def sensitive(self) -> str:
        """Sensitive column in view."""
        return self.front.sensitive

    @property
    def refit_plan(self) -> Sweep:
        """Plan for refitting a model to all rows, with the tuned settings if the run tuned them."""
        tuning = self.result.tuning
        if tuning is None:
            return self.plan
        return replace(self.plan, settings=tuned_settings(tuning, self.plan.settings), tune=False)

    @property
    def objective_seen(self) -> Objective:
        return OBJECTIVES[self.objective]

    @property
    def target(self) -> str:
        return self.result.target_name

    @property
    def target_called(self) -> str:
        """Display name of the target."""
        return self.called_column(self.target)

    @property
    def sensitive_called(self) -> str:
        """Display name of the sensitive column, of a combination of columns, or of all columns together."""
        if self.sensitive in self.result.sensitive:
            return self.called_column(self.sensitive)
        if self.sensitive == TOGETHER:
            return " and ".join(map(self.called_column, attributes_of(self.result.sensitive)))
        return CROSS.join(map(self.called_column, self.sensitive.split(CROSS)))

    @property
    def values_called(self) -> str:
        """Display name of the values in view: of the sensitive column, or of combinations of attributes."""
        is_cell = self.sensitive not in self.result.sensitive
        return f"{self.sensitive_called}, cell" if is_cell else self.sensitive_called

    def groups_called(self, table: pd.DataFrame) -> list[str]:
        """Return the name of each group: a combination of attributes, or a range of the sensitive column."""
        cells, limits = self.front.cells_called, zip(table["s_low"], table["s_high"], strict=True)
        return [cells[int(low)] if cells else span(low, high) for low, high in limits]

    @cached_property
    def classes_called(self) -> str:
        """Display name of the attribute if the sensitive column is one of its classes, else an empty string.

        The omnibus test covers all classes of the attribute at once.
        """
        for name, columns in attributes_of(self.result.sensitive).items():
            if len(columns) > 1 and self.sensitive in columns:
                return self.sensitive_called.removesuffix(self.sensitive.removeprefix(name))
        return ""

    def called_column(self, column: str) -> str:
        """Return the display name of a column or, if it has no display name, its header."""
        return self.result.names.get(column, column)

    @property
    def unit(self) -> str:
        """Unit of the target, or an empty string."""
        return self.result.units.get(self.target, "")

    @property
    def sensitive_unit(self) -> str:
        return self.result.units.get(self.sensitive, "")

    @property
    def sensitive_axis(self) -> str:
        """Display name and unit of the sensitive column, as an axis title."""
        return label(self.values_called, self.sensitive_unit)

    @property
    def points(self) -> tuple[ModelKey, ...]:
        """Points A and B, or only A if both are the same model."""
        return (self.a,) if self.is_of_one_point else (self.a, self.b)

    @property
    def rows_and_splits(self) -> str:
        """Numbers of test rows and of splits as a text, for a chart's subtitle."""
        splits = SPLITS[self.plan.split].mean_of(len(self.result.splits))
        return f"{len(self.result.splits[0].test):,} test rows{self._of_sample}, {splits}"

    @property
    def subtitle_of_first_split(self) -> str:
        """Number of test rows and objective as a text, for the subtitle of a chart of the first split."""
        rows = f"{len(self.result.splits[0].test):,} test rows{self._of_sample} of the first split"
        return f"{rows}; {self.objective_seen.title.lower()}"

    @property
    def sample(self) -> str:
        """Text on the sample, such as "5,000 of 678,013 rows, drawn at random"; "" if there is no sample."""
        drawn_from = self.result.drawn_from
        if drawn_from is None:
            return ""
        return f"{len(self.result.target):,} of {drawn_from:,} rows, drawn at random"

    @property
    def _of_sample(self) -> str:
        return f" in a sample of {len(self.result.target):,}" if self.sample else ""

    @property
    def target_mean(self) -> float:
        """Average of the target, weighted by exposure if there is one."""
        return float(np.average(self.result.target, weights=self.result.weight))

    @property
    def s(self) -> Array:
        return self.front.s

    def called(self, point: ModelKey) -> str:
        """Return the short name of point A or B; it includes the method if A and B have different methods."""
        both_named = not (self.a.is_standard or self.b.is_standard) and self.a.method != self.b.method
        return point.title if both_named else point.name

    def mean(self, measure: str, point: ModelKey) -> float:
        """Return the mean of a measure over the splits, on test rows."""
        return self.front.figure(measure, point).value

    def shown(self, measure: str, point: ModelKey) -> str:
        """Format the mean of a measure; the number of digits follows from its standard error."""
        figure = self.front.figure(measure, point)
        return number(figure.value, error=figure.se)

    @property
    def is_of_one_point(self) -> bool:
        """Return True if A and B are the same model."""
        return self.a == self.b or (self.a.is_standard and self.b.is_standard)

    def edge(self, point: ModelKey) -> float:
        """Return the largest mean at which a 5 % test finds no link (:mod:`fairdash.evaluation.verdict`)."""
        return self.front.figure(self.measure, point).edge

    def has_link(self, point: ModelKey) -> bool:
        """Return True if the omnibus test detects a link with the sensitive column.

        Without an omnibus test, return True if the measure in view exceeds its limit.
        """
        p_value = self.verdict_p(point)
        if np.isnan(p_value):
            return self.mean(self.measure, point) > self.edge(point)
        return is_link(p_value)

    def verdict_p(self, point: ModelKey) -> float:
        """Return the p-value of the omnibus test; NaN if the run has no such test."""
        return self.front.figure(VERDICT, point).p

    def found_by(self, point: ModelKey) -> tuple[str, float, float] | None:
        """Return the measure that shows the clearest link in the omnibus test, and its mean and limit.

        Return None if the run has no omnibus test.
        """
        verdict = self.front.figure(VERDICT, point)
        if np.isnan(verdict.by):
            return None
        component = list(COMPONENTS.values())[int(verdict.by)]
        name = component.called.format(u=f"the {self.objective_seen.audited}", v=self.sensitive_called)
        if self.classes_called and not name.startswith("the sum"):
            name = f"the square of {name}, summed over the classes,"
        return name, verdict.value, verdict.edge

    @property
    def first_point_without_link(self) -> ModelKey | None:
        """Model of B's method with the smallest λ at which test and measure in view find no link."""
        front, method = self.front, self.b.method
        points_of_method = trained_points(front.rows(self.measure), standard_of=method)
        lams = points_of_method.loc[points_of_method["method"] == method, "lam"].sort_values()
        points = (ModelKey(method, lam) for lam in lams)
        independent_points = (point for point in points if self.mean(self.measure, point) <= self.edge(point))
        return next((point for point in independent_points if not self.has_link(point)), None)

    def error_in_words(self, point: ModelKey) -> str:
        """Format a point's error: RMSE in the target's unit, or deviance ÷ deviance of the mean."""
        if self.front.error != "mse":
            return self.shown(self.front.error, point)
        return with_unit(number(self.mean("rmse", point)), self.unit)

    def curve_point(self, point: ModelKey) -> ModelKey:
        """Return the slider's position at this point: a trained model, or a blend of two trained models."""
        stops = points_of_plan(self.plan, point.method) if point.method in self.plan.methods else ()
        return next((stop for stop in stops if stop == point), THE_STANDARD)

    def predictions(self, point: ModelKey) -> Mapping[int, Array]:
        """Return a point's predictions (n,) for each split."""
        if point not in self._predictions:
            self._predictions[point] = curve_predictions(
                self.result.predictions, self.result.members, self.curve_point(point)
            )
        return self._predictions[point]

    @cached_property
    def _predictions(self) -> dict[ModelKey, Mapping[int, Array]]:
        return {}

    def profile(self, point: ModelKey, *, objective: str | None = None) -> pd.DataFrame:
        """Return average predictions or residuals (as the objective requires) by group of the column."""
        key = point, objective or self.objective
        if key not in self._profiles:
            self._profiles[key] = self._profile(*key)
        return self._profiles[key]

    @cached_property
    def _profiles(self) -> dict[tuple[ModelKey, str], pd.DataFrame]:
        return {}

    def _profile(self, point: ModelKey, objective: str) -> pd.DataFrame:
        predictions = self.predictions(point)
        of_objective = OBJECTIVES[objective]
        values = of_objective.audit(np.stack(list(predictions.values())), self.result.target)
        splits = [self.result.splits[j] for j in predictions]
        result, groups = self.result, self.front.groups
        return quantile_profile(
            values, self.s, splits, groups=groups, weight=result.weight, units=result.groups
        )

    @cached_property
    def moved(self) -> pd.DataFrame:
        """Return how predictions change from A to B, by group of the sensitive column in view."""
        return transfers_by_group(
            self.predictions(self.a),
            self.predictions(self.b),
            self.s,
            self.result.splits,
            weight=self.result.weight,
            groups=self.front.fifths,
        )

    @property
    def mean_change(self) -> float:
        """Mean absolute change of a row's prediction from A to B, in the target's unit."""
        a, b = self.predictions(self.a), self.predictions(self.b)
        changes = []
        for j in a.keys() & b.keys():
            rows = self.result.splits[j].test
            weight = None if self.result.weight is None else self.result.weight[rows]
            changes.append(np.average(np.abs(b[j][rows] - a[j][rows]), weights=weight))
        return float(np.mean(changes))

    def spreads(self) -> dict[ModelKey, pd.DataFrame]:
        """Return densities of predictions or residuals by third of the column, on one split's test rows."""
        audited = {point: self.audited_of_first_split(point) for point in (self.a, self.b)}
        grid = common_grid(*(u for u, _ in audited.values()))
        return {point: densities(u, s, grid=grid) for point, (u, s) in audited.items()}

    def audited_of_first_split(self, point: ModelKey) -> tuple[Array, Array]:
        """Return predictions or residuals, and s, for test rows of the first split that has this point."""
        split, y_pred = next(iter(self.predictions(point).items()))
        rows = self.result.splits[split].test
        return np.asarray(self.objective_seen.audit(y_pred[rows], self.result.target[rows])), self.s[rows]

    def importance(self, kind: str = "importance") -> pd.DataFrame | None:
        """Return ``importance`` or ``reliance`` of features for A and B (for a blend, of the nearest model).

        The columns ``feature``, ``a`` and ``b`` contain means over the splits. Return None if the run did not
        compute :func:`fairdash.training.importance.permutation_importance`.
        """
        if self.result.importance is None:
            return None
        columns = {}
        for name, point in (("a", self.a), ("b", self.b)):
            curve_point = self.curve_point(point)
            lam = curve_point.high if curve_point.share >= 0.5 else curve_point.low
            method = STANDARD if lam == 0 else point.method
            table = self.result.importance
            rows = table[(table["method"] == method) & (table["lam"] == lam)]
            columns[name] = rows.groupby("feature", sort=False)[kind].mean()
        return pd.DataFrame(columns).reset_index()

    def scored(self) -> pd.DataFrame:
        """Return the test rows of each split with the predictions of both points."""
        a, b = self.predictions(self.a), self.predictions(self.b)
        names = {self.a.title: a, self.b.title: b}
        numbers = np.arange(len(self.result.target)) if self.result.rows is None else self.result.rows
        parts = [
            pd.DataFrame(
                {
                    "split": j + 1,
                    ROW: numbers[self.result.splits[j].test] + 1,
                    self.sensitive: self.s[self.result.splits[j].test],
                    self.target: self.result.target[self.result.splits[j].test],
                }
                | {name: prices[j][self.result.splits[j].test] for name, prices in names.items()}
            )
            for j in sorted(a.keys() & b.keys())
        ]
        return pd.concat(parts, ignore_index=True)

    def is_more_dependent_than_its_models(self) -> bool:
        """Return True if B is a blend of two trained models with more dependence than each of them.

        A blend's error never exceeds the larger error of the two models
        (:func:`fairdash.evaluation.tradeoff_curve`).
        """
        blend = self.curve_point(self.b)
        if blend.is_trained:
            return False
        models_of_blend = (ModelKey(blend.method, lam) for lam in (blend.low, blend.high))
        return self.mean(self.measure, self.b) > max(self.mean(self.measure, end) for end in models_of_blend)
