"""Checks of the data that an estimator's fit and predict receive, and training of the estimator's model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, check_random_state, check_X_y
from sklearn.utils.validation import validate_data

from fairdash.errors import Checks, DataError, OptionError
from fairdash.tables.columns import (
    SENSITIVE_FEATURE,
    as_pandas,
    clean_features,
    constant_problems,
    number_problems,
    require_unique,
    sensitive_table,
)
from fairdash.tables.roles import TARGET
from fairdash.training.device import resolve_device
from fairdash.training.losses import Loss
from fairdash.training.methods import METHODS, Method
from fairdash.training.settings import BUDGETED, OBJECTIVES, StackedModel, TrainingSettings, budget_of
from fairdash.training.single import train_single, validation_rows
from fairdash.training.stack_trainer import seconds_of
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
    groups: ArrayLike | None = None,
    on_step: Callable[[float], None] | None = None,
) -> Regressor:
    """Fit and return `model`, as :meth:`fairdash.training.regressor.FairRegressor.fit` does.

    Parameters
    ----------
    on_step
        Function that is called with the completed share, 0 to 1; an exception in it stops the training.
    """
    settings = _settings(model)
    features, y, s, weight = rows_to_fit(
        model,
        X,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        loss=settings.loss_function,
        method=METHODS[model.method],
    )
    if groups is not None:
        check_consistent_length(X, groups)
        groups = np.asarray(groups)[used_rows(sample_weight, len(np.asarray(groups)))]
    model.settings_ = settings = _settings(model, n_rows=len(y))
    lam = 0.0 if METHODS[model.method].penalty is None else float(model.lam)
    seconds = seconds_of([StackedModel(model.method, lam, settings)], len(y))
    device = resolve_device(model.device, seconds=seconds)
    if device.note and model.device != "auto":
        warnings.warn(device.note, UserWarning, stacklevel=3)
    seed = seed_to_fit(model.random_state)
    share = 0.0 if settings.patience is None else model.validation_fraction
    validation = validation_rows(len(y), share, seed=seed, groups=groups)
    model.n_validation_rows_ = len(validation)
    model.predictor_, history, model.n_iter_ = train_single(
        features,
        y,
        s,
        weight,
        method=model.method,
        lam=lam,
        objective=model.objective,
        settings=settings,
        seed=seed,
        device=device.name,
        validation=validation,
        on_step=on_step,
    )
    if history.note:
        warnings.warn(history.note, UserWarning, stacklevel=3)
    model.lam_ = lam
    model.best_epoch_ = int(history.best_epoch[0])
    model.device_ = device.name
    if history.diverged[0]:
        warnings.warn(
            "Training diverged, so the model has its last finite weights. Try a lower lr or adversary_lr.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return model


def _settings(model: FairRegressor, *, n_rows: int = 1) -> TrainingSettings:
    """Check all options, and return the training settings for `n_rows` training rows."""
    get_entry(METHODS, model.method, option="method")
    get_entry(OBJECTIVES, model.objective, option="objective")
    check_options(lam=model.lam, validation_fraction=model.validation_fraction)
    return settings_of(model.get_params(deep=False), n_rows=n_rows)


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
) -> tuple[pd.DataFrame, NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Check the input of an estimator's fit, and return features, target, sensitive features and weights.

    Parameters
    ----------
    model
        Estimator with `lam` and `sensitive_columns`. The function sets the estimator's attributes
        ``n_features_in_``, ``feature_names_in_`` and ``sensitive_names_``.
    method
        Method whose penalty is used if ``model.lam`` is above 0.
    option
        Name of the estimator's parameter that selects the method.

    Returns
    -------
    Features (n, p) without sensitive columns, target (n,), sensitive features (n, d) or None, and positive
    weights (n,) or None.
    """
    penalises = method.penalty is not None and model.lam > 0
    X, y = as_pandas(X), as_pandas(y)
    if isinstance(X, pd.DataFrame):
        require_unique(X)
        validate_data(model, X, y, skip_check_array=True)
        # A check by scikit-learn would convert all columns to one array, so `clean_features` checks each
        # column.
        _, y = check_X_y(np.zeros((len(X), 1)), y, y_numeric=True, ensure_min_samples=2)
    else:
        X, y = validate_data(
            model, X, y, dtype=np.float64, ensure_all_finite="allow-nan", y_numeric=True, ensure_min_samples=2
        )
    table = pd.DataFrame(X).reset_index(drop=True)
    table.columns = pd.Index(getattr(model, "feature_names_in_", range(table.shape[1])))
    names = find_columns(model.sensitive_columns, list(table.columns))
    s = _sensitive(table[names], sensitive_features, method if penalises else None, option)
    y, weight = np.asarray(y, dtype=float), None
    if sample_weight is not None:
        weight = _checked_weights(sample_weight, len(table))
        # Rows of weight 0 are left out, so that the batch size does not depend on their number.
        has_weight = weight > 0
        table, y, weight = table[has_weight].reset_index(drop=True), y[has_weight], weight[has_weight]
        s = None if s is None else s[has_weight]
    _refuse_constants(y, s if penalises else None, loss)
    model.sensitive_names_ = tuple(names)
    features = clean_features(table.drop(columns=names))
    if not features.notna().any(axis=None):
        raise DataError.of("X has no feature with values", "Add a column that is not sensitive.")
    return features, y, s, weight


