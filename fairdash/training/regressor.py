"""Fair regression as a scikit-learn estimator.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> age = rng.normal(45, 10, size=300)
>>> x = np.column_stack([age + rng.normal(0, 5, size=300), rng.normal(size=300)])
>>> y = x[:, 0] + 5 * x[:, 1]
>>> model = FairRegressor(lam=3.0, n_epochs=20, warm_up_epochs=5, random_state=0)
>>> model.fit(x, y, sensitive_features=age).predict(x).shape
(300,)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state, check_X_y
from sklearn.utils.validation import check_is_fitted, validate_data

from fairdash.errors import DataError, OptionError, Problem
from fairdash.lookup import look_up
from fairdash.training.device import resolve_device
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.regressor_options import find_columns, option_problems, settings_of
from fairdash.training.regressor_tables import (
    checked_weights,
    clean_features,
    constant_problem,
    number_problems,
    require_cells,
    require_columns,
    require_unique,
    sensitive_table,
)
from fairdash.training.settings import TrainingSettings
from fairdash.training.single import Rows, train_single

_DEFAULT = TrainingSettings()


class FairRegressor(RegressorMixin, BaseEstimator):
    """A network whose predictions, or whose errors, do not depend on sensitive features.

    It minimises L + λ Ψ (paper, generic optimisation problem): L is the loss, 1 for the constant model, and
    Ψ the method's measure of dependence between U and the sensitive features s. λ = 0 is the standard
    network; the larger λ, the fairer and the less accurate.

    s is learned from, but no predictor sees it. It comes as ``fit(…, sensitive_features=s)``, or lies among
    the columns of X and is named by `sensitive_columns`.

    Parameters
    ----------
    method
        Id in :data:`fairdash.training.methods.METHODS`: which Ψ.
    objective
        ``"demographic_parity"``: U is the prediction ŷ; ``"equalized_residuals"``: U is ŷ − y.
    lam
        Weight λ ≥ 0 of the penalty. The method ``"standard"`` has none, whatever λ.
    sensitive_columns
        Columns of X that are sensitive, by name or by position from 0; None for none. The predictor is
        built on the others.
    random_state
        Seed of the initial weights, the mini-batches and the validation rows.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
    validation_fraction
        Share of the rows to set aside for `patience`; without it, all rows are trained on.
    hidden, lr, weight_decay, batch_size, n_epochs, warm_up_epochs, adversary_hidden, adversary_lr, \
