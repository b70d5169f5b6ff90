"""Dependence measures as scikit-learn scorers, for GridSearchCV, cross_validate and permutation tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from fairdash.dependence import measure as measure_pair
from fairdash.dependence.api import measure_of
from fairdash.errors import OptionError
from fairdash.tables.columns import as_pandas, sensitive_table
from fairdash.training.settings import OBJECTIVES
from fairdash.utils.registry import get_entry
from fairdash.utils.rounding import varies


class DependenceScorer(BaseEstimator):
    """Scorer ``f(estimator, X, y)``: minus the dependence of predictions on the sensitive columns.

    A larger score is fairer, as scikit-learn requires; a score of 0 means that no dependence was found.
    Create a scorer with :func:`make_scorer`, which has the same parameters. With metadata routing, pass s as
    ``sensitive_features`` (after ``set_score_request(sensitive_features=True)``). Metadata routing also
    passes ``sample_weight`` and ``groups``.
    """

    __metadata_request__score = {"estimator": UNUSED}  # noqa: RUF012 this is scikit-learn's convention

    def __init__(
        self,
        measure: str = "hgr_spline",
        *,
        sensitive: str | int | Sequence[str] | Sequence[int] | None = None,
        objective: str = "demographic_parity",
        random_state: int = 0,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.measure = measure
        self.sensitive = sensitive
        self.objective = objective
        self.random_state = random_state
        self.options = options

    def __call__(self, estimator: Any, X: Any, y: ArrayLike | None = None, **metadata: Any) -> float:
        """Return the score of a fitted estimator; see :meth:`score`."""
        return self.score(estimator, X, y, **metadata)

    def score(
        self,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """Return minus the absolute dependence on s of the predictions for X, or of their residuals.

        Parameters
        ----------
        X : (n, p) table
            Table that contains the sensitive columns, unless they are passed as `sensitive_features`.
        y : (n,) array
            Target, which is required only for equalized residuals.
        sensitive_features : (n,) or (n, d) array, optional
        sample_weight, groups : (n,) arrays, optional
            Same meaning as in :func:`fairdash.measure`.

        Raises
        ------
        OptionError
            Raised if no sensitive column is given, a sensitive column is constant (scikit-learn's
            cross-validation turns this error into NaN), or y is missing for residuals. The reasons of
            :func:`fairdash.measure` also apply.
        """
        s = sensitive_table(self._column_of(X, sensitive_features), name="sensitive_features", fewest=0)
        if not varies(s.T, None if sample_weight is None else np.asarray(sample_weight, dtype=float)).any():
            raise OptionError.of(
                "It has the same value in all of these rows, so dependence on it is undefined",
                "Choose folds in which it varies, such as those of StratifiedKFold.",
                column="sensitive",
            )
        objective = get_entry(OBJECTIVES, self.objective, option="objective")
        if objective.uses_target and y is None:
            raise OptionError.of("Residuals need the target", "Give y to the scorer.", column="y")
        predicted = np.asarray(estimator.predict(X), dtype=float)
        u = objective.audit(predicted, np.zeros(len(predicted)) if y is None else np.asarray(y, dtype=float))
        value = measure_pair(
            self.measure,
            u,
            s[:, 0] if s.shape[1] == 1 else s,
            sample_weight=sample_weight,
            groups=groups,
            random_state=self.random_state,
            **(self.options or {}),
        )
        return -abs(value)

    def _column_of(self, X: Any, sensitive_features: Any) -> Any:
        if sensitive_features is not None:
            return sensitive_features
        if self.sensitive is None:
            raise OptionError.of(
                "The scorer does not know the sensitive attribute",
                "Give its column in X as sensitive=, or its values as sensitive_features= (routing).",
                column="sensitive",
            )
        columns: list[Any] = [self.sensitive] if isinstance(self.sensitive, (str, int)) else [*self.sensitive]
        table = as_pandas(X)
        if not hasattr(table, "columns"):
            return np.asarray(table)[:, columns]
        by_name = all(isinstance(column, str) for column in columns)
        missing = [column for column in columns if by_name and column not in table.columns]
        if missing:
            raise OptionError.of(
                f"X has no column {', '.join(f'“{column}”' for column in missing)}",
                "Leave the column in X, or give its values as sensitive_features= (metadata routing).",
                column="sensitive",
            )
        return table[columns] if by_name else table.iloc[:, columns]


def make_scorer(
    measure: str,
    *,
    sensitive: str | int | Sequence[str] | Sequence[int] | None = None,
    objective: str = "demographic_parity",
    random_state: int = 0,
    **options: Any,
) -> DependenceScorer:
    """Make a scikit-learn scorer that returns minus the dependence of predictions on sensitive columns.

    Parameters
    ----------
    measure
        A key of :data:`fairdash.dependence.REGISTRY`.
    sensitive
        Sensitive columns of X, by name or by position from 0. If None, pass the sensitive columns as
        ``sensitive_features`` through scikit-learn's metadata routing.
    objective
        Variable to evaluate: ŷ for ``"demographic_parity"``, ŷ − y for ``"equalized_residuals"``.
    random_state
        Seed of measures that draw random numbers.
    **options
        Options of the measure.

    Returns
    -------
    DependenceScorer
        The scorer: ``scorer(estimator, X, y)`` returns a score between minus the measure's upper limit and 0,
        where 0 means that no dependence was found. A constant predictor scores 0, so a search should also
        consider the error.

    Raises
    ------
    OptionError
        Raised if the measure or the objective is unknown.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sklearn.linear_model import LinearRegression
    >>> x = pd.DataFrame({"age": np.linspace(20, 70, 200), "noise": np.sin(np.arange(200))})
    >>> model = LinearRegression().fit(x, x["age"])
    >>> round(make_scorer("pearson", sensitive="age")(model, x, x["age"]), 3)
    -1.0
    """
    measure_of(measure)
    get_entry(OBJECTIVES, objective, option="objective")
    return DependenceScorer(
        measure,
        sensitive=sensitive,
        objective=objective,
        random_state=random_state,
        options=options or None,
    )
