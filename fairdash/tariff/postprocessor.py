"""Repair of the prices of any model, as a scikit-learn estimator: repaired prices do not depend on s.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> age = rng.uniform(18, 80, size=600)
>>> table = pd.DataFrame({"bonus": age / 10 + rng.normal(size=600), "power": rng.normal(size=600)})
>>> table["price"] = 100 + 10 * table["bonus"] + 5 * table["power"]
>>> repair = FairPostprocessor("price").fit(table, sensitive_features=age)
>>> price = repair.predict(table, sensitive_features=age)
>>> bool(abs(np.corrcoef(price, age)[0, 1]) < 0.05), bool(np.isclose(price.mean(), table["price"].mean()))
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fairdash.data.dataset import Dataset
from fairdash.errors import Checks, DataError, OptionError
from fairdash.tables.columns import as_pandas, sensitive_table
from fairdash.tariff.model import FairTariff
from fairdash.tariff.trees import EncodedTrees, MeanOfModels, boosted
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.losses import LOSSES
from fairdash.training.methods import DEFAULT_METHOD, METHODS, STANDARD
from fairdash.training.pilot import find_lams
from fairdash.training.references.barycentre import one_column
from fairdash.training.references.repair import fit_repair
from fairdash.training.regressor import FairRegressor
from fairdash.training.regressor_fit import find_columns, rows_to_fit, rows_to_predict, seed_to_fit, used_rows
from fairdash.training.settings import OBJECTIVES, TrainingSettings, weight_decay_of
from fairdash.training.splits import Split, fold_rows
from fairdash.utils.classes import classes_of, holds_text
from fairdash.utils.registry import get_entry

Array = NDArray[np.float64]

#: Methods to compute a repaired price from x if s is unknown.
PROJECTIONS = ("trees", "factors", "network")
#: Number of equal steps from the dependence of the price to that of independent data (independence floor).
_STEPS = 20


class FairPostprocessor(RegressorMixin, BaseEstimator):
    """Repair the prices of a fitted or unfitted model, of a function, or in a column of X.

    The call ``predict(X, sensitive_features=s)`` computes the rank of each price among customers with the
    same s. The repaired price has this rank in a distribution common to all customers (the Wasserstein
    barycentre). The call ``predict(X)`` does not use s; it returns the projection E[ŷ* | x] of the repaired
    price ŷ* on x. This projection repairs a price only as far as x predicts the repair, which may be very
    little (see `share_without_s_`). With ``projection="network"``, the dependence of prices without s can be
    set to any level between that of the original price and the independence floor.

    Parameters
    ----------
    estimator
        Source of the price: a scikit-learn regressor, a function from X to prices (n,), or the name of a
        price column of X. A fitted regressor is used unchanged. For each fold, an unfitted regressor is
        fitted to the rows of the other folds, and the price is the mean prediction of these models. None
        means boosted trees.
    objective
        Property that the repaired price should have. With ``"demographic_parity"``, the price does not depend
        on s. With ``"equalized_residuals"``, the average error does not depend on s. The spread of the errors
        may still depend on s, because it comes from the target.
    alpha
        Strength of the repair, from 0 (the original price) to 1 (the repaired price). The price changes
        linearly with the strength. With ``projection="network"``, the dependence on s changes linearly with
        the strength, in steps of 0.05.
    sensitive_columns
        Sensitive columns of X, by name or by position, or None if X contains none. Neither the estimator nor
        the projection uses these columns.
    projection
        Method to compute the price without s: ``"trees"``, ``"factors"`` or ``"network"``. With
        ``"factors"``, the original price is multiplied by a tariff of factors (:class:`fairdash.FairTariff`),
        fitted to the ratio of repaired to original price with the Poisson deviance. :meth:`export` writes
        this tariff. With ``"network"``, a :class:`fairdash.FairRegressor` learns the price with a penalty.
        Trial trainings select its weight λ. Training takes about twenty times as long as fitting trees.
    monotone
        With ``"trees"``: true if the repaired price must not fall when only the original price rises. The
        price of ``"factors"`` always rises with the original price.
    n_folds
        Number of folds for an unfitted estimator.
    random_state
        Seed of the folds, of the trees and of the network.

    Attributes
    ----------
    share_without_s_ : float
        Share of the repair that ``predict(X)`` achieves without s, in [0, 1]. The share is the R², without a
        constant, of predicting the difference between repaired and original price from x. With a share of 0,
        x does not predict this difference, so ``predict(X)`` hardly changes the price. With a share of 1, s
        is not needed. For trees, the share is measured on held-out rows. The share is NaN for trees with
        fewer than 200 rows, for a price that needs no repair, and for networks.

    Notes
    -----
    Within every combination of classes, prices are repaired for the numeric attribute, so that the repaired
    price is jointly independent of the number and the classes. With several numeric attributes, prices are
    repaired for one attribute after another, in three passes, the last within combinations of up to ten bands
    of the other attributes (at least about 200 rows each). Dependence within a band is not removed.
    Projections keep the mean price of training rows.

    Examples
    --------
    >>> age = np.random.default_rng(0).uniform(18, 80, 1000)
    >>> X = pd.DataFrame({"premium": 200 + 3 * age, "km": age[::-1]})
    >>> repair = fd.FairPostprocessor("premium").fit(X, X["premium"], sensitive_features=age)
    >>> repaired = repair.predict(X, sensitive_features=age)
    >>> bool(np.std(repaired) < 0.2 * np.std(X["premium"]))
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        objective: str = "demographic_parity",
        alpha: float = 1.0,
        sensitive_columns: str | int | Sequence[str] | Sequence[int] | None = None,
        projection: str = "trees",
        monotone: bool = False,
        n_folds: int = 5,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.alpha = alpha
        self.sensitive_columns = sensitive_columns
        self.projection = projection
        self.monotone = monotone
        self.n_folds = n_folds
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.sensitive_columns is None
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the repair to the rows of X, and the projection that computes new prices without s.

        Parameters
        ----------
        X : DataFrame or array, shape (n, p)
            Input of the estimator.
        y : array, shape (n,)
            Target, which is required for an unfitted estimator and for ``"equalized_residuals"``.
        sensitive_features : array, Series or DataFrame, shape (n,) or (n, d)
            Sensitive features as numbers or classes, or None if `sensitive_columns` names columns of X.
        sample_weight : array, shape (n,)
            Row weights; a row of weight 0 is left out.
        groups : array, shape (n,)
            Group of each row, such as its policy; all rows of a group are in the same fold.

        Raises
        ------
        OptionError
            Raised if an option is not valid, or if there is no sensitive feature.
        DataError
            Raised if X, y, the sensitive features or the prices are not valid.
        """
        self._check_options()
        seed = seed_to_fit(self.random_state)
        learns = self._needs_fit()
        if y is None and not learns and self.objective == "demographic_parity":
            y = np.arange(len(as_pandas(X)), dtype=float)  # y is not used, so a placeholder replaces it.
        features, target, s, weight = rows_to_fit(
            self,
            X,
            y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            loss=LOSSES["squared_error"],
            method=METHODS[STANDARD],
        )
        if s is None:
            hint = "Call fit with sensitive_features=, or name sensitive_columns of X."
            raise OptionError.of("There is no sensitive feature", hint, column="sensitive_features")
        raw = self._raw_sensitive(X, sensitive_features)
        inputs = self._estimator_input(X)
        if weight is not None:
            row_mask = used_rows(sample_weight, len(raw))
            raw, inputs = raw.iloc[row_mask], _rows(inputs, row_mask)
            groups = None if groups is None else np.asarray(groups)[row_mask]
        self.levels_ = tuple(classes_of(s).names if holds_text(s) else None for _, s in raw.items())
        self.sensitive_order_ = list(raw.columns)
        s = self._numbers(raw)
        price = self._calibrated(inputs, target, weight, groups, seed) if learns else self._price(inputs)
        self.repair_ = fit_repair(
            price,
            s,
            y=target if self.objective == "equalized_residuals" else None,
            classes=[
                levels is not None or len(np.unique(column)) == 2
                for levels, column in zip(self.levels_, s.T, strict=True)
            ],
            sample_weight=weight,
        )
        # The price column is removed from the features, because it is passed to the projection separately.
        features = features[[name for name in features.columns if name != self._price_column]]
        self.columns_ = list(features.columns)
        if self.projection == "network":
            self.encoder_ = FeatureEncoder.fit(features, sample_weight=weight)
            self.projection_: Any = self._fit_network(features, price, s, weight, seed)
            self.share_without_s_ = np.nan
        else:
            self._fit_projection(features, price, self.repair_.predict(price, s), weight, seed)
        return self

    def predict(self, X: Any, *, sensitive_features: Any = None, alpha: float | None = None) -> Array:
        """Return prices (n,): the exactly repaired prices if s is given, otherwise their projection on x.

        Sensitive columns of X are ignored; if the price may depend on them, pass them as
        `sensitive_features`. The argument `alpha` is the strength of the repair; None uses the strength given
        to the constructor. Without s, the projections ``"factors"`` and ``"network"`` support only the
        strength with which they were fitted.
        """
        check_is_fitted(self)
        alpha = self.alpha_ if alpha is None else alpha
        features = rows_to_predict(
            self,
            X,
            columns=self.columns_,
            numbers=self.encoder_.numbers,
            has_text=bool(self.encoder_.categories),
        )
        price = self._price(self._estimator_input(X))
        if sensitive_features is not None:
            raw = self._raw_sensitive(None, sensitive_features)
            if len(raw) != len(price) or raw.shape[1] != len(self.levels_):
                hint = "Give the columns of fit, and one row per row of X."
                raise DataError.of("The sensitive features do not have the expected shape", hint)
            if raw.columns.is_unique and {*raw.columns} == {*self.sensitive_order_}:
                raw = raw[self.sensitive_order_]
            return self.repair_.predict(price, self._numbers(raw), alpha)
        if self.projection != "trees" and alpha != self.alpha_:
            hint = "Fit again with this alpha."
            raise OptionError.of("Factors and networks have a fixed strength", hint, column="alpha")
        if isinstance(self.projection_, FairTariff):
            return price * self.projection_.predict(features)
        if isinstance(self.projection_, FairRegressor):
            return self.projection_.predict(features)
        repaired = self._project_prices(self._with_price(features, price)) + self.offset_
        return np.asarray((1 - alpha) * price + alpha * np.maximum(repaired, self.repair_.least))

    def factors(self) -> pd.DataFrame:
        """Return a table of factors that multiply the price; see :meth:`fairdash.FairTariff.relativities`."""
        return self._tariff().relativities()

    def export(self, path: str | PathLike[str]) -> None:
        """Write the table of factors to a ``.csv`` or ``.xlsx``; :func:`fairdash.read_tariff` reads it."""
        self._tariff().export(path)

    def _tariff(self) -> FairTariff:
        check_is_fitted(self)
        if not isinstance(self.projection_, FairTariff):
            raise OptionError.of("Only “factors” has a table", "Fit with “factors”.", column="projection")
        return self.projection_

    def _check_options(self) -> None:
        get_entry(OBJECTIVES, self.objective, option="objective")
        checks = Checks(OptionError)
        in_range = isinstance(self.alpha, (int, float)) and 0 <= self.alpha <= 1
        checks.require(in_range, "alpha", "The strength is not valid", "Give a number from 0 to 1.")
        is_known = self.projection in PROJECTIONS
        hint = "Choose “trees”, “factors” or “network”."
        checks.require(is_known, "projection", "This projection does not exist", hint)
        repairs = self.projection == "trees" or (in_range and self.alpha > 0)
        checks.require(repairs, "alpha", "0 means no repair", "Give an alpha above 0, or use trees.")
        is_of_price = self.projection != "network" or self.objective == "demographic_parity"
        checks.require(is_of_price, "objective", "A network can't repair errors", "Use trees or factors.")
        checks.require(self.n_folds >= 2, "n_folds", "There are too few folds", "Give at least 2.")
        checks.finish()
        self.alpha_ = float(self.alpha)

    def _needs_fit(self) -> bool:
        """Return True if an estimator must be fitted; otherwise, set ``estimator_``."""
        if self.estimator is None:
            return True
        if hasattr(self.estimator, "predict"):
            try:
                check_is_fitted(self.estimator)
            except NotFittedError:
                return True
        self.estimator_ = self.estimator
        return False

    def _calibrated(self, inputs: Any, y: Array, weight: Array | None, groups: Any, seed: int) -> Array:
        """Fit ``estimator_``, the mean of one model per fold; return the prices that the repair is fitted to.

        For demographic parity, return the prices of ``estimator_``, whose random errors may depend on s, too.
        For equalized residuals, return out-of-fold predictions, because errors are smaller on the rows used
        for fitting.
        """
        models, held_out, n_folds = [], np.empty(len(y)), min(self.n_folds, len(y))
        for fold in fold_rows(np.arange(len(y)), n_folds=n_folds, random_state=seed, groups=groups):
            train, test = fold.train, fold.validation
            part = None if weight is None else weight[train]
            models.append(self._fitted(_rows(inputs, train), y[train], part, seed))
            held_out[test] = models[-1].predict(_rows(inputs, test))
        self.estimator_ = MeanOfModels(tuple(models))
        return self._price(inputs) if self.objective == "demographic_parity" else held_out

    def _fitted(self, inputs: Any, y: Array, weight: Array | None, seed: int) -> Any:
        if self.estimator is None:
            return EncodedTrees.of(inputs, y, weight, seed)
        model: Any = clone(self.estimator)
        if weight is None or not has_fit_parameter(model, "sample_weight"):
            return model.fit(inputs, y)
        return model.fit(inputs, y, sample_weight=weight)

    def _price(self, inputs: Any) -> Array:
        """Return the original prices of rows."""
        model = self.estimator_
        if isinstance(model, str):
            if not isinstance(inputs, pd.DataFrame) or model not in inputs.columns:
                raise DataError.of("X has no such column of prices", "Name a column of X.", column=model)
            return one_column(inputs[model], model)
        price_of: Callable[[Any], Any] = model.predict if hasattr(model, "predict") else model
        price = one_column(price_of(inputs), "estimator")
        if len(price) != len(inputs):
            raise DataError.of("The estimator does not give one price per row", "Return an array (n,).")
        return price

    @property
    def _price_column(self) -> str | None:
        return self.estimator_ if isinstance(self.estimator_, str) else None

    def _estimator_input(self, X: Any) -> Any:
        """Return X as input of the estimator: unchanged, but without sensitive columns."""
        table = as_pandas(X)
        if isinstance(table, pd.DataFrame):
            return table.drop(columns=[name for name in self.sensitive_names_ if name in table.columns])
        table = np.asarray(table, dtype=float)
        names = getattr(self, "feature_names_in_", range(table.shape[1]))
        return table[:, [k for k, name in enumerate(names) if name not in self.sensitive_names_]]

    def _raw_sensitive(self, X: Any, given: Any) -> pd.DataFrame:
        if given is None:
            table = as_pandas(X)
            table = table if isinstance(table, pd.DataFrame) else pd.DataFrame(np.asarray(table, dtype=float))
            given = table[find_columns(self.sensitive_columns, list(table.columns))]
        return pd.DataFrame(as_pandas(given)).reset_index(drop=True)

    def _numbers(self, raw: pd.DataFrame) -> Array:
        """Return sensitive columns as numbers (n, d); a class becomes its position in ``levels_``."""
        numbers: list[Array] = []
        for k, levels in enumerate(self.levels_):
            column = raw.iloc[:, k]
            if levels is not None:
                # Rare and new classes belong to the last class, “all others”; a missing cell is an error.
                codes = column.astype(str).map(dict(zip(levels, range(len(levels)), strict=True)))
                column = codes.astype(float).fillna(len(levels) - 1).where(column.notna())
            numbers.append(sensitive_table(column, name=str(column.name), min_rows=0)[:, 0])
        return np.column_stack(numbers)

    def _fit_projection(
        self, features: pd.DataFrame, price: Array, repaired: Array, weight: Array | None, seed: int
    ) -> None:
        self.encoder_ = FeatureEncoder.fit(features, sample_weight=weight)
        w = np.ones(len(price)) if weight is None else weight
        if self.projection == "factors":
            if price.min() <= 0:
                raise DataError.of("A price is not above 0", "Leave these rows out, or use trees.")
            target = (1 - self.alpha_) * price + self.alpha_ * repaired
            self.projection_ = FairTariff(lam=0.0, random_state=seed).fit(
                features, target / price, sample_weight=w * price
            )
            error = np.average((target - price * self.projection_.predict(features)) ** 2, weights=w)
            self.share_without_s_ = _share(error, np.average((target - price) ** 2, weights=w))
            return
        table = self._with_price(features, price)
        monotone = [0] * (table.shape[1] - 1) + [int(self.monotone)]
        self.projection_ = boosted(len(price), seed, monotonic_cst=monotone)
        self.projection_.fit(table, repaired if self.monotone else repaired - price, sample_weight=weight)
        self.offset_ = float(np.average(repaired - self._project_prices(table), weights=w))
        # Early stopping scores trees by minus half the mean squared residual on a tenth of the rows.
        stopped = self.projection_.do_early_stopping_
        error = -2 * self.projection_.validation_score_.max() if stopped else np.nan
        self.share_without_s_ = _share(error, np.average((repaired - price) ** 2, weights=w))

    def _fit_network(
        self, features: pd.DataFrame, price: Array, s: Array, weight: Array | None, seed: int
    ) -> FairRegressor:
        """Fit a network with a dependence on s between the price's (α = 0) and the noise floor (α = 1).

        The price is not a feature of the network, because it contains noise that the price model has learned.
        """
        loss = "poisson" if price.min() > 0 else "squared_error"
        y = pd.Series(price, name="price")
        x, sensitive = (
            pd.DataFrame(np.asarray(table)).set_axis([f"{name} {k}" for k in range(table.shape[1])], axis=1)
            for name, table in (("x", self.encoder_.transform(features)), ("s", s))
        )
        weight_column = None if weight is None else pd.Series(weight, name="weight")
        dataset = Dataset(name="price", features=x, target=y, sensitive=sensitive, weight=weight_column)
        rows, no_rows = np.arange(len(price)), np.arange(0)
        lams = find_lams(
            dataset,
            Split(rows, no_rows, no_rows),
            TrainingSettings(loss=loss, weight_decay=weight_decay_of(len(price))),
            method=DEFAULT_METHOD,
            count=_STEPS,
            objective=self.objective,
            random_state=seed,
            device="cpu",
        )
        # λ is 0 if dependence is not detectable.
        lam = 0.0 if lams is None else float(lams[max(round(self.alpha_ * _STEPS), 1) - 1])
        model = FairRegressor(lam=lam, loss=loss, balance=True, random_state=seed)
        return model.fit(features, price, sensitive_features=sensitive, sample_weight=weight)

    def _project_prices(self, table: Array) -> Array:
        """Return the repaired price: the original price plus the difference that trees predict.

        Trees predict step functions. The steps distort a difference less than a price. With `monotone`, trees
        predict the repaired price itself.
        """
        predictions = np.asarray(self.projection_.predict(table), dtype=float)
        return predictions if self.monotone else predictions + table[:, -1]

    def _with_price(self, features: pd.DataFrame, price: Array) -> Array:
        return np.column_stack([self.encoder_.transform(features), price])


def _share(error: float, change: float) -> float:
    """Return the achieved share of a mean squared change: 1 − `error` / `change`, limited to [0, 1]."""
    return float(np.clip(1 - error / change, 0.0, 1.0)) if change > 0 else np.nan


def _rows(table: Any, rows: NDArray[np.int64]) -> Any:
    return table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]