adversary_steps, dropout, loss, tweedie_power, balance, patience
        As in :class:`fairdash.training.settings.TrainingSettings`.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X, the sensitive ones included.
    feature_names_in_ : ndarray of str
        Their names, if X was a DataFrame.
    lam_ : float
        The weight λ that was used: 0 for ``"standard"``.
    n_iter_ : int
        Epochs trained.
    best_epoch_ : int
        The epoch whose weights predict: with `patience` the best on the validation rows, else the last.
    device_ : str
        Where it was trained.
    sensitive_names_ : tuple
        The sensitive columns of X: names, or positions where X has none.
    predictor_ : Predictor
        The model, as arrays.

    Notes
    -----
    One model is trained in float64, which takes no longer than float32 (MPS has float32 only). Predictions
    are NumPy's, in float64 and without torch.

    A missing number is replaced by the training rows' median; a missing category has no level, and neither
    has a level that was not there in training, of which :meth:`predict` warns.
    """

    def __init__(
        self,
        *,
        method: str = "hgr_nn",
        objective: str = "demographic_parity",
        lam: float = 1.0,
        sensitive_columns: str | int | Sequence[str] | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        validation_fraction: float = 0.1,
        hidden: Sequence[int] = _DEFAULT.hidden,
        lr: float = _DEFAULT.lr,
        weight_decay: float = _DEFAULT.weight_decay,
        batch_size: int = _DEFAULT.batch_size,
        n_epochs: int = _DEFAULT.n_epochs,
        warm_up_epochs: int = _DEFAULT.warm_up_epochs,
        adversary_hidden: Sequence[int] = _DEFAULT.adversary_hidden,
        adversary_lr: float = _DEFAULT.adversary_lr,
        adversary_steps: int = _DEFAULT.adversary_steps,
        dropout: float = _DEFAULT.dropout,
        loss: str = _DEFAULT.loss,
        tweedie_power: float = _DEFAULT.tweedie_power,
        balance: bool = _DEFAULT.balance,
        patience: int | None = _DEFAULT.patience,
    ) -> None:
        self.method = method
        self.objective = objective
        self.lam = lam
        self.sensitive_columns = sensitive_columns
        self.random_state = random_state
        self.device = device
        self.validation_fraction = validation_fraction
        self.hidden = hidden
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.warm_up_epochs = warm_up_epochs
        self.adversary_hidden = adversary_hidden
        self.adversary_lr = adversary_lr
        self.adversary_steps = adversary_steps
        self.dropout = dropout
        self.loss = loss
        self.tweedie_power = tweedie_power
        self.balance = balance
        self.patience = patience

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Missing features are filled in. A sensitive column of X must be whole.
        tags.input_tags.allow_nan = self.sensitive_columns is None
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on the rows of X.

        Parameters
        ----------
        X : DataFrame or array, shape (n, p)
            Numbers, or in a DataFrame also booleans, categories and text. Missing cells are allowed.
        y : array, shape (n,)
            Target, not constant; for the losses with a log link 0 or more.
        sensitive_features : array, Series or DataFrame, shape (n,) or (n, d)
            What must not show, as numbers. Needed if λ > 0 and there are no `sensitive_columns`.
        sample_weight : array, shape (n,)
            How much each row counts, such as its exposure: 0 leaves it out, 2 counts it twice.

        Raises
        ------
        OptionError
            An option can't be used, or λ > 0 and no sensitive feature is known.
        DataError
            X, y or the sensitive features can't be used.

        Warns
        -----
        ConvergenceWarning
            The training stopped being finite; the last finite weights predict.
        """
        return self._fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any,
        sample_weight: ArrayLike | None,
        on_step: Callable[[float], None] | None = None,
    ) -> Self:
        """Train, and tell `on_step` the share done; what it raises ends the training."""
        settings = self._settings()
        rows = self._rows(X, y, sensitive_features, sample_weight, settings)
        device = resolve_device(self.device)
        if device.note:
            warnings.warn(device.note, UserWarning, stacklevel=3)
        lam = 0.0 if METHODS[self.method].penalty is None else float(self.lam)
        trained = train_single(
            rows,
            method=self.method,
            lam=lam,
            objective=self.objective,
            settings=settings,
            seed=self._seed(),
            device=device.name,
            validation_share=self.validation_fraction,
            on_step=on_step,
        )
        self.predictor_ = trained.predictor
        self.lam_ = lam
        self.n_iter_ = trained.n_epochs
        self.best_epoch_ = trained.best_epoch
        self.device_ = device.name
        if trained.diverged:
            warnings.warn(
                "The training stopped being finite; the last finite weights predict. Try a lower lr or "
                "adversary_lr.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predictions (n,) for the rows of X, in the target's units.

        Columns of a DataFrame are matched by name. Others than those that were fitted are left aside, and
        the sensitive ones may be missing.

        Raises
        ------
        DataError
            A column is missing, or can't be used.

        Warns
        -----
        UserWarning
            Cells hold levels that were not there in training, as many as it says; they count as missing.
        """
        check_is_fitted(self)
        encoder = self.predictor_.encoder
        names = getattr(self, "feature_names_in_", None)
        if names is not None and isinstance(X, pd.DataFrame):
            require_unique(X)
            require_columns(X, encoder.columns)
            table = X
        else:
            checked = validate_data(
                self,
                X,
                reset=False,
                dtype=object if encoder.categories else np.float64,
                ensure_all_finite="allow-nan",
            )
            table = pd.DataFrame(checked, columns=names)
        sensitive = [name for name in self.sensitive_names_ if name in table.columns]
        if sensitive:
            sensitive_table(table[sensitive], name="X")
        features = clean_features(table[list(encoder.columns)], numbers=encoder.numbers)
        unknown = encoder.unknown_levels(features)
        if unknown:
            counts = ", ".join(f"“{name}” ({count:,})" for name, count in unknown.items())
            warnings.warn(
                f"Levels that were not there in training count as missing, in: {counts}.",
                UserWarning,
                stacklevel=2,
            )
        return self.predictor_.predict(features)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file: safetensors with a JSON header, no pickle.

        Raises
        ------
        StorageError
            The file can't be written.
        """
        check_is_fitted(self)
        from fairdash.training.regressor_file import write_regressor

        write_regressor(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """The fitted model that :meth:`save` wrote; its predictions are equal to the last bit.

        Raises
        ------
        StorageError
            The file can't be read, is damaged or of another kind, or a newer version wrote it.
        """
        from fairdash.training.regressor_file import read_regressor

        return read_regressor(cls, path)

    def _settings(self) -> TrainingSettings:
        """All options checked; those of the training."""
        look_up(METHODS, self.method, option="method")
        look_up(OBJECTIVES, self.objective, option="objective")
        problems = option_problems(lam=self.lam, validation_fraction=self.validation_fraction)
        if problems:
            raise OptionError(*problems)
        return settings_of(self.get_params(deep=False))

    def _rows(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, settings: TrainingSettings
    ) -> Rows:
        """What fit was given, checked and cut into its parts."""
        if isinstance(X, pd.DataFrame):
            require_unique(X)
            validate_data(self, X, y, skip_check_array=True)
            # scikit-learn would turn the columns into one array; they are checked one by one below.
            _, y = check_X_y(np.zeros((len(X), 1)), y, y_numeric=True, ensure_min_samples=2)
        else:
            X, y = validate_data(
                self,
                X,
                y,
                dtype=np.float64,
                ensure_all_finite="allow-nan",
                y_numeric=True,
                ensure_min_samples=2,
            )
        table = pd.DataFrame(X).reset_index(drop=True)
        table.columns = pd.Index(getattr(self, "feature_names_in_", range(table.shape[1])))
        names = find_columns(self.sensitive_columns, list(table.columns))
        s = self._sensitive(table[names], sensitive_features)
        y, weight = np.asarray(y, dtype=float), None
        if sample_weight is not None:
            weight = checked_weights(sample_weight, len(table))
            # A row of weight 0 takes no part, not even in the size of a batch.
            used = weight > 0
            table, y, weight = table[used].reset_index(drop=True), y[used], weight[used]
            s = None if s is None else s[used]
        self._refuse_constants(y, s, settings)
        self.sensitive_names_ = tuple(names)
        features = clean_features(table.drop(columns=names))
        require_cells(features)
        return Rows(features=features, y=y, s=s, weight=weight)

    def _sensitive(self, of_x: pd.DataFrame, given: Any) -> NDArray[np.float64] | None:
        """The sensitive features (n, d), checked; None if there are none and none are needed."""
        if given is not None and of_x.shape[1]:
            raise OptionError(
                Problem(
                    column="sensitive_columns",
                    what="Sensitive features were given twice: these, and sensitive_features in fit",
                    mend="Give them in one of the two ways.",
                )
            )
        if given is not None:
            s = sensitive_table(given, name="sensitive_features")
            check_consistent_length(of_x, s)
        elif of_x.shape[1]:
            s = sensitive_table(of_x, name="X")
        elif self._penalises:
            raise OptionError(
                Problem(
                    column="lam",
                    what="A weight λ above 0 needs to know the sensitive features",
                    mend="Call fit with sensitive_features=, name sensitive_columns of X, or choose lam=0.",
                )
            )
        else:
            return None
        if self._penalises and s.shape[1] > 1 and not METHODS[self.method].multivariate:
            raise OptionError(
                Problem(
                    column="method",
                    what=f"“{self.method}” takes one sensitive column only",
                    mend="Choose one sensitive column, or another method.",
                )
            )
        return s

    @property
    def _penalises(self) -> bool:
        return METHODS[self.method].penalty is not None and self.lam > 0

    def _refuse_constants(
        self, y: NDArray[np.float64], s: NDArray[np.float64] | None, settings: TrainingSettings
    ) -> None:
        """DataError for a target or a sensitive feature that nothing can be learned from."""
        loss = settings.loss_function
        problems = [*number_problems("y", y), loss.target_problem(y, column="y")]
        problems.append(constant_problem("y", y, what="target"))
        if s is not None and self._penalises:
            for position, column in enumerate(s.T):
                name = "sensitive_features" if s.shape[1] == 1 else f"sensitive feature {position}"
                problems.append(constant_problem(name, column, what="sensitive feature"))
        found = [problem for problem in problems if problem is not None]
        if found:
            raise DataError(*found)

    def _seed(self) -> int:
        """The seed of this fit."""
        random_state = check_random_state(self.random_state)
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(random_state.randint(np.iinfo(np.int32).max))
