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
from fairdash.utils.rounding import SINGLE, restore_ties, varies


class DependenceScorer(BaseEstimator):
    """Scorer ``f(estimator, X, y)`` that returns minus the dependence of predictions on sensitive columns.

    scikit-learn prefers larger scores, so a larger score means less dependence; 0 means that no dependence
    was found. Create a scorer with :func:`make_scorer`, which has the same parameters. With metadata routing
    of scikit-learn, pass s as ``sensitive_features`` (after ``set_score_request(sensitive_features=True)``);
    ``sample_weight`` and ``groups`` can be passed in the same way.
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
        """Return the negative absolute dependence on s of the predictions for X, or of their residuals.

        Parameters
        ----------
        X : (n, p) table
            Features. X must contain the sensitive columns, unless they are passed as `sensitive_features`.
        y : (n,) array
            Target, which is required only for equalized residuals.
        sensitive_features : (n,) or (n, d) array, optional
        sample_weight, groups : (n,) arrays, optional
            As in :func:`fairdash.measure`.

        Raises
        ------
        OptionError
            Raised if no sensitive column is given, if all sensitive columns are constant (cross-validation in
            scikit-learn then reports NaN), or if residuals are measured without y. The errors of
            :func:`fairdash.measure` are also raised.
        """
        s = sensitive_table(self._column_of(X, sensitive_features), name="sensitive_features", min_rows=0)
        if not varies(s.T, None if sample_weight is None else np.asarray(sample_weight, dtype=float)).any():
            raise OptionError.of(
                "The sensitive column is constant in these rows, so dependence on it is undefined",
                "Choose folds in which this column varies, such as those of StratifiedKFold.",
                column="sensitive",
            )
        objective = get_entry(OBJECTIVES, self.objective, option="objective")
        if objective.uses_target and y is None:
            raise OptionError.of("Residuals need the target", "Give y to the scorer.", column="y")
        predicted = np.asarray(estimator.predict(X), dtype=float)
        u = objective.audit(predicted, np.zeros(len(predicted)) if y is None else np.asarray(y, dtype=float))
        value = measure_pair(
            self.measure,
            restore_ties(u, eps=SINGLE),
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
                "Name its column of X as sensitive=, or pass its values as sensitive_features=.",
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
                "Add the column to X, or pass its values as sensitive_features= (metadata routing).",
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
    """Create a scikit-learn scorer that returns minus the dependence of predictions on sensitive columns.

    Parameters
    ----------
    measure
        Id of a measure in :data:`fairdash.dependence.REGISTRY`.
    sensitive
        Sensitive columns of X, by name or by position from 0. If None, pass the sensitive columns as
        ``sensitive_features`` through scikit-learn's metadata routing.
    objective
        Variable whose dependence is measured: ŷ for ``"demographic_parity"``, ŷ − y for
        ``"equalized_residuals"``.
    random_state
        Seed for measures that draw random numbers.
    **options
        Options of the measure.

    Returns
    -------
    DependenceScorer
        Scorer. ``scorer(estimator, X, y)`` returns a score of at most 0, where 0 means that no dependence was
        found. A constant predictor has the score 0, so a search should also consider the error.

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
        measure, sensitive=sensitive, objective=objective, random_state=random_state, options=options or None
    )
