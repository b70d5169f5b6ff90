"""Fitting a :class:`fairdash.training.regressor.FairRegressor`: what is given, checked, and the training."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state, check_X_y
from sklearn.utils.validation import validate_data

from fairdash.errors import Checks, DataError, OptionError, Problem
from fairdash.training.device import resolve_device
from fairdash.training.losses import Loss
from fairdash.training.methods import METHODS, Method
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.regressor_options import check_options, find_columns, settings_of
from fairdash.training.regressor_tables import (
    as_pandas,
    checked_weights,
    clean_features,
    constant_problem,
    number_problems,
    require_cells,
    require_unique,
    sensitive_table,
)
from fairdash.training.settings import TrainingSettings
from fairdash.training.single import Rows, train_single
from fairdash.utils.registry import get_entry

if TYPE_CHECKING:
    from fairdash.training.regressor import FairRegressor

Regressor = TypeVar("Regressor", bound="FairRegressor")


def fit_regressor(
    model: Regressor,
    X: Any,
    y: ArrayLike,
    *,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
    on_step: Callable[[float], None] | None = None,
) -> Regressor:
    """Fit `model`, as :meth:`fairdash.training.regressor.FairRegressor.fit` does, and give it back.

    Parameters
    ----------
    on_step
        Called with the share done, 0 to 1; what it raises ends the training.
    """
    settings = _settings(model)
    rows = rows_to_fit(
        model,
        X,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        loss=settings.loss_function,
        method=METHODS[model.method],
    )
    device = resolve_device(model.device)
    if device.note:
        warnings.warn(device.note, UserWarning, stacklevel=3)
    lam = 0.0 if METHODS[model.method].penalty is None else float(model.lam)
    trained = train_single(
        rows,
        method=model.method,
        lam=lam,
        objective=model.objective,
        settings=settings,
        seed=seed_to_fit(model.random_state),
        device=device.name,
        validation_share=model.validation_fraction,
        on_step=on_step,
    )
    model.predictor_ = trained.predictor
    model.lam_ = lam
    model.n_iter_ = trained.n_epochs
    model.best_epoch_ = trained.best_epoch
    model.device_ = device.name
    if trained.diverged:
        warnings.warn(
            "The training stopped being finite; the last finite weights predict. Try a lower lr or "
            "adversary_lr.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return model


def _settings(model: FairRegressor) -> TrainingSettings:
    """All options checked; those of the training."""
    get_entry(METHODS, model.method, option="method")
    get_entry(OBJECTIVES, model.objective, option="objective")
    check_options(lam=model.lam, validation_fraction=model.validation_fraction)
    return settings_of(model.get_params(deep=False))


def rows_to_fit(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any,
    loss: Loss,
    method: Method,
    option: str = "method",
) -> Rows:
    """What an estimator's fit was given, checked and cut into its parts.

    Parameters
    ----------
    model
        The estimator, with `lam` and `sensitive_columns`; its ``n_features_in_``, ``feature_names_in_`` and
        ``sensitive_names_`` are set.
    method
        Whose penalty is to be used where ``model.lam`` is above 0.
    option
        What that is called among the estimator's parameters.
    """
    penalises = method.penalty is not None and model.lam > 0
    X, y = as_pandas(X), as_pandas(y)
    if isinstance(X, pd.DataFrame):
        require_unique(X)
        validate_data(model, X, y, skip_check_array=True)
        # scikit-learn would turn the columns into one array; they are checked one by one below.
        _, y = check_X_y(np.zeros((len(X), 1)), y, y_numeric=True, ensure_min_samples=2)
    else:
        X, y = validate_data(
            model,
            X,
            y,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            y_numeric=True,
            ensure_min_samples=2,
        )
    table = pd.DataFrame(X).reset_index(drop=True)
    table.columns = pd.Index(getattr(model, "feature_names_in_", range(table.shape[1])))
    names = find_columns(model.sensitive_columns, list(table.columns))
    s = _sensitive(table[names], sensitive_features, method if penalises else None, option)
    y, weight = np.asarray(y, dtype=float), None
    if sample_weight is not None:
        weight = checked_weights(sample_weight, len(table))
        # A row of weight 0 takes no part, not even in the size of a batch.
        used = weight > 0
        table, y, weight = table[used].reset_index(drop=True), y[used], weight[used]
        s = None if s is None else s[used]
    _refuse_constants(y, s if penalises else None, loss)
    model.sensitive_names_ = tuple(names)
    features = clean_features(table.drop(columns=names))
    require_cells(features)
    return Rows(features=features, y=y, s=s, weight=weight)


def _sensitive(
    of_x: pd.DataFrame, given: Any, method: Method | None, option: str
) -> NDArray[np.float64] | None:
    """The sensitive features (n, d), checked; None if there are none and no `method` needs them."""
    checks = Checks(OptionError)
    checks.require(
        given is None or not of_x.shape[1],
        "sensitive_columns",
        "Sensitive features were given twice: these, and sensitive_features in fit",
        "Give them in one of the two ways.",
    )
    checks.require(
        given is not None or of_x.shape[1] or method is None,
        "lam",
        "A weight λ above 0 needs to know the sensitive features",
        "Call fit with sensitive_features=, name sensitive_columns of X, or choose lam=0.",
    )
    checks.finish()
    if given is not None:
        s = sensitive_table(given, name="sensitive_features")
        check_consistent_length(of_x, s)
    elif of_x.shape[1]:
        s = sensitive_table(of_x, name="X")
    else:
        return None
    checks.require(
        method is None or s.shape[1] == 1 or method.multivariate,
        option,
        f"“{'' if method is None else method.id}” takes one sensitive column only",
        "Choose one sensitive column, or another method.",
    )
    checks.finish()
    return s


def _refuse_constants(y: NDArray[np.float64], s: NDArray[np.float64] | None, loss: Loss) -> None:
    """DataError for a target or a penalised feature that nothing can be learned from."""
    problems: list[Problem | None] = [*number_problems("y", y)]
    problems.append(loss.target_problem(y, column="y"))
    problems.append(constant_problem("y", y, what="target"))
    for position, column in enumerate(() if s is None else s.T):
        name = "sensitive_features" if s is None or s.shape[1] == 1 else f"sensitive feature {position}"
        problems.append(constant_problem(name, column, what="sensitive feature"))
    wrong = [problem for problem in problems if problem is not None]
    if wrong:
        raise DataError(*wrong)


def seed_to_fit(random_state: int | np.random.RandomState | None) -> int:
    """The seed of a fit: the number itself, or one that is drawn."""
    if isinstance(random_state, Integral):
        check_random_state(random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