def used_rows(sample_weight: Any, n_rows: int) -> NDArray[np.intp]:
    """Return the numbers of the rows whose weight is above 0."""
    weight = np.broadcast_to(np.asarray(1.0 if sample_weight is None else sample_weight, dtype=float), n_rows)
    return np.flatnonzero(weight > 0)


def _checked_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Return weights (n,), or raise a DataError if one is negative or fewer than two are above 0."""
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, sample_weight)
    weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    hint = "Give one weight per row: above 0 for training rows, otherwise 0."
    problem = None
    if weight.shape != (n_rows,):
        problem = f"The weights have the shape {weight.shape}, but X has {n_rows:,} rows"
    elif (weight < 0).any():
        problem = "A weight is below zero"
    elif (weight > 0).sum() < 2:
        problem = "Fewer than two weights are above zero"
    if problem is not None:
        raise DataError.of(problem, hint, column="sample_weight")
    return np.asarray(weight)


def _sensitive(
    of_x: pd.DataFrame, sensitive_given: Any, method: Method | None, option: str
) -> NDArray[np.float64] | None:
    """Return checked sensitive features (n, d), or None if there are none and `method` is None."""
    checks = Checks(OptionError)
    checks.require(
        sensitive_given is None or not of_x.shape[1],
        "sensitive_columns",
        "Sensitive features were given twice, as sensitive_columns and as sensitive_features of fit",
        "Use only one of these two arguments.",
    )
    checks.require(
        sensitive_given is not None or of_x.shape[1] or method is None,
        "lam",
        "A weight λ above 0 needs sensitive features",
        "Call fit with sensitive_features=, name sensitive_columns of X, or choose lam=0.",
    )
    checks.finish()
    if sensitive_given is not None:
        s = sensitive_table(sensitive_given, name="sensitive_features")
        check_consistent_length(of_x, s)
    elif of_x.shape[1]:
        s = sensitive_table(of_x, name="X")
    else:
        return None
    checks.require(
        method is None or s.shape[1] == 1 or method.multivariate,
        option,
        f"“{'' if method is None else method.id}” accepts only one sensitive column",
        "Choose one sensitive column, or another method.",
    )
    checks.finish()
    return s


def _refuse_constants(y: NDArray[np.float64], s: NDArray[np.float64] | None, loss: Loss) -> None:
    """Raise a DataError if the target is not valid, or if the target or a penalised column is constant."""
    target, checks = pd.Series(y, name="y"), Checks(DataError)
    checks.problems += number_problems(target)
    problem = loss.target_problem(y, column="y")
    checks.problems += [] if problem is None else [problem]
    checks.problems += constant_problems(target, TARGET)
    for position, column in enumerate(() if s is None else s.T):
        name = "sensitive_features" if s is None or s.shape[1] == 1 else f"sensitive feature {position}"
        checks.problems += constant_problems(pd.Series(column, name=name), SENSITIVE_FEATURE)
    checks.finish()


def seed_to_fit(random_state: int | np.random.RandomState | None) -> int:
    """Return `random_state` if it is a number; otherwise, draw a seed from it."""
    if isinstance(random_state, Integral):
        check_random_state(random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def rows_to_predict(
    model: Any, X: Any, *, columns: Sequence[Hashable], numbers: Collection[Hashable], has_text: bool
) -> pd.DataFrame:
    """Return cleaned columns of X, in the order in which the model was fitted to them.

    Parameters
    ----------
    model
        Fitted estimator. X need not contain the columns in the ``sensitive_names_`` of the estimator.
    columns
        Columns that the model uses, by name or by position.
    numbers
        Columns that must be numeric.
    has_text
        True if the other columns may contain text.

    Raises
    ------
    DataError
        Raised if a column is missing or not valid.
    """
    X = as_pandas(X)
    names = getattr(model, "feature_names_in_", None)
    if names is not None and isinstance(X, pd.DataFrame):
        require_unique(X)
        checks = Checks(DataError)
        for name in columns:
            problem = "The model was fitted with this column, but X lacks it"
            checks.require(name in X.columns, str(name), problem, "Add it to X under the same name.")
        checks.finish()
        table = X
    else:
        checked = validate_data(
            model, X, reset=False, dtype=object if has_text else np.float64, ensure_all_finite="allow-nan"
        )
        table = pd.DataFrame(checked, columns=names)
    sensitive = [name for name in model.sensitive_names_ if name in table.columns]
    if sensitive:
        sensitive_table(table[sensitive], name="X", min_rows=0)
    return clean_features(table[list(columns)], numbers=numbers)


def in_columns(counts: Mapping[Hashable, int]) -> str:
    """List the names of columns, each with a number of cells, such as “zone” (3), “roof” (12)."""
    return ", ".join(f"“{name}” ({count:,})" for name, count in counts.items())


def settings_of(params: dict[str, Any], *, n_rows: int) -> TrainingSettings:
    """Return training settings from an estimator's parameters, or raise an OptionError that lists problems.

    A list is accepted instead of a tuple. ``"auto"`` is accepted for settings whose default depends on the
    number of training rows.
    """
    chosen = {name: params[name] for name in ("batch_size", "n_epochs") if _is_whole(params[name])}
    budget = budget_of(n_rows, **{name: max(value, 1) for name, value in chosen.items()})
    values: dict[str, Any] = {}
    checks = Checks(OptionError)
    for field in fields(TrainingSettings):
        value = params[field.name]
        if field.name in BUDGETED and value == "auto":
            value = budget[field.name]
        expected = _expected_form(field.default, value)
        checks.require(expected is None, field.name, "The setting is not valid", f"Give {expected}.")
        values[field.name] = tuple(value) if isinstance(field.default, tuple) and expected is None else value
    checks.finish()
    return TrainingSettings(**values)


def _expected_form(default: Any, value: Any) -> str | None:
    """Describe the expected form of `value`, or return None if `value` has the type of its default."""
    if isinstance(default, tuple):
        fits = isinstance(value, (Sequence, np.ndarray)) and all(_is_whole(item) for item in value)
        return None if fits else "whole numbers, such as (32, 16, 8)"
    if isinstance(default, bool):
        return None if isinstance(value, (bool, np.bool_)) else "True or False"
    if isinstance(default, str):
        return None if isinstance(value, str) else "a name"
    if default is None:
        return None if value is None or _is_whole(value) else "a whole number, or None"
    if isinstance(default, int):
        return None if _is_whole(value) else "a whole number"
    return None if _is_number(value) else "a number"


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_options(*, lam: Any, validation_fraction: Any) -> None:
    """Raise an OptionError if the weight λ or the share of validation rows is not valid."""
    checks = Checks(OptionError)
    checks.require(
        _is_number(lam) and math.isfinite(lam) and lam >= 0,
        "lam",
        "The weight λ is not valid",
        "Give a number of at least 0.",
    )
    checks.require(
        _is_number(validation_fraction) and 0 < validation_fraction < 1,
        "validation_fraction",
        "The share of validation rows is not between 0 and 1",
        "Choose a number such as 0.1.",
    )
    checks.finish()


def find_columns(names: Any, columns: Sequence[Hashable]) -> list[Hashable]:
    """Return the names of the columns in `names`, without duplicates and in the given order.

    Parameters
    ----------
    names
        Name or position (from 0) of a column, or several names or positions, or None for no column.
    columns
        Names of the columns of X, or 0, 1, … if the columns have no names.

    Raises
    ------
    OptionError
        Raised if a column does not exist, or if `names` contains all columns.
    """
    if names is None:
        return []
    has_several = not isinstance(names, (str, Integral))
    matched: list[Hashable] = []
    absent = []
    for column in names if has_several else [names]:
        if isinstance(column, str) and column in columns:
            matched.append(column)
        elif _is_whole(column) and 0 <= column < len(columns):
            matched.append(columns[int(column)])
        else:
            absent.append(str(column))
    checks = Checks(OptionError)
    checks.require(
        not absent,
        "sensitive_columns",
        f"X has no column {', '.join(absent)}",
        "Give names of columns, or positions from 0.",
    )
    checks.require(
        absent or len(set(matched)) < len(columns),
        "sensitive_columns",
        f"X has {len(columns)} feature(s), and all of them are sensitive",
        "Add a column that is not sensitive, because predictions do not use sensitive columns.",
    )
    checks.finish()
    return list(dict.fromkeys(matched))
